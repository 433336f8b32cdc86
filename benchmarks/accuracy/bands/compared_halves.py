"""How often two groups are said to differ: random halves of a table, and halves that do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import norm

import lapwing as lw
from benchmarks.markdown import table
from lapwing.errors import LapwingWarning

TITLE = "Two groups"

FULL: dict[str, Any] = {"people": 40_000, "bins": 64, "epsilon": 1, "pairs": 200, "apart": 3}
QUICK: dict[str, Any] = FULL | {"pairs": 3}

COLUMNS: dict[str, Any] = {
    "incomes with a tail": lambda rng, n: rng.lognormal(-1.5, 0.8, n),
    "two peaks": lambda rng, n: np.where(
        rng.random(n) < 0.4, rng.normal(0.3, 0.05, n), rng.normal(0.7, 0.1, n)
    ),
}
"""Columns of values, most of them in [0, 1]."""


def measure(*, people: int, bins: int, epsilon: float, pairs: int, apart: float) -> dict[str, Any]:
    """Return of how many pairs of halves it is said at 95% that they differ.

    Each pair halves the same `people` at random. In the pairs that differ, so many people of the
    second half are moved from below the bin edge at the median to above it that its share of
    people up to there is `apart` standard errors less. The standard error is that of the
    difference of the shares.
    """
    domain = lw.Interval(0, 1, bins=bins)
    rows = []
    for model in ("local", "central"):
        for name, column in COLUMNS.items():
            values = column(np.random.default_rng(1), people)
            median = round(float(np.median(values)) * bins) / bins  # an edge: exact
            first, second = np.array_split(values, 2)
            pilot = _difference(model, first, second, domain, epsilon, seed=0)
            low, high = pilot.probability_interval(-np.inf, median)
            shift = apart * (high - low) / 2 / norm.ppf(0.975)
            told = np.zeros(2)
            for pair in range(pairs):
                rng = np.random.default_rng([2, pair])
                first, second = np.array_split(rng.permutation(values), 2)
                below = np.flatnonzero(second <= median)
                moved = second.copy()
                chosen = rng.permutation(below)[: round(shift * second.size)]
                moved[chosen] = rng.choice(values[values > median], chosen.size)
                for which, other in enumerate((second, moved)):
                    made = _difference(model, first, other, domain, epsilon, seed=2 * pair + 1)
                    band = made.confidence_band(kind="simultaneous")
                    told[which] += band is not None and band.leaves_zero
            rows.append(
                {
                    "model": model,
                    "column": name,
                    "equal": int(told[0]),
                    "apart": int(told[1]),
                    "shift": float(shift),
                }
            )
    return {"rows": rows}


def _difference(
    model: str, first: Any, second: Any, domain: lw.Interval, epsilon: float, *, seed: int
) -> Any:
    results: list[Any] = []
    for number, values in enumerate((first, second)):
        rng = lw.seeded(2 * seed + number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapwingWarning)
            if model == "local":
                survey = lw.Survey("values", lw.MultiscaleWave(domain, epsilon))
                results.append(survey.decode(survey.tally(survey.randomize(values, rng=rng))))
            else:
                made = lw.release(values, domain, neighbors="replace-one", epsilon=epsilon, rng=rng)
                results.append(made.distribution)
    return results[0].difference(results[1])


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return how many pairs are said to differ."""
    rows = [
        [one["model"], one["column"], str(one["equal"]), str(one["apart"]), f"{one['shift']:.2%}"]
        for one in measured["rows"]
    ]
    head = [
        "model",
        "column",
        "random halves that differ",
        f"halves {settings['apart']} standard errors apart that differ",
        "people moved",
    ]
    return (
        f"Of {settings['pairs']} pairs of halves of {settings['people']:,} people each, at epsilon "
        f"{settings['epsilon']} and {settings['bins']} bins, how many are said to differ at 95%. "
        "Required (of 200): at most 14 random halves, and at least 100 that are apart. The default "
        "target is the population, so both samplings count. Two halves of a table are as far apart "
        f"as two independent samples of their size.\n\n{table(head, rows)}"
    )
