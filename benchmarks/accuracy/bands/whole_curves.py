"""Whole curves of reports: in how many polls the simultaneous band holds the CDF at all edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.markdown import table

TITLE = "Whole curves of reports"
Values = NDArray[np.float64]
Generator = np.random.Generator


def _smooth(rng: Generator, people: int) -> Values:
    return rng.normal(50, 12, people)


def _steep(rng: Generator, people: int) -> Values:
    return rng.exponential(8, people)


def _skewed(rng: Generator, people: int) -> Values:
    return rng.lognormal(np.log(12), 0.8, people)


def _zeros_and_tail(rng: Generator, people: int) -> Values:
    return np.where(rng.random(people) < 0.6, 0.0, rng.lognormal(np.log(4), 1.1, people))


def _heap_at_the_end(rng: Generator, people: int) -> Values:
    """Zeros, few single values, and a heap of 0.5% at the top code of the table."""
    few = rng.choice([2.2, 3.1, 3.3, 4.4, 5.0, 5.2, 7.3, 7.7, 15.0], people)
    kind = rng.random(people)
    return np.where(kind < 0.92, 0.0, np.where(kind < 0.995, few, 99.999))


def _whole_numbers(rng: Generator, people: int) -> Values:
    """Hours of work: half of the people at 40, fewer at other round numbers."""
    kind = rng.random(people)
    others = np.where(
        kind < 0.75, 5 * np.rint(rng.normal(8, 3, people)), rng.normal(40, 15, people)
    )
    return np.rint(np.where(kind < 0.47, 40.0, others))


def _three_tops(rng: Generator, people: int) -> Values:
    middle = rng.choice([15.0, 45.0, 80.0], people, p=[0.5, 0.3, 0.2])
    return rng.normal(middle, 4)


KINDS: dict[str, Callable[[Generator, int], Values]] = {
    "smooth": _smooth,
    "steep at an end": _steep,
    "skewed": _skewed,
    "zeros and a tail": _zeros_and_tail,
    "heap at the end": _heap_at_the_end,
    "whole numbers": _whole_numbers,
    "three tops": _three_tops,
}
"""Columns by kind, on 0 to 100. Values beyond are clipped."""

FULL: dict[str, Any] = {
    "repeats": 60,
    "people": 32_561,
    "bins": 200,
    "epsilons": [1, 2],
    "kinds": list(KINDS),
}
QUICK: dict[str, Any] = FULL | {"repeats": 2, "bins": 64, "epsilons": [2], "kinds": ["smooth"]}

ASKED = 0.92


def measure(
    *, repeats: int, people: int, bins: int, epsilons: Sequence[float], kinds: Sequence[str]
) -> dict[str, Any]:
    """Return what the 95% bands of the recommended pair cover, at the right edges of all bins."""
    domain = lw.Interval(0, 100, bins=bins, outside="clip")
    cells = []
    for place, kind in enumerate(kinds):
        for epsilon in epsilons:
            pair = lw.recommend(domain, epsilon=epsilon, users=people)
            whole, points, widths = [], [], []
            for repeat in range(repeats):
                rng = np.random.default_rng([repeat, place, 29])
                values = KINDS[kind](rng, people)
                counts = np.bincount(domain.index(values), minlength=bins)
                truth = np.cumsum(counts) / people
                tally = lw.simulate(pair.randomizer, counts, rng=rng)
                result = pair.decoder.decode(pair.randomizer.channel, tally)
                band = result.confidence_band(0.95, kind="simultaneous")
                alone = result.confidence_band(0.95)
                assert band is not None and alone is not None
                whole.append(bool(((band.low <= truth) & (truth <= band.high)).all()))
                points.append(float(((alone.low <= truth) & (truth <= alone.high)).mean()))
                widths.append(float((band.high - band.low).mean()))
            cells.append(
                {
                    "kind": kind,
                    "epsilon": epsilon,
                    "whole": int(sum(whole)),
                    "pointwise": float(np.mean(points)),
                    "width": float(np.mean(widths)),
                }
            )
    return {"cells": cells}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage of every cell, and whether each kind is covered as asked."""
    cells, repeats = measured["cells"], settings["repeats"]
    rows = [
        [
            one["kind"],
            f"{one['epsilon']:g}",
            f"{100 * one['whole'] / repeats:.0f}",
            f"{100 * one['pointwise']:.1f}",
            f"{100 * one['width']:.1f}",
        ]
        for one in cells
    ]
    kinds = {
        kind: np.mean([one["whole"] / repeats for one in cells if one["kind"] == kind])
        for kind in settings["kinds"]
    }
    lowest = min(kinds, key=lambda kind: kinds[kind])
    good = kinds[lowest] >= ASKED
    return "\n\n".join(
        [
            f"Simultaneous 95% bands of the recommended pair, about the people who reported, in "
            f"{repeats} simulated polls of {settings['people']:,} people for each row, at "
            f"{settings['bins']} bins on made-up columns. The curve must lie in its band at all "
            "edges, and those in nearly empty tails count. Each poll has its own people. The "
            "pointwise coverage is a mean over all edges. The width of the whole curve's band is a "
            "mean over them, in percentage points.",
            table(["column", "ε", "whole curve, %", "pointwise, %", "width"], rows, texts=1),
            f"Target: {100 * ASKED:.0f}% of each kind. The lowest is {lowest} with "
            f"{100 * kinds[lowest]:.0f}%: {'reached' if good else 'missed'}.",
        ]
    )
