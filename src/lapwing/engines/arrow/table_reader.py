"""Columns of Parquet and CSV files, as a stream of Arrow batches.

A file is never held whole. Messages of Arrow are not passed on: they quote raw values.

The first line of a CSV is a header only if somebody says so. Where it is none, it holds a person's
values, who would be lost, and whom an error that lists the "names" would show. So names of columns
are values until one of them was asked for by name; a file without a header is read as such, with
columns that are named 1, 2, 3.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.documents import nearest
from lapwing.engines.arrow.text_columns import NULL_TEXTS
from lapwing.errors import ArgumentError, FormatError, MissingExtraError

BATCH_ROWS = 65_536
"""Rows at a time: as many as the blocks of a report file hold."""

_CSV_BLOCK = 4 * 2**20
"""Bytes of CSV at a time; no line may be longer."""

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
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
    """

    path: Path
    names: tuple[str, ...]
    rows: int | None
    typed: bool
    delimiter: str = ","
    blank: int = 0
    header: bool = True

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield pyarrow.RecordBatch objects of some columns; each has at least one row.

        Raises
        ------
        FormatError
            When the file turns out to be damaged.
        """
        source = self._parquet(columns) if self.typed else self._csv(columns)
        with _reading(self.path, header=self.header):
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
        yield from arrow_csv.open_csv(
            str(self.path),
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
                raise ArgumentError(
                    f"{option} must name one of the columns of {self.path.name}: {self._listed()}"
                )
            some = len(self.names)
            which = "the column of labels in" if some == 1 else f"one of the {some} columns of"
            raise ArgumentError(
                f"{option} must name {which} {self.path.name}, as its first line does; {_NO_HEADER}"
            )
        if self.rows == 0 and not self.header and name.isdecimal():
            return name  # nobody stands in the file, so nothing says how many columns it has
        if name not in self.names:
            if not proved:
                self._check_header()
                raise ArgumentError(
                    f"{self.path.name} has no column {name!r} in its first line; check the name. "
                    f"It is not shown what stands there, as it may be values: {_NO_HEADER}"
                )
            raise ArgumentError(
                f"{self.path.name} has no column {name!r}{nearest(name, self.names)}; "
                f"it has: {self._listed()}"
            )
        if self.names.count(name) > 1:
            raise FormatError(f"{self.path.name} has two columns named {name!r}; rename one")
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
                f"the first line of {self.path.name} must name the columns, it looks like values; "
                f"add a header line, or name the column with --column; {_NO_HEADER}"
            )


def open_table(path: Path, *, header: bool = True) -> Table:
    """Return the table in a file, by the ending of its name.

    Parameters
    ----------
    path : Path
    header : bool
        Whether the first line of a CSV names the columns.

    Raises
    ------
    ArgumentError
        When the name ends in none of .parquet, .csv, .tsv (also .csv.gz, .tsv.gz).
    FormatError
        When the file is empty or damaged.
    OSError
        When it cannot be opened.
    """
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
            return Table(path, tuple(file.schema_arrow.names), file.metadata.num_rows, typed=True)
        return _open_csv(path, header=header)


def _open_csv(path: Path, *, header: bool) -> Table:
    with _pyarrow().input_stream(str(path)) as stream:  # unpacks by the ending
        start = stream.read(_CSV_BLOCK)
    # Only line feeds: the last character of the block may be cut in two.
    lines = bytes(start).split(b"\n")
    blank, line = next(((at, line) for at, line in enumerate(lines) if line.strip()), (0, None))
    if line is None and not header:  # nobody, or people whose only value is missing
        return Table(path, ("1",), None if start else 0, typed=False, header=False)
    if line is None:
        raise FormatError(f"{path.name} is empty; a CSV starts with a line of column names")
    try:
        first = line.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError:
        raise FormatError(f"{path.name} must be UTF-8 text, it is not; convert it") from None
    if not first.replace("\t", "").isprintable():
        raise FormatError(f"{path.name} must be a table of texts, it is something else")
    delimiter = max(",;\t", key=first.count)
    names = next(csv.reader([first], delimiter=delimiter))
    alone = len(names) == 1
    if not header:
        numbers = tuple(str(place) for place in range(1, len(names) + 1))
        return Table(path, numbers, None, typed=False, delimiter=delimiter, header=False)
    rest = b"\n".join(lines[blank + 1 :])
    # A line of a table of one column may be empty, and is a row; that of another is nothing.
    none = len(lines) <= blank + 2 and not rest if alone else not rest.strip(b"\r\n")
    rows = 0 if none and len(start) < _CSV_BLOCK else None
    return Table(path, tuple(names), rows, typed=False, delimiter=delimiter, blank=blank)


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
def _reading(path: Path, *, header: bool = True) -> Iterator[None]:
    """Turn Arrow's errors, which quote what they read, into sentences that do not."""
    arrow = _pyarrow()
    try:
        yield
    except arrow.ArrowException as error:
        raise FormatError(f"{path.name} {_reason(str(error), path, header=header)}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise FormatError(f"{path.name} {_reason(str(error), path, header=header)}") from None


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
