"""Matrices over a product of two axes that only know in which rows and columns a cell is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.operators.operator import CompoundSymmetric, Numbers, Operator


class Separable(Operator):
    """``outside J + (inside - outside) (first x second)``: a Kronecker product of 0/1 matrices.

    Entry (output, cell) is `inside` where both axes see the cell, and `outside` elsewhere. Outputs
    and cells are numbered row by row: ``i * second + j``.

    first, second: Zeros and ones, [outputs of the axis, symbols of the axis].
    inside, outside: The two values of the entries.

    **Cost.** Two products of matrices of one axis for each product with a vector.
    """

    def __init__(self, first: Matrix, second: Matrix, *, inside: float, outside: float) -> None:
        super().__init__((first.shape[0] * second.shape[0], first.shape[1] * second.shape[1]))
        self.first = first
        self.second = second
        self.inside = inside
        self.outside = outside

    @property
    def slope(self) -> float:
        """By how much an entry that is seen exceeds the others."""
        return self.inside - self.outside

    def _matvec(self, x: Vector) -> Vector:
        table = x.reshape(self.first.shape[1], self.second.shape[1])
        seen = self.first @ table @ self.second.T
        product: Vector = (self.outside * table.sum() + self.slope * seen).ravel()
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        table = r.reshape(self.first.shape[0], self.second.shape[0])
        seen = self.first.T @ table @ self.second
        product: Vector = (self.outside * table.sum() + self.slope * seen).ravel()
        return product

    def _matmat(self, x: Matrix) -> Matrix:
        return np.column_stack([self._matvec(column) for column in x.T])

    def _rmatmat(self, r: Matrix) -> Matrix:
        return np.column_stack([self._rmatvec(column) for column in r.T])

    def squared_entries(self) -> Operator:
        """Return the matrix of squared entries, which is of the same kind."""
        return Separable(self.first, self.second, inside=self.inside**2, outside=self.outside**2)


class ProductBlocks(Separable):
    """A matrix of two values on blocks of cells: `inside` for the block that holds the cell.

    first, second: Block of each symbol of an axis, numbered from 0.
    inside, outside: The two values of the entries.
    rows: Blocks that are counted. Default: all.
    """

    def __init__(self, first: Whole, second: Whole, *, inside: float, outside: float) -> None:
        super().__init__(_indicator(first), _indicator(second), inside=inside, outside=outside)
        blocks = int(second.max()) + 1
        self._block = (first[:, None] * blocks + second).ravel()

    @property
    def on_cells(self) -> Operator:
        """The operator on blocks: a report depends on the block alone."""
        return CompoundSymmetric(self.shape[0], diagonal=self.inside, off_diagonal=self.outside)

    def cell_totals(self, entries: Numbers) -> Numbers:
        """Return the sums over blocks: [blocks]."""
        sums: Any = np.bincount(self._block, weights=entries, minlength=self.shape[0])
        totals: Numbers = sums.astype(entries.dtype)
        return totals


def _indicator(blocks: Whole) -> Matrix:
    """Return the 0/1 matrix of which block each symbol is in: [blocks, symbols]."""
    matrix = np.zeros((int(blocks.max()) + 1, blocks.size))
    matrix[blocks, np.arange(blocks.size)] = 1.0
    return matrix
