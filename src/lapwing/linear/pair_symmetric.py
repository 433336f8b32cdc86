"""Symbols in pairs: one value for the symbol itself, one for its partner, one for all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator


class PairSymmetric(LinearOperator):  # type: ignore[misc]
    """Entry (s, t) is `own` for s = t, `opposite` for the two of one pair, else `other`.

    Symbols ``2k`` and ``2k + 1`` are a pair. The matrix is symmetric; O(pairs) per product.

    Parameters
    ----------
    pairs : int
        At least 1; the matrix has twice as many rows and columns.
    own, opposite, other : float
    """

    def __init__(self, pairs: int, *, own: float, opposite: float, other: float) -> None:
        super().__init__(np.dtype(np.float64), (2 * pairs, 2 * pairs))
        self.pairs = pairs
        self.own = own
        self.opposite = opposite
        self.other = other

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        paired = x.reshape(self.pairs, 2, -1)
        product = (self.own - self.other) * paired
        product += (self.opposite - self.other) * paired[:, ::-1]
        product += self.other * paired.sum(axis=(0, 1))
        return product.reshape(x.shape)

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._matmat(x.reshape(-1))

    _rmatmat = _matmat
    _rmatvec = _matvec

    def _adjoint(self) -> Any:
        return self
