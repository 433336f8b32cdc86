"""`lapwing compare`: two groups or two periods compared, or an estimate with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import ENDINGS, check_ending, check_output, write_figure
from lapwing.cli.reading.options import Force, Level, check_level
from lapwing.cli.reading.stored_answers import read_segment
from lapwing.cli.reading.truth import TruthOptions
from lapwing.cli.showing.answer import AT_ONCE, PROBABILITIES, SHARE_LIMIT
from lapwing.cli.showing.distances import show_distances
from lapwing.cli.showing.table_file import TableOptions
from lapwing.cli.wording import count_text, interval_text, label_text, percent, shift_text
from lapwing.errors import ArgumentError, MismatchError
from lapwing.results.band import Target
from lapwing.results.compared import ABOUT
from lapwing.results.difference import Difference, People
from lapwing.results.plotting import figure_of

if TYPE_CHECKING:
    from rich.table import Table

PEOPLE: tuple[People, ...] = ("same", "different")


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """The options that say who is compared, and about whom that speaks."""

    people: str = option(
        "same: somebody may stand in both, as in two periods (then the promises add up); "
        "different: nobody does, as in two groups.",
        "WHICH",
        default="same",
    )
    target: str | None = option(
        "Whom the intervals are about. population: all people the two were drawn from, for "
        "--people different, and the default there; empirical: the people who reported.",
        "WHOM",
    )
    segment: list[str] | None = option(
        "Of two releases by segment, this one; given twice, one for each of the two.", "NAME"
    )

    def about(self) -> Target:
        """Return whom the intervals are about; ArgumentError where an option is wrong."""
        if self.people not in PEOPLE:
            raise ArgumentError(f"--people must be 'same' or 'different', got {self.people!r}")
        if len(self.segment or ()) > 2:
            raise ArgumentError("--segment is given once for both, or twice, one for each")
        if self.target not in (None, "population", "empirical"):
            raise ArgumentError(
                f"--target must be 'population' or 'empirical', got {self.target!r}"
            )
        if self.people == "different":
            return "empirical" if self.target == "empirical" else "population"
        if self.target == "population":
            raise ArgumentError(
                "--target population needs two groups drawn on their own: --people different, "
                "where nobody stands in both"
            )
        return "empirical"


def compare(
    first_file: Annotated[
        Path, typer.Argument(metavar="FIRST", help="A decoded distribution, or a release.")
    ],
    second_file: Annotated[
        Path | None,
        typer.Argument(metavar="SECOND", help="Another one; it is taken from the first."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A picture of it: .png, .svg or .pdf."),
    ] = None,
    force: Force = False,
    level: Level = 0.95,
    *,
    compared: ComparisonOptions,
    named: TruthOptions,
    table: TableOptions,
    out: Output,
) -> None:
    """The difference of two results, or the error of one.

    With SECOND: how much quantiles and the mean are shifted, or how much shares differ, with
    intervals, and whether the confidence band of the whole curve leaves zero. Both results must be
    on the same domain. Two periods of a survey with memoized reports are refused, because such
    reports show no changes.

    With --truth: the distances of an estimate from the truth. Distances between CDFs use the exact
    values, clipped or wrapped as the survey does. Distances between shares and between bins use the
    values counted in bins, as expected errors do. Each true value needs about 120 bytes of memory.
    """
    check_level(level)
    named.check()
    if named.file is not None:
        if second_file is not None or output is not None or compared != ComparisonOptions():
            raise ArgumentError(
                "--truth compares one result with the truth; leave SECOND, --output, --people, "
                "--target and --segment out"
            )
        show_distances(first_file, named, table, out, force=force)
    elif second_file is None:
        raise ArgumentError("name what to compare with: a second result, or --truth")
    else:
        _show_difference(
            (first_file, second_file), compared, table, out, output=output, force=force, level=level
        )


def _show_difference(
    files: tuple[Path, Path],
    compared: ComparisonOptions,
    table: TableOptions,
    out: Output,
    *,
    output: Path | None,
    force: bool,
    level: float,
) -> None:
    about, (first_file, second_file) = compared.about(), files
    if output is not None:
        check_ending(output, ENDINGS, what="the picture")
        check_output(output, inputs=files, force=force)
    table.check(inputs=files, force=force, output=output)
    parts: list[str] | list[None] = compared.segment or [None]
    first, second = read_segment(first_file, parts[0]), read_segment(second_file, parts[-1])
    try:
        made = Difference(
            first, second, people="same" if compared.people == "same" else "different"
        )
    except MismatchError as error:
        raise MismatchError(f"{first_file.name} and {second_file.name}: {error}") from None
    names = (_name(first_file, parts[0]), _name(second_file, parts[-1]))
    if output is not None:
        figure = figure_of(*made.pictures(level=level, names=names, target=about))
        with out.listening():
            write_figure(output, figure)
    document = {
        "command": "compare",
        "first": str(first_file),
        "second": str(second_file),
        **difference_document(made, level=level, target=about),
        "output": None if output is None else str(output),
    }
    table.write(_rows(document))
    written = {} if output is None else {"written": str(output)}
    out.show(document, *_tables(made, document, names, rest=written))


def _name(path: Path, segment: str | None) -> str:
    return path.stem if segment is None else f"{path.stem} {segment}"


def difference_document(
    made: Difference, *, level: float, target: Target = "empirical"
) -> dict[str, Any]:
    """Return what a difference says, as JSON values.

    Parameters
    ----------
    made : Difference
    level : float
        Of the intervals, in (0, 1).
    target : {"empirical", "population"}
        Whom they are about.
    """
    asked: Any = {"level": level, "target": target}
    whole = made.confidence_band(kind="simultaneous", **asked)
    document: dict[str, Any] = {
        "people": made.people,
        "target": target,
        "reports": [made.first.reports, made.second.reports],
        "guarantee": made.guarantee.to_document() if made.guarantee else None,
        **({} if made.caution is None else {"caution": made.caution}),
        "level": level,
        "differ": None if whole is None else whole.leaves_zero,
    }
    if not made.first.domain.ordered:
        return document | {"shares": _shares(made, level, target)}
    shifts = [
        {
            "probability": probability,
            "shift": float(made.quantile(probability)),
            **_ends(made.quantile_interval(probability, **asked)),
        }
        for probability in PROBABILITIES
    ]
    mean = {"shift": made.mean(), **_ends(made.mean_interval(**asked))}
    return document | {"quantiles": shifts, "mean": mean}


def _rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the table that is shown: labels, or quantiles and then the mean."""
    if "shares" in document:
        return [{**row, "label": label_text(row["label"])} for row in document["shares"]]
    mean = {"probability": "mean", **document["mean"]}
    return [*document["quantiles"], mean]


def _ends(interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = (None, None) if interval is None else interval
    return {"low": low, "high": high}


def _shares(made: Difference, level: float, target: Target) -> list[dict[str, Any]]:
    domain: Any = made.first.domain  # without an order, so one of labels
    gaps = made.first.mass - made.second.mass
    band = made.shown_band(level, SHARE_LIMIT, target=target)
    listed = domain.listed
    return [
        {
            "label": listed[symbol] if symbol < len(listed) else None,
            "difference": float(gaps[symbol]),
            "low": None if band is None else float(band.low[symbol]),
            "high": None if band is None else float(band.high[symbol]),
        }
        for symbol in np.argsort(-np.abs(gaps), kind="stable")[:SHARE_LIMIT].tolist()
    ]


def _tables(
    made: Difference, document: dict[str, Any], names: tuple[str, str], *, rest: dict[str, str]
) -> list[Table]:
    domain = made.first.domain
    title = f"{names[0]} minus {names[1]}"
    interval = f"{100 * document['level']:g} % interval"
    if domain.ordered:
        named = [(f"{row['probability']:g}", row) for row in document["quantiles"]]
        named.append(("mean", document["mean"]))

        def write(shift: float) -> str:
            return shift_text(shift, domain)

        body = [[name, write(row["shift"]), interval_text(row, write)] for name, row in named]
        table = grid(title, ["quantile", "shift", interval], body)
    else:
        body = [
            [label_text(row["label"]), percent(row["difference"]), interval_text(row, percent)]
            for row in document["shares"]
        ]
        if len(body) < domain.size:
            interval += AT_ONCE
        table = grid(title, ["label", "difference", interval], body)
    rows = {
        "reports": f"{count_text(made.first.reports)} and {count_text(made.second.reports)}",
        "people": made.people,
    }
    if made.guarantee:
        rows["promise of both"] = str(made.guarantee)
    rows["intervals"] = f"about {ABOUT[document['target']]}"
    if made.caution:
        rows["mind"] = made.caution
    rows["the two differ"] = {
        None: "not known: one of them has no error law",
        True: "yes: the band of the whole curve leaves zero",
        False: "not shown: the band of the whole curve holds zero everywhere",
    }[document["differ"]]
    return [table, facts(rows | rest)]
