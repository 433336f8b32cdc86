"""Sums over cells of neighbouring entries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

Vector = NDArray[np.float64]


class CellSums(LinearOperator):  # type: ignore[misc]
    """Entry (c, i) is 1 when entry i lies in cell c, else 0. Shape [cells, size].

    Parameters
    ----------
    starts : sequence of int
        First entry of every cell, increasing from 0.
    size : int
        Entries.
    """

    def __init__(self, starts: Sequence[int], size: int) -> None:
        self.starts = np.array(starts, dtype=np.int64)
        self.lengths = np.diff(self.starts, append=size)
        if self.starts[0] != 0 or self.lengths.min() < 1:
            raise ValueError("the starts of cells must increase from 0 and lie below the size")
        super().__init__(np.dtype(np.float64), (len(starts), size))

    def _matmat(self, x: Vector) -> Vector:
        sums: Vector = np.add.reduceat(x, self.starts, axis=0)
        return sums

    def _matvec(self, x: Vector) -> Vector:
        return self._matmat(x.reshape(-1))

    def _rmatmat(self, y: Vector) -> Vector:
        spread: Vector = np.repeat(y, self.lengths, axis=0)
        return spread

    def _rmatvec(self, y: Vector) -> Vector:
        return self._rmatmat(y.reshape(-1))
