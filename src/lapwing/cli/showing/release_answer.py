"""What a stored release says, by itself and in each of its segments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.cli.reading.stored_answers import read_stored_release
from lapwing.cli.showing.answer import answer_document, answer_rows, answer_tables
from lapwing.cli.wording import count_text
from lapwing.protocol.domains.segmented import NO_SEGMENT, Segmented
from lapwing.survey.publication import Publication

if TYPE_CHECKING:
    from rich.table import Table


def release_answer(
    path: Path, *, level: float
) -> tuple[dict[str, Any], list[Table], list[dict[str, Any]]]:
    """Return what the release in a file says: as JSON values, tables, and rows."""
    made = read_stored_release(path)
    published = Publication(made)
    found = published.distribution
    said = answer_document(found, level=level)
    tables = answer_tables(path.name, found, said, rest={"mechanism": made.mechanism.name})
    rows = answer_rows(said, made.domain)
    document = {"mechanism": made.mechanism.to_document(), **said}
    if isinstance(made.domain, Segmented):
        parts = by_segment(path.name, published, level=level)
        document["segments"] = [part for part, _ in parts]
        tables = [*(one for _, one in parts), *tables[1:]]
        rows = [
            {"segment": _named(part["segment"]), **row}
            for part, _ in parts
            for row in answer_rows(part, made.domain.domain)
        ]
    return document, tables, rows


def by_segment(
    name: str, published: Publication, *, level: float
) -> list[tuple[dict[str, Any], Table]]:
    """Return what each segment says, as JSON values and as a table."""
    rows = []
    for segment, found in published.by_segment().items():
        said = answer_document(found, level=level)
        title = f"{_named(segment)}, about {count_text(found.reports)} people"
        table = answer_tables(f"{name}, {title}", found, said, rest={})[0]
        rows.append(({"segment": segment, **said}, table))
    return rows


def _named(segment: str | int | None) -> str:
    return NO_SEGMENT if segment is None else str(segment)
