"""Error distributions that are spread from a few hundred cells, and arrays in documents.

A posterior of cells says of a symbol what it says of its cell, times the symbol's share of it. A
file that held a row for each of 4096 symbols took 12 MB. With a row for each cell it takes 1.
Arrays are stored as base64 of little-endian floats.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from lapwing.errors import ArgumentError, FormatError
from lapwing.linear.arrays import Matrix, Vector, Whole, short_repr
from lapwing.stored_fields import FromFields, StoredArray

SHORT = "<f4"
"""The kind of floats of 32 bits. The others have 64."""

_EXACT_LIMIT = 8
"""Columns up to which a file holds a factor in double precision."""


def factor_kind(rank: int) -> str:
    """Return the kind of floats in which a factor of so many columns is held."""
    # A few columns stand beside a diagonal from which they are subtracted: they need every bit.
    return "<f8" if rank <= _EXACT_LIMIT else SHORT


def encoded(array: Vector, *, kind: str = "<f8") -> str:
    """Return an array as text."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def decoded(text: Any, *, kind: str = "<f8") -> Vector:
    """Return the array in a string, float64. FormatError when it is none of finite numbers."""
    try:
        found = np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
    except (ValueError, TypeError):
        raise FormatError("an array of this document is damaged. Do not use it") from None
    if not np.isfinite(found).all():
        raise FormatError("an array of this document contains numbers that are not finite")
    return found.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Spread(FromFields):
    """How the masses of cells are spread over their symbols.

    start: int64 [cells], increasing from 0: the first symbol of each.
    share: float64 [symbols], part of its cell's mass.
    """

    start: Annotated[Whole, StoredArray("<i8")]
    share: Annotated[Vector, StoredArray(packed=True, shape=("symbols",))]

    _name: ClassVar = "the cells of an uncertainty"
    _sizes: ClassVar = ("symbols",)

    def __post_init__(self) -> None:
        """Check that every symbol is in one cell."""
        ends = [*self.start.tolist(), self.share.size]
        if ends[0] != 0 or any(first >= second for first, second in pairwise(ends)):
            raise ArgumentError("start", "must rise from 0 to below the number of symbols")

    __repr__ = short_repr

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


@dataclass(frozen=True, eq=False)
class SpreadLaw:
    """Center, covariance of cells, and how the errors of cells are spread over the symbols.

    center: float64 [cells], to be spread as well, or [symbols].
    factor: float64 [cells, rank]: the covariance is ``factor factor'``.
    """

    spread: Spread
    center: Vector
    factor: Matrix

    __repr__ = short_repr
