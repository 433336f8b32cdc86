"""Steps of a density: bins that are drawn as one, because the reports cannot tell them apart.

How many steps there are follows from channel, number of people and domain alone, so that weeks,
segments and a truth have the same ones. A decoder writes the number into the provenance of its
result (:func:`lapwing.decoders.decoder.resolved_steps`).
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
from lapwing.protocol.domains.domain import Domain, flat_shares
from lapwing.results.atoms import expected_mass, found_bins
from lapwing.results.intervals import answering
from lapwing.results.uncertainty import Target, Uncertainty

KEY = "steps"
"""Where the provenance of a result has the number of its steps."""

Detail = Literal["resolved", "all"]
"""Whether a density is drawn in steps that can be distinguished, or in all bins."""


def check_detail(detail: str) -> None:
    """Raise ArgumentError unless it is "resolved" or "all"."""
    if detail not in ("resolved", "all"):
        raise ArgumentError("detail", "must be 'resolved' or 'all'", repr(detail))


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


def shared_steps(results: Iterable[Any]) -> int | None:
    """Return the number of steps that all results can be drawn with. None where none is known.

    That of the result with the fewest, such as the one of the fewest people.
    """
    known = [result.provenance.get(KEY) for result in results]
    counts = [steps for steps in known if type(steps) is int and steps >= 1]
    return min(counts, default=None)


def grouped(law: Uncertainty, groups: NDArray[np.int64]) -> Uncertainty:
    """Return the error distribution of the masses of groups of symbols.

    groups: int64 [symbols]: the group of each symbol, from 0 on, or -1 where it is in none.
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
        whole=law.whole,
    )


def _totals(groups: NDArray[np.int64], numbers: Vector, count: int) -> Vector:
    """Return the sums of numbers by group: float64 [count]."""
    return np.asarray(np.bincount(groups, weights=numbers, minlength=count), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Steps:
    """Shares of the steps of a density, with their intervals.

    edges: float64 [steps + 1]. Of whole numbers half a number beyond the last.
    shares: float64 [steps], without what detected atoms hold beyond what is around them.
    low, high: float64 [steps]: simultaneous intervals, each of which holds its share. Neither
        end is nearer to it than the standard deviation of the error, unless it is 0 or 1.
    bins: Of the domain.
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

        domain: Ordered.
        mass: float64 [symbols with a place].
        steps: How many. None for a step of each bin.
        atom_bins: int64: the bins in which atoms were detected. A step that has more bins has the
            density of its other bins. One of such a bin alone is as high as the bins around it
            suggest.
        error_law: About the people who reported.
        level: At which all intervals hold at once.
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
        law = grouped(error_law, groups)
        ends = law.curves(level, "simultaneous", cumulative=False, least=0.0)
        deviation = np.sqrt(np.maximum(law.noise.variance(), 0.0))
        low, high, deviation = (
            np.pad(each, (0, count - each.size)) * scale for each in (*ends, deviation)
        )
        # Of a step that is an atom's bin alone nothing is known but what is around it.
        low[alone] = 0.0
        high[alone] = high.max(initial=0.0)
        # Where an estimate is not at the center of its distribution, an end could touch it.
        low = np.minimum(low, np.maximum(shares - deviation, 0.0))
        high = np.maximum(high, np.minimum(shares + deviation, np.maximum(shares, 1.0)))
        return cls(edges, shares, low, high, bins.size)


def drawn_steps(
    result: Any, *, level: float = 0.95, steps: int | None = None, target: Target = "empirical"
) -> Steps:
    """Return the shares of so many steps, or of all bins. DomainError for categories."""
    curve, law = result.cumulative, result._present_uncertainty
    atom_bins, _ = found_bins(result.atoms, curve.left, curve.right)
    # Fine shapes that steps average out may be in single bins.
    error_law = answering(law, target) if law is None or not steps else law.about_steps(target)
    return Steps.of_mass(
        result.domain, curve.mass, steps, atom_bins=atom_bins, error_law=error_law, level=level
    )
