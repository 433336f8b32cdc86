"""How commands are told which column of a table holds the values, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lapwing.cli.reading.domain_options import TextsName, decimal_of, texts_of
from lapwing.cli.reading.options import ColumnName, DecimalName, NoHeader
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.protocol.domains.domain import Domain


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The options of a column of people's values."""

    column: ColumnName = None
    no_header: NoHeader = False
    decimal: DecimalName = None
    texts: TextsName = None

    def values_in(self, path: Path, domain: Domain, *, by: str | None = None) -> ColumnValues:
        """Return the column, of which nothing but the names was read.

        Parameters
        ----------
        path : Path
            A table; "-" is standard input.
        domain : Domain
        by : str, optional
            The column of public labels beside it.
        """
        return ColumnValues.of(
            path,
            self.column,
            domain,
            by=by,
            texts=texts_of(self.texts, domain),
            header=not self.no_header,
            decimal=decimal_of(self.decimal, domain),
        )
