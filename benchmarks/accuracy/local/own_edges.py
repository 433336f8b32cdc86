"""Twelve bands of one's own beside 256 equal bins that are read at the same edges."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.datasets import load
from benchmarks.markdown import table
from benchmarks.summaries import geometric
from lapwing.errors import LapwingWarning

TITLE = "Bins with user-defined edges"

FULL: dict[str, Any] = {
    "columns": [
        "adult_age",
        "acs_income",
        "sf_base_pay",
        "taxi",
        "flights_distance",
        "house_price",
    ],
    "epsilons": [0.5, 1, 2, 4],
    "people": 50_000,
    "bands": 12,
    "repeats": 4,
}
QUICK: dict[str, Any] = FULL | {"columns": ["adult_age"], "epsilons": [2], "repeats": 2}

Vector = NDArray[np.float64]


def edges_of(values: Vector, number: int, rng: np.random.Generator) -> Vector:
    """Return edges of unequal bands: some of the rounded quantiles, and both ends of the column."""
    low, high = float(values.min()), float(values.max())
    step = 10 ** np.floor(np.log10((high - low) / 50))
    parts = np.linspace(0, 1, 2 * number + 1)
    quantiles = np.unique(np.rint(np.quantile(values, parts) / step) * step)
    inner = quantiles[(quantiles > low) & (quantiles < high)]
    kept = rng.choice(inner, min(number - 1, inner.size), replace=False)
    return np.concatenate([[low], np.sort(kept), [high]])


def error(
    values: Vector, edges: Vector, domain: lw.Interval, epsilon: float, repeats: int
) -> float:
    """Return the mean Wasserstein-1 distance of steps at the inner edges, as a share of the range.

    Of what `recommend` gives for this domain, promise and number of people.
    """
    inner, gaps = edges[1:-1], np.diff(edges)
    weights = (gaps[:-1] + gaps[1:]) / 2
    true = np.array([np.mean(values <= edge) for edge in inner])
    people = np.bincount(domain.index(values), minlength=domain.size)
    randomizer = lw.recommend(domain, epsilon=epsilon, users=values.size).randomizer
    survey = lw.Survey("column", randomizer)
    found = []
    for repeat in range(repeats):
        tally = lw.simulate(randomizer, people, rng=np.random.default_rng(repeat))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapwingWarning)
            decoded: Any = survey.decode(tally)
        found.append(float(weights @ np.abs(decoded.cdf(inner) - true)) / (edges[-1] - edges[0]))
    return float(np.mean(found))


def measure(
    *, columns: list[str], epsilons: list[float], people: int, bands: int, repeats: int
) -> dict[str, Any]:
    """Return the mean errors of both ways for every column and promise."""
    cells = []
    for name in columns:
        rng = np.random.default_rng(1)
        column = np.asarray(load(name).values, dtype=np.float64)
        values = rng.choice(column, min(column.size, people), replace=False)
        edges = edges_of(values, bands, rng)
        equal = lw.Interval(float(edges[0]), float(edges[-1]), bins=256)
        for epsilon in epsilons:
            own = error(values, edges, lw.Interval(edges=edges.tolist()), epsilon, repeats)
            read = error(values, edges, equal, epsilon, repeats)
            cells.append({"column": name, "epsilon": epsilon, "own": own, "equal": read})
    return {"cells": cells}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the ratio of every cell, and their geometric mean."""
    cells = measured["cells"]
    ratios = [cell["own"] / cell["equal"] for cell in cells]
    rows = [
        [name, *(f"{c['own'] / c['equal']:.2f}" for c in cells if c["column"] == name)]
        for name in settings["columns"]
    ]
    head = ["column", *(f"epsilon {epsilon:g}" for epsilon in settings["epsilons"])]
    return (
        f"{settings['bands']} bands of unequal width (`Interval(edges=...)`), as a part of the "
        "error of 256 equal bins read at the same edges: Wasserstein-1 distance of the steps at "
        f"the edges, {settings['people']} people, {settings['repeats']} repeats, both with what "
        f"`recommend` gives. Geometric mean of all cells: **{geometric(ratios):.2f}**; asked is at "
        f"most 1.05.\n\n{table(head, rows)}"
    )
