"""The Walsh-Hadamard transform, and the channel of one signed bit in a random row of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.operator import Operator, SymmetricOperator

_RADIX = 32
"""Rows of the blocks: with more, multiplications cost more than the calls they save."""

_BLOCK: Vector = hadamard(_RADIX).astype(np.float64)


def is_power_of_two(number: int) -> bool:
    """Return whether a whole number is 1, 2, 4, 8, ..."""
    return number >= 1 and number & (number - 1) == 0


def hadamard_parity(row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0 where the entry of the Hadamard matrix is +1 and 1 where it is -1."""
    parity: NDArray[np.int64] = np.bitwise_count(row & column).astype(np.int64) & 1
    return parity


class WalshHadamard(SymmetricOperator):
    """The symmetric matrix with entries ``(-1)^popcount(row & column)``.

    Its square is ``size`` times the identity. It is the Kronecker product of small matrices of
    its own kind, which are multiplied by one after the other: O(size log size) per product.

    Parameters
    ----------
    size : int
        A power of two.
    """

    def __init__(self, size: int) -> None:
        if not is_power_of_two(size):
            raise ValueError(f"a Hadamard transform needs a power of two, got {size}")
        super().__init__((size, size))
        self.size = size

    def _matmat(self, x: Vector) -> Vector:
        transformed = np.array(x, dtype=np.float64)
        step = 1
        while step < self.size:
            radix = min(_RADIX, self.size // step)
            groups = transformed.reshape(-1, radix, step * (x.size // self.size))
            transformed = _BLOCK[:radix, :radix] @ groups
            step *= radix
        return transformed.reshape(x.shape)


class HadamardAgreement(Operator):
    """From signed indices to (row, sign): `inside` where the row's sign of the index is the sign.

    Input cell c stands for index ``c // 2``, positive when c is even; output ``2 row + b`` for a
    row and the sign +1 (b = 0) or -1. Agreement depends on the input only through the difference
    of the two cells of each index, so a product is one Walsh-Hadamard transform.

    Parameters
    ----------
    rows : int
        A power of two.
    inside, outside : float
    place : numpy.ndarray, optional
        int64 [inputs], the different cells of the inputs, in 0..2 rows - 1. Default: all cells.
    """

    def __init__(
        self,
        rows: int,
        *,
        inside: float,
        outside: float,
        place: NDArray[np.int64] | None = None,
    ) -> None:
        self.transform = WalshHadamard(rows)
        self.place = np.arange(2 * rows) if place is None else place
        super().__init__((2 * rows, self.place.size))
        self.rows = rows
        self.inside = inside
        self.outside = outside

    def _signed(self, pairs: Vector, total: Vector) -> Vector:
        difference = pairs[0::2] - pairs[1::2]
        spectrum = (self.inside - self.outside) / 2 * self.transform._matmat(difference)
        mean = (self.inside + self.outside) / 2 * total
        product = np.empty_like(pairs)
        product[0::2] = mean + spectrum
        product[1::2] = mean - spectrum
        return product

    def _matmat(self, x: Vector) -> Vector:
        cells = np.zeros((2 * self.rows, *x.shape[1:]))
        cells[self.place] = x
        return self._signed(cells, x.sum(axis=0))

    def _rmatmat(self, r: Vector) -> Vector:
        # The matrix of all cells is symmetric: agreement is mutual.
        return self._signed(np.asarray(r, dtype=np.float64), r.sum(axis=0))[self.place]

    def differences(self, rates: Vector) -> Vector:
        """Return the difference of the two cells of each index that gives these mean counts.

        Parameters
        ----------
        rates : numpy.ndarray
            float64 [2 rows]: counts of the outputs per report.

        Returns
        -------
        numpy.ndarray
            float64 [rows]; unbiased, because it is linear.
        """
        product: Vector = self.transform._matmat(rates[0::2] - rates[1::2])
        product /= self.rows * (self.inside - self.outside)
        return product
