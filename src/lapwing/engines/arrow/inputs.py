"""What is read: files by their endings, standard input ("-"), and Arrow's errors as sentences.

Arrow quotes what it read, which may be a person's value. So its messages are not passed on.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lapwing.errors import FormatError, MissingExtraError
from lapwing.protocol.domains.text_values import Decimal

CSV_BLOCK = 4 * 2**20
"""Bytes of CSV at a time; no line may be longer."""

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
"""How the names of typed tables end."""


def pyarrow_or_error() -> Any:
    """Return the package; MissingExtraError where it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="data") from None
    return pyarrow


@contextmanager
def reading(path: Path, *, header: bool = True, decimal: Decimal | None = ".") -> Iterator[None]:
    """Turn Arrow's errors, which quote what they read, into sentences that do not."""
    arrow = pyarrow_or_error()
    try:
        yield
    except arrow.ArrowException as error:
        raise _damage(str(error), path, header=header, decimal=decimal) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise _damage(str(error), path, header=header, decimal=decimal) from None


def _damage(message: str, path: Path, *, header: bool, decimal: Decimal | None) -> FormatError:
    reason = _reason(message, path, header=header)
    if decimal is None and "as many fields" in reason:
        reason += "; where its numbers have decimal commas, say --decimal ,"
    return FormatError(f"{input_name(path)} {reason}")


def _reason(message: str, path: Path, *, header: bool) -> str:
    row = re.search(r"Row #(\d+)", message)
    # Arrow counts the header as row 1.
    where = f"row {int(row.group(1)) - header}" if row else "some row"
    if re.search(r"Expected \d+ columns, got \d+", message):
        return f"must have as many fields in every line as in its first, {where} has not"
    if "invalid UTF8" in message:
        return f"must be UTF-8 text, {where} is not; convert it"
    if "straddling" in message:
        return f"has a line of more than {CSV_BLOCK >> 20} MiB; it is no table"
    name = path.name.lower()
    kind = "Parquet" if name.endswith(PARQUET) else "Arrow" if name.endswith(ARROW) else "CSV"
    if " " in name and "." not in name:  # no file: "the table", "partition 3"
        return "cannot be read: the program that gives its rows failed"
    return f"cannot be read as {kind}: it is damaged, or something else"


STDIN = Path("-")


def input_name(path: Path) -> str:
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
