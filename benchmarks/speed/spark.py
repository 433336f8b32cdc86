"""The Spark engine beside a `mapInArrow` that reads the same reports and returns nothing.

CPU is that of the whole tree of processes: this one, Java, and the workers that Java starts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.machine import ROOT
from benchmarks.markdown import figure, table, timed
from benchmarks.programs import java
from benchmarks.summaries import ratio_of_pairs, summary

TITLE = "The Spark engine"
FULL: dict[str, Any] = {
    "sizes": [[20_000_000, 4], [20_000_000, 16], [20_000_000, 64], [100_000_000, 16]],
    "bins": 1024,
    "rounds": 3,
}
QUICK: dict[str, Any] = {"sizes": [[2_000_000, 2], [2_000_000, 8]], "bins": 1024, "rounds": 2}

ASKED = 1.1
"""Target: at most so many times the CPU of reading alone."""

_PEOPLE = 100_000
_TICKS = os.sysconf("SC_CLK_TCK")


def measure(*, sizes: list[list[int]], bins: int, rounds: int) -> dict[str, Any]:
    """Return CPU and wall seconds of both works, in turn, and the most memory of all processes.

    Parameters
    ----------
    sizes : list of [reports, partitions]
    bins : int
    rounds : int
    """
    java()
    survey = lw.Survey("wave", lw.SquareWave(lw.Interval(0, 1, bins=bins, outside="clip"), 1))
    with tempfile.TemporaryDirectory() as folder:
        spark = _session(folder)
        try:
            found = [_measured(spark, survey, Path(folder), *size, rounds) for size in sizes]
        finally:
            spark.stop()
    return {"sizes": found}


def _session(folder: str) -> Any:
    with warnings.catch_warnings(action="ignore"):
        from pyspark.sql import SparkSession

        builder: Any = SparkSession.builder.master("local[2]").appName("benchmark")
        for name, setting in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.driver.memory": "2g",
            "spark.local.dir": folder,
            "spark.executorEnv.PYTHONPATH": str(ROOT / "src"),
            "spark.sql.files.maxPartitionBytes": str(2**40),
            "spark.sql.files.openCostInBytes": str(2**40),  # a partition for each file
            "spark.sql.files.minPartitionNum": "1",
        }.items():
            builder = builder.config(name, setting)
        before = os.environ.get("PYSPARK_PYTHON")
        os.environ["PYSPARK_PYTHON"] = sys.executable
        try:
            return builder.getOrCreate()
        finally:
            del os.environ["PYSPARK_PYTHON"]
            if before is not None:
                os.environ["PYSPARK_PYTHON"] = before


def _measured(
    spark: Any, survey: Any, folder: Path, reports: int, partitions: int, rounds: int
) -> dict[str, Any]:
    from lapwing.engines.spark import tally

    path = folder / f"{reports}-{partitions}"
    _write(survey, path, reports, partitions)
    df = spark.read.parquet(str(path))
    works: dict[str, Callable[[], object]] = {
        "tally": lambda: _checked(tally(df, survey, column="report").total, reports),
        "reading": lambda: _read(df),
    }
    times: dict[str, dict[str, list[float]]] = {name: {"cpu": [], "wall": []} for name in works}
    most = 0.0
    for turn in range(-1, rounds):
        for name in list(works)[:: 1 if turn % 2 else -1]:
            with _Memory() as memory:
                wall, cpu = time.perf_counter(), _tree_cpu()
                works[name]()
                cpu, wall = _tree_cpu() - cpu, time.perf_counter() - wall
            if turn >= 0:
                times[name]["cpu"].append(cpu)
                times[name]["wall"].append(wall)
                most = max(most, memory.most if name == "tally" else 0.0)
    return {
        "reports": reports,
        "partitions": partitions,
        "times": {
            name: {kind: summary(seconds) for kind, seconds in both.items()}
            for name, both in times.items()
        },
        "ratio": ratio_of_pairs(times["tally"]["cpu"], times["reading"]["cpu"]),
        "memory": most,
    }


def _write(survey: Any, path: Path, reports: int, partitions: int) -> None:
    """Write the reports of a hundred thousand people again and again, as Spark stores reports."""
    import pyarrow as pa
    from pyarrow import parquet

    data = survey.randomize(np.random.default_rng(1).beta(5, 2, _PEOPLE), rng=lw.seeded(1)).data
    path.mkdir()
    ends = [reports * number // partitions for number in range(partitions + 1)]
    for number, rows in enumerate(np.diff(ends).tolist()):
        part = np.ascontiguousarray(np.tile(data, (-(-rows // len(data)), 1))[:rows])
        kind = pa.binary(part.shape[1])
        column = pa.FixedSizeBinaryArray.from_buffers(kind, rows, [None, pa.py_buffer(part)])
        parquet.write_table(
            pa.table({"report": column.cast(pa.binary())}), path / f"{number:03d}.parquet"
        )


def _read(df: Any) -> None:
    with warnings.catch_warnings(action="ignore"):
        df.mapInArrow(_nothing, "number long").collect()


def _nothing(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        pass
    yield from ()


_nothing.__module__ = "__main__"  # so that Spark sends its code, not the name of this file


def _checked(found: int, wanted: int) -> None:
    if found != wanted:
        raise AssertionError(f"{found} reports were counted of {wanted}")


def _tree() -> list[list[str]]:
    """Return what the system says of this process and of all below it."""
    known = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        known[int(stat.parent.name)] = words
    chosen = {os.getpid()}
    while more := {pid for pid, words in known.items() if int(words[1]) in chosen} - chosen:
        chosen |= more
    return [known[pid] for pid in chosen if pid in known]


def _tree_cpu() -> float:
    """Return the CPU seconds of all processes, with those of their children that have ended."""
    return sum(sum(map(int, words[11:15])) for words in _tree()) / _TICKS


class _Memory:
    """The most memory that all processes held at once, asked for ten times a second: megabytes."""

    def __enter__(self) -> _Memory:
        self.most, self._over = 0.0, threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()
        return self

    def _look(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._over.wait(0.1):
            held = sum(int(words[21]) for words in _tree()) * page
            self.most = max(self.most, held / 1e6)

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._watch.join()


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    lines = [
        [
            f"{one['reports']:,}",
            str(one["partitions"]),
            timed(one["times"]["tally"]["wall"]),
            timed(one["times"]["tally"]["cpu"]),
            timed(one["times"]["reading"]["cpu"]),
            figure(one["ratio"]["ratio"]),
            f"{one['memory']:.0f} MB",
        ]
        for one in measured["sizes"]
    ]
    worst = max(one["ratio"]["ratio"] for one in measured["sizes"])
    reached = (
        "All targets are met."
        if worst <= ASKED
        else (f"**The target is {ASKED} times reading alone, but the worst is {figure(worst)}.**")
    )
    return "\n\n".join(
        [
            f"`lapwing.engines.spark.tally` on `local[2]`: square-wave reports, d = "
            f"{settings['bins']}, ε = 1, one Parquet file for each partition. CPU time of Python, "
            "Java and its workers together, after a warm-up round. It is compared with a "
            "`mapInArrow` that reads the same and returns nothing.",
            table(
                ["reports", "partitions", "wall", "CPU", "CPU of reading", "ratio", "memory"],
                lines,
            ),
            reached,
        ]
    )
