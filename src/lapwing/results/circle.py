"""The geometry of a circle: angles of places, and ways round it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import to_points

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
