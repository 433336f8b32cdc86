"""`lapwing bounds`: bounds of a column that nobody knows, found privately and paid for."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any

from lapwing.cli.console import Output, facts
from lapwing.cli.option_groups import argument, option
from lapwing.cli.reading.domain_options import marks_of
from lapwing.cli.reading.options import (
    ColumnName,
    DecimalName,
    EncodingName,
    NoHeader,
    ThousandsName,
    relation_of,
)
from lapwing.declared import requirement
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.table_reader import open_table
from lapwing.engines.arrow.value_jobs import Reading
from lapwing.mechanisms.private_bounds import (
    PrivateBounds,
    check_confidence,
    count_steps,
    private_bounds,
)
from lapwing.privacy.exact_numbers import Epsilon, exact_delta
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.rounding import argument_text

_NUMBERS = Interval(-1, 1, bins=1).for_curator()
"""How cells are read: as numbers, missing ones too. Its bounds are not used."""


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """The options that say what the bounds may cost."""

    epsilon: str = option(
        f"Privacy parameter of the bounds, {requirement(Epsilon)}.", "NUMBER", default=MISSING
    )
    neighbors: str = option(
        "Neighboring data sets: replace-one or add-or-remove-one.", "RELATION", default=MISSING
    )
    delta: str = option("Delta, in [0, 1). 0 is pure differential privacy.", "NUMBER", default="0")
    confidence: float = option(
        "The probability that no empty power of two is chosen as a bound. A higher one needs "
        "more rows.",
        "P",
        default=0.999,
    )

    def promise(self) -> Promise:
        """Return the privacy parameters, or raise the error that refuses them."""
        check_confidence(self.confidence)
        epsilon: Any = self.epsilon  # Promise reads numbers in texts.
        return Promise(relation_of(self.neighbors), epsilon=epsilon, delta=exact_delta(self.delta))


@dataclass(frozen=True, kw_only=True)
class BoundsPaymentOptions:
    """The options of who pays."""

    ledger: Path | None = option(
        "Ledger file to charge before noise is drawn (lapwing ledger). It is charged even when no "
        "bounds are found.",
        "FILE",
    )
    name: str = option("Name of the entry in the ledger.", "TEXT", default="bounds")


def bounds(
    data: Annotated[
        Path, argument("A table: .parquet or .csv. - is standard input (CSV).", "DATA")
    ],
    *,
    cost: CostOptions,
    column: ColumnName = None,
    no_header: NoHeader = False,
    decimal: DecimalName = None,
    thousands: ThousandsName = None,
    encoding: EncodingName = None,
    payment: BoundsPaymentOptions,
    out: Output,
) -> None:
    """Private bounds of a column of numbers.

    Bounds from public knowledge are better: they cost nothing and clip nobody. These bounds are
    powers of two that hold most rows. They cost their epsilon in addition to that of the release.
    """
    # Everything that can be refused is refused before the data are read or anything is paid.
    promise = cost.promise()
    assert promise.epsilon is not None  # asked for
    mark, groups = marks_of(decimal, thousands, _NUMBERS)
    reading = Reading(header=not no_header, decimal=mark, thousands=groups, encoding=encoding)
    file = None if payment.ledger is None else Ledger.open(payment.ledger)
    if file is not None:
        file.read()
    found = private_bounds(
        _steps(data, column, out, reading),
        neighbors=promise.neighbors,
        epsilon=promise.epsilon,
        delta=promise.delta,
        confidence=cost.confidence,
        ledger=file,
        name=payment.name,
    )
    _show(out, found, payment.ledger)


def _steps(path: Path, column: str | None, out: Output, reading: Reading) -> ExactCounts:
    """Return how many rows lie between each power of two and the next."""
    table = open_table(path, **reading.of_tables())
    values = ColumnValues.in_table(table, column, _NUMBERS, curator=True)
    rows = RowCounts()
    with out.progress("count", values.table.rows) as advance:
        parts = values.map(count_steps, advance=advance, rows=rows)
        summary: ExactCounts = sum(parts, start=count_steps([]))
    out.examine(rows, _NUMBERS)
    return summary


def _show(out: Output, found: PrivateBounds, ledger: Path | None) -> None:
    document = {
        "command": "bounds",
        "low": found.low,
        "high": found.high,
        "threshold": found.threshold,
        "guarantee": found.guarantee.to_document(),
    }
    rows = {"bounds": _said(found), "cost": str(found.guarantee)}
    rows["paid by"] = "no ledger: record this cost yourself" if ledger is None else str(ledger)
    out.show(document, facts(rows))


def _said(found: PrivateBounds) -> str:
    if found.low is None or found.high is None:
        return (
            f"none found: no power of two contains about {found.threshold} rows or more. Use "
            "public bounds, more rows or a larger epsilon"
        )
    return f"--low {argument_text(found.low)} --high {argument_text(found.high)}"
