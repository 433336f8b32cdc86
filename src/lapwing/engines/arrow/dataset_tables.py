"""What a job is given, as tables that are opened one by one: files, folders, frames, streams.

Nothing is read but names and types. A folder stands for all tables in it, those of its folders
too; ``country=PT`` as the name of one is a column of all its files, as in partitioned data sets.
Files and folders whose names start with a dot or an underscore are none, as everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lapwing.engines.arrow.inputs import pyarrow_or_error
from lapwing.engines.arrow.table_reader import BATCH_ROWS, TABLES, Table, held_table, open_table
from lapwing.errors import ArgumentError, kind_of
from lapwing.protocol.domains.text_values import Decimal

COMPACT = ".lwr"
"""How the names of compact report files end."""

WHAT = (
    "a file, a folder, a list of files, or a table: of pyarrow (Table, RecordBatchReader, "
    "Dataset), polars or pandas"
)


def files_of(dataset: Any, *, endings: Sequence[str] = TABLES) -> list[tuple[Path, dict[str, str]]]:
    """Return the files that paths stand for, with what the folders say of each.

    Parameters
    ----------
    dataset : Path, str, or a list of them
    endings : sequence of str
        Of the files of a folder; others in it are refused, not passed over.

    Raises
    ------
    ArgumentError
        When a folder holds no such file, or one of another kind; or nothing was given.
    """
    if isinstance(dataset, str | os.PathLike):
        dataset = [dataset]
    found: list[tuple[Path, dict[str, str]]] = []
    for given in dataset:
        if not isinstance(given, str | os.PathLike):
            raise ArgumentError(f"a list must hold names of files, got {kind_of(given)}")
        path = Path(given)
        found += _files_in(path, path, tuple(endings)) if path.is_dir() else [(path, {})]
    if not found:
        raise ArgumentError("there must be at least one file to read, got none")
    return found


def every_file(paths: Sequence[Path]) -> list[Path]:
    """Return files as they are, and for a folder those in it; it must hold tables or reports."""
    return [path for path, _ in files_of(list(paths), endings=(*TABLES, COMPACT))]


def _files_in(
    folder: Path, root: Path, endings: tuple[str, ...]
) -> Iterator[tuple[Path, dict[str, str]]]:
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
    ]
    if not files:
        raise ArgumentError(f"the folder {folder.name} must hold tables, it holds none")
    for path in files:
        if not path.name.lower().endswith(endings):
            raise ArgumentError(
                f"the folder {folder.name} must hold nothing but files that end in "
                f"{', '.join(endings)}; {path.name} does not"
            )
        pairs = [part.partition("=") for part in path.relative_to(root).parts[:-1]]
        yield path, {key: unquote(value) for key, sign, value in pairs if sign}


def tables_of(dataset: Any, *, header: bool = True, decimal: Decimal | None = None) -> list[Table]:
    """Return the tables that a data set stands for.

    Parameters
    ----------
    dataset : Path, str, list of them, or a table in memory
        What has rows in Arrow's memory format is read as it is: a ``pyarrow`` Table, RecordBatch,
        RecordBatchReader or Dataset, a data frame of polars (also lazy) or pandas.
    header, decimal
        Of CSV, as of :func:`lapwing.engines.arrow.table_reader.open_table`.

    Raises
    ------
    ArgumentError
        When it is none of these.
    FormatError, OSError
        When a file cannot be read.
    """
    if isinstance(dataset, str | os.PathLike | list | tuple):
        opened = [
            (open_table(path, header=header, decimal=decimal), keys)
            for path, keys in files_of(dataset)
        ]
        return [with_constants(table, keys) for table, keys in opened]
    arrow = pyarrow_or_error()
    from pyarrow import dataset as arrow_dataset

    if isinstance(dataset, arrow_dataset.Dataset):
        return _fragments(dataset, decimal)
    if isinstance(dataset, arrow.Table | arrow.RecordBatch):
        return [_in_memory(_Batches(dataset.schema, dataset), decimal)]
    if type(dataset).__module__.partition(".")[0] == "polars" and hasattr(dataset, "collect"):
        return [_in_memory(_LazyFrame.of(dataset), decimal)]
    if hasattr(dataset, "__arrow_c_stream__"):
        # A frame holds its rows and can be asked again; a reader gives them once.
        if isinstance(dataset, arrow.RecordBatchReader):
            return [_in_memory(_Stream(dataset.schema, dataset), decimal)]
        schema = arrow.RecordBatchReader.from_stream(dataset).schema
        return [_in_memory(_Frame(schema, dataset), decimal)]
    raise ArgumentError(f"the input must be {WHAT}; got {kind_of(dataset)}")


def with_constants(table: Table, keys: dict[str, str]) -> Table:
    """Return a table with the columns that the names of its folders say."""
    keys = {key: value for key, value in keys.items() if key not in table.names}
    return replace(table, names=(*table.names, *keys), constant=keys) if keys else table


def _in_memory(held: Any, decimal: Decimal | None, name: str = "the table") -> Table:
    return held_table(held, Path(name), decimal=decimal, is_file=False)


@dataclass(frozen=True)
class _Batches:
    """A pyarrow.Table or RecordBatch."""

    schema: Any
    table: Any

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def batches(self, columns: list[str]) -> Iterator[Any]:
        chosen = self.table.select(columns)
        yield from chosen.to_batches() if hasattr(chosen, "to_batches") else [chosen]


@dataclass(frozen=True)
class _Stream:
    """A pyarrow.RecordBatchReader."""

    schema: Any
    reader: Any

    def batches(self, columns: list[str]) -> Iterator[Any]:
        for batch in self.reader:
            yield batch.select(columns)


@dataclass(frozen=True)
class _Frame:
    """What exports its columns to Arrow, without a copy where it holds them so."""

    schema: Any
    frame: Any

    @property
    def rows(self) -> int | None:
        return len(self.frame) if hasattr(self.frame, "__len__") else None

    def batches(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        yield from pa.RecordBatchReader.from_stream(self.frame[columns])


@dataclass(frozen=True)
class _LazyFrame:
    """A query of polars; of its columns only those asked for are worked out, in pieces."""

    schema: Any
    query: Any

    @classmethod
    def of(cls, query: Any) -> _LazyFrame:
        import pyarrow as pa

        empty = query.head(0).collect()
        return cls(pa.RecordBatchReader.from_stream(empty).schema, query)

    def batches(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        chosen = self.query.select(columns)
        if hasattr(chosen, "collect_batches"):
            pieces = chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
        else:
            pieces = iter([chosen.collect(engine="streaming")])
        for piece in pieces:
            yield from pa.RecordBatchReader.from_stream(piece)


@dataclass(frozen=True)
class _Scanned:
    """A data set of pyarrow, or a fragment of one: read by its own scanner."""

    schema: Any
    scanned: Any
    fragment: bool

    def batches(self, columns: list[str]) -> Iterator[Any]:
        whole = {"schema": self.schema} if self.fragment else {}
        yield from self.scanned.scanner(
            columns=columns,
            batch_size=BATCH_ROWS,
            batch_readahead=2,
            fragment_readahead=1,
            use_threads=False,
            **whole,
        ).to_batches()


def _fragments(dataset: Any, decimal: Decimal | None) -> list[Table]:
    """Return a table for each file of a data set of pyarrow, under the schema of all."""
    from pyarrow import dataset as arrow_dataset

    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # filtered or projected: only the whole knows how
        return [_in_memory(_Scanned(dataset.schema, dataset, False), decimal)]
    tables = []
    for fragment in fragments:
        path = Path(getattr(fragment, "path", "the data set"))
        stored = isinstance(fragment, arrow_dataset.ParquetFileFragment) and path.is_file()
        if stored and fragment.physical_schema.equals(dataset.schema):
            tables.append(open_table(path, decimal=decimal))
        else:
            held = _Scanned(dataset.schema, fragment, True)
            tables.append(held_table(held, path, decimal=decimal, is_file=path.is_file()))
    return tables
