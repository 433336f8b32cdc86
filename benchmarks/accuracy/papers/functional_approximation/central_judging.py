"""What the functional-approximation paper says in words, as cells that the one rule judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.accuracy.papers.functional_approximation.central_sweeps import KEYS
from benchmarks.verdicts import Cell, less, loosely, resampled

Rows = Sequence[Mapping[str, Any]]
"""Of a column and an epsilon each, with `methods` -> distance -> values."""

AQ = {"Gaussian": "AQ 80", "Laplace": "AQ 80, Laplace"}
"""The paper does not say how the budget of adaptive quantiles is added up: both ways are judged."""

HQ = "HQ 40, steps"

SLACK = 1.05
"""What "falls" and "rises" along a curve leave to chance and to the parity of polynomials."""

COMPARABLE = 1.25
"""Factor up to which one method is "comparable" to another."""


def values(row: Mapping[str, Any], method: str, key: str) -> list[float]:
    """Return every repeat of a method's distance."""
    return list(row["methods"][method][key]["values"])


def below(rows: Rows, ours: str, theirs: Iterable[str], *, factor: float = 1.0) -> list[Cell]:
    """Return for every row and distance whether one method is below all of others."""
    others = list(theirs)
    return [
        less(values(row, ours, key), [values(row, one, key) for one in others], factor=factor)
        for row in rows
        for key in KEYS
    ]


def worst(rows: Rows, theirs: str, others: Iterable[str]) -> list[Cell]:
    """Return for every row and distance whether all of others are below one method."""
    found = []
    named = list(others)
    for row in rows:
        for key in KEYS:
            each = [less(values(row, one, key), [values(row, theirs, key)]) for one in named]
            found.append(Cell(min(cell.toward for cell in each), len(each)))
    return found


def comparable(
    rows: Rows, ours: str, theirs: Iterable[str], *, factor: float = COMPARABLE
) -> list[Cell]:
    """Return for every row and distance whether a method is comparable to each of others."""
    others = list(theirs)
    return [
        within(values(row, ours, key), [values(row, one, key) for one in others], factor=factor)
        for row in rows
        for key in KEYS
    ]


def within(ours: Sequence[float], theirs: Sequence[Sequence[float]], *, factor: float) -> Cell:
    """Return whether a distance is less than others times a factor that we chose for a word."""
    return loosely(lambda beyond: less(ours, theirs, factor=1 + beyond), beyond=factor - 1)


def among_the_first(rows: Rows, ours: str, others: Iterable[str], *, first: int) -> list[Cell]:
    """Return for every row and distance whether fewer than `first` of others are below a method."""
    named = list(others)

    def holds(means: Mapping[str, float]) -> bool:
        return sum(means[one] < means[ours] for one in named) < first

    return [
        resampled(holds, {one: values(row, one, key) for one in [ours, *named]})
        for row in rows
        for key in KEYS
    ]


def at(rows: Rows, epsilon: float) -> Rows:
    """Return the rows of an epsilon."""
    return [row for row in rows if row["epsilon"] == epsilon]


def of(rows: Rows, columns: Iterable[str]) -> Rows:
    """Return the rows of some columns."""
    named = set(columns)
    return [row for row in rows if row["column"] in named]


Points = Sequence[Mapping[str, Any]]
"""Of a sweep, with `at` and column -> method -> distance -> values."""


def along(points: Points, law: str, method: str, key: str) -> dict[str, list[float]]:
    """Return the values of every point of a sweep, by its place."""
    return {str(p["at"]): list(p["columns"][law][method][key]["values"]) for p in points}


def falling(points: Points, method: str, *, laws: Iterable[str], slack: float = 1.0) -> list[Cell]:
    """Return for every law, distance and step whether the next point is below the one before."""
    return [
        less(after, [before], factor=slack)
        for law in laws
        for key in KEYS
        for before, after in pairwise(along(points, law, method, key).values())
    ]


def curves(
    points: Points, method: str, holds: Callable[[list[float]], bool], *, laws: Iterable[str]
) -> list[Cell]:
    """Return for every law and distance whether a statement about the means of a curve holds."""

    def judged(law: str, key: str) -> Cell:
        series = along(points, law, method, key)
        return resampled(lambda means: holds([means[place] for place in series]), series)

    return [judged(law, key) for law in laws for key in KEYS]


def first_falls_then_rises(means: list[float]) -> bool:
    """Return whether the least of a curve is at neither end, and below both."""
    return min(means[1:-1], default=math.inf) < min(means[0], means[-1])


def nearly_constant(means: list[float]) -> bool:
    """Return whether the largest of a curve is comparable to its least."""
    return max(means) < COMPARABLE * min(means)


def ends_above_its_least(means: list[float]) -> bool:
    """Return whether the last point of a curve is above another: more does not help."""
    return means[-1] > min(means)


def laws_of(points: Points) -> list[str]:
    """Return the columns of a sweep."""
    return list(points[0]["columns"])
