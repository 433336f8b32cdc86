"""What weighted counts say about the symbols, ``M' diag(weights) M``, and its near diagonals."""

from __future__ import annotations

from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.operators.operator import SymmetricOperator, as_operator


class WeightedInformation(SymmetricOperator):
    """The symmetric matrix ``M' diag(weights) M`` of an operator M.

    Parameters
    ----------
    operator : LinearOperator
        Shape [outputs, size].
    weights : numpy.ndarray
        float64 [outputs], not negative.
    """

    def __init__(self, operator: LinearOperator, weights: Vector) -> None:
        size = operator.shape[1]
        super().__init__((size, size))
        self.operator = as_operator(operator)
        self.weights = weights

    def _matvec(self, x: Vector) -> Vector:
        return self.operator.rmatvec(self.weights * self.operator.matvec(x.ravel()))

    def _matmat(self, x: Vector) -> Vector:
        return self.operator.rmatmat(self.weights[:, None] * self.operator.matmat(x))

    def near_diagonal(self, lags: int) -> Matrix:
        """Return the entries (i, i + lag): float64 [lags, size], zeros where they would leave."""
        return self.operator.weighted_gram(self.weights, lags)

    def diagonal(self) -> Vector:
        """Return the diagonal: float64 [size]."""
        diagonal: Vector = self.near_diagonal(1)[0]
        return diagonal
