"""Inputs of a job as tables that are opened one by one: files, folders, frames, streams.

Nothing is read but names and types. A folder stands for all tables in it, those of its folders
too. ``country=PT`` as the name of one is a column of all its files, as in partitioned data sets.
Files and folders whose names start with a dot or an underscore are none, as everywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from lapwing.engines.arrow.addresses import (
    Keys,
    address_of,
    datasets_at,
    keys_of,
    local_path,
    matching,
)
from lapwing.engines.arrow.inputs import pyarrow_or_error, reading, without_causes
from lapwing.engines.arrow.table_reader import BATCH_ROWS, TABLES, Table, held_table, open_table
from lapwing.engines.arrow.typed_files import all_rows, check_footer
from lapwing.errors import ArgumentError, DomainError, FormatError, LapwingError, kind_of
from lapwing.protocol.domains.text_values import Decimal, Thousands
from lapwing.protocol.domains.units import WIDE_INTEGERS, period_ticks

COMPACT = ".lwr"
"""How the names of compact report files end."""


def files_of(dataset: Any, *, endings: Sequence[str] = TABLES) -> list[tuple[Path, Keys]]:
    """Return the files that paths stand for, with what the folders say of each.

    endings: Of the files of a folder. Others in it are refused, not passed over.

    Raises ArgumentError when a folder holds no such file, or one of another kind, or nothing was
    given.
    """
    if isinstance(dataset, str | os.PathLike):
        dataset = [dataset]
    found: list[tuple[Path, Keys]] = []
    for given in dataset:
        if not isinstance(given, str | os.PathLike):
            raise ArgumentError(f"a list must contain file names, got {kind_of(given)}")
        whole: list[tuple[Path, Path | None]] = [(Path(given), None)]
        for path, root in matching(Path(given)) or whole:
            if path.is_dir():
                found += _files_in(path, root or path, tuple(endings))
            else:
                found.append((path, keys_of(path.relative_to(root).parts[:-1] if root else ())))
    if not found:
        raise ArgumentError("there must be at least one file to read, got none")
    _read_folder_names([keys for _, keys in found])
    return found


_NO_LABEL = "__HIVE_DEFAULT_PARTITION__"
"""What folders of partitioned data sets are named where there is no value."""


def _read_folder_names(files: list[Keys]) -> None:
    """Read what folders say of their files as Spark, pyarrow, polars and DuckDB read it.

    Where all that is said under a name are whole numbers, these are its values: ``month=01`` is 1,
    as none of the others can tell it from that.
    """
    for name in {name for keys in files for name in keys}:
        said = {keys[name] for keys in files if name in keys} - {_NO_LABEL, None}
        whole = all(re.fullmatch("[+-]?[0-9]{1,18}", word) for word in said if word is not None)
        for keys in files:
            word = keys.get(name)
            if word == _NO_LABEL:
                keys[name] = None
            elif word is not None and whole:
                keys[name] = str(int(word))


def every_file(paths: Sequence[Path]) -> list[Path]:
    """Return files as they are, and for a folder or a pattern those in it. Of addresses none.

    A folder must hold tables or reports.
    """
    local = [path for path in map(_local, paths) if path is not None]
    return [path for path, _ in files_of(local, endings=(*TABLES, COMPACT))] if local else []


def _local(name: str | os.PathLike[str]) -> Path | None:
    """Return a path, also of an address of this machine. None of any other address."""
    address = address_of(name)
    return Path(name) if address is None else local_path(address)


Place = tuple[Path, Keys]


def places_of(dataset: Any, *, endings: Sequence[str] = TABLES) -> list[Place | Table]:
    """Return the files that names stand for, as of :func:`files_of`. Those at addresses as tables.

    dataset: Paths, patterns such as "2026-*/*.parquet", and addresses such as
        "s3://bucket/reports".
    endings: As of :func:`files_of`.
    """
    names = [dataset] if isinstance(dataset, str | os.PathLike) else list(dataset)
    addresses = [address_of(one) if isinstance(one, str | os.PathLike) else None for one in names]
    paths = [None if address is None else local_path(address) for address in addresses]
    local = [path or name for path, name in zip(paths, names, strict=True)]
    if all(path or not address for path, address in zip(paths, addresses, strict=True)):
        return [*files_of(local, endings=endings)]
    places: list[Place | Table] = []
    for name, path, address in zip(local, paths, addresses, strict=True):
        if address is None or path is not None:
            places += files_of([name], endings=endings)
            continue
        with reading(Path(address)):
            found = list(datasets_at(address))
            _read_folder_names([keys for _, keys in found])
            for one, keys in found:
                places += [with_constants(table, keys) for table in _fragments(one, None)]
    return places


def _files_in(folder: Path, root: Path, endings: tuple[str, ...]) -> Iterator[tuple[Path, Keys]]:
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
    ]
    if not files:
        raise ArgumentError(f"the folder {folder.name} must contain tables, but it has none")
    for path in files:
        if not path.name.lower().endswith(endings):
            raise ArgumentError(
                f"the folder {folder.name} must contain only files that end in "
                f"{', '.join(endings)}, but {path.name} does not"
            )
        yield path, keys_of(path.relative_to(root).parts[:-1])


@without_causes
def tables_of(
    dataset: Any,
    *,
    header: bool = True,
    decimal: Decimal | None = None,
    thousands: Thousands | None = None,
    encoding: str | None = None,
) -> list[Table]:
    """Return the tables of a data set.

    Parameters
    ----------
    dataset : Path, str, list of them, or a table in memory
        Files or folders of tables. Or data in Arrow's memory format: a ``pyarrow`` Table,
        RecordBatch, RecordBatchReader or Dataset, or a data frame of polars (even lazy) or pandas.
        Or any object with ``__arrow_c_stream__``, such as a DuckDB relation.
    header : bool
        Whether the first line of a CSV names its columns. Default: True.
    decimal : {".", ","}, optional
        Decimal separator of numbers in strings. Default: None.
    thousands : {",", ".", "'", " "}, optional
        Thousands separator of numbers in strings. Default: None.
    encoding : str, optional
        Encoding of a CSV, by its Python name. Default: UTF-8, or UTF-16 if the file begins with
        its byte-order mark.

    Returns
    -------
    list of Table
        Tables, in the order of the data set.

    Raises
    ------
    ArgumentError
        When the data set is none of these, or an encoding is given although no table has one.
    FormatError, OSError
        When a file cannot be read.

    Examples
    --------
    >>> import lapwing as lw
    >>> import pyarrow as pa
    >>> table, = lw.engines.arrow.tables_of(pa.table({"age": [41, 29, 63]}))
    >>> table.names
    ('age',)
    """
    if isinstance(dataset, str | os.PathLike | list | tuple):
        marks: dict[str, Any] = {"decimal": decimal, "thousands": thousands}
        opened = [
            place
            if isinstance(place, Table)
            else (open_table(place[0], header=header, encoding=encoding, **marks), place[1])
            for place in places_of(dataset)
        ]
        return [
            replace(one, **marks) if isinstance(one, Table) else with_constants(*one)
            for one in opened
        ]
    if encoding is not None:
        raise ArgumentError("an encoding applies to a CSV, but this table is in memory")
    held = _tables_in_memory(dataset, decimal)
    return held if thousands is None else [replace(one, thousands=thousands) for one in held]


def _tables_in_memory(dataset: Any, decimal: Decimal | None) -> list[Table]:
    arrow = pyarrow_or_error()
    from pyarrow import dataset as arrow_dataset

    if isinstance(dataset, arrow_dataset.Dataset):
        return _fragments(dataset, decimal)
    if isinstance(dataset, arrow.Table | arrow.RecordBatch):
        return [_in_memory(_Batches(dataset.schema, dataset), decimal)]
    package = type(dataset).__module__.partition(".")[0]
    if package == "polars" and hasattr(dataset, "collect_schema") and hasattr(dataset, "select"):
        with _query_errors():
            return [_in_memory(_PolarsFrame.of(dataset), decimal)]
    if package == "pandas" and hasattr(dataset, "iloc") and hasattr(dataset, "columns"):
        return [_in_memory(_PandasFrame(_PandasSchema(dataset)), decimal)]
    if hasattr(dataset, "__arrow_c_stream__"):
        with _stream_errors():
            stream = arrow.RecordBatchReader.from_stream(dataset)
        return [_in_memory(_Stream(stream.schema, stream), decimal)]
    raise ArgumentError(
        "the input must be a file, a folder, a pattern, an address, a list of these, or a table, "
        f"got {kind_of(dataset)}. A table is one of pyarrow, polars or pandas, or has Arrow's C "
        "stream"
    )


def with_constants(table: Table, keys: Keys) -> Table:
    """Return a table with the columns that the names of its folders say."""
    keys = {key: value for key, value in keys.items() if key not in table.names}
    return replace(table, names=(*table.names, *keys), constant=keys) if keys else table


_MEMORY = Path("the table")


def _in_memory(held: Any, decimal: Decimal | None) -> Table:
    return held_table(held, _MEMORY, decimal=decimal, is_file=False)


def _chosen(rows: Any, columns: list[str]) -> Any:
    """Return some columns of a table or batch, which may have several others of one name."""
    names = rows.schema.names
    return rows.select([names.index(name) for name in columns])


@dataclass(frozen=True)
class _Batches:
    """A pyarrow.Table or RecordBatch."""

    schema: Any
    table: Any

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def batches(self, columns: list[str]) -> Iterator[Any]:
        chosen = _chosen(self.table, columns)
        yield from chosen.to_batches() if hasattr(chosen, "to_batches") else [chosen]


@dataclass(frozen=True)
class _Stream:
    """A pyarrow.RecordBatchReader, or what gives its rows once as a C stream of Arrow."""

    schema: Any
    reader: Any

    def batches(self, columns: list[str]) -> Iterator[Any]:
        batches = iter(self.reader)
        while True:
            with _stream_errors():
                batch = next(batches, None)
            if batch is None:
                return
            yield _chosen(batch, columns)


@contextmanager
def _stream_errors() -> Iterator[None]:
    """Turn errors of a program that gives rows, which may quote one, into one that names its kind.

    DuckDB says which text it could not convert, say.
    """
    try:
        with reading(_MEMORY):
            yield
    except (LapwingError, OSError):
        raise
    except Exception as error:
        raise FormatError(
            "the table cannot be read: the program that provides its rows failed "
            f"({type(error).__name__})"
        ) from None


class _PandasSchema:
    """The names of a frame of pandas. The types of those columns that somebody asks for.

    A column of objects has a type only when all of it is gone through, and an unrelated one need
    not have any.
    """

    metadata: ClassVar[None] = None

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.names = [str(name) for name in frame.columns]
        self._columns: dict[str, Any] = {}

    def field(self, name: str) -> Any:
        """Return the pyarrow.Field of a column."""
        import pyarrow as pa

        column = self.frame.iloc[:, self.names.index(name)]
        kind = self.column(name) if column.dtype == object else _arrow_column(column.iloc[:0], name)
        return pa.field(name, kind.type)

    def column(self, name: str) -> Any:
        """Return a column as a pyarrow.ChunkedArray."""
        if name not in self._columns:
            column = self.frame.iloc[:, self.names.index(name)]
            self._columns[name] = _arrow_column(column, name)
        return self._columns[name]


def _arrow_column(column: Any, name: str) -> Any:
    """Return a column of pandas as Arrow has it. FormatError where its cells are of several kinds.

    Arrow's message would quote the first cell that it cannot convert.
    """
    import pyarrow as pa

    if type(column.dtype).__name__ == "PeriodDtype":
        column = _moments_of_periods(column, name)
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        missing = column.isna().tolist()
        cells = zip(column, missing, strict=True)
        kinds = [None if absent else type(cell) for cell, absent in cells]
        first = next((kind for kind in kinds if kind is not None), None)
        other = [row for row, kind in enumerate(kinds, 1) if kind not in (first, None)]
        which = (
            f", but the one in row {other[0]} is of a different kind"
            if other
            else " that Arrow supports"
        )
        message = (
            f"the column {name!r} of the table must contain cells of one kind{which}. Convert "
            "the column first"
        )
    else:
        return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    raise FormatError(message)


def _moments_of_periods(column: Any, name: str) -> Any:
    """Return a column of pandas' periods as datetime64 of a precision that Arrow supports."""
    ticks = period_ticks(column)
    if ticks is None:
        raise DomainError(
            f"the column {name!r} must contain dates or timestamps, but it has periods longer "
            "than a day. Convert it first: column.dt.start_time is where each begins"
        )
    known = ticks.dtype.name in (f"datetime64[{unit}]" for unit in ("D", "s", "ms", "us", "ns"))
    return ticks if known else ticks.astype("M8[s]")


@dataclass(frozen=True)
class _PandasFrame:
    """A frame of pandas."""

    schema: _PandasSchema

    @property
    def rows(self) -> int:
        return len(self.schema.frame)

    def batches(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        arrays = [self.schema.column(name) for name in columns]
        yield from pa.Table.from_arrays(arrays, names=columns).to_batches()


class _PolarsSchema:
    """The names and types of a frame of polars, or of a query. Nothing is worked out."""

    metadata: ClassVar[None] = None

    def __init__(self, kinds: dict[str, Any]) -> None:
        self.names = list(kinds)
        self.kinds = kinds

    def field(self, name: str) -> Any:
        """Return the pyarrow.Field of a column."""
        import polars
        import pyarrow as pa

        wide = str(self.kinds[name]) in WIDE_INTEGERS
        empty = polars.DataFrame(schema={name: polars.Decimal(38, 0) if wide else self.kinds[name]})
        return pa.RecordBatchReader.from_stream(empty).schema.field(name)


@dataclass(frozen=True)
class _PolarsFrame:
    """A frame of polars or a query. Only the columns asked for are worked out, in pieces."""

    schema: _PolarsSchema
    frame: Any

    @classmethod
    def of(cls, frame: Any) -> _PolarsFrame:
        return cls(_PolarsSchema(dict(frame.collect_schema())), frame)

    @property
    def rows(self) -> int | None:
        return len(self.frame) if hasattr(self.frame, "__len__") else None

    def _narrow(self, name: str) -> Any:
        """Return a column that Arrow has: 128-bit integers as decimals, of 38 digits at most."""
        import polars

        column = polars.col(name)
        if str(self.schema.kinds[name]) not in WIDE_INTEGERS:
            return column
        return column.cast(polars.Decimal(38, 0), strict=False)

    def batches(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        with _query_errors():
            chosen = self.frame.select(map(self._narrow, columns))
            if hasattr(chosen, "collect_batches"):
                pieces = chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
            elif hasattr(chosen, "collect"):
                pieces = iter([chosen.collect(engine="streaming")])
            else:
                pieces = iter([chosen])
            for piece in pieces:
                yield from pa.RecordBatchReader.from_stream(piece)


@contextmanager
def _query_errors() -> Iterator[None]:
    """Turn errors of polars, which quote values, into one that names its kind."""
    import polars

    try:
        yield
    except polars.exceptions.PolarsError as error:
        raise FormatError(
            f"the query of polars failed ({type(error).__name__}). Correct the query, or "
            "collect it to see which expression fails"
        ) from None


@dataclass(frozen=True)
class _Scanned:
    """A data set of pyarrow, or a fragment of one: read by its own scanner.

    schema: Of the data set, with what the fragment itself says besides its columns.
    stored: Whether it is Parquet, whose pages are checked.
    """

    schema: Any
    scanned: Any
    stored: bool

    @property
    def group_rows(self) -> list[int] | None:
        """Rows of each row group that the fragment has. None where it has no such groups."""
        groups = getattr(self.scanned, "row_groups", None)
        return None if groups is None else [group.num_rows for group in groups]

    def groups(self, columns: list[str], places: list[int] | None, rows: int) -> Iterator[Any]:
        """Yield the batches of some of its row groups."""
        part = self.scanned
        chosen = list(part.row_groups)
        if places is not None:
            chosen = [chosen[place] for place in places]
            part = part.subset(row_group_ids=[one.id for one in chosen], schema=self.schema)
        number = sum(one.num_rows for one in chosen)
        read = self._scan(part, columns, rows)
        yield from all_rows(read, number) if columns else read

    def batches(self, columns: list[str]) -> Iterator[Any]:
        yield from self._scan(self.scanned, columns, BATCH_ROWS)

    def _scan(self, part: Any, columns: list[str], rows: int) -> Iterator[Any]:
        from pyarrow import dataset as arrow_dataset

        more: dict[str, Any] = {}
        if not isinstance(part, arrow_dataset.Dataset):
            more["schema"] = self.schema
        if self.stored:
            more["fragment_scan_options"] = arrow_dataset.ParquetFragmentScanOptions(
                page_checksum_verification=True,
                pre_buffer=False,
                use_buffered_stream=True,
                buffer_size=2**20,
            )
        for batch in part.scanner(
            columns=columns,
            batch_size=rows,
            batch_readahead=2,
            fragment_readahead=1,
            use_threads=False,
            **more,
        ).to_batches():
            if not self.stored:
                batch.validate(full=True)  # a damaged offset would read somebody else's memory
            yield batch


def _fragments(dataset: Any, decimal: Decimal | None) -> list[Table]:
    """Return a table for each file of a data set of pyarrow, under the schema of all.

    A file is read through its fragment, which knows its file system and the row groups that it
    has: a file of this machine with the same name may be another.
    """
    from pyarrow import dataset as arrow_dataset
    from pyarrow.fs import LocalFileSystem

    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # filtered or projected: only the whole knows how
        return [_in_memory(_Scanned(dataset.schema, dataset, _is_parquet(dataset)), decimal)]
    tables = []
    for fragment in fragments:
        path = Path(getattr(fragment, "path", "the data set"))
        stored = isinstance(fragment, arrow_dataset.ParquetFileFragment)
        with reading(path):
            said = fragment.physical_schema.metadata
            if stored:
                check_footer(fragment.metadata)
            whole = not stored or len(fragment.row_groups) == fragment.metadata.num_row_groups
        local = isinstance(getattr(fragment, "filesystem", None), LocalFileSystem)
        held = _Scanned(dataset.schema.with_metadata(said), fragment, stored)
        tables.append(held_table(held, path, decimal=decimal, is_file=local and whole))
    return tables


def _is_parquet(dataset: Any) -> bool:
    """Return whether all files of a data set are Parquet, as far as it says."""
    from pyarrow import dataset as arrow_dataset

    children = getattr(dataset, "children", None)
    if children is not None:
        return all(map(_is_parquet, children))
    return isinstance(getattr(dataset, "format", None), arrow_dataset.ParquetFileFormat)
