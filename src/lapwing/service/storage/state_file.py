"""A survey's state as a file: what `export` writes and `import` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lapwing.service.storage.counting import Counting
from lapwing.service.storage.driver import Transaction


def exported(transaction: Transaction, survey: str, counting: Counting) -> Iterator[bytes]:
    """Yield the state of a survey."""
    yield b""
    raise NotImplementedError


def imported(transaction: Transaction, chunks: Iterable[bytes]) -> str:
    """Keep the state of a survey; return its fingerprint."""
    raise NotImplementedError
