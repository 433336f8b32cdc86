"""Dictionaries of curves, and how far one row moves their inner products with the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

UNIT = 2**20
"""Inner products are taken in whole multiples of 1 / UNIT."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Curves on [-1, 1], of unit mean square, as seen by data on a grid.

    Parameters
    ----------
    curves : numpy.ndarray
        float64 [atoms, points]: values at the middles of the points of the grid.
    """

    curves: Vector

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
        """UNIT times the inner product of every curve with a step at each point, rounded.

        int64 [atoms, points]. The data's inner product is their sum over rows, divided by n.
        """
        above = np.cumsum(self.curves[:, ::-1], axis=1)[:, ::-1] - self.curves / 2
        rounded: NDArray[np.int64] = np.rint(above * self.weight * UNIT).astype(np.int64)
        return rounded

    @property
    def gram(self) -> Vector:
        """Inner products of the curves: float64 [atoms, atoms]."""
        inner: Vector = self.curves @ self.curves.T * self.weight
        return inner

    def own_sensitivity(self) -> NDArray[np.int64]:
        """Return how far a replaced row moves each product: its range, int64 [atoms]."""
        ranges: NDArray[np.int64] = np.ptp(self.products, axis=1)
        return ranges

    def published_sensitivity(self) -> int:
        """Return the paper's bound for all: the largest integral of an absolute curve (lemma 4)."""
        return int(np.ceil(np.abs(self.curves).sum(axis=1).max() * self.weight * UNIT))

    def range_sensitivity(self) -> int:
        """Return how far a replaced row moves the difference of two absolute residuals.

        ``max (|d_i| + |d_j|)`` over pairs of points and of different atoms: absolute values of
        signed residuals can move against each other.
        """
        products = self.products
        if products.shape[0] == 1:
            return int(np.ptp(products))
        worst = 0
        for column in products.T:
            moved = np.abs(products - column[:, None])
            top = np.partition(moved, moved.shape[0] - 2, axis=0)[-2:]
            worst = max(worst, int(top.sum(axis=0).max()))
        return worst
