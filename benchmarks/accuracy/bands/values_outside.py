"""What symbols for values outside the range cost, and how often their shares hold."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import table
from lapwing.distances import kolmogorov_smirnov, wasserstein
from lapwing.errors import LapwingWarning

TITLE = "Values outside the range"

FULL: dict[str, Any] = {
    "bins": [64, 256],
    "people": [20_000, 100_000],
    "epsilons": [0.5, 1, 2, 4],
    "models": ["local", "central"],
    "repeats": {"64": 200, "256": 24},
    "outside": 0.02,
}
QUICK: dict[str, Any] = FULL | {
    "bins": [64],
    "people": [20_000],
    "epsilons": [1, 2],
    "repeats": {"64": 2},
}

COLUMNS: dict[str, Any] = {
    "uniform": lambda rng, n: rng.random(n),
    "exponential": lambda rng, n: rng.exponential(0.2, n) % 1,
    "normal": lambda rng, n: np.clip(rng.normal(0.5, 0.12, n), 0.001, 0.999),
    "two peaks": lambda rng, n: np.clip(
        np.where(rng.random(n) < 0.4, rng.normal(0.3, 0.05, n), rng.normal(0.7, 0.1, n)),
        0.001,
        0.999,
    ),
    "round": lambda rng, n: np.clip(np.round(rng.beta(2, 5, n), 1), 0.001, 0.999),
}
"""Columns of values in [0, 1]. Every repeat draws new values."""


def measure(
    *,
    bins: list[int],
    people: list[int],
    epsilons: list[float],
    models: list[str],
    repeats: dict[str, int],
    outside: float,
) -> dict[str, Any]:
    """Return errors with overflow over those with clip, and how often the share outside holds.

    The ratio is of mean errors over the repeats, of the same values and the same seed. For the
    coverage a part `outside` of the people is above the range, in the first half of the repeats.
    """
    rows = []
    for size, n, epsilon, model, name in product(bins, people, epsilons, models, COLUMNS):
        domain = lw.Interval(0, 1, bins=size, outside="overflow")
        errors = np.zeros((repeats[str(size)], 2, 2))
        held: list[bool] = []
        for repeat in range(repeats[str(size)]):
            values = COLUMNS[name](np.random.default_rng(repeat), n)
            for way, each in enumerate((domain, replace(domain, outside="clip"))):
                result = _decoded(model, values, each, epsilon, repeat)
                truth = lw.Distribution.of_values(values, result.domain)
                errors[repeat, way] = wasserstein(result, truth), kolmogorov_smirnov(result, truth)
            if 2 * repeat >= repeats[str(size)]:
                continue
            beyond = values + 2 * (np.arange(n) < outside * n)
            result = _decoded(model, beyond, domain, epsilon, repeat)
            interval = result.probability_interval(1, np.inf, target="empirical")
            held.append(interval[0] <= np.mean(beyond > 1) <= interval[1])
        w1, ks = errors[:, 0].mean(axis=0) / errors[:, 1].mean(axis=0)
        row = {"bins": size, "people": n, "epsilon": epsilon, "model": model, "column": name}
        rows.append(row | {"w1": float(w1), "ks": float(ks), "held": float(np.mean(held))})
    return {"rows": rows}


def _decoded(model: str, values: Any, domain: lw.Interval, epsilon: float, seed: int) -> Any:
    rng = lw.seeded(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        if model == "local":
            survey = lw.Survey("values", lw.MultiscaleWave(domain, epsilon))
            counts = np.bincount(domain.index(values), minlength=domain.size)
            return survey.decode(lw.simulate(survey.randomizer, counts, rng=rng))
        made = lw.release(values, domain, neighbors="replace-one", epsilon=epsilon, rng=rng)
        return made.distribution


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the ratios by model and column, and the coverage."""
    rows = []
    for model, name in product(settings["models"], COLUMNS):
        cells = [row for row in measured["rows"] if (row["model"], row["column"]) == (model, name)]
        means = [np.exp(np.mean([np.log(row[key]) for row in cells])) for key in ("w1", "ks")]
        held = np.mean([row["held"] for row in cells])
        rows.append([model, name, *(f"{mean:.3f}" for mean in means), f"{held:.0%}"])
    head = ["model", "column", "W1", "KS", "share outside held"]
    repeats = ", ".join(f"{n} at {bins} bins" for bins, n in settings["repeats"].items())
    return (
        'Mean errors with `outside="overflow"` over those with `outside="clip"` where nobody is '
        "outside (geometric mean over bins, people and epsilons; target: at most 1.02 in all and "
        f"1.10 for each column). The last column has {100 * settings['outside']:g}% of the people "
        "above the range: how often its 95% interval holds the share. "
        f"Repeats: {repeats}, half of them for the coverage.\n\n"
        f"{table(head, rows)}"
    )
