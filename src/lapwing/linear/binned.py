"""Fine symbols added up to coarse cells, before another operator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.information import WeightedInformation


def cell_of(size: int, cells: int) -> NDArray[np.int64]:
    """Return the cell of every symbol: int64 [size], ``symbol * cells // size``."""
    return np.arange(size, dtype=np.int64) * cells // size


class Coarsened(LinearOperator):  # type: ignore[misc]
    """An operator on cells, applied to symbols: people are in the cell that holds their symbol.

    Shape ``[inner rows, size]``; one addition per symbol on top of the inner product.

    Parameters
    ----------
    inner : LinearOperator
        Its columns are the cells.
    size : int
        Symbols, at least as many as cells; cells differ by at most one symbol.
    """

    def __init__(self, inner: LinearOperator, *, size: int) -> None:
        rows, cells = inner.shape
        super().__init__(np.dtype(np.float64), (rows, size))
        self.inner = inner
        self.cell = cell_of(size, cells)
        self._starts = np.searchsorted(self.cell, np.arange(cells))

    def count(self, people: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many people are in each cell: int64 [cells]."""
        sums: NDArray[np.int64] = np.add.reduceat(people, self._starts)
        return sums

    def total(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mass of each cell: float64 [cells]."""
        sums: NDArray[np.float64] = np.add.reduceat(mass, self._starts)
        return sums

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.inner.matmat(np.add.reduceat(x, self._starts, axis=0))
        return product

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.inner.rmatmat(r)[self.cell]
        return product

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.inner._matvec(
            np.add.reduceat(x.reshape(-1), self._starts)
        )
        return product

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.inner._rmatvec(r.reshape(-1))[self.cell]
        return product

    def weighted_gram(self, weights: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
        """Return the entries (i, i + lag) of ``M' diag(weights) M``: float64 [lags, size].

        Those of the inner operator, read at the cells of the two symbols.
        """
        size = self.cell.size
        reach = min(lags - 1, size - 1)
        apart = int((self.cell[reach:] - self.cell[: size - reach]).max()) + 1
        inner = WeightedInformation(self.inner, weights).near_diagonal(apart)
        bands = np.zeros((lags, size))
        for lag in range(reach + 1):
            first, second = self.cell[: size - lag], self.cell[lag:]
            bands[lag, : size - lag] = inner[second - first, first]
        return bands
