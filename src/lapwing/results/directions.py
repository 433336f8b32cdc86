"""Intervals on a circle: the mean direction, the mean resultant length R, and quantiles.

The mean direction is that of the mean resultant vector, the mean of (cos, sin) of the angles. See
Mardia and Jupp, "Directional Statistics", Wiley 2000, section 2.2. Both components are sums over
the masses of the bins, so their covariance follows exactly from that of the masses.

All intervals hold wherever values are inside their bins (:mod:`lapwing.results.intervals`). The
mean component along a direction is between two sums, with every value where its cosine is smallest
in its bin, or largest.

Angles of places, and ways round the circle, are in :class:`Circle`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import has_whole_days, to_days, to_points
from lapwing.results.uncertainty import (
    Kind,
    Target,
    Uncertainty,
    check_level,
    independent_critical_values,
    normal_critical_value,
)

NO_MIDDLE = "no clear center: the mean resultant length may be 0"
"""Said in the place of a mean direction where the interval of that length holds zero."""

LEAST_LENGTH = 1e-9
"""A mean resultant length that is zero but for rounding."""

NEEDS_START = (
    "on a circle, a quantile needs start=, the value where counting begins. Choose one with "
    "few values nearby, such as start={}"
)


@dataclass(frozen=True)
class Circle:
    """Where a circle begins, and how long it is.

    low: The point at which it is cut, in the numbers of the unit.

    >>> day = Circle(0.0, 24.0)
    >>> day.shorter(23.0), float(day.wrapped(25.0)), day.arc(23.0, 26.0)
    (-1.0, 1.0, (23.0, 2.0))
    """

    low: float
    length: float

    @classmethod
    def of_domain(cls, domain: Domain) -> Circle | None:
        """Return the circle on which the values of a domain lie. None for a line and labels."""
        if not (domain.ordered and domain.circular):
            return None
        low = float(domain.left[0])
        return cls(low, float(domain.right[-1]) - low)

    def angles(self, points: Vector) -> Vector:
        """Return points as angles in radians, from the point at which the circle is cut."""
        turned: Vector = (points - self.low) * (2 * math.pi / self.length)
        return turned

    def place(self, angle: float) -> float:
        """Return the point at an angle, from `low` on and below the end."""
        return float(self.wrapped(self.low + angle * self.length / (2 * math.pi)))

    def wrapped(self, points: ArrayLike) -> Any:
        """Return points by where they lie on the circle, from `low` on and below the end."""
        numbers = np.asarray(points, dtype=np.float64)
        high = self.low + self.length
        inside = (numbers >= self.low) & (numbers < high)
        turned = self.low + np.mod(numbers - self.low, self.length)
        return np.where(inside, numbers, np.where(turned >= high, self.low, turned))[()]

    def deviation(self, length: float) -> float:
        """Return the circular standard deviation of a mean resultant length, in the unit.

        It is ``sqrt(-2 ln R)`` radians (Mardia and Jupp 2000, section 2.3), and infinite for R = 0.
        """
        if length < LEAST_LENGTH:
            return math.inf
        return math.sqrt(max(-2 * math.log(length), 0.0)) * self.length / (2 * math.pi)

    def shorter(self, shift: float) -> float:
        """Return a shift by the shorter way round: at most half the circle to either side."""
        turns = math.floor(shift / self.length + 0.5)
        return shift if turns == 0 else shift - turns * self.length

    def quarters(self) -> list[tuple[float, float]]:
        """Return the ends of the four quarters, from `low` on."""
        edges = [self.low + self.length * part / 4 for part in range(5)]
        return list(pairwise(edges))

    def arc(self, low: float, high: float) -> tuple[float, float]:
        """Return the ends of an arc. The whole circle, where it reaches round, from end to end.

        Where the lower end is after the upper one, the arc goes round the end of the circle.
        """
        end = self.low + self.length
        if high - low >= self.length:
            return self.low, end
        start, stop = float(self.wrapped(low)), float(self.wrapped(high))
        return start, end if stop == self.low and high > low else stop


def circle_from(domain: Domain, start: Any) -> tuple[Circle, float]:
    """Return the circle of a domain, and the place on it at which counting starts.

    Raises ArgumentError when the domain is a line, or the start is no single point.
    Raises DomainError when the start cannot be read in the unit of the domain.
    """
    circle = Circle.of_domain(domain)
    if circle is None:
        raise ArgumentError("start", "is only for a circular domain", advice="Leave it out")
    point = to_points(start, unit=domain.unit, name="start")
    if point.ndim or not math.isfinite(float(point)):
        raise ArgumentError(
            "start",
            "must be one finite value on the circle",
            advice="Pass one where values are rare",
        )
    return circle, float(circle.wrapped(point))


def symbols_before(left: Vector, right: Vector, start: float) -> int:
    """Return how many symbols lie before a point: an atom just there does not.

    left, right: float64 [symbols]: their ends.
    start: At least the first left end, and below the last right end.
    """
    at_start = (left == right) & (left == start)
    return int(np.sum((right <= start) & ~at_start))


def refuse_on_circle(what: str) -> ArgumentError:
    """Return the error of what a circle does not have."""
    return ArgumentError(
        f"a circle has no {what}, because it depends on where the circle is cut. Ask mean(), std() "
        "or the share of a range"
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
