"""The raw values of a table as a secret summary, read once and in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lapwing.cli.console import Output
from lapwing.cli.reading.domain_options import CuratorDomainOptions, decimal_of, texts_of
from lapwing.engines.arrow.standard_input import STDIN
from lapwing.engines.arrow.value_jobs import Reading, summarize
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.exact_counts import MAGIC, ExactCounts


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
) -> ExactCounts:
    """Return the counts of a column; ArgumentError and DomainError name the file and column.

    `asked` says how its texts are read, whether it has a header, and the column of segments.

    Both are about the tables, their columns and types: no row is refused.
    """
    reading = Reading(
        texts=texts_of(asked.texts, domain),
        header=not asked.no_header,
        decimal=decimal_of(asked.decimal, domain),
    )
    paths = [path] if isinstance(path, Path) else list(path)
    with out.listening(), out.progress("count", None) as advance:
        return summarize(
            paths,
            domain,
            column=column,
            by=asked.by,
            threads=threads,
            reading=reading,
            progress=progress,
            advance=advance,
        )
