"""Files of Arrow's own format, of both kinds: those that can be read anywhere, and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ArrowFile:
    """The rows of an Arrow file, read batch by batch as they were written.

    Parameters
    ----------
    path : Path
    schema : pyarrow.Schema
    stream : bool
        Whether it is a stream, without an index at its end.
    """

    path: Path
    schema: Any
    stream: bool

    @classmethod
    def opened(cls, path: Path) -> ArrowFile:
        """Return the file, of which only the schema was read; errors are Arrow's."""
        import pyarrow as pa

        with pa.OSFile(str(path)) as source:
            stream = source.read(6) != b"ARROW1"
            source.seek(0)
            opened = pa.ipc.open_stream(source) if stream else pa.ipc.open_file(source)
            return cls(path, opened.schema, stream)

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """Yield some columns as pyarrow.RecordBatch objects; errors are Arrow's."""
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
    """Return what a schema says beside its columns, as texts."""
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
