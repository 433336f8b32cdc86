"""What a decode and the demo take while other programs keep every core busy.

A library that starts a thread for each core is slow on a busy machine, because threads of linear
algebra wait for each other by spinning. So the same decode runs in fresh processes with the
machine's own number of threads and with one, beside as many busy processes as there are cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.isolated import ENVIRONMENT
from benchmarks.machine import ROOT
from benchmarks.markdown import seconds, table
from benchmarks.summaries import ratio_of_pairs, summary

TITLE = "On a busy machine"
FULL: dict[str, Any] = {"bins": 1024, "people": 100_000, "rounds": 10, "demos": 3}
QUICK: dict[str, Any] = {"bins": 256, "people": 10_000, "rounds": 2, "demos": 1}

ASKED_RATIO = 1.1
"""Target: wall time under load, as a multiple of that with one thread under the same load."""
ASKED_DEMO = 5.0
"""Target: wall seconds of the demo under load, installed."""

_BUSY = "while True: pass"

# The first decode reads the compiled loops; the second is timed. Its threads are the library's
# choice where the environment says nothing.
_DECODE = """
import json, time
import numpy as np
import lapwing as lw
randomizer = lw.MultiscaleWave(lw.Interval(0, 1, bins={bins}, outside="clip"), 1)
survey = lw.Survey("load", randomizer)
people = np.random.default_rng(1).multinomial({people}, np.full({bins}, 1 / {bins}))
tally = lw.simulate(randomizer, people, rng=1)
survey.decode(tally)
wall, cpu = time.perf_counter(), time.process_time()
survey.decode(tally)
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))
"""


def measure(*, bins: int, people: int, rounds: int, demos: int) -> dict[str, Any]:
    """Return wall and CPU seconds of both decodes in pairs, and of the demo."""
    code = _DECODE.format(bins=bins, people=people)
    kept: dict[str, list[list[float]]] = {"free": [], "one thread": []}
    with _every_core_busy():
        for turn in range(-1, rounds):
            order = list(kept) if turn % 2 == 0 else list(kept)[::-1]
            for name in order:
                spent = _decode(code, one_thread=name == "one thread")
                if turn >= 0:
                    kept[name].append(spent)
        demo = [_demo() for _ in range(demos)]
    wall = {name: [spent[1] for spent in found] for name, found in kept.items()}
    return {
        "cores": os.cpu_count(),
        "wall": {name: summary(found) for name, found in wall.items()},
        "cpu": {name: summary([spent[0] for spent in found]) for name, found in kept.items()},
        "ratio": ratio_of_pairs(wall["free"], wall["one thread"]),
        "demo": summary(demo) if demo else None,
    }


@contextmanager
def _every_core_busy() -> Iterator[None]:
    """Run one process on each core that does nothing but keep it busy."""
    started = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _environment(*, one_thread: bool) -> dict[str, str]:
    """Return this environment with the threads that a user has, or with one."""
    kept = {key: value for key, value in os.environ.items() if key not in ENVIRONMENT}
    kept |= {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "MPLBACKEND": "Agg"}
    return kept | (ENVIRONMENT if one_thread else {})


def _decode(code: str, *, one_thread: bool) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=_environment(one_thread=one_thread),
        check=True,
        capture_output=True,
        text=True,
    )
    spent: list[float] = json.loads(done.stdout.splitlines()[-1])
    return spent


def _demo() -> float:
    """Return the wall seconds of the demo, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, str(ROOT / "examples" / "demo.py")],
            env=_environment(one_thread=False),
            cwd=folder,
            check=True,
            capture_output=True,
        )
        return time.perf_counter() - start


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    wall, cpu, ratio = measured["wall"], measured["cpu"], measured["ratio"]
    rows = [
        [
            title,
            seconds(wall[name]["median"]),
            seconds(wall[name]["max"]),
            seconds(cpu[name]["median"]),
        ]
        for name, title in (
            ("free", "as a user starts it"),
            ("one thread", "BLAS told to use one thread"),
        )
    ]
    reached = "reached" if ratio["ratio"] <= ASKED_RATIO else "**missed**"
    parts = [
        f"While {measured['cores']} other processes keep every core busy, a fresh process runs the "
        f"recommended decode of {settings['people']:,} reports of a multiscale wave at "
        f"{settings['bins']} bins. The second decode of the process is timed, in "
        f"{settings['rounds']} alternating pairs.",
        table(["", "wall, median", "wall, largest", "CPU, median"], rows),
        f"The ratio of the wall times is {ratio['ratio']:.2f} ± {ratio['standard_error']:.2f} "
        f"(target {ASKED_RATIO:g}, {reached}).",
    ]
    if measured["demo"] is not None:
        largest = measured["demo"]["max"]
        reached = "reached" if largest <= ASKED_DEMO else "**missed**"
        parts.append(
            f"`examples/demo.py` under the same load, {settings['demos']} times: "
            f"{seconds(measured['demo']['median'])} of wall time, at most {seconds(largest)} "
            f"(target {ASKED_DEMO:g} s, {reached})."
        )
    return "\n\n".join(parts)
