"""One column of a table as batches of a domain's values. Errors name the file and the row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.arrow_values import labels_of, values_of
from lapwing.engines.arrow.ordered_work import in_order
from lapwing.engines.arrow.table_reader import BATCH_ROWS, Table
from lapwing.errors import ArgumentError, DomainError, ReportError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.row_counts import RowCounts, counted_values
from lapwing.protocol.domains.text_values import Decimal, Texts, Thousands


@dataclass(frozen=True)
class ColumnValues:
    """The values of many people, in a file.

    name: Of the column.
    domain: The domain that the values must fit.
    by: The column with the public label of each person's group.
    texts: How strings of dates and times are read.
    curator: Whether a table without rows is one, as in the central model, where what an error
        depends on is told.
    decimal: The decimal separator of numbers in strings.
    thousands: Mark between its groups of digits.
    """

    table: Table
    name: str
    domain: Domain
    by: str | None = None
    texts: Texts = "iso"
    curator: bool = False
    decimal: Decimal = "."
    thousands: Thousands | None = None

    @classmethod
    def in_table(
        cls,
        table: Table,
        column: str | None,
        domain: Domain,
        *,
        by: str | None = None,
        texts: Texts = "iso",
        curator: bool = False,
    ) -> ColumnValues:
        """Choose the columns of a table that is open. Those of pairs are named as their axes."""
        if by is not None:
            by = table.column(by, option="by")
        if isinstance(domain, Product):
            return PairValues.of_axes(table, column, domain, by=by, texts=texts)
        name = table.column(column, beside=by, labels=not domain.ordered)
        if name == by:
            raise ArgumentError(
                "by", f"must differ from {name!r}, because a label is public and the value is not"
            )
        marks = number_marks(table, domain, texts)
        return cls(table, name, domain, by, texts, curator, *marks)

    @property
    def _names(self) -> list[str]:
        """The columns that hold the values."""
        return [self.name]

    def _cells(self, part: Any) -> Any:
        """Return the values of some rows as they stand in the table."""
        return part.column(0)

    def _slices(self, rows: int) -> Iterator[tuple[int, Any, Any]]:
        """Yield the rows before each batch, its values and its labels as they stand there."""
        first = 0
        names = self._names
        for batch in self.table.batches(names if self.by is None else [*names, self.by]):
            for start in range(0, batch.num_rows, rows):
                part = batch.slice(start, rows)
                labels = part.column(len(names)) if self.by is not None else None
                yield first, self._cells(part), labels
                first += part.num_rows
        if first == 0 and not self.curator:
            raise DomainError(f"{self.table.label} must contain at least one row, but it has none")
        if first == 0:
            self.check_type()

    def check_type(self) -> None:
        """Raise DomainError when the column's type is none that the domain takes. Read no row.

        A column without rows is checked in the same way. Otherwise an error would reveal that a
        row exists.
        """
        if self.table.typed:
            self.read(self.table.empty(self.name), 0)

    def _labels(self, named: Any, first: int) -> list[str | None]:
        if named is None:
            return []
        with at_rows(self.table.label, first):
            return labels_of(named, column=self.by or "")

    def read(self, part: Any, first: int, rows: RowCounts | None = None) -> NDArray[Any]:
        """Return the values of some rows, of which so many stand before them."""
        with at_rows(self.table.label, first):
            return values_of(
                part,
                self.domain,
                column=self.name,
                typed=self.table.typed,
                texts=self.texts,
                decimal=self.decimal,
                thousands=self.thousands,
                rows=rows,
            )

    def beside(self, other: ColumnValues) -> Iterator[tuple[NDArray[Any], NDArray[Any], RowCounts]]:
        """Yield the values of batches, those of another column of the table, and what was read.

        Both are read at once: standard input gives its rows once.
        """
        first = 0
        for batch in self.table.batches([self.name, other.name]):
            rows = RowCounts(label=self.table.label, start=first)
            values = self.read(batch.column(0), first, rows)
            yield values, other.read(batch.column(1), first), rows
            first += batch.num_rows
        if first == 0:
            self.check_type()
            other.check_type()

    def map(
        self,
        work: Callable[..., Any],
        *,
        advance: Callable[[int], None],
        size: int = BATCH_ROWS,
        threads: int = 1,
        rows: RowCounts | None = None,
    ) -> Iterator[Any]:
        """Yield what `work` makes of each batch, in their order. Its DomainErrors name the row.

        With a column of labels, yield it together with the labels of the batch.

        work: Given the values of one batch. With `rows`, also ``rows=`` of that batch.
        advance: Told the number of rows after each.
        size: Most values in a batch.
        threads: How many read values and work alongside each other.
        rows: Gets how many are missing, unreadable and outside.
        """
        if rows is None:
            plain = work

            def work(values: NDArray[Any], rows: RowCounts) -> Any:
                return plain(values)

        jobs = (partial(self._worked, work, *held) for held in self._slices(size))
        for number, result, read in in_order(jobs, threads=threads):
            if rows is not None:
                rows += read
            yield result
            advance(number)

    def _worked(
        self, work: Callable[..., Any], first: int, part: Any, named: Any
    ) -> tuple[int, Any, RowCounts]:
        labels = self._labels(named, first)
        rows = RowCounts(label=self.table.label, start=first)
        values = self.read(part, first, rows)
        with at_rows(self.table.label, first):
            result = work(values, rows=rows)
        return len(part), result if self.by is None else (result, labels), rows

    def counts(self, *, advance: Callable[[int], None], rows: RowCounts) -> NDArray[np.int64]:
        """Return how many people hold each symbol: int64 [domain.size]. Also count the rows."""
        size = self.domain.size
        total = np.zeros(size, dtype=np.int64)
        for symbols in self.map(self._symbols, advance=advance, rows=rows):
            total += np.bincount(symbols, minlength=size)
        return total

    def _symbols(self, values: NDArray[Any], rows: RowCounts) -> NDArray[np.int64]:
        symbols: NDArray[np.int64] = self.domain.index(counted_values(values, self.domain, rows))
        return symbols


@dataclass(frozen=True)
class PairValues(ColumnValues):
    """The pairs of many people, in a file: a column for each axis, with the name of the axis."""

    axes: tuple[ColumnValues, ...] = ()

    @classmethod
    def of_axes(
        cls, table: Table, column: str | None, domain: Product, *, by: str | None, texts: Texts
    ) -> PairValues:
        """Choose the columns of a table that is open."""
        if column is not None:
            raise ArgumentError(
                "column",
                f"is for one attribute, but this survey asks about {' and '.join(domain.names)}",
                advice="Leave it out",
            )
        if by in domain.names:
            raise ArgumentError(
                "by", f"must differ from {by!r}, because a label is public and the value is not"
            )
        axes = []
        for name, axis in domain.axes.items():
            # Dates of one axis may be numbers while those of the other are not dates at all.
            read: Texts = "iso" if axis.unit == "number" else texts
            axes.append(ColumnValues.in_table(table, name, axis, texts=read))
        return cls(table, " and ".join(domain.names), domain, by, texts, axes=tuple(axes))

    @property
    def _names(self) -> list[str]:
        """The columns that hold the values: one for each axis."""
        return [one.name for one in self.axes]

    def _cells(self, part: Any) -> _Pair:
        """Return the values of both axes of some rows as they stand in the table."""
        return _Pair(tuple(part.column(number) for number in range(len(self.axes))))

    def check_type(self) -> None:
        """Raise DomainError when a column's type is none that its axis takes. Read no row."""
        for one in self.axes:
            one.check_type()

    def read(self, part: Any, first: int, rows: RowCounts | None = None) -> Any:
        """Return the values of both axes of some rows. Errors name the column also."""
        found = {}
        for one, column in zip(self.axes, part.columns, strict=True):
            try:
                found[one.name] = one.read(column, first, rows)
            except DomainError as error:
                label = self.table.label
                said = str(error).removeprefix(f"{label}: ")
                raise DomainError(
                    f"{label}, column {one.name}: {said}", position=error.position
                ) from None
        return found


@dataclass(frozen=True)
class _Pair:
    """Two columns of a batch."""

    columns: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.columns[0])


def number_marks(table: Table, domain: Domain, texts: Texts) -> tuple[Decimal, Thousands | None]:
    """Return what stands before the fraction of a number and between its groups of digits.

    FormatError where the former is open.
    """
    if not (domain.ordered and _numeric(domain, texts)):
        return ".", None
    # Whole numbers have no fractions.
    asked = domain.name == "interval" or table.thousands == "."
    return table.decimal_mark() if asked else ".", table.thousands


def _numeric(domain: Domain, texts: Texts) -> bool:
    """Return whether strings are read as numbers."""
    return domain.unit == "number" or texts != "iso"


@contextmanager
def at_rows(
    name: str, first: int, *, of: type[DomainError] | type[ReportError] = DomainError
) -> Iterator[None]:
    """Let an error name the row of the file instead of the position in a batch.

    Rows count from 1, without the header and, in a CSV of several columns, blank lines.

    name: Of the file.
    first: Rows before the batch.
    of: The subject of the error: values (default), or reports.
    """
    try:
        yield
    except of as error:
        if error.position is None:
            raise of(f"{name}: {error}") from None
        row = first + error.position
        message = str(error).replace(f"position {error.position} ", f"row {row + 1} ")
        message = message.replace("The batch was not counted", "Nothing was counted")
        raise of(f"{name}: {message}", position=row) from None
