"""The square root of the matrix of prefix sums: the best-known way to ask for them all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.memoized import cached_property, memoized
from lapwing.linear.operators.operator import Operator

UNIT = 2**20
"""Entries are whole multiples of 1 / UNIT: the rounded matrix is the strategy, exactly."""


@memoized(most=8)
def coefficients(size: int) -> NDArray[np.int64]:
    """Return ``UNIT * f_k``, rounded: int64 [size]; ``f_0 = 1, f_k = f_(k-1) (2 k - 1) / (2 k)``.

    The power series of ``(1 - x)^(-1/2)``, whose square is ``1 + x + x^2 + ...``.
    """
    k = np.arange(1, size)
    ratios = np.concatenate([[1.0], (2 * k - 1) / (2 * k)])
    rounded: NDArray[np.int64] = np.rint(np.cumprod(ratios) * UNIT).astype(np.int64)
    rounded.flags.writeable = False
    return rounded


class SquareRootSums(Operator):
    """Entry (i, j) is ``UNIT f_(i - j)`` for i >= j, else 0; up to rounding, a root of prefix sums.

    ``A (A x) / UNIT^2`` is the cumulative sum of x, but for the rounding of its entries. Shape
    [size, size]; products by FFT, O(size log size).
    """

    def __init__(self, size: int) -> None:
        super().__init__((size, size))
        self.size = size

    @cached_property
    def _spectrum(self) -> NDArray[np.complex128]:
        return np.fft.rfft(coefficients(self.size).astype(np.float64), 2 * self.size)

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        spectrum = np.fft.rfft(x, 2 * self.size, axis=0)
        spectrum *= self._spectrum.reshape(-1, *([1] * (x.ndim - 1)))
        return np.fft.irfft(spectrum, 2 * self.size, axis=0)[: self.size]

    def _rmatmat(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._matmat(y[::-1])[::-1]

    def inverse(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return x with ``A x = y``: float64 [size] or [size, columns].

        The inverse is a lower-triangular Toeplitz matrix too; its first column is found once, by
        doubling (Newton's iteration on power series).
        """
        spectrum = np.fft.rfft(y, 2 * self.size, axis=0)
        spectrum *= self._inverse_spectrum.reshape(-1, *([1] * (y.ndim - 1)))
        return np.fft.irfft(spectrum, 2 * self.size, axis=0)[: self.size]

    @cached_property
    def _inverse_spectrum(self) -> NDArray[np.complex128]:
        column = coefficients(self.size) / UNIT
        inverse = np.array([1.0])
        while inverse.size < self.size:
            length = min(2 * inverse.size, self.size)
            product = _product(column[:length], inverse, length)
            correction = -product
            correction[0] += 2
            inverse = _product(inverse, correction, length)
        return np.fft.rfft(inverse / UNIT, 2 * self.size)


def _product(
    first: NDArray[np.float64], second: NDArray[np.float64], length: int
) -> NDArray[np.float64]:
    """Return the first terms of the product of two power series."""
    full = np.fft.irfft(
        np.fft.rfft(first, 2 * length) * np.fft.rfft(second, 2 * length), 2 * length
    )
    return full[:length]
