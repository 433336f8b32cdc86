"""Tables of values and how many rows hold each: counts that somebody has made already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.arrow_values import values_of
from lapwing.engines.arrow.column_values import ColumnValues, at_rows
from lapwing.engines.arrow.ordered_work import Advance
from lapwing.engines.arrow.table_reader import Table
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import MOST_PEOPLE, cells_of
from lapwing.protocol.messages.tally import LARGEST_COUNT


def value_and_count(table: Table, column: str | None, count_column: str) -> tuple[str, str]:
    """Return the names of the columns of values and counts. A single other column has the values.

    Raises ArgumentError when one is not there, or both are one.
    """
    counts = table.column(count_column, option="count_column")
    if column is None:
        others = [name for name in table.names if name != counts]
        if not others:
            raise ArgumentError(f"{table.label} has no column of values besides {counts!r}")
        if len(others) != 1:
            raise ArgumentError(
                "column", f"must name one of the columns of {table.label}: {', '.join(others)}"
            )
        column = others[0]
    values = table.column(column, option="column", beside=counts)
    if values == counts:
        raise ArgumentError(
            "column", "and count_column must be different columns", "one", others=("count_column",)
        )
    return values, counts


def whole_counts(array: Any, *, column: str, typed: bool) -> NDArray[np.int64]:
    """Return a column of counts: int64 [n]. DomainError with the position of one that is none."""
    # Counts are read as values of a domain of whole numbers: one reader, one kind of message.
    numbers = values_of(array, Integers(0, 1), column=column, typed=typed).astype(np.float64)
    legal = (numbers >= 0) & (numbers <= LARGEST_COUNT) & (numbers == np.floor(numbers))
    if not legal.all():
        position = int(np.argmin(legal))
        raise DomainError(
            f"every count must be a whole number from 0 to {LARGEST_COUNT}, but the one at "
            f"position {position} is not",
            position=position,
        )
    return numbers.astype(np.int64)


def check_people(everybody: float, label: str) -> None:
    """Raise DomainError when more rows are counted than a release can hold."""
    if everybody > MOST_PEOPLE:
        raise DomainError(f"the counts of {label} must add up to at most 2^40, but they do not")


@dataclass
class WeightedRows(RowCounts):
    """The rows of a batch, of which each stands for a number of rows.

    weights: How many, int64 [n].
    """

    weights: NDArray[np.int64] | None = None

    def number_at(self, positions: Sequence[int] | NDArray[Any]) -> int:
        """Return how many rows those at these positions stand for."""
        assert self.weights is not None
        return int(self.weights[np.asarray(positions, dtype=np.int64)].sum())


def weighted_counts(
    one: ColumnValues,
    beside: ColumnValues | None,
    count_column: str,
    domain: Domain,
    advance: Advance,
    *,
    rows: RowCounts,
) -> NDArray[np.int64]:
    """Return how many rows hold each symbol, by a table of counts: int64 [domain.size].

    one, beside: The columns of values and of segments.
    domain: Of a curator.
    rows: Gets how many of the rows that were counted are missing, unreadable and outside.

    Raises DomainError with the row of the first count that is not legal, or when all add up to more
    than 2^40.
    """
    table, within = one.table, domain.domain if isinstance(domain, Segmented) else domain
    total = np.zeros(domain.size, dtype=np.int64)
    names = [one.name, count_column, *([] if beside is None else [beside.name])]
    first, everybody = 0, 0.0
    for batch in table.batches(names):
        with at_rows(table.label, first):
            weights = whole_counts(batch.column(1), column=count_column, typed=table.typed)
        everybody += float(weights.sum(dtype=np.float64))  # whole numbers would overflow
        check_people(everybody, table.label)
        read = WeightedRows(label=table.label, start=first, weights=weights)
        values = one.read(batch.column(0), first, read)
        if beside is not None and isinstance(domain, Segmented):
            symbols = cells_of(values, beside.read(batch.column(2), first), domain, rows=read)
        else:
            symbols = domain.index_or_missing(values, rows=read)
        held = np.zeros(domain.size, dtype=np.int64)
        np.add.at(held, symbols, weights)
        by_segment = held.reshape(-1, within.size)
        read.rows = read.absent = read.outside = 0
        read.add_symbols(by_segment.sum(axis=0), within)
        read.elsewhere = 0 if beside is None else int(by_segment[-1].sum())
        rows += read
        total += held
        first += batch.num_rows
        advance(batch.num_rows)
    if first == 0 and table.typed:
        whole_counts(table.empty(count_column), column=count_column, typed=True)
    return total
