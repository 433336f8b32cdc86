"""Counts of a table in which a person may have several rows: random rows of each unit."""

from __future__ import annotations

from typing import Any

from lapwing.engines.arrow.arrow_values import unit_names
from lapwing.engines.arrow.column_values import ColumnValues, at_rows
from lapwing.engines.arrow.ordered_work import Advance
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Values
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import cells_of, symbols_of
from lapwing.protocol.messages.unit_rows import UnitRows


def unit_column(one: ColumnValues, name: str, beside: ColumnValues | None) -> str:
    """Return the name of the column of units. ArgumentError when it is not one of its own.

    Its type is checked, and no row is read.
    """
    found = one.table.column(name, option="unit", beside=one.name)
    if found in (one.name, beside.name if beside is not None else None):
        raise ArgumentError("unit", "must differ from column and by", others=("column", "by"))
    if one.table.typed:
        unit_names(one.table.empty(found), column=found, typed=True)
    return found


def add_unit_rows(
    kept: UnitRows,
    one: ColumnValues,
    unit: str,
    beside: ColumnValues | None,
    domain: Domain,
    advance: Advance,
    *,
    rows: RowCounts,
) -> None:
    """Add the rows of a table to those that are kept of each unit.

    kept: Of all tables of the data set: a unit may have rows in each.
    one, beside: Of :func:`lapwing.engines.arrow.value_jobs.curator_columns`.
    unit: Of :func:`unit_column`.
    domain: Of a curator.
    rows: Gets how many values are missing, unreadable and outside, and rows without a unit.
    """
    first = 0
    names = [one.name, unit] if beside is None else [one.name, unit, beside.name]
    for batch in one.table.batches(names):
        read = RowCounts(label=one.table.label, start=first)
        values = one.read(batch.column(0), first, read)
        if beside is not None and isinstance(domain, Segmented):
            others = beside.read(batch.column(2), first)
            symbols = cells_of(values, others, domain, rows=read)
        else:
            symbols = symbols_of(values, domain, rows=read)
        with at_rows(one.table.label, first):
            units: Values = unit_names(batch.column(1), column=unit, typed=one.table.typed)
        before = kept.left_out
        kept.add(units, symbols)
        read.left_out += kept.left_out - before
        rows += read
        first += batch.num_rows
        advance(batch.num_rows)


def check_units(unit: Any, most: Any, progress: Any, counts: Any = None) -> None:
    """Raise ArgumentError unless both or none are given, and no progress is kept of units.

    A table of `counts` has no rows of units.
    """
    if (unit is None) != (most is None):
        raise ArgumentError(
            "unit",
            "and most belong together: the column with the unit of each row, and the maximum "
            "number of rows per unit",
            others=("most",),
        )
    if unit is not None and progress is not None:
        raise ArgumentError(
            "resume",
            "saves counts, but those of units are known only at the end",
            advice="Leave it out",
        )
    if unit is not None and counts is not None:
        raise ArgumentError(
            "count_column",
            "says how many rows share each value, but unit says which person each row belongs to",
            advice="Leave out one of them",
            others=("unit",),
        )
