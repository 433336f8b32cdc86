"""`lapwing answer`: shares and quantiles that somebody asks for, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output, grid
from lapwing.cli.option_groups import option
from lapwing.cli.reading.options import Force, Level, SegmentName, check_level
from lapwing.cli.reading.stored_answers import read_distribution_or_list, require_no_segments
from lapwing.cli.showing.answer import quantile_cells, quantile_rows, quantile_table
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

    quantile: list[float] | None = option(
        "The quantile of a probability in 0 to 1, as 0.5 for the median; may be repeated.", "P"
    )

    def check(self) -> None:
        """Raise ArgumentError where nothing is asked, or a probability is none."""
        if not (self.at_most or self.between or self.share or self.quantile):
            raise ArgumentError("ask for something: --at-most, --between, --share or --quantile")
        for probability in self.quantile or ():
            if not 0 <= probability <= 1:
                raise ArgumentError(f"--quantile must be in [0, 1], got {probability:g}")

    def quantiles(self, result: Distribution | HeavyHitters, level: float) -> list[Row]:
        """Return the quantiles that are asked for, with their intervals."""
        if not self.quantile:
            return []
        if isinstance(result, Distribution):
            require_no_segments(result, flag="--quantile")
        if isinstance(result, HeavyHitters) or not result.domain.ordered:
            raise ArgumentError("--quantile is for numbers; of labels ask --share")
        return quantile_rows(result, self.quantile, level=level)

    def answers(self, result: Distribution | HeavyHitters, level: float) -> list[Row]:
        """Return each question about a share with the ends of its interval."""
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
    """Shares and quantiles of a result, with intervals.

    A share is a share of the people whose value is present. The share of missing values is a share
    of all people, and is shown below. Each interval is for one question, and it holds wherever the
    values are inside the bins in which a range ends. The interval of a quantile comes from
    inverting the band of the distribution function.
    """
    check_level(level)
    asked.check()
    if asked.quantile and asked != AskedShares(quantile=asked.quantile) and written.table:
        raise ArgumentError("--csv holds one table: ask for shares or for quantiles")
    written.check(inputs=[result_file], force=force)
    result = read_distribution_or_list(result_file, segment)
    quantiles = asked.quantiles(result, level)
    rows = asked.answers(result, level)
    distribution = result if rows and result.kind == "distribution" else None
    missing = None if distribution is None else row_of_missing(distribution, level=level)
    written.write(quantile_cells(quantiles, result.domain) if quantiles else rows)
    document = {
        "command": "answer",
        "level": level,
        "answers": rows,
        "quantiles": quantiles,
        "missing": missing,
        "output": None if written.table is None else str(written.table),
    }
    tables = []
    if quantiles:
        domain: Any = result.domain
        tables.append(quantile_table(result_file.name, quantiles, domain, level=level))
    if rows:
        shown = rows if missing is None else [*rows, missing]
        body = [[row["asked"], percent(row["share"]), interval_text(row, percent)] for row in shown]
        share = "share" if missing is None else "share of those present"
        at_once = ", of all values at once" if result.kind == "heavy-hitters" else ""
        headers = ["asked", share, f"{100 * level:g} % interval{at_once}"]
        tables.append(grid(result_file.name, headers, body))
    out.show(document, *tables)
