"""Inputs: files by their endings, standard input ("-"), and Arrow's errors as sentences.

Arrow quotes what it read, which may be a person's value. So its messages are not passed on.
"""

from __future__ import annotations

import codecs
import io
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

from lapwing.errors import ArgumentError, EngineError, FormatError, LapwingError, MissingExtraError
from lapwing.protocol.domains.text_values import Decimal

CSV_BLOCK = 4 * 2**20
"""Bytes of CSV at a time. No line may be longer."""

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
"""How the names of typed tables end."""

COMMAS = "If its numbers have commas, use --decimal , (as in 1,5) or --thousands , (as in 1,234)"
"""What to do where commas end fields, and should not."""


def pyarrow_or_error() -> Any:
    """Return the package. MissingExtraError where it is not installed."""
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
    if decimal is None and reason.endswith("does not"):
        reason += f". {COMMAS}"
    return FormatError(f"{input_name(path)} {reason}")


def _reason(message: str, path: Path, *, header: bool) -> str:
    row = re.search(r"Row #(\d+)", message)
    # Arrow counts the header as row 1.
    where = f"row {int(row.group(1)) - header}" if row else "some row"
    if re.search(r"Expected \d+ columns, got \d+", message):
        fewer = f"must have as many fields in every line as in its first, but {where} does not"
        if "\n" in message:  # Arrow quotes the start of the row
            fewer += (
                ". A cell continues on the next line, so a quotation mark may be unclosed. "
                "Correct the file"
            )
        return fewer
    if "invalid UTF8" in message:
        return f"must be UTF-8 text, but {where} is not. Give its encoding (--encoding)"
    if "straddling" in message:
        return (
            f"has a line of more than {CSV_BLOCK >> 20} MiB, or a quotation mark that never ends. "
            "It is not a table"
        )
    name = path.name.lower()
    kind = "Parquet" if name.endswith(PARQUET) else "Arrow" if name.endswith(ARROW) else "CSV"
    if " " in name and "." not in name:  # no file: "the table", "partition 3"
        return "cannot be read: the program that provides its rows failed"
    return f"cannot be read as {kind}: it is damaged, or something else"


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def without_causes(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a function whose errors carry no other error: that may quote a person's value.

    An error that is raised ``from None`` still has its context. So all of it is forgotten here, and
    what readers of tables raise becomes an error that names its kind.
    """

    @wraps(work)
    def run(*args: Arguments.args, **more: Arguments.kwargs) -> Result:
        failure: Exception
        try:
            return work(*args, **more)
        except LapwingError as error:
            failure = error
        except Exception as error:
            package = type(error).__module__.partition(".")[0]
            if package in ("py4j", "pyspark"):
                failure = EngineError(
                    f"Spark could not do the job ({type(error).__name__}), and nothing was counted "
                    "or written. Its log says more"
                )
            elif isinstance(error, UnicodeError) or package in _QUOTING:
                failure = FormatError(
                    f"the input cannot be read ({type(error).__name__}): it is damaged, or has "
                    "column types that Arrow does not support"
                )
            else:
                raise
        failure.__cause__ = failure.__context__ = None
        raise failure

    return run


_QUOTING = ("pyarrow", "polars", "pandas")
"""Packages whose errors quote what they read."""


STDIN = Path("-")


def input_name(path: Path) -> str:
    """Return how messages name an input."""
    return "standard input" if path == STDIN else path.name


class StreamAndLastRow(io.RawIOBase):
    """A CSV and one more row after its last: a quotation mark that never ends takes it away.

    stream: Whose ``read`` returns the bytes of the CSV.
    row: Without a line end.

    Attributes
    ----------
    line_ends : float
        Of the CSV, as far as it was read. 0 before the first quotation mark, because no cell has
        one. Infinite where that mark comes late, and nobody counted those before it.
    """

    def __init__(self, stream: Any, row: bytes) -> None:
        super().__init__()
        self._stream, self._row = stream, row
        self._in_line = self._later = self._counts = False
        self.line_ends = 0.0

    def readable(self) -> bool:
        """Return True: it is only read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most so many. None at its end."""
        part = bytes(self._stream.read(size))
        if part:
            self._in_line = not part.endswith((b"\n", b"\r"))
            self._count(part)
            return part
        last, self._row = self._row, b""
        self.line_ends += bool(last and self._in_line and self._counts)
        return b"\n" + last if last and self._in_line else last

    def _count(self, part: bytes) -> None:
        if not self._counts and b'"' in part:
            self._counts = True
            self.line_ends = math.inf if self._later else 0.0
        if self._counts:
            import numpy as np  # slow to import, and a fifth of the time of bytes.count

            self.line_ends += np.count_nonzero(np.frombuffer(part, dtype=np.uint8) == ord("\n"))
        self._later = True


def codec_of(encoding: str | None) -> codecs.CodecInfo | None:
    """Return the codec of texts of that name, None of UTF-8. ArgumentError where there is none."""
    try:
        found = None if encoding is None else codecs.lookup(encoding)
        if found is not None and found.name in ("utf-8", "utf-8-sig"):
            return None
        if found is None or "a\n,".encode(found.name).decode(found.name) == "a\n,":
            return found
    except (LookupError, TypeError, UnicodeError, ValueError):
        pass
    raise ArgumentError(
        "encoding",
        "must be a text encoding that Python knows, such as cp1252 or utf-16",
        repr(encoding),
    )


def _no_text(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what stands in place of bytes that are no text: a byte that no UTF-8 has."""
    if isinstance(error, UnicodeDecodeError):
        return "\udcff", error.end
    if isinstance(error, UnicodeEncodeError):
        return b"\xff" * (error.end - error.start), error.end
    raise error


_ROW_ALONE = "lapwing-row-alone"
codecs.register_error(_ROW_ALONE, _no_text)


class StreamInUtf8(io.RawIOBase):
    """A CSV in UTF-8, whatever its encoding is.

    Bytes that are no text in its encoding are none in UTF-8 either. So they are a matter of their
    row, as in a CSV that is UTF-8.

    stream: Whose ``read`` returns the bytes of the CSV.
    codec: Of its encoding.
    label: How messages name the file.
    cut: Whether only the start of the CSV is there, which may end within a character.
    """

    def __init__(
        self, stream: Any, codec: codecs.CodecInfo, label: str, *, cut: bool = False
    ) -> None:
        super().__init__()
        assert codec.incrementaldecoder is not None  # all encodings of text have one
        self._stream, self._name, self._label = stream, codec.name, label
        self._decoder = codec.incrementaldecoder(_ROW_ALONE)
        self._held, self._ended, self._cut = b"", False, cut

    def readable(self) -> bool:
        """Return True: it is only read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most so many. None at its end.

        Raises FormatError when the file does not begin as its encoding asks for, as UTF-16 without
        a byte-order mark.
        """
        while not self._ended and (size < 0 or len(self._held) < size):
            part = bytes(self._stream.read(size))
            self._ended = not part
            try:
                text = self._decoder.decode(part, final=not part and not self._cut)
            except UnicodeError:
                named = " utf-16-le, utf-16-be or another" if self._name == "utf-16" else ""
                raise FormatError(
                    f"{self._label} must be text in the encoding {self._name}, but it is not. "
                    f"Give its encoding (--encoding{named})"
                ) from None
            self._held += text.encode(errors=_ROW_ALONE)
        end = len(self._held) if size < 0 else size
        part, self._held = self._held[:end], self._held[end:]
        return part


class StreamFromItsStart(io.RawIOBase):
    """A stream of which the start was read already: all of it again, once.

    start: The bytes that were read.
    rest: The stream, from there on.
    """

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        super().__init__()
        self._start, self._rest = memoryview(start), rest

    def readable(self) -> bool:
        """Return True: it is only read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most so many. None at its end."""
        if not self._start:
            return self._rest.read(size)
        end = len(self._start) if size < 0 else size
        part, self._start = bytes(self._start[:end]), self._start[end:]
        return part + self._rest.read() if size < 0 else part


def start_of_input(size: int) -> bytes:
    """Return the first bytes of standard input, as many as asked for unless it ends before."""
    return sys.stdin.buffer.read(size)
