"""What weighted counts say about the symbols, ``M' diag(weights) M``, and its near diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

_CHUNK = 256
"""Columns of a matrix without structure that are looked at together."""


class WeightedInformation(LinearOperator):  # type: ignore[misc]
    """The symmetric matrix ``M' diag(weights) M`` of an operator M.

    Parameters
    ----------
    operator : LinearOperator
        Shape [outputs, size].
    weights : numpy.ndarray
        float64 [outputs], not negative.
    """

    def __init__(self, operator: LinearOperator, weights: NDArray[np.float64]) -> None:
        size = operator.shape[1]
        super().__init__(np.dtype(np.float64), (size, size))
        self.operator = operator
        self.weights = weights

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.operator.rmatvec(
            self.weights * self.operator.matvec(x.ravel())
        )
        return product

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.operator.rmatmat(
            self.weights[:, None] * self.operator.matmat(x)
        )
        return product

    _rmatvec = _matvec
    _rmatmat = _matmat

    def _adjoint(self) -> Any:
        return self

    def near_diagonal(self, lags: int) -> NDArray[np.float64]:
        """Return the entries (i, i + lag): float64 [lags, size], zeros where they would leave.

        Parameters
        ----------
        lags : int
            At least 1; the first row is the diagonal.

        Notes
        -----
        An operator that has a method ``weighted_gram(weights, lags)`` is asked: windows, circulant
        and compound-symmetric matrices and their coarsenings answer in O(lags (outputs + size)),
        sliding tables with a logarithm more.
        For others the matrix M is made a few columns at a time: O(lags outputs size).
        """
        if hasattr(self.operator, "weighted_gram"):
            bands: NDArray[np.float64] = self.operator.weighted_gram(self.weights, lags)
            return bands
        size = self.shape[1]
        bands = np.zeros((lags, size))
        for start in range(0, size, _CHUNK):
            columns = self.operator.matmat(_unit_columns(size, start, _CHUNK + lags - 1))
            first = self.weights[:, None] * columns[:, :_CHUNK]
            for lag in range(min(lags, columns.shape[1])):
                other = columns[:, lag : lag + first.shape[1]]
                width = other.shape[1]
                bands[lag, start : start + width] = (first[:, :width] * other).sum(axis=0)
        return bands

    def diagonal(self) -> NDArray[np.float64]:
        """Return the diagonal: float64 [size]."""
        diagonal: NDArray[np.float64] = self.near_diagonal(1)[0]
        return diagonal


def near_diagonal(matrix: LinearOperator, lags: int) -> NDArray[np.float64]:
    """Return the entries (i, i + lag) of any square operator: float64 [lags, size].

    As :meth:`WeightedInformation.near_diagonal`; other operators are made a few columns at a
    time, O(size) products.
    """
    if isinstance(matrix, WeightedInformation):
        return matrix.near_diagonal(lags)
    size = matrix.shape[1]
    bands = np.zeros((lags, size))
    for start in range(0, size, _CHUNK):
        # Column k holds the entries (k - lag, k).
        columns = matrix.matmat(_unit_columns(size, start, _CHUNK))
        place = np.arange(start, start + columns.shape[1])
        for lag in range(min(lags, size)):
            inside = place >= lag
            bands[lag, place[inside] - lag] = columns[place[inside] - lag, place[inside] - start]
    return bands


def _unit_columns(size: int, start: int, number: int) -> NDArray[np.float64]:
    """Return columns start, start + 1, ... of the identity, as far as there are any."""
    return np.eye(size, min(number, size - start), -start)
