"""Time of decoding weeks together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import table, timed
from benchmarks.summaries import summary

TITLE = "A series decoded together"
FULL: dict[str, Any] = {"sizes": [[36, 64], [36, 256], [500, 64]], "repeats": 3}
QUICK: dict[str, Any] = {"sizes": [[4, 32]], "repeats": 1}

ASKED = {(36, 256): 10, (500, 64): 15}


def measure(*, sizes: Sequence[Sequence[int]], repeats: int) -> dict[str, Any]:
    """Return CPU seconds of a series with its bands, and of a look of a watch at its last week."""
    found = []
    for weeks, bins in sizes:
        domain = lw.Interval(0, 1, bins=bins, outside="clip")
        survey = lw.Survey("series", lw.MultiscaleWave(domain, epsilon=1))
        place = (np.arange(bins) + 0.5) / bins
        rng = np.random.default_rng([weeks, bins])
        pairs = []
        for week in range(weeks):
            mass = np.exp(-((place - 0.4 - 0.1 * week / weeks) ** 2) / 0.05)
            counts = rng.multinomial(10_000, mass / mass.sum())
            pairs.append((survey, lw.simulate(survey.randomizer, counts, rng=week)))
        lw.decode_series(pairs[:2])  # what is read and compiled at first
        times = [_seconds(pairs) for _ in range(repeats)]
        found.append({"weeks": weeks, "bins": bins, "seconds": summary(times)})
    return {"sizes": found}


def _seconds(pairs: list[Any]) -> float:
    start = time.process_time()
    lw.decode_series(pairs)
    return time.process_time() - start


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the times beside what is asked."""
    rows = [
        [
            f"{one['weeks']} weeks of {one['bins']} bins",
            timed(one["seconds"]),
            str(ASKED.get((one["weeks"], one["bins"]), "")),
        ]
        for one in measured["sizes"]
    ]
    return table(["series, with its bands", "CPU seconds", "target: at most"], rows, texts=1)
