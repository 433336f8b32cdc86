"""No value of anybody stands in an error, its causes, a log, or what Spark writes of its jobs.

A value is planted in every kind of source and in every column, and every verb runs. Each assertion
fails on an error that was planted: a message of Arrow, pandas or polars that is passed on, an error
that keeps its context, a reader of Spark that says what it could not parse.
"""

from __future__ import annotations

import itertools
import logging
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.engines import arrow
from lapwing.errors import LapwingError
from lapwing.protocol.domains.segmented import Segmented
from tests.engines.spark import local_spark

SECRET = "SECRET-VALUE"
DOMAIN = lw.Interval(0, 100, bins=10)
SURVEY = lw.Survey("age", lw.SquareWave(DOMAIN, epsilon=1))
NUMBERED = pa.schema({"v": pa.int64(), "g": pa.string(), "unrelated": pa.int64()})
COLUMNS = ("v", "g", "unrelated")


def planted(column: str) -> dict[str, list[Any]]:
    """Return three columns of three rows, one of which holds the value."""
    cells: dict[str, list[Any]] = {"v": [1, 2, 3], "g": ["x", "y", "x"], "unrelated": [7, 8, 9]}
    cells[column] = [cells[column][0], SECRET, cells[column][2]]
    return cells


def texts_of(cells: dict[str, list[Any]]) -> dict[str, list[str]]:
    return {name: [str(cell) for cell in column] for name, column in cells.items()}


def csv_of(cells: dict[str, list[Any]], *, more: str = "") -> str:
    rows = zip(*cells.values(), strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    return "\n".join([",".join(cells), *lines, *([more] if more else []), ""])


class Broken:
    """What gives a first batch, and then says in its error what it could not convert.

    Without a batch it fails at once, as a relation of DuckDB does.
    """

    def __init__(
        self, table: pa.Table, kind: type[Exception] = pa.ArrowInvalid, *, first: bool = True
    ) -> None:
        self._table, self._kind, self._first = table, kind, first

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if not self._first:
            raise self._kind(f"Could not convert '{SECRET}'")

        def batches() -> Iterator[pa.RecordBatch]:
            yield from self._table.slice(0, 1).to_batches()
            raise self._kind(f"Could not convert '{SECRET}'")

        reader = pa.RecordBatchReader.from_batches(self._table.schema, batches())
        return reader.__arrow_c_stream__(requested_schema)


def sources(cells: dict[str, list[Any]], folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each kind of source that can hold these cells."""
    texts = pa.table(texts_of(cells))
    mixed = pd.DataFrame({name: pd.Series(one, dtype=object) for name, one in cells.items()})
    yield "pandas, mixed", lambda: mixed
    yield "pandas", lambda: pd.DataFrame(texts_of(cells))
    yield "table", lambda: texts
    yield "batch", lambda: texts.to_batches()[0]
    yield "reader", texts.to_reader
    for kind in (pa.ArrowInvalid, RuntimeError):
        broken = Broken(texts, kind), Broken(texts, kind, first=False)
        yield f"broken stream, {kind.__name__}", lambda broken=broken: broken[0]
        yield f"no stream, {kind.__name__}", lambda broken=broken: broken[1]
    frame = pl.DataFrame(texts_of(cells))
    numbers = [pl.col(name).cast(pl.Int64) for name in ("v", "unrelated")]
    yield "polars", lambda: frame
    yield "polars, categories", lambda: frame.cast(pl.Categorical)
    yield "polars, objects", lambda: pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.Object))
    yield "polars, lazy", lambda: frame.lazy().with_columns(numbers)
    yield "polars, lazy filter", lambda: frame.lazy().filter(numbers[0] > 0)
    path = folder / "lazy.csv"
    path.write_text(csv_of(cells))
    kinds = {"v": pl.Int64, "g": pl.String, "unrelated": pl.Int64}
    yield "polars, scanned", lambda: pl.scan_csv(path, schema=kinds)
    for name, more in (("a.csv", ""), ("long.csv", f"4,x,5,{SECRET}"), ("short.csv", SECRET)):
        (folder / name).write_text(csv_of(cells, more=more))
        yield name, lambda path=folder / name: path
        yield (
            f"data set {name}",
            lambda path=folder / name: ds.dataset(path, format="csv", schema=NUMBERED),
        )
    (folder / "bytes.csv").write_bytes(csv_of(cells).encode() + SECRET.encode() + b"\xff,x,1\n")
    yield "bytes.csv", lambda: folder / "bytes.csv"
    parquet.write_table(texts, folder / "a.parquet")
    yield "parquet", lambda: folder / "a.parquet"
    yield "data set", lambda: ds.dataset(folder / "a.parquet")
    yield "data set of numbers", lambda: ds.dataset(folder / "a.parquet", schema=NUMBERED)
    with pa.ipc.new_file(folder / "a.arrow", texts.schema) as file:
        file.write_table(texts)
    yield "arrow", lambda: folder / "a.arrow"
    content = bytearray((folder / "a.parquet").read_bytes())
    content[30] ^= 255
    (folder / "damaged.parquet").write_bytes(content)
    yield "damaged", lambda: folder / "damaged.parquet"
    (folder / f"g={SECRET}").mkdir()
    parquet.write_table(texts.select(["v"]), folder / f"g={SECRET}" / "a.parquet")


def verbs(folder: Path) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield what can be asked of a source, on Arrow."""
    numbers = itertools.count()
    for column in COLUMNS:
        by = "g" if column != "g" else "v"
        yield f"summarize {column}", lambda data, c=column: arrow.summarize(data, DOMAIN, column=c)
        yield (
            f"by {column}",
            lambda data, c=column, b=by: arrow.summarize(
                data, Segmented(DOMAIN, ["x"]), column=b, by=c
            ),
        )
        yield (
            f"randomize {column}",
            lambda data, c=column: arrow.randomize(
                data, SURVEY, column=c, output=folder / f"out-{next(numbers)}"
            ),
        )
        yield (
            f"randomize by {column}",
            lambda data, c=column, b=by: arrow.randomize(
                data, SURVEY, column=b, by=c, output=folder / f"out-{next(numbers)}.parquet"
            ),
        )
        yield (
            f"tally {column}",
            lambda data, c=column, b=by: arrow.tally(data, SURVEY, column=c, by=b),
        )


def said_of(error: BaseException) -> str:
    """Return all that an error says, with what it came from, hidden or not."""
    found, waiting = [], [error]
    while waiting:
        one = waiting.pop()
        found += [str(one), repr(one), "".join(traceback.format_exception(one))]
        waiting += [cause for cause in (one.__cause__, one.__context__) if cause is not None]
    return "\n".join(found)


def test_on_arrow(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    refused, done = 0, 0
    for position in COLUMNS:
        folder = tmp_path / position
        folder.mkdir()
        for kind, source in sources(planted(position), folder):
            for verb, run in verbs(folder):
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    try:
                        run(source())
                        done += 1
                    except LapwingError as error:
                        refused += 1
                        said = said_of(error)
                        assert SECRET not in said, (position, kind, verb)
                        assert error.__cause__ is None and error.__context__ is None
                assert not [one for one in told if SECRET in str(one.message)], (kind, verb)
    assert SECRET not in caplog.text
    assert refused > 500 and done > 200


OF_SPARK = """
import sys, traceback
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import pyarrow as pa
from pyarrow import parquet
import lapwing as lw
from lapwing.engines import spark as engine
from lapwing.errors import LapwingError
from tests.engines.spark.local_spark import start
from tests.engines.test_secret_values import COLUMNS, DOMAIN, SURVEY, csv_of, planted, said_of
from tests.engines.test_secret_values import texts_of

folder = Path(sys.argv[1])
(folder / "events").mkdir()
session = start("local[1]", **{
    "spark.eventLog.enabled": "true", "spark.eventLog.compress": "false",
    "spark.eventLog.dir": str(folder / "events"), "spark.log.level": "INFO",
})
refused = done = 0

def run(work):
    global refused, done
    try:
        work()
        done += 1
    except LapwingError as error:
        refused += 1
        print(error, flush=True)
        assert "SECRET" + "-VALUE" not in said_of(error), said_of(error)
        assert error.__cause__ is None and error.__context__ is None, said_of(error)

kinds = "v double, g string, unrelated int"
for number, position in enumerate(COLUMNS):
    cells = planted(position)
    path = folder / f"{position}.csv"
    path.write_text(csv_of(cells, more="4,x,5," + cells[position][1]))
    parquet.write_table(pa.table(texts_of(cells)), folder / f"{position}.parquet")
    for mode in ("FAILFAST", "failfast")[: 2 - (number > 0)]:
        df = session.read.csv(str(path), header=True, schema=kinds, mode=mode)
        run(lambda: engine.summarize(df, DOMAIN, column="v"))
        run(lambda: engine.tally(df, SURVEY, column="g"))
        run(lambda: engine.randomize(df, SURVEY, column="v", output=str(folder / "none")))
    df = session.read.csv(str(path), header=True, schema=kinds)
    run(lambda: engine.summarize(df, DOMAIN, column="v"))
    run(lambda: engine.tally(df, SURVEY, column="g", by="v" if position == "g" else None))
    df = session.read.parquet(str(folder / f"{position}.parquet"))
    out = str(folder / f"out-{number}")
    run(lambda: engine.randomize(df, SURVEY, column="v", by="g", output=out))
print("refused", refused, "done", done, flush=True)
session.stop()
"""


@pytest.mark.service
@pytest.mark.xdist_group("spark")
def test_on_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not here: pip install '.[test]'")
    local_spark.java_or_skip()
    root = str(local_spark.ROOT)
    ran = subprocess.run(
        [sys.executable, "-c", OF_SPARK, str(tmp_path), root],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    _, refused, _, done = ran.stdout.split()[-4:]
    assert int(refused) >= 14 and int(done) >= 4, ran.stdout
    assert "SparkContext" in ran.stderr and SECRET not in ran.stderr + ran.stdout
    events = [path for path in (tmp_path / "events").rglob("*") if path.is_file()]
    assert events and "SparkListenerTaskEnd" in "".join(path.read_text() for path in events)
    assert not [path for path in events if SECRET in path.read_text()]
