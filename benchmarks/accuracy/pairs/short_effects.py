"""An effect in a few hours of the day: how much of it is seen, and how often intervals hold it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
from scipy import special

import lapwing as lw
from benchmarks.markdown import table
from lapwing.decoders import LogDensityPrior
from lapwing.errors import LapwingWarning

TITLE = "Effects in a few hours"
FULL: dict[str, Any] = {
    "repeats": 4,
    "people": [100_000],
    "hours": [6, 4, 2],
    "epsilons": [1, 2, 4],
    "seed": 0,
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "people": [20_000],
    "hours": [6],
    "epsilons": [4],
    "seed": 0,
}

FIRST = 6
"""Hour at which the effect begins."""
LEVEL = 0.95

DOMAIN = lw.Product(
    ms=lw.Interval(0, 5000, bins=50, outside="clip"),
    hour=lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
)


def shares(hours: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return cells of a day with a busy half, in which waits are twice as long for some hours."""
    scale = np.where((np.arange(24) >= FIRST) & (np.arange(24) < FIRST + hours), 500.0, 250.0)
    ends = np.append(np.linspace(0, 5000, 51)[:-1], np.inf)[:, None]
    found = np.diff(special.gammainc(4, ends / scale), axis=0)
    found = found * (1 + 0.6 * np.sin(2 * np.pi * np.arange(24) / 24 - 2))
    cells: np.ndarray[Any, np.dtype[np.float64]] = found / found.sum()
    return cells


def medians(
    table_of_cells: np.ndarray[Any, np.dtype[np.float64]], hours: int
) -> tuple[float, float]:
    """Return the median in the hours of the effect, and that in the others."""
    inside = np.isin(np.arange(24), np.arange(FIRST, FIRST + hours))
    found = []
    for chosen in (inside, ~inside):
        mass = table_of_cells[:, chosen].sum(axis=1)
        found.append(float(lw.Distribution(DOMAIN.domains[0], mass / mass.sum()).quantile(0.5)))
    return found[0], found[1]


def measure(
    *,
    repeats: int,
    people: Sequence[int],
    hours: Sequence[int],
    epsilons: Sequence[float],
    seed: int,
) -> dict[str, Any]:
    """Return the part of the effect that is seen, and the share of intervals that hold it."""
    cells = []
    for epsilon in epsilons:
        for number in people:
            for length in hours:
                cells.append(_cell(length, number, epsilon, repeats=repeats, seed=seed))
                print(cells[-1], file=sys.stderr, flush=True)
    return {"cells": cells}


def _cell(hours: int, people: int, epsilon: float, *, repeats: int, seed: int) -> dict[str, Any]:
    randomizer = lw.recommend(DOMAIN, epsilon=epsilon, users=people).randomizer
    asked = {"hour": (f"{FIRST:02}:00", f"{FIRST + hours:02}:00")}
    seen, held, reach = [], [], []
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, hours, people, round(1000 * epsilon), repeat])
        counts = rng.multinomial(people, shares(hours).ravel())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapwingWarning)
            answer = LogDensityPrior().decode(
                randomizer.channel, lw.simulate(randomizer, counts, rng=rng)
            )
        true, others = medians(counts.reshape(50, 24) / people, hours)
        found, rest = medians(answer.table, hours)
        low, high = answer.given(**asked).quantile_interval(0.5, level=LEVEL)
        seen.append((found - rest) / (true - others))
        held.append(float(low <= true <= high))
        reach.append((high - low) / 2)
    return {
        "hours": hours,
        "people": people,
        "epsilon": epsilon,
        "seen": float(f"{fmean(seen):.4g}"),
        "held": fmean(held),
        "reach": float(f"{fmean(reach):.4g}"),
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the figures by the length of the effect."""
    lines = [
        [
            f"{cell['hours']} of 24",
            f"{cell['people']:,}",
            f"{cell['epsilon']:g}",
            f"{100 * cell['seen']:.0f}%",
            f"{round(cell['held'] * settings['repeats'])} of {settings['repeats']}",
            f"{cell['reach']:.0f}",
        ]
        for cell in measured["cells"]
    ]
    return "\n\n".join(
        [
            "Made-up waits in 50 bins by hour in 24, the blocks that `recommend` takes. From "
            f"{FIRST} o'clock on waits are twice as long for some hours. *Seen*: the estimated "
            "difference of the medians in these hours and in the others, over the true one. "
            "*Held*: 95% intervals of the median in these hours that hold the people's own.",
            table(["hours", "people", "ε", "seen", "held", "half-width, ms"], lines, texts=1),
        ]
    )
