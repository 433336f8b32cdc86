"""Interface of a database to the store: transactions and migrations.

Migrations are numbered files of SQL, written in SQLite's dialect for both databases. Each is run
once and whole, in the order of the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from sqlite3 import complete_statement
from typing import Any, NamedTuple, Protocol

from lapwing.errors import FormatError, StoreError

Value = int | str | bytes | None


class Transaction(Protocol):
    """A transaction of a database. Statements have their arguments as ``?1``, ``?2``."""

    def rows(self, statement: str, *arguments: Value) -> Sequence[Sequence[Any]]:
        """Return the rows of a statement."""
        ...

    def run(self, statement: str, *arguments: Value) -> int:
        """Return how many rows a statement has changed."""
        ...

    def many(self, statement: str, rows: Iterable[tuple[Value, ...]]) -> None:
        """Run a statement for each of some rows of arguments."""
        ...

    def stored_digests(self, epoch: int, ids: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the digests of those batches of an epoch that are there."""
        ...


class Driver(Protocol):
    """A database that holds a collector's tables."""

    share: str
    """What a SELECT ends with whose rows must stay as they are until the transaction has ended."""
    alone: str
    """What a SELECT ends with whose rows this transaction is about to change."""

    fold_lock: str
    """Statement that waits until nobody else folds the group of a number, or ""."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """Open a transaction alone. On disk when the block has ended, undone when it raises.

        Raises
        ------
        StoreError
        """
        ...

    def reading(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that sees everything as of one moment, and changes nothing.

        Raises
        ------
        StoreError
        """
        ...

    def backup(self, path: Path) -> None:
        """Write a copy of everything, as of one moment."""
        ...

    def check(self) -> list[str]:
        """Return what the database finds wrong with itself."""
        ...

    def rest(self) -> None:
        """Do what is best done when nobody waits."""
        ...

    def discard(self) -> None:
        """Let go of the database, and take it away if it is a file that this one made."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


class ConflictError(StoreError):
    """Another collector changed the same at the same time: begin the transaction again."""


FOLDER = Path(__file__).parent / "migrations"

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


class Migration(NamedTuple):
    """One step from a version to the next."""

    version: int
    statements: tuple[str, ...]


def migrations(folder: Path = FOLDER, *, translated: Callable[[str], str] = str) -> list[Migration]:
    """Return the steps of a folder. Their numbers are 1, 2, 3...

    translated: Returns a statement of SQLite in the dialect of another database.

    Raises FormatError when a number is left out or given twice.
    """
    steps: list[Migration] = []
    for path in sorted(folder.glob("*.sql")):
        match = _NAME.fullmatch(path.name)
        if match is None or int(match[1]) != len(steps) + 1:
            raise FormatError(
                f"migrations must be numbered 0001, 0002, ... without gaps, found {path.name}"
            )
        statements = tuple(map(translated, _statements(path.read_text("utf-8"))))
        steps.append(Migration(int(match[1]), statements))
    return steps


def migrate(steps: list[Migration], version: int, run: Callable[[Migration], None]) -> None:
    """Bring a database of a version to the newest.

    version: Of the database, 0 when it is new.
    run: Runs one step and notes its number, in one transaction.

    Raises FormatError when newer software made the database.
    """
    newest = len(steps)
    if version > newest:
        raise FormatError(
            f"this database has version {version}, but this software supports versions up to "
            f"{newest}. Update lapwing"
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
