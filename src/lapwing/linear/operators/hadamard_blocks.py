"""Hadamard codes in blocks: every input has its near set in one block, half of that block."""

from __future__ import annotations

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.hadamard import WalshHadamard
from lapwing.linear.operators.operator import Operator


class HadamardBlocks(Operator):
    """`inside` where an output is in the own block and its row of the own column is +1.

    Outputs are ``block * length + row``. Input s has block ``s % blocks`` and column
    ``s // blocks + 1``; column 0, all ones, belongs to nobody. Two columns of one block agree in
    a quarter of it, so a product is one Walsh-Hadamard transform, and so is the inverse.

    Parameters
    ----------
    size : int
        Inputs, at most ``blocks * (length - 1)``.
    blocks : int
        At least 1.
    length : int
        Outputs of a block, a power of two, at least 2.
    inside, outside : float
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
    def gain(self) -> float:
        """What a share of one adds to the transform of the counts at its own column."""
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

        Parameters
        ----------
        rates : numpy.ndarray
            float64 [outputs].

        Returns
        -------
        numpy.ndarray
            float64 [length, blocks]; row c holds column c, so row 0 holds the totals.
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
