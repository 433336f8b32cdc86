"""The Arrow engine: CPU of counting reports from memory and from Parquet, and its memory.

The reports are those of a hundred thousand people again and again: reading and counting do not
care.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import figure, table, timed
from benchmarks.timing import alternate, memory_beyond

TITLE = "The Arrow engine"
FULL: dict[str, Any] = {"reports": 20_000_000, "sets": 2_000_000, "bins": 1024, "rounds": 7}
QUICK: dict[str, Any] = {"reports": 1_000_000, "sets": 100_000, "bins": 1024, "rounds": 2}

ASKED = {"parquet": 60e6, "memory": 150e6, "sets": 5e9, "beyond": 150}
"""Target: reports per CPU second from Parquet and from memory, bytes of sets per CPU second from
memory, megabytes beyond the imports."""

_PEOPLE = 100_000

_WORK = """
survey = lw.Survey.load({survey!r})
assert tally({reports!r}, survey, threads=1).total == {number}
"""


def measure(*, reports: int, sets: int, bins: int, rounds: int) -> dict[str, Any]:
    """Return the times of one thread, and the memory of a process that counts from Parquet."""
    from pyarrow import parquet

    from lapwing.engines.arrow import tally

    wave = lw.Survey("wave", lw.SquareWave(lw.Interval(0, 1, bins=bins, outside="clip"), 1))
    unary = lw.Survey("sets", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(bins), 1))
    codes = _table(wave, np.random.default_rng(1).beta(5, 2, _PEOPLE), reports)
    bits = _table(unary, np.arange(min(_PEOPLE, sets)) % bins, sets)
    with tempfile.TemporaryDirectory() as folder:
        path, document = Path(folder) / "reports.parquet", Path(folder) / "survey.json"
        parquet.write_table(codes, path, use_dictionary=False, row_group_size=2**20)
        document.write_text(wave.to_json(), encoding="utf-8")
        works = {
            "parquet": lambda: tally(path, wave, threads=1),
            "memory": lambda: tally(codes, wave, threads=1),
            "sets": lambda: tally(bits, unary, threads=1),
        }
        times = alternate(works, rounds=rounds)
        beyond = memory_beyond(
            "import lapwing as lw\nimport pyarrow.dataset, pyarrow.parquet\n"
            "from lapwing.engines.arrow import tally",
            _WORK.format(survey=str(document), reports=str(path), number=reports),
        )
    return {
        "times": {name: one.summaries() for name, one in times.items()},
        "bytes": {"codes": codes.nbytes, "sets": bits.nbytes},
        "memory": beyond,
    }


def _table(survey: lw.Survey, values: Any, number: int) -> Any:
    """Return so many reports as a table of Arrow, which says whose they are."""
    import pyarrow as pa

    data = survey.randomize(values, rng=lw.seeded(1)).data
    data = np.tile(data, (-(-number // len(data)), 1))[:number]
    kind = pa.binary(data.shape[1])
    column = pa.FixedSizeBinaryArray.from_buffers(kind, number, [None, pa.py_buffer(data)])
    said = {
        "lapwing.format": "lapwing-reports",
        "lapwing.version": "1",
        "lapwing.survey": survey.fingerprint,
        "lapwing.randomizer": survey.randomizer.fingerprint,
    }
    field = pa.field("report", kind, nullable=False)
    return pa.Table.from_arrays([column], schema=pa.schema([field], metadata=said))


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    cpu = {name: found["cpu"] for name, found in measured["times"].items()}
    fast = {name: settings["reports"] / cpu[name]["median"] for name in ("parquet", "memory")}
    fast["sets"] = measured["bytes"]["sets"] / cpu["sets"]["median"]
    beyond = measured["memory"]["beyond_import"]
    lines = [
        [
            what,
            timed(cpu[name]),
            f"{figure(fast[name] / scale)} {unit}",
            f"{ASKED[name] / scale:.0f} {unit}",
        ]
        for name, what, scale, unit in (
            ("parquet", "square-wave reports, from Parquet", 1e6, "million"),
            ("memory", "square-wave reports, from memory", 1e6, "million"),
            ("sets", "unary encoding, from memory", 1e9, "GB"),
        )
    ]
    lines.append(
        ["memory beyond the imports, from Parquet", "", f"{beyond:.0f} MB", f"{ASKED['beyond']} MB"]
    )
    reached = beyond <= ASKED["beyond"] and all(fast[name] >= ASKED[name] for name in fast)
    return "\n\n".join(
        [
            f"`lapwing.engines.arrow.tally` with one thread: {settings['reports']:,} square-wave "
            f"reports of 2 bytes and {settings['sets']:,} reports of optimized unary encoding of "
            f"{measured['bytes']['sets'] // settings['sets']} bytes, d = {settings['bins']}, "
            "ε = 1. CPU seconds, and how much in one.",
            table(["", "CPU", "in a CPU second", "target"], lines),
            "All targets are met." if reached else "**Some targets are missed.**",
        ]
    )
