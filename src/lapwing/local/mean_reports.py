"""Reports that say little but average well: for the mean of an attribute, and nothing else.

A square wave or a mixture estimates the mean about as well together with the whole distribution;
these are here to be compared with. For the variance see :mod:`lapwing.local.two_rounds`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.channel import Block, Channel
from lapwing.domain import Domain, Integers, Interval
from lapwing.errors import ArgumentError, DomainError, MismatchError, PrivacyError, TallyError
from lapwing.guarantee import Certificate, Guarantee, exact_epsilon, exponential_bounds
from lapwing.laws import Multinomial
from lapwing.linear.banded import SlidingWindow
from lapwing.local.one_code import count_codes, report_codes
from lapwing.local.two_level import TwoLevel
from lapwing.randomizer import (
    hexadecimal,
    local_guarantee,
    randomizer_document,
    randomizer_fingerprint,
)
from lapwing.randomness import WORD, RandomSource, secure
from lapwing.reports import Reports
from lapwing.tally import Counts
from lapwing.windows import spread_in_windows

Vector = NDArray[np.float64]

LARGEST_GRID = 2**20
"""Most symbols of a stochastic rounding, each with its own threshold."""


@dataclass(frozen=True)
class MeanEstimate:
    """An unbiased mean with its standard deviation.

    Parameters
    ----------
    value : float
        In the unit of the domain; noise may carry it beyond the domain.
    deviation : float
        Standard deviation of `value` about the mean of all people of whom those who reported are
        a random sample: from the spread of the reports, so it holds whatever the values are.
    reports : int
        People behind it.
    """

    value: float
    deviation: float
    reports: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds the mean with this probability, by the normal law."""
        if not 0 < level < 1:
            raise ArgumentError(f"the level of an interval must be in (0, 1), got {level}")
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.deviation
        return self.value - reach, self.value + reach


def grid_points(domain: Domain) -> tuple[float, float]:
    """Return the first point and the step of the evenly spaced values that symbols stand for.

    The middles of the bins of an interval, or the whole numbers themselves.

    Raises
    ------
    DomainError
        When they are not evenly spaced on a line: labels, atoms, a missing symbol, a circle or a
        logarithmic scale.
    """
    if isinstance(domain, Integers) and domain.missing_index is None:
        return float(domain.low), 1.0
    regular = isinstance(domain, Interval) and domain.regular and not domain.circular
    if isinstance(domain, Interval) and regular and domain.scale == "linear":
        step = (domain.high - domain.low) / domain.bins
        return domain.low + step / 2, step
    raise DomainError(
        "a mean needs symbols that are evenly spaced on a line: Integers, or an Interval that is "
        "not circular or logarithmic, without atoms and without a missing bin"
    )


def _mean(counts: NDArray[np.int64], values: Vector) -> MeanEstimate:
    """Return the mean of reports that stand for these values."""
    reports = int(counts.sum())
    if reports < 2:
        raise TallyError(f"a mean with its deviation needs at least 2 reports, got {reports}")
    mean = float(counts @ values) / reports
    spread = float(counts @ (values - mean) ** 2) / (reports - 1)
    return MeanEstimate(mean, math.sqrt(spread / reports), reports)


def _own_counts(tally: Counts, fingerprint: str) -> NDArray[np.int64]:
    if tally.fingerprint != fingerprint:
        raise MismatchError(
            f"the tally was made by randomizer {tally.fingerprint[:12]}, this one is "
            f"{fingerprint[:12]}; use the randomizer that made the reports"
        )
    return tally.blocks[0]


@dataclass(frozen=True)
class StochasticRounding:
    """Report one of the two ends of the domain, the nearer one with the greater probability.

    For :meth:`mean` only: two outputs cannot be decoded to a distribution, so no survey may name
    it.

    Parameters
    ----------
    domain : Interval or Integers
        Evenly spaced symbols, 2..2^20; an interval's stand for the middles of its bins.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.

    Privacy
    -------
    The upper end is reported with probability ``T_x / 2^64``, with integers T_x that rise evenly
    from ``2^64 - T`` at the first symbol to T at the last. T is the largest integer for which
    ``T / (2^64 - T)`` is at most a rational lower bound of ``e^epsilon``; this is the worst ratio
    of both reports. Checked by :meth:`certificate`, by the tests on the table of all ratios, and
    with T + 1, which must fail.

    Accuracy
    --------
    Unbiased. With values on [-1, 1] a report of v has variance ``((e^epsilon + 1) / (e^epsilon -
    1))^2 - v^2``. An interval's values are first moved to the middle of their bin.

    Cost
    ----
    1 byte per report; O(1) to randomise and tally one.

    Source: Duchi, Jordan and Wainwright 2018; Li et al. 2020, section 2.2. Differs: on a grid;
    the text's range [-1, 1] runs from the first grid point to the last.

    Examples
    --------
    >>> from lapwing.randomness import seeded
    >>> age = StochasticRounding(Integers(0, 100), 2)
    >>> mean = age.mean(age.tally(age.randomize([20] * 50_000 + [60] * 50_000, rng=seeded(1))))
    >>> round(mean.value, 2), round(mean.deviation, 2)
    (39.9, 0.21)
    """

    domain: Interval | Integers
    epsilon: Fraction

    name: ClassVar[str] = "stochastic-rounding"
    simulation: ClassVar[Literal["exact", "users"]] = "exact"

    def __post_init__(self) -> None:
        """Make epsilon exact and check the domain."""
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))
        grid_points(self.domain)
        if not 2 <= self.domain.size <= LARGEST_GRID:
            raise DomainError(
                f"stochastic rounding needs a domain of 2..{LARGEST_GRID} symbols, "
                f"got {self.domain.size}; use fewer bins"
            )
        if 2 * self.threshold <= WORD:
            raise PrivacyError(
                "epsilon is too small to be expressed by 64-bit thresholds; reports would carry "
                "no information"
            )

    @property
    def points(self) -> int:
        """Number of inputs: the symbols of the domain."""
        return self.domain.size

    @property
    def outputs(self) -> int:
        """Two: 0 is the lower end, 1 the upper one."""
        return 2

    @cached_property
    def threshold(self) -> int:
        """T: the last symbol is reported as the upper end with probability T / 2^64."""
        bound = exponential_bounds(self.epsilon)[0]
        return int(WORD * bound / (bound + 1))

    def upper(self, point: int) -> int:
        """Return T_x of an input: the upper end is reported with probability T_x / 2^64."""
        lowest = WORD - self.threshold
        return lowest + (self.threshold - lowest) * point // (self.points - 1)

    @property
    def thresholds(self) -> dict[str, int]:
        """T_x of the first and of the last symbol; the others lie evenly between, rounded down."""
        return {"first": WORD - self.threshold, "last": self.threshold}

    @property
    def derived(self) -> dict[str, Any]:
        """What clients need beside the fields; JSON values only."""
        return {
            "thresholds": hexadecimal(self.thresholds),
            "points": self.points,
            "outputs": self.outputs,
            "report_width": self.report_width,
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of its canonical document, thresholds included."""
        return randomizer_fingerprint(self)

    @property
    def guarantee(self) -> Guarantee:
        """Pure epsilon, in the local model."""
        return local_guarantee(self.epsilon)

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio."""
        return Certificate(self.epsilon, Fraction(self.threshold, WORD - self.threshold))

    @property
    def report_width(self) -> int:
        """Bytes per report: one."""
        return 1

    @cached_property
    def _upper(self) -> NDArray[np.uint64]:
        return np.array([self.upper(point) for point in range(self.points)], dtype=np.uint64)

    @cached_property
    def channel(self) -> Channel:
        """One multinomial block with two outputs: it knows the mean and nothing else."""
        block = Block(_TwoRows(self._chances), Multinomial(self._draw))
        return Channel(self.domain, [block], self.fingerprint, self.guarantee)

    @property
    def _chances(self) -> Vector:
        chances: Vector = self._upper.astype(np.float64) / float(WORD)
        return chances

    def _draw(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        high = int(rng.binomial(people, self._chances).sum())
        return np.array([int(people.sum()) - high, high])

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the class and its fields."""
        return randomizer_document(self)

    def randomize(self, values: ArrayLike, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value.

        Parameters
        ----------
        values : array_like [n]
            Values of the domain.
        rng : RandomSource, optional
            Default: :func:`lapwing.randomness.secure`. A seeded source is for tests only.

        Raises
        ------
        DomainError
            With the position of the first value that the domain refuses. Nothing is randomised.
        """
        source = secure() if rng is None else rng
        points = self.domain.index(values)

        def encode(part: NDArray[np.int64]) -> NDArray[np.int64]:
            return (source.words(part.size) < self._upper[part]).astype(np.int64)

        return report_codes(points, encode, outputs=self.outputs, fingerprint=self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one input.

        One word: the upper end when it is below T_x. This is what test vectors pin and what other
        languages port.

        Parameters
        ----------
        value : int
            Input, in 0..points-1.
        words : iterator of int
            Each in 0..2^64-1.
        """
        if not 0 <= value < self.points:
            raise DomainError(f"an input must be in 0..{self.points - 1}")
        return b"\1" if next(words) < self.upper(value) else b"\0"

    def tally(self, reports: Reports) -> Counts:
        """Return the exact counts of a batch, entirely or not at all.

        Raises
        ------
        MismatchError
            When another randomizer made the reports.
        ReportError
            With the position of the first report that cannot occur.
        """
        return count_codes(reports, outputs=self.outputs, fingerprint=self.fingerprint)

    def mean(self, tally: Counts) -> MeanEstimate:
        """Return the unbiased mean of the values behind a tally.

        Raises
        ------
        MismatchError
            When another randomizer made it.
        TallyError
            When it holds fewer than 2 reports.
        """
        first, step = grid_points(self.domain)
        centre = first + step * (self.points - 1) / 2
        # A report stands for a point beyond its end, by what the noise shrinks the mean.
        reach = step * (self.points - 1) / 2 / float(Fraction(2 * self.threshold - WORD, WORD))
        counts = _own_counts(tally, self.fingerprint)
        return _mean(counts, np.array([centre - reach, centre + reach]))


class _TwoRows(LinearOperator):  # type: ignore[misc]
    """``1 - upper`` above `upper`: the law of a report with two outputs; shape [2, inputs]."""

    def __init__(self, upper: Vector) -> None:
        super().__init__(np.dtype(np.float64), (2, upper.size))
        self.upper = upper

    def _matmat(self, x: Vector) -> Vector:
        high = self.upper @ x
        return np.stack([x.sum(axis=0) - high, high])

    def _rmatmat(self, r: Vector) -> Vector:
        product: Vector = np.multiply.outer(self.upper, r[1] - r[0]) + r[0]
        return product

    def _matvec(self, x: Vector) -> Vector:
        return self._matmat(x.reshape(self.upper.size))

    def _rmatvec(self, r: Vector) -> Vector:
        return self._rmatmat(r.reshape(2))


@dataclass(frozen=True)
class Piecewise(TwoLevel):
    """Report a point of a longer grid: one near an image of the value, or any other.

    The near set of symbol x is ``x .. x + near - 1`` of ``points + near - 1`` outputs: a square
    wave, but narrower (about ``e^(-epsilon/2)`` of the domain), because what is asked of it is
    that the plain mean of the reports, shifted and stretched, has little variance.

    Parameters
    ----------
    domain : Interval or Integers
        Evenly spaced symbols, at least 2; an interval's stand for the middles of its bins.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.

    Accuracy
    --------
    Unbiased. On a fine grid and with values on [-1, 1] a report of v has variance
    ``v^2 / (c - 1) + (c + 3) / (3 (c - 1)^2)`` with ``c = e^(epsilon/2)``: less than stochastic
    rounding's for large epsilon, more for small.

    Cost
    ----
    ceil(log2(outputs) / 8) bytes per report; O(1) to randomise and tally one.

    Source: Wang et al. 2019 (piecewise mechanism); Li et al. 2020, section 2.2. Differs: on a
    grid, with the window rounded to whole points; unbiased for any window, because the rescaling
    uses the true probabilities.

    Examples
    --------
    >>> from lapwing.randomness import seeded
    >>> age = Piecewise(Integers(0, 100), 2)
    >>> mean = age.mean(age.tally(age.randomize([20] * 50_000 + [60] * 50_000, rng=seeded(1))))
    >>> round(mean.value, 2), round(mean.deviation, 2)
    (40.1, 0.15)
    """

    domain: Interval | Integers

    name: ClassVar[str] = "piecewise"

    def __post_init__(self) -> None:
        """Check the grid, then what all two-level randomizers check."""
        grid_points(self.domain)
        super().__post_init__()

    @property
    def near(self) -> int:
        """Points of the window: ``(points - 1) / e^(epsilon/2)``, rounded, at least 1."""
        return max(1, round((self.points - 1) * math.exp(-self.epsilon / 2)))

    @property
    def outputs(self) -> int:
        """Points of the output grid."""
        return self.points + self.near - 1

    def locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return point `offset` of the window of a point, or of what the window leaves out."""
        return np.where(near, point + offset, offset + self.near * (offset >= point))

    def spread_near(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the window of their point."""
        return spread_in_windows(people, width=self.near, points=self.outputs, rng=rng)

    def operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the sliding window."""
        return SlidingWindow(self.points, width=self.near, inside=inside, outside=outside)

    def mean(self, tally: Counts) -> MeanEstimate:
        """Return the unbiased mean of the values behind a tally.

        Raises
        ------
        MismatchError
            When another randomizer made it.
        TallyError
            When it holds fewer than 2 reports.

        Notes
        -----
        Counted from the middles of both grids, a report of symbol x is ``near (p - q) x`` on
        average: the outputs together average to zero, so those outside the window to minus what
        the window has.
        """
        first, step = grid_points(self.domain)
        inside, outside = self.probabilities
        shrink = self.near * (inside - outside)
        offset = np.arange(self.outputs, dtype=np.float64) - (self.outputs - 1) / 2
        values: Vector = first + step * ((self.points - 1) / 2 + offset / shrink)
        return _mean(_own_counts(tally, self.fingerprint), values)
