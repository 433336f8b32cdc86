"""Distances between two distributions.

Functions of the CDF are :func:`wasserstein`, :func:`kolmogorov_smirnov`, :func:`energy`,
:func:`range_query_error`, :func:`mean_error`, :func:`variance_error` and :func:`decile_error`. They
take anything that has a `cumulative`: a Distribution, a SignedEstimate, or a Cumulative itself.
They also take raw values, in the unit of the other argument. Functions of the masses are
:func:`l1`, :func:`l2`, :func:`mean_squared_error` and :func:`kullback_leibler`. They take two mass
vectors, or anything that has a `mass`.

Two pairs with equal l1, l2 and Kullback-Leibler divergence may be far apart in order:

>>> import numpy as np
>>> from lapwing import distances, results
>>> truth = np.array([0.7, 0.1, 0.1, 0.1])
>>> near, far = np.array([0.1, 0.7, 0.1, 0.1]), np.array([0.1, 0.1, 0.1, 0.7])
>>> [distance(truth, near) == distance(truth, far) for distance in (distances.l1, distances.l2)]
[True, True]
>>> distances.kullback_leibler(truth, near) == distances.kullback_leibler(truth, far)
True
>>> edges = np.arange(5.0)
>>> curves = [results.Cumulative(edges[:-1], edges[1:], mass) for mass in (truth, near, far)]
>>> [round(distances.wasserstein(curves[0], other), 6) for other in curves[1:]]
[0.6, 1.8]
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, MismatchError
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.ranges import to_points
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import to_numbers
from lapwing.results.cumulative import Cumulative
from lapwing.results.directions import Circle
from lapwing.results.intervals import RangeErrorBounds
from lapwing.results.intervals import range_error_bounds as bounds_in_band
from lapwing.results.uncertainty import Target

__all__ = [
    "decile_error",
    "energy",
    "kolmogorov_smirnov",
    "kullback_leibler",
    "l1",
    "l2",
    "mean_error",
    "mean_squared_error",
    "range_error_bounds",
    "range_query_error",
    "variance_error",
    "wasserstein",
]

Raw = ArrayLike
"""Raw values, in the unit of what they are compared with."""


class CurveOf(Protocol):
    """Interface of a result with a CDF: a Distribution, a SignedEstimate, a Cumulative itself."""

    @property
    def cumulative(self) -> Cumulative:
        """CDF of the result."""
        ...


def curves_of(first: CurveOf | Raw, second: CurveOf | Raw) -> tuple[Cumulative, Cumulative]:
    """Return the CDFs of both. Raw values are read in the unit of the other, and each is a step.

    first, second: Two results with a `cumulative`, or raw values in the unit of the other
    argument.

    Raises ArgumentError when an argument has no CDF and is no list of values.
    Raises DomainError when it is a distribution of labels, or values cannot be read.

    returns: CDFs, on the circle of either.
    """
    domains = [each.domain for each in (first, second) if hasattr(each, "domain")]
    unit: Unit = domains[0].unit if domains else "number"
    circles = [each.cumulative.circle for each in (first, second) if hasattr(each, "cumulative")]
    circle = next((each for each in circles if each is not None), None)
    one, two = (_curve(each, unit, circle) for each in (first, second))
    return one, two


def _curve(given: Any, unit: Unit, circle: Circle | None) -> Cumulative:
    """Return the CDF of a result or of raw values, which wrap on the circle of the other one."""
    if hasattr(given, "cumulative"):
        curve: Cumulative = given.cumulative
        return curve if circle is None else replace(curve, circle=circle)
    if not hasattr(given, "__iter__") or isinstance(given, str | bytes):
        raise ArgumentError(
            "a distance needs two results, or a result and a list of raw values, got a "
            f"{type(given).__name__}"
        )
    numbers = to_numbers(given, unit=unit)
    if circle is None:
        return Cumulative.of_values(numbers)
    return replace(Cumulative.of_values(circle.wrapped(numbers)), circle=circle)


def _differences(first: CurveOf | Raw, second: CurveOf | Raw) -> tuple[Vector, Vector, Vector]:
    """Return lengths of the intervals on which both curves are linear, and F - G at both ends."""
    one, two = curves_of(first, second)
    points = np.unique(np.concatenate([one.left, one.right, two.left, two.right]))
    at_start = one.at(points[:-1]) - two.at(points[:-1])
    at_stop = one.before(points[1:]) - two.before(points[1:])
    return np.diff(points), at_start, at_stop


def _grid_differences(first: CurveOf | Raw, second: CurveOf | Raw, grid: int) -> Vector:
    one, two = curves_of(first, second)
    low = min(one.left[0], two.left[0])
    high = max(one.right[-1], two.right[-1])
    points = low + (high - low) * np.arange(1, grid + 1) / grid
    return one.at(points) - two.at(points)


def _integral_of_absolute(lengths: Vector, start: Vector, stop: Vector) -> float:
    """Return the integral of |linear|, exactly, also where the line crosses zero."""
    size = np.abs(start) + np.abs(stop)
    same_side = start * stop >= 0
    crossing = (start**2 + stop**2) / np.where(size > 0, size, 1.0)
    return float(np.dot(lengths, np.where(same_side, size, crossing)) / 2)


def wasserstein(
    first: CurveOf | Raw, second: CurveOf | Raw, *, grid: int | None = None, circular: bool = False
) -> float:
    """Wasserstein-1 (earth mover's) distance of two distributions, in the unit of the values.

    It is the distance on the line, from the lower end of the domain to the upper one, even where
    the domain is circular. Mass that moves past one end must travel all the way back. With
    ``circular=True`` it is the distance on the circle [2]_, where mass takes the shorter way.
    Divide by the length of the domain to compare with papers that scale it to [0, 1].

    Parameters
    ----------
    first, second : Distribution, SignedEstimate, Cumulative or array_like
        Two results with a `cumulative`, or raw values in the unit of the other argument.
    grid : int, optional
        Number of points that divide the joint range evenly. The result is then the mean of ``|F -
        G|`` over these points, on the scale [0, 1], as in papers (256). Default: None, the exact
        integral.
    circular : bool
        True: the smallest integral of ``|F - G - c|`` over all c. The joint range of both must be
        the whole circle, so put raw values into the bins of a circular Interval first with
        ``Distribution.of_values``. Default: False.

    Returns
    -------
    float
        Distance, at least 0.

    Raises
    ------
    ArgumentError
        When an argument has no CDF and is not a list of values.
    DomainError
        When an argument is a distribution of labels, or values cannot be read.

    Notes
    -----
    **Accuracy.** The integral of ``|F - G|`` is exact for piecewise linear CDFs with steps.

    **Cost.** Time O(pieces log pieces).

    It is the integral form of [1]_, section 3.1. Their sum form over d bins is d times the
    distance on [0, 1].

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    .. [2] J. Rabin, J. Delon, Y. Gousseau, "Transportation distances on the circle", Journal of
       Mathematical Imaging and Vision, 2011. doi:10.1007/s10851-011-0284-0

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.wasserstein(one, two), 4)
    0.5
    """
    if grid is not None:
        return float(np.abs(_grid_differences(first, second, grid)).mean())
    lengths, start, stop = _differences(first, second)
    if not circular:
        return _integral_of_absolute(lengths, start, stop)
    shift = _median_height(lengths, start, stop)
    return _integral_of_absolute(lengths, start - shift, stop - shift)


def _median_height(lengths: Vector, start: Vector, stop: Vector) -> float:
    """Return the c that F - G lies below on half of the line: it minimizes the integral."""
    low, high = np.minimum(start, stop), np.maximum(start, stop)
    rise = high - low
    flat = rise <= 0
    first, last = float(low.min(initial=0.0)), float(high.max(initial=0.0))
    for _ in range(60):  # to 2^-60, below the rounding of the heights themselves
        middle = (first + last) / 2
        part = np.where(flat, low < middle, (middle - low) / np.where(flat, 1.0, rise))
        if np.dot(lengths, np.clip(part, 0.0, 1.0)) < lengths.sum() / 2:
            first = middle
        else:
            last = middle
    return (first + last) / 2


@inherits(wasserstein)
def kolmogorov_smirnov(
    first: CurveOf | Raw, second: CurveOf | Raw, *, grid: int | None = None
) -> float:
    """Kolmogorov-Smirnov distance: the largest difference of the two CDFs.

    Parameters
    ----------
    grid : int, optional
        Number of points to compare, as in papers (256). Default: None, which compares everywhere.

    Returns
    -------
    float
        Distance, in [0, 1].

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.kolmogorov_smirnov(one, two), 4)
    0.25
    """
    if grid is not None:
        return float(np.abs(_grid_differences(first, second, grid)).max())
    _, start, stop = _differences(first, second)
    return float(max(np.abs(start).max(initial=0.0), np.abs(stop).max(initial=0.0)))


@inherits(wasserstein)
def energy(first: CurveOf | Raw, second: CurveOf | Raw) -> float:
    """Energy distance, ``sqrt(2 integral (F - G)^2)`` (Székely and Rizzo, 2013).

    Returns
    -------
    float
        Distance in the square root of the unit of the values, at least 0.

    References
    ----------
    .. [1] G. J. Székely, M. L. Rizzo, "Energy statistics: a class of statistics based on
       distances", Journal of Statistical Planning and Inference, 2013.
       doi:10.1016/j.jspi.2013.03.018

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.energy(one, two), 4)
    0.4564
    """
    lengths, start, stop = _differences(first, second)
    squares = (start**2 + start * stop + stop**2) / 3
    return float(np.sqrt(2 * np.dot(lengths, squares)))


@inherits(wasserstein)
def range_query_error(
    first: CurveOf | Raw, second: CurveOf | Raw, *, width: float, grid: int = 1024
) -> float:
    """Mean absolute error of range queries of one width (Li et al., 2020).

    A query is P(x < value <= x + width), and x runs over evenly spaced points.

    Parameters
    ----------
    width : float
        Width of the ranges as a fraction of the joint range, in (0, 1]. The paper's alpha is 0.1
        or 0.4.
    grid : int
        Number of points that divide the joint range. Default: 1024. Queries start where they fit.

    Returns
    -------
    float
        Mean absolute difference of the probabilities, in [0, 1].

    Notes
    -----
    It is the error of [1]_, section 3.2, for all starts on the grid instead of random ones.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.range_query_error(one, two, width=0.25), 4)
    0.125
    """
    if not 0 < width <= 1:
        raise ArgumentError("width", "must be in (0, 1]", str(width))
    one, two = curves_of(first, second)
    low = min(one.left[0], two.left[0])
    length = max(one.right[-1], two.right[-1]) - low
    starts = low + length * np.arange(int((1 - width) * grid + 1e-9) + 1) / grid
    stops = starts + width * length
    return float(np.abs(one.at(stops) - one.at(starts) - two.at(stops) + two.at(starts)).mean())


def range_error_bounds(
    result: Any, *, level: float = 0.95, width: float | None = None, target: Target = "empirical"
) -> RangeErrorBounds | None:
    """Error bounds for all range probabilities at once, from a simultaneous band.

    They bound the error of ``result.probability(low, high)``. The truth need not be known.

    Parameters
    ----------
    result : Distribution
        Distribution of numbers.
    level : float
        Confidence level of the simultaneous band, in (0, 1). Default: 0.95.
    width : float, optional
        Width as a fraction of the domain, in (0, 1): the average is over all ranges of this width.
        Default: None, the average over ranges whose ends are both drawn uniformly from the domain.
    target : {"empirical", "population"}
        "empirical" (default): the people who reported. "population": all people from whom they
        were drawn.

    Returns
    -------
    RangeErrorBounds or None
        `average` (2 W1, or 2 W1 / (1 - width)) and `worst` (2 KS) as probabilities, with both
        distances bounded by the band. None without an error distribution.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).normal(40, 12, size=5000)
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=64), neighbors="replace-one", epsilon=1, delta="1e-6",
    ...     rng=lw.seeded(1))
    >>> bounds = lw.distances.range_error_bounds(published.distribution)
    >>> bounds.average < bounds.worst < 0.2
    True
    """
    curve = result.cumulative
    band = result.confidence_band(level, kind="simultaneous", target=target)
    return None if band is None else bounds_in_band(curve, band, width=width)


@inherits(wasserstein)
def mean_error(first: CurveOf | Raw, second: CurveOf | Raw) -> float:
    """Absolute difference of the means, in the unit of the values.

    On a circle it is the length of the shorter way between the mean directions.

    Returns
    -------
    float
        Difference, at least 0. NaN on a circle where one distribution has no mean direction.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.mean_error(one, two), 4)
    0.5
    """
    one, two = curves_of(first, second)
    shift = one.mean - two.mean
    if one.circle is None or math.isnan(shift):
        return abs(shift)
    return abs(one.circle.shorter(shift))


@inherits(wasserstein)
def variance_error(first: CurveOf | Raw, second: CurveOf | Raw) -> float:
    """Absolute difference of the variances, in the squared unit of the values.

    Returns
    -------
    float
        Difference, at least 0.

    Raises
    ------
    ArgumentError
        When an argument has no CDF, or lies on a circle, where the variance is not defined.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.variance_error(one, two), 4)
    0.75
    """
    one, two = curves_of(first, second)
    return abs(one.variance - two.variance)


@inherits(wasserstein)
def decile_error(first: CurveOf | Raw, second: CurveOf | Raw, *, start: Any = None) -> float:
    """Mean absolute difference of the nine deciles (Li et al., 2020), in the unit of the values.

    Parameters
    ----------
    start : float, or a date or time
        Only on a circle: point from which the quantiles of both are counted. Default: None.

    Returns
    -------
    float
        Difference, at least 0.

    Notes
    -----
    It is the error of [1]_, section 3.2, with another quantile: the smallest x with F(x) >= p.
    Their arg max is empty when the first bin already contains more than p.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.decile_error(one, two), 4)
    0.5
    """
    deciles = np.arange(1, 10) / 10
    curves = list(curves_of(first, second))
    if start is not None:
        units = [each.domain.unit for each in (first, second) if hasattr(each, "domain")]
        begin = float(to_points(start, unit=units[0] if units else "number", name="start"))
        curves = [curve.turned(begin) for curve in curves]
    one, two = (curve.quantile(deciles) for curve in curves)
    return float(np.abs(one - two).mean())


def _masses(first: Any, second: Any) -> tuple[Vector, Vector]:
    one, two = (
        np.asarray(getattr(each, "mass", each), dtype=np.float64) for each in (first, second)
    )
    if one.shape != two.shape or one.ndim != 1:
        raise MismatchError(
            f"masses must have equal lengths, got shapes {one.shape} and {two.shape}"
        )
    return one, two


def l1(first: ArrayLike | Any, second: ArrayLike | Any) -> float:
    """L1 distance: sum of the absolute differences of the masses.

    Parameters
    ----------
    first, second : Distribution or array_like [symbols]
        Mass vectors of equal length, or results with a `mass`.

    Returns
    -------
    float
        Distance, in [0, 2]. It is twice the total variation distance.

    Raises
    ------
    MismatchError
        When the masses are not of equal length.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.l1(one, two), 4)
    0.5
    """
    one, two = _masses(first, second)
    return float(np.abs(one - two).sum())


@inherits(l1)
def l2(first: ArrayLike | Any, second: ArrayLike | Any) -> float:
    """L2 (Euclidean) distance of the masses.

    Returns
    -------
    float
        Distance, at least 0.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.l2(one, two), 4)
    0.3536
    """
    one, two = _masses(first, second)
    return float(np.linalg.norm(one - two))


@inherits(l1)
def mean_squared_error(first: ArrayLike | Any, second: ArrayLike | Any) -> float:
    """Mean of the squared differences of the masses over all symbols.

    Returns
    -------
    float
        Mean squared error, at least 0.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.mean_squared_error(one, two), 4)
    0.0312
    """
    one, two = _masses(first, second)
    return float(((one - two) ** 2).mean())


@inherits(l1)
def kullback_leibler(truth: ArrayLike | Any, estimate: ArrayLike | Any) -> float:
    """Kullback-Leibler divergence of the truth from the estimate (Kullback and Leibler, 1951).

    Returns
    -------
    float
        Divergence in nats. Infinite where the estimate gives probability 0 to something that
        happens.

    References
    ----------
    .. [1] S. Kullback, R. A. Leibler, "On information and sufficiency", The Annals of Mathematical
       Statistics, 1951. doi:10.1214/aoms/1177729694

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> one = lw.Distribution.of_values([0.5, 1.5, 1.5, 2.5], domain)
    >>> two = lw.Distribution.of_values([0.5, 1.5, 2.5, 3.5], domain)
    >>> round(lw.distances.kullback_leibler(one, two), 4)
    0.3466
    """
    one, two = _masses(truth, estimate)
    held = one > 0
    if np.any(two[held] <= 0):
        return float("inf")
    return float(np.dot(one[held], np.log(one[held] / two[held])))
