"""The largest of many shrunk shares: an error there is dear, and what is significant stays.

The posterior mean has the least squared error over all symbols, nearly all of which are empty. Of
the largest it takes more than it need: a share at four standard deviations is moved towards the
many that are noise, and one at seven towards whatever atom the learned mixture has nearby, though
shares there are spread evenly and the atom is an accident.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lapwing.decoders.empirical_bayes.learned_mixture import LearnedMixture
from lapwing.decoders.unbiased.unbiased_shares import Tails
from lapwing.linear.arrays import Vector
from lapwing.linear.projections import simplex

HEAD = 50
"""The largest symbols, whose errors count for more."""

PRICE = 0.015
"""By how much the squared error of all symbols may grow for that, as the learned mixture says."""

ALPHA = 0.05
"""Probability that any empty symbol has an estimate that counts as significant."""

_SHOWN = 0.5
"""A share of so many times the significant size belongs to a head that the reports can show."""

_SOFT = 0.25
"""Standard deviations over which an estimate becomes significant."""

_OWN = 2.0
"""Squared standard deviations of shrinkage that are an accident, as James and Stein's n - 2."""

_NO_HEAD, _HEAD = 2, 10
"""Labels to each of the head: from so few nothing is a head of them, and from so many it is."""

_HALVINGS = 40

_FAR = 50.0

_LEAST, _MOST = -12.0, 12.0
"""Of the logarithm of what an error in the head costs."""


@dataclass(frozen=True, eq=False)
class ShrunkShares:
    """Estimates of all shares, none of them negative, and what an error in each costs.

    Parameters
    ----------
    free : numpy.ndarray
        float64 [size]; their sum need not be one.
    costs : numpy.ndarray
        float64 [size], at least one.
    """

    free: Vector
    costs: Vector

    @property
    def mass(self) -> Vector:
        """The nearest shares that sum to one, by these costs: what is dear moves least."""
        if self.costs.max() == self.costs.min():
            return simplex(self.free)
        return simplex(self.free, weights=self.costs)


@dataclass(frozen=True, eq=False)
class DoubtedShares(ShrunkShares):
    """Shrunk shares of few labels, which are believed in part only.

    Parameters
    ----------
    averaged : numpy.ndarray
        float64 [size]: their distribution, averaged with that of shares that are not shrunk.
    """

    averaged: Vector

    @classmethod
    def of(cls, shrunk: ShrunkShares, unbiased: Vector, belief: float) -> DoubtedShares:
        """Return the average of both, the shrunk shares with the weight `belief`, in [0, 1]."""
        free = belief * shrunk.free + (1 - belief) * np.maximum(unbiased, 0.0)
        averaged = belief * shrunk.mass + (1 - belief) * simplex(unbiased)
        return cls(free, shrunk.costs, averaged)

    @property
    def mass(self) -> Vector:
        """The averaged distribution."""
        return self.averaged


@dataclass(frozen=True, eq=False)
class Head:
    """What estimates in the bins of a mixture become.

    Parameters
    ----------
    estimates : numpy.ndarray
        float64 [bins].
    costs : numpy.ndarray
        float64 [bins]: the expected cost of a squared error, one for those that are not large.

    Notes
    -----
    Two steps.

    1. *The head costs more.* With v = 1 at the largest shares of the grid, `HEAD` symbols
       together, and c the cost, the weighted loss ``(1 + c v(share)) (t - share)^2`` has the least
       expectation at ``t = (E[share] + c E[v share]) / (1 + c E[v])``. That is the best that can
       be had for the head at a given price for all; c is the largest at which the squared error
       of all grows by at most `PRICE`, as far as reports show a head: where only a part of it is
       half as large as is significant, the price falls with the square of that part.
    2. *Significant estimates are shrunk by as much as it pays.* The mixture was learned from the
       estimates that it shrinks, so its atoms lie where they do, too. Above Bonferroni's threshold
       the estimate is ``z + a (t - z)`` with ``a = max(0, 1 - 2 / sum((t - z)^2 / variance))``, as
       James and Stein's: many equal shares stay together, and what is moved a little only (an
       evenly spread head, a share far from all others) stays where the reports put it.

       With Laplace noise, for which that argument does not hold, the mean stays.

    Neither step is for a hundred labels or fewer, most of which would be the head: of equal ones
    some are significant by chance, and kept their noise. Half of either is taken at 300 labels,
    the whole from 500 on.

    Source: own. James and Stein 1961, the positive part; Efron and Morris 1972 limit how far an
    estimate is moved, too.
    """

    estimates: Vector
    costs: Vector

    @classmethod
    def of(cls, learned: LearnedMixture, *, symbols: int, certain: int, tails: Tails) -> Head:
        """Return the estimates of the bins.

        Parameters
        ----------
        learned : LearnedMixture
        symbols : int
            Of the domain.
        certain : int
            Those that are kept as they are and belong to the head.
        tails : {"normal", "laplace"}
        """
        reach = significant_steps(symbols, tails)
        large = np.asarray(learned.grid_steps >= _SHOWN * reach, dtype=np.float64)
        dear = large * _largest(learned, HEAD - certain)
        shown = certain + float(learned.bins.sum() * (learned.weights @ large))
        rare = min(max((symbols / HEAD - _NO_HEAD) / (_HEAD - _NO_HEAD), 0.0), 1.0)
        price = rare * PRICE * min(1.0, shown / HEAD) ** 2
        means, costs = _dearer_head(learned, dear, price)
        if tails == "laplace":
            return cls(means, costs)
        # Part of the head given the estimate, under the prior that the costs amount to.
        real = 1 - (1 - learned.posterior @ large) / costs
        far = np.clip((learned.steps - reach) / _SOFT, -_FAR, _FAR)
        return cls(_stayed(learned, means, rare * real / (1 + np.exp(-far))), costs)


def significant_steps(symbols: int, tails: Tails) -> float:
    """Return the standard deviations that no estimate of an empty symbol exceeds but by accident.

    Of `symbols` empty ones any does with probability at most `ALPHA`.
    """
    if tails == "laplace":
        return math.log(symbols / (2 * ALPHA)) / math.sqrt(2)
    return -NormalDist().inv_cdf(ALPHA / symbols)


def _largest(learned: LearnedMixture, number: int) -> Vector:
    """Return which part of each share of the grid is among so many largest symbols, in [0, 1]."""
    held = learned.weights * learned.bins.sum()
    above = np.cumsum(held[::-1])[::-1] - held
    part: Vector = np.clip((number - above) / np.maximum(held, 1e-9), 0.0, 1.0)
    return part


def _dearer_head(learned: LearnedMixture, dear: Vector, price: float) -> tuple[Vector, Vector]:
    """Return means of the bins where the head costs more, and the expected costs.

    The squared error of all grows by ``sum(bins (t - mean)^2)``, because the mean has the least.
    """
    posterior, grid, bins = learned.posterior, learned.grid, learned.bins
    plain = posterior @ grid
    in_head, of_head = posterior @ dear, posterior @ (dear * grid)
    most = price * float(bins @ np.maximum(posterior @ grid**2 - plain**2, 0.0))
    low, high = _LEAST, _MOST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        moved = math.exp(middle) * (of_head - in_head * plain) / (1 + math.exp(middle) * in_head)
        low, high = (low, middle) if float(bins @ moved**2) > most else (middle, high)
    costs = 1 + math.exp(low) * in_head
    return (plain + math.exp(low) * of_head) / costs, costs


def _stayed(learned: LearnedMixture, means: Vector, sure: Vector) -> Vector:
    """Return the means with those that are surely of the head shrunk by as much as pays."""
    away = means - learned.centers
    moved = float((learned.bins * sure) @ (away**2 / learned.variances))
    part = max(1 - _OWN / max(moved, 1e-300), 0.0)
    stayed: Vector = means - (1 - part) * sure * away
    return stayed
