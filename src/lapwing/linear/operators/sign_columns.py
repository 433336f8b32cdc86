"""A matrix of two values in every column, kept as bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import Operator
from lapwing.linear.operators.random_signs import ones_per_column, unpacked

_KEPT = 2**24
"""Entries up to which the bits are kept as floats (128 MB), which makes products several times
as fast."""

_AT_ONCE = 2**22


class SignColumns(Operator):
    """Column x is ``inside[x]`` where its bit is one and ``outside[x]`` elsewhere.

    The mean of compressive privatization: the bits say which outputs are near a value. O(rows
    columns) per product; a bit per entry of memory, and eight bytes for matrices of up to 2^24
    entries once they are multiplied.

    Parameters
    ----------
    packed : numpy.ndarray
        uint8 [columns, ceil(rows / 8)]; bit ``j % 8`` of byte ``j // 8`` is row j.
    rows : int
    inside, outside : numpy.ndarray
        float64 [columns].
    """

    def __init__(
        self, packed: NDArray[np.uint8], rows: int, *, inside: Vector, outside: Vector
    ) -> None:
        super().__init__((rows, packed.shape[0]))
        self.packed = packed
        self.inside = inside
        self.outside = outside

    @cached_property
    def _floats(self) -> Vector:
        return unpacked(self.packed, self.shape[0]).astype(np.float64)

    @property
    def ones(self) -> NDArray[np.int64]:
        """Ones in every column: int64 [columns]."""
        return ones_per_column(self.packed)

    def column(self, number: int) -> Vector:
        """Return one column: float64 [rows], O(rows)."""
        bits = unpacked(self.packed[number : number + 1], self.shape[0])[0]
        column: Vector = np.where(bits, self.inside[number], self.outside[number])
        return column

    def _parts(self) -> Iterator[tuple[slice, Vector]]:
        """Yield the bits as floats [some columns, rows], with the columns that they are."""
        rows, columns = self.shape
        if rows * columns <= _KEPT:
            yield slice(0, columns), self._floats
            return
        step = max(1, _AT_ONCE // rows)
        for start in range(0, columns, step):
            where = slice(start, min(columns, start + step))
            yield where, unpacked(self.packed[where], rows).astype(np.float64)

    # Transposed, a vector and the rows of a matrix are multiplied alike.
    def _matmat(self, x: Vector) -> Vector:
        gap = ((self.inside - self.outside) * x.T).T
        product = np.zeros((self.shape[0], *x.shape[1:]))
        for where, bits in self._parts():
            product += bits.T @ gap[where]
        product += self.outside @ x
        return product

    def _rmatmat(self, r: Vector) -> Vector:
        product: Vector = np.multiply.outer(self.outside, r.sum(axis=0))
        for where, bits in self._parts():
            product[where] += ((self.inside - self.outside)[where] * (bits @ r).T).T
        return product

    def squared_entries(self) -> SignColumns:
        """Return the matrix of squared entries."""
        squared = SignColumns(
            self.packed, self.shape[0], inside=self.inside**2, outside=self.outside**2
        )
        if "_floats" in self.__dict__:
            squared.__dict__["_floats"] = self._floats
        return squared

    def weighted_gram(self, weights: Vector, lags: int) -> Vector:
        """Return the entries (i, i + lag) of ``M' diag(weights) M``: float64 [lags, columns]."""
        columns = self.shape[1]
        gap, total = self.inside - self.outside, weights.sum()
        sums = np.concatenate([bits @ weights for _, bits in self._parts()])
        bands = np.zeros((lags, columns))
        for lag in range(min(lags, columns)):
            one, two = slice(0, columns - lag), slice(lag, columns)
            both = self._shared(lag, weights)
            bands[lag, one] = gap[one] * gap[two] * both
            bands[lag, one] += gap[one] * self.outside[two] * sums[one]
            bands[lag, one] += self.outside[one] * gap[two] * sums[two]
            bands[lag, one] += self.outside[one] * self.outside[two] * total
        return bands

    def _shared(self, lag: int, weights: Vector) -> Vector:
        """Return the weight of the rows that columns i and i + lag share."""
        rows, columns = self.shape
        both = self.packed[: columns - lag] & self.packed[lag:]
        step = max(1, _AT_ONCE // rows)
        parts = [
            unpacked(both[start : start + step], rows) @ weights
            for start in range(0, columns - lag, step)
        ]
        return np.concatenate(parts)
