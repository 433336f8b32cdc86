"""Atoms: values that many people hold exactly, declared by the domain or found in the reports.

A declared atom is a symbol of its own, and the CDF steps there. A found one is a bin that holds
significantly more than twice what the bins around it suggest. Where inside the bin the value is,
no report says; so the CDF stays linear in the bin, and only lists and pictures mark it.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.results.band import normal_critical_value
from lapwing.results.uncertainty import Uncertainty

FALSE_ALARMS = 0.01
"""Probability of at least one found atom in a column that has none."""

REACH = 2
"""Bins on each side that say how much a bin would hold without an atom."""

TIMES = 2.0
"""What stands out holds more than so many times that. A smooth curve that doubles from a bin to
the next is coarser than its bins, and no reports tell it from a spike."""

SYMBOL_LIMIT = 2**20
"""More than these are not searched, to keep memory small; so many bins hold few people each."""

_PASSES = 3
"""Neighbours that turned out to be atoms themselves are left out in the next pass."""


@dataclass(frozen=True)
class Atom:
    """A value that many people hold exactly.

    Parameters
    ----------
    left, right : float
        Where it is: the same number for a declared atom and for whole numbers, the ends of its
        bin for a found one.
    share : float
        Of the people, in [0, 1]. For a found atom: what its bin holds beyond what the bins
        around it suggest.
    low, high : float or None
        95 % interval of the share; None without an error law. That of an atom which just stood
        out tends to lie too high, because luck helped to find it.
    declared : bool
        By the domain; otherwise found.
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

    Parameters
    ----------
    error_law : Uncertainty
        Of the masses, about the people who reported (:func:`lapwing.results.intervals.answering`).
    left, right : numpy.ndarray
        float64 [symbols]: their ends.
    circular : bool
        Whether the last touches the first.
    false_alarms : float
        In (0, 1): the probability of finding any in a column without them.

    Returns
    -------
    numpy.ndarray
        int64, their numbers. Declared atoms (points among bins) are not among them. None of less
        than 4 or more than 2^20 symbols.

    Raises
    ------
    ArgumentError
        When the rate of false alarms is not in (0, 1).

    Accuracy
    --------
    One-sided normal tests of ``mass > 2 x (mean of up to four neighbours)`` at the rate divided
    by the number of symbols. An atom whose share is below that of its bin's other people is not
    found, nor one that the reports cannot tell from its neighbours. Measured: see the tests.

    Cost
    ----
    O(symbols * rank of the error law).
    """
    if not 0 < false_alarms < 1:
        raise ArgumentError(f"the rate of false alarms must be in (0, 1), got {false_alarms}")
    width = _widths(left, right)
    candidates = width > 0
    if not 2 * REACH <= np.count_nonzero(candidates) <= SYMBOL_LIMIT:
        return np.zeros(0, dtype=np.int64)
    critical = NormalDist().inv_cdf(1 - false_alarms / np.count_nonzero(candidates))
    found = np.zeros(width.size, dtype=np.bool_)
    for _ in range(_PASSES):
        around = _neighbours(width, candidates & ~found, circular=circular)
        excess, deviation = _contrast(error_law, around, TIMES)
        # Without neighbours, or without an error, there is nothing to judge by.
        judged = candidates & (np.asarray(around.sum(axis=1)).ravel() > 0) & (deviation > 0)
        new = judged & (excess > critical * deviation) & ~found
        if not new.any():
            break
        found |= new
    return np.flatnonzero(found)


def excess_of(
    error_law: Uncertainty,
    left: Vector,
    right: Vector,
    symbols: NDArray[np.int64],
    *,
    circular: bool,
) -> tuple[Vector, Vector]:
    """Return what found atoms hold beyond what is around them, and the standard errors."""
    excess, deviation = _contrast(error_law, _around(left, right, symbols, circular=circular), 1.0)
    return excess[symbols], deviation[symbols]


def expected_mass(
    mass: Vector, left: Vector, right: Vector, symbols: NDArray[np.int64], *, circular: bool
) -> Vector:
    """Return what the bins of found atoms would hold by what is around them: float64 [symbols]."""
    expected: Vector = (_around(left, right, symbols, circular=circular) @ mass)[symbols]
    return np.minimum(expected, mass[symbols])


def atoms_of(
    mass: Vector,
    error_law: Uncertainty | None,
    left: Vector,
    right: Vector,
    *,
    circular: bool,
    false_alarms: float = FALSE_ALARMS,
) -> tuple[Atom, ...]:
    """Return the declared and the found atoms of masses, from left to right.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [symbols], as decoded.
    error_law : Uncertainty or None
        About the people who reported. Without one, none can be found.
    left, right : numpy.ndarray
        float64 [symbols].
    circular : bool
    false_alarms : float
    """
    critical = normal_critical_value(0.95)
    atoms = []
    points = left == right
    if not points.all():
        for symbol in np.flatnonzero(points).tolist():
            interval = None
            if error_law is not None:
                weights = np.zeros(mass.size)
                weights[symbol] = 1.0
                interval = (
                    float(error_law.centre[symbol]),
                    error_law.deviation(weights, "empirical"),
                )
            atoms.append(_atom(left, right, symbol, mass[symbol], interval, critical, True))
    if error_law is not None:
        found = find_atoms(error_law, left, right, circular=circular, false_alarms=false_alarms)
        if found.size:
            shares = mass[found] - expected_mass(mass, left, right, found, circular=circular)
            excesses = excess_of(error_law, left, right, found, circular=circular)
            for symbol, share, *about in zip(found.tolist(), shares, *excesses, strict=True):
                one = (float(about[0]), float(about[1]))
                atoms.append(_atom(left, right, symbol, share, one, critical, False))
    return tuple(sorted(atoms, key=lambda atom: atom.left))


def _atom(
    left: Vector,
    right: Vector,
    symbol: int,
    share: float,
    about: tuple[float, float] | None,
    critical: float,
    declared: bool,
) -> Atom:
    low = high = None
    if about is not None:
        low = min(max(about[0] - critical * about[1], 0.0), 1.0)
        high = min(max(about[0] + critical * about[1], 0.0), 1.0)
    return Atom(float(left[symbol]), float(right[symbol]), float(share), low, high, declared)


def _around(left: Vector, right: Vector, found: NDArray[np.int64], *, circular: bool) -> csr_matrix:
    """Return the means of those neighbours that are no atoms: [symbols, symbols]."""
    width = _widths(left, right)
    usual = width > 0
    usual[found] = False
    return _neighbours(width, usual, circular=circular)


def _widths(left: Vector, right: Vector) -> Vector:
    """Return the widths of the symbols; whole numbers count as bins of width one."""
    width = right - left
    return width if width.any() else np.ones_like(width)


def _neighbours(width: Vector, usual: NDArray[np.bool_], *, circular: bool) -> csr_matrix:
    """Return the means of neighbours, scaled to each symbol's width: [symbols, symbols].

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
    size = error_law.centre.size
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
    return contrast @ error_law.centre, np.sqrt(np.maximum(variance, 0.0))
