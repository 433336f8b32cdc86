"""Atoms: values that many people hold exactly, declared by the domain or found in the reports.

A declared atom is a symbol of its own, and the CDF steps there. A found one is a bin that holds
significantly more than twice what the bins around it suggest. Where inside the bin the value is,
no report says. So the CDF stays linear in the bin, and only lists and pictures mark it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, identity

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, short_repr
from lapwing.results.intervals import answering
from lapwing.results.uncertainty import (
    Target,
    Uncertainty,
    independent_critical_values,
    normal_critical_value,
)

FALSE_ALARMS = 0.01
"""Probability of at least one detected atom in a column that has none."""

REACH = 2
"""Bins on each side that say how much a bin would hold without an atom."""

TIMES = 2.0
"""What stands out holds more than so many times that."""
# A smooth curve that doubles from a bin to the next is coarser than its bins, and no reports tell
# it from a spike.

SYMBOL_LIMIT = 2**20
"""More than these are not searched, to keep memory small. So many bins hold few people each."""

_PASSES = 3
"""Neighbors that turned out to be atoms themselves are left out in the next pass."""


@dataclass(frozen=True)
class Atom:
    """A value that many people hold exactly.

    left, right: Where it is: the same number for a declared atom and for whole numbers, the ends of
        its bin for a found one.
    share: Of the people, in [0, 1]. For a detected atom: the excess of its bin over what
        the bins around it suggest. It comes from the estimate that its interval is about, because a
        smoothed one would spread the mass of a bin over its neighbors.
    low, high: 95% interval of the share. None without an error distribution. The interval of a
        detected one reaches from the excess that is certain to the whole bin, because its bin may
        hold other values. The lower end allows its bin twice what the bins around it suggest. It
        also corrects for selection, because a mass found by chance looks larger than it is.
    declared: By the domain. Otherwise found.
    """

    left: float
    right: float
    share: float
    low: float | None
    high: float | None
    declared: bool


def find_atoms(
    error_law: Uncertainty,
    left: Vector,
    right: Vector,
    *,
    circular: bool = False,
    false_alarms: float = FALSE_ALARMS,
) -> NDArray[np.int64]:
    """Return the symbols that stand out of those around them, in increasing order.

    error_law: Of the masses, about the people who reported
        (:func:`lapwing.results.intervals.answering`).
    left, right: float64 [symbols]: their ends.
    circular: Whether the last touches the first.
    false_alarms: In (0, 1): the probability of finding any in a column without them.
    returns: int64, their numbers. Declared atoms (points among bins) are not among them. None of
        less than 4 or more than 2^20 symbols.

    Raises ArgumentError when the rate of false alarms is not in (0, 1).

    **Accuracy.** One-sided tests of ``mass > 2 x (mean of up to four neighbors)`` at the rate
    divided by the number of symbols: normal ones or, where noise is Laplace, ones of its tails. An
    atom whose share is below that of its bin's other people is not found, nor one that the reports
    cannot tell from its neighbors. Measured: see the tests.

    **Cost.** O(symbols * rank of the error distribution).
    """
    if not 0 < false_alarms < 1:
        raise ArgumentError("false_alarms", "must be in (0, 1)", str(false_alarms))
    width = _widths(left, right)
    candidates = width > 0
    if not 2 * REACH <= np.count_nonzero(candidates) <= SYMBOL_LIMIT:
        return np.zeros(0, dtype=np.int64)
    found = np.zeros(width.size, dtype=np.bool_)
    for _ in range(_PASSES):
        around = _neighbors(width, candidates & ~found, circular=circular)
        excess, deviation = _contrast(error_law, around, TIMES)
        # Without neighbors, or without an error, there is nothing to judge by.
        judged = candidates & (np.asarray(around.sum(axis=1)).ravel() > 0) & (deviation > 0)
        critical = _critical(error_law, around, deviation, candidates, false_alarms)
        new = judged & (excess > critical * deviation) & ~found
        if not new.any():
            break
        found |= new
    return np.flatnonzero(found)


@dataclass(frozen=True, eq=False)
class Excess:
    """Intervals of detected atoms beyond their surroundings, corrected for selection.

    share, deviation: float64 [found]: estimates and their standard errors.
    least: float64 [found]: the smallest estimates with which they would have been found, whatever
        is independent of them being as it is.
    """

    share: Vector
    deviation: Vector
    least: Vector

    __repr__ = short_repr

    def intervals(self, level: float) -> tuple[Vector, Vector]:
        """Return the lower and upper ends, not cut: float64 [found] each.

        An estimate that was detected is Gaussian, conditional on being above `least`. The lower end
        is the share at which so large an estimate has the conditional probability ``(1 - level) /
        2``. So intervals have their coverage among the detected ones (Lee et al. 2016). The upper
        end is the usual one, because selection could only move it down.
        """
        from scipy.special import log_ndtr  # slow to import

        critical = normal_critical_value(level)
        tail = np.log((1 - level) / 2)
        high = self.share + critical * self.deviation
        # Bisection: the probability rises with the share. Below 40 deviations nothing is left.
        low, least_low = self.share - critical * self.deviation, self.share - 40 * self.deviation
        for _ in range(50):
            middle = (low + least_low) / 2
            beyond = log_ndtr((middle - self.share) / self.deviation)
            beyond -= log_ndtr((middle - self.least) / self.deviation)
            low = np.where(beyond > tail, middle, low)
            least_low = np.where(beyond > tail, least_low, middle)
        return least_low, high


def excess_of(
    error_law: Uncertainty,
    left: Vector,
    right: Vector,
    symbols: NDArray[np.int64],
    *,
    circular: bool,
    false_alarms: float = FALSE_ALARMS,
) -> Excess:
    """Return what detected atoms hold beyond what is around them, found at that rate of alarms."""
    around = _around(left, right, symbols, circular=circular)
    contrasts = [_contrast(error_law, around, times) for times in (1.0, (1 + TIMES) / 2, TIMES)]
    judged = _widths(left, right) > 0
    critical = _critical(error_law, around, contrasts[-1][1], judged, false_alarms)[symbols]
    (share, one), (_, half), (tested, two) = (
        (contrast[symbols], deviation[symbols]) for contrast, deviation in contrasts
    )
    # The variance of the mean of two says how they vary together.
    together = (4 * half**2 - one**2 - two**2) / 2
    slope = np.maximum(together, 1e-300) / np.maximum(one**2, 1e-300)
    least = share - np.maximum(tested - critical * two, 0.0) / slope
    return Excess(share, one, least)


def _critical(
    error_law: Uncertainty,
    around: csr_matrix,
    deviation: Vector,
    judged: NDArray[np.bool_],
    false_alarms: float,
) -> Vector:
    """Return how many standard errors above the rest stands out, anywhere among these symbols.

    float64 [symbols]. A single bin rests on few answers. Where their noise is Laplace, a contrast
    of bins is taken to have the tails of as many independent answers, which is what it has without
    smoothing: at the normal value far more columns have a detected atom that nobody holds.
    """
    alone = false_alarms / np.count_nonzero(judged)
    if not (error_law.tails or error_law.laplace):
        return np.full(deviation.size, -NormalDist().inv_cdf(alone))
    contrast = identity(deviation.size, format="csr") - TIMES * around
    second, fourth = (np.asarray(contrast.power(k).sum(axis=1)).ravel() for k in (2, 4))
    if error_law.laplace is None:
        part = np.sqrt(fourth) / second
    else:
        part = error_law.laplace * np.sqrt(fourth) / np.maximum(deviation**2, 1e-300)
    return independent_critical_values(1 - 2 * alone, 1, part)


def expected_mass(
    mass: Vector, left: Vector, right: Vector, symbols: NDArray[np.int64], *, circular: bool
) -> Vector:
    """Return what bins of detected atoms would hold by what is around them: float64 [symbols]."""
    expected: Vector = (_around(left, right, symbols, circular=circular) @ mass)[symbols]
    return np.minimum(expected, mass[symbols])


def atoms_of(
    mass: Vector,
    error_law: Uncertainty | None,
    left: Vector,
    right: Vector,
    *,
    circular: bool,
    outside: Sequence[int] = (),
    false_alarms: float = FALSE_ALARMS,
    level: float = 0.95,
    shown_law: Uncertainty | None = None,
) -> tuple[Atom, ...]:
    """Return the declared and the detected atoms of masses, from left to right.

    mass: float64 [symbols], as decoded.
    error_law: About the people who reported. Without one, none can be found.
    shown_law: That of the intervals, where it is about others.
    left, right: float64 [symbols].
    outside: Symbols of values outside the range, which are none.
    level: Of the intervals of their shares.
    """
    atoms, found_law = [], error_law
    error_law = shown_law or error_law
    points = left == right
    if not points.all():
        points[list(outside)] = False
        declared = np.flatnonzero(points)
        ends = None if error_law is None else _share_intervals(error_law, declared, level).tolist()
        for number, symbol in enumerate(declared.tolist()):
            share, low, high = float(mass[symbol]), None, None
            if ends is not None:
                # What is decoded may lie outside; then the interval reaches to it.
                low = min(max(ends[number][0], 0.0), share)
                high = max(min(ends[number][1], 1.0), share)
            place = float(left[symbol]), float(right[symbol])
            atoms.append(Atom(*place, share, low, high, declared=True))
    if error_law is not None and found_law is not None:
        found = find_atoms(found_law, left, right, circular=circular, false_alarms=false_alarms)
        if found.size:
            excess = excess_of(
                error_law, left, right, found, circular=circular, false_alarms=false_alarms
            )
            usual = np.maximum(error_law.center[found] - excess.share, 0.0)
            # Its bin may hold twice the usual beside the atom, or nothing.
            lows, highs = excess.intervals(level)
            most = _share_intervals(error_law, found, level)[:, 1].clip(max=1.0)
            rows = np.array([lows - usual, excess.share, highs + usual]).clip(0.0, 1.0)
            rows[2] = np.maximum(rows[2], most)
            for symbol, (low, share, high) in zip(found.tolist(), rows.T.tolist(), strict=True):
                place = float(left[symbol]), float(right[symbol])
                atoms.append(Atom(*place, share, low, high, declared=False))
    return tuple(sorted(atoms, key=lambda atom: atom.left))


def atoms_at(result: Any, level: float, target: Target = "empirical") -> tuple[Atom, ...]:
    """Return the atoms of a distribution, with intervals of a level. Empty for categories."""
    domain = result.domain
    if not domain.ordered:
        return ()
    return atoms_of(
        result.cumulative.mass,
        answering(result._present_uncertainty, "empirical"),
        domain.left,
        domain.right,
        circular=domain.circular,
        outside=domain.outside_indices,
        level=level,
        shown_law=answering(result._present_uncertainty, target),
    )


def _share_intervals(
    error_law: Uncertainty, symbols: NDArray[np.int64], level: float
) -> NDArray[np.float64]:
    """Return the ends of the interval of what each symbol holds, not cut: float64 [symbols, 2]."""
    reach = normal_critical_value(level) * error_law.share_deviations(symbols)
    center = error_law.center[symbols]
    return np.stack([center - reach, center + reach], axis=1)


def found_bins(
    atoms: Sequence[Atom], left: Vector, right: Vector
) -> tuple[NDArray[np.int64], Vector]:
    """Return the numbers of the bins in which atoms were found and their shares, from the left.

    Of whole numbers none: their atoms lie at points.
    """
    found = {atom.left: atom.share for atom in atoms if not atom.declared}
    bins = np.flatnonzero((left < right) & np.isin(left, list(found)))
    return bins, np.array([found[start] for start in left[bins].tolist()], dtype=np.float64)


def _around(left: Vector, right: Vector, found: NDArray[np.int64], *, circular: bool) -> csr_matrix:
    """Return the means of those neighbors that are no atoms: [symbols, symbols]."""
    width = _widths(left, right)
    usual = width > 0
    usual[found] = False
    return _neighbors(width, usual, circular=circular)


def _widths(left: Vector, right: Vector) -> Vector:
    """Return the widths of the symbols. Whole numbers count as bins of width one.

    Values outside have none: their symbols are at the place of the first and the last number.
    """
    width = right - left
    if not width.any():
        width = np.ones_like(width)
        if width.size > 1:
            width[[0, -1]] = left[[0, -1]] != left[[1, -2]]
    return width


def _neighbors(width: Vector, usual: NDArray[np.bool_], *, circular: bool) -> csr_matrix:
    """Return the means of neighbors, scaled to each symbol's width: [symbols, symbols].

    Up to two usual symbols on each side. A row is empty where there are none.
    """
    size = width.size
    (places,) = np.nonzero(usual)
    symbols = np.arange(size)
    before = np.searchsorted(places, symbols, side="left")
    after = np.searchsorted(places, symbols, side="right")
    rows, columns = [], []
    for step in range(1, REACH + 1):
        for position in (before - step, after + step - 1):
            inside = (position >= 0) & (position < places.size)
            if circular and places.size > 2 * REACH:
                position, inside = position % places.size, np.ones(size, dtype=np.bool_)
            rows.append(symbols[inside])
            columns.append(places[position[inside]])
    row, column = np.concatenate(rows), np.concatenate(columns)
    counts = np.maximum(np.bincount(row, minlength=size), 1)
    entries = width[row] / width[column] / counts[row]
    return csr_matrix((entries, (row, column)), shape=(size, size))


def _contrast(error_law: Uncertainty, around: csr_matrix, times: float) -> tuple[Vector, Vector]:
    """Return ``mass - times * around @ mass`` of every symbol and its standard error."""
    size = error_law.center.size
    contrast = (
        csr_matrix((np.ones(size), (np.arange(size), np.arange(size))), shape=(size, size))
        - times * around
    )
    noise = error_law.noise
    variance = contrast.power(2) @ noise.diagonal
    variance = variance + (contrast @ noise.factor) ** 2 @ noise.signs
    if error_law.remainder.any():
        # As functions of the cumulative sums the weights are their own differences.
        ahead = csr_matrix(
            (np.ones(size - 1), (np.arange(1, size), np.arange(size - 1))), shape=(size, size)
        )
        steps = contrast - contrast @ ahead
        variance = variance + steps.power(2) @ error_law.remainder
    return contrast @ error_law.center, np.sqrt(np.maximum(variance, 0.0))
