"""Functions of a pursuit dictionary: families that have a name, and functions of your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.function_families import (
    check_functions,
    fourier,
    legendre,
    nested_splines,
    normal_curves,
)

Part = str | Callable[[Vector], Any] | Sequence[float]
"""A family by its name, or one function: by its values, or as what computes them."""

FAMILIES = {"legendre": 40, "splines": 109, "normal-curves": 400, "fourier": 40}
"""The dictionaries that have a name, and how many functions they have where nobody says."""


def family(name: str, count: int, middles: Vector, *, degree: int) -> Vector:
    """Return the values of the functions of a named family: float64 [count, middles]."""
    if name == "splines":
        return nested_splines(count, middles, degree=degree)
    families = {"legendre": legendre, "fourier": fourier, "normal-curves": normal_curves}
    return families[name](count, middles)


def entry_of(part: Any) -> Any:
    """Return an entry of a dictionary as it is held: a name, a callable, or a tuple of values."""
    if isinstance(part, str) and part not in FAMILIES:
        raise ArgumentError(
            "dictionary",
            f"must be one of {', '.join(FAMILIES)}, or functions of your own",
            repr(part),
        )
    return part if isinstance(part, str) or callable(part) else tuple(map(float, part))


def dictionary_of(given: Any) -> Any:
    """Return the name of a dictionary, or a tuple of its entries. ArgumentError for another."""
    parts = (given,) if isinstance(given, str) else given
    if callable(parts) or not len(parts):
        raise ArgumentError("dictionary", "must be the name of a family, or a list of functions")
    entries = tuple(map(entry_of, parts))
    check_functions([entry for entry in entries if isinstance(entry, tuple)])
    return str(given) if isinstance(given, str) else entries


def values_at(function: Callable[[Vector], Any], middles: Vector) -> tuple[float, ...]:
    """Return the values of a function at the middles of symbols.

    Raises ArgumentError when it does not return one number for every value.
    """
    try:
        values = np.asarray(function(middles), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.shape != middles.shape:
        raise ArgumentError(
            "a function of a dictionary must return one number for every value of an array. Wrap "
            "one that takes a single number in numpy.vectorize"
        )
    return tuple(values.tolist())
