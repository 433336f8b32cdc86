"""Names for arrays of one kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError

Vector = NDArray[np.float64]
"""Numbers. Of one dimension where nothing else is said."""

Matrix = NDArray[np.float64]
"""Numbers in rows and columns."""

Whole = NDArray[np.int64]
"""Whole numbers."""

Flags = NDArray[np.bool_]
"""True or false, each."""

Words = NDArray[np.uint64]
"""Random or packed 64-bit words."""

Values = ArrayLike | Sequence[object]
"""What people hold, one after the other: an array, a column, or a list, also of dates or None."""


def as_numbers(given: ArrayLike, *, name: str) -> Vector:
    """Return what should be numbers as float64. ArgumentError where it is not."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, "must be a list of numbers", "something else") from None


_LISTED = 6
"""Entries of a tuple or list that a repr shows."""


def short_repr(data: Any) -> str:
    """Return the repr of a dataclass, with the shapes of its arrays instead of their numbers."""
    return _repr_of(data, _short)


_LABELS = 10
"""Labels, edges or segments that the repr of what is declared shows."""


def declared_repr(data: Any) -> str:
    """Return the repr of a dataclass, with the first ten entries of each list."""
    return _repr_of(data, _first)


def _repr_of(data: Any, text: Callable[[Any], str]) -> str:
    fields = [each.name for each in dataclasses.fields(data) if each.repr]
    shown = (f"{name}={text(getattr(data, name))}" for name in fields)
    return f"{type(data).__name__}({', '.join(shown)})"


def _first(value: Any) -> str:
    if not isinstance(value, tuple | list) or len(value) <= _LABELS:
        return repr(value)
    return f"({', '.join(map(repr, value[:_LABELS]))}, ... {len(value) - _LABELS:,} more)"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype} {list(value.shape)}>"
    if dataclasses.is_dataclass(value):
        return f"{type(value).__name__}(...)"
    if isinstance(value, tuple | list) and (
        len(value) > _LISTED or any(isinstance(each, np.ndarray | tuple | list) for each in value)
    ):
        return f"<{len(value)} entries>"
    return repr(value)


def read_only(array: Vector) -> Vector:
    """Return the array, which nobody can write to any more: for what is kept and shared."""
    array.flags.writeable = False
    return array
