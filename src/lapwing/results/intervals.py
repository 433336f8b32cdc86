"""Intervals for what is asked of a distribution: ranges, shares, mean, variance, range errors.

All rest on the error distribution that was computed when the tally was decoded, and all follow one
rule: an interval holds whatever the values do *inside* their bins, because no report says anything
about that. So a range that ends inside a bin is bounded from below by its whole bins, and from
above by all bins that it touches. A mean reaches from all values at the left ends of their bins to
all at the right ends. Where the ends of a range are edges, where symbols are whole numbers, and in
the limit of many bins, this widens nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import (
    Span,
    bin_of_low,
    has_whole_days,
    symbol_places,
    to_days,
    touched,
)
from lapwing.results.cumulative import Cumulative
from lapwing.results.directions import MeanDirection, circle_from, mean_direction
from lapwing.results.symbols import share_symbol
from lapwing.results.uncertainty import (
    Among,
    Band,
    Kind,
    Target,
    Uncertainty,
    check_kind,
    check_level,
    independent_critical_values,
    normal_critical_value,
    whole_reach,
)


@dataclass(frozen=True)
class Reading:
    """One number that is read from noisy masses.

    deviation: Its standard error.
    tails: The part of its variance that one Laplace error would have with the same kurtosis, in
        0..1: 0 for normal errors.
    people: Number of people of which it is a share, where its errors are whole people. Default: 0.
    """

    value: float
    deviation: float
    tails: float = 0.0
    people: int = 0

    def minus(self, other: Reading) -> Reading:
        """Return the difference of two numbers with independent errors."""
        deviation = math.hypot(self.deviation, other.deviation)
        # What a kurtosis adds to a fourth moment adds up, and is the square of this.
        spread = math.hypot(self.tails * self.deviation**2, other.tails * other.deviation**2)
        tails = spread / deviation**2 if spread > 0 else 0.0
        return Reading(self.value - other.value, deviation, tails)

    def reach(self, level: float) -> float:
        """Return how far the interval of a level goes to each side."""
        critical = normal = normal_critical_value(level)
        if self.tails > 0:
            critical = float(independent_critical_values(level, 1, np.array([self.tails]))[0])
        reach = critical * self.deviation
        if self.people:
            steps = np.array([self.deviation * self.people])
            reach = max(reach, float(whole_reach(normal, steps)[0]) / self.people)
        return reach


@dataclass(frozen=True)
class Ends:
    """The least and the most that a number can be, each an estimate with its standard error.

    low: With all values inside their bins where they make the number smallest.
    high: The same for the largest.
    """

    low: Reading
    high: Reading

    def minus(self, other: Ends) -> Ends:
        """Return the ends of the difference of two numbers with independent errors."""
        return Ends(self.low.minus(other.high), self.high.minus(other.low))

    def interval(self, level: float, *, least: float, most: float) -> tuple[float, float]:
        """Return the interval of a level, cut to what the number can be at all.

        It holds the intervals of both ends. So the share of a range that ends inside a bin has an
        interval that holds that of the range without the bin.
        """
        both = self.low, self.high
        low = min(end.value - end.reach(level) for end in both)
        high = max(end.value + end.reach(level) for end in both)
        return float(np.clip(low, least, most)), float(np.clip(high, least, most))


class RangeErrorBounds(NamedTuple):
    """How far the answers to range queries can be off, as probabilities in [0, 1]."""

    average: float
    """Over ranges, see :func:`range_error_bounds`."""

    worst: float
    """Of any range at all."""


def reaching(interval: tuple[float, float], estimate: float) -> tuple[float, float]:
    """Return an interval that reaches to the estimate where that lies outside.

    Intervals belong to the tally, estimates to the decoder, which may smooth or constrain. A
    number outside its own interval helps nobody, and a longer interval covers no less.
    """
    return min(interval[0], estimate), max(interval[1], estimate)


def answering(uncertainty: Uncertainty | None, target: Target) -> Uncertainty | None:
    """Return the error distribution of single numbers: that of the simultaneous band.

    None without any.

    Where a band comes from a posterior, the prior behind its simultaneous kind is the wider one. A
    single bin needs it, as measured on a column of atoms (hours of work, 200 bins, a multiscale
    wave, 40 simulated tallies). Under the narrower prior, 95% intervals of the shares of six atoms
    cover 70 to 98% at epsilon 1, and 85 to 98% at 2. Under the wider one they cover 88 to 98% and
    are at most 20% wider. Sums over many bins hardly differ. An exact linear band has one error
    distribution for all.
    """
    return None if uncertainty is None else uncertainty.about("simultaneous", target)


def functional(error_law: Uncertainty, weights: Vector) -> Reading:
    """Return ``sum(weights * masses)`` at the center of the error distribution, with its error.

    error_law: Whose noise is about the target (:meth:`Uncertainty.about`).
    weights: float64 [symbols].
    """
    # The total is one and known, so what is common to all weights has no error. Taken out first,
    # or the rounding of the center times a date in seconds would count as one.
    shift = float(weights.max() + weights.min()) / 2
    around = weights - shift
    deviation = error_law.deviation(around, "empirical")
    tails = error_law.laplace_part(around, deviation)
    return Reading(shift + float(error_law.center @ around), deviation, tails)


def share_ends(error_law: Uncertainty, symbol: int) -> Ends:
    """Return the ends of the mass of one symbol."""
    weights = np.zeros(error_law.center.size)
    weights[symbol] = 1.0
    # The weights as they are: a law without correlations does not say that the total is known.
    deviation = error_law.deviation(weights, "empirical")
    tails = error_law.laplace_part(weights, deviation)
    people = error_law.reports if error_law.whole else 0
    share = Reading(float(error_law.center[symbol]), deviation, tails, people)
    return Ends(share, share)


def probability_ends(error_law: Uncertainty, domain: Domain, spans: Sequence[Span]) -> Ends:
    """Return the ends of the share of a range.

    domain: Ordered.
    spans: The range, as :func:`to_spans` returns it.
    """
    symbols = touched(domain, spans)
    people = error_law.reports if error_law.whole else 0
    least, most = (
        replace(functional(error_law, of.astype(float)), people=people)
        for of in (symbols.whole, symbols.some)
    )
    return Ends(least, most)


def quantile_ends(
    band: Band, probability: float, quantile: float, domain: Domain
) -> tuple[float, float]:
    """Return an interval for a quantile, by inversion of a band of the CDF.

    It ends where symbols do, infinite where one holds values outside the range, and reaches to the
    quantile. Of dates it is from whole day to whole day.
    """
    first, stop = band.quantile_symbols(probability)
    starts, stops = symbol_places(domain)
    low, high = float(starts.points[first]), float(stops.points[stop])
    if has_whole_days(domain):
        low = float(np.floor(low))
        # A day begins with its midnight; the last one counts where its symbol holds that.
        high = float(to_days(high, domain)) if stops.before[stop] else float(np.floor(high))
        high, quantile = max(low, high), float(to_days(quantile, domain))
    return reaching((low, high), quantile)


def mean_ends(error_law: Uncertainty, left: Vector, right: Vector) -> Ends:
    """Return the ends of the expected value, in the unit of the line."""
    return Ends(functional(error_law, left), functional(error_law, right))


def variance_interval(
    error_law: Uncertainty, left: Vector, right: Vector, level: float
) -> tuple[float, float]:
    """Return an interval for the variance, in the squared unit of the line.

    The variance of the middles of the bins is ``sum(m c^2) - (sum(m c))^2``, with the gradient
    ``(c - mean)^2`` in the masses m (delta method). A value differs from the middle of its bin by
    at most half the bin's width, h. By the triangle inequality, the standard deviation of the
    values is within ``sqrt(sum(m h^2))`` of that of the middles.
    """
    middle = (left + right) / 2
    mean = functional(error_law, middle).value
    variance = functional(error_law, (middle - mean) ** 2)
    inside = functional(error_law, ((right - left) / 2) ** 2)
    within = math.sqrt(max(inside.value + inside.reach(level), 0.0))
    low = math.sqrt(max(variance.value - variance.reach(level), 0.0)) - within
    high = math.sqrt(max(variance.value + variance.reach(level), 0.0)) + within
    most = (float(right[-1] - left[0]) / 2) ** 2
    return min(max(low, 0.0) ** 2, most), min(high**2, most)


def range_error_bounds(curve: Cumulative, band: Band, *, width: float | None) -> RangeErrorBounds:
    """Return how far P(x < value <= y) read off a curve can be from the truth in a band.

    curve: On the symbols of the band.
    band: Simultaneous: the bounds hold when the whole truth lies in it.
    width: In (0, 1), as a part of the domain: average over all ranges of just this width. Default:
        over ranges both of whose ends are drawn evenly from the domain.

    Raises ArgumentError when the width is not in (0, 1).

    A range is a difference of two points of the CDF. So its error is at most twice the
    Kolmogorov-Smirnov distance. On average over even ends it is at most twice the Wasserstein-1
    distance on a domain of length 1 (Zhao et al. 2026, section 3.1). Both ends of a range of width
    a are at least a from an end of the domain. So the average of such ranges is at most ``2 W1 / (1
    - a)``. From a = 1/2 on it is at most ``W1 / (1 - a)``, because no point is an end of both
    kinds. The band bounds both distances. Inside a bin the truth is at least the lower curve at the
    left end and at most the upper one at the right end. The possible distance from a line is convex
    there, so the mean of its two ends bounds its integral.
    """
    if width is not None and not 0 < width < 1:
        raise ArgumentError(
            "width", "must be between 0 and 1, as a share of the domain's length", str(width)
        )
    below = np.append(0.0, band.low[:-1])
    start, stop = curve.sums - curve.mass, curve.sums
    at_start = np.maximum(band.high - start, start - below)
    at_stop = np.maximum(band.high - stop, stop - below)
    points = curve.left == curve.right
    if curve.outside:  # whose values may be anywhere beyond the range
        points[[0, -1]] = False
    # At a point nothing lies between: the curves are those of the band itself.
    at_step = np.maximum(band.high - stop, stop - band.low)
    furthest = np.where(points, at_step, np.maximum(at_start, at_stop))
    # Between lone points the curve is flat at the height of the last one.
    gaps = np.append(curve.left[1:] - curve.right[:-1], 0.0)
    area = float(np.dot(curve.right - curve.left, at_start + at_stop)) / 2
    area += float(np.dot(gaps, at_step))
    length = float(curve.right[-1] - curve.left[0])
    distance = area / length if length > 0 else 0.0
    factor = 2.0 if width is None else (2.0 if width < 0.5 else 1.0) / (1 - width)
    worst = min(2 * float(furthest.max()), 1.0)
    return RangeErrorBounds(min(factor * distance, worst), worst)


def direction_of(result: Any, level: float, target: Target) -> MeanDirection | None:
    """Return the mean direction of a distribution on a circle with its interval, or None."""
    error_law = answering(result._present_uncertainty, target)
    if error_law is None or not (result.domain.ordered and result.domain.circular):
        return None
    return mean_direction(error_law, result.domain, level)


def has_middle(result: Any, level: float, target: Target) -> bool:
    """Return whether the mean is one: always on a line, on a circle where R is not zero."""
    direction = direction_of(result, level, target)
    return direction is None or direction.is_clear


def quantile_places(result: Any, probabilities: ArrayLike, start: Any) -> Vector:
    """Return quantiles in numbers of the line, of dates whole days."""
    if start is None:
        return to_days(result.cumulative.quantile(probabilities), result.domain)
    circle, begin = circle_from(result.domain, start)
    days = to_days(result.cumulative.turned(begin).quantile(probabilities), result.domain)
    places: Vector = circle.wrapped(np.maximum(days, begin))
    return places


def ends_of_share(result: Any, label: Any, target: Target, among: Among) -> Ends | None:
    """Return the ends of a share. None without an error distribution.

    Among those present it is a ratio of two numbers with errors, by the delta method
    (:meth:`Uncertainty.given_present`).
    """
    symbol, error_law = share_symbol(result, label, among), result.uncertainty
    if among == "present" and result.domain.missing_index is not None and error_law is not None:
        error_law = error_law.given_present() if error_law.says_present else None
    answered = answering(error_law, target)
    return None if answered is None else share_ends(answered, symbol)


def band_on(
    domain: Domain, uncertainty: Uncertainty | None, *, level: float, kind: Kind, target: Target
) -> Band | None:
    """Return the band of an error distribution on a domain. None without one."""
    check_level(level)
    check_kind(kind, target)
    if uncertainty is None:
        return None
    band = uncertainty.band(
        level=level,
        kind=kind,
        target=target,
        left=domain.left if domain.ordered else None,
        right=domain.right if domain.ordered else None,
    )
    symbol = bin_of_low(domain)
    return band if symbol is None else band.holding_low(symbol)
