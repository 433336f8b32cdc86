"""Steps of a density: bins that are drawn as one, because the reports cannot tell them apart.

How many steps there are follows from channel, number of people and domain alone, so that weeks,
segments and a truth have the same ones. A decoder writes the number into the provenance of its
result (:func:`lapwing.decoders.resolution.resolved_steps`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.covariance import Covariance
from lapwing.protocol.domains.domain import Domain
from lapwing.results.atoms import expected_mass
from lapwing.results.uncertainty import Uncertainty

KEY = "steps"
"""Where the provenance of a result has the number of its steps."""

LEAST_STEPS = 8
"""Bins are not merged further: fewer steps show no shape."""

MOST_STEPS = 256
"""Of a picture 720 points wide each is then three points wide."""


Detail = Literal["resolved", "all"]
"""Whether a density is drawn in steps that can be distinguished, or in all bins."""


def check_detail(detail: str) -> None:
    """Raise ArgumentError unless it is "resolved" or "all"."""
    if detail not in ("resolved", "all"):
        raise ArgumentError("detail", "must be 'resolved' or 'all'", repr(detail))


def flat_shares(domain: Domain) -> Vector:
    """Return the shares of the symbols under a flat density: float64 [symbols with a place].

    Flat along the axis as it is drawn, so on a log scale in the logarithm. Atoms and what lies
    outside the range have none. Of whole numbers all have the same.
    """
    left, right = domain.left, domain.right
    lengths = right - left
    if not lengths.any():
        lengths = np.ones(left.size)
        lengths[domain.outside_indices] = 0.0
    elif getattr(domain, "scale", "linear") == "log":
        inside = (lengths > 0) & (left > 0)
        ratio = np.divide(right, left, out=np.ones(left.size), where=inside)
        lengths = np.log(ratio)
    shares: Vector = lengths / lengths.sum()
    return shares


def step_numbers(domain: Domain, steps: int) -> NDArray[np.int64]:
    """Return the step of each bin: int64 [bins with a length], from 0 on, without a gap.

    A step ends at the edge of a bin that is nearest to equal shares of a flat density.
    """
    shares = flat_shares(domain)
    sums = np.cumsum(shares[shares > 0])
    # The middle of a bin says in which step it is, so an edge goes to the nearest one.
    middles = sums - shares[shares > 0] / 2
    numbers = np.minimum(np.floor(middles * steps + 1e-9), steps - 1).astype(np.int64)
    places: NDArray[np.int64] = np.unique(numbers, return_inverse=True)[1]
    return places


def preferred_steps(bins: int, most: int) -> int:
    """Return how many steps to draw where at most so many can be distinguished.

    Steps of equally many bins, unless that would make them half as wide again.

    Examples
    --------
    >>> preferred_steps(256, 40), preferred_steps(300, 22), preferred_steps(31, 20)
    (32, 20, 20)
    """
    most = max(min(most, bins), min(LEAST_STEPS, bins))
    least = max(2 * most / 3, min(LEAST_STEPS, bins))
    even = (steps for steps in range(most, 0, -1) if bins % steps == 0 and steps >= least)
    return next(even, most)


def shared_steps(results: Iterable[Any]) -> int | None:
    """Return the number of steps that all results can be drawn with. None where none is known.

    That of the result with the fewest, such as the one of the fewest people.

    Parameters
    ----------
    results : iterable of Distribution
    """
    known = [result.provenance.get(KEY) for result in results]
    counts = [steps for steps in known if type(steps) is int and steps >= 1]
    return min(counts, default=None)


def grouped(law: Uncertainty, groups: NDArray[np.int64]) -> Uncertainty:
    """Return the error distribution of the masses of groups of symbols.

    Parameters
    ----------
    law : Uncertainty
    groups : numpy.ndarray
        int64 [symbols]: the group of each symbol, from 0 on, or -1 where it is in none.
    """
    inside, count = groups >= 0, int(groups.max(initial=-1)) + 1

    def sums(numbers: Vector) -> Any:
        found = np.zeros((count, *numbers.shape[1:]))
        np.add.at(found, groups[inside], numbers[inside])
        return found

    diagonal = sums(law.noise.diagonal)
    # An error of a cumulative sum moves mass from a symbol to the next: between groups.
    after = np.append(groups[1:], -1)
    moved = groups != after
    for group in (groups, after):
        used = moved & (group >= 0)
        np.add.at(diagonal, group[used], law.remainder[used])
    sizes = np.bincount(groups[inside], minlength=count)
    laplace = None
    if law.laplace is not None:
        laplace = law.laplace * math.sqrt(float(sizes.max(initial=1)))
    return Uncertainty(
        sums(law.center),
        Covariance(diagonal, sums(law.noise.factor), law.noise.signs),
        np.zeros(count),
        sums(law.plug_in),
        law.reports,
        law.method,
        tails=law.tails,
        laplace=laplace,
    )


def _totals(groups: NDArray[np.int64], numbers: Vector, count: int) -> Vector:
    """Return the sums of numbers by group: float64 [count]."""
    return np.asarray(np.bincount(groups, weights=numbers, minlength=count), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Steps:
    """Shares of the steps of a density, with their intervals.

    Parameters
    ----------
    edges : numpy.ndarray
        float64 [steps + 1]. Of whole numbers half a number beyond the last.
    shares : numpy.ndarray
        float64 [steps], without what detected atoms hold beyond what is around them.
    low, high : numpy.ndarray or None
        float64 [steps]: simultaneous intervals, each of which holds its share.
    bins : int
        Of the domain.
    """

    edges: Vector
    shares: Vector
    low: Vector | None
    high: Vector | None
    bins: int

    @classmethod
    def of_mass(
        cls,
        domain: Domain,
        mass: Vector,
        steps: int | None,
        *,
        atom_bins: NDArray[np.int64],
        error_law: Uncertainty | None = None,
        level: float = 0.95,
    ) -> Steps:
        """Return the steps of masses.

        Parameters
        ----------
        domain : Domain
            Ordered.
        mass : numpy.ndarray
            float64 [symbols with a place].
        steps : int or None
            How many. None for a step of each bin.
        atom_bins : numpy.ndarray
            int64: the bins in which atoms were detected. A step that has more bins has the density
            of its other bins. One of such a bin alone is as high as the bins around it suggest.
        error_law : Uncertainty, optional
            About the people who reported.
        level : float
            At which all intervals hold at once.
        """
        flat = flat_shares(domain)
        bins = np.flatnonzero(flat > 0)
        many = steps is None or steps >= bins.size
        places = np.arange(bins.size) if many else step_numbers(domain, steps or 1)
        count = int(places[-1]) + 1
        groups = np.full(flat.size, -1)
        groups[bins] = places
        groups[atom_bins] = -1
        used = groups >= 0
        whole = _totals(places, flat[bins], count)
        rest = _totals(groups[used], flat[used], count)
        scale: Vector = np.divide(whole, rest, out=np.zeros(count), where=rest > 0)
        shares = _totals(groups[used], mass[used], count) * scale
        alone = np.flatnonzero(rest == 0)
        if alone.size:
            usual = expected_mass(
                mass, domain.left, domain.right, atom_bins, circular=domain.circular
            )
            number = np.full(flat.size, -1)
            number[bins] = places
            filled = _totals(number[atom_bins], usual, count)
            shares[alone] = filled[alone]
        left, right = domain.left[bins], domain.right[bins]
        if np.array_equal(left, right):
            left, right = left - 0.5, right + 0.5
        first = np.searchsorted(places, np.arange(count))
        edges = np.append(left[first], right[-1])
        if error_law is None:
            return cls(edges, shares, None, None, bins.size)
        low, high = grouped(error_law, groups).curves(
            level, "simultaneous", cumulative=False, least=0.0
        )
        low, high = (np.pad(ends, (0, count - ends.size)) * scale for ends in (low, high))
        # Of a step that is an atom's bin alone nothing is known but what is around it.
        low[alone] = 0.0
        high[alone] = high.max(initial=0.0)
        return cls(edges, shares, np.minimum(low, shares), np.maximum(high, shares), bins.size)
