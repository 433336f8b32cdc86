"""Intervals of pairs on thin ridges, beside those of smooth pairs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.pairs.columns import BINS
from benchmarks.accuracy.pairs.pair_coverage import covered
from benchmarks.accuracy.pairs.rectangles import scores
from benchmarks.markdown import table
from lapwing.decoders import LogDensityPrior
from lapwing.errors import LapwingWarning

TITLE = "Intervals on thin ridges"

Values = NDArray[np.float64]
Generator = np.random.Generator

_DRAWN = 2_000_000
"""Points by which the shares of the cells are computed."""


def _arch(rng: Generator, number: int) -> tuple[Values, Values]:
    """A parabola that is thinner than a cell."""
    first = rng.beta(1.5, 1.5, number)
    return first, 0.1 + 3.2 * first * (1 - first) + rng.normal(0, 0.008, number)


def _stairs(rng: Generator, number: int) -> tuple[Values, Values]:
    """Seven flat steps, and a tenth of the people anywhere."""
    first = rng.beta(2, 3, number)
    second = (np.floor(7 * first) + 0.6) / 7.5 + rng.laplace(0, 0.006, number)
    return first, np.where(rng.random(number) < 0.1, rng.random(number), second)


def _fan(rng: Generator, number: int) -> tuple[Values, Values]:
    """Two rays from a corner, on one of which the second is never above the first."""
    first = rng.beta(1.2, 3, number)
    part = np.where(rng.random(number) < 0.6, rng.beta(9, 1, number), rng.normal(0.3, 0.02, number))
    return first, first * part


def _bumps(rng: Generator, number: int) -> tuple[Values, Values]:
    """Two wide bumps."""
    low = rng.random(number) < 0.6
    first, second = (
        np.where(low, rng.normal(left, 0.1, number), rng.normal(right, 0.15, number))
        for left, right in ((0.3, 0.35), (0.7, 0.6))
    )
    return first, second


def _tilted(rng: Generator, number: int) -> tuple[Values, Values]:
    """A normal law with correlation .5."""
    first = rng.normal(0, 1, number)
    second = 0.5 * first + np.sqrt(0.75) * rng.normal(0, 1, number)
    return 0.5 + 0.15 * first, 0.5 + 0.15 * second


RIDGES: dict[str, Callable[[Generator, int], tuple[Values, Values]]] = {
    "arch": _arch,
    "stairs": _stairs,
    "fan": _fan,
}
SMOOTH: dict[str, Callable[[Generator, int], tuple[Values, Values]]] = {
    "two bumps": _bumps,
    "tilted normal": _tilted,
}
PAIRS = RIDGES | SMOOTH
"""Pairs on the unit square. Values beyond are clipped."""

FULL: dict[str, Any] = {
    "repeats": 2,
    "people": [20_000, 200_000],
    "bins": BINS,
    "epsilons": [1, 2, 4],
    "pairs": list(PAIRS),
}
QUICK: dict[str, Any] = FULL | {
    "repeats": 1,
    "people": [20_000],
    "bins": 16,
    "epsilons": [4],
    "pairs": ["arch", "two bumps"],
}

ASKED = {"rectangles": 93, "conditional quantiles": 92}
"""Percent of the intervals on ridges that hold the people's own figure."""


def shares(pair: str, bins: int) -> Values:
    """Return the shares of the cells of a pair: float64 [bins, bins]."""
    axis = lw.Interval(0, 1, bins=bins, outside="clip")
    first, second = PAIRS[pair](np.random.default_rng(31), _DRAWN)
    cells = axis.index(first) * bins + axis.index(second)
    counts = np.bincount(cells, minlength=bins * bins).reshape(bins, bins)
    found: Values = counts / _DRAWN
    return found


def measure(
    *,
    repeats: int,
    people: Sequence[int],
    bins: int,
    epsilons: Sequence[float],
    pairs: Sequence[str],
) -> dict[str, Any]:
    """Return shares of 95% intervals that hold the people's own figure, and their half-widths."""
    axis = lw.Interval(0, 1, bins=bins, outside="clip")
    domain = lw.Product(first=axis, second=axis)
    cells = []
    for pair in pairs:
        population = shares(pair, bins)
        for epsilon in epsilons:
            boxes = lw.randomizers.MultiscaleBoxes(domain, epsilon)
            for number in people:
                held: list[dict[str, dict[str, float]]] = []
                errors = []
                for repeat in range(repeats):
                    rng = np.random.default_rng(
                        [*pair.encode(), number, repeat, round(1000 * epsilon)]
                    )
                    counts = rng.multinomial(number, population.ravel())
                    tally = lw.simulate(boxes, counts, rng=rng)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", LapwingWarning)  # weak answers count, too
                        answer = LogDensityPrior().decode(boxes.channel, tally)
                        own = counts.reshape(bins, bins)
                        held.append(covered(answer, own, population))
                    errors.append(scores(answer.table, own / number)["rectangles"])
                cell = {
                    "pair": pair,
                    "epsilon": epsilon,
                    "people": number,
                    "error": float(f"{fmean(errors):.4g}"),
                    "coverage": {
                        what: {
                            name: float(f"{fmean(one[what][name] for one in held):.4g}")
                            for name in held[0][what]
                        }
                        for what in held[0]
                    },
                }
                cells.append(cell)
                print(_told(cell), file=sys.stderr, flush=True)
    return {"cells": cells}


def _told(cell: dict[str, Any]) -> str:
    """Return one line of a cell, to tell how far a long run is."""
    found = ", ".join(
        f"{what} {100 * one['people']:.1f} ({one['reach']:.4f})"
        for what, one in cell["coverage"].items()
    )
    return f"{cell['pair']}, epsilon {cell['epsilon']:g}, {cell['people']:,}: {found}"


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage of every cell, and whether ridges are covered as asked."""
    cells = measured["cells"]
    whats = list(cells[0]["coverage"])
    rows = [
        [
            one["pair"],
            f"{one['epsilon']:g}",
            f"{one['people']:,}",
            *(f"{100 * one['coverage'][what]['people']:.1f}" for what in whats),
            *(f"{100 * one['coverage'][what]['reach']:.2f}" for what in whats),
            f"{100 * one['error']:.2f}",
        ]
        for one in cells
    ]
    ridges = [one for one in cells if one["pair"] in RIDGES]
    said = []
    for what, asked in ASKED.items():
        held = [100 * one["coverage"][what]["people"] for one in ridges]
        said.append(
            f"- {what}: {fmean(held):.1f}% on average over the cells of ridges, lowest "
            f"{min(held):.1f}. Target: {asked}% on average, "
            f"{'reached' if fmean(held) >= asked else '**missed**'}."
        )
    bins, repeats = settings["bins"], settings["repeats"]
    return "\n\n".join(
        [
            f"Made-up pairs of {bins} x {bins} cells: an arch, stairs and a fan, which are thinner "
            "than the smoothness that is learned, and two smooth pairs. Coverage of 95% intervals "
            f"of the people's own table in {repeats} surveys for each row, as in the league. "
            "Half-widths are in percentage points, those of quantiles in percent of the axis. The "
            "error is the root mean square of 500 rectangles, in percentage points.",
            table(
                [
                    "pair",
                    "ε",
                    "people",
                    *(f"{what}, %" for what in whats),
                    *(f"half-width, {what}" for what in whats),
                    "error",
                ],
                rows,
                texts=1,
            ),
            "\n".join(said) if ridges else "",
        ]
    ).strip()
