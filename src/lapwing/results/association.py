"""How two attributes depend on each other: correlations and mutual information of a table."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.domains.product import Product
from lapwing.results.rounding import estimate_text, least_text

Statistic = Callable[[Matrix], float]
"""A number that says how rows and columns of a table depend on each other."""

_LEAST = 1e-300
"""Keeps a quotient of nothing finite."""

MEASURES = ("pearson", "spearman", "mutual_information")
"""What is estimated of a dependence."""

_STEP = 0.05
"""Part of a draw along which a slope is taken."""

_LEAST_RATIO = 0.01
"""Least ratio of a cell to independence in a slope."""
# Otherwise cells about which the reports say nothing would outweigh all others.


def correlation_of(domain: Product, kind: str) -> Statistic:
    """Return the correlation of the values at the middles of their bins, or of their ranks.

    Raises DomainError when an axis has no order, or is a circle.
    Raises ArgumentError when the kind is neither "pearson" nor "spearman".
    """
    places = []
    for name, axis in domain.axes.items():
        if not axis.ordered or axis.circular:
            raise DomainError(
                f"axis {name} is not ordered on a line, so there is no correlation. Ask for the "
                "mutual information"
            )
        places.append((axis.left + axis.right) / 2)
    first, second = places
    if kind == "pearson":
        return lambda table: pearson(table, first, second)
    if kind == "spearman":
        return lambda table: spearman(table[: first.size, : second.size])
    raise ArgumentError("kind", "must be 'pearson' or 'spearman'", repr(kind))


def measure_of(domain: Product, name: str) -> Statistic:
    """Return a measure by its name."""
    return mutual_information if name == "mutual_information" else correlation_of(domain, name)


def deviation(statistic: Statistic, table: Matrix, draws: NDArray[np.floating]) -> float:
    """Return the standard deviation of a statistic, from its slope along each draw.

    table: Shares, float64 [rows, columns].
    draws: Deviations of the shares, [draws, rows, columns].
    """
    slopes = []
    for draw in draws:
        ahead = statistic(np.maximum(table + _STEP * draw, 0.0))
        behind = statistic(np.maximum(table - _STEP * draw, 0.0))
        slopes.append((ahead - behind) / (2 * _STEP))
    return float(np.sqrt(np.mean(np.square(slopes))))


def pearson(table: Matrix, first: Vector, second: Vector) -> float:
    """Return the correlation of two numbers, in [-1, 1].

    table: Shares, float64 [rows, columns]. Rows and columns beyond the places are left out.
    first, second: Place of each row and of each column.

    Raises ArgumentError when one of the numbers does not vary.
    """
    held = table[: first.size, : second.size]
    if not held.sum() > 0:
        raise ArgumentError("a correlation needs people whose values are present on both axes")
    held = held / held.sum()
    rows, columns = held.sum(axis=1), held.sum(axis=0)
    one, other = first - rows @ first, second - columns @ second
    spread = float((rows @ one**2) * (columns @ other**2))
    if spread <= 0:
        raise ArgumentError("a correlation needs two attributes that vary. One has a single value")
    return float(np.clip(one @ held @ other / np.sqrt(spread), -1.0, 1.0))


def spearman(table: Matrix) -> float:
    """Return the correlation of the ranks, where all values of a bin share their mean rank.

    table: Shares, float64 [rows, columns].
    returns: In [-1, 1].
    """
    held = table / max(table.sum(), _LEAST)
    rows, columns = held.sum(axis=1), held.sum(axis=0)
    return pearson(held, np.cumsum(rows) - rows / 2, np.cumsum(columns) - columns / 2)


def slopes_of(domain: Product, table: Matrix) -> dict[str, Matrix]:
    """Return by how much each measure of a table changes with each of its shares.

    table: Shares, float64 [rows, columns].
    returns: Of "mutual_information", and of "pearson" and "spearman" where both axes have an order
        and vary. Each is float64 [rows, columns] and has the mean 0 over the table.
    """
    found = {"mutual_information": _information_slope(table)}
    if not all(axis.ordered and not axis.circular for axis in domain.domains):
        return found
    first, second = ((axis.left + axis.right) / 2 for axis in domain.domains)
    inside = max(table[: first.size, : second.size].sum(), _LEAST)
    held = table[: first.size, : second.size] / inside
    if min(np.count_nonzero(held.sum(axis=axis)) for axis in (0, 1)) < 2:
        return found
    ranks = (_ranks(held.sum(axis=1)), _ranks(held.sum(axis=0)))
    for name, slope in (
        ("pearson", _correlation_slope(held, first, second)),
        ("spearman", _correlation_slope(held, *ranks, ranked=True)),
    ):
        # People with a value outside or missing are not in a correlation.
        found[name] = np.zeros_like(table)
        found[name][: first.size, : second.size] = (slope - (held * slope).sum()) / inside
    return found


def _ranks(shares: Vector) -> Vector:
    """Return the mean rank of each value, in [0, 1]."""
    return np.cumsum(shares) - shares / 2


def _correlation_slope(
    held: Matrix, first: Vector, second: Vector, *, ranked: bool = False
) -> Matrix:
    """Return the slope of a correlation of places, which move with the shares if they are ranks."""
    rows, columns = held.sum(axis=1), held.sum(axis=0)
    one, other = first - rows @ first, second - columns @ second
    spread, across = rows @ one**2, columns @ other**2
    scale = np.sqrt(spread * across)
    correlation = one @ held @ other / scale
    slope: Matrix = np.outer(one, other) / scale
    slope -= correlation / 2 * (one[:, None] ** 2 / spread + other**2 / across)
    if ranked:
        over_rows = (held @ other) / scale - correlation * rows * one / spread
        over_columns = (one @ held) / scale - correlation * columns * other / across
        slope += _above(over_rows)[:, None] + _above(over_columns)
    return slope


def _above(slope: Vector) -> Vector:
    """Return the slope by the shares of what is a function of the ranks."""
    above: Vector = np.cumsum(slope[::-1])[::-1] - slope / 2
    return above


def _information_slope(table: Matrix) -> Matrix:
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    some = product > 0
    ratio = np.divide(table, product, out=np.ones_like(table), where=some)
    slope: Matrix = np.log(np.maximum(ratio, _LEAST_RATIO))
    slope -= (table * slope).sum()
    return slope


def mutual_information(table: Matrix) -> float:
    """Return the mutual information of rows and columns, in nats, at least 0.

    table: Shares, float64 [rows, columns].
    """
    held = table / table.sum()
    product = np.outer(held.sum(axis=1), held.sum(axis=0))
    some = held > 0
    return max(float((held[some] * np.log(held[some] / product[some])).sum()), 0.0)


def most_information(table: Matrix) -> float:
    """Return the largest mutual information of a table of so many rows and columns, in nats."""
    return math.log(min(table.shape))


def information_text(table: Matrix, interval: tuple[float, float] | None) -> str:
    """Return the mutual information of a table in words.

    Where only its lower end is known, that is said alone. The table is smooth, and its own value
    may be far from that of the people.

    table: Shares, float64 [rows, columns].
    """
    own = estimate_text(mutual_information(table), 2)
    if interval is None:
        return f"{own} nats"
    low, high = interval
    if high >= most_information(table):
        return f"at least {least_text(low)} nats"
    return f"{own} nats ({estimate_text(low, 2)} to {estimate_text(high, 2)})"
