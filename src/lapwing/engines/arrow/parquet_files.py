"""Files of Parquet, opened so that a column is read in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def parquet_file(path: Path) -> Any:
    """Return an open pyarrow.parquet.ParquetFile, whose pages are checked; errors are Arrow's."""
    from pyarrow import parquet

    # Without pre-buffering, a column of a row group is read in pieces and not as a whole.
    return parquet.ParquetFile(
        str(path),
        pre_buffer=False,
        buffer_size=2**20,
        page_checksum_verification=True,
        coerce_int96_timestamp_unit="us",  # else far dates overflow
    )
