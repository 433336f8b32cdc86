"""`lapwing tally`: count reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lapwing.cli.console import (
    Output,
    check_distinct,
    check_output,
    facts,
    grid,
    write_groups,
    write_text,
)
from lapwing.cli.option_groups import Rule, argument, option
from lapwing.cli.reading.options import AllowEqual, Force, LongJobOptions, OutputFile, SurveyFile
from lapwing.cli.reading.stored import read_survey
from lapwing.engines.arrow.dataset_tables import every_file
from lapwing.engines.arrow.inputs import STDIN, input_name
from lapwing.engines.arrow.report_count import ReportCount
from lapwing.engines.arrow.report_folder import finished
from lapwing.engines.arrow.report_tally import tally as count_files
from lapwing.errors import TallyError
from lapwing.protocol.messages.group_tallies import MINIMUM, OTHER, GroupTallies
from lapwing.results.rounding import count_text
from lapwing.survey.survey import Survey

_SHOWN = 1000
"""Segments of which the screen shows the reports."""


@dataclass(frozen=True, kw_only=True)
class CountingOptions:
    """The options that say what is counted, and what is counted apart."""

    column: str | None = option(
        "The column of reports in a table that another program wrote. The survey that asked "
        "for them is not checked.",
        "NAME",
    )
    skip_bad: bool = option(
        "Skip rows that are not reports of this survey and show how many, instead of refusing "
        "the file.",
        default=False,
    )
    salvage: bool = option("Count the intact blocks of a torn or damaged .lwr file.", default=False)
    allow_equal: AllowEqual = None
    by: list[str] | None = option(
        "The column of segments next to the reports (lapwing randomize --by). Each segment "
        "gets its own tally. Segments are public, not protected. May be repeated. Each "
        "combination is then a segment, such as country=PT/year=2026.",
        "NAME",
    )
    segment_minimum: int | None = option(
        f"With --by: segments with fewer reports are counted together as '{OTHER}'. Default: "
        f"{MINIMUM}.",
        "N",
        names={"minimum": "--segment-minimum"},
    )


RULES = (
    Rule("salvage", "does not apply to .lwr files, which have no labels", excludes=("by",)),
    Rule("segment_minimum", "is the smallest size of a segment", needs=("by",)),
)


def tally(
    survey_file: SurveyFile,
    reports: Annotated[
        list[str],
        argument(
            "Files of reports, or folders, patterns or addresses (s3://) of them: .lwr, "
            ".parquet, .arrow or .csv. - is standard input (.lwr).",
            "REPORTS",
        ),
    ],
    output: OutputFile,
    force: Force = False,
    *,
    counting: CountingOptions,
    work: LongJobOptions,
    out: Output,
) -> None:
    """Report counts for one survey.

    A damaged file, an impossible report or a file of another survey is refused. Then nothing is
    written. The tally is public and can be merged with others. Files may be larger than memory. A
    folder means all files in it.

    With --by, the file holds a tally for each segment. Decode one with lapwing decode --segment,
    and compare two with lapwing compare. The tallies sum to the tally of all reports. Of many
    segments name the output .parquet: a row for each segment.
    """
    paths = [Path(name) for name in reports]
    files = every_file(paths)
    inputs = [survey_file, *(path for path in files if path != STDIN)]
    check_output(output, inputs=inputs, force=force)
    check_distinct(files, what="reports", allow_equal=counting.allow_equal)
    survey = read_survey(survey_file)
    threads, progress = work.workers(), work.progress(output)
    counted = _counted(paths, survey, counting, threads, progress, out)
    if counted.total == 0:
        names = ", ".join(input_name(Path(path)) for path in reports)
        raise TallyError(
            f"there must be at least one report to count, but there is none in {names}"
        )
    if counted.refused:
        rows = "1 row" if counted.refused == 1 else f"{count_text(counted.refused)} rows"
        out.warn(f"not tallied: {rows} without a report of this survey (--skip-bad)")
    if not counting.by:
        write_text(output, counted.tally.file_text())
        _show(out, survey, counted, output)
    else:
        minimum = MINIMUM if counting.segment_minimum is None else counting.segment_minimum
        groups = counted.by_group(minimum=minimum)
        write_groups(output, groups)
        _show_groups(out, survey, counted, groups, counting.by, minimum, output)
    if progress is not None:
        finished(progress)


def _counted(
    reports: list[Path],
    survey: Survey,
    counting: CountingOptions,
    threads: int,
    progress: Path | None,
    out: Output,
) -> ReportCount:
    """Return what this process counted."""
    by = counting.by or None
    with out.progress("tally", None) as advance:
        return count_files(
            reports,
            survey,
            column=counting.column,
            by=by,
            threads=threads,
            skip_bad=counting.skip_bad,
            salvage=counting.salvage,
            progress=progress,
            advance=advance,
        )


def _show(out: Output, survey: Survey, counted: ReportCount, output: Path) -> None:
    document = {
        "command": "tally",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "reports": counted.total,
        "refused": counted.refused,
        "files": [
            {"file": one.file, "reports": one.reports, "torn": one.torn} for one in counted.files
        ],
        "output": str(output),
    }
    rows = {"survey": survey.name}
    rows |= {one.file: f"{count_text(one.reports)} reports" for one in counted.files}
    rows |= {"counted": f"{count_text(counted.total)} reports", "written": str(output)}
    out.show(document, facts(rows))


def _show_groups(
    out: Output,
    survey: Survey,
    counted: ReportCount,
    groups: GroupTallies,
    by: list[str],
    minimum: int,
    output: Path,
) -> None:
    rest = groups.rest
    if rest is not None and rest.total < minimum:
        few = f"{count_text(rest.total)} reports, fewer than {minimum}"
        out.warn(f"segment {groups.rest_name!r} has {few}")
    document = {
        "command": "tally",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "by": by[0] if len(by) == 1 else by,
        "minimum": minimum,
        "labels": len(counted.groups),
        "reports": counted.total,
        "refused": counted.refused,
        "groups": [{"group": name, "reports": number} for name, number in groups.totals.items()],
        "output": str(output),
    }
    shown = list(groups.totals.items())[:_SHOWN]
    body = [[name, count_text(number)] for name, number in shown]
    more = len(groups) - len(shown)
    if more:
        body.append([f"and {count_text(more)} more", ""])
    below = {
        "labels": count_text(len(counted.groups)),
        "counted": f"{count_text(counted.total)} reports",
        "written": str(output),
    }
    out.show(
        document,
        grid(f"{survey.name}, by {' and '.join(by)}", ["segment", "reports"], body),
        facts(below),
    )
