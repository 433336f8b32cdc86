"""Coarse bins on a finer grid: the mass of a bin spread evenly over its points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator


class Repeated(LinearOperator):  # type: ignore[misc]
    """Entry (j, i) is ``1 / times`` when ``j // times == i``; shape ``[size * times, size]``.

    Parameters
    ----------
    size : int
        Bins.
    times : int
        Points of the fine grid in a bin.
    """

    def __init__(self, size: int, *, times: int) -> None:
        super().__init__(np.dtype(np.float64), (size * times, size))
        self.size = size
        self.times = times

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.repeat(x / self.times, self.times, axis=0)

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = r.reshape(self.size, self.times, *r.shape[1:]).mean(axis=1)
        return means

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._matmat(x.reshape(self.size))

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._rmatmat(r.reshape(self.size * self.times))
