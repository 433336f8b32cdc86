"""Critical values: how many standard deviations an interval or a band reaches to each side.

Independent errors lie within their bounds at once with the product of the single probabilities.
Normal and correlated errors do so with at least that probability (Šidák 1967).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.results.band import check_level

_PARTS = np.linspace(0.0, 1.0, 129)
"""Parts of the variance for which critical values are solved. Others are interpolated."""

_LEAST_PART = 1e-4
"""A part of the variance that no tail shows."""

_HALVINGS = 60

_FEW, _MOST_STEPS = 3.0, 48
"""Standard deviation in people below which errors are whole numbers, and the largest of them."""

MOSTLY_ZERO = 0.3
"""Variance in people below which noise on counts is zero in four of five, and one person else.

A normal interval may then be shorter than one person. Above, it is long enough, or nearly.
"""

MOST_TAILS = 3.0
"""The excess kurtosis of Laplace noise: sums of it have less."""


def normal_critical_value(level: float) -> float:
    """Return how many standard deviations on each side hold this part of a normal distribution."""
    check_level(level)
    return NormalDist().inv_cdf((1 + level) / 2)


def independent_critical_values(level: float, count: int, laplace: Vector) -> Vector:
    """Return how many standard deviations hold that many independent errors at once.

    level: In (0, 1).
    count: Errors that are to hold together.
    laplace: Part of the variance of each that is Laplace noise, in 0..1, float64 [errors]. The rest
        is normal, and independent of it.

    >>> independent_critical_values(0.95, 1, np.array([0.0, 1.0])).round(3).tolist()
    [1.96, 2.118]
    >>> independent_critical_values(0.95, 1000, np.array([0.0, 1.0])).round(2).tolist()
    [4.05, 6.99]
    """
    outside = float(-np.expm1(np.log(level) / count))
    if not laplace.any():
        return np.full(laplace.size, -NormalDist().inv_cdf(outside / 2))
    low, high = np.zeros(_PARTS.size), np.full(_PARTS.size, -np.log(outside) + 2.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = _outside(middle, _PARTS) > outside
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    found: Vector = np.interp(np.clip(laplace, 0.0, 1.0), _PARTS, high)
    return found


def _outside(bound: Vector, part: Vector) -> Vector:
    """Return the probability that an error of variance one is beyond a bound, on either side."""
    from scipy.special import log_ndtr, ndtr

    part = np.clip(part, _LEAST_PART, 1 - _LEAST_PART**2)
    scale, deviation = np.sqrt(part / 2), np.sqrt(1 - part)
    steps, ratio = bound / deviation, deviation / scale
    near = ratio**2 / 2 - bound / scale + log_ndtr(steps - ratio)
    far = ratio**2 / 2 + bound / scale + log_ndtr(-steps - ratio)
    beyond: Vector = 2 * ndtr(-steps) + np.exp(near) - np.exp(far)
    return beyond


def whole_reach(critical: float, deviation: Vector) -> Vector:
    """Return how far intervals of whole numbers reach, where errors are a few of them.

    Below a standard deviation of three people, errors follow a Poisson distribution, or that of the
    difference of two equal Poisson numbers (Skellam 1946). The wider of the two is taken. The
    interval holds the whole numbers around its center that are not improbable. The allowed
    probability grows to one and a half times that of a normal error, so that no width jumps where
    normal errors begin.

    critical: Standard deviations that a normal error would need.
    deviation: Standard deviations of the errors, in people.

    >>> whole_reach(1.96, np.array([0.1, 0.5, 1.0, 4.0])).round(2).tolist()
    [0.2, 1.5, 2.5, 7.84]
    """
    from scipy.special import ive, ndtr, pdtr, pdtrc

    reach: Vector = critical * deviation
    few = np.flatnonzero((deviation > 0) & (deviation < _FEW))
    if few.size == 0:
        return reach
    # Those of many labels are mostly the same number.
    variance, same = np.unique(deviation[few] ** 2, return_inverse=True)
    outside = 2 * ndtr(-critical) * (1 + variance / (2 * _FEW**2))
    steps = np.arange(_MOST_STEPS + 1)[:, None]
    alike = 2 * ive(steps + 1, variance)[::-1].cumsum(axis=0)[::-1]
    above = pdtrc(np.floor(variance + steps + 0.5), variance)
    below = np.where(variance > steps + 0.5, pdtr(np.maximum(variance - steps - 1, 0), variance), 0)
    held = np.maximum(alike, above + below) <= outside
    most = np.argmax(held, axis=0)
    reach[few] = np.maximum(reach[few], np.where(most > 0, most + 0.5, 0.0)[same])
    return reach


def with_tails(critical: float, tails: float) -> float:
    """Return a critical value of normal errors for errors of an excess kurtosis.

    It adds the first term of Cornish and Fisher's expansion. Below the square root of three it
    adds nothing, because the term would make the interval narrower there.
    """
    return critical + tails * max(critical**3 - 3 * critical, 0.0) / 24
