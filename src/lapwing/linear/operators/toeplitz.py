"""A bump of any shape that slides along a line, on a constant floor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.operators.operator import Operator


class SlidingTable(Operator):
    """Entry (j, i) is ``table[j - i]`` when ``0 <= j - i < table.size``, else `outside`.

    Shape ``[size + table.size - 1, size]``: a banded Toeplitz matrix plus a constant. With a
    constant table it is :class:`lapwing.linear.operators.banded.SlidingWindow`, which is faster.

    Parameters
    ----------
    size : int
        Points of the grid.
    table : numpy.ndarray
        float64 [width], the values in the window of an input.
    outside : float
        The value elsewhere.

    Notes
    -----
    The difference between the table and the floor is convolved by a real FFT of the length of
    the output or a little more: O(size log size) per product for any width. Rounding errors are
    about 1e-16 of the largest entry of the product, so small entries lose digits; the floor is
    added after the FFT and keeps products with positive vectors positive.
    """

    def __init__(self, size: int, *, table: NDArray[np.float64], outside: float) -> None:
        table = np.array(table, dtype=np.float64)
        table.flags.writeable = False
        super().__init__((size + table.size - 1, size))
        self.size = size
        self.table = table
        self.outside = outside
        # The transform must hold the whole output, or its end would wrap on to its start.
        self._length = _smooth_length(self.shape[0])
        self._spectrum = np.fft.rfft(table - outside, self._length)

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        spectrum = self._spectrum.reshape(-1, *(1,) * (x.ndim - 1))
        transformed = np.fft.rfft(x, self._length, axis=0)
        raised = np.fft.irfft(spectrum * transformed, self._length, axis=0)
        product: NDArray[np.float64] = raised[: self.shape[0]] + self.outside * x.sum(axis=0)
        return product

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        spectrum = self._spectrum.conj().reshape(-1, *(1,) * (r.ndim - 1))
        transformed = np.fft.rfft(r, self._length, axis=0)
        raised = np.fft.irfft(spectrum * transformed, self._length, axis=0)
        product: NDArray[np.float64] = raised[: self.size] + self.outside * r.sum(axis=0)
        return product

    def weighted_gram(self, weights: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
        """Return entries (i, i + lag) of ``M' diag(weights) M``: float64 [lags, size].

        Two bumps that overlap multiply to a table of its own for each lag, which slides along
        the weights: O(lags size log size).
        """
        bump = self.table - self.outside
        products = np.zeros((lags, bump.size))
        for lag in range(min(lags, bump.size)):
            products[lag, lag:] = bump[lag:] * bump[: bump.size - lag]
        spectra = np.fft.rfft(products, self._length, axis=1).conj()
        spectra *= np.fft.rfft(weights, self._length)
        bands: NDArray[np.float64] = np.fft.irfft(spectra, self._length, axis=1)[:, : self.size]
        # Each bump on the floor of the other, and both floors.
        total = weights.sum()
        single = self.outside * (self._rmatvec(weights) - self.outside * total)
        for lag in range(min(lags, self.size)):
            inside = self.size - lag
            bands[lag, :inside] += single[:inside] + single[lag:] + self.outside**2 * total
            bands[lag, inside:] = 0.0
        bands[self.size :] = 0.0
        return bands


def _smooth_length(least: int) -> int:
    """Return the smallest number at least this with no prime factor above 5: fast to transform."""
    length = least
    while True:
        rest = length
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 1
