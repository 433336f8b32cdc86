"""Times side by side in one process, and the memory of a fresh one."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.summaries import summary


@dataclass(frozen=True)
class Times:
    """CPU and wall seconds of the repeats of one work, in the order in which they ran."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def add(self, cpu: float, wall: float) -> None:
        """Note one more repeat."""
        self.cpu.append(cpu)
        self.wall.append(wall)

    def summaries(self, *, each: int = 1) -> dict[str, Any]:
        """Return summaries of both, divided by the number of units done in a repeat."""
        return {
            "cpu": summary([second / each for second in self.cpu]),
            "wall": summary([second / each for second in self.wall]),
        }


def alternate(
    works: Mapping[str, Callable[[], object]], *, rounds: int, warm: int = 1
) -> dict[str, Times]:
    """Time several works in turn, so that a drift of the machine meets all of them.

    Parameters
    ----------
    works : mapping of names to functions without arguments
    rounds : int
        How often each is timed; every second round goes backwards.
    warm : int
        Rounds before the clock runs: kernels are compiled, memory is claimed.
    """
    times = {name: Times() for name in works}
    for turn in range(-warm, rounds):
        order = list(works) if turn % 2 == 0 else list(works)[::-1]
        for name in order:
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            kept = works[name]()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            del kept
            if turn >= 0:
                times[name].add(cpu, wall)
    return times


# Peak memory from VmHWM, which starts anew with the program; the peak that getrusage gives is
# inherited from the process that started it.
_PROBE = """
import json, time
{imports}
def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))
before, start = memory("VmRSS"), time.process_time()
{work}
print()
print(json.dumps(
    {{"before": before, "peak": memory("VmHWM"), "cpu": time.process_time() - start}}
))
"""


def memory_beyond(imports: str, work: str) -> dict[str, float]:
    """Return megabytes after the imports, at the peak and between, and CPU seconds of the work.

    Parameters
    ----------
    imports, work : str
        Lines of Python, run in a fresh process. Linux only.
    """
    out = run_python(_PROBE.format(imports=imports, work=work))
    numbers = json.loads(out.splitlines()[-1])
    return {
        "import": numbers["before"] / 1e6,
        "peak": numbers["peak"] / 1e6,
        "beyond_import": (numbers["peak"] - numbers["before"]) / 1e6,
        "cpu": numbers["cpu"],
    }


def run_python(code: str, **environment: str) -> str:
    """Return what a fresh Python process prints when it runs this code from the repository."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout
