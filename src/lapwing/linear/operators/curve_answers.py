"""Answers that are coefficients of a distribution function, and the way back to the function."""

from __future__ import annotations

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.operator import Operator


class CurveAnswers(Operator):
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
        super().__init__(matrix.shape)
        self.matrix = matrix
        self.curve = curve
        self.start = start

    def _matmat(self, x: Vector) -> Vector:
        return self.matrix @ x

    def _rmatmat(self, y: Vector) -> Vector:
        return self.matrix.T @ y
