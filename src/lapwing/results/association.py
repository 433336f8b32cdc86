"""How two attributes depend on each other: correlations and mutual information of a table."""

from __future__ import annotations

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector


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
