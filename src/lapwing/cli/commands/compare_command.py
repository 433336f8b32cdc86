"""`lapwing compare`: two groups or two periods compared, or an estimate with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.console import Output
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import ENDINGS, check_ending, check_output, write_figure
from lapwing.cli.reading.options import Force, Level, check_level
from lapwing.cli.reading.stored_answers import read_segment
from lapwing.cli.reading.truth import TruthOptions
from lapwing.cli.showing.answer import shown_answer
from lapwing.cli.showing.distances import show_distances
from lapwing.cli.showing.table_file import TableOptions
from lapwing.errors import ArgumentError, MismatchError
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.difference import Difference, People
from lapwing.results.plotting import figure_of
from lapwing.results.uncertainty import Target

if TYPE_CHECKING:
    pass

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
        figure = figure_of(*made._pictures(level=level, names=names, target=about))
        with out.listening():
            write_figure(output, figure)
    request = AnswerRequest(level=level, target=about, curve=out.as_json)
    rest = {} if output is None else {"written": str(output)}
    answer = shown_answer(made, f"{names[0]} minus {names[1]}", request, rest=rest)
    table.write(answer.rows)
    document = {
        "command": "compare",
        "first": str(first_file),
        "second": str(second_file),
        **answer.document,
        "output": None if output is None else str(output),
    }
    out.show(document, *answer.tables)


def _name(path: Path, segment: str | None) -> str:
    return path.stem if segment is None else f"{path.stem} {segment}"
