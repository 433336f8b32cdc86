"""A cumulative distribution function that is linear in bins and has steps at atoms.

One representation serves estimates, signed estimates and raw samples: masses on pieces of the real
line. A piece is a bin (mass spread evenly) or a point (``left == right``).
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Values, Vector, short_repr
from lapwing.linear.memoized import cached_property
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import Places, Span, check_range, held_values, to_points
from lapwing.results.directions import (
    LEAST_LENGTH,
    NEEDS_START,
    Circle,
    refuse_on_circle,
    symbols_before,
)
from lapwing.results.rounding import exact_text

_ROUNDING = 1e-12
"""More than the rounding of a sum of masses, less than any share that matters."""


@dataclass(frozen=True, eq=False)
class Cumulative:
    """Cumulative distribution function of masses on ordered pieces of the real line.

    Parameters
    ----------
    left, right : numpy.ndarray
        Ends of the pieces, float64 [pieces], both non-decreasing. Pieces do not overlap.
    mass : numpy.ndarray
        Masses, float64 [pieces], which sum to 1. They are negative only for unbiased estimates.
    outside : bool
        Whether the first piece is all values below the line, and the last all values above it. The
        method :meth:`at`, moments and distances place them at the ends of the line, as if values
        were limited to it. The methods :meth:`up_to` and :meth:`quantile` do not. Default: False.
    warn : callable, optional
        Function to call when a moment is requested, which is that of limited values. Default:
        None.
    circle : Circle, optional
        Circle onto which the line is wound, so that its ends are one point. Default: a line.
    whole : tuple of numpy.ndarray, optional
        First and last whole number of each piece, if values are whole numbers. Moments assume that
        the mass of a piece is spread evenly over these numbers. Default: None, over the piece.

    Notes
    -----
    **Cost.** O(pieces) to sum the masses once. A point is then looked up in O(log pieces).

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> starts, ends = np.array([0.0, 1.0]), np.array([1.0, 2.0])
    >>> half = lw.results.Cumulative(starts, ends, np.array([0.5, 0.5]))
    >>> half.at(1.5), half.quantile(0.25)
    (np.float64(0.75), np.float64(0.5))
    """

    left: Vector
    right: Vector
    mass: Vector
    outside: bool = False
    warn: Callable[[], None] | None = None
    circle: Circle | None = None
    whole: tuple[Vector, Vector] | None = None

    __repr__ = short_repr

    @classmethod
    def on(cls, domain: Domain, mass: Vector) -> Cumulative:
        """Return the CDF of masses on a domain, among those whose value is present.

        Parameters
        ----------
        domain : Domain
            Ordered domain.
        mass : numpy.ndarray
            Masses, float64 [domain.size], or without the missing bin. They must not all be zero.

        Returns
        -------
        Cumulative
            CDF among those whose value is present.

        Raises
        ------
        DomainError
            When the domain has categories.
        """
        present = mass[: domain.left.size]
        outside = bool(domain.outside_indices)
        circle = Circle.of_domain(domain)
        return cls(
            domain.left,
            domain.right,
            present / present.sum(),
            outside,
            circle=circle,
            whole=held_values(domain) if domain.whole else None,
        )

    @classmethod
    def of_values(cls, values: Values) -> Cumulative:
        """Return the empirical CDF of raw values, with a step at each.

        Parameters
        ----------
        values : array_like [n]
            Finite numbers, at least one.

        Returns
        -------
        Cumulative
            Empirical CDF.

        Raises
        ------
        ArgumentError
            When there is no value, or one is not finite.

        Examples
        --------
        >>> import lapwing as lw
        >>> dice = lw.results.Cumulative.of_values([1, 2, 2, 5])
        >>> dice.at([1, 2, 3]).tolist(), dice.mean, dice.variance
        ([0.25, 0.75, 0.75], 2.5, 2.25)
        """
        points, counts = np.unique(to_points(values, unit="number"), return_counts=True)
        if points.size == 0 or not np.isfinite(points).all():
            raise ArgumentError("an empirical CDF needs at least one value, all finite")
        return cls(points, points, counts / counts.sum())

    @property
    def cumulative(self) -> Cumulative:
        """The object itself, because distances take anything that has a CDF."""
        return self

    @cached_property
    def sums(self) -> Vector:
        """Mass up to the end of each piece: float64 [pieces]."""
        return np.cumsum(self.mass)

    def at(self, points: ArrayLike) -> Vector:
        """Return P(value <= x) for each point.

        It is 0 below the first piece, 1 from the last piece on, and NaN for a point that is NaN.

        Parameters
        ----------
        points : array_like
            Numbers on the line.

        Returns
        -------
        numpy.ndarray
            Probabilities, float64, in the shape of `points`.
        """
        return self._evaluate(points, side="right")

    def up_to(self, places: Places) -> Vector:
        """Return the mass up to each place, with or without the values at exactly this place.

        Below the line it is the mass of all values there. Above the line it is the mass of all
        values that are not there, because their distance from the line is not known.

        Parameters
        ----------
        places : Places
            Points, and whether each point itself is excluded.

        Returns
        -------
        numpy.ndarray
            Masses, float64, one for each place.
        """
        points = places.points
        mass: Vector = np.where(places.before, self.before(points), self.at(points))
        if self.outside:
            low, high = self.left[0], self.right[-1]
            # At `low` nobody is but those below, unless just this value is an atom.
            below = (points < low) | ((points == low) & (places.before | (self.right[1] > low)))
            mass = np.where(below & (points > -np.inf), self.mass[0], mass)
            above = (points >= high) & (points < np.inf)
            mass = np.where(above & ~((points == high) & places.before), self.sums[-2], mass)
        return mass[()]

    def between(self, spans: Sequence[Span]) -> float:
        """Return the mass of a range.

        Parameters
        ----------
        spans : sequence of Span
            Pieces of the range, each with a start and a stop.

        Returns
        -------
        float
            Total mass of the pieces.
        """
        return sum(float(self.up_to(stop) - self.up_to(start)) for start, stop in spans)

    @inherits(at)
    def before(self, points: ArrayLike) -> Vector:
        """Return P(value < x) for each point, the limit from the left."""
        return self._evaluate(points, side="left")

    def probability(self, low: float, high: float) -> float:
        """Return P(low < value <= high).

        Parameters
        ----------
        low, high : float
            Ends of the range, with ``low <= high``.

        Returns
        -------
        float
            Mass of the range.

        Raises
        ------
        ArgumentError
            When `low` is above `high`.
        """
        check_range(low, high)
        return float(self.at(high) - self.at(low))

    def density(self, points: ArrayLike) -> Vector:
        """Return the mass per unit at each point.

        Parameters
        ----------
        points : array_like
            Numbers on the line.

        Returns
        -------
        numpy.ndarray
            Densities, float64, in the shape of `points`. Infinite at a step.
        """
        x = np.asarray(points, dtype=np.float64)
        beside = int(self.outside)  # people outside the range are at no point of it
        last = self.left.size - 1 - beside
        piece = np.clip(np.searchsorted(self.left, x, side="right") - 1, beside, last)
        width = self.right[piece] - self.left[piece]
        density = np.where(width > 0, self.mass[piece] / np.where(width > 0, width, 1.0), 0.0)
        density = np.where((x < self.left[0]) | (x > self.right[piece]), 0.0, density)
        held = (self.left == self.right) & (self.mass > 0)
        if self.outside:
            held[[0, -1]] = False
        result: Vector = np.where(np.isin(x, self.left[held]), np.inf, density)
        return result[()]

    def _evaluate(self, points: ArrayLike, *, side: str) -> Vector:
        x = np.asarray(points, dtype=np.float64)
        piece = np.searchsorted(self.left, x, side=side) - 1  # type: ignore[call-overload]
        inside = np.maximum(piece, 0)
        width = self.right[inside] - self.left[inside]
        part = np.where(width > 0, (x - self.left[inside]) / np.where(width > 0, width, 1.0), 1.0)
        # The same sum on both sides of an edge, so that an empty range has no mass.
        lower = np.append(0.0, self.sums)[inside]
        value = lower + np.clip(part, 0.0, 1.0) * self.mass[inside]
        result: Vector = np.where(piece < 0, 0.0, value)
        return np.where(np.isnan(x), np.nan, result)[()]

    def turned(self, start: float) -> Cumulative:
        """Return the same masses on a line as long as the circle, from a point of it on.

        Parameters
        ----------
        start : float
            Point of the circle where the line begins.

        Returns
        -------
        Cumulative
            CDF on a line of the circle's length.

        Raises
        ------
        ArgumentError
            On a line.
        """
        circle = self._require_circle("start=")
        start = float(circle.wrapped(start))
        first = symbols_before(self.left, self.right, start)
        order = np.roll(np.arange(self.left.size), -first)
        turn = np.where(order < first, circle.length, 0.0)
        left, right, mass = self.left[order] + turn, self.right[order] + turn, self.mass[order]
        if left[0] < start:  # the piece is cut in two
            part = (start - left[0]) / (right[0] - left[0])
            left, right = np.append(left, left[0] + circle.length), np.append(right, start)
            right[-1] += circle.length
            mass = np.append(mass, part * mass[0])
            left[0], mass[0] = start, mass[0] - mass[-1]
        return Cumulative(left, right, mass)

    def _require_circle(self, what: str) -> Circle:
        if self.circle is None:
            raise ArgumentError(f"{what} is only for a circular domain. Leave it out")
        return self.circle

    def quantile(self, probabilities: ArrayLike, *, start: float | None = None) -> Vector:
        """Return the smallest x with P(value <= x) at least p, for each p in [0, 1].

        It requires masses that are not negative. The quantile of 0 is the start of the first piece
        that has mass. A quantile below the line is -inf, and one above it is inf. On a circle
        values are counted from `start`, once around.

        Parameters
        ----------
        probabilities : array_like
            Probabilities in [0, 1].
        start : float, optional
            Point from which values are counted on a circle. It is required there, and only there.

        Returns
        -------
        numpy.ndarray
            Quantiles, float64, in the shape of `probabilities`.

        Raises
        ------
        ArgumentError
            When a probability is not in [0, 1]. Also on a circle without a start, and on a line
            with one.
        """
        if start is not None:
            circle = self._require_circle("start=")
            turned: Vector = circle.wrapped(self.turned(start).quantile(probabilities))
            return turned
        if self.circle is not None:
            raise ArgumentError(NEEDS_START.format(exact_text(self.circle.low)))
        p = to_points(probabilities, unit="number", name="a probability")
        if not np.all((p >= 0) & (p <= 1)):
            raise ArgumentError(
                "the probability of a quantile must be at least 0 and at most 1 (the median is 0.5)"
            )
        held = np.flatnonzero(self.mass > 0)
        first, last = (int(held[0]) if self.outside else 0), int(held[-1])
        # Ten tenths must reach 1: a sum that misses p by rounding alone counts as p.
        piece = np.clip(np.searchsorted(self.sums, p - _ROUNDING, side="left"), first, last)
        mass = self.mass[piece]
        beyond = p - (self.sums[piece] - mass)
        part = np.clip(np.where(mass > 0, beyond / np.where(mass > 0, mass, 1.0), 0.0), 0.0, 1.0)
        result: Vector = self.left[piece] + part * (self.right[piece] - self.left[piece])
        if self.outside:
            result = np.where(piece == 0, -np.inf, result)
            result = np.where(piece == self.mass.size - 1, np.inf, result)
        return result[()]

    @cached_property
    def _resultant(self) -> complex:
        """The mean of exp(i angle). Mass in a bin is spread evenly."""
        circle = self._require_circle("the mean resultant length")
        left, right = circle.angles(self.left), circle.angles(self.right)
        along = np.sinc((right - left) / (2 * math.pi))
        return complex(np.sum(self.mass * along * np.exp(0.5j * (left + right))))

    @property
    def resultant_length(self) -> float:
        """The mean resultant length R on a circle, in [0, 1]: 1 if all values are equal."""
        return min(abs(self._resultant), 1.0)

    @property
    def mean(self) -> float:
        """Mean of values limited to the line, in its unit.

        On a circle it is the direction of the mean resultant vector, or NaN if that is zero.
        """
        if self.circle is None:
            first, last = self.whole or (self.left, self.right)
            return float(np.dot(self.mass, first + last) / 2)
        if self.resultant_length < LEAST_LENGTH:
            return math.nan
        return self.circle.place(cmath.phase(self._resultant))

    @property
    def std(self) -> float:
        """Standard deviation, in the unit of the line. On a circle ``sqrt(-2 ln R)`` radians."""
        if self.circle is None:
            return math.sqrt(self.variance)
        return self.circle.deviation(self.resultant_length)

    @property
    def variance(self) -> float:
        """Variance, in the squared unit of the line. The mass in a bin is spread evenly.

        Raises
        ------
        ArgumentError
            On a circle.
        """
        if self.circle is not None:
            raise refuse_on_circle("variance")
        first, last = self.whole or (self.left, self.right)
        center = (first + last) / 2 - self.mean
        within = (last - first) ** 2 / 12
        if self.whole is not None:  # numbers, not a line: a step more at both ends, less one
            within = ((last - first + 1) ** 2 - 1) / 12
        return float(np.dot(self.mass, center**2 + within))

    def moment(self, order: int) -> float:
        """Return the mean of the `order`-th power. The mass in a bin is spread evenly.

        Parameters
        ----------
        order : int
            Power, at least 0.

        Returns
        -------
        float
            Moment about zero, in that power of the unit of the values.

        Raises
        ------
        ArgumentError
            When `order` is not a whole number of at least 0. Also on a circle.

        Examples
        --------
        >>> import lapwing as lw
        >>> dice = lw.results.Cumulative.of_values([1, 2, 2, 5])
        >>> dice.moment(1), dice.moment(2)
        (2.5, 8.5)
        """
        if self.circle is not None:
            raise refuse_on_circle("moments")
        if isinstance(order, bool) or not isinstance(order, int) or order < 0:
            raise ArgumentError("order", "must be a whole number of at least 0", repr(order))
        if self.warn is not None:
            self.warn()
        if self.whole is None:
            return self._spread_moment(order, self.left, self.right)
        # The mean of Bernoulli's polynomial on [a, a + 1] is a power of a. So that of a power over
        # whole numbers is that of the polynomial on the line from the first to after the last.
        first, last = self.whole
        numbers = [Fraction(1)]
        for k in range(1, order + 1):
            earlier = sum(math.comb(k + 1, j) * number for j, number in enumerate(numbers))
            numbers.append(-Fraction(earlier, k + 1))
        return math.fsum(
            math.comb(order, k) * float(number) * self._spread_moment(order - k, first, last + 1)
            for k, number in enumerate(numbers)
        )

    def _spread_moment(self, order: int, left: Vector, right: Vector) -> float:
        # The mean of x^k on [a, b] is (b^(k+1) - a^(k+1)) / ((k + 1) (b - a)), divided out: exact
        # at an atom, and nothing cancels where a and b have one sign.
        powers = np.ones_like(left)
        for power in range(1, order + 1):
            powers = powers * right + left**power
        return float(np.dot(self.mass, powers)) / (order + 1)
