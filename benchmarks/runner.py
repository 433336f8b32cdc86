"""Runs benchmarks one after the other, each in its own process, and keeps their results."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import machine, results
from benchmarks.isolated import ENVIRONMENT

BENCHMARKS = {
    "accuracy/ems_reference": "EMS against a textbook implementation on the same reports",
    "accuracy/decoders": "decoders and randomizers on Beta(5, 2)",
    "accuracy/real_columns": "decoders and randomizers on real columns (needs the data folder)",
    "accuracy/coverage": "coverage and width of the exact linear band (needs the data folder)",
    "accuracy/mixture": "the multiscale wave with the spectral prior (needs the data folder)",
    "speed/randomizers": "randomize and tally a million people",
    "speed/decoding": "an iteration of EM, and EMS to convergence, beside a dense matrix",
    "speed/starting": "import, and the command line from cold",
    "speed/streaming": "memory of tallying 100 million reports",
}
"""Every benchmark, in the order in which they run. Adding one is adding a row and its script."""

BUSY = 0.5
"""Load above which other work on the machine is sure to disturb times."""


class UnknownBenchmarkError(ValueError):
    """No benchmark has this name."""


def chosen(names: Iterable[str]) -> list[str]:
    """Return the benchmarks that names of folders or benchmarks mean; without any, all."""
    wanted = list(names)
    for name in wanted:
        if not any(_meant(name, known) for known in BENCHMARKS):
            raise UnknownBenchmarkError(
                f"{name!r} is no benchmark; `python -m benchmarks --list` shows them all"
            )
    return [known for known in BENCHMARKS if not wanted or any(_meant(n, known) for n in wanted)]


def _meant(name: str, known: str) -> bool:
    return known in (name, name.rstrip("/")) or known.startswith(name.rstrip("/") + "/")


def run(name: str, *, quick: bool = False) -> dict[str, Any] | None:
    """Run one benchmark and return its result, which is not kept yet; None if it was skipped.

    Raises
    ------
    subprocess.CalledProcessError
        When the benchmark fails; its own message stands above.
    """
    before = machine.load()
    if name.startswith("speed/") and before > BUSY:
        _say(f"{name}: the load is {before}, so other work disturbs these times; repeat when idle")
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%MZ")
    origin = machine.commit()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measured.json"
        subprocess.run(
            [
                *(sys.executable, "-m", "benchmarks.isolated"),
                *(name, str(file), "quick" if quick else "full"),
            ],
            cwd=machine.ROOT,
            env={**os.environ, **ENVIRONMENT},
            check=True,
        )
        measured = json.loads(file.read_text(encoding="utf-8"))
    if "skipped" in measured:
        _say(f"SKIPPED {name}: {measured['skipped']}")
        return None
    document = {
        "format": results.FORMAT,
        "version": results.VERSION,
        "name": name,
        "date": date,
        **origin,
        "machine": machine.machine(),
        "versions": machine.versions(),
        "load": {"before": before, "after": machine.load()},
        **measured,
    }
    results.check(document)
    return document


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
