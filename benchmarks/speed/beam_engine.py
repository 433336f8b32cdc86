"""The Beam engine beside the Arrow engine: time, CPU and memory, by reports and by files.

Both run in Beam's own environment, each time in a fresh process. A folder holds one file of Parquet
under several names (hard links): reading and counting do not care.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.machine import ROOT
from benchmarks.markdown import figure, seconds, table
from benchmarks.programs import MissingProgramError
from benchmarks.summaries import summary

TITLE = "The Beam engine"
FULL: dict[str, Any] = {
    "jobs": [[20_000_000, 4], [20_000_000, 16], [20_000_000, 64], [100_000_000, 16]],
    "bins": 1024,
    "rounds": 3,
}
QUICK: dict[str, Any] = {"jobs": [[1_000_000, 4], [2_000_000, 4]], "bins": 1024, "rounds": 1}

_PYTHON = ROOT / ".venv" / "beam" / "bin" / "python"
_PEOPLE = 100_000

_PROBE = """
import json, os, time
begun, before = time.perf_counter(), sum(os.times()[:4])
import lapwing as lw
{prepare}
survey = lw.Survey.load({survey!r})
start, cpu = time.perf_counter(), sum(os.times()[:4])
{count}
wall = time.perf_counter() - start
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
print()
print(json.dumps({{
    "start": start - begun, "start_cpu": cpu - before, "wall": wall,
    "cpu": sum(os.times()[:4]) - cpu, "peak": peak / 1e6,
}}))
"""

_PREPARE = {
    "arrow": "from lapwing.engines import arrow",
    "beam": (
        "import apache_beam as beam\n"
        "from lapwing.engines.beam import CountReports\n"
        "def check(counted): assert counted.total == {number}"
    ),
}
_COUNT = {
    "arrow": """
assert arrow.tally({folder!r}, survey, column="report", threads=1).total == {number}
""",
    # Name the runner: the one that Beam chooses by default downloads a program first.
    "beam": """
with beam.Pipeline(runner="FnApiRunner") as pipeline:
    batches = pipeline | beam.io.ReadFromParquetBatched({folder!r} + "/*.parquet")
    batches | beam.CombineGlobally(CountReports(survey)) | beam.Map(check)
""",
}


def measure(*, jobs: list[list[int]], bins: int, rounds: int) -> dict[str, Any]:
    """Return times and memory of each engine for each number of reports and files."""
    if not _PYTHON.exists():
        raise MissingProgramError(
            "Apache Beam's own environment, which make test leaves in .venv/beam"
        )
    survey = lw.Survey("wave", lw.SquareWave(lw.Interval(0, 1, bins=bins, outside="clip"), 1))
    found = []
    with tempfile.TemporaryDirectory() as home:
        document = Path(home) / "survey.json"
        document.write_text(survey.to_json(), encoding="utf-8")
        for number, files in jobs:
            folder = Path(home) / f"{number}-{files}"
            folder.mkdir()
            _write(survey, folder, number // files, files)
            about = {"folder": str(folder), "number": number}
            runs: dict[str, list[dict[str, float]]] = {"arrow": [], "beam": []}
            for turn in range(rounds):
                for engine in ("arrow", "beam") if turn % 2 else ("beam", "arrow"):
                    code = _PROBE.format(
                        prepare=_PREPARE[engine].format(**about),
                        count=_COUNT[engine].format(**about),
                        survey=str(document),
                    )
                    runs[engine].append(_run(code))
            named = {
                engine: {key: summary([run[key] for run in several]) for key in several[0]}
                for engine, several in runs.items()
            }
            found.append({"reports": number, "files": files, **named})
    return {"jobs": found}


def _write(survey: lw.Survey, folder: Path, number: int, files: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    values = np.random.default_rng(1).beta(5, 2, _PEOPLE)
    data = survey.randomize(values, rng=lw.seeded(1)).data
    data = np.tile(data, (-(-number // len(data)), 1))[:number]
    kind = pa.binary(data.shape[1])
    column = pa.FixedSizeBinaryArray.from_buffers(kind, number, [None, pa.py_buffer(data)])
    first = folder / "00000.parquet"
    held = pa.table({"report": column})
    parquet.write_table(held, first, use_dictionary=False, row_group_size=2**20)
    for place in range(1, files):
        os.link(first, folder / f"{place:05d}.parquet")


def _run(code: str) -> dict[str, float]:
    # The package that is measured is this checkout's; its neighbors are those of Beam.
    left = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [_PYTHON, "-c", code],
        cwd=ROOT,
        env={**left, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    lines = []
    for job in measured["jobs"]:
        for engine in ("arrow", "beam"):
            found = {key: one["median"] for key, one in job[engine].items()}
            lines.append(
                [
                    engine,
                    f"{job['reports']:,}",
                    str(job["files"]),
                    seconds(found["start"]),
                    seconds(found["wall"]),
                    seconds(found["cpu"]),
                    f"{figure(job['reports'] / found['cpu'] / 1e6)} million",
                    f"{found['peak']:.0f} MB",
                ]
            )
    head = ["engine", "reports", "files", "start", "work", "CPU of the work"]
    return "\n\n".join(
        [
            f"Both engines tally square-wave reports of 2 bytes (d = {settings['bins']}, ε = 1) "
            "from Parquet: `CountReports` in Beam's own runner, and the Arrow engine with one "
            "thread. Both run in Beam's environment. Each figure is the median of "
            f"{settings['rounds']} fresh processes. CPU includes the processes that were started. "
            "Memory is the peak of the process.",
            table([*head, "reports in a CPU second", "peak"], lines),
        ]
    )
