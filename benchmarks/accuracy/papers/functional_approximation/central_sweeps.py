"""Methods side by side on the same people, every repeat kept, and tables of what they reached."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.figure_runs import kept_figures
from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    People,
    without_noise,
)
from benchmarks.accuracy.papers.functional_approximation.central_methods import Method, distances
from benchmarks.markdown import table, uncertain

KEYS = {"ks": "KS", "w1": "W1", "energy": "energy"}
PEOPLE = 10_000
"""Where the number of people does not vary."""

NONE = "none"
"""The last method without noise and without privacy."""

Distances = dict[str, list[dict[str, float]]]
"""The distances of every repeat by method."""

Found = dict[str, dict[str, dict[str, Any]]]
"""Method -> distance -> its mean, standard error and values."""


def number(*factors: Any) -> int:
    """Return a seed that depends on every factor, so that no two cells share random numbers."""
    digest = hashlib.sha256(repr(factors).encode()).digest()
    return int.from_bytes(digest[:6], "big")


def side_by_side(
    column: People,
    methods: Mapping[str, Method],
    people: int,
    epsilon: float,
    repeats: int,
    *,
    seed: int,
    sweep: str,
    noiseless: bool = False,
) -> Distances:
    """Return the distances of all methods, in every repeat on the same people.

    Parameters
    ----------
    seed, sweep : int, str
        With the column, the people, epsilon and the repeat they give the people; with the
        method's name its noise.
    noiseless : bool
        With "none", which is the last method without noise.
    """
    kept: Distances = {name: [] for name in methods}
    for repeat in range(repeats):
        cell = (seed, sweep, column.name, people, epsilon, repeat)
        summary = column.summarized(people, seed=[number("people", *cell)])
        cdf = column.cdf(summary)
        for name, method in methods.items():
            drawn = number("noise", name, *cell)
            release = method.release(summary, epsilon, people**-1.5, seed=drawn)
            kept[name].append(distances(method.decode(release), cdf))
        if noiseless:
            exact = method.decode(without_noise(release, summary))
            kept.setdefault(NONE, []).append(distances(exact, cdf))
    return kept


def figures(kept: Distances) -> Found:
    """Return method -> distance -> mean, standard error and the value of every repeat."""
    return kept_figures(
        {name: {key: [one[key] for one in all_] for key in KEYS} for name, all_ in kept.items()}
    )


def cells(
    columns: Sequence[People],
    methods: Mapping[str, Method],
    people: int,
    epsilon: float,
    repeats: int,
    *,
    seed: int,
    sweep: str,
) -> dict[str, Found]:
    """Return column -> method -> distance, "none" among the methods."""
    return {
        column.name: figures(
            side_by_side(
                column, methods, people, epsilon, repeats, seed=seed, sweep=sweep, noiseless=True
            )
        )
        for column in columns
    }


def shown(found: Mapping[str, Any]) -> str:
    """Return a mean with its standard error, in thousandths."""
    return uncertain(found["mean"], found["standard_error"], scale=1e3)


def sweep_tables(points: Sequence[Mapping[str, Any]], short: str, title: str) -> str:
    """Return a table a distance: a line for every value, a column for every law and method."""
    laws = {law: list(methods) for law, methods in points[0]["columns"].items()}
    parts = []
    for key, name in KEYS.items():
        rows = [
            [f"{point['at']:,}"]
            + [
                shown(point["columns"][law][method][key])
                for law, methods in laws.items()
                for method in methods
            ]
            for point in points
        ]
        header = [short, *(f"{law}, {one}" for law, methods in laws.items() for one in methods)]
        parts.append(f"{name} ×10³, {title}:\n\n" + table(header, rows, texts=1))
    return "\n\n".join(parts)


def cell_tables(rows: Sequence[Mapping[str, Any]], title: str) -> list[str]:
    """Return a table a distance: a line for every column and epsilon, a column for every method."""
    names = list(rows[0]["methods"])
    return [
        f"{name} ×10³, {title}:\n\n"
        + table(
            ["", "ε", *names],
            [
                [row["column"], f"{row['epsilon']:g}"]
                + [shown(row["methods"][one][key]) for one in names]
                for row in rows
            ],
            texts=1,
        )
        for key, name in KEYS.items()
    ]


def ks_means(points: Sequence[Mapping[str, Any]], law: str, method: str) -> list[float]:
    """Return the mean KS along a sweep."""
    return [point["columns"][law][method]["ks"]["mean"] for point in points]
