"""The part of an error law that is spread from a few hundred cells over thousands of symbols.

A posterior of cells says of a symbol what it says of its cell, times the symbol's share of it. A
file that held a row for each of 4096 symbols took 12 MB; with a row for each cell it takes 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lapwing.documents import require
from lapwing.errors import FormatError
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.results.stored_arrays import decoded, encoded


@dataclass(frozen=True, eq=False)
class Spread:
    """How the masses of cells are spread over their symbols.

    Parameters
    ----------
    start : numpy.ndarray
        int64 [cells], increasing from 0: the first symbol of each.
    share : numpy.ndarray
        float64 [symbols], part of its cell's mass.
    """

    start: Whole
    share: Vector

    def over_symbols(self, numbers: Matrix) -> Matrix:
        """Return what numbers of the cells are for their symbols: float64 [symbols, ...]."""
        cell = np.repeat(
            np.arange(self.start.size), np.diff(np.append(self.start, self.share.size))
        )
        shares = self.share.reshape(-1, *[1] * (numbers.ndim - 1))
        # One column after the other, as files are read: sums over them depend on that order.
        return np.asfortranarray(shares * numbers[cell])

    def equals(self, other: Spread) -> bool:
        """Return whether the cells and shares are the same."""
        return np.array_equal(self.start, other.start) and np.array_equal(self.share, other.share)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"start": self.start.tolist(), "share": encoded(self.share)}

    @classmethod
    def from_document(cls, document: Any, *, symbols: int) -> Spread:
        """Return what :meth:`to_document` wrote; FormatError when damaged."""
        damaged = FormatError("the cells of this distribution's uncertainty are damaged")
        if not isinstance(document, dict):
            raise damaged
        require(document, {"start", "share"}, name="the cells of an uncertainty")
        start, share = document["start"], decoded(document["share"])
        if not isinstance(start, list) or not all(type(one) is int for one in start):
            raise damaged
        bounds = [*start, symbols]
        rising = all(one < two for one, two in pairwise(bounds))
        if bounds[0] != 0 or not rising or share.size != symbols:
            raise damaged
        return cls(np.array(start, dtype=np.int64), share)


@dataclass(frozen=True, eq=False)
class SpreadLaw:
    """Center and covariance of cells, and how they are spread over the symbols.

    Parameters
    ----------
    spread : Spread
    center : numpy.ndarray
        float64 [cells].
    factor : numpy.ndarray
        float64 [cells, rank]: the covariance is ``factor factor'``.
    """

    spread: Spread
    center: Vector
    factor: Matrix
