"""Answers that are coefficients of a distribution function, and the way back to the function."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

Vector = NDArray[np.float64]


class CurveAnswers(LinearOperator):  # type: ignore[misc]
    """A dense matrix of answers, with the curve that they stand for.

    Parameters
    ----------
    matrix : numpy.ndarray
        float64 [answers, symbols].
    curve : numpy.ndarray
        float64 [knots, answers]: the projected distribution function at the right ends of the
        present symbols is ``start + curve @ answers / people``.
    start : numpy.ndarray
        float64 [knots].
    """

    def __init__(self, matrix: Vector, *, curve: Vector, start: Vector) -> None:
        super().__init__(np.dtype(np.float64), matrix.shape)
        self.matrix = matrix
        self.curve = curve
        self.start = start

    def _matmat(self, x: Vector) -> Vector:
        product: Vector = self.matrix @ x
        return product

    def _matvec(self, x: Vector) -> Vector:
        return self._matmat(x.reshape(-1))

    def _rmatmat(self, y: Vector) -> Vector:
        product: Vector = self.matrix.T @ y
        return product

    def _rmatvec(self, y: Vector) -> Vector:
        return self._rmatmat(y.reshape(-1))
