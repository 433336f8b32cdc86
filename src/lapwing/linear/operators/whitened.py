"""Several channels as one sensing matrix with noise of unit size, seen from a center."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.operator import Operator
from lapwing.linear.operators.stacked import Stacked


class Whitened(Operator):
    """``diag(scale) (M - center 1')``: rows divided by their noise, less a constant column.

    For masses that sum to one the center changes nothing but the right-hand side, and columns that
    share most of their entries become nearly orthogonal.

    Parameters
    ----------
    operators : sequence of LinearOperator
        Stacked to M, [rows, columns].
    center : numpy.ndarray
        float64 [rows].
    scale : numpy.ndarray
        float64 [rows], positive: one over the standard deviation of the row's noise.
    """

    def __init__(
        self, operators: Sequence[LinearOperator], *, center: Vector, scale: Vector
    ) -> None:
        self.stacked = Stacked(operators)
        super().__init__(self.stacked.shape)
        self.center = center
        self.scale = scale

    def _matvec(self, x: Vector) -> Vector:
        x = np.asarray(x, dtype=np.float64).reshape(-1)
        product: Vector = self.scale * (self.stacked.matvec(x) - self.center * x.sum())
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        scaled = self.scale * np.asarray(r, dtype=np.float64).reshape(-1)
        return self.stacked.rmatvec(scaled) - float(self.center @ scaled)

    def column(self, number: int) -> Vector:
        """Return one column: float64 [rows]; without a product where operators know theirs."""
        parts = [operator.column(number) for operator in self.stacked.operators]
        return self.scale * (np.concatenate(parts) - self.center)

    def norms(self) -> Vector:
        """Return the lengths of all columns: float64 [columns].

        One product with the matrix of the squared entries of each operator.
        """
        weights = self.scale**2
        squares = -2 * self.stacked.rmatvec(weights * self.center)
        squares += float(weights @ self.center**2)
        start = 0
        for operator in self.stacked.operators:
            stop = start + operator.shape[0]
            squares += operator.squared_entries().rmatvec(weights[start:stop])
            start = stop
        return np.sqrt(np.maximum(squares, 0.0))
