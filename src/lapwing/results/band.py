"""Lower and upper curves that hold the truth between them as often as they say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from statistics import NormalDist
from typing import Literal

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector

Kind = Literal["pointwise", "simultaneous"]

Target = Literal["empirical", "population"]

_CERTAIN = 1e-6
"""A band narrower than this part of its widest place has no error there but rounding."""

_ROUNDING = 1e-9
"""More than the rounding of a sum of shares, less than one person of very many."""


def check_level(level: float) -> None:
    """Raise ArgumentError unless the level is in (0, 1)."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ArgumentError(f"the level of a band must be in (0, 1), got {level!r}")


def check_kind(kind: Kind, target: Target) -> None:
    """Raise ArgumentError unless it is a kind and a target."""
    if kind not in ("pointwise", "simultaneous"):
        raise ArgumentError(f"kind must be 'pointwise' or 'simultaneous', got {kind!r}")
    if target not in ("empirical", "population"):
        raise ArgumentError(f"target must be 'empirical' or 'population', got {target!r}")


def normal_critical_value(level: float) -> float:
    """Return how many standard deviations on each side hold this part of a normal distribution."""
    check_level(level)
    return NormalDist().inv_cdf((1 + level) / 2)


def to_zero(low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Return the two curves of a difference, which reach to zero where nothing is left to chance.

    At the last edge both CDFs are one by construction, so their difference has no error and is
    zero; what a computer makes of it is rounding, of either sign.
    """
    width = high - low
    certain = width <= _CERTAIN * width.max(initial=0.0)
    certain &= np.minimum(np.abs(low), np.abs(high)) <= _ROUNDING
    low = np.where(certain, np.minimum(low, 0.0), low)
    return low, np.where(certain, np.maximum(high, 0.0), high)


def kind_when_shown(shown: int, symbols: int) -> Kind:
    """Return the kind of intervals for a list of so many of the symbols, the largest first.

    What is chosen because it came out large came out too large, so its intervals must hold for
    all symbols at once. Where all are shown, nothing is chosen.
    """
    return "pointwise" if shown >= symbols else "simultaneous"


@dataclass(frozen=True, eq=False)
class Band:
    """A lower and an upper curve.

    Parameters
    ----------
    points : numpy.ndarray
        float64 [knots]: where the curves are given; the right ends of the symbols for a CDF, the
        numbers of the symbols for shares of categories.
    starts : numpy.ndarray
        float64 [knots]: the left ends of the symbols; quantile intervals end at whole symbols.
    low, high : numpy.ndarray
        float64 [knots], in [0, 1].
    level : float
        Nominal coverage, in (0, 1).
    kind : {"pointwise", "simultaneous"}
        Whether the level holds at each point alone, or for the whole curve at once.
    target : {"empirical", "population"}
        Whether it covers the distribution of the people who reported, or of all people they were
        drawn from.
    method : str
        How it was made, with what is known of its coverage.
    """

    points: Vector
    starts: Vector
    low: Vector
    high: Vector
    level: float
    kind: Kind
    target: Target
    method: str

    def quantile(self, probability: float) -> tuple[float, float]:
        """Return an interval for a quantile, by inversion of the band.

        It reaches to the outer ends of the symbols, because a band says nothing inside them.

        Parameters
        ----------
        probability : float
            In [0, 1].
        """
        if not 0 <= probability <= 1:
            raise ArgumentError(f"a quantile's probability must be in [0, 1], got {probability}")
        upper = np.maximum.accumulate(self.high)
        lower = np.maximum.accumulate(self.low)
        last = self.points.size - 1
        first = min(int(np.searchsorted(upper, probability, side="left")), last)
        stop = min(int(np.searchsorted(lower, probability, side="left")), last)
        return float(self.starts[first]), float(self.points[stop])

    def reaching(self, heights: Vector) -> Band:
        """Return the band that reaches to a curve where that lies outside: it covers no less."""
        low, high = np.minimum(self.low, heights), np.maximum(self.high, heights)
        return replace(self, low=low, high=high)

    def monotone(self) -> Band:
        """Return the narrowest band around it whose curves never fall: how a CDF's is drawn.

        A pointwise band of an unbiased estimate goes up and down with the noise, and no CDF does.
        This one holds whatever it holds, so it covers no less at any point. The widest within it
        would cover less: its lower curve at a point is the highest of all before, each of which
        fails as often as the level allows.
        """
        low = np.minimum.accumulate(self.low[::-1])[::-1]
        return replace(self, low=low, high=np.maximum.accumulate(self.high))

    def share_inside(self, heights: Vector) -> float:
        """Return the part of the knots at which a curve lies in the band.

        Well below the level, it says that a decoder smooths away something the reports show.
        """
        slack = 1e-12
        inside = (heights >= self.low - slack) & (heights <= self.high + slack)
        return float(inside.mean())


@dataclass(frozen=True, eq=False)
class DifferenceBand:
    """A lower and an upper curve for the difference of two CDFs, or of the shares of labels.

    Parameters
    ----------
    points : numpy.ndarray
        float64 [knots]: right ends of the symbols, or the numbers of the symbols for labels.
    low, high : numpy.ndarray
        float64 [knots], in [-1, 1].
    level : float
        Nominal coverage, in (0, 1).
    kind : {"pointwise", "simultaneous"}
    target : {"empirical", "population"}
    method : str
        How the two were made.
    """

    points: Vector
    low: Vector
    high: Vector
    level: float
    kind: Kind
    target: Target
    method: str

    def reaching(self, heights: Vector) -> DifferenceBand:
        """Return the band that reaches to a curve where that lies outside: it covers no less."""
        low, high = np.minimum(self.low, heights), np.maximum(self.high, heights)
        return replace(self, low=low, high=high)

    @property
    def leaves_zero(self) -> bool:
        """Whether zero lies outside somewhere.

        For a simultaneous band this is a test: two equal groups differ so with a probability of
        at most one minus the level.
        """
        return bool(((self.low > 0) | (self.high < 0)).any())
