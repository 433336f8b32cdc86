"""`lapwing tally`: count reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_output, tally_text, write_text
from lapwing.cli.reading.distinct_files import check_distinct
from lapwing.cli.reading.options import AllowEqual, Force, OutputFile, SurveyFile
from lapwing.cli.reading.stored import read_survey
from lapwing.cli.showing.group_tallies_answer import no_reports, tally_groups
from lapwing.cli.wording import count_text
from lapwing.engines.arrow.column_values import at_rows
from lapwing.engines.arrow.report_tables import read_reports
from lapwing.engines.arrow.standard_input import STDIN, shown
from lapwing.errors import ArgumentError, ReportError, TornFileError
from lapwing.protocol.messages.group_tallies import MINIMUM, OTHER
from lapwing.protocol.messages.tally import Tally
from lapwing.survey.survey import Survey


@dataclass(frozen=True, kw_only=True)
class CountingOptions:
    """The options that say what is counted, and what is counted apart."""

    salvage: bool = option(
        "From a torn or damaged .lwr file, count the blocks that are intact.", default=False
    )
    allow_equal: AllowEqual = False
    by: str | None = option(
        "A tally for each segment: the column of labels that stands beside the reports "
        "(lapwing randomize --by). The label is public, it is not protected.",
        "NAME",
    )
    minimum: int | None = option(
        f"--by: segments of fewer reports are counted together as '{OTHER}' (default {MINIMUM}).",
        "N",
    )


def tally(
    survey_file: SurveyFile,
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORTS",
            help="Files of reports: .lwr, .parquet or .csv; - is standard input (.lwr).",
        ),
    ],
    output: OutputFile,
    force: Force = False,
    *,
    counting: CountingOptions,
    out: Output,
) -> None:
    """Count the reports of one survey, from one file or many.

    All files count, entirely, or nothing is written: a torn file, a report that cannot occur
    or a file of another survey is refused. The tally is public and can be merged with others.

    With --by, each segment's tally is a file of its own: for -o tally.json, tally-LABEL.json.
    Decode them one by one; lapwing difference compares two. They add up to the tally of all.
    """
    inputs = [survey_file, *(path for path in reports if path != STDIN)]
    by_group = counting.by is not None  # then the output only lends its name
    check_output(output, inputs=inputs, force=force or by_group)
    check_distinct(reports, what="reports", allow_equal=counting.allow_equal)
    survey = read_survey(survey_file)
    if counting.by is not None:
        if counting.salvage:
            raise ArgumentError("--salvage is for .lwr files, which hold no labels for --by")
        minimum = MINIMUM if counting.minimum is None else counting.minimum
        tally_groups(
            survey,
            reports,
            output,
            out,
            by=counting.by,
            minimum=minimum,
            inputs=inputs,
            force=force,
        )
        return
    if counting.minimum is not None:
        raise ArgumentError("--minimum is the least size of a segment; name the segments with --by")
    total, counted = _tally_files(reports, survey, salvage=counting.salvage, out=out)
    write_text(output, tally_text(total))
    _show(out, survey, total, counted, output)


def _show(
    out: Output, survey: Survey, total: Tally, counted: list[dict[str, Any]], output: Path
) -> None:
    document = {
        "command": "tally",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "reports": total.total,
        "files": counted,
        "output": str(output),
    }
    rows = {"survey": survey.name}
    rows |= {entry["file"]: f"{count_text(entry['reports'])} reports" for entry in counted}
    rows |= {"counted": f"{count_text(total.total)} reports", "written": str(output)}
    out.show(document, facts(rows))


def _tally_files(
    reports: list[Path], survey: Survey, *, salvage: bool, out: Output
) -> tuple[Tally, list[dict[str, Any]]]:
    """Return the tally of all files, and what was counted of each."""
    total: Tally | None = None
    counted: list[dict[str, Any]] = []
    with out.progress("tally", None) as advance:
        for path in reports:
            part, torn = _tally_file(path, survey, salvage=salvage, advance=advance)
            if torn is not None:
                out.warn(f"{torn}; only those were counted")
            number = 0 if part is None else part.total
            counted.append({"file": str(path), "reports": number, "torn": torn is not None})
            if part is not None:
                total = part if total is None else total + part
    if total is None:
        raise no_reports(reports)
    return total, counted


def _tally_file(
    path: Path, survey: Survey, *, salvage: bool, advance: Callable[[int], None]
) -> tuple[Tally | None, TornFileError | None]:
    total: Tally | None = None
    first = 0
    try:
        for batch in read_reports(path, survey):
            part = _tally_batch(path, survey, batch, first)
            total = part if total is None else total + part
            first += len(batch)
            advance(len(batch))
    except TornFileError as error:
        if salvage:
            return total, error
        message = f"{error}; nothing was counted, --salvage counts those"
        raise TornFileError(
            message, path=error.path, block=error.block, intact=error.intact
        ) from None
    return total, None


def _tally_batch(path: Path, survey: Survey, batch: Any, first: int) -> Tally:
    with at_rows(shown(path), first, of=ReportError):
        return survey.tally(batch)
