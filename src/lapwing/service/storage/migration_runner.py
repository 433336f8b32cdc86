"""Numbered files of SQL, each run once and whole, in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from sqlite3 import complete_statement
from typing import NamedTuple

from lapwing.errors import FormatError

FOLDER = Path(__file__).parent / "migrations"

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


class Migration(NamedTuple):
    """One step from a version to the next."""

    version: int
    statements: tuple[str, ...]


def migrations(dialect: str, *, folder: Path = FOLDER) -> list[Migration]:
    """Return the steps of a dialect, "sqlite" or "postgres"; their numbers are 1, 2, 3...

    Raises
    ------
    FormatError
        When a number is left out or given twice.
    """
    found: list[Migration] = []
    for path in sorted((folder / dialect).glob("*.sql")):
        match = _NAME.fullmatch(path.name)
        if match is None or int(match[1]) != len(found) + 1:
            raise FormatError(
                f"migrations must be numbered 0001, 0002, ... without gaps, found {path.name}"
            )
        found.append(Migration(int(match[1]), tuple(_statements(path.read_text("utf-8")))))
    return found


def migrate(steps: list[Migration], version: int, run: Callable[[Migration], None]) -> None:
    """Bring a database of a version to the newest.

    Parameters
    ----------
    steps : list of Migration
    version : int
        Of the database, 0 when it is new.
    run : callable
        Runs one step and notes its number, in one transaction.

    Raises
    ------
    FormatError
        When newer software made the database.
    """
    newest = len(steps)
    if version > newest:
        raise FormatError(
            f"this database is of version {version}, this software knows up to {newest}; "
            "update lapwing"
        )
    for step in steps[version:]:
        run(step)


def _statements(text: str) -> Iterator[str]:
    """Yield the statements of a file, without its comments."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("--"):
            lines.append(line)
            statement = "\n".join(lines)
            if complete_statement(statement):
                yield statement
                lines = []
    if lines:
        raise FormatError("a migration must end with a semicolon")
