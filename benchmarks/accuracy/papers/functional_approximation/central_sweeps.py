"""One parameter varied, the methods beside each other and beside themselves without noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    People,
    without_noise,
)
from benchmarks.accuracy.papers.functional_approximation.central_methods import Method, distances
from benchmarks.markdown import table
from benchmarks.summaries import mean_and_error

KEYS = {"ks": "KS", "w1": "W1", "energy": "energy"}
PEOPLE = 10_000
"""Where the number of people does not vary."""


Distances = dict[str, list[dict[str, float]]]
"""The distances of every repeat by method."""


def side_by_side(
    column: People,
    methods: Mapping[str, Method],
    people: int,
    epsilon: float,
    repeats: int,
    *,
    noiseless: bool = False,
) -> Distances:
    """Return the distances of all methods, in every repeat on the same people.

    `noiseless`: with "none", which is the last method without noise.
    """
    kept: Distances = {name: [] for name in methods}
    for repeat in range(repeats):
        summary = column.summarized(people, seed=[repeat, 7])
        cdf = column.cdf(summary)
        for place, (name, method) in enumerate(methods.items()):
            seed = len(methods) * repeat + place
            release = method.release(summary, epsilon, people**-1.5, seed=seed)
            kept[name].append(distances(method.decode(release), cdf))
        if noiseless:
            exact = method.decode(without_noise(release, summary))
            kept.setdefault("none", []).append(distances(exact, cdf))
    return kept


def means(kept: Distances) -> dict[str, Any]:
    """Return method -> distance -> its mean and standard error."""
    return {
        name: {key: mean_and_error([one[key] for one in all_]) for key in KEYS}
        for name, all_ in kept.items()
    }


def cells(
    columns: Sequence[People],
    methods: Mapping[str, Method],
    people: int,
    epsilon: float,
    repeats: int,
) -> dict[str, Any]:
    """Return column -> method -> distance, "none" among the methods."""
    return {
        column.name: means(side_by_side(column, methods, people, epsilon, repeats, noiseless=True))
        for column in columns
    }


def sweep_tables(points: Sequence[Mapping[str, Any]], short: str, title: str) -> str:
    """Return a table a distance: a line for every value, a column for every law and method."""
    laws = {law: list(methods) for law, methods in points[0]["columns"].items()}
    parts = []
    for key, shown in KEYS.items():
        rows = [
            [f"{point['at']:,}"]
            + [
                f"{point['columns'][law][method][key]['mean']:.4f}"
                for law, methods in laws.items()
                for method in methods
            ]
            for point in points
        ]
        header = [short, *(f"{law}, {one}" for law, methods in laws.items() for one in methods)]
        parts.append(f"{shown}, {title}:\n\n" + table(header, rows, texts=1))
    return "\n\n".join(parts)


def ks_means(points: Sequence[Mapping[str, Any]], law: str, method: str) -> list[float]:
    """Return the mean KS along a sweep."""
    return [point["columns"][law][method]["ks"]["mean"] for point in points]
