"""Matrices of few values: one for a symbol itself or its partner, one for all others."""

from __future__ import annotations

import numpy as np

from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.operators.operator import GroupedGram, SymmetricOperator


class CompoundSymmetric(SymmetricOperator):
    """``(diagonal - off_diagonal) I + off_diagonal J`` with J all ones. O(size) per product.

    The mean of a generalized randomized response or of a unary encoding. It is circulant, and
    its inverse is of the same kind.

    size: Rows and columns, at least 1.
    """

    def __init__(self, size: int, *, diagonal: float, off_diagonal: float) -> None:
        super().__init__((size, size))
        self.size = size
        self.diagonal = diagonal
        self.off_diagonal = off_diagonal

    @property
    def compound(self) -> tuple[float, float]:
        """The two values."""
        return self.diagonal, self.off_diagonal

    @property
    def grouped_gram(self) -> GroupedGram | None:
        """Columns have equal lengths, and equal products."""
        own = (self.diagonal - self.off_diagonal) ** 2
        return GroupedGram(own, 0.0, np.zeros(self.size, dtype=np.int64)) if own else None

    @property
    def kernel(self) -> Vector:
        """First column, which determines a circulant matrix: float64 [size]."""
        kernel = np.full(self.size, self.off_diagonal)
        kernel[0] = self.diagonal
        return kernel

    def _matmat(self, x: Vector) -> Vector:
        gap = self.diagonal - self.off_diagonal
        product: Vector = gap * x + self.off_diagonal * x.sum(axis=0)
        return product

    def inverse(self) -> CompoundSymmetric:
        """Return the inverse matrix.

        Raises ZeroDivisionError when the matrix is singular: the two values agree, or the rows sum
        to zero.

        ``(a I + b J)^-1 = I / a - b / (a (a + size b)) J``.
        """
        gap = self.diagonal - self.off_diagonal
        row = gap + self.size * self.off_diagonal
        off = -self.off_diagonal / (gap * row)
        return CompoundSymmetric(self.size, diagonal=1 / gap + off, off_diagonal=off)

    def squared_entries(self) -> CompoundSymmetric:
        """Return the matrix of squared entries."""
        return CompoundSymmetric(
            self.size, diagonal=self.diagonal**2, off_diagonal=self.off_diagonal**2
        )

    def weighted_gram(self, weights: Vector, lags: int) -> Vector:
        """Return the entries (i, i + lag) of ``M diag(weights) M``: float64 [lags, size]."""
        gap, off = self.diagonal - self.off_diagonal, self.off_diagonal
        total = weights.sum()
        bands = np.zeros((lags, self.size))
        bands[0] = gap * (gap + 2 * off) * weights + off**2 * total
        for lag in range(1, min(lags, self.size)):
            pairs = weights[:-lag] + weights[lag:]
            bands[lag, :-lag] = gap * off * pairs + off**2 * total
        return bands

    def congruence(
        self, diagonal: Vector, factor: Matrix, signs: Vector
    ) -> tuple[Vector, Matrix, Vector]:
        """Return ``A (diag(diagonal) + factor diag(signs) factor') A'`` in the same three parts.

        ``(a I + b J) D (a I + b J) = a^2 D + a b (d 1' + 1 d') + b^2 sum(d) 1 1'``, and
        ``d 1' + 1 d' = ((d + 1)(d + 1)' - (d - 1)(d - 1)') / 2``. O(size * rank).
        """
        a, b = self.diagonal - self.off_diagonal, self.off_diagonal
        scale = max(float(np.abs(diagonal).max()), 1e-300)
        d = diagonal / scale
        ones = np.ones(self.size)
        weights = [a * b * scale / 2, -a * b * scale / 2, b * b * diagonal.sum()]
        return (
            a * a * diagonal,
            np.column_stack([self.matmat(factor), d + ones, d - ones, ones]),
            np.concatenate([signs, weights]),
        )

    def bits(self, people: Whole, rng: np.random.Generator) -> Whole:
        """Return how often each row happens when its entries are chances: two draws a row."""
        drawn: Whole = rng.binomial(people, self.diagonal)
        drawn += rng.binomial(people.sum() - people, self.off_diagonal)
        return drawn

    def separate_shares(self, rates: Vector, reports: int) -> tuple[Vector, Vector, float]:
        """Return the unbiased shares, their variances where nobody is, and the slope of those.

        A row is a coin with probability p for its own category and q for others. So the variance of
        a share f is ``(q (1 - q) + f (p (1 - p) - q (1 - q))) / (n (p - q)^2)``.
        """
        p, q = self.compound
        gap = p - q
        empty = np.full(rates.size, q * (1 - q) / (reports * gap * gap))
        return (rates - q) / gap, empty, (1 - p - q) / (reports * gap)


class PairSymmetric(SymmetricOperator):
    """Entry (s, t) is `own` for s = t, `opposite` for the two of one pair, else `other`.

    Symbols ``2k`` and ``2k + 1`` are a pair. The matrix is symmetric. O(pairs) per product.

    pairs: At least 1. The matrix has twice as many rows and columns.
    """

    def __init__(self, pairs: int, *, own: float, opposite: float, other: float) -> None:
        super().__init__((2 * pairs, 2 * pairs))
        self.pairs = pairs
        self.own = own
        self.opposite = opposite
        self.other = other

    def _matmat(self, x: Vector) -> Vector:
        paired = x.reshape(self.pairs, 2, -1)
        product = (self.own - self.other) * paired
        product += (self.opposite - self.other) * paired[:, ::-1]
        product += self.other * paired.sum(axis=(0, 1))
        return product.reshape(x.shape)
