"""Cells with edges of their own, as a component of a mixture.

A report about cells says in which of a few groups of neighboring bins a value is, by randomized
response or subset selection. The *outputs are the cells*. So every value has as many
high-probability outputs as any other, however unequal the cells are in the number of their bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from lapwing.errors import ArgumentError, DomainError, kind_of
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.categorical.affine_subset_selection import AffineSubsetSelection
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.categorical.subset_selection import SubsetSelection, optimal_size

BITS = 16
"""Sets of at most so many cells are sent as bits, larger ones by the name of an affine set."""

MOST_CELLS = 4096
"""Cells of a component."""


def checked_starts(starts: Any) -> tuple[int, ...]:
    """Return the first bins of cells. ArgumentError unless they increase from 0.

    starts: Number of the first bin of each cell, the first of which is 0.
    """
    if isinstance(starts, str | bytes | Mapping) or not isinstance(starts, Iterable):
        raise ArgumentError(
            "a component of cells needs the list of their first bins, such as [0, 51], got "
            f"{kind_of(starts)}"
        )
    given = tuple(starts)
    whole = all(type(start) is int for start in given)
    if not whole or given[:1] != (0,) or any(one >= other for one, other in pairwise(given)):
        raise ArgumentError(
            "the first bins of cells must be whole numbers that increase from 0, such as [0, 51]"
        )
    if not 2 <= len(given) <= MOST_CELLS:
        raise ArgumentError(f"a component must have 2 to {MOST_CELLS} cells, got {len(given)}")
    return given


def check_in_domain(starts: tuple[int, ...], size: int) -> None:
    """Raise DomainError where a cell begins behind the last bin."""
    if starts[-1] >= size:
        raise DomainError(
            f"the last cell must begin in 0..{size - 1}, the bins of the domain, got {starts[-1]}"
        )


def set_randomizer(cells: int, epsilon: ExactNumber, *, affine: bool) -> Randomizer[Any]:
    """Return the randomizer of so many cells whose variance is least.

    It is randomized response where sets of one cell are best, else subset selection.

    affine: Whether larger sets are affine, and sent by their names.
    """
    groups = Categories(cells)
    if optimal_size(cells, float(epsilon)) == 1:
        return RandomizedResponse(groups, epsilon)
    made = AffineSubsetSelection if affine else SubsetSelection
    return made(groups, epsilon)
