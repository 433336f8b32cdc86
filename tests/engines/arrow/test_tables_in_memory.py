"""Data sets and frames of others: their own rows, once, whatever else is in them.

Each test fails on an error that was planted: a fragment that is opened by its path, row groups that
are not the fragment's, pages that are not checked, columns that nobody asked for, types of views.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import fs, parquet

import lapwing as lw
from lapwing.engines.arrow import count, randomize, summarize, tables_of, tally
from lapwing.errors import FormatError, LapwingError, MismatchError
from lapwing.protocol.domains.segmented import Segmented

DOMAIN = lw.Integers(0, 9)
SURVEY = lw.Survey("digit", lw.RandomizedResponse(lw.Categories(10), epsilon=2))
COLORS = lw.Categories(["red", "blue"])


def counts(data: Any, **more: Any) -> list[int]:
    """Return how many rows hold 0, 1, ..., 9, and none."""
    return [int(one) for one in summarize(data, DOMAIN, column="v", **more).counts]


def wanted(values: Any) -> list[int]:
    present = np.asarray([value for value in values if value is not None])
    return [*np.bincount(present, minlength=10).tolist(), len(values) - present.size]


def reports(data: Any, **more: Any) -> int:
    """Return the number of reports of a data set, checked by their sum."""
    counted = tally(data, SURVEY, column="v", **more)
    return counted.total


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a table; where the job runs, another lies under the same name."""
    (tmp_path / "far" / "in").mkdir(parents=True)
    (tmp_path / "here" / "in").mkdir(parents=True)
    far = pa.table({"v": pa.array(np.arange(1000) % 10, pa.uint8())})
    parquet.write_table(far, tmp_path / "far" / "in" / "a.parquet", row_group_size=100)
    near = pa.table({"v": pa.array([7] * 7, pa.uint8())})
    parquet.write_table(near, tmp_path / "here" / "in" / "a.parquet")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "far"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_system_of_its_own(two: Path, tmp_path: Path, threads: int) -> None:
    far = fs.SubTreeFileSystem(str(two), fs.LocalFileSystem())
    held, _ = fs.FileSystem.from_uri("mock:///")
    held.create_dir("in")
    with held.open_output_stream("in/a.parquet") as stream:
        stream.write((two / "in" / "a.parquet").read_bytes())
    one = tmp_path / "one"
    for system in (far, held):
        for dataset in (
            ds.dataset("in", filesystem=system),
            ds.dataset("in/a.parquet", filesystem=system),
            ds.dataset([ds.dataset("in/a.parquet", filesystem=system)]),
        ):
            assert counts(dataset, threads=threads) == wanted(np.arange(1000) % 10)
            assert reports(dataset, threads=threads, progress=one) == 1000
            # What is kept of a job knows nothing of a file elsewhere, so all of it counts again.
            assert reports(dataset, threads=threads, progress=one) == 1000
            one.unlink()
            out = tmp_path / "out.lwr"
            assert randomize(dataset, SURVEY, column="v", output=out, threads=threads) == 1000
            out.unlink()
    assert reports(ds.dataset("in"), progress=one) == 7


@pytest.mark.parametrize("threads", [1, 2])
def test_row_groups_and_filters(two: Path, tmp_path: Path, threads: int) -> None:
    path = two / "in" / "a.parquet"
    table = parquet.read_table(path)
    values = np.concatenate([np.full(100, place, np.uint8) for place in range(10)])
    parquet.write_table(pa.table({"v": values}), path, row_group_size=100)
    whole = ds.dataset(path)
    (fragment,) = whole.get_fragments()
    for places in ([0], [3, 8], [9, 1, 2], list(range(10))):
        part = fragment.subset(row_group_ids=places)
        dataset = ds.FileSystemDataset([part], whole.schema, whole.format, whole.filesystem)
        rows = np.concatenate([values[100 * place :][:100] for place in places])
        assert counts(dataset, threads=threads) == wanted(rows)
        kept = tmp_path / "progress"
        assert reports(dataset, threads=threads, progress=kept) == 100 * len(places)
        assert reports(dataset, threads=threads, progress=kept) == 100 * len(places)
        kept.unlink()
    near = fragment.subset(ds.field("v") > 7)
    dataset = ds.FileSystemDataset([near], whole.schema, whole.format, whole.filesystem)
    assert counts(dataset, threads=threads) == wanted(values[800:])
    assert counts(whole.filter(ds.field("v") > 7), threads=threads) == wanted(values[800:])
    both = ds.dataset([whole, ds.dataset(table)])
    assert counts(both, threads=threads) == wanted([*values, *np.arange(1000) % 10])
    assert counts(both.filter(ds.field("v") == 3)) == wanted([3] * 200)


def test_other_schemas_and_partitions(tmp_path: Path) -> None:
    for place, kind in enumerate((pa.int8(), pa.int64())):
        folder = tmp_path / "in" / f"year={2026 + place}"
        folder.mkdir(parents=True)
        table = pa.table({"w": ["x"] * 3, "v": pa.array([place + 1] * 3, kind)})
        parquet.write_table(table.select(["v"] if place else ["w", "v"]), folder / "a.parquet")
    dataset = ds.dataset(tmp_path / "in", partitioning="hive")
    assert counts(dataset) == wanted([1, 1, 1, 2, 2, 2])
    years = Segmented(DOMAIN, ["2026", "2027"])
    by_year = summarize(dataset, years, column="v", by="year").counts.reshape(-1, DOMAIN.size + 1)
    assert by_year[0][1] == 3 and by_year[1][2] == 3 and by_year.sum() == 6
    union = ds.dataset([ds.dataset(pa.table({"v": [5]})), ds.dataset(pa.table({"v": [6]}))])
    assert counts(union) == wanted([5, 6])
    assert counts(ds.dataset(pa.table({"v": [5, None]}))) == wanted([5, None])
    batches = ds.dataset(pa.table({"v": [5, 6]}).to_batches())
    assert counts(batches) == wanted([5, 6])
    lines = tmp_path / "lines"
    lines.mkdir()
    (lines / "a.csv").write_text("v,w\n1,x\n2,y\n")
    assert counts(ds.dataset(lines, format="csv")) == wanted([1, 2])
    with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema({"v": pa.int64()})) as file:
        file.write_table(pa.table({"v": [1, 2]}))
    assert counts(ds.dataset(tmp_path / "a.arrow", format="ipc")) == wanted([1, 2])


def test_each_file_of_a_data_set_says_whose_reports_it_holds(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    other = lw.Survey("other", SURVEY.randomizer)
    for name, survey in (("a", SURVEY), ("b", other)):
        values = pa.table({"v": np.arange(10)})
        randomize(values, survey, column="v", output=tmp_path / "in" / f"{name}.parquet")
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    for dataset in (ds.dataset(tmp_path / "in"), ds.dataset("in", filesystem=system)):
        with pytest.raises(MismatchError, match=r"b\.parquet"):
            tally(dataset, SURVEY)
        only = ds.FileSystemDataset(
            list(dataset.get_fragments())[:1], dataset.schema, dataset.format, dataset.filesystem
        )
        assert tally(only, SURVEY).total == 10


def test_pages_of_a_data_set_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"v": pa.array(np.random.default_rng(1).integers(0, 10, 5000), pa.uint8())})
    parquet.write_table(
        table, path, use_dictionary=False, write_page_checksum=True, compression="none"
    )
    content = bytearray(path.read_bytes())
    content[2500] ^= 1
    path.write_bytes(content)
    for dataset in (ds.dataset(path), ds.dataset(path).filter(ds.field("v") < 99)):
        with pytest.raises(FormatError, match=r"cannot be read"):
            tally(dataset, SURVEY, column="v")


class Streamed:
    """What has Arrow's C stream, and nothing else: as a relation of DuckDB."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


FRAME = pl.DataFrame(
    {"c": ["red", "blue", "red", None], "g": ["x", "y", "x", "x"], "v": [1, 2, 3, 4]}
)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["blue", "red", "x", "y"])], ids=str)
def test_categories_of_polars(kind: Any, tmp_path: Path) -> None:
    frame = FRAME.with_columns(pl.col("c").cast(kind), pl.col("g").cast(kind))
    segmented = Segmented(COLORS, ["x", "y"])
    survey = lw.Survey("color", lw.RandomizedResponse(COLORS, epsilon=2))
    plain = summarize(FRAME, segmented, column="c", by="g").counts.tolist()
    some = frame.head(3)
    for number, data in enumerate([frame, frame.lazy(), Streamed(frame), frame.to_pandas()]):
        assert summarize(data, COLORS, column="c").counts.tolist() == [2, 1, 1]
        assert summarize(data, segmented, column="c", by="g").counts.tolist() == plain
        less = [some, some.lazy(), Streamed(some), some.to_pandas()][number]
        out = tmp_path / f"{number}.parquet"
        assert randomize(less, survey, column="c", by="g", output=out) == 3
        groups = tally(out, survey, by="g").groups
        assert {name: one.total for name, one in groups.items()} == {"x": 2, "y": 1}
    named = pl.DataFrame({"report": [b"\0", b"\1", b"\1"], "g": some["g"]})
    for data in (named, named.lazy(), Streamed(named)):
        groups = tally(data, SURVEY, by="g", skip_bad=True).groups
        assert {name: one.total for name, one in groups.items()} == {"x": 2, "y": 1}
    (batch,) = pa.RecordBatchReader.from_stream(named)
    groups = count(batch, SURVEY, by="g").groups
    assert {name: one.total for name, one in groups.items()} == {"x": 2, "y": 1}


def test_names_that_nobody_asked_for_may_be_equal(tmp_path: Path) -> None:
    table = pa.table([[1, 2], [3, 4], [5, 6]], names=["v", "w", "w"])
    parquet.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
        file.write_table(table)
    (tmp_path / "a.csv").write_text("v,w,w\n1,3,5\n2,4,6\n")
    frame = pd.DataFrame([[1, 3, 5], [2, 4, 6]], columns=["v", "w", "w"])
    given = [table, table.to_batches()[0], table.to_reader(), Streamed(table), frame]
    for data in [*given, *(tmp_path / f"a.{kind}" for kind in ("parquet", "arrow", "csv"))]:
        assert counts(data) == wanted([1, 2])
    for data in (table, frame, tmp_path / "a.parquet", tmp_path / "a.csv"):
        with pytest.raises(FormatError, match="two columns named 'w'"):
            summarize(data, DOMAIN, column="w")
    numbered = pd.DataFrame({0: [1, 2], 1: ["x", "y"]})
    assert summarize(numbered, DOMAIN, column="0").counts.tolist() == wanted([1, 2])


def test_a_stream_is_read_once() -> None:
    table = pa.table({"v": pa.array([1, 2, 3], pa.uint8())})
    for reader in (table.to_reader(), Streamed(table)):
        (held,) = tables_of(reader)
        assert held.names == ("v",) and held.file is None
    assert reports(Streamed(table)) == 3


def test_a_column_of_several_kinds(tmp_path: Path) -> None:
    mixed = [1, None, float("nan"), "SECRET-VALUE"]
    frame = pd.DataFrame({"v": [1, 2, 3, 4], "m": pd.Series(mixed, dtype=object)})
    assert counts(frame) == wanted([1, 2, 3, 4])
    with pytest.raises(FormatError, match=r"'m' .* the one in row 4 is of a different kind"):
        summarize(frame, DOMAIN, column="m")
    frame["m"] = [2**80, 1, 2, 3]
    with pytest.raises(LapwingError, match=r"'m' .* kind that Arrow supports"):
        summarize(frame, DOMAIN, column="m")
    query = pl.LazyFrame({"v": ["1", "SECRET-VALUE"]}).with_columns(pl.col("v").cast(pl.Int64))
    with pytest.raises(FormatError, match=r"the query of polars failed \(InvalidOperationError\)"):
        summarize(query, DOMAIN, column="v")
    assert not os.listdir(tmp_path)
