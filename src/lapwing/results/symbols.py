"""The symbols of a domain: what they stand for, and one number for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, as_numbers
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.domain_answers import to_values


def values_of(domain: Domain, symbols: NDArray[np.int64]) -> list[Any]:
    """Return labels, whole numbers, or left ends of bins; None for the missing symbol.

    Parameters
    ----------
    domain : Domain
    symbols : numpy.ndarray
        int64, in 0..domain.size - 1.
    """
    missing = domain.missing_index
    if domain.ordered:
        named = domain.left.item
    else:
        named = domain.listed.__getitem__  # type: ignore[attr-defined]  # all without order list
    return [None if symbol == missing else named(symbol) for symbol in symbols.tolist()]


def drawn_values(
    domain: Domain, mass: Vector, size: int, generator: np.random.Generator
) -> NDArray[Any]:
    """Return values of a domain drawn with these masses, evenly inside bins, in its unit: [size].

    Missing ones are NaN, NaT, or None beside texts.
    """
    symbols = generator.choice(mass.size, size=size, p=mass)
    if not domain.ordered:
        return np.array(values_of(domain, symbols), dtype=object)
    left, right = domain.left, domain.right
    known = np.minimum(symbols, left.size - 1)
    values = left[known] + generator.random(size) * (right - left)[known]
    drawn: NDArray[Any] = to_values(np.where(symbols < left.size, values, np.nan), domain)
    return drawn


def one_for_each_symbol(mass: ArrayLike, domain: Domain) -> Vector:
    """Return a copy of the masses: float64 [domain.size].

    Raises
    ------
    ArgumentError
        Unless there is one for each symbol.
    """
    require_domain(domain)
    copied = as_numbers(mass, name="mass").copy()
    if copied.shape != (domain.size,):
        raise ArgumentError(
            f"mass must have one entry for each of the {domain.size} symbols, "
            f"got shape {copied.shape}"
        )
    return copied
