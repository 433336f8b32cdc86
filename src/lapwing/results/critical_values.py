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


def normal_critical_value(level: float) -> float:
    """Return how many standard deviations on each side hold this part of a normal distribution."""
    check_level(level)
    return NormalDist().inv_cdf((1 + level) / 2)


def independent_critical_values(level: float, count: int, laplace: Vector) -> Vector:
    """Return how many standard deviations hold that many independent errors at once.

    Parameters
    ----------
    level : float
        In (0, 1).
    count : int
        Errors that are to hold together.
    laplace : numpy.ndarray
        Part of the variance of each that is Laplace noise, in 0..1, float64 [errors]. The rest is
        normal, and independent of it.

    Examples
    --------
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


def with_tails(critical: float, tails: float) -> float:
    """Return a critical value of normal errors for errors of an excess kurtosis.

    It adds the first term of Cornish and Fisher's expansion. Below the square root of three it
    adds nothing, because the term would make the interval narrower there.
    """
    return critical + tails * max(critical**3 - 3 * critical, 0.0) / 24
