"""The error distribution of an estimate, computed once when a tally is decoded, and its bands.

A band is a lower and an upper curve around a CDF, around shares, or around their difference. It
belongs to the channel and the tally, not to the decoder. A smoothed or constrained estimate does
not carry its own sampling error: a percentile bootstrap around EMS covers 45% where it says 95%.

Independent errors lie within their bounds at once with the product of the single probabilities.
Normal and correlated errors do so with at least that probability (Šidák 1967).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf

from lapwing.declared import Between, excludes, requirement
from lapwing.docstrings import inherits
from lapwing.documents import require
from lapwing.errors import ArgumentError, FormatError
from lapwing.linear.arrays import Matrix, Vector, one_thread, running_sums, short_repr
from lapwing.linear.covariance import Covariance
from lapwing.linear.memoized import cached_property, memoized
from lapwing.results.rounding import exact_text
from lapwing.results.spread_law import SHORT, Spread, SpreadLaw, decoded, encoded, factor_kind

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


_VARIANTS = {"population pointwise", "empirical simultaneous", "population simultaneous", "density"}
"""The names that documents have for the fields of Variants."""

_DRAWS = 1000
"""Simulated suprema behind a simultaneous band. Its critical value is then within about 2%."""

_NOBODY = 1e-9
"""A sum of shares below this is rounding."""

_ROUNDING = 1e-8
"""By so much the sum of all symbols may miss one in a posterior."""

SIMULATED_LIMIT = 2**15
"""Labels up to which suprema are simulated, in a second."""

WHOLE = 512
"""Symbols up to which a covariance is kept whole."""

RANK = 128
"""Columns kept above that."""

UNKNOWN = 1e4
"""Variance of a share of which nothing is known. Its intervals reach from 0 to 1."""

_BATCH_LIMIT = 2**22
"""Limit of the numbers in a simulated batch: memory stays small on large domains."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Error distributions of their own for some targets and kinds of band.

    None means that the plain one serves. An estimate has two targets. The *empirical* distribution
    is that of the people who reported. The estimate differs from it by the noise of their reports
    alone. The distribution of the *population* is that of all people they were drawn from, which
    adds the sampling error. The plain error distribution is about the first, at each point alone.
    A posterior has a center and a covariance for each target. It has a wider prior for bands that
    hold at all points at once. Where the reports show a smooth density, the prior of its steps
    (`density`) is narrower. That error distribution is about the people who reported.
    """

    population_pointwise: Uncertainty | None = None
    empirical_simultaneous: Uncertainty | None = None
    population_simultaneous: Uncertainty | None = None
    density: Uncertainty | None = None

    def listed(self) -> dict[str, Uncertainty]:
        """Return those that there are, by their fields, in the order that documents keep."""
        named = {
            "population_pointwise": self.population_pointwise,
            "empirical_simultaneous": self.empirical_simultaneous,
            "population_simultaneous": self.population_simultaneous,
            "density": self.density,
        }
        return {name: variant for name, variant in named.items() if variant is not None}

    def answering(self, kind: Kind, target: Target) -> Uncertainty | None:
        """Return the error distribution for a kind and a target, if it has its own."""
        if kind == "pointwise":
            return self.population_pointwise if target == "population" else None
        population, empirical = self.population_simultaneous, self.empirical_simultaneous
        return population if target == "population" else empirical


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Error distribution of an estimate: normal, centered, with a covariance kept in parts.

    center: Estimate that it belongs to, float64 [symbols]. It may be signed.
    noise: Of the center's masses about the masses of the people who reported.
    remainder: float64 [symbols]: variance of the cumulative sums that `noise` leaves out.
    plug_in: float64 [symbols]: masses at which the covariance was evaluated.
    reports: Number of people. The population target adds the sampling error of so many.
    method: How it was made, with what is known of its coverage.
    variants: Error distributions of their own for some targets and kinds of band. This one serves
        the others.
    tails: Excess kurtosis of the cumulative sums, on average. Default: 0, normal errors. Bands are
        wider by it, because large errors are more frequent with Laplace noise than with Gaussian
        noise of the same variance.
    laplace: Variance of the Laplace noise in each mass, 0 where all noise is Gaussian. It is given
        where each mass has a noise of its own, as in a release of labels. Simultaneous intervals
        then follow from those of one mass, without simulation. Of a difference of two, it is the
        variance of one Laplace error of the same kurtosis.
    whole: Whether the masses are numbers of people over `reports`, with errors of whole people
        where they are a few. Intervals of single masses allow for it. Default: False.
    of_cells: Where `center` and `noise` are spread over the symbols from cells. A file then holds
        those.
    """

    center: Vector
    noise: Covariance
    remainder: Vector
    plug_in: Vector
    reports: int
    method: str
    variants: Variants = Variants()
    tails: float = 0.0
    laplace: float | None = None
    whole: bool = False
    of_cells: SpreadLaw | None = None

    __repr__ = short_repr

    @classmethod
    def of_covariance(
        cls, center: Vector, covariance: Matrix, plug_in: Vector, reports: int, method: str
    ) -> Uncertainty:
        """Return the error distribution of masses in order, from their covariance as a matrix.

        Up to 512 symbols nothing is left out. Above, the 128 strongest columns are kept, and the
        rest counts as independent errors of the cumulative sums. Their variances stay exact, and
        so does the band. Standard deviations of ranges are within 5% for 98 in 100 ranges. They
        are up to 30% too small for ranges exactly one wave wide.
        """
        size = covariance.shape[0]
        sums = running_sums(running_sums(covariance).T)
        sums = (sums + sums.T) / 2
        if size <= WHOLE:
            heights = triangular(sums)
        else:
            first = size - RANK
            values, vectors = eigh(sums, subset_by_index=[first, size - 1], check_finite=False)
            heights = vectors * np.sqrt(np.maximum(values, 0.0))
        factor = as_stored(np.diff(heights, axis=0, prepend=0.0))
        explained = (running_sums(factor) ** 2).sum(axis=1)
        remainder = np.maximum(np.diag(sums) - explained, 0.0)
        noise = Covariance(np.zeros(size), factor, np.ones(factor.shape[1]))
        return cls(center, noise, remainder, plug_in, reports, method)

    @classmethod
    def spread(
        cls, law: SpreadLaw, remainder: Vector, plug_in: Vector, reports: int, method: str
    ) -> Uncertainty:
        """Return the error distribution of symbols from that of their cells."""
        center = law.center
        if center.size == law.spread.start.size:
            center = law.spread.over_symbols(center)
        factor = law.spread.over_symbols(law.factor)
        noise = Covariance(np.zeros(center.size), factor, np.ones(factor.shape[1]))
        return cls(center, noise, remainder, plug_in, reports, method, of_cells=law)

    def covariance(self, target: Target) -> Covariance:
        """Return the covariance of the masses about the target."""
        return self.noise if target == "empirical" else self.noise + self.sampling

    @property
    def sampling(self) -> Covariance:
        """The covariance of the masses of so many people, drawn from the population."""
        drawn = Covariance(self.plug_in, self.plug_in[:, None], np.array([-1.0]))
        return drawn.scaled(1 / self.reports)

    def about(self, kind: Kind, target: Target) -> Uncertainty:
        """Return the error distribution for this kind and target: its noise is about the target.

        Raises ArgumentError when it is no kind or no target.
        """
        check_kind(kind, target)
        variant = self.variants.answering(kind, target)
        if variant is not None:
            return variant
        noise = self.covariance(target)
        whole = self.whole and target == "empirical"
        return replace(self, noise=noise, variants=Variants(), whole=whole, of_cells=None)

    def about_steps(self, target: Target) -> Uncertainty:
        """Return the error distribution of the steps that the reports can distinguish."""
        return (self.variants.density or self).about("simultaneous", target)

    def cdf_deviation(self, target: Target) -> Vector:
        """Return the standard deviation of the cumulative sums: float64 [symbols]."""
        covariance = self.covariance(target)
        variance = np.cumsum(covariance.diagonal) + self.remainder
        variance += np.cumsum(covariance.factor, axis=0) ** 2 @ covariance.signs
        deviation: Vector = np.sqrt(np.maximum(variance, 0.0))
        return deviation

    def deviation(self, weights: Vector, target: Target) -> float:
        """Return the standard deviation of ``sum(weights * masses)``."""
        covariance = self.covariance(target)
        variance = float(np.dot(covariance.diagonal, weights**2))
        variance += float((weights @ covariance.factor) ** 2 @ covariance.signs)
        # As a function of the cumulative sums the weights are their own differences.
        steps = weights - np.append(weights[1:], 0.0)
        variance += float(np.dot(self.remainder, steps**2))
        return float(np.sqrt(max(variance, 0.0)))

    def share_deviations(self, symbols: NDArray[np.int64]) -> Vector:
        """Return the standard deviation of the share of each symbol, about the people counted."""
        covariance = self.covariance("empirical")
        variance = covariance.diagonal[symbols]
        variance += covariance.factor[symbols] ** 2 @ covariance.signs
        before = np.append(0.0, self.remainder)
        variance += before[symbols] + before[symbols + 1]
        return np.sqrt(np.maximum(variance, 0.0))

    def laplace_part(self, weights: Vector, deviation: float) -> float:
        """Return the part of the variance of ``sum(weights * masses)`` that is tails, in 0..1.

        That which one Laplace error has in a normal one when their sum has the same kurtosis.
        """
        if self.laplace is None:
            return math.sqrt(self.tails / MOST_TAILS)
        if not (self.laplace > 0 and deviation > 0):
            return 0.0
        # The sum of all masses is known, or divided by: it takes the mean of the weights out.
        fourth = float(np.sum((weights - float(self.plug_in @ weights)) ** 4))
        return min(self._laplace_alike * math.sqrt(fourth) / deviation**2, 1.0)

    def curves(
        self, level: float, kind: Kind, *, cumulative: bool, least: float
    ) -> tuple[Vector, Vector]:
        """Return a lower and an upper curve about the target of the noise (:meth:`about`).

        level: In (0, 1).
        cumulative: Of the cumulative sums, or else of the masses.
        least: The curves are cut to [least, 1].
        """
        normal = normal_critical_value(level)
        if cumulative:
            heights, deviation = np.cumsum(self.center), self.cdf_deviation("empirical")
        else:
            heights, deviation = self.center, np.sqrt(np.maximum(self.noise.variance(), 0.0))
        used = deviation > 1e-3 * deviation.max(initial=0.0)
        critical: float | Vector
        if self.laplace is not None and not cumulative:
            part = self.laplace / np.maximum(deviation**2, 1e-300)
            at_once = max(1, int(used.sum())) if kind == "simultaneous" else 1
            critical = independent_critical_values(level, at_once, part)
            (normal,) = independent_critical_values(level, at_once, np.zeros(1))
        else:
            if kind == "simultaneous" and used.any():
                # A simulated value may by chance be below that of one point.
                drawn = self.critical_value(level, deviation, used, cumulative=cumulative)
                normal = max(normal, drawn)
            if self.laplace:
                alone = math.erf(normal / math.sqrt(2))
                part = self._laplace_parts(deviation)
                critical = np.maximum(normal, independent_critical_values(alone, 1, part))
            else:
                critical = with_tails(normal, self.tails)
        reach = critical * deviation
        if self.whole and not cumulative:
            few = whole_reach(normal, deviation * self.reports) / self.reports
            reach = np.maximum(reach, few)
        low, high = (np.clip(heights + side * reach, least, 1.0) for side in (-1, 1))
        # The sum of all is one, and a posterior has it to some 1e-9: rounding must not exclude it.
        high[high > 1.0 - _ROUNDING] = 1.0
        return low, high

    def _laplace_parts(self, deviation: Vector) -> Vector:
        """Return :meth:`laplace_part` of each cumulative sum: float64 [symbols]."""
        below = np.clip(np.cumsum(self.plug_in), 0.0, 1.0)
        held = np.arange(1, below.size + 1)
        fourth = held * (1 - below) ** 4 + (below.size - held) * below**4
        part: Vector = self._laplace_alike * np.sqrt(fourth) / np.maximum(deviation**2, 1e-300)
        return np.minimum(part, 1.0)

    @property
    def _laplace_alike(self) -> float:
        """Variance of a Laplace error whose fourth cumulant is that of the noise in each mass.

        That of discrete Laplace noise of variance v people is ``3 v^2 + v``.
        """
        laplace = self.laplace or 0.0
        return math.sqrt(laplace**2 + laplace / (3 * self.reports**2) * self.whole)

    @one_thread
    def critical_value(
        self, level: float, deviation: Vector, used: NDArray[np.bool_], *, cumulative: bool
    ) -> float:
        """Return the level-quantile of the largest standardized error over the used symbols.

        For the masses of very many symbols, returns an upper bound without a simulation. Gaussian
        errors are jointly within a limit at least as often as independent ones (Šidák 1967). Those
        of many labels are nearly independent. Of as many cumulative sums without a remainder it
        simulates those that :func:`_spread_places` keeps, and adds what a maximum over steps lacks
        (Siegmund 1985).
        """
        if not cumulative and self.center.size > SIMULATED_LIMIT:
            beyond = -math.expm1(math.log(level) / int(used.sum()))
            return -NormalDist().inv_cdf(beyond / 2)
        # A fixed seed: the same tally gives the same band, and no privacy hangs on it.
        rng = np.random.default_rng(20_261_121)
        noise, remainder, lacking = self.noise, self.remainder, 0.0
        if self.center.size > SIMULATED_LIMIT and not remainder.any():
            kept = _spread_places(self.center.size)
            noise, remainder = noise.of_sums(kept), remainder[kept]
            deviation, used = deviation[kept], used[kept]
            lacking = 0.5826 * math.sqrt(2 * math.log(self.center.size / 2) / SIMULATED_LIMIT)
        rows = max(1, min(_DRAWS, _BATCH_LIMIT // used.size))
        suprema: list[float] = []
        while len(suprema) < _DRAWS:
            errors = noise.sample(rows, rng)
            if cumulative:
                errors = np.cumsum(errors, axis=1)
                errors += rng.normal(size=errors.shape) * np.sqrt(remainder)
            suprema += (np.abs(errors[:, used]) / deviation[used]).max(axis=1).tolist()
        return float(np.quantile(suprema, level)) + lacking

    def band(
        self,
        *,
        level: float,
        kind: Kind,
        target: Target,
        left: Vector | None,
        right: Vector | None,
    ) -> Band:
        """Return the band of the CDF, or of the shares when the symbols have no place.

        level: In (0, 1).
        left, right: Ends of the symbols, float64 [symbols]. None for categories.

        A pointwise band of a CDF is cut to the simultaneous one of the same level and target, up to
        32,768 symbols. The simultaneous band never falls, so it can be the narrower one where the
        estimate goes up and down. That was so at 15 to 37 of 48 points of a circle, once
        :meth:`Band.monotone` had widened the pointwise band. A curve in the simultaneous band loses
        no point by the cut.
        """
        error_law = self.about(kind, target)
        if left is None:
            low, high = error_law.curves(level, kind, cumulative=False, least=0.0)
        elif kind == "simultaneous":
            low, high = (curve.copy() for curve in self._whole_curve(level, target))
        else:
            low, high = error_law.curves(level, kind, cumulative=True, least=0.0)
            if low.size <= SIMULATED_LIMIT:
                low, high = cut_band(low, high, *self._whole_curve(level, target))
        numbers = np.arange(self.center.size, dtype=np.float64)
        return Band(
            numbers if right is None else right,
            numbers if left is None else left,
            low,
            high,
            level,
            kind,
            target,
            error_law.method,
        )

    def _whole_curve(self, level: float, target: Target) -> tuple[Vector, Vector]:
        """Return the simultaneous band of the CDF, whose simulation is done once for each level."""
        key = level, target
        if key not in self._whole_curves:
            error_law = self.about("simultaneous", target)
            low, high = error_law.curves(level, "simultaneous", cumulative=True, least=0.0)
            # The truth is monotone: where the whole curve is covered, so is this. Not of a
            # pointwise band: at a point it would then have to hold at all points before it.
            low = np.maximum.accumulate(low)
            high = np.minimum.accumulate(high[::-1])[::-1]
            self._whole_curves[key] = low, high
        return self._whole_curves[key]

    @cached_property
    def _whole_curves(self) -> dict[tuple[float, Target], tuple[Vector, Vector]]:
        """Simultaneous bands that were asked for, by level and target."""
        return {}

    def turned(self, first: int) -> Uncertainty:
        """Return the error distribution on a circle whose symbols begin at `first`.

        Cumulative sums then begin there. An error of the old sum before `first` alone (`remainder`)
        is in all of them.
        """
        if first == 0:
            return self
        if first not in self._turned_laws:
            noise, remainder = self.noise, np.roll(self.remainder, -first)
            factor, signs = np.roll(noise.factor, -first, axis=0), noise.signs
            before = float(self.remainder[first - 1])
            if before > 0:
                column = np.zeros((remainder.size, 1))
                column[0], column[-1] = -math.sqrt(before), math.sqrt(before)
                factor, signs = np.hstack([factor, column]), np.append(signs, 1.0)
                remainder[-1] = 0.0  # the sum of all is one
            listed = self.variants.listed()
            self._turned_laws[first] = replace(
                self,
                center=np.roll(self.center, -first),
                noise=Covariance(np.roll(noise.diagonal, -first), factor, signs),
                remainder=remainder,
                plug_in=np.roll(self.plug_in, -first),
                variants=Variants(**{name: law.turned(first) for name, law in listed.items()}),
                of_cells=None,
            )
        return self._turned_laws[first]

    @cached_property
    def _turned_laws(self) -> dict[int, Uncertainty]:
        """Error distributions that begin at other symbols, which keep their simulations."""
        return {}

    @property
    def says_present(self) -> bool:
        """Whether somebody has another value than the last symbol, which is for missing ones."""
        laws = [self, *self.variants.listed().values()]
        shares = [part[:-1].sum() for law in laws for part in (law.center, law.plug_in)]
        return bool(min(shares) > _NOBODY)

    def given_present(self) -> Uncertainty:
        """Return the error distribution of present values: the last symbol is dropped.

        First order. Let c be the shares among the present, P the sum of their masses and e the
        errors of these masses. The error of c is ``(e - c sum(e)) / P``, because P has an error
        also. So an error in the sum of the present is in every share. The last cumulative sum is
        one, without error. This is exact for each part of the covariance.
        """
        present = float(self.center[:-1].sum())
        center = self.center[:-1] / present
        factor = self.noise.factor[:-1]
        diagonal, total = self.noise.diagonal[:-1], float(self.noise.diagonal[:-1].sum())
        parts, signs = [factor - np.outer(center, factor.sum(axis=0))], [self.noise.signs]
        if total > 0:
            # diag(d) - c d' - d c' + c c' sum(d), the last three by two columns.
            parts += [_column(center * total - diagonal, total), _column(diagonal, total)]
            signs += [np.array([1.0, -1.0])]
        remainder = self.remainder[:-1] / present**2
        if remainder[-1] > 0:
            parts += [_column(np.append(-center[:-1], 1 - center[-1]), 1 / self.remainder[-2])]
            signs += [np.array([1.0])]
            remainder[-1] = 0.0
        noise = Covariance(diagonal / present**2, np.hstack(parts) / present, np.concatenate(signs))
        held = self.plug_in[:-1].sum()
        return Uncertainty(
            center,
            noise,
            remainder,
            self.plug_in[:-1] / held,
            max(1, round(self.reports * float(held))),
            self.method,
            Variants(**{name: one.given_present() for name, one in self.variants.listed().items()}),
            self.tails,
            None if self.laplace is None else self.laplace / present**2,
            self.whole,
        )

    _sizes: ClassVar = ("symbols",)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form, with arrays as base64 of little-endian floats.

        They have 64 bits, but for factors of many columns, which have 32. The key `tails` is there
        only where errors are not normal, `cells` where the distribution is spread from cells.
        """
        listed = self.variants.listed()
        spread = None if self.of_cells is None else self.of_cells.spread
        # Where one beside it is of other cells, or of symbols, all hold a number for each symbol.
        by_cell = spread is not None and all(
            one.of_cells is not None and one.of_cells.spread.equals(spread)
            for one in listed.values()
        )
        document = self._own_document(by_cell=by_cell)
        if by_cell and spread is not None:
            document["cells"] = spread.to_document()
            for name, one in listed.items():
                if np.array_equal(one.plug_in, self.plug_in):
                    del document["variants"][name.replace("_", " ")]["plug_in"]
        return document

    def _own_document(self, *, by_cell: bool) -> dict[str, Any]:
        """Return the JSON form with every key. Arrays of cells where they are held by cell."""
        law: SpreadLaw | Uncertainty = self
        factor, diagonal = self.noise.factor, {"diagonal": encoded(self.noise.diagonal)}
        if by_cell and self.of_cells is not None:
            law, factor, diagonal = self.of_cells, self.of_cells.factor, {}
        document = {
            "center": encoded(law.center),
            **diagonal,
            "factor": encoded(factor.T, kind=factor_kind(self.noise.signs.size)),
            "signs": encoded(self.noise.signs),
            "remainder": encoded(self.remainder, kind=SHORT if by_cell else "<f8"),
            "plug_in": encoded(self.plug_in),
            "reports": self.reports,
            "method": self.method,
            "variants": {
                name.replace("_", " "): one._own_document(by_cell=by_cell)
                for name, one in self.variants.listed().items()
            },
        }
        more: dict[str, Any] = {"tails": self.tails} if self.tails else {}
        more |= {"whole": True} if self.whole else {}
        return document | more | ({} if self.laplace is None else {"laplace": self.laplace})

    @classmethod
    def from_document(
        cls, document: dict[str, Any], *, symbols: int, outer: Uncertainty | None = None
    ) -> Uncertainty:
        """Return the error distribution that :meth:`to_document` wrote.

        document: JSON object that :meth:`to_document` returned.
        symbols: Number of symbols of the domain.
        outer: The error distribution of which it is a variant: of the same cells, and with the same
            `plug_in` where it has none.

        Raises FormatError when it is damaged.
        """
        spread = None
        if outer is not None and outer.of_cells is not None:
            spread = outer.of_cells.spread
        elif isinstance(document, dict) and outer is None and "cells" in document:
            spread = Spread.from_document(document["cells"], symbols=symbols)
        keys = {"center", "factor", "signs", "remainder", "plug_in"}
        keys |= {"diagonal"} if spread is None else set()
        optional = {"tails", "laplace", "whole"}
        if spread is not None:
            optional |= {"cells"} if outer is None else {"plug_in"}
        all_keys = (keys | {"reports", "method", "variants"}) - optional
        require(document, all_keys, name="an uncertainty", optional=tuple(sorted(optional)))
        variants, laplace = document["variants"], document.get("laplace")
        if document.get("whole", True) is not True:
            raise FormatError("the uncertainty of this distribution is damaged. Do not use it")
        if "laplace" in document and not (type(laplace) is float and 0 <= laplace < np.inf):
            raise FormatError("the uncertainty of this distribution is damaged. Do not use it")
        if not isinstance(variants, dict) or not set(variants) <= _VARIANTS:
            raise FormatError("the uncertainty of this distribution is damaged. Do not use it")
        if outer is not None and variants:
            raise FormatError(
                "a variant of an uncertainty must not have variants itself. "
                "Do not use this document"
            )
        kinds = {} if spread is None else {"remainder": SHORT}
        arrays = {
            key: decoded(document[key], kind=kinds.get(key, "<f8"))
            for key in (keys - {"factor"}) & set(document)
        }
        if outer is not None and "plug_in" not in arrays:
            arrays["plug_in"] = outer.plug_in
        rank = arrays["signs"].size
        arrays["factor"] = decoded(document["factor"], kind=factor_kind(rank))
        rows = symbols if spread is None else spread.start.size
        sizes = dict.fromkeys(keys, symbols)
        sizes |= {"signs": rank, "factor": rank * rows}
        if spread is not None and arrays["center"].size == rows:
            sizes["center"] = rows  # spread over the symbols as the factor is
        reports = document["reports"]
        tails = document.get("tails", 0.0)
        whole = type(reports) is int and reports >= 1
        whole = whole and type(tails) in (int, float) and 0 <= tails <= MOST_TAILS
        whole = whole and (spread is None or bool((arrays["signs"] == 1).all()))
        if any(arrays[key].size != sizes[key] for key in keys) or not whole:
            raise FormatError("the uncertainty of this distribution is damaged. Do not use it")
        center, factor = arrays["center"], arrays["factor"].reshape(rank, rows).T
        parts = arrays["remainder"], arrays["plug_in"], reports, str(document["method"])
        if spread is None:
            noise = Covariance(arrays["diagonal"], factor, arrays["signs"])
            found = cls(center, noise, *parts)
        else:
            found = cls.spread(SpreadLaw(spread, center, factor), *parts)
        found = replace(found, tails=float(tails), laplace=laplace, whole="whole" in document)
        listed = {
            name.replace(" ", "_"): cls.from_document(variant, symbols=symbols, outer=found)
            for name, variant in variants.items()
        }
        return replace(found, variants=Variants(**listed))


def _column(numbers: Vector, divisor: float) -> Matrix:
    """Return one column of a factor, whose square is divided by a number: [symbols, 1]."""
    column: Matrix = (numbers / np.sqrt(divisor))[:, None]
    return column


def as_stored(columns: Matrix) -> Matrix:
    """Return columns as a file gives them back, so that a loaded band is the same band.

    Files hold them as float32, one after the other. Sums over them depend on that order.
    """
    return np.asfortranarray(columns.astype(np.float32).astype(np.float64))


def triangular(covariance: Matrix, *, limit: int | None = None) -> Matrix:
    """Return columns G with ``G G' = covariance``: a tenth of the time of eigenvectors.

    covariance: float64 [size, size], positive semidefinite but for rounding.
    limit: Columns kept at the most, each of which explains one more of the largest variances left.
    """
    factor, pivots, rank, _ = dpstrf(covariance, lower=1)
    kept = rank if limit is None else min(rank, limit)
    # One column of zeros when nothing varies.
    columns = np.zeros((covariance.shape[0], max(kept, 1)))
    columns[pivots - 1, :kept] = np.tril(factor)[:, :kept]
    return columns


def _spread_places(size: int) -> NDArray[np.int64]:
    """Return places in a long row of sums: all at both ends, and then at steps of 0.1%."""
    near = np.unique(np.geomspace(1, size / 2, SIMULATED_LIMIT // 2).astype(np.int64)) - 1
    return np.unique(np.concatenate([near, size - 1 - near]))
