"""A covariance matrix as a diagonal plus a signed low-rank part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import short_repr
from lapwing.linear.operators.operator import as_operator


@dataclass(frozen=True, eq=False)
class Covariance:
    """``diag(diagonal) + factor diag(signs) factor'``.

    Covariances of counts have this shape: that of a multinomial is ``diag(g) - g g'``. Keeping it
    makes exact standard errors of an invertible channel O(size) instead of O(size^2).

    diagonal: float64 [size].
    factor: float64 [size, rank].
    signs: float64 [rank]. Weights of the columns, of either sign.
    """

    diagonal: NDArray[np.float64]
    factor: NDArray[np.float64]
    signs: NDArray[np.float64]

    __repr__ = short_repr

    @property
    def size(self) -> int:
        """Rows and columns."""
        return self.diagonal.size

    def dense(self) -> NDArray[np.float64]:
        """Return the matrix: float64 [size, size]."""
        return np.diag(self.diagonal) + (self.factor * self.signs) @ self.factor.T

    def variance(self) -> NDArray[np.float64]:
        """Return the diagonal of the matrix: float64 [size]."""
        return self.diagonal + (self.factor**2) @ self.signs

    def __add__(self, other: Covariance) -> Covariance:
        """Return the sum of two covariances."""
        return Covariance(
            self.diagonal + other.diagonal,
            np.hstack([self.factor, other.factor]),
            np.concatenate([self.signs, other.signs]),
        )

    def scaled(self, number: float) -> Covariance:
        """Return the matrix times a number, of either sign."""
        return Covariance(self.diagonal * number, self.factor, self.signs * number)

    def of_sums(self, last: NDArray[np.int64]) -> Covariance:
        """Return the covariance of the sums of consecutive entries, which end with these."""
        starts = np.append(0, last[:-1] + 1)
        return Covariance(
            np.add.reduceat(self.diagonal, starts),
            np.add.reduceat(self.factor, starts, axis=0),
            self.signs,
        )

    def sample(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return normal vectors with this covariance: float64 [count, size].

        Columns of positive sign are added to independent noise, which gives vectors e of
        covariance B. Columns G of negative sign are taken out: with ``W = B^-1 G``, ``M = G' W``
        and K such that ``2 K - K M K = I``, the vectors ``e - G K W' e`` have covariance
        ``B - G G'``. O(count * size * rank), no matrix of size^2.
        """
        plus, minus = self.signs > 0, self.signs < 0
        added = self.factor[:, plus] * np.sqrt(self.signs[plus])
        floor = 1e-12 * float(np.abs(self.diagonal).max(initial=0.0))
        noise = np.maximum(self.diagonal, floor)
        vectors = rng.normal(size=(count, self.size)) * np.sqrt(noise)
        vectors += rng.normal(size=(count, int(plus.sum()))) @ added.T
        if not minus.any():
            return vectors
        taken = self.factor[:, minus] * np.sqrt(-self.signs[minus])
        scaled = added / noise[:, None]
        inner = np.eye(added.shape[1]) + added.T @ scaled
        solved = taken / noise[:, None]
        solved -= scaled @ np.linalg.solve(inner, added.T @ solved)
        values, directions = np.linalg.eigh(taken.T @ solved)
        values = np.clip(values, 1e-12, 1.0)
        gain = (directions * ((1 - np.sqrt(1 - values)) / values)) @ directions.T
        vectors -= (vectors @ solved) @ gain @ taken.T
        return vectors

    def through(self, operator: LinearOperator) -> Covariance:
        """Return ``A C A'``, the covariance after a linear map.

        See :meth:`lapwing.linear.operators.operator.Operator.congruence`.
        """
        parts = as_operator(operator).congruence(self.diagonal, self.factor, self.signs)
        return Covariance(*parts)
