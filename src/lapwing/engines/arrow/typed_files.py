"""Parquet and Arrow files that are open: their footers, batches and small ones in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lapwing.engines.arrow.inputs import pyarrow_or_error


@dataclass(frozen=True)
class ArrowFile:
    """The rows of an Arrow file, read batch by batch as they were written.

    stream: Whether it is a stream, without an index at its end.
    """

    path: Path
    schema: Any
    stream: bool

    @classmethod
    def opened(cls, path: Path) -> ArrowFile:
        """Return the file, of which only the schema was read. Errors are Arrow's."""
        import pyarrow as pa

        with pa.OSFile(str(path)) as source:
            stream = source.read(6) != b"ARROW1"
            source.seek(0)
            opened = pa.ipc.open_stream(source) if stream else pa.ipc.open_file(source)
            return cls(path, opened.schema, stream)

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """Yield some columns as pyarrow.RecordBatch objects. Errors are Arrow's."""
        import pyarrow as pa

        places = sorted(self.schema.get_field_index(name) for name in columns)
        options = pa.ipc.IpcReadOptions(included_fields=places, use_threads=False)
        # Not mapped into memory: what was read is given back, so that memory is that of a batch.
        with pa.OSFile(str(self.path)) as source:
            if self.stream:
                batches = iter(pa.ipc.open_stream(source, options=options))
            else:
                file = pa.ipc.open_file(source, options=options)
                batches = map(file.get_batch, range(file.num_record_batches))
            for batch in batches:
                batch.validate(full=True)  # a damaged offset would read somebody else's memory
                yield batch


_OF_SPARK = "org.apache.spark.sql.parquet.row.metadata"


def texts_of_metadata(schema: Any) -> dict[str, str]:
    """Return what a schema says besides its columns, as strings."""
    return words_in_footer(
        {
            key.decode(errors="replace"): value.decode(errors="replace")
            for key, value in (schema.metadata or {}).items()
        }
    )


def words_in_footer(said: dict[str, str]) -> dict[str, str]:
    """Return what the footer of a Parquet file says, and what Spark says there of a column.

    Spark stores what is known of a column as JSON under a key of its own.
    """
    try:
        fields = json.loads(said.get(_OF_SPARK, "{}")).get("fields", [])
        of_columns = [field["metadata"] for field in fields]
        for words in of_columns:
            texts = {key: word for key, word in words.items() if isinstance(word, str)}
            said = {**texts, **said}
    except (AttributeError, KeyError, TypeError, ValueError):
        pass  # somebody else's words: nothing is known
    return said


def parquet_file(path: Path, content: bytes | None = None, *, metadata: Any = None) -> Any:
    """Return an open pyarrow.parquet.ParquetFile, whose pages are checked. Errors are Arrow's.

    content: Bytes of the file, where they were read.
    metadata: Of the file, where it was open before.
    """
    from pyarrow import parquet

    # Without pre-buffering, a column of a row group is read in pieces and not as a whole.
    file = parquet.ParquetFile(
        str(path) if content is None else pyarrow_or_error().BufferReader(content),
        metadata=metadata,
        pre_buffer=False,
        buffer_size=2**20,
        page_checksum_verification=True,
        coerce_int96_timestamp_unit="us",  # else far dates overflow
    )
    check_footer(file.metadata)
    return file


def check_footer(about: Any) -> None:
    """Raise pyarrow.ArrowInvalid when a footer, which has no checksum, contradicts itself."""
    # Nothing is asked of a column: some damage of that ends the process in Arrow.
    rows = [about.row_group(place).num_rows for place in range(about.num_row_groups)]
    if about.num_rows != sum(rows) or min(rows, default=0) < 0:
        raise pyarrow_or_error().ArrowInvalid("the numbers of rows in the footer disagree")


class SmallFiles:
    """Small files that are read whole when they are first opened, as long as there is room.

    room: Bytes that all of them may take.
    """

    def __init__(self, room: int = 2**26) -> None:
        self.room = room

    def content(self, stream: IO[bytes]) -> bytes | None:
        """Return what an open file holds. None where it is not small, or there is no room."""
        size = os.fstat(stream.fileno()).st_size
        if size > _SMALL or size + _OF_A_FILE > self.room:
            return None
        self.room -= size + _OF_A_FILE
        return stream.read()


_SMALL = 2**18
"""Bytes of the largest small file."""

_OF_A_FILE = 2**13
"""Bytes that an open file takes alongside its content."""


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file that was opened: what its footer says, and of a small one all it holds.

    content: Whose content is in memory. Without it the file is opened again when it is read.
    """

    path: Path
    metadata: Any
    schema: Any
    content: Any = None

    @classmethod
    def of(cls, path: Path, content: bytes | None) -> ParquetSource:
        """Return a file by its content, or by its name. Errors are Arrow's."""
        file = parquet_file(path, content)
        return cls(path, file.metadata, file.schema_arrow, None if content is None else file)

    def file(self) -> Any:
        """Return the open file."""
        return self.content or parquet_file(self.path, metadata=self.metadata)


def all_rows(batches: Iterator[Any], number: int) -> Iterator[Any]:
    """Yield batches. pyarrow.ArrowInvalid when they have another number of rows than they should.

    The header of a page has no checksum, and says how many values the page holds.
    """
    for batch in batches:
        number -= batch.num_rows
        yield batch
    if number:
        raise pyarrow_or_error().ArrowInvalid("the pages contain a different number of rows")
