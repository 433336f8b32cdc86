"""Counts of the entries before chosen places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

Vector = NDArray[np.float64]


class PrefixCounts(LinearOperator):  # type: ignore[misc]
    """Entry (r, i) is 1 when i lies before place r, else 0. Shape [places, size].

    Parameters
    ----------
    places : sequence of int
        Each in 0..size, in any order.
    size : int
    """

    def __init__(self, places: Sequence[int], size: int) -> None:
        self.places = np.array(places, dtype=np.int64)
        if self.places.size == 0 or self.places.min() < 0 or self.places.max() > size:
            raise ValueError("places must lie in 0..size, at least one of them")
        super().__init__(np.dtype(np.float64), (self.places.size, size))

    def _matmat(self, x: Vector) -> Vector:
        sums = np.concatenate([np.zeros((1, *x.shape[1:])), np.cumsum(x, axis=0)])
        picked: Vector = sums[self.places]
        return picked

    def _matvec(self, x: Vector) -> Vector:
        return self._matmat(x.reshape(-1))

    def _rmatmat(self, y: Vector) -> Vector:
        added = np.zeros((self.shape[1] + 1, *y.shape[1:]))
        np.add.at(added, self.places, y)
        spread: Vector = np.cumsum(added[::-1], axis=0)[::-1][1:]
        return spread

    def _rmatvec(self, y: Vector) -> Vector:
        return self._rmatmat(y.reshape(-1))
