"""What a database offers to the store: transactions, and how it says that it cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from lapwing.errors import StoreError

Value = int | str | bytes | None


class Transaction(Protocol):
    """A transaction of a database; statements have their arguments as ``?1``, ``?2``."""

    def rows(self, statement: str, *arguments: Value) -> Sequence[Sequence[Any]]:
        """Return the rows of a statement."""
        ...

    def run(self, statement: str, *arguments: Value) -> int:
        """Return how many rows a statement has changed."""
        ...

    def many(self, statement: str, rows: Iterable[tuple[Value, ...]]) -> None:
        """Run a statement for each of some rows of arguments."""
        ...

    def known(self, epoch: int, ids: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the digests of those batches of an epoch that are there."""
        ...


class Driver(Protocol):
    """A database that holds a collector's tables."""

    share: str
    """What a SELECT ends with whose rows must stay as they are until the transaction has ended."""
    alone: str
    """What a SELECT ends with whose rows this transaction is about to change."""

    fold_lock: str
    """The statement that waits until nobody else folds the group of a number; "" where nobody
    can."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """Open a transaction alone; on disk when the block has ended, undone when it raises.

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
    """Another collector changed the same at the same moment: begin the transaction anew."""
