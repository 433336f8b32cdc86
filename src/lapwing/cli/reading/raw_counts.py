"""The raw values of a table as a secret summary, read once and in bounded memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lapwing.cli.console import Output
from lapwing.cli.reading.domain_options import CuratorDomainOptions, decimal_of, texts_of
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.engines.arrow.standard_input import STDIN
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.summary import MAGIC, Summary, counts_by_segment, counts_of


def is_summary(path: Path) -> bool:
    """Return whether a file is a summary, by its first bytes."""
    if path == STDIN:  # read once, and a table
        return False
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
        of_cells = domain.domain if isinstance(domain, Segmented) else domain
        values = ColumnValues.of(
            path,
            column,
            of_cells,
            texts=texts_of(asked.texts, domain),
            curator=True,
            header=not asked.no_header,
            decimal=decimal_of(asked.decimal, domain),
        )
        if isinstance(domain, Segmented):
            return _summary_by_segment(values, asked.by, domain, out)
        counts = np.zeros(domain.size, dtype=np.int64)
        with out.progress("count", values.table.rows) as advance:
            for part in values.map(lambda batch: counts_of(batch, domain), advance=advance):
                counts += part
    return Summary(domain, counts)


def _summary_by_segment(
    values: ColumnValues, by: str | None, domain: Segmented, out: Output
) -> Summary:
    """Return the counts of a column in each segment: the columns are read row by row together."""
    name = values.table.column(by, option="--by", beside=values.name)
    if name == values.name:
        raise ArgumentError("--by must name another column than --column")
    segments = ColumnValues(values.table, name, domain.segmentation, curator=True)
    counts = np.zeros(domain.size, dtype=np.int64)
    with out.progress("count", values.table.rows) as advance:
        for cells, others in values.beside(segments):
            counts += counts_by_segment(cells, others, domain)
            advance(cells.shape[0])
    return Summary(domain, counts)
