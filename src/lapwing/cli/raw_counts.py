"""The raw values of a table as a secret summary, read once and in bounded memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lapwing.cli.column_values import ColumnValues
from lapwing.cli.console import Output
from lapwing.domain import Domain
from lapwing.summary import MAGIC, Summary, counts_of


def is_summary(path: Path) -> bool:
    """Return whether a file is a summary, by its first bytes."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def summary_of(path: Path, column: str | None, domain: Domain, out: Output) -> Summary:
    """Return the counts of a column; ArgumentError and DomainError name the file and column."""
    with out.listening():
        values = ColumnValues.of(path, column, domain)
        counts = np.zeros(domain.size, dtype=np.int64)
        with out.progress("count", values.table.rows) as advance:
            for part in values.map(lambda batch: counts_of(batch, domain), advance=advance):
                counts += part
    return Summary(domain, counts)
