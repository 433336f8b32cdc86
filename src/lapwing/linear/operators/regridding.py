"""Bins on another grid: symbols added up to coarse cells, bins spread over finer points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.operators.operator import Numbers, Operator, as_operator


def cell_of(size: int, cells: int) -> NDArray[np.int64]:
    """Return the cell of every symbol: int64 [size], ``symbol * cells // size``."""
    return np.arange(size, dtype=np.int64) * cells // size


class Coarsened(Operator):
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
        super().__init__((rows, size))
        self.inner = as_operator(inner)
        self.cell = cell_of(size, cells)
        self._starts = np.searchsorted(self.cell, np.arange(cells))

    @property
    def on_cells(self) -> Operator:
        """The operator on cells: a report depends on the cell alone."""
        return self.inner

    def cell_totals(self, entries: Numbers) -> Numbers:
        """Return the sums over cells: [cells]."""
        sums: Numbers = np.add.reduceat(entries, self._starts)
        return sums

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.matmat(np.add.reduceat(x, self._starts, axis=0))

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.rmatmat(r)[self.cell]

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner._matvec(np.add.reduceat(x.reshape(-1), self._starts))

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner._rmatvec(r.reshape(-1))[self.cell]

    def weighted_gram(self, weights: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
        """Return the entries (i, i + lag) of ``M' diag(weights) M``: float64 [lags, size].

        Those of the inner operator, read at the cells of the two symbols.
        """
        size = self.cell.size
        reach = min(lags - 1, size - 1)
        apart = int((self.cell[reach:] - self.cell[: size - reach]).max()) + 1
        inner = self.inner.weighted_gram(weights, apart)
        bands = np.zeros((lags, size))
        for lag in range(reach + 1):
            first, second = self.cell[: size - lag], self.cell[lag:]
            bands[lag, : size - lag] = inner[second - first, first]
        return bands


class Repeated(Operator):
    """Entry (j, i) is ``1 / times`` when ``j // times == i``; shape ``[size * times, size]``.

    Parameters
    ----------
    size : int
        Bins.
    times : int
        Points of the fine grid in a bin.
    """

    def __init__(self, size: int, *, times: int) -> None:
        super().__init__((size * times, size))
        self.size = size
        self.times = times

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.repeat(x / self.times, self.times, axis=0)

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = r.reshape(self.size, self.times, *r.shape[1:]).mean(axis=1)
        return means
