"""`lapwing bounds`: bounds of a column that nobody knows, found privately and paid for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from lapwing.central.private_bounds import (
    PrivateBounds,
    check_confidence,
    count_steps,
    private_bounds,
)
from lapwing.cli.console import Output, facts
from lapwing.cli.reading.options import ColumnName
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.privacy.exact_numbers import exact_delta
from lapwing.privacy.guarantee import Neighbours
from lapwing.privacy.ledger_file import LedgerFile
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.summary import Summary, for_curator

_NUMBERS = for_curator(Interval(-1, 1, bins=1))
"""How cells are read: as numbers, missing ones too. Its bounds are not used."""


def bounds(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table, .parquet or .csv.")],
    epsilon: Annotated[
        str, typer.Option("--epsilon", metavar="NUMBER", help="What the bounds may cost.")
    ],
    neighbours: Annotated[
        str,
        typer.Option(
            "--neighbours", metavar="RELATION", help="replace-one or add-or-remove-one, as stated."
        ),
    ],
    delta: Annotated[
        str, typer.Option("--delta", metavar="NUMBER", help="In [0, 1); 0 is pure epsilon.")
    ] = "0",
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="P",
            help="That no power of two without rows is taken for one with rows; more needs more "
            "rows.",
        ),
    ] = 0.999,
    column: ColumnName = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="Pays before the noise is drawn (lapwing ledger), also when nothing is found.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="TEXT", help="Of the entry in the ledger.")
    ] = "bounds",
    *,
    out: Output,
) -> None:
    """Find bounds of a column of numbers with noise, where no public ones are known.

    Bounds from public knowledge are better: they cost nothing and cut nobody off. These are powers
    of two that hold most rows, and they cost their epsilon in addition to that of the release.
    """
    relation = cast(Neighbours, neighbours)
    # Everything that can be refused is refused before the data are read or anything is paid.
    promise = Promise(relation, epsilon=epsilon, delta=exact_delta(delta))  # type: ignore[arg-type]
    check_confidence(confidence)
    file = None if ledger is None else LedgerFile(ledger)
    if file is not None:
        file.read()
    found = private_bounds(
        _steps(data, column, out),
        neighbours=relation,
        epsilon=promise.epsilon,
        delta=promise.delta,
        confidence=confidence,
        ledger=file,
        name=name,
    )
    _show(out, found, ledger)


def _steps(path: Path, column: str | None, out: Output) -> Summary:
    """Return how many rows lie between each power of two and the next."""
    with out.listening():
        values = ColumnValues.of(path, column, _NUMBERS, curator=True)
        with out.progress("count", values.table.rows) as advance:
            parts = values.map(count_steps, advance=advance)
            summary: Summary = sum(parts, start=count_steps([]))
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
    rows["paid by"] = "no ledger: keep account of it yourself" if ledger is None else str(ledger)
    out.show(document, facts(rows))


def _said(found: PrivateBounds) -> str:
    if found.low is None or found.high is None:
        return (
            f"none found: no power of two holds about {found.threshold} rows or more; use public "
            "bounds, more rows or a larger epsilon"
        )
    return f"--bounds {found.low:.17g} {found.high:.17g}"
