"""How two attributes depend on each other: correlations and mutual information of a table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.domains.product import Product

Statistic = Callable[[Matrix], float]
"""A number that says how rows and columns of a table depend on each other."""

_STEP = 0.05
"""Part of a draw along which a slope is taken."""


def correlation_of(domain: Product, kind: str) -> Statistic:
    """Return the correlation of the values at the middles of their bins, or of their ranks.

    Raises
    ------
    DomainError
        When an axis has no order, or is a circle.
    ArgumentError
        When the kind is neither "pearson" nor "spearman".
    """
    places = []
    for name, axis in domain.axes.items():
        if not axis.ordered or axis.circular:
            raise DomainError(
                f"axis {name} has no order on a line, so no correlation. Ask for the mutual "
                "information"
            )
        places.append((axis.left + axis.right) / 2)
    first, second = places
    if kind == "pearson":
        return lambda table: pearson(table, first, second)
    if kind == "spearman":
        return lambda table: spearman(table[: first.size, : second.size])
    raise ArgumentError(f"kind must be 'pearson' or 'spearman', got {kind!r}")


def deviation(statistic: Statistic, table: Matrix, draws: NDArray[np.floating]) -> float:
    """Return the standard deviation of a statistic, from its slope along each draw.

    Parameters
    ----------
    statistic : callable
    table : numpy.ndarray
        Shares, float64 [rows, columns].
    draws : numpy.ndarray
        Deviations of the shares, [draws, rows, columns].
    """
    slopes = []
    for draw in draws:
        ahead = statistic(np.maximum(table + _STEP * draw, 0.0))
        behind = statistic(np.maximum(table - _STEP * draw, 0.0))
        slopes.append((ahead - behind) / (2 * _STEP))
    return float(np.sqrt(np.mean(np.square(slopes))))


def pearson(table: Matrix, first: Vector, second: Vector) -> float:
    """Return the correlation of two numbers.

    Parameters
    ----------
    table : numpy.ndarray
        Shares, float64 [rows, columns]. Rows and columns beyond the places are left out.
    first, second : numpy.ndarray
        Place of each row and of each column.

    Returns
    -------
    float
        In [-1, 1].

    Raises
    ------
    ArgumentError
        When one of the numbers does not vary.
    """
    held = table[: first.size, : second.size]
    held = held / held.sum()
    rows, columns = held.sum(axis=1), held.sum(axis=0)
    one, other = first - rows @ first, second - columns @ second
    spread = float((rows @ one**2) * (columns @ other**2))
    if spread <= 0:
        raise ArgumentError("a correlation needs two attributes that vary. One has a single value")
    return float(np.clip(one @ held @ other / np.sqrt(spread), -1.0, 1.0))


def spearman(table: Matrix) -> float:
    """Return the correlation of the ranks, where all values of a bin share their mean rank.

    Parameters
    ----------
    table : numpy.ndarray
        Shares, float64 [rows, columns].

    Returns
    -------
    float
        In [-1, 1].
    """
    held = table / table.sum()
    rows, columns = held.sum(axis=1), held.sum(axis=0)
    return pearson(held, np.cumsum(rows) - rows / 2, np.cumsum(columns) - columns / 2)


def mutual_information(table: Matrix) -> float:
    """Return the mutual information of rows and columns, in nats.

    Parameters
    ----------
    table : numpy.ndarray
        Shares, float64 [rows, columns].

    Returns
    -------
    float
        At least 0.
    """
    held = table / table.sum()
    product = np.outer(held.sum(axis=1), held.sum(axis=0))
    some = held > 0
    return max(float((held[some] * np.log(held[some] / product[some])).sum()), 0.0)
