"""The Walsh-Hadamard transform, and the channels made of it: one signed bit, codes in blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.operator import GroupedGram, Operator, SymmetricOperator

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

    size: A power of two.
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

    Input cell c stands for index ``c // 2``, positive when c is even. Output ``2 row + b`` for a
    row and the sign +1 (b = 0) or -1. Agreement depends on the input only through the difference
    of the two cells of each index, so a product is one Walsh-Hadamard transform.

    rows: A power of two.
    place: int64 [inputs], the different cells of the inputs, in 0..2 rows - 1. Default: all cells.
    """

    def __init__(
        self, rows: int, *, inside: float, outside: float, place: NDArray[np.int64] | None = None
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

        rates: float64 [2 rows]: counts of the outputs per report.
        returns: float64 [rows]. Unbiased, because it is linear.
        """
        product: Vector = self.transform._matmat(rates[0::2] - rates[1::2])
        product /= self.rows * (self.inside - self.outside)
        return product


class HadamardBlocks(Operator):
    """`inside` where an output is in the own block and its row of the own column is +1.

    Outputs are ``block * length + row``. Input s has block ``s % blocks`` and column
    ``s // blocks + 1``. Column 0, all ones, belongs to nobody. Two columns of one block agree in
    a quarter of it, so a product is one Walsh-Hadamard transform, and so is the inverse.

    size: Inputs, at most ``blocks * (length - 1)``.
    blocks: At least 1.
    length: Outputs of a block, a power of two, at least 2.
    """

    def __init__(
        self, size: int, *, blocks: int, length: int, inside: float, outside: float
    ) -> None:
        if not 1 <= size <= blocks * (length - 1):
            raise ValueError(f"{blocks} blocks of {length} cannot hold {size} inputs")
        super().__init__((blocks * length, size))
        self.transform = WalshHadamard(length)
        self.size = size
        self.blocks = blocks
        self.length = length
        self.inside = inside
        self.outside = outside

    @property
    def grouped_gram(self) -> GroupedGram:
        """Two columns of one block agree in half of the rows where either is +1."""
        own = (self.inside - self.outside) ** 2 * self.length / 4
        return GroupedGram(own, own, np.arange(self.size) % self.blocks)

    @property
    def gain(self) -> float:
        """Contribution of a share of 1 to the transform of the counts at its own column."""
        return (self.inside - self.outside) * self.length / 2

    def _by_column(self, x: Vector) -> Vector:
        """Return inputs as [length, blocks, ...]: row c holds column c of every block."""
        padded = np.zeros((self.length * self.blocks, *x.shape[1:]))
        padded[self.blocks : self.blocks + self.size] = x
        return padded.reshape(self.length, self.blocks, *x.shape[1:])

    def _transform(self, by_column: Vector) -> Vector:
        flat = by_column.reshape(self.length, -1)
        return self.transform._matmat(flat).reshape(by_column.shape)

    def _matmat(self, x: Vector) -> Vector:
        columns = self._by_column(x)
        # Column 0 is empty: with the mass of the block in it the transform is twice the mass of
        # the inputs whose row is +1.
        columns[0] = columns.sum(axis=0)
        product = self._transform(columns) * ((self.inside - self.outside) / 2)
        product += self.outside * x.sum(axis=0)
        return np.ascontiguousarray(np.moveaxis(product, 1, 0)).reshape(-1, *x.shape[1:])

    def _rmatmat(self, r: Vector) -> Vector:
        rows = np.moveaxis(r.reshape(self.blocks, self.length, *r.shape[1:]), 0, 1)
        spectrum = self._transform(np.ascontiguousarray(rows))
        total = self.outside * r.sum(axis=0)
        product = (spectrum + spectrum[0]) * ((self.inside - self.outside) / 2) + total
        flat: Vector = product.reshape(-1, *r.shape[1:])[self.blocks : self.blocks + self.size]
        return flat

    def signs(self, rates: Vector) -> Vector:
        """Return the sums of each block's rates with the signs of every column.

        rates: float64 [outputs].
        returns: float64 [length, blocks]. Row c holds column c, so row 0 holds the totals.
        """
        rows = rates.reshape(self.blocks, self.length).T
        return self._transform(np.ascontiguousarray(rows))

    def of_inputs(self, by_column: Vector) -> Vector:
        """Return the entries of the inputs from [length, blocks]: float64 [size]."""
        return by_column.reshape(-1)[self.blocks : self.blocks + self.size]

    def separate_shares(self, rates: Vector, reports: int) -> tuple[Vector, Vector, float]:
        """Return the unbiased shares, their variances where nobody is, and the slope of those.

        Given its block, a report adds the sign of the own column: +-1, with mean `gain` for its own
        symbol and zero for all others. Reports of other blocks add nothing, so the variance is the
        part of the reports that name this block, which is counted, over ``n gain^2``.
        """
        signs = self.signs(rates)
        named = np.broadcast_to(signs[0], signs.shape)
        empty = np.maximum(self.of_inputs(named.copy()), 1 / reports) / (reports * self.gain**2)
        return self.of_inputs(signs) / self.gain, empty, -1 / reports

    def squared_entries(self) -> HadamardBlocks:
        """Return the matrix of squared entries."""
        return HadamardBlocks(
            self.size,
            blocks=self.blocks,
            length=self.length,
            inside=self.inside**2,
            outside=self.outside**2,
        )
