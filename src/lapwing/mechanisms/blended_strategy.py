"""Prefix sums with a part of the budget spent on what smooth data have.

Prefix sums treat all data alike. Smooth data lie near a few polynomials, and asking for those too
makes the noise of the rest of no importance. How much of the budget they get depends on how much
noise there is, never on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lapwing.linear.arrays import Matrix, Whole
from lapwing.linear.function_families import legendre_tails
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.blended_sums import BlendedSums
from lapwing.linear.operators.square_root_sums import UNIT, coefficients
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.integer_noise import Sensitivity

FUNCTIONS = 24
"""Polynomials. With twelve, smooth data gain no more and bumpy data lose."""

_SLOPE, _BETWEEN, _WIDEST = 1.5, 0.72, 1.535
"""The shape of the noise: see :func:`_shape`; and how far it puts two rows of people apart."""

_ROUGH = 2**8
"""Entries of the rows are multiples of this part of the unit: far coarser than what machines could
differ by, and the rounded rows are the strategy."""


@dataclass(frozen=True)
class BlendedStrategy:
    """The square root of the prefix sums with 24 smooth rows below, in whole numbers.

    Parameters
    ----------
    held : int
        Present symbols, at least 64.
    size : int
        All symbols; a missing one counts as the upper end in the smooth rows.
    percent : int
        Part of the squared sensitivity that the smooth rows have, in 1..80.
    """

    held: int
    size: int
    percent: int

    @property
    def rows(self) -> Whole:
        """The smooth rows: int64 [24, size]."""
        return _rows(self.held, self.size, self.percent)

    @property
    def operator(self) -> BlendedSums:
        """The matrix in floating point."""
        return BlendedSums(self.rows.astype(np.float64))

    @property
    def largest(self) -> int:
        """The largest absolute value in the matrix."""
        return max(UNIT, int(np.abs(self.rows).max()))

    def answers(self, counts: Whole) -> Whole:
        """Return the exact answers: prefix sums first. O(size^2)."""
        sums = np.convolve(counts, coefficients(self.size))[: self.size]
        return np.concatenate([sums, self.rows @ counts])

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return the largest norms over all pairs of symbols, exactly. O(size^2)."""
        return _sensitivity(self.held, self.size, self.percent, neighbors)


@memoized(most=16)
def _rows(held: int, size: int, percent: int) -> Whole:
    steps = legendre_tails(FUNCTIONS, (2 * np.arange(held) + 1) / held - 1)
    # What all symbols have in common tells nothing.
    shaped = _shape() @ np.hstack([steps, np.zeros((FUNCTIONS, size - held))])
    shaped -= (shaped.max(axis=1, keepdims=True) + shaped.min(axis=1, keepdims=True)) / 2
    apart = math.sqrt(_first_apart(size) * percent / (100 - percent)) / _WIDEST
    rows: Whole = np.rint(shaped * (apart / _ROUGH)).astype(np.int64) * _ROUGH
    rows.flags.writeable = False
    return rows


def _shape() -> Matrix:
    """Return what the Legendre coefficients are multiplied by before noise is added: [24, 24].

    ``sqrt(1 + 1.5 i)`` on the diagonal and ``0.72 / |i - j|`` where i - j is even: the noise of
    least mean square in the curve (`PolynomialProjection`) within 2 %. In closed form because a
    strategy must be the same on every machine, and a search would not be.
    """
    degree = np.arange(FUNCTIONS)
    lag = np.abs(degree[:, None] - degree)
    shape: Matrix = np.where(lag % 2 == 0, _BETWEEN / np.maximum(lag, 1), 0.0)
    shape[degree, degree] = np.sqrt(1 + _SLOPE * degree)
    return shape


def _first_apart(size: int) -> int:
    """Return the largest squared distance of two columns of the root: of the first from another."""
    f = coefficients(size)
    squares = np.cumsum(f * f)
    cross = np.correlate(f, f, "full")[size:]
    return int((squares[-1] + squares[-2::-1] - 2 * cross).max())


def _apart(size: int, lag: int) -> tuple[Whole, Whole]:
    """Return squared and absolute distances of all columns of the root so far from each other.

    Each int64 [size - lag].
    """
    f = coefficients(size)
    squares, sums = np.cumsum(f * f), np.cumsum(f)
    # Columns i and i + lag: the first has size - i entries, the second lag fewer.
    last = size - 1 - np.arange(size - lag)
    cross = np.cumsum(f[lag:] * f[: size - lag])
    squared = squares[last] + squares[last - lag] - 2 * cross[last - lag]
    # f decreases: before the lag the change is f, after it negative, and sums telescope.
    return squared, 2 * sums[lag - 1] + sums[last - lag] - sums[last]


@memoized(most=16)
def _sensitivity(held: int, size: int, percent: int, neighbors: Neighbors) -> Sensitivity:
    rows = _rows(held, size, percent)
    if neighbors == "add-or-remove-one":
        f = coefficients(size)
        squares, sums = np.cumsum(f * f)[::-1], np.cumsum(f)[::-1]
        return Sensitivity(
            int((squares + (rows**2).sum(axis=0)).max()),
            int((sums + np.abs(rows).sum(axis=0)).max()),
        )
    squared = absolute = 0
    for lag in range(1, size):
        one, two = _apart(size, lag)
        moved = rows[:, lag:] - rows[:, : size - lag]
        squared = max(squared, int((one + (moved**2).sum(axis=0)).max()))
        absolute = max(absolute, int((two + np.abs(moved).sum(axis=0)).max()))
    return Sensitivity(squared, absolute)
