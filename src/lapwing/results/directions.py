"""Intervals on a circle: the mean direction, the mean resultant length R, and quantiles.

The mean direction is that of the mean resultant vector, the mean of (cos, sin) of the angles. See
Mardia and Jupp, "Directional Statistics", Wiley 2000, section 2.2. Both components are sums over
the masses of the bins, so their covariance follows exactly from that of the masses.

All intervals hold wherever values are inside their bins (:mod:`lapwing.results.intervals`). The
mean component along a direction is between two sums, with every value where its cosine is smallest
in its bin, or largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import has_whole_days, to_days
from lapwing.results.circle import Circle, symbols_before
from lapwing.results.uncertainty import (
    Kind,
    Target,
    Uncertainty,
    check_level,
    independent_critical_values,
    normal_critical_value,
)

_DIRECTIONS = 64
"""Directions in which the mean component is looked at, and parts of each refinement."""

_REFINEMENTS = 2
"""Each divides the width in which an end of the interval is known. A second of a day remains."""


@dataclass(frozen=True)
class MeanDirection:
    """The mean direction and its interval, in radians, with the mean resultant length.

    angle: At the center of the error distribution.
    before, after: How far the interval reaches to either side, in 0..pi.
    inside_before, inside_after: The part due to the unknown places of values inside their bins.
    length: The interval of R, in [0, 1].
    """

    angle: float
    before: float
    after: float
    inside_before: float
    inside_after: float
    length: tuple[float, float]

    @property
    def is_clear(self) -> bool:
        """Whether the interval of R does not hold zero."""
        return self.length[0] > 0

    def interval(self, circle: Circle, estimate: float) -> tuple[float, float]:
        """Return the interval as places. It reaches to the estimate, also a place."""
        turn = circle.length / (2 * math.pi)
        center = circle.low + self.angle * turn
        beside = circle.shorter(estimate - center)
        low, high = min(-self.before * turn, beside), max(self.after * turn, beside)
        return circle.arc(center + low, center + high)


def mean_direction(law: Uncertainty, domain: Domain, level: float) -> MeanDirection:
    """Return the mean direction that an error distribution tells, with its interval.

    law: Whose noise is about the target (:meth:`Uncertainty.about`).
    domain: Circular.
    level: In (0, 1).

    Raises ArgumentError when the level is not in (0, 1).

    The interval of the direction inverts a test, as Fieller's of a ratio (1954). It contains each
    direction for which the perpendicular component of the mean resultant may be zero. Its level is
    exact for Gaussian errors. Whether R may be zero involves both components, so it is decided by
    the confidence ellipse of the vector. The ellipse has the level if its radius is ``sqrt(-2 ln(1
    - level))`` standard deviations.
    """
    check_level(level)
    circle = Circle.of_domain(domain)
    assert circle is not None
    left, right = circle.angles(domain.left), circle.angles(domain.right)
    middle, half = (left + right) / 2, (right - left) / 2
    resultant = np.sum(law.center * np.exp(1j * middle) * np.sinc(half / math.pi))
    angle = float(np.angle(resultant))
    components = _Components(law, middle, half)
    steps: Any = np.arange(-_DIRECTIONS // 2, _DIRECTIONS // 2) * (2 * math.pi / _DIRECTIONS)
    radius = math.sqrt(-2 * math.log1p(-level))
    ellipse, _ = components.ends(angle + steps, math.erf(radius / math.sqrt(2)))
    low, high = components.ends(angle + steps, level)
    clear = bool((ellipse > 0).any())
    least = float(low[_DIRECTIONS // 2])
    length = (max(least, 0.0) if clear else 0.0), min(max(float(high.max()), 0.0), 1.0)
    before, after = (components.reach(angle, sign, level) for sign in (-1, 1))
    inside = [components.reach(angle, sign, None) for sign in (-1, 1)]
    return MeanDirection(angle, before, after, inside[0], inside[1], length)


@dataclass(frozen=True, eq=False)
class _Components:
    """The mean of cos(value - direction), with all values anywhere inside their bins."""

    law: Uncertainty
    middle: Vector
    half: Vector

    def ends(self, directions: Any, level: float | None) -> tuple[Vector, Vector]:
        """Return the least and the largest component along directions, of a level. None: no noise.

        Float64 [directions] each.
        """
        away = np.abs(np.mod(self.middle - directions[:, None] + math.pi, 2 * math.pi) - math.pi)
        least = np.cos(np.minimum(away + self.half, math.pi))
        most = np.cos(np.maximum(away - self.half, 0.0))
        low, reach_low = self._read(least, level)
        high, reach_high = self._read(most, level)
        return low - reach_low, high + reach_high

    def _read(self, weights: Matrix, level: float | None) -> tuple[Vector, Vector]:
        """Return sums over the masses, and how far their intervals reach."""
        # As in `intervals.functional`: what is common to all weights has no error.
        shift = (weights.max(axis=1) + weights.min(axis=1)) / 2
        around = weights - shift[:, None]
        values: Vector = shift + around @ self.law.center
        if level is None:
            return values, np.zeros(values.size)
        noise = self.law.noise
        variance = around**2 @ noise.diagonal + (around @ noise.factor) ** 2 @ noise.signs
        steps = around - np.pad(around[:, 1:], ((0, 0), (0, 1)))
        variance += steps**2 @ self.law.remainder
        deviation = np.sqrt(np.maximum(variance, 0.0))
        pairs = zip(around, deviation.tolist(), strict=True)
        tails = np.array([self.law.laplace_part(row, each) for row, each in pairs])
        critical = np.full(tails.size, normal_critical_value(level))
        if tails.any():
            heavy = tails > 0
            critical[heavy] = independent_critical_values(level, 1, tails[heavy])
        return values, critical * deviation

    def reach(self, angle: float, sign: int, level: float | None) -> float:
        """Return how far a direction may be from an angle to one side: radians in 0..pi."""
        start, width = 0.0, 2 * math.pi / _DIRECTIONS
        count = _DIRECTIONS // 2
        for _ in range(1 + _REFINEMENTS):
            away: Any = start + width * np.arange(1, count + 1)
            low, high = self.ends(angle + sign * away + math.pi / 2, level)
            rejected = (low > 0) | (high < 0)
            if not rejected.any():
                return min(start + width * count, math.pi)
            start += width * int(np.argmax(rejected))
            width, count = width / _DIRECTIONS, _DIRECTIONS
        return min(start + width * count, math.pi)


def shift_interval(
    one: MeanDirection, two: MeanDirection, *, circle: Circle, shift: float
) -> tuple[float, float] | None:
    """Return the interval of the difference of two mean directions with independent errors.

    None where it is the whole circle. Its ends may be more than half the circle from zero.

    Contributions of the noise add in squares. Those of places inside bins do not (Zou and Donner,
    "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008).
    """
    turn = circle.length / (2 * math.pi)
    noise = [
        math.hypot(one.before - one.inside_before, two.after - two.inside_after),
        math.hypot(one.after - one.inside_after, two.before - two.inside_before),
    ]
    low = -(one.inside_before + two.inside_after + noise[0]) * turn
    high = (one.inside_after + two.inside_before + noise[1]) * turn
    if high - low >= circle.length:
        return None
    center = shift + circle.shorter((one.angle - two.angle) * turn - shift)
    return min(center + low, shift), max(center + high, shift)


def quantile_arc(
    law: Uncertainty,
    domain: Domain,
    probability: float,
    quantile: float,
    *,
    start: float,
    level: float,
    kind: Kind,
    target: Target,
) -> tuple[float, float]:
    """Return the interval of a quantile counted from a start, from there on: not wrapped.

    law: Of all targets and kinds.
    domain: Circular.
    quantile: The estimate, which the interval reaches to: from `start` on.
    start: On the circle, below its end.

    Inverts the band of the CDF that begins at `start`. If that is inside a bin, the number of its
    values before it is unknown. The lower end assumes all of them, the upper end none.
    """
    circle = Circle.of_domain(domain)
    assert circle is not None
    first, size = symbols_before(domain.left, domain.right, start), domain.left.size
    cut = domain.left[first] < start

    def ends(place: int) -> tuple[Vector, Vector]:
        """Return where the symbols begin and end, from the symbol at this place on."""
        turn = np.where(np.arange(size) < place, circle.length, 0.0)
        order = np.roll(np.arange(size), -place)
        left, right = (domain.left + turn)[order], (domain.right + turn)[order]
        return np.maximum(left, start), np.minimum(right, start + circle.length)

    def found(place: int) -> tuple[int, int]:
        left, right = ends(place)
        turned = law.turned(place % size)
        band = turned.band(level=level, kind=kind, target=target, left=left, right=right)
        return band.quantile_symbols(probability)

    last = first + 1 if cut else first
    low, high = found(first)[0], found(last)[1]
    low_place, high_place = float(ends(first)[0][low]), float(ends(last)[1][high])
    if has_whole_days(domain):
        low_place = math.floor(low_place)
        high_place = max(low_place, float(to_days(high_place, domain)))
    return min(low_place, quantile), max(high_place, quantile)


def directions_of(difference: Any, level: float) -> list[MeanDirection]:
    """Return the mean directions of both sides of a difference. None without error distributions.

    They are those from which single numbers are answered (:func:`answering`).
    """
    sides = (difference.first, difference.second)
    laws = [each._present_uncertainty for each in sides]
    if any(law is None for law in laws):
        return []
    abouts = [law.about("simultaneous", difference.target) for law in laws]
    return [mean_direction(law, difference.first.domain, level) for law in abouts]


def mean_shift(difference: Any, level: float) -> float:
    """Return the shift of the mean. NaN where at this level one side has no clear middle."""
    one, two = difference.first.cumulative, difference.second.cumulative
    shift: float = one.mean - two.mean
    if one.circle is None or math.isnan(shift):
        return shift
    clear = all(direction.is_clear for direction in directions_of(difference, level))
    return float(one.circle.shorter(shift)) if clear else math.nan
