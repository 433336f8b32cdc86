"""Circular convolution: every column is the first one, shifted round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.operators.operator import Operator


class Circulant(Operator):
    """Entry (j, i) is ``kernel[(j - i) mod size]``; O(size log size) per product.

    Parameters
    ----------
    kernel : numpy.ndarray
        float64 [size], the first column.
    """

    def __init__(self, kernel: NDArray[np.float64]) -> None:
        kernel = np.array(kernel, dtype=np.float64)
        kernel.flags.writeable = False
        super().__init__((kernel.size, kernel.size))
        self.size = kernel.size
        self._kernel = kernel
        self.spectrum = np.fft.rfft(kernel)

    @property
    def kernel(self) -> NDArray[np.float64]:
        """First column: float64 [size], read-only."""
        return self._kernel

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        spectrum = self.spectrum.reshape(-1, *(1,) * (x.ndim - 1))
        return np.fft.irfft(spectrum * np.fft.rfft(x, axis=0), self.size, axis=0)

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        spectrum = self.spectrum.conj().reshape(-1, *(1,) * (r.ndim - 1))
        return np.fft.irfft(spectrum * np.fft.rfft(r, axis=0), self.size, axis=0)

    def weighted_gram(self, weights: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
        """Return the entries (i, i + lag) of ``M' diag(weights) M``: float64 [lags, size].

        Each row is one product with the circulant matrix of the kernel times the kernel shifted.
        """
        bands = np.zeros((lags, self.size))
        for lag in range(min(lags, self.size)):
            shared = Circulant(self.kernel * np.roll(self.kernel, lag))
            bands[lag, : self.size - lag] = shared.rmatvec(weights)[: self.size - lag]
        return bands


def circular_window(size: int, *, width: int, inside: float, outside: float) -> Circulant:
    """Return the circulant matrix that is `inside` on a centered window of odd width.

    Parameters
    ----------
    size : int
        Points on the circle.
    width : int
        Odd, at most `size`.
    inside, outside : float
    """
    kernel = np.full(size, outside)
    half = width // 2
    kernel[: half + 1] = inside
    if half:
        kernel[-half:] = inside
    return Circulant(kernel)
