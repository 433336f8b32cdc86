"""Standard input as the name of a file: "-", which is read once, from its start."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import IO

STDIN = Path("-")


def shown(path: Path) -> str:
    """Return how messages name an input."""
    return "standard input" if path == STDIN else path.name


class StreamFromItsStart(io.RawIOBase):
    """A stream of which the start was read already: all of it again, once.

    Parameters
    ----------
    start : bytes
        What was read.
    rest : binary file
        The stream, from there on.
    """

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        super().__init__()
        self._start, self._rest = memoryview(start), rest

    def readable(self) -> bool:
        """Return True: it is only read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most so many; none at its end."""
        if not self._start:
            return self._rest.read(size)
        end = len(self._start) if size < 0 else size
        part, self._start = bytes(self._start[:end]), self._start[end:]
        return part + self._rest.read() if size < 0 else part


def start_of_input(size: int) -> bytes:
    """Return the first bytes of standard input, as many as asked for unless it ends before."""
    return sys.stdin.buffer.read(size)
