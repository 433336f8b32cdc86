"""Square-root prefix sums with a few more rows below: a matrix that is solved by transforms."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import Operator, as_operator
from lapwing.linear.operators.square_root_sums import SquareRootSums
from lapwing.linear.operators.stacked import Stacked


class BlendedSums(Stacked):
    """The square root T of the prefix sums, and rows R below it; shape [size + rows, size].

    Parameters
    ----------
    rows : numpy.ndarray
        float64 [rows, size], in the units of :class:`SquareRootSums`.
    """

    def __init__(self, rows: Matrix) -> None:
        self.sums = SquareRootSums(rows.shape[1])
        super().__init__([self.sums, as_operator(rows)])
        self.rows = rows

    def _without_sums(self, y: Matrix) -> Matrix:
        """Return ``T'^-1 y``; T' is T read from behind."""
        return self.sums.inverse(y[::-1])[::-1]

    @cached_property
    def _turned(self) -> tuple[Matrix, Matrix]:
        turned = self._without_sums(self.rows.T)
        system = turned.T @ turned
        system[np.diag_indices_from(system)] += 1
        return turned, cho_factor(system, lower=True)[0]

    def normal_solve(self, y: Vector) -> Vector:
        """Return x with ``(T'T + R'R) x = y``: float64 of the shape given.

        With ``Q = T'^-1 R'`` it is ``T^-1 (I - Q (I + Q'Q)^-1 Q') T'^-1``; O(size log size) a
        column.
        """
        turned, factor = self._turned
        inner = self._without_sums(y)
        inner = inner - turned @ cho_solve((factor, True), turned.T @ inner)
        return self.sums.inverse(inner)


class BlendedRoot(Operator):
    """From unit noise in the answers of :class:`BlendedSums` to noise in the prefix sums.

    The prefix sums of ``(M'M)^-1 M'``, M being that matrix; shape [size, answers].

    Parameters
    ----------
    strategy : BlendedSums
    """

    def __init__(self, strategy: BlendedSums) -> None:
        super().__init__((strategy.shape[1], strategy.shape[0]))
        self._strategy = strategy

    def _matmat(self, x: Matrix) -> Matrix:
        sums: Matrix = np.cumsum(self._strategy.normal_solve(self._adjoint_of(x)), axis=0)
        return sums

    def _adjoint_of(self, x: Matrix) -> Matrix:
        return self._strategy.rmatvec(x) if x.ndim == 1 else self._strategy.rmatmat(x)

    def _rmatmat(self, y: Matrix) -> Matrix:
        found = self._strategy.normal_solve(np.cumsum(y[::-1], axis=0)[::-1])
        return self._strategy.matvec(found) if y.ndim == 1 else self._strategy.matmat(found)
