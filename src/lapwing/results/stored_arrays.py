"""Arrays of an error law as a file holds them: base64 of little-endian floats."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from lapwing.errors import FormatError
from lapwing.linear.arrays import Vector

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


def decoded(text: Any, *, kind: str = "<f8") -> Vector:
    """Return the array of a text, float64 [numbers]; FormatError when it is damaged."""
    try:
        numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
    except (ValueError, TypeError):
        raise FormatError("the uncertainty of this distribution is damaged") from None
    if not np.isfinite(numbers).all():
        raise FormatError("the uncertainty of this distribution holds numbers that are not finite")
    return numbers.astype(np.float64)
