"""Several channels as one sensing matrix with noise of unit size, seen from a centre."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.information import WeightedInformation
from lapwing.linear.stacked import Stacked

Vector = NDArray[np.float64]


class Whitened(LinearOperator):  # type: ignore[misc]
    """``diag(scale) (M - centre 1')``: rows divided by their noise, less a constant column.

    For masses that sum to one the centre changes nothing but the right-hand side, and columns that
    share most of their entries become nearly orthogonal.

    Parameters
    ----------
    operators : sequence of LinearOperator
        Stacked to M, [rows, columns].
    centre : numpy.ndarray
        float64 [rows].
    scale : numpy.ndarray
        float64 [rows], positive: one over the standard deviation of the row's noise.
    """

    def __init__(self, operators: list[LinearOperator], *, centre: Vector, scale: Vector) -> None:
        self.stacked = Stacked(operators)
        super().__init__(np.dtype(np.float64), self.stacked.shape)
        self.centre = centre
        self.scale = scale

    def _matvec(self, x: Vector) -> Vector:
        x = np.asarray(x, dtype=np.float64).reshape(-1)
        product: Vector = self.scale * (self.stacked.matvec(x) - self.centre * x.sum())
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        scaled = self.scale * np.asarray(r, dtype=np.float64).reshape(-1)
        product: Vector = self.stacked.rmatvec(scaled) - float(self.centre @ scaled)
        return product

    def column(self, number: int) -> Vector:
        """Return one column: float64 [rows]; without a product where operators know theirs."""
        unit = np.zeros(self.shape[1])
        unit[number] = 1.0
        parts = [
            operator.column(number) if hasattr(operator, "column") else operator.matvec(unit)
            for operator in self.stacked.operators
        ]
        column: Vector = self.scale * (np.concatenate(parts) - self.centre)
        return column

    def norms(self) -> Vector:
        """Return the lengths of all columns: float64 [columns].

        One product with operators that know the matrix of their squared entries; otherwise as
        :meth:`lapwing.linear.information.WeightedInformation.diagonal`.
        """
        weights = self.scale**2
        squares = -2 * self.stacked.rmatvec(weights * self.centre)
        squares += float(weights @ self.centre**2)
        start = 0
        for operator in self.stacked.operators:
            stop = start + operator.shape[0]
            if hasattr(operator, "squared_entries"):
                squares += operator.squared_entries().rmatvec(weights[start:stop])
            else:
                squares += WeightedInformation(operator, weights[start:stop]).diagonal()
            start = stop
        lengths: Vector = np.sqrt(np.maximum(squares, 0.0))
        return lengths
