"""Columns of Parquet and CSV files, as a stream of Arrow batches.

A file is never held whole. Messages of Arrow are not passed on: they quote raw values.

The first line of a CSV is a header only if somebody says so. Where it is none, it holds a person's
values, who would be lost, and whom an error that lists the "names" would show. So names of columns
are values until one of them was asked for by name; a file without a header is read as such, with
columns that are named 1, 2, 3.

A CSV whose fields have semicolons between may write 1,5 for one and a half. Nothing tells it from a
separator of thousands, and a guess from the rows would let one row decide what all others mean. So
it is asked for before a row is read.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lapwing.documents import nearest
from lapwing.engines.arrow.standard_input import STDIN, StreamFromItsStart, shown, start_of_input
from lapwing.engines.arrow.text_columns import NULL_TEXTS
from lapwing.errors import ArgumentError, FormatError, MissingExtraError
from lapwing.protocol.domains.text_values import Decimal
from lapwing.protocol.messages.summary import MAGIC

BATCH_ROWS = 65_536
"""Rows at a time: as many as the blocks of a report file hold."""

_CSV_BLOCK = 4 * 2**20
"""Bytes of CSV at a time; no line may be longer."""

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_NO_CSV = {b"PAR1": "Parquet", b"\x1f\x8b": "packed by gzip", MAGIC: "a summary"}
"""What else standard input may start with."""
_NO_HEADER = "if it has no line of names, say so with --no-header, and columns are 1, 2, 3"
_NAME_LIMIT = 20
"""Columns that a message names; a file may have thousands."""


@dataclass(frozen=True)
class Table:
    """A file with named columns.

    Parameters
    ----------
    path : Path
    names : tuple of str
        Of its columns.
    rows : int or None
        How many; None when only reading to the end would tell (CSV).
    typed : bool
        Whether columns have types (Parquet) or are the bytes of texts (CSV).
    delimiter : str
        Between the fields of a CSV.
    blank : int
        Empty lines before the header of a CSV.
    header : bool
        Whether the first line names the columns; else they are named 1, 2, 3.
    decimal : {".", ","} or None
        What stands before the fraction of a number in a text; None where nobody said.
    start : bytes or None
        What was read of standard input, which gives its rows once; None of a file.
    """

    path: Path
    names: tuple[str, ...]
    rows: int | None
    typed: bool
    delimiter: str = ","
    blank: int = 0
    header: bool = True
    decimal: Decimal | None = None
    start: bytes | None = None

    @property
    def shown(self) -> str:
        """How messages name the file."""
        return shown(self.path)

    def decimal_mark(self) -> Decimal:
        """Return what stands before the fraction of a number.

        Raises
        ------
        FormatError
            When nobody said, and the file may well mean a comma.
        """
        if self.decimal is None and not self.typed and self.delimiter == ";":
            raise FormatError(
                f"{self.shown} has semicolons between its fields, so its numbers may have decimal "
                "commas; say which: --decimal , where one and a half is 1,5; --decimal . where it "
                "is 1.5"
            )
        return self.decimal or "."

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield pyarrow.RecordBatch objects of some columns; each has at least one row.

        Raises
        ------
        FormatError
            When the file turns out to be damaged.
        """
        source = self._parquet(columns) if self.typed else self._csv(columns)
        with _reading(self.path, header=self.header, decimal=self.decimal):
            for batch in source:
                if batch.num_rows:
                    yield batch.select(list(columns))

    def empty(self, column: str) -> Any:
        """Return a typed column without its rows."""
        with _reading(self.path):
            kind = _parquet_file(self.path).schema_arrow.field(column).type
        return _pyarrow().array([], kind)

    def _parquet(self, columns: Sequence[str]) -> Iterator[Any]:
        yield from _parquet_file(self.path).iter_batches(BATCH_ROWS, columns=list(columns))

    def _csv(self, columns: Sequence[str]) -> Iterator[Any]:
        arrow = _pyarrow()
        from pyarrow import csv as arrow_csv

        if self.rows == 0:  # Arrow wants a line after the header
            return
        # An empty line of a table of one column is a person whose value is missing; of another,
        # it is nothing.
        alone = len(self.names) == 1
        # One thread, because only then do errors carry a row number. All columns are read as
        # bytes: a guessed type changes with what the first block happens to hold, and a text
        # that is not UTF-8 is a matter of its row.
        source: Any = str(self.path)
        if self.start is not None:
            source = StreamFromItsStart(self.start, sys.stdin.buffer)
        yield from arrow_csv.open_csv(
            source,
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                block_size=_CSV_BLOCK,
                skip_rows=self.blank if alone else 0,
                column_names=None if self.header else list(self.names),
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,  # as in answers to open questions
                ignore_empty_lines=not alone,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, arrow.binary()),
                strings_can_be_null=False,
            ),
        )

    def column(
        self,
        name: str | None,
        *,
        option: str = "--column",
        beside: str | None = None,
        labels: bool = False,
    ) -> str:
        """Return the name of a column that exists; without a name, of the only one.

        Parameters
        ----------
        name : str, optional
        option : str
            Which option names it, for messages.
        beside : str, optional
            Another column that was found by its name, which proves that there is a header.
        labels : bool
            Whether the values are labels, which nothing tells from the name of a column.

        Raises
        ------
        ArgumentError
            When there is no such column, or more than one to choose from. It lists the names if
            they are known to be names.
        FormatError
            When a CSV seems to have no header line, or the name occurs twice.
        """
        proved = self.typed or not self.header or beside is not None
        if name is None:
            if len(self.names) == 1 and (proved or not labels):
                self._check_header()
                return self.names[0]
            if proved:
                commas = not self.header and self.delimiter == ","
                raise ArgumentError(
                    f"{option} must name one of the columns of {self.shown}: {self._listed()}"
                    + ("; or, where its numbers have decimal commas, say --decimal ," * commas)
                )
            some = len(self.names)
            which = "the column of labels in" if some == 1 else f"one of the {some} columns of"
            raise ArgumentError(
                f"{option} must name {which} {self.shown}, as its first line does; {_NO_HEADER}"
            )
        if self.rows == 0 and not self.header and name.isdecimal():
            return name  # nobody stands in the file, so nothing says how many columns it has
        if name not in self.names:
            if not proved:
                self._check_header()
                raise ArgumentError(
                    f"{self.shown} has no column {name!r} in its first line; check the name. "
                    f"It is not shown what stands there, as it may be values: {_NO_HEADER}"
                )
            raise ArgumentError(
                f"{self.shown} has no column {name!r}{nearest(name, self.names)}; "
                f"it has: {self._listed()}"
            )
        if self.names.count(name) > 1:
            raise FormatError(f"{self.shown} has two columns named {name!r}; rename one")
        return name

    def _listed(self) -> str:
        names = ", ".join(name[:60] for name in self.names[:_NAME_LIMIT])
        left = len(self.names) - _NAME_LIMIT
        return f"{names} and {left} more" if left > 0 else names

    def _check_header(self) -> None:
        # Without a header the first row would be taken for names: a person would be lost, and
        # an error that lists the names would print values.
        csv_header = self.header and not self.typed
        if csv_header and any(_looks_like_a_value(name) for name in self.names):
            raise FormatError(
                f"the first line of {self.shown} must name the columns, it looks like values; "
                f"add a header line, or name the column with --column; {_NO_HEADER}"
            )


def open_table(path: Path, *, header: bool = True, decimal: Decimal | None = None) -> Table:
    """Return the table in a file, by the ending of its name.

    Parameters
    ----------
    path : Path
        "-" is standard input, a CSV.
    header : bool
        Whether the first line of a CSV names the columns.
    decimal : {".", ","}, optional
        What stands before the fraction of a number in a text. A comma is no separator of fields
        then, unless the line of names has no other.

    Raises
    ------
    ArgumentError
        When the name ends in none of .parquet, .csv, .tsv (also .csv.gz, .tsv.gz).
    FormatError
        When the file is empty or damaged.
    OSError
        When it cannot be opened.
    """
    if path == STDIN:
        _pyarrow()
        return _open_stdin(header=header, decimal=decimal)
    name = path.name.lower()
    if not name.endswith((*_PARQUET, *_CSV)):
        raise ArgumentError(
            f"a table must end in .parquet, .csv, .tsv, .csv.gz or .tsv.gz, {path.name!r} does not"
        )
    with path.open("rb"):  # an error of the system in its usual form, before Arrow has its own
        pass
    _pyarrow()
    if not header and name.endswith(_PARQUET):
        raise ArgumentError(f"--no-header is for CSV; the columns of {path.name} have names")
    with _reading(path, header=header):
        if name.endswith(_PARQUET):
            file = _parquet_file(path)
            names, rows = tuple(file.schema_arrow.names), file.metadata.num_rows
            return Table(path, names, rows, typed=True, decimal=decimal)
        with _pyarrow().input_stream(str(path)) as stream:  # unpacks by the ending
            start = bytes(stream.read(_CSV_BLOCK))
        return _open_csv(path, start, header=header, decimal=decimal)


def _open_stdin(*, header: bool, decimal: Decimal | None) -> Table:
    start = start_of_input(_CSV_BLOCK)
    for magic, kind in _NO_CSV.items():
        if start.startswith(magic):
            raise ArgumentError(
                f"standard input must be a CSV, it is {kind}; give the name of the file instead"
            )
    made = _open_csv(STDIN, start, header=header, decimal=decimal)
    return replace(made, start=start)


def _open_csv(path: Path, start: bytes, *, header: bool, decimal: Decimal | None) -> Table:
    # Only line feeds: the last character of the block may be cut in two.
    lines = start.split(b"\n")
    blank, line = next(((at, line) for at, line in enumerate(lines) if line.strip()), (0, None))
    if line is None and not header:  # nobody, or people whose only value is missing
        rows = None if start else 0
        return Table(path, ("1",), rows, typed=False, header=False, decimal=decimal)
    if line is None:
        raise FormatError(f"{shown(path)} is empty; a CSV starts with a line of column names")
    try:
        first = line.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError:
        raise FormatError(f"{shown(path)} must be UTF-8 text, it is not; convert it") from None
    if not first.replace("\t", "").isprintable():
        raise FormatError(f"{shown(path)} must be a table of texts, it is something else")
    delimiter = _delimiter(first, header=header, decimal=decimal)
    names = next(csv.reader([first], delimiter=delimiter))
    alone = len(names) == 1
    if not header:
        numbers = tuple(str(place) for place in range(1, len(names) + 1))
        return Table(path, numbers, None, False, delimiter=delimiter, header=False, decimal=decimal)
    rest = b"\n".join(lines[blank + 1 :])
    # A line of a table of one column may be empty, and is a row; that of another is nothing.
    none = len(lines) <= blank + 2 and not rest if alone else not rest.strip(b"\r\n")
    rows = 0 if none and len(start) < _CSV_BLOCK else None
    return Table(path, tuple(names), rows, False, delimiter, blank, decimal=decimal)


def _delimiter(first: str, *, header: bool, decimal: Decimal | None) -> str:
    """Return what stands between the fields of a CSV, by its first line."""
    if decimal != ",":
        return max(",;\t", key=first.count)
    found = max(";\t", key=first.count)
    # Names with commas between may stand above numbers in quotes; rows may not.
    return "," if header and "," in first and found not in first else found


def _parquet_file(path: Path) -> Any:
    from pyarrow import parquet

    # Without pre-buffering, a column of a row group is read in pieces and not as a whole.
    return parquet.ParquetFile(
        str(path),
        pre_buffer=False,
        buffer_size=2**20,
        page_checksum_verification=True,
        coerce_int96_timestamp_unit="us",  # else far dates overflow
    )


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="data") from None
    return pyarrow


@contextmanager
def _reading(path: Path, *, header: bool = True, decimal: Decimal | None = ".") -> Iterator[None]:
    """Turn Arrow's errors, which quote what they read, into sentences that do not."""
    arrow = _pyarrow()
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
    return FormatError(f"{shown(path)} {reason}")


def _reason(message: str, path: Path, *, header: bool) -> str:
    row = re.search(r"Row #(\d+)", message)
    # Arrow counts the header as row 1.
    where = f"row {int(row.group(1)) - header}" if row else "some row"
    if re.search(r"Expected \d+ columns, got \d+", message):
        return f"must have as many fields in every line as in its first, {where} has not"
    if "invalid UTF8" in message:
        return f"must be UTF-8 text, {where} is not; convert it"
    if "straddling" in message:
        return f"has a line of more than {_CSV_BLOCK >> 20} MiB; it is no table"
    kind = "Parquet" if path.name.lower().endswith(_PARQUET) else "CSV"
    return f"cannot be read as {kind}: it is damaged, or something else"


def _looks_like_a_value(name: str) -> bool:
    """Return whether a column's name may be a number, a date, a time of day or a missing value."""
    word = name.strip()
    if word in NULL_TEXTS or word.casefold().lstrip("+-") in ("inf", "infinity"):
        return True
    return not (word[0].isalpha() or word[0] == "_")
