"""Memory of the collector while it counts 100 million reports."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import lapwing as lw
from benchmarks.markdown import figure, table
from benchmarks.service.running_servers import collector
from benchmarks.service.upload_load import load
from lapwing.protocol.messages.batch import MOST_REPORTS

TITLE = "Memory of 100 million counted reports"
FULL: dict[str, Any] = {"reports": 100_000_000, "symbols": 1024, "parts": 20, "connections": 4}
QUICK: dict[str, Any] = {"reports": 2_000_000, "symbols": 1024, "parts": 4, "connections": 4}

ASKED = 300
"""Target: megabytes in memory, while it counts and after."""
FLAT = 1.1
"""Asked to be flat: the second half of the run, at its largest, as a multiple of the first."""


def measure(*, reports: int, symbols: int, parts: int, connections: int) -> dict[str, Any]:
    """Return megabytes after each part of the reports."""
    survey = lw.Survey("memory", lw.RandomizedResponse(lw.Categories(symbols), 1))
    size = min(MOST_REPORTS, max(1, reports // parts))
    requests = -(-reports // (size * parts))
    held: list[float] = []
    with tempfile.TemporaryDirectory() as folder, collector(folder) as site:
        path = site.open_epoch(survey, "e")
        before, cpu, wall = site.memory(), site.cpu(), time.perf_counter()
        truth = [0] * symbols
        for part in range(parts):
            seen = load(
                site.url,
                path,
                connections=connections,
                requests=requests,
                seconds=600,
                survey=survey.fingerprint,
                reports=size,
                symbols=symbols,
                seed=part,
            )
            truth = [a + b for a, b in zip(truth, seen["counts"], strict=True)]
            held.append(site.memory())
        cpu, wall = site.cpu() - cpu, time.perf_counter() - wall
        if site.counts(survey, "e") != truth:
            raise RuntimeError("the collector's counts are not the reports it took")
        after = site.memory()
        database = sum(file.stat().st_size for file in Path(folder).glob("collector.db*"))
    return {
        "before": before,
        "held": held,
        "after": after,
        "reports": sum(truth),
        "in_a_batch": size,
        "cpu": cpu,
        "wall": wall,
        "database": database / 1e6,
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    held = measured["held"]
    middle = len(held) // 2
    first, second = max(held[:middle]), max(held[middle:])
    rows = [
        ["started", "0", f"{measured['before']:.0f} MB"],
        *(
            [
                f"after part {number} of {len(held)}",
                f"{measured['reports'] * number // len(held):,}",
                f"{held[number - 1]:.0f} MB",
            ]
            for number in sorted({1, 2, middle, len(held)})
        ),
        ["tally read", f"{measured['reports']:,}", f"{measured['after']:.0f} MB"],
    ]
    largest = max(*held, measured["after"])
    reached = "reached" if largest <= ASKED and second <= FLAT * first else "**missed**"
    return "\n\n".join(
        [
            f"{measured['reports']:,} reports of two bytes (randomized response, "
            f"{settings['symbols']} symbols) in batches of {measured['in_a_batch']:,} over "
            f"{settings['connections']} connections. The table has the resident memory of "
            "`lapwing serve` without its decoder. All reports were counted correctly. Measured "
            "once.",
            table(["", "reports counted", "memory"], rows, texts=1),
            f"The maximum is {largest:.0f} MB (target {ASKED} MB). In the second half of the run "
            f"it is {second / first:.2f} times that in the first (target at most {FLAT}): "
            f"{reached}. The run took {figure(measured['cpu'] / measured['reports'] * 1e9)} ns of "
            f"CPU time per report ({figure(measured['wall'])} s in all), and the database has "
            f"{figure(measured['database'])} MB.",
        ]
    )
