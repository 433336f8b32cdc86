"""Families of functions on [-1, 1], and dictionaries of curves made of them.

Orthonormal polynomials, waves, splines and normal curves. A dictionary says how far one row moves
the inner products of its curves with the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.whole_columns import most_moved_pair, ranges, whole

VALUE_LIMIT = 1e100
"""Of a function of one's own: squares of larger values have no place in a number."""


def check_functions(functions: Sequence[Sequence[float]]) -> None:
    """Raise ArgumentError unless all have the same points, and values that can be squared."""
    if len({len(function) for function in functions}) > 1:
        raise ArgumentError("all functions must have the same number of values, one per symbol")
    for number, function in enumerate(functions):
        # A comparison with what is no number is false.
        if not all(abs(value) <= VALUE_LIMIT for value in function):
            raise ArgumentError(
                f"the values of functions must be finite and at most {VALUE_LIMIT:g} in size, "
                f"but those of function {number} are not"
            )


def legendre(count: int, points: Vector) -> Vector:
    """Return the orthonormal Legendre polynomials of degree 0..count-1: float64 [count, points].

    By the three-term recurrence, which is exact to about 1e-15 at any degree. Sums of powers lose
    all digits beyond degree 40.
    """
    plain = _plain_legendre(count, points)
    scale: Vector = np.sqrt(np.arange(count) + 0.5)[:, None]
    return plain * scale


def _plain_legendre(count: int, points: Vector) -> Vector:
    values = np.ones((max(count, 2), points.size))
    values[1] = points
    for n in range(1, count - 1):
        values[n + 1] = ((2 * n + 1) * points * values[n] - n * values[n - 1]) / (n + 1)
    return values[:count]


def legendre_tails(count: int, points: Vector) -> Vector:
    """Return the integrals of the orthonormal polynomials from each point to 1.

    ``(1 - x) / sqrt(2)`` for degree 0, ``(P_(i-1) - P_(i+1)) / sqrt(2 (2 i + 1))`` for degree i:
    the coefficient of a step at x in the expansion of a distribution function. Shape
    float64 [count, points].
    """
    plain = _plain_legendre(count + 1, points)
    tails = np.empty((count, points.size))
    tails[0] = (1 - points) / np.sqrt(2)
    i = np.arange(1, count)[:, None]
    tails[1:] = (plain[: count - 1] - plain[2 : count + 1]) / np.sqrt(2 * (2 * i + 1))
    return tails


def moment_matrix(count: int) -> Vector:
    """Return the coefficients of the powers 0..count-1 in the orthonormal polynomials.

    For the method as published, which goes through raw moments. Its entries grow as 2.4^degree:
    at degree 40 the sum has lost all digits. Shape float64 [count, count].
    """
    rows = np.zeros((count, count))
    for degree in range(count):
        unit = np.zeros(degree + 1)
        unit[degree] = np.sqrt(degree + 0.5)
        rows[degree, : degree + 1] = np.polynomial.legendre.leg2poly(unit)
    return rows


def chebyshev(count: int, points: Vector) -> Vector:
    """Return the Chebyshev polynomials of degree 0..count-1: float64 [count, points].

    Not orthonormal for equal weights. They span the same space as Legendre's.
    """
    angle = np.arccos(np.clip(points, -1, 1))
    values: Vector = np.cos(np.outer(np.arange(count), angle))
    return values


def fourier(count: int, points: Vector) -> Vector:
    """Return 1, sin, cos, sin 2, cos 2, ... of pi x, orthonormal: float64 [count, points]."""
    values = np.full((count, points.size), np.sqrt(0.5))
    for row in range(1, count):
        wave = np.sin if row % 2 else np.cos
        values[row] = wave(np.pi * ((row + 1) // 2) * points)
    return values


def splines(count: int, points: Vector, *, degree: int) -> Vector:
    """Return B-splines of a degree on equal knots, which sum to one: float64 [count, points].

    `count` functions of degree d need ``count - d`` equal pieces.
    """
    from scipy.interpolate import BSpline  # slow to import

    pieces = count - degree
    if degree < 0 or pieces < 1:
        raise ValueError(f"{count} splines of degree {degree} need at least one piece")
    knots = np.concatenate(
        [np.full(degree, -1.0), np.linspace(-1, 1, pieces + 1), np.full(degree, 1.0)]
    )
    # The last piece is closed: a point at 1 belongs to it.
    inside = np.minimum(points, np.nextafter(1.0, 0.0))
    values: Vector = BSpline.design_matrix(inside, knots, degree).toarray().T
    return values


def nested_splines(count: int, points: Vector, *, degree: int) -> Vector:
    """Return B-splines of several widths, at most `count`: float64 [up to count, points].

    Pieces of degree 0 come first, then functions of `degree`, wide ones before narrow ones. The
    widths are those of _SPLINE_LEVELS, as far as all functions of a width fit into `count` and
    none is narrower than a point. The 109 of degree 0 and 1 reproduce the figures of Tao et al.
    2026, who do not say how their 109 are made. A few splines of one width leave most of the
    domain empty. A few of these never do.
    """
    levels: list[tuple[int, int]] = []
    for higher, size in _SPLINE_LEVELS:
        if higher and not degree:
            continue
        if size > points.size or size + sum(other for _, other in levels) > count:
            break
        levels.append((degree * higher, size))
    levels.sort()
    return np.vstack([splines(size, points, degree=min(d, size - 1)) for d, size in levels])


_SPLINE_LEVELS = (
    *((0, 1), (1, 2), (0, 2), (1, 4), (0, 4), (1, 8), (0, 8), (0, 16), (0, 32), (1, 32)),
    *((1, 16), (0, 64), (1, 64), (0, 128), (1, 128), (0, 256)),
)
"""Whether of the higher degree, and how many functions."""


def normal_curves(count: int, points: Vector) -> Vector:
    """Return normal distribution functions of many means and widths: float64 [count, points].

    Means on equal steps of [-1, 1], widths on equal ratios of [0.01, 1], as square a grid as
    `count` allows.
    """
    from scipy.special import ndtr

    widths = max(1, int(np.sqrt(count)))
    means = -(-count // widths)
    grid = [
        (mean, width)
        for mean in np.linspace(-1, 1, means)
        for width in np.geomspace(0.01, 1, widths)
    ][:count]
    return np.array([ndtr((points - mean) / width) for mean, width in grid])


def independent(functions: Vector) -> Vector:
    """Return the functions without those that are a combination of functions before them."""
    rows: list[Vector] = []
    held = []
    for number, function in enumerate(functions):
        rest = function
        for _ in range(2):  # once leaves rounding errors of the size of what was taken away
            for row in rows:
                rest = rest - (rest @ row) * row
        size = np.linalg.norm(rest)
        if size > 1e-8 * np.linalg.norm(function):
            rows.append(rest / size)
            held.append(number)
    return functions[held]


def orthonormal(functions: Vector) -> Vector:
    """Return orthonormal rows of the same span, for the mean square on [-1, 1].

    By QR, which keeps the order: row i is in the span of the first i + 1 functions. Equal points
    of weight ``2 / points`` each.

    Raises ValueError when the functions are not independent.
    """
    weight = 2 / functions.shape[1]
    factor, upper = np.linalg.qr(functions.T * np.sqrt(weight))
    size = np.abs(np.diag(upper))
    if size.min() < 1e-10 * size.max():
        raise ValueError("the functions must be independent on the points of the domain")
    rows: Vector = (factor * np.sign(np.diag(upper))).T / np.sqrt(weight)
    return rows


UNIT = 2**20
"""Inner products are taken in whole multiples of 1 / UNIT."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Curves on [-1, 1], of unit mean square, as seen by data on a grid.

    curves: float64 [atoms, points]: values at the middles of the points of the grid. Read-only: one
        dictionary and its sensitivities are kept for many releases.
    """

    curves: Vector

    def __post_init__(self) -> None:
        """Freeze."""
        self.curves.flags.writeable = False

    @classmethod
    def of(cls, functions: Vector) -> Dictionary:
        """Return the dictionary of functions given by their values, each scaled to unit norm."""
        norms = np.sqrt((functions**2).sum(axis=1) * 2 / functions.shape[1])
        if norms.min() <= 0:
            raise ValueError("no function in a dictionary may be zero everywhere")
        return cls(functions / norms[:, None])

    @property
    def weight(self) -> float:
        """Length of a point's cell."""
        return 2 / int(self.curves.shape[1])

    @property
    def products(self) -> NDArray[np.int64]:
        """UNIT times the inner product of every curve with a step at each symbol, rounded.

        int64 [atoms, points + 1]. The data's inner product is their sum over rows, divided by n.
        The last column is that of a missing value. It counts as the upper end, where the product of
        a step with any curve is zero. A row can move there as to any other place.
        """
        return self._products

    @cached_property
    def _products(self) -> NDArray[np.int64]:
        above = np.cumsum(self.curves[:, ::-1], axis=1)[:, ::-1] - self.curves / 2
        found = np.pad(whole(above * self.weight, unit=UNIT), ((0, 0), (0, 1)))
        found.flags.writeable = False
        return found

    @cached_property
    def gram(self) -> Vector:
        """Inner products of the curves: float64 [atoms, atoms], read-only."""
        found: Vector = self.curves @ self.curves.T * self.weight
        found.flags.writeable = False
        return found

    def own_sensitivity(self) -> tuple[int, ...]:
        """Return how far a replaced row moves each product: its range."""
        return ranges(self.products)

    def published_sensitivity(self) -> int:
        """Return the paper's bound for all: the largest integral of an absolute curve (lemma 4)."""
        return int(np.ceil(np.abs(self.curves).sum(axis=1).max() * self.weight * UNIT))

    def range_sensitivity(self) -> int:
        """Return how far a replaced row moves the difference of two absolute residuals.

        ``max (|d_i| + |d_j|)`` over pairs of symbols and of different atoms: absolute values of
        signed residuals can move against each other.
        """
        return most_moved_pair(self.products)
