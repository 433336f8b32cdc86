"""Arrays in stored documents: base64 of little-endian floats."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from lapwing.errors import FormatError
from lapwing.linear.arrays import Matrix, Vector

SHORT = "<f4"
"""The kind of floats of 32 bits; the others have 64."""

_EXACT_LIMIT = 8
"""Columns up to which a file holds a factor in double precision."""


def factor_kind(rank: int) -> str:
    """Return the kind of floats in which a factor of so many columns is held."""
    # A few columns stand beside a diagonal from which they are subtracted: they need every bit.
    return "<f8" if rank <= _EXACT_LIMIT else SHORT


def encoded(array: Vector, *, kind: str = "<f8") -> str:
    """Return an array as text."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def decoded(
    text: Any,
    *,
    kind: str = "<f8",
    numbers: int | None = None,
    rows: int | None = None,
    columns: int | None = None,
) -> Matrix:
    """Return the array in a text, float64; FormatError when it is none of that size.

    Parameters
    ----------
    text : str
    kind : str
    numbers : int, optional
        How many there must be.
    rows, columns : int, optional
        For two dimensions; without rows, as many as there are.
    """
    try:
        found = np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
    except (ValueError, TypeError):
        raise FormatError("an array of this document is damaged") from None
    if not np.isfinite(found).all():
        raise FormatError("an array of this document holds numbers that are not finite")
    if rows is not None and columns is not None:
        numbers = rows * columns
    if numbers is not None and found.size != numbers:
        raise FormatError("an array of this document is damaged")
    if columns is not None:
        if columns < 1 or found.size % columns:
            raise FormatError("an array of this document is damaged")
        found = found.reshape(-1, columns)
    return found.astype(np.float64)
