"""Arrays in stored documents: base64 of little-endian floats."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from lapwing.errors import FormatError
from lapwing.linear.arrays import Matrix, Vector


def coded(array: Vector, *, kind: str = "<f8") -> str:
    """Return an array as text, row by row."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def decoded(
    text: Any,
    *,
    kind: str = "<f8",
    numbers: int | None = None,
    rows: int | None = None,
    columns: int | None = None,
) -> Matrix:
    """Return the array in a text; FormatError when it is none of that size.

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
    if rows is not None and columns is not None:
        numbers = rows * columns
    if not np.isfinite(found).all() or (numbers is not None and found.size != numbers):
        raise FormatError("an array of this document is damaged")
    if columns is not None:
        if columns < 1 or found.size % columns:
            raise FormatError("an array of this document is damaged")
        found = found.reshape(-1, columns)
    return found.astype(np.float64)
