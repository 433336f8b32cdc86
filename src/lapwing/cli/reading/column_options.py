"""The column of a table that holds people's values, and what is counted in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lapwing.cli.console import Output
from lapwing.cli.option_groups import option
from lapwing.cli.reading.domain_options import CuratorDomainOptions, TextsName, marks_of, texts_of
from lapwing.cli.reading.options import (
    ColumnName,
    DecimalName,
    EncodingName,
    NoHeader,
    ThousandsName,
)
from lapwing.engines.arrow.arrow_values import values_of
from lapwing.engines.arrow.column_values import ColumnValues, at_rows, number_marks
from lapwing.engines.arrow.counted_tables import value_and_count, whole_counts
from lapwing.engines.arrow.dataset_tables import tables_of
from lapwing.engines.arrow.inputs import STDIN
from lapwing.engines.arrow.table_reader import Table, open_table
from lapwing.engines.arrow.value_jobs import Reading, summarize
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.exact_counts import MAGIC, ExactCounts
from lapwing.protocol.messages.tally import LARGEST_COUNT


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The options of a column of people's values."""

    column: ColumnName = None
    no_header: NoHeader = False
    decimal: DecimalName = None
    thousands: ThousandsName = None
    encoding: EncodingName = None
    texts: TextsName = None

    def reading(self, domain: Domain) -> Reading:
        """Return how the cells of the table are read."""
        return reading_of(self, domain)

    def check_table(self, file: Path | None, *, option: str) -> None:
        """Raise ArgumentError when a column is described, and no table or a result is named.

        option: The field that names it.
        """
        flags = [
            f"--{field.name.replace('_', '-')}"
            for field in fields(self)
            if field.name != option and getattr(self, field.name) not in (None, False)
        ]
        if flags and file is None:
            raise ArgumentError(
                f"{flags[0]} describes the table of --{option}. Add --{option} FILE"
            )
        if flags and is_result(file):
            raise ArgumentError(
                f"{flags[0]} is for a table, but {file} has the file name extension of a stored "
                "result. Leave one of them out"
            )

    def columns_in(
        self, path: Path, domain: Domain, *, by: str | None = None
    ) -> list[ColumnValues]:
        """Return the column in each table of a file or a folder. Only names were read.

        path: A table, or a folder of them. "-" is standard input.
        by: The column of public labels alongside it.
        """
        read = self.reading(domain)
        return [
            ColumnValues.in_table(table, self.column, domain, by=by, texts=read.texts)
            for table in tables_of(path, **read.of_tables())
        ]

    def values_in(self, path: Path, domain: Domain) -> ColumnValues:
        """Return the column of one table, of which nothing but the names was read."""
        read = self.reading(domain)
        table = open_table(path, **read.of_tables())
        return ColumnValues.in_table(table, self.column, domain, texts=read.texts)


@dataclass(frozen=True, kw_only=True)
class PopulationOptions(ColumnOptions):
    """The options of a column of values, or of values with how many people hold each."""

    count_column: str | None = option(
        "The table has one row per value, and this column counts the people.", "NAME"
    )

    def people(self, path: Path, domain: Domain, out: Output, *, what: str) -> NDArray[np.int64]:
        """Return how many people of a table hold each symbol: int64 [domain.size]."""
        if self.count_column is None:
            rows = self.values_in(path, domain)
            seen = RowCounts()
            with out.progress(what, rows.table.rows) as advance:
                people = rows.counts(advance=advance, rows=seen)
            out.examine(seen, domain, ask=False)
            return people
        read = self.reading(domain)
        table = open_table(path, **read.of_tables())
        columns = self.column, self.count_column
        return population(table, domain, columns=columns, texts=read.texts)


def reading_of(options: ColumnOptions | CuratorDomainOptions, domain: Domain) -> Reading:
    """Return how the cells of a table are read into a domain."""
    texts = texts_of(options.texts, domain)
    decimal, thousands = marks_of(options.decimal, options.thousands, domain)
    return Reading(
        texts=texts,
        header=not options.no_header,
        decimal=decimal,
        thousands=thousands,
        encoding=options.encoding,
    )


def is_result(path: Path | None) -> bool:
    """Return whether a file is a stored result by the ending of its name, and no table."""
    return path is not None and path.suffix.lower() == ".json"


def is_summary(path: Path) -> bool:
    """Return whether a file is a summary, by its first bytes."""
    if path == STDIN:  # read once, and a table
        return False
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def summary_of(
    path: Path | Sequence[Path],
    column: str | None,
    domain: Domain,
    out: Output,
    *,
    asked: CuratorDomainOptions,
    threads: int = 1,
    progress: Path | None = None,
    ask: bool = True,
) -> ExactCounts:
    """Return the counts of a column. ArgumentError and DomainError name the file and column.

    `asked` says how its strings are read, whether it has a header, and the column of segments. A
    terminal is told how many rows are missing, unreadable and outside, and may be asked.

    Both are about the tables, their columns and types: no row is refused.
    """
    reading = reading_of(asked, domain)
    paths = [path] if isinstance(path, Path) else list(path)
    with out.progress("count", None) as advance:
        return summarize(
            paths,
            domain,
            column=column,
            by=asked.by,
            unit=asked.unit,
            most=asked.most,
            count_column=asked.count_column,
            threads=threads,
            reading=reading,
            progress=progress,
            advance=advance,
            examine=partial(out.examine, ask=ask),
        )


def population(
    table: Table, domain: Domain, *, columns: tuple[str | None, str], texts: Texts = "iso"
) -> NDArray[np.int64]:
    """Return how many people hold each symbol: int64 [domain.size].

    Parameters
    ----------
    table : Table
        Rows with one value add.
    domain : Domain
    columns : tuple of str
        Of the values, None for the only one alongside the counts, and of the counts.
    texts : {"iso", "days", "seconds"}
        How strings of dates and times are read.

    Raises
    ------
    ArgumentError
        When a column is not there.
    DomainError
        With the row of the first value or count that is not legal. When there is nobody, or
        more people than a tally holds.
    """
    value_column, count_column = value_and_count(table, *columns)
    decimal, thousands = number_marks(table, domain, texts)
    total = np.zeros(domain.size, dtype=np.int64)
    first, everybody = 0, 0.0
    for batch in table.batches([value_column, count_column]):
        with at_rows(table.label, first):
            values = values_of(
                batch.column(0),
                domain,
                column=value_column,
                typed=table.typed,
                texts=texts,
                decimal=decimal,
                thousands=thousands,
            )
            people = whole_counts(batch.column(1), column=count_column, typed=table.typed)
            everybody += float(people.sum(dtype=np.float64))  # whole numbers would overflow
            if everybody > LARGEST_COUNT:
                raise DomainError(
                    f"the counts must add up to at most {LARGEST_COUNT}, but they do not"
                )
            np.add.at(total, domain.index(values), people)
        first += batch.num_rows
    if total.sum() == 0:
        raise DomainError(f"{table.label} must contain at least one person, but it has none")
    return total
