"""Random subsets of rows, one per column, from a public seed: any column on demand.

A column is drawn from the seed and its own number alone. A device that holds one value computes one
column, and the server computes all. The numbers are an AES-256-CTR keystream: column x takes the
blocks that start at ``x * blocks``. Nothing here is secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import Operator

LARGEST_SEED = 2**53 - 1
"""The largest whole number that JSON carries exactly in every language."""

_WORDS_AT_ONCE = 2**22
"""Numbers made at a time, so that temporary arrays stay small."""


def column_numbers(seed: int, start: int, stop: int, rows: int) -> NDArray[np.uint32]:
    """Return the random numbers of the columns start..stop-1: uint32 [stop - start, rows].

    seed: In 0..2^53-1, public.
    start, stop: Columns, at least 0.
    rows: Numbers of each column.

    The key is the SHA-256 of ``"lapwing columns <seed>"``, the counter a big-endian number of 128
    bits. A column takes ``ceil(rows / 4)`` blocks of four little-endian numbers.
    """
    blocks = (rows + 3) // 4
    key = hashlib.sha256(f"lapwing columns {seed}".encode()).digest()
    counter = modes.CTR((start * blocks).to_bytes(16, "big"))
    stream = (
        Cipher(algorithms.AES(key), counter).encryptor().update(bytes(16 * blocks * (stop - start)))
    )
    return np.frombuffer(stream, dtype="<u4").reshape(stop - start, 4 * blocks)[:, :rows]


def smallest(numbers: NDArray[np.uint32], ones: int) -> NDArray[np.bool_]:
    """Return where the `ones` smallest numbers of each column stand: bool [columns, rows].

    Of equal numbers the one in the lower row is smaller. So every column has the same number of
    ones. All such columns are equally likely but for ties, which have probability ``rows^2 /
    2^33``. Ties cost no privacy, which holds for every matrix.
    """
    rows = numbers.shape[1]
    keys = (numbers.astype(np.uint64) << np.uint64(32)) | np.arange(rows, dtype=np.uint64)
    last = np.partition(keys, ones - 1, axis=1)[:, ones - 1 : ones]
    return keys <= last


def random_columns(
    seed: int,
    columns: int,
    rows: int,
    *,
    ones: int | None = None,
    threshold: int | None = None,
    first: int = 0,
) -> NDArray[np.uint8]:
    """Return random columns as packed bits: uint8 [columns, ceil(rows / 8)].

    ones: Exactly so many ones in each column, in 1..rows-1.
    threshold: Instead: each entry is one with probability ``threshold / 2^32`` on its own.
    first: Number of the first column.
    returns: Bit ``j % 8`` of byte ``j // 8`` is row j.

    >>> packed = random_columns(1, 3, 8, ones=2)
    >>> np.array_equal(random_columns(1, 1, 8, ones=2, first=2), packed[2:])
    True
    """
    packed = np.empty((columns, (rows + 7) // 8), dtype=np.uint8)
    step = max(1, _WORDS_AT_ONCE // rows)
    for start in range(0, columns, step):
        stop = min(columns, start + step)
        numbers = column_numbers(seed, first + start, first + stop, rows)
        if ones is not None:
            held = smallest(numbers, ones)
        else:
            assert threshold is not None
            held = numbers < np.uint64(threshold)
        packed[start:stop] = np.packbits(held, axis=1, bitorder="little")
    return packed


def unpacked(packed: NDArray[np.uint8], rows: int) -> NDArray[np.uint8]:
    """Return packed columns as zeros and ones: uint8 [columns, rows]."""
    return np.unpackbits(packed, axis=1, count=rows, bitorder="little")


def ones_per_column(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of ones in every column: int64 [columns]."""
    counts: NDArray[np.int64] = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
    return counts


def coherence(packed: NDArray[np.uint8], rows: int) -> float:
    """Return the largest absolute correlation of two columns, in [0, 1].

    packed: uint8 [columns, ceil(rows / 8)], at least two columns.

    Columns are centered first, as a decoder sees them. A column that is constant says nothing, and
    counts as correlated with all. Near 1, two symbols cannot be distinguished. About
    ``sqrt(2 ln(columns^2) / rows)`` is what chance gives at half of the rows. O(columns^2 rows).
    """
    counts = ones_per_column(packed)
    if ((counts == 0) | (counts == rows)).any():
        return 1.0
    worst = 0.0
    centered = [_centered(part, rows) for part in _parts(packed, rows)]
    for number, left in enumerate(centered):
        for other in range(number, len(centered)):
            product = np.abs(left @ centered[other].T)
            if other == number:
                np.fill_diagonal(product, 0.0)
            worst = max(worst, float(product.max()))
    return min(worst, 1.0)


def _parts(packed: NDArray[np.uint8], rows: int) -> Iterator[NDArray[np.uint8]]:
    step = max(1, _WORDS_AT_ONCE // rows)
    for start in range(0, packed.shape[0], step):
        yield packed[start : start + step]


def _centered(part: NDArray[np.uint8], rows: int) -> NDArray[np.float32]:
    # Single precision: seven digits of a correlation are enough, at twice the speed.
    columns = unpacked(part, rows).astype(np.float32)
    columns -= columns.mean(axis=1, keepdims=True)
    columns /= np.linalg.norm(columns, axis=1, keepdims=True)
    return columns


_KEPT = 2**24
"""Entries up to which the bits are kept as floats (128 MB), for faster products."""

_AT_ONCE = 2**22


class SignColumns(Operator):
    """Column x is ``inside[x]`` where its bit is one and ``outside[x]`` elsewhere.

    The mean of compressive privatization: the bits say which outputs are near a value. O(rows
    columns) per product. A bit per entry of memory, and eight bytes for matrices of up to 2^24
    entries once they are multiplied.

    packed: uint8 [columns, ceil(rows / 8)]. Bit ``j % 8`` of byte ``j // 8`` is row j.
    inside, outside: float64 [columns].
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
