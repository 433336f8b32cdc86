"""The raw values of a table as a secret summary, read once and in bounded memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lapwing.cli.console import Output
from lapwing.cli.reading.domain_options import texts_of
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.summary import MAGIC, Summary, counts_of


def is_summary(path: Path) -> bool:
    """Return whether a file is a summary, by its first bytes."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def summary_of(
    path: Path,
    column: str | None,
    domain: Domain,
    out: Output,
    *,
    texts: str | None = None,
    header: bool = True,
) -> Summary:
    """Return the counts of a column; ArgumentError and DomainError name the file and column.

    Both are about the table, its columns and their types: no row is refused.
    """
    with out.listening():
        reading = texts_of(texts, domain)
        values = ColumnValues.of(path, column, domain, texts=reading, curator=True, header=header)
        counts = np.zeros(domain.size, dtype=np.int64)
        with out.progress("count", values.table.rows) as advance:
            for part in values.map(lambda batch: counts_of(batch, domain), advance=advance):
                counts += part
    return Summary(domain, counts)
