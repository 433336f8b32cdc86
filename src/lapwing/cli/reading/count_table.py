"""A population given as a table of values and how many people hold each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.arrow_values import values_of
from lapwing.engines.arrow.column_values import at_rows, decimal_mark
from lapwing.engines.arrow.table_reader import Table
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.tally import LARGEST_COUNT


def population(
    table: Table,
    domain: Domain,
    *,
    columns: tuple[str | None, str],
    texts: Texts = "iso",
) -> NDArray[np.int64]:
    """Return how many people hold each symbol: int64 [domain.size].

    Parameters
    ----------
    table : Table
        Rows with one value add.
    domain : Domain
    columns : tuple of str
        Of the values, None for the only one beside the counts; and of the counts.
    texts : {"iso", "days", "seconds"}
        How texts of dates and times are read.

    Raises
    ------
    ArgumentError
        When a column is not there.
    DomainError
        With the row of the first value or count that is not legal; when there is nobody, or
        more people than a tally holds.
    """
    value_column, count_column = _columns(table, columns)
    mark = decimal_mark(table, domain, texts)
    total = np.zeros(domain.size, dtype=np.int64)
    first, everybody = 0, 0.0
    for batch in table.batches([value_column, count_column]):
        with at_rows(table.shown, first):
            values = values_of(
                batch.column(0),
                domain,
                column=value_column,
                typed=table.typed,
                texts=texts,
                decimal=mark,
            )
            people = _counts(batch.column(1), column=count_column, typed=table.typed)
            everybody += float(people.sum(dtype=np.float64))  # whole numbers would overflow
            if everybody > LARGEST_COUNT:
                raise DomainError(f"the counts must add up to at most {LARGEST_COUNT}, they do not")
            np.add.at(total, domain.index(values), people)
        first += batch.num_rows
    if total.sum() == 0:
        raise DomainError(f"{table.shown} must hold at least one person, it holds none")
    return total


def _columns(table: Table, columns: tuple[str | None, str]) -> tuple[str, str]:
    """Return the names of the two columns; that of the values may be the only one beside counts."""
    value_column, count_column = columns
    count_column = table.column(count_column, option="--count-column")
    if value_column is None:
        others = [name for name in table.names if name != count_column]
        if not others:
            raise ArgumentError(f"{table.shown} has no column of values beside {count_column!r}")
        if len(others) != 1:
            raise ArgumentError(
                f"--column must name one of the columns of {table.shown}: {', '.join(others)}"
            )
        value_column = others[0]
    value_column = table.column(value_column, option="--column", beside=count_column)
    if value_column == count_column:
        raise ArgumentError("--column and --count-column must be two columns, got one")
    return value_column, count_column


def _counts(array: Any, *, column: str, typed: bool) -> NDArray[np.int64]:
    # Counts are read as values of a domain of whole numbers: one reader, one kind of message.
    numbers = values_of(array, Integers(0, 1), column=column, typed=typed).astype(np.float64)
    legal = (numbers >= 0) & (numbers <= LARGEST_COUNT) & (numbers == np.floor(numbers))
    if not legal.all():
        position = int(np.argmin(legal))
        raise DomainError(
            f"every count must be a whole number from 0 to {LARGEST_COUNT}, the one at position "
            f"{position} is not",
            position=position,
        )
    return numbers.astype(np.int64)
