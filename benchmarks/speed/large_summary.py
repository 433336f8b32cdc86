"""Memory of summarizing a billion rows of Parquet.

The rows are generated once, ten million of them, and that file is named again and again (hard
links): whoever reads opens every name anew, so memory and time are those of as many files.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.markdown import figure, seconds, table
from benchmarks.timing import memory_beyond

TITLE = "Summarizing a billion rows"
FULL: dict[str, Any] = {"rows": 10_000_000, "files": 100, "bins": 1024, "threads": [1, 2]}
QUICK: dict[str, Any] = {"rows": 500_000, "files": 4, "bins": 1024, "threads": [1, 2]}

ASKED = 500
"""Target: megabytes in which a billion rows are summarized."""

_IMPORTS = "import lapwing as lw\nimport pyarrow.dataset, pyarrow.parquet"
_WORK = """
from lapwing.engines import arrow
domain = lw.Interval(0, 400_000, bins={bins}, outside="clip")
found = arrow.summarize({folder!r}, domain, column="income", threads={threads})
assert found.people == {people}
"""


def measure(*, rows: int, files: int, bins: int, threads: list[int]) -> dict[str, Any]:
    """Return memory and CPU of a fresh process for each number of threads."""
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "00000.parquet"
        _write(first, rows)
        for number in range(1, files):
            os.link(first, Path(folder) / f"{number:05d}.parquet")
        about = {"folder": folder, "bins": bins, "people": rows * files}
        found = {
            str(number): memory_beyond(_IMPORTS, _WORK.format(threads=number, **about))
            for number in threads
        }
        return {"threads": found, "megabytes": first.stat().st_size * files / 1e6}


def _write(path: Path, rows: int) -> None:
    """Write incomes in pieces, so that this process stays small, too."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(1)
    schema = pa.schema([("income", pa.float64()), ("person", pa.int64())])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 2**20):
            people = np.arange(start, min(start + 2**20, rows))
            columns = {"income": rng.lognormal(10.5, 0.7, people.size), "person": people}
            writer.write_table(pa.table(columns, schema=schema))


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    people = settings["rows"] * settings["files"]
    peaks = [found["peak"] for found in measured["threads"].values()]
    lines = [
        [
            threads,
            f"{found['peak']:.0f} MB",
            f"{found['beyond_import']:.0f} MB",
            seconds(found["cpu"]),
            f"{figure(people / found['cpu'] / 1e6)} million",
            f"{ASKED} MB",
        ]
        for threads, found in measured["threads"].items()
    ]
    head = ["threads", "peak", "beyond import", "CPU", "rows in a CPU second", "target peak"]
    return "\n\n".join(
        [
            f"`arrow.summarize` of {people:,} incomes in {settings['files']} files of Parquet "
            f"({measured['megabytes']:.0f} MB with a second column that is not read), "
            f"{settings['bins']} bins, in a fresh process: peak resident memory of the whole "
            f"process. One file of {settings['rows']:,} rows, generated in pieces, under "
            f"{settings['files']} names.",
            table(head, lines),
            "The target for the peak is met."
            if max(peaks) <= ASKED
            else "**The target for the peak is missed.**",
        ]
    )
