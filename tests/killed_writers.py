"""Processes that write files and are killed (SIGKILL) at random moments; run by its test.

``python -m tests.killed_writers FOLDER KILLS SEED``: prints what was left after each kill, as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import lapwing as lw
from lapwing.engines.arrow import randomize
from lapwing.engines.arrow.report_folder import SavedProgress
from lapwing.privacy import Ledger
from lapwing.protocol import ExactCounts

DOMAIN = lw.Interval(0, 1, bins=16)
SURVEY = lw.Survey("s", lw.SquareWave(DOMAIN, epsilon=2))
VALUES = np.random.default_rng(1).random(20_000)
BUDGET = lw.Guarantee(100, 0, "replace-one", "central")
LEDGER = "budget.json"


def _reports(folder: Path) -> None:
    table = pa.table({"x": VALUES})
    randomize(table, SURVEY, output=folder / "out.lwr", threads=1, replace=True)


def _release(folder: Path) -> None:
    paid = {"neighbors": "replace-one", "epsilon": "0.001", "ledger": folder / LEDGER}
    counts = ExactCounts.of_values(VALUES[:100], DOMAIN)
    counts.save(folder / "counts.lws")
    lw.release(counts, **paid).release.save(folder / "release.json")  # type: ignore[arg-type]


def _progress(folder: Path) -> None:
    SavedProgress(folder / "job.progress", {"verb": "tally"}).save(b"x" * 200_000)


WRITERS: list[Callable[[Path], None]] = [_reports, _release, _progress]


def kill_once(folder: Path, writer: Callable[[Path], None], seconds: float) -> None:
    """Let a process write again and again, and kill it after so many seconds."""
    child = os.fork()
    if child == 0:
        try:
            while True:
                writer(folder)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the writer ended by itself"


def main() -> None:
    """Kill writers, and tell what each left."""
    folder, kills, chance = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    Ledger(BUDGET).save(folder / LEDGER)
    for writer in WRITERS:  # what is compiled and imported once
        writer(folder)
    left = []
    for number in range(kills):
        before = len(Ledger.load(folder / LEDGER).entries)
        kill_once(folder, WRITERS[number % len(WRITERS)], chance.uniform(0.002, 0.12))
        assert len(Ledger.load(folder / LEDGER).entries) >= before
        left.append(sorted(path.name for path in folder.glob(".*")))
    print(json.dumps(left))


if __name__ == "__main__":
    main()
