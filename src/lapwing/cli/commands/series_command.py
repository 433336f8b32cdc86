"""`lapwing series`: weeks decoded together, or one more week watched for a change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lapwing.cli.console import Output, check_output, facts, write_text
from lapwing.cli.option_groups import Rule, argument, option
from lapwing.cli.reading.options import Force, IntervalOptions, ResultOptions, SegmentName
from lapwing.cli.reading.stored_answers import read_watch, read_weeks
from lapwing.cli.showing.answer import TableOptions, shown_answer
from lapwing.errors import ArgumentError
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.rounding import count_text, estimate_text, exact_text
from lapwing.survey.series_decoding import decode_series
from lapwing.survey.watch import Noticed, Watch


@dataclass(frozen=True, kw_only=True)
class SeriesOptions(ResultOptions):
    """The options of weeks that are decoded together, or watched."""

    names: str | None = option(
        "Names of the weeks, separated by commas. Default: the names of the files.", "NAMES"
    )
    so_far: bool = option(
        "Decode each week only from the weeks up to it (a filter, not a smoother).", default=False
    )
    watch: Path | None = option(
        "Check one more week for a change. FILE keeps the state, and is created by the first week.",
        "FILE",
    )
    alpha: float | None = option(
        "With --watch, in its first week: the probability of any false alarm over all weeks. "
        "Default: 0.05.",
        "SHARE",
    )
    allow_equal: list[str] | None = option(
        "Accept this week although its counts equal those of an earlier one, because its "
        "reports are different. May be repeated. By default, a copy is refused.",
        "NAME",
    )


RULES = (
    Rule("watch", "takes one week at a time", excludes=("output", "so_far", "table")),
    Rule("alpha", "is the false-alarm probability of a watch", needs=("watch",)),
)


def series(
    week_files: Annotated[
        list[str],
        argument(
            "The survey, then the tally of each week (- for a missing week). Or a file of "
            "tallies by week (lapwing tally --by), or releases, or a folder of any of "
            "these.",
            "WEEK",
        ),
    ],
    *,
    weeks: SeriesOptions,
    force: Force = False,
    table: TableOptions,
    segment: SegmentName = None,
    intervals: IntervalOptions,
    out: Output,
) -> None:
    """Weekly distributions decoded together, and change alarms.

    All weeks are smoothed together, so that each is estimated from all of them. Changes and
    outliers are listed. If all names end with dates (2026, 2026-Q3, 2026-03, t-2026-W09,
    2026-03-01), they must be in order. A date that is missing between two others is a gap.

    With --watch, run it once a week with the survey and the tally of that week. A change is
    reported once there is enough evidence, with the week in which it began, its size and its place.
    The probability that a change is ever reported where there was none is at most alpha, however
    many weeks are looked at. A week that is given twice is refused.
    """
    ends = intervals.how()
    if weeks.watch is not None:
        _watch(week_files, weeks.watch, weeks, segment, out)
        return
    output = weeks.output
    files = read_weeks(week_files, dated=weeks.names is None, segment=segment)
    table.check(inputs=files.paths, force=force, output=output)
    if output is not None:
        check_output(output, inputs=files.paths, force=force)
    if files.rest:
        out.warn(
            f"{count_text(files.rest)} reports are left out: they have no week, or their week "
            "has fewer reports than lapwing tally --segment-minimum"
        )
    names = files.names if weeks.names is None else weeks.names.split(",")
    decoded = decode_series(
        files.weeks, names=names, smooth=not weeks.so_far, allow_equal=weeks.allow_equal or ()
    )
    if output is not None:
        write_text(output, decoded.to_json())
    rest = {} if output is None else {"written": str(output)}
    request = AnswerRequest(**ends)
    answer = shown_answer(decoded, "weeks decoded together", request, rest=rest)
    table.write(answer.rows)
    head = {"command": "series", "output": None if output is None else str(output)}
    out.show(head | answer.document, *answer.tables)


def _watch(
    words: list[str], path: Path, weeks: SeriesOptions, segment: str | None, out: Output
) -> None:
    """Look at one more week, and keep what was seen."""
    alpha = weeks.alpha
    if path.exists():
        state = read_watch(path)
    else:
        state = Watch() if alpha is None else Watch(alpha)
    if alpha is not None and alpha != state.alpha:
        raise ArgumentError(
            f"this watch started with alpha {exact_text(state.alpha)}, which cannot change. "
            "Leave out --alpha"
        )
    files = read_weeks(words, segment=segment)
    if len(files.weeks) != 1:
        raise ArgumentError(
            f"--watch takes one week at a time, got {len(files.weeks)}. Run it once for each week"
        )
    if path.resolve() in {each.resolve() for each in files.paths}:
        raise ArgumentError(
            "watch", "must differ from the week's files", advice="Choose a new name"
        )
    name = str(len(state.weeks) + 1) if files.weeks[0] is None else files.names[0]
    name = weeks.names or name
    state, noticed = state.look(files.weeks[0], name=name, allow_equal=weeks.allow_equal or ())
    write_text(path, state.to_json())
    _show(state, noticed, path, out)


def _show(state: Watch, noticed: Noticed, path: Path, out: Output) -> None:
    """Show what a look noticed."""
    change, domain = noticed.change, state.domain
    words = None if change is None or domain is None else change.shift.in_words(domain)
    document = {
        "command": "series",
        "state": str(path),
        "week": noticed.week,
        "weeks": len(state.weeks),
        "gap": noticed.gap,
        "evidence": noticed.evidence,
        "needed": noticed.needed,
        "changed": change is not None,
        "change": None if change is None else {**change.to_document(), "words": words},
        "reported": [each.to_document() for each in state.changes],
    }
    told = {
        "week": noticed.week,
        "examined": f"{len(state.weeks)} week{'' if len(state.weeks) == 1 else 's'}",
    }
    if noticed.gap is not None:
        told["gap"] = noticed.gap
    if change is None:
        told["changed"] = "no change detected"
        told["evidence"] = (
            f"{estimate_text(noticed.evidence)}; an alarm needs {estimate_text(noticed.needed)}"
        )
    else:
        told["changed"] = f"since {change.week}: {words}"
    out.show(document, facts(told))
