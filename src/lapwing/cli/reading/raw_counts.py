"""The raw values of a table as a secret summary, read once and in bounded memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lapwing.cli.console import Output
from lapwing.cli.reading.domain_options import CuratorDomainOptions, texts_of
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.summary import MAGIC, Summary, counts_by_segment, counts_of


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
    asked: CuratorDomainOptions,
) -> Summary:
    """Return the counts of a column; ArgumentError and DomainError name the file and column.

    `asked` says how its texts are read, whether it has a header, and the column of segments.

    Both are about the table, its columns and their types: no row is refused.
    """
    with out.listening():
        reading, header = texts_of(asked.texts, domain), not asked.no_header
        if isinstance(domain, Segmented):
            return _summary_by_segment(path, column, asked.by, domain, out, reading, header)
        values = ColumnValues.of(path, column, domain, texts=reading, curator=True, header=header)
        counts = np.zeros(domain.size, dtype=np.int64)
        with out.progress("count", values.table.rows) as advance:
            for part in values.map(lambda batch: counts_of(batch, domain), advance=advance):
                counts += part
    return Summary(domain, counts)


def _summary_by_segment(
    path: Path,
    column: str | None,
    by: str | None,
    domain: Segmented,
    out: Output,
    texts: Texts,
    header: bool,
) -> Summary:
    """Return the counts of a column in each segment: the columns are read row by row together."""
    values = ColumnValues.of(path, column, domain.domain, texts=texts, curator=True, header=header)
    segments = ColumnValues.of(path, by, domain.segmentation, curator=True, header=header)
    if segments.name == values.name:
        raise ArgumentError("--by must name another column than --column")
    counts = np.zeros(domain.size, dtype=np.int64)
    with out.progress("count", values.table.rows) as advance:
        for one, other in zip(values.batches(), segments.batches(), strict=True):
            counts += counts_by_segment(one[1], other[1], domain)
            advance(one[1].shape[0])
    return Summary(domain, counts)
