"""Operators on top of each other, and any operator as a dense matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.operators.operator import Operator, as_operator


class Stacked(Operator):
    """The rows of several operators with as many columns, in order.

    Parameters
    ----------
    operators : sequence of LinearOperator
        At least one; all with the same number of columns.
    """

    def __init__(self, operators: Sequence[LinearOperator]) -> None:
        columns = {operator.shape[1] for operator in operators}
        if len(columns) != 1:
            raise ValueError(f"stacked operators need equal numbers of columns, got {columns}")
        rows = [operator.shape[0] for operator in operators]
        super().__init__((sum(rows), columns.pop()))
        self.operators = tuple(map(as_operator, operators))
        self._starts = np.cumsum([0, *rows])

    def _matvec(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([operator.matvec(x.ravel()) for operator in self.operators])

    def _matmat(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([operator.matmat(x) for operator in self.operators])

    def _rmatvec(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        r = r.ravel()
        product = np.zeros(self.shape[1])
        for operator, start in zip(self.operators, self._starts, strict=False):
            product += operator.rmatvec(r[start : start + operator.shape[0]])
        return product

    def _rmatmat(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        product = np.zeros((self.shape[1], r.shape[1]))
        for operator, start in zip(self.operators, self._starts, strict=False):
            product += operator.rmatmat(r[start : start + operator.shape[0]])
        return product


def dense(operator: LinearOperator) -> NDArray[np.float64]:
    """Return an operator as a matrix: float64 [rows, columns].

    One product with the identity, so O(rows * columns) for the operators of this package.
    """
    matrix: NDArray[np.float64] = operator.matmat(np.eye(operator.shape[1]))
    return matrix
