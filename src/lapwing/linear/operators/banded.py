"""Kernels that slide along a line or a circle: boxes, convolutions and bumps of any shape.

:class:`SlidingWindow` is the mean of a square wave, in O(size) by prefix sums. It works on a grid
of points (the value is put on the grid before it is randomized).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import running_sums
from lapwing.linear.operators.operator import Operator


class SlidingWindow(Operator):
    """Entry (j, i) is `inside` when ``i <= j <= i + width - 1``, else `outside`.

    Shape ``[size + width - 1, size]``: output j is the point ``j - (width - 1) / 2`` of the grid,
    so an input reaches the outputs at most ``(width - 1) / 2`` from it.

    size: Points of the grid.
    width: Outputs in the window of an input, in 1..size or more.
    inside, outside: The two values.

    Both products need one prefix sum and two differences of it. Relative rounding error about
    size * 1e-16. Products with one vector run compiled, those with a matrix in NumPy: they are
    each other's reference in the tests.
    """

    def __init__(self, size: int, *, width: int, inside: float, outside: float) -> None:
        super().__init__((size + width - 1, size))
        self.size = size
        self.width = width
        self.inside = inside
        self.outside = outside

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        size, width = self.size, self.width
        gap = self.inside - self.outside
        sums = running_sums(x)
        total = sums[-1]
        out: NDArray[np.float64] = np.empty((size + width - 1, *x.shape[1:]))
        out[:size] = sums
        out[size:] = total
        out[width:] -= sums[: size - 1]
        out *= gap
        out += self.outside * total
        return out

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        size, width = self.size, self.width
        gap = self.inside - self.outside
        sums = running_sums(r)
        out: NDArray[np.float64] = sums[width - 1 :].copy()
        out[1:] -= sums[: size - 1]
        out *= gap
        out += self.outside * sums[-1]
        return out

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.empty(self.size + self.width - 1)
        _loops()[0](_row(x), self.width, self.inside - self.outside, self.outside, out)
        return out

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        gap = self.inside - self.outside
        sums, out = np.empty(self.size + self.width - 1), np.empty(self.size)
        _loops()[1](_row(r), self.width, gap, self.outside, sums, out)
        return out

    def weighted_gram(self, weights: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
        """Return the entries (i, i + lag) of ``M' diag(weights) M``: float64 [lags, size].

        O(lags * size): two windows that are `lag` apart share a window of ``width - lag``.
        """
        size, width = self.size, self.width
        gap = self.inside - self.outside
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        end = sums[width:]
        single = end - sums[:size]
        bands = np.zeros((lags, size))
        for lag in range(min(lags, size)):
            pairs = size - lag
            band = self.outside * gap * (single[:pairs] + single[lag:])
            if lag < width:
                band += gap**2 * (end[:pairs] - sums[lag:size])
            bands[lag, :pairs] = band + self.outside**2 * sums[-1]
        return bands


@cache
def _loops() -> list[Callable[..., None]]:
    """Compile the loops when first needed: a device that only randomizes never imports numba."""
    from lapwing.linear.compiled_kernel import compiled

    return [compiled()(loop) for loop in (_slide, _slide_adjoint)]


def _slide(x: Any, width: Any, gap: Any, outside: Any, out: Any) -> None:  # pragma: no cover
    """Write the product of a sliding window with x into out.

    gap: inside - outside.
    """
    # The prefix sum is kept in `out` itself. Its entries from `width` on are then turned into
    # differences, last one first, so that none is overwritten before it is read.
    size = x.shape[0]
    total = 0.0
    for i in range(size):
        total += x[i]
        out[i] = total
    base = outside * total
    for j in range(size, size + width - 1):
        out[j] = total
    for j in range(size + width - 2, width - 1, -1):
        out[j] = gap * (out[j] - out[j - width]) + base
    for j in range(width):
        out[j] = gap * out[j] + base


def _slide_adjoint(  # pragma: no cover
    r: Any, width: Any, gap: Any, outside: Any, sums: Any, out: Any
) -> None:
    """Write the product of the adjoint with r into out. `sums` is scratch as long as r."""
    total = 0.0
    for j in range(r.shape[0]):
        total += r[j]
        sums[j] = total
    base = outside * total
    out[0] = gap * sums[width - 1] + base
    for i in range(1, out.shape[0]):
        out[i] = gap * (sums[i + width - 1] - sums[i - 1]) + base


def _row(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    plain = vector.dtype == np.float64 and vector.flags.c_contiguous
    return (vector if plain else np.array(vector, dtype=np.float64)).reshape(-1)


class Circulant(Operator):
    """Entry (j, i) is ``kernel[(j - i) mod size]``. O(size log size) per product.

    kernel: float64 [size], the first column.
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

    size: Points on the circle.
    width: Odd, at most `size`.
    """
    kernel = np.full(size, outside)
    half = width // 2
    kernel[: half + 1] = inside
    if half:
        kernel[-half:] = inside
    return Circulant(kernel)


class SlidingTable(Operator):
    """Entry (j, i) is ``table[j - i]`` when ``0 <= j - i < table.size``, else `outside`.

    Shape ``[size + table.size - 1, size]``: a banded Toeplitz matrix plus a constant. With a
    constant table it is :class:`lapwing.linear.operators.banded.SlidingWindow`, which is faster.

    size: Points of the grid.
    table: float64 [width], the values in the window of an input.
    outside: The value elsewhere.

    The difference between the table and the floor is convolved by a real FFT of the length of
    the output or a little more: O(size log size) per product for any width. Rounding errors are
    about 1e-16 of the largest entry of the product, so small entries lose digits. The floor is
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
