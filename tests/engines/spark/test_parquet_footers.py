"""The last bytes of a file of Parquet say whose reports it holds, however long its footer is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing.engines.spark import spark_rows
from lapwing.engines.spark.spark_rows import ParquetFooter, footers
from lapwing.errors import FormatError


def test_of_files_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"report": pa.array([b"\1"] * 50)})
    # In the wide one the words are beyond the last bytes that are read at first.
    for name, columns in (("a b%.parquet", 1), ("wide.parquet", 300)):
        wide = pa.table({f"column {n}": table["report"] for n in range(columns)})
        said = wide.replace_schema_metadata({"whose": name, "long": "x" * columns * 100})
        parquet.write_table(said, tmp_path / name)
    paths = [tmp_path / "a b%.parquet", tmp_path / "wide.parquet"]
    assert paths[1].stat().st_size > 2 * spark_rows._TAIL
    named = [path.as_uri() for path in paths]
    assert [found.words["whose"] for found in footers(None, named)] == [path.name for path in paths]
    assert [found.words["whose"] for found in footers(None, named[::-1])] == [
        "wide.parquet",
        paths[0].name,
    ]
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "cut.parquet").write_bytes(paths[1].read_bytes()[:-9])
    (tmp_path / "long.parquet").write_bytes(b"PAR1\xff\xff\xff\x7fPAR1")
    (tmp_path / "closed.parquet").write_bytes(b"PARE...PARE")
    for name in ("empty", "cut", "long"):
        with pytest.raises(FormatError, match=f"^{name}.parquet cannot be read as Parquet"):
            footers(None, [str(tmp_path / f"{name}.parquet")])
    assert footers(None, [str(tmp_path / "closed.parquet")]) == [ParquetFooter({}, None)]
    with pytest.raises(FileNotFoundError, match=r"'none\.parquet'"):
        footers(None, [f"file:{tmp_path}/none.parquet"])
