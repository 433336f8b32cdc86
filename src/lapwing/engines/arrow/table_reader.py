"""Columns of Parquet, Arrow and CSV files, as a stream of Arrow batches.

A file is never held whole. Messages of Arrow are not passed on: they quote raw values.

The first line of a CSV is a header only if somebody says so. Otherwise it holds a person's values.
Reading it as names would lose this person, and an error that lists the names would disclose the
values. So names of columns are values until one of them was asked for by name. A file without a
header is read as such, with columns that are named 1, 2, 3.

A CSV whose fields have semicolons between may write 1,5 for one and a half. Nothing tells it from a
separator of thousands, and a guess from the rows would let one row decide what all others mean. So
it is asked for before a row is read.
"""

from __future__ import annotations

import codecs
import csv
import io
import secrets
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from lapwing.documents import nearest
from lapwing.engines.arrow.inputs import (
    ARROW,
    COMMAS,
    CSV_BLOCK,
    PARQUET,
    STDIN,
    StreamAndLastRow,
    StreamFromItsStart,
    StreamInUtf8,
    codec_of,
    input_name,
    pyarrow_or_error,
    reading,
    start_of_input,
)
from lapwing.engines.arrow.text_columns import NULL_TEXTS, without_views
from lapwing.engines.arrow.typed_files import (
    ArrowFile,
    ParquetSource,
    SmallFiles,
    all_rows,
    texts_of_metadata,
)
from lapwing.errors import ArgumentError, FormatError, RowsWarning, kind_of
from lapwing.protocol.domains.label_text import place_of
from lapwing.protocol.domains.row_counts import LEAST_ROWS
from lapwing.protocol.domains.text_values import Decimal, Thousands
from lapwing.protocol.messages.exact_counts import MAGIC

BATCH_ROWS = 65_536
"""Rows at a time: as many as the blocks of a report file hold."""

PART_ROWS = 2**20
"""Rows of a Parquet file, at least, that one thread reads on its own."""

CSV_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
TABLES = (*PARQUET, *ARROW, *CSV_ENDINGS)
"""How the names of tables end."""

_NO_CSV = {b"PAR1": "Parquet", b"\x1f\x8b": "packed by gzip", MAGIC: "a file of exact counts"}
"""What else standard input may start with."""
_NO_HEADER = "If it has no header line, use --no-header, which names the columns 1, 2, 3"
_NAME_LIMIT = 20
"""Columns that a message names. A file may have thousands."""


class HeldRows(Protocol):
    """Rows with typed columns that stand in no Parquet file and in no CSV."""

    @property
    def schema(self) -> Any:
        """The pyarrow.Schema of the rows."""
        ...

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """Yield some columns as pyarrow.RecordBatch objects, of any sizes."""
        ...


@dataclass(frozen=True)
class Table:
    """A file with named columns, or what holds such columns in memory.

    names: Of its columns.
    rows: How many. None when only reading to the end would tell (CSV).
    typed: Whether columns have types (Parquet) or are the bytes of strings (CSV).
    delimiter: Between the fields of a CSV.
    blank: Empty lines before the header of a CSV.
    header: Whether the first line names the columns, else they are named 1, 2, 3.
    decimal: The decimal separator of numbers in strings. None if not given.
    thousands: Mark between its groups of digits.
    start: The rows of standard input, which can be read only once. None of a file.
    skip: Lines of a CSV before all others.
    source: Rows that are no Parquet and no CSV. Then the path only lends its name.
    constant: Columns that are the same in every row: what the folders of a partitioned data set
        say.
    metadata: Metadata of the schema of a typed file.
    is_file: Whether the path is that of a file that can be read again.
    parquet: Of a Parquet file.
    fault: The probable fault of the first line of a CSV, for messages. Empty for none.
    encoding: Of a CSV that is not UTF-8.
    """

    path: Path
    names: tuple[str, ...]
    rows: int | None
    typed: bool
    delimiter: str = ","
    blank: int = 0
    header: bool = True
    decimal: Decimal | None = None
    thousands: Thousands | None = None
    start: bytes | None = None
    skip: int = 0
    source: HeldRows | None = None
    constant: Mapping[str, str | None] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    is_file: bool = True
    parquet: ParquetSource | None = None
    fault: str = ""
    encoding: str | None = None

    @property
    def is_small(self) -> bool:
        """Whether all of it is in memory already, as it is of a small Parquet file."""
        return self.parquet is not None and self.parquet.content is not None

    @property
    def label(self) -> str:
        """How messages name the file."""
        return input_name(self.path)

    @property
    def file(self) -> Path | None:
        """The file that can be read again. None of what is read once, or is no file."""
        return self.path if self.is_file and self.path != STDIN else None

    def decimal_mark(self) -> Decimal:
        """Return what stands before the fraction of a number.

        Raises FormatError when nobody said, and the file may well mean a comma.
        """
        if self.decimal is None and self.thousands in (",", "."):
            return "." if self.thousands == "," else ","
        if self.decimal is None and not self.typed and self.delimiter == ";":
            raise FormatError(
                f"{self.label} separates its fields by semicolons, so its numbers may have "
                "decimal commas. Use --decimal , if one and a half is 1,5, or --decimal . if "
                "it is 1.5"
            )
        return self.decimal or "."

    def batches(self, columns: Sequence[str], *, rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Yield pyarrow.RecordBatch objects of some columns. Each has at least one row.

        rows: Most in a batch. Of a CSV it is its block that limits them.

        Raises FormatError when the file turns out to be damaged.
        """
        for _, part in self.parts(columns, rows=rows, together=None):
            yield from part()

    def parts(
        self, columns: Sequence[str], *, rows: int = BATCH_ROWS, together: int | None = PART_ROWS
    ) -> Iterator[tuple[int, Callable[[], Iterator[Any]]]]:
        """Yield the rows before each part of the table, and what reads its batches.

        The caller reads row groups of Parquet, in any order and any thread. Rows of a stream have
        already been read.

        rows: Most in a batch.
        together: Least rows of a part, but for the last. None: one part.
        """
        grouped = self.source is None or getattr(self.source, "group_rows", None) is not None
        if self.typed and grouped:
            for first, groups in self._row_groups(together):
                yield first, partial(self._read_groups, list(columns), groups, rows)
            return
        first = 0
        stored = [name for name in columns if name not in self.constant]
        source = self._csv(stored) if self.source is None else self.source.batches(stored)
        for batch in self._whole(source, list(columns)):
            for start in range(0, batch.num_rows, rows):
                yield first + start, partial(iter, [batch.slice(start, rows)])
            first += batch.num_rows

    def _row_groups(self, together: int | None) -> Iterator[tuple[int, list[int] | None]]:
        """Yield runs of row groups with the rows before them."""
        if together is None:
            yield 0, None
            return
        with reading(self.path):
            if self.source is None:
                about = self._parquet_source.metadata
                sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
            else:
                sizes = self.source.group_rows  # type: ignore[attr-defined]
        first, groups, waiting = 0, [], 0
        for group, size in enumerate(sizes):
            groups.append(group)
            waiting += size
            if waiting >= together or group == len(sizes) - 1:
                yield first, groups
                first, groups, waiting = first + waiting, [], 0

    def _read_groups(
        self, columns: list[str], groups: list[int] | None, rows: int
    ) -> Iterator[Any]:
        stored = [name for name in columns if name not in self.constant]
        read = self._parquet if self.source is None else self.source.groups  # type: ignore[attr-defined]
        yield from self._whole(read(stored, groups, rows), columns)

    def _whole(self, source: Iterator[Any], columns: list[str]) -> Iterator[Any]:
        """Yield the batches that have rows, with all columns. Errors are ours."""
        with reading(self.path, header=self.header, decimal=self.decimal):
            for batch in source:
                if not batch.num_rows:
                    continue
                for name in columns:
                    if name in self.constant:
                        pa = pyarrow_or_error()
                        same = pa.repeat(pa.scalar(self.constant[name], "string"), batch.num_rows)
                        batch = batch.append_column(name, same.dictionary_encode())
                batch = batch.select(columns)
                for place, array in enumerate(batch.columns):
                    plain = without_views(array)
                    if plain is not array:
                        batch = batch.set_column(place, columns[place], plain)
                yield batch

    @property
    def schema(self) -> Any:
        """The pyarrow.Schema of what is stored. None of a CSV."""
        if not self.typed:
            return None
        if self.source is not None:
            return self.source.schema
        with reading(self.path):
            return self._parquet_source.schema

    @property
    def _parquet_source(self) -> ParquetSource:
        return self.parquet or ParquetSource.of(self.path, None)

    def empty(self, column: str) -> Any:
        """Return a typed column without its rows."""
        if column in self.constant:
            return pyarrow_or_error().array([], "string")
        return without_views(pyarrow_or_error().nulls(0, self.schema.field(column).type))

    def _parquet(self, columns: list[str], groups: list[int] | None, rows: int) -> Iterator[Any]:
        # One thread: several files or parts are read beside each other by whoever asks for that.
        file = self._parquet_source.file()
        places = range(file.metadata.num_row_groups) if groups is None else groups
        number = sum(file.metadata.row_group(place).num_rows for place in places)
        read = file.iter_batches(rows, row_groups=groups, columns=columns, use_threads=False)
        yield from all_rows(read, number) if columns else read

    def _csv(self, columns: Sequence[str]) -> Iterator[Any]:
        if self.rows == 0:  # Arrow wants a line after the header
            return
        stored = [name for name in self.names if name not in self.constant]
        mark = secrets.token_hex(8).encode()
        once = self.start is not None  # standard input, which cannot be looked at again
        stream, batches = self._opened_csv(stored if once else columns, stored, mark)
        rows = within = 0
        for batch in self._without_last(batches, mark):
            rows += batch.num_rows
            within += _rows_in_cells(batch, stored, self.delimiter) if once else 0
            yield batch
        if not once and stream.line_ends > rows + self.header + self.skip + self.blank:
            _, batches = self._opened_csv(stored, stored, mark)
            within = sum(_rows_in_cells(batch, stored, self.delimiter) for batch in batches)
        if within and rows + within >= LEAST_ROWS:
            warnings.warn(
                f"{within:,} rows of {self.label} seem to be inside quotation marks, so they "
                "are not read. An unclosed quotation mark swallows the rows after it. Correct "
                "the file, unless its strings contain such lines",
                RowsWarning,
                stacklevel=2,
            )

    def _opened_csv(
        self, columns: Sequence[str], stored: list[str], mark: bytes
    ) -> tuple[StreamAndLastRow, Iterator[Any]]:
        """Return the bytes of a CSV with one more row of marks, and its batches."""
        arrow = pyarrow_or_error()
        from pyarrow import csv as arrow_csv

        # An empty line of a table of one column is a person whose value is missing; of another,
        # it is nothing.
        alone = len(self.names) == 1
        # One thread, because only then do errors carry a row number. All columns are read as
        # bytes: a guessed type changes with what the first block happens to hold, and a text
        # that is not UTF-8 is a matter of its row.
        columns = columns or stored[:1]  # of no column, Arrow would read all and guess types
        row = self.delimiter.encode().join([mark] * len(stored))
        source: Any = (
            arrow.input_stream(str(self.path))  # unpacks by the ending
            if self.start is None
            else StreamFromItsStart(self.start, sys.stdin.buffer)
        )
        codec = codec_of(self.encoding)
        if codec is not None:
            source = StreamInUtf8(source, codec, self.label)
        stream = StreamAndLastRow(source, row)
        batches = arrow_csv.open_csv(
            stream,
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                block_size=CSV_BLOCK,
                skip_rows=self.skip + (self.blank if alone else 0),
                column_names=None if self.header else stored,
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
        return stream, iter(batches)

    def _without_last(self, batches: Iterator[Any], mark: bytes) -> Iterator[Any]:
        """Yield the batches of a CSV without its last row, which must hold nothing but a mark.

        Raises FormatError when it does not: then a cell that never ends holds it, and all before
        it.
        """
        rows, held = 0, None
        for batch in batches:
            if held is not None:
                yield held
            rows += batch.num_rows
            held = batch
        last = [] if held is None else [column[-1].as_py() for column in held.columns]
        if held is None or any(cell != mark for cell in last):
            raise FormatError(
                f"{self.label} must close every quotation mark, but the one in row {rows} is "
                "never closed. All rows after it would be one cell. Correct the file"
            )
        yield held.slice(0, held.num_rows - 1)

    def column(
        self,
        name: str | None,
        *,
        option: str = "column",
        beside: str | None = None,
        labels: bool = False,
    ) -> str:
        """Return the name of a column that exists. Without a name, of the only one.

        option: Which argument names it, for messages.
        beside: Another column that was found by its name, which proves that there is a header.
        labels: Whether the values are labels, which nothing tells from the name of a column.

        Raises ArgumentError when there is no such column, or more than one to choose from. It lists
        the names if they are known to be names.
        Raises FormatError when a CSV seems to have no header line, or the name occurs twice.
        """
        if name is not None and not isinstance(name, str):
            raise ArgumentError(option, "must be the name of one column", kind_of(name))
        proved = self.typed or not self.header or beside is not None
        if name is None:
            if len(self.names) == 1 and (proved or not labels):
                self._check_header()
                return self.names[0]
            if proved:
                commas = not self.header and self.delimiter == ","
                raise ArgumentError(
                    option,
                    f"must name one of the columns of {self.label}: {self._listed()}"
                    + f". {COMMAS}" * commas,
                )
            some = len(self.names)
            which = "the column of labels in" if some == 1 else f"one of the {some} columns of"
            raise ArgumentError(
                option,
                f"must name {which} {self.label}, as in its first line",
                advice=_NO_HEADER,
            )
        if self.rows == 0 and not self.header and name.isdecimal():
            return name  # nobody stands in the file, so nothing says how many columns it has
        place = place_of(name, self.names)
        if place is not None:
            name = self.names[place]
        else:
            if not proved:
                blanks = next((one for one in self.names if one.strip() == name.strip()), None)
                if blanks is not None:
                    raise ArgumentError(
                        f"{self.label} has no column {name!r} in its first line, but it has "
                        f"{blanks!r}, with spaces. Use that name"
                    )
                self._check_header()
                if self.fault:
                    raise FormatError(f"{self.label} {self.fault}")
                raise ArgumentError(
                    f"{self.label} has no column {name!r} in its first line. Check the name. "
                    f"That line is not shown, because it may contain values. {_NO_HEADER}"
                )
            raise ArgumentError(
                f"{self.label} has no column {name!r}{nearest(name, self.names)}. "
                f"It has: {self._listed()}"
            )
        if self.names.count(name) > 1:
            raise FormatError(f"{self.label} has two columns named {name!r}. Rename one")
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
            if self.fault:
                raise FormatError(f"{self.label} {self.fault}")
            raise FormatError(
                f"the first line of {self.label} must contain the column names, but it looks "
                f"like values. Add a header line, or give the column with --column. {_NO_HEADER}"
            )


def _rows_in_cells(batch: Any, names: Sequence[str], delimiter: str) -> int:
    """Return how many rows the cells of a batch seem to hold, from one quotation mark to another.

    Such a cell begins with the rest of its row and ends with the start of another. All lines
    between are whole rows. A single line end is in many texts.
    """
    import pyarrow.compute as pc

    found, mark, last = 0, delimiter.encode(), len(names) - 1
    for place, name in enumerate(names):
        column = batch.column(name)
        for cell in column.filter(pc.match_substring(column, b"\n")).to_pylist():
            marks = [line.count(mark) for line in cell.split(b"\n")]
            ends = [last - place, *[last] * (len(marks) - 2), place]
            found += len(marks) - 1 if last and len(marks) > 2 and marks == ends else 0
    return found


def open_table(
    path: Path,
    *,
    header: bool = True,
    decimal: Decimal | None = None,
    thousands: Thousands | None = None,
    encoding: str | None = None,
    small: SmallFiles | None = None,
) -> Table:
    """Return the table in a file, by the ending of its name.

    path: "-" is standard input, a CSV.
    header: Whether the first line of a CSV names the columns.
    decimal: The decimal separator of numbers in strings. A comma is no separator of fields then,
        unless the line of names has no other.
    thousands: Mark between its groups of digits. The same holds for a comma.
    encoding: Of a CSV. Default: UTF-8, or UTF-16 where it begins with its byte-order mark.
    small: A small Parquet file is read whole, and is opened once.

    Raises ArgumentError when the name ends in none of .parquet, .arrow, .csv, .tsv (also .csv.gz,
    .tsv.gz).
    Raises FormatError when the file is empty or damaged.
    Raises OSError when it cannot be opened.
    """
    if path == STDIN:
        pyarrow_or_error()
        return _open_stdin(header=header, marks=(decimal, thousands), encoding=encoding)
    name = path.name.lower()
    if not name.endswith(TABLES):
        raise ArgumentError(
            "the name of a table must end in .parquet, .arrow, .csv, .tsv, .csv.gz or .tsv.gz, "
            f"but {path.name!r} does not"
        )
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ArgumentError(
            f"a table must be a plain file, but {path.name} is a pipe or a device. Name a file, "
            "or give a CSV on standard input (-)"
        )
    content = None
    with path.open("rb") as opened:  # an error of the system in its usual form, not in Arrow's
        if small is not None and name.endswith(PARQUET):
            content = small.content(opened)
    pyarrow_or_error()
    if not header and name.endswith((*PARQUET, *ARROW)):
        raise ArgumentError(
            "no_header", "is for CSV", advice=f"The columns of {path.name} have names"
        )
    if encoding is not None and name.endswith((*PARQUET, *ARROW)):
        raise ArgumentError(
            "encoding", f"is for CSV, but {path.name} is not a CSV file", advice="Leave it out"
        )
    with reading(path, header=header):
        if name.endswith(PARQUET):
            held = ParquetSource.of(path, content)
            names, rows = tuple(held.schema.names), held.metadata.num_rows
            said = texts_of_metadata(held.schema)
            made = Table(path, names, rows, True, decimal=decimal, metadata=said, parquet=held)
            return made if thousands is None else replace(made, thousands=thousands)
        if name.endswith(ARROW):
            made = held_table(ArrowFile.opened(path), path, decimal=decimal)
            return replace(made, thousands=thousands)
        with pyarrow_or_error().input_stream(str(path)) as stream:  # unpacks by the ending
            start = bytes(stream.read(CSV_BLOCK))
        return csv_table(path, start, header=header, marks=(decimal, thousands), encoding=encoding)


def held_table(
    held: HeldRows, path: Path, *, decimal: Decimal | None = None, is_file: bool = True
) -> Table:
    """Return rows with typed columns as a table of that name."""
    said = texts_of_metadata(held.schema)
    names, rows = tuple(held.schema.names), getattr(held, "rows", None)
    return Table(
        path, names, rows, True, decimal=decimal, source=held, metadata=said, is_file=is_file
    )


def _open_stdin(
    *, header: bool, marks: tuple[Decimal | None, Thousands | None], encoding: str | None
) -> Table:
    start = start_of_input(CSV_BLOCK)
    for magic, kind in _NO_CSV.items():
        if start.startswith(magic):
            raise ArgumentError(
                f"standard input must be a CSV, but it is {kind}. Give the name of the file instead"
            )
    made = csv_table(STDIN, start, header=header, marks=marks, encoding=encoding)
    return replace(made, start=start)


def csv_table(
    path: Path,
    start: bytes,
    *,
    header: bool,
    marks: tuple[Decimal | None, Thousands | None],
    encoding: str | None,
) -> Table:
    """Return a CSV as a table, by its first bytes.

    start: Its first lines, unpacked.
    header, encoding: As of :func:`open_table`.
    marks: The decimal and the thousands of it.
    """
    if encoding is None and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    codec, whole = codec_of(encoding), len(start) < CSV_BLOCK
    if codec is not None:
        text = StreamInUtf8(io.BytesIO(start), codec, input_name(path), cut=not whole)
        start = text.read()
    made = _csv_in_utf8(path, start, whole, header=header, marks=marks)
    decimal, thousands = marks
    return replace(made, decimal=decimal, thousands=thousands, encoding=encoding)


def _csv_in_utf8(
    path: Path,
    start: bytes,
    whole: bool,
    *,
    header: bool,
    marks: tuple[Decimal | None, Thousands | None],
) -> Table:
    # Only line feeds: the last character of the block may be cut in two.
    lines = start.split(b"\n")
    blank, line = next(((at, line) for at, line in enumerate(lines) if line.strip()), (0, None))
    if line is None and not header:  # nobody, or people whose only value is missing
        rows = None if start else 0
        return Table(path, ("1",), rows, typed=False, header=False)
    if line is None:
        raise FormatError(f"{input_name(path)} is empty. A CSV starts with a line of column names")
    if header and 0 in line:
        raise FormatError(
            f"{input_name(path)} must be a table of strings, but its first line contains zero "
            "bytes. If it is UTF-16, give its encoding (--encoding utf-16-le, utf-16-be or "
            "another)"
        )
    try:  # where the first line is a row, its cells are read as those of all others
        first = line.decode("utf-8-sig", "strict" if header else "replace").rstrip("\r")
    except UnicodeDecodeError:
        raise FormatError(
            f"the first line of {input_name(path)} must be text in UTF-8 or in the given "
            "encoding. Give its encoding (--encoding)"
        ) from None
    if "\r" in first:
        raise FormatError(
            f"{input_name(path)} has old line ends (CR alone). Write it with LF or CR LF"
        )
    if header and not first.replace("\t", "").isprintable():
        raise FormatError(f"{input_name(path)} must be a table of strings, but it is not")
    delimiter = _delimiter(first, header=header, commas="," in marks)
    names = _fields(first, delimiter)
    alone = len(names) == 1
    if not header:
        numbers = tuple(str(place) for place in range(1, len(names) + 1))
        return Table(path, numbers, None, False, delimiter=delimiter, header=False)
    rest = b"\n".join(lines[blank + 1 :])
    # A line of a table of one column may be empty, and is a row; that of another is nothing.
    none = len(lines) <= blank + 2 and not rest if alone else not rest.strip(b"\r\n")
    rows = 0 if none and whole else None
    fault = _fault(first, names, lines[blank + 1 : blank + 2], delimiter)
    return Table(path, tuple(names), rows, False, delimiter, blank, fault=fault)


def _fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, which may be as long as a block."""
    limit = csv.field_size_limit(CSV_BLOCK)
    try:
        return next(csv.reader([line], delimiter=delimiter))
    finally:
        csv.field_size_limit(limit)


def _fault(first: str, names: list[str], second: list[bytes], delimiter: str) -> str:
    """Say what is probably wrong with the first line of a CSV, without a word of it."""
    if first.lower().startswith("sep="):
        return "begins with a line for Excel (sep=). Delete that line"
    if len(names) > 1:
        return ""
    if "|" in first:
        return (
            "has | in its first line. Fields must be separated by commas, semicolons or tabs. "
            "Convert it"
        )
    fields = max(line.count(mark) for line in [*second, b""] for mark in (b",", b";", b"\t")) + 1
    if fields > 1:
        return (
            f"has one field in its first line and {fields} in the second. The first line must "
            "name all columns. Delete the lines before it"
        )
    return ""


def _delimiter(first: str, *, header: bool, commas: bool) -> str:
    """Return what stands between the fields of a CSV, by its first line.

    With `commas`, numbers have some.
    """
    if not commas:
        return max(",;\t", key=first.count)
    found = max(";\t", key=first.count)
    # Names with commas between may stand above numbers in quotes; rows may not.
    return "," if header and "," in first and found not in first else found


def _looks_like_a_value(name: str) -> bool:
    """Return whether a column's name may be a number, a date, a time of day or a missing value."""
    word = name.strip()
    if word in NULL_TEXTS or word.casefold().lstrip("+-") in ("inf", "infinity"):
        return True
    return not (word[0].isalpha() or word[0] == "_")
