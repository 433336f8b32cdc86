"""Dictionaries of curves, and how far one row moves their inner products with the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.whole_columns import most_moved_pair, ranges, whole

UNIT = 2**20
"""Inner products are taken in whole multiples of 1 / UNIT."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Curves on [-1, 1], of unit mean square, as seen by data on a grid.

    Parameters
    ----------
    curves : numpy.ndarray
        float64 [atoms, points]: values at the middles of the points of the grid. Read-only: one
        dictionary and its sensitivities are kept for many releases.
    """

    curves: Vector

    def __post_init__(self) -> None:
        """Freeze."""
        self.curves.flags.writeable = False

    @classmethod
    def of(cls, functions: Vector) -> Dictionary:
        """Return the dictionary of functions given by their values, each scaled to unit norm."""
        norms = np.sqrt((functions**2).sum(axis=1) * 2 / functions.shape[1])
        if norms.min() <= 0:
            raise ValueError("no function of a dictionary may be zero everywhere")
        return cls(functions / norms[:, None])

    @property
    def weight(self) -> float:
        """Length of a point's cell."""
        return 2 / int(self.curves.shape[1])

    @property
    def products(self) -> NDArray[np.int64]:
        """UNIT times the inner product of every curve with a step at each symbol, rounded.

        int64 [atoms, points + 1]. The data's inner product is their sum over rows, divided by n.
        The last column is that of a missing value. It counts as the upper end, where a step has no
        product with any curve: zeros, but a place that a row can move to like any other.
        """
        return self._products

    @cached_property
    def _products(self) -> NDArray[np.int64]:
        above = np.cumsum(self.curves[:, ::-1], axis=1)[:, ::-1] - self.curves / 2
        found = np.pad(whole(above * self.weight, unit=UNIT), ((0, 0), (0, 1)))
        found.flags.writeable = False
        return found

    @cached_property
    def gram(self) -> Vector:
        """Inner products of the curves: float64 [atoms, atoms], read-only."""
        found: Vector = self.curves @ self.curves.T * self.weight
        found.flags.writeable = False
        return found

    def own_sensitivity(self) -> tuple[int, ...]:
        """Return how far a replaced row moves each product: its range."""
        return ranges(self.products)

    def published_sensitivity(self) -> int:
        """Return the paper's bound for all: the largest integral of an absolute curve (lemma 4)."""
        return int(np.ceil(np.abs(self.curves).sum(axis=1).max() * self.weight * UNIT))

    def range_sensitivity(self) -> int:
        """Return how far a replaced row moves the difference of two absolute residuals.

        ``max (|d_i| + |d_j|)`` over pairs of symbols and of different atoms: absolute values of
        signed residuals can move against each other.
        """
        return most_moved_pair(self.products)
