"""Bands: a lower and an upper curve around a CDF, around shares, or around their difference.

Independent errors lie within their bounds at once with the product of the single probabilities.
Normal and correlated errors do so with at least that probability (Šidák 1967).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from statistics import NormalDist
from typing import Literal

import numpy as np

from lapwing.declared import Between, excludes, requirement
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, short_repr
from lapwing.linear.memoized import memoized
from lapwing.results.rounding import exact_text

Kind = Literal["pointwise", "simultaneous"]

Target = Literal["empirical", "population"]

Among = Literal["all", "present"]
"""The people of whom a share is taken: all people, or those whose value is present."""

_CERTAIN = 1e-6
"""A band narrower than this part of its widest place has no error there but rounding."""

_ROUNDED_SHARES = 1e-9
"""More than the rounding of a sum of shares, less than one person of very many."""


def check_level(level: float) -> None:
    """Raise ArgumentError unless the level is in (0, 1)."""
    if excludes(Between, level):
        typed = isinstance(level, Real) and 50 <= level < 100
        percentage = f"; write {exact_text(float(level) / 100)}" if typed else ""
        raise ArgumentError("level", f"must be {requirement(Between)}", f"{level!r}{percentage}")


def check_kind(kind: Kind, target: Target) -> None:
    """Raise ArgumentError unless it is a kind and a target."""
    if kind not in ("pointwise", "simultaneous"):
        raise ArgumentError("kind", "must be 'pointwise' or 'simultaneous'", repr(kind))
    if target not in ("empirical", "population"):
        raise ArgumentError("target", "must be 'empirical' or 'population'", repr(target))


def to_zero(low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Return the two curves of a difference, which reach to zero where nothing is left to chance.

    At the last edge both CDFs are one by construction, so their difference has no error and is
    zero. A computed difference there is rounding, of either sign.
    """
    width = high - low
    certain = width <= _CERTAIN * width.max(initial=0.0)
    certain &= np.minimum(np.abs(low), np.abs(high)) <= _ROUNDED_SHARES
    low = np.where(certain, np.minimum(low, 0.0), low)
    return low, np.where(certain, np.maximum(high, 0.0), high)


def table_kind(*, ordered: bool) -> Kind:
    """Return the kind of the intervals of a table or picture of all symbols of a domain.

    Readers sort labels by size. The first label is then one whose share came out too large. So the
    intervals of labels must hold for all of them at once. The share of one named label has a
    pointwise interval.
    """
    return "pointwise" if ordered else "simultaneous"


@dataclass(frozen=True, eq=False)
class Band:
    """Confidence band: a lower and an upper curve.

    It is a credible band if the estimate is a posterior.

    Parameters
    ----------
    points : numpy.ndarray
        Right ends of the bins for a CDF, or numbers of the categories for shares, float64 [knots].
    starts : numpy.ndarray
        Left ends of the bins, float64 [knots], because quantile intervals consist of whole bins.
    low, high : numpy.ndarray
        Lower and upper curve, float64 [knots], in [0, 1].
    level : float
        Nominal coverage, in (0, 1).
    kind : {"pointwise", "simultaneous"}
        Whether the level holds at each point alone, or for the whole curve at once.
    target : {"empirical", "population"}
        Whether the band is for the people who reported, or for all people from whom they were
        drawn.
    method : str
        How the band was made, and what is known about its coverage.
    below : float, optional
        Upper end of the interval for the share below `low`, when the first bin contains `low`
        itself. The first point of the band is then the share at or below `low`, which may include
        this whole bin. Default: None, where the first point is the end of a bin.

    See Also
    --------
    lapwing.Distribution.confidence_band : Band of a result.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> band = lw.results.Band(
    ...     points=np.array([1.0, 2.0, 3.0]), starts=np.array([0.0, 1.0, 2.0]),
    ...     low=np.array([0.3, 0.2, 1.0]), high=np.array([0.5, 0.4, 1.0]),
    ...     level=0.95, kind="pointwise", target="empirical", method="an example",
    ... )
    >>> band.monotone().low.tolist(), band.monotone().high.tolist()
    ([0.2, 0.2, 1.0], [0.5, 0.5, 1.0])
    >>> round(band.share_inside(np.array([0.4, 0.5, 1.0])), 3)
    0.667
    """

    points: Vector
    starts: Vector
    low: Vector
    high: Vector
    level: float
    kind: Kind
    target: Target
    method: str
    below: float | None = None

    __repr__ = short_repr

    def quantile(self, probability: float) -> tuple[float, float]:
        """Return an interval for a quantile, by inversion of the band, in numbers of the line.

        It extends to the outer ends of the bins, because a band gives no information inside them.

        Parameters
        ----------
        probability : float
            Probability of the quantile, in [0, 1].

        Returns
        -------
        tuple of float
            Lower and upper end, in numbers of the line: days for dates, seconds for times.

        Raises
        ------
        ArgumentError
            When the probability is not in [0, 1].

        Examples
        --------
        >>> import lapwing as lw
        >>> ages, bins = [25] * 400 + [45] * 600, lw.Interval(0, 100, bins=4)
        >>> rng = lw.seeded(1)  # for this example only
        >>> published = lw.release(ages, bins, epsilon=1, neighbors="replace-one", rng=rng)
        >>> published.distribution.confidence_band().quantile(0.5)
        (25.0, 50.0)
        """
        first, stop = self.quantile_symbols(probability)
        return float(self.starts[first]), float(self.points[stop])

    @inherits(quantile)
    def quantile_symbols(self, probability: float) -> tuple[int, int]:
        """Return the numbers of the first and the last bin in which a quantile may lie.

        Returns
        -------
        tuple of int
            Positions in `points`, from 0.
        """
        if not 0 <= probability <= 1:
            raise ArgumentError("probability", "must be at least 0 and at most 1", str(probability))
        high = self.high if self.below is None else np.append(self.below, self.high[1:])
        upper = np.maximum.accumulate(high)
        lower = np.maximum.accumulate(self.low)
        last = self.points.size - 1
        first = min(int(np.searchsorted(upper, probability, side="left")), last)
        stop = min(int(np.searchsorted(lower, probability, side="left")), last)
        return first, stop

    def reaching(self, heights: Vector) -> Band:
        """Return the band widened to contain a curve that lies partly outside it.

        Parameters
        ----------
        heights : numpy.ndarray
            Heights of the curve at `points`, float64 [knots].

        Returns
        -------
        Band
            Band of the same kind that contains the curve.
        """
        low, high = np.minimum(self.low, heights), np.maximum(self.high, heights)
        return replace(self, low=low, high=high)

    def holding_low(self, symbol: int) -> Band:
        """Return the band whose first point is `low` instead of the bin of values below it.

        Parameters
        ----------
        symbol : int
            Position of the bin that contains `low` itself. All of its people may have exactly this
            value.

        Returns
        -------
        Band
            Band whose first point reaches up to the end of this bin.
        """
        high = np.append(self.high[symbol], self.high[1:])
        return replace(self, high=high, below=float(self.high[0]))

    def monotone(self) -> Band:
        """Return the narrowest band that contains this one and whose curves never fall.

        Pictures and tables of a CDF show this band.

        Returns
        -------
        Band
            Band of the same kind, nowhere narrower.

        Notes
        -----
        **Accuracy.** A pointwise band of an unbiased estimate goes up and down with the noise, but
        no CDF does. The new band contains the old one, so its coverage is no lower at any point.
        The widest such band inside the old one would cover less. Its lower curve at a point would
        be the highest of all earlier ones, each of which fails as often as the level allows.

        **Cost.** O(knots).
        """
        low = np.minimum.accumulate(self.low[::-1])[::-1]
        return replace(self, low=low, high=np.maximum.accumulate(self.high))

    def share_inside(self, heights: Vector) -> float:
        """Return the share of the points at which a curve lies in the band.

        If this share is well below the level, the decoder smooths away something that the reports
        show.

        Parameters
        ----------
        heights : numpy.ndarray
            Heights of the curve at `points`, float64 [knots].

        Returns
        -------
        float
            Share of the points, in [0, 1].
        """
        slack = 1e-12
        inside = (heights >= self.low - slack) & (heights <= self.high + slack)
        return float(inside.mean())


@dataclass(frozen=True, eq=False)
class DifferenceBand:
    """Confidence band for the difference of two CDFs, or of the shares of labels.

    points: Right ends of the bins, or numbers of the categories for labels. Float64 [knots].
    low, high: Lower and upper curve, float64 [knots], in [-1, 1].
    level: Nominal coverage, in (0, 1).
    kind: Whether the level holds at each point alone, or for the whole curve at once.
    target: Whether it covers the difference of the people who reported, or of all people they were
        drawn from.
    method: How the two error distributions were made.
    """

    points: Vector
    low: Vector
    high: Vector
    level: float
    kind: Kind
    target: Target
    method: str

    __repr__ = short_repr

    def reaching(self, heights: Vector) -> DifferenceBand:
        """Return the band widened to contain a curve that lies partly outside it."""
        low, high = np.minimum(self.low, heights), np.maximum(self.high, heights)
        return replace(self, low=low, high=high)

    @property
    def leaves_zero(self) -> bool:
        """Whether the band excludes zero at some point.

        For a simultaneous band this is a test of equality. If the two distributions are equal, it
        rejects with a probability of at most one minus the level.
        """
        return bool(((self.low > 0) | (self.high < 0)).any())


def cut_band(low: Vector, high: Vector, least: Vector, most: Vector) -> tuple[Vector, Vector]:
    """Return the part of a band that lies in another one, and the other where nothing does."""
    apart = np.maximum(low, least) > np.minimum(high, most)
    low = np.where(apart, least, np.maximum(low, least))
    high = np.where(apart, most, np.minimum(high, most))
    return np.minimum(low, high), np.maximum(low, high)


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
    found: Vector = np.interp(np.clip(laplace, 0.0, 1.0), _PARTS, _critical_values(outside))
    return found


@memoized(most=64)
def _critical_values(outside: float) -> Vector:
    """Return the critical value for each of _PARTS: 20 ms, and few levels are asked for."""
    low, high = np.zeros(_PARTS.size), np.full(_PARTS.size, -np.log(outside) + 2.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = _outside(middle, _PARTS) > outside
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return high


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
