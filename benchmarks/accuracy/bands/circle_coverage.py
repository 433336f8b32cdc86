"""How often intervals on a circle hold the truth: mean direction, R, quantiles from a start."""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import table
from lapwing.errors import LapwingWarning
from lapwing.results.distribution_intervals import direction_of

TITLE = "Answers on a circle"

FULL: dict[str, Any] = {"people": 20_000, "bins": 48, "epsilon": 1, "repeats": 100}
QUICK: dict[str, Any] = FULL | {"people": 2_000, "repeats": 2}

START = 4.0
"""The hour from which quantiles are counted."""

PROBABILITIES = (0.1, 0.5, 0.9)

TARGETS = ("empirical", "population")


def _bedtimes(rng: Any, people: int) -> Any:
    return np.mod(rng.normal(23.2, 1, people), 24)


def _two_peaks(rng: Any, people: int) -> Any:
    morning = rng.random(people) < 0.6
    return np.mod(np.where(morning, rng.normal(8, 1, people), rng.normal(17.5, 2, people)), 24)


COLUMNS: dict[str, Any] = {"bedtimes": _bedtimes, "two peaks": _two_peaks}
"""Hours of the day. Every repeat draws new values."""


def measure(*, people: int, bins: int, epsilon: float, repeats: int) -> dict[str, Any]:
    """Return how often each interval holds the truth of its target, and how wide it is."""
    clock = lw.Interval(0, 24, bins=bins, circular=True)
    rows = []
    for model, name in product(("local", "central"), COLUMNS):
        large = COLUMNS[name](np.random.default_rng(10**6), 10**6)
        held: dict[str, list[float]] = {}
        widths: list[float] = []
        unclear = 0
        for repeat in range(repeats):
            values = COLUMNS[name](np.random.default_rng(repeat), people)
            result = _decoded(model, values, clock, epsilon, repeat)
            for target, truth in zip(TARGETS, (values, large), strict=True):
                resultant = np.exp(2j * np.pi * truth / 24).mean()
                ends = result.mean_interval(target=target)
                direction = float(np.angle(resultant)) * 12 / math.pi
                unclear += ends is None
                held.setdefault(f"mean, {target}", []).append(_in_arc(ends, direction))
                low, high = direction_of(result, 0.95, target).length
                held.setdefault(f"R, {target}", []).append(low <= abs(resultant) <= high)
                if ends is not None:
                    widths.append((ends[1] - ends[0]) % 24)
                turned = np.mod(truth - START, 24)
                for probability in PROBABILITIES:
                    true = float(np.quantile(turned, probability, method="inverted_cdf")) + START
                    ends = result.quantile_interval(probability, target=target, start=START)
                    held.setdefault(f"quantiles, {target}", []).append(_in_arc(ends, true))
        coverage = {name: float(np.mean(each)) for name, each in held.items()}
        width = float(np.mean(widths)) if widths else None
        row = {"model": model, "column": name, "coverage": coverage, "width": width}
        rows.append(row | {"unclear": unclear / repeats / len(TARGETS)})
    return {"rows": rows}


def _in_arc(ends: tuple[float, float] | None, place: float) -> bool:
    """Return whether a place lies in an arc that may go round the end; None claims nothing."""
    if ends is None:
        return True
    low, high = ends
    return high - low >= 24 or (place - low) % 24 <= (high - low) % 24


def _decoded(model: str, values: Any, clock: lw.Interval, epsilon: float, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        if model == "central":
            made = lw.release(
                values, clock, neighbors="replace-one", epsilon=epsilon, rng=lw.seeded(seed)
            )
            return made.distribution
        survey = lw.Survey("hours", lw.MultiscaleWave(clock, epsilon))
        counts = np.bincount(clock.index(values), minlength=clock.size)
        return survey.decode(lw.simulate(survey.randomizer, counts, rng=seed))


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage by model and column."""
    names = [f"{what}, {target}" for what in ("mean", "R", "quantiles") for target in TARGETS]
    rows = [
        [
            row["model"],
            row["column"],
            *(f"{row['coverage'][name]:.1%}" for name in names),
            f"{row['unclear']:.0%}",
            "-" if row["width"] is None else f"{60 * row['width']:.0f}",
        ]
        for row in measured["rows"]
    ]
    least = min(min(row["coverage"].values()) for row in measured["rows"])
    head = ["model", "column", *names, "no clear middle", "width of the mean, minutes"]
    return (
        f"{settings['people']:,} hours of the day, {settings['bins']} circular bins, epsilon "
        f"{settings['epsilon']:g}, {settings['repeats']} repeats: how often the 95% intervals "
        "hold the mean direction, the mean resultant length R, and the quantiles of 10, 50 and "
        "90% counted from 04:00, of the people themselves (empirical) and of their population. "
        "An interval that is not given counts as one that holds. Intervals of the mean and of R "
        "hold wherever values lie inside their bins, so they cover more where the bins are wide. "
        f"The least is {least:.1%}; target: 92%.\n\n{table(head, rows)}"
    )
