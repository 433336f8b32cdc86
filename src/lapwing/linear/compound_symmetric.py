"""The matrix with one value on its diagonal and another everywhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator


class CompoundSymmetric(LinearOperator):  # type: ignore[misc]
    """``(diagonal - off_diagonal) I + off_diagonal J`` with J all ones; O(size) per product.

    The mean of a generalised randomised response or of a unary encoding. It is circulant, and
    its inverse is of the same kind.

    Parameters
    ----------
    size : int
        Rows and columns, at least 1.
    diagonal, off_diagonal : float
    """

    def __init__(self, size: int, *, diagonal: float, off_diagonal: float) -> None:
        super().__init__(np.dtype(np.float64), (size, size))
        self.size = size
        self.diagonal = diagonal
        self.off_diagonal = off_diagonal

    @property
    def kernel(self) -> NDArray[np.float64]:
        """First column, which determines a circulant matrix: float64 [size]."""
        kernel = np.full(self.size, self.off_diagonal)
        kernel[0] = self.diagonal
        return kernel

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        x = x.reshape(self.size)
        gap = self.diagonal - self.off_diagonal
        product: NDArray[np.float64] = gap * x + self.off_diagonal * x.sum()
        return product

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        gap = self.diagonal - self.off_diagonal
        product: NDArray[np.float64] = gap * x + self.off_diagonal * x.sum(axis=0)
        return product

    _rmatvec = _matvec
    _rmatmat = _matmat

    def _adjoint(self) -> Any:
        return self

    def inverse(self) -> CompoundSymmetric:
        """Return the inverse matrix.

        Raises
        ------
        ZeroDivisionError
            When the matrix is singular: the two values agree, or the rows sum to zero.

        Notes
        -----
        ``(a I + b J)^-1 = I / a - b / (a (a + size b)) J``.
        """
        gap = self.diagonal - self.off_diagonal
        row = gap + self.size * self.off_diagonal
        off = -self.off_diagonal / (gap * row)
        return CompoundSymmetric(self.size, diagonal=1 / gap + off, off_diagonal=off)

    def squared_entries(self) -> CompoundSymmetric:
        """Return the matrix of squared entries."""
        return CompoundSymmetric(
            self.size, diagonal=self.diagonal**2, off_diagonal=self.off_diagonal**2
        )

    def weighted_gram(self, weights: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
        """Return the entries (i, i + lag) of ``M diag(weights) M``: float64 [lags, size]."""
        gap, off = self.diagonal - self.off_diagonal, self.off_diagonal
        total = weights.sum()
        bands = np.zeros((lags, self.size))
        bands[0] = gap * (gap + 2 * off) * weights + off**2 * total
        for lag in range(1, min(lags, self.size)):
            pairs = weights[:-lag] + weights[lag:]
            bands[lag, :-lag] = gap * off * pairs + off**2 * total
        return bands
