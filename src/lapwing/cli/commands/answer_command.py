"""`lapwing answer`: shares that somebody asks for, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, grid
from lapwing.cli.option_groups import option
from lapwing.cli.reading.options import Force, Level, SegmentName, check_level
from lapwing.cli.reading.stored_answers import read_distribution_or_list
from lapwing.cli.showing.asked_shares import (
    Row,
    row_of_listed,
    row_of_missing,
    row_of_range,
    row_of_share,
)
from lapwing.cli.showing.table_file import TableOptions
from lapwing.cli.wording import interval_text, percent
from lapwing.errors import ArgumentError
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters


@dataclass(frozen=True, kw_only=True)
class AskedShares:
    """The options that say what is asked."""

    at_most: list[str] | None = option(
        "The share of values of at most this, of dates with that whole day; may be repeated.",
        "VALUE",
    )
    between: list[tuple[str, str]] | None = option(
        "The share of values above the first and of at most the second; may be repeated.",
        "LOW HIGH",
    )
    share: list[str] | None = option(
        "The share of a label, a whole number or a listed heavy hitter, or of the bin or atom that "
        "holds a value; may be repeated.",
        "LABEL",
    )

    def answers(self, result: Distribution | HeavyHitters, level: float) -> list[Row]:
        """Return each question with its share and the ends of its interval."""
        if not (self.at_most or self.between or self.share):
            raise ArgumentError("ask for something: --at-most, --between or --share")
        if isinstance(result, HeavyHitters):
            if self.at_most or self.between:
                raise ArgumentError("heavy hitters are single values; ask --share of one")
            return [row_of_listed(result, text, level=level) for text in self.share or ()]
        rows = []
        for text in self.at_most or ():
            rows.append(row_of_range(result, None, text, flag="--at-most", level=level))
        for ends in self.between or ():
            rows.append(row_of_range(result, *ends, flag="--between", level=level))
        for text in self.share or ():
            rows.append(row_of_share(result, text, level=level))
        return rows


def answer(
    result_file: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="A decoded distribution, heavy hitters, or a release."
        ),
    ],
    *,
    asked: AskedShares,
    segment: SegmentName = None,
    level: Level = 0.95,
    written: TableOptions,
    force: Force = False,
    out: Output,
) -> None:
    """Answer questions about a result: the share of a range, or of a label.

    Shares are of those whose value is present, but for the share of the missing, which is of all
    people and stands below. An interval is for one question; it holds whatever
    the values do inside the bins in which a range ends.
    """
    check_level(level)
    written.check(inputs=[result_file], force=force)
    result = read_distribution_or_list(result_file, segment)
    rows = asked.answers(result, level)
    missing = row_of_missing(result, level=level) if result.kind == "distribution" else None
    written.write(rows)
    document = {
        "command": "answer",
        "level": level,
        "answers": rows,
        "missing": missing,
        "output": None if written.table is None else str(written.table),
    }
    shown = rows if missing is None else [*rows, missing]
    body = [[row["asked"], percent(row["share"]), interval_text(row, percent)] for row in shown]
    share = "share" if missing is None else "share of those present"
    at_once = ", of all values at once" if result.kind == "heavy-hitters" else ""
    headers = ["asked", share, f"{100 * level:g} % interval{at_once}"]
    out.show(document, grid(result_file.name, headers, body))
