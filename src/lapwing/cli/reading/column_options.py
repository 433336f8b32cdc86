"""How commands are told which column of a table holds the values, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lapwing.cli.reading.domain_options import TextsName, decimal_of, texts_of
from lapwing.cli.reading.options import ColumnName, DecimalName, NoHeader
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.dataset_tables import tables_of
from lapwing.engines.arrow.value_jobs import Reading
from lapwing.protocol.domains.domain import Domain


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The options of a column of people's values."""

    column: ColumnName = None
    no_header: NoHeader = False
    decimal: DecimalName = None
    texts: TextsName = None

    def reading(self, domain: Domain) -> Reading:
        """Return how the cells of the table are read."""
        return Reading(
            texts=texts_of(self.texts, domain),
            header=not self.no_header,
            decimal=decimal_of(self.decimal, domain),
        )

    def columns_in(
        self, path: Path, domain: Domain, *, by: str | None = None
    ) -> list[ColumnValues]:
        """Return the column in each table of a file or a folder; only names were read.

        Parameters
        ----------
        path : Path
            A table, or a folder of them; "-" is standard input.
        domain : Domain
        by : str, optional
            The column of public labels beside it.
        """
        read = self.reading(domain)
        return [
            ColumnValues.in_table(table, self.column, domain, by=by, texts=read.texts)
            for table in tables_of(path, header=read.header, decimal=read.decimal)
        ]

    def values_in(self, path: Path, domain: Domain) -> ColumnValues:
        """Return the column of one table, of which nothing but the names was read."""
        read = self.reading(domain)
        return ColumnValues.of(
            path,
            self.column,
            domain,
            texts=read.texts,
            header=read.header,
            decimal=read.decimal,
        )
