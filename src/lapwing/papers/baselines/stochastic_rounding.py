"""Stochastic rounding: a report is one of two ends, for the mean of an attribute and nothing else.

A square wave or a mixture estimates the mean about as well, together with the whole distribution.
Use this one to compare with it. The variance takes two rounds: the mean first, then squared
deviations from it (:func:`mean_and_variance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne, Declared
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Values, Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import Operator
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.sampling.randomness import WORD, RandomSource, source_of
from lapwing.protocol.channels.channel import Block, Channel, Multinomial
from lapwing.protocol.domains.domain import domain_of
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import check_symbol
from lapwing.randomizers.numerical.piecewise import (
    MeanEstimate,
    Piecewise,
    grid_points,
    mean_of,
    own_counts,
)
from lapwing.randomizers.two_level import CodeReports, NearAndFar

LARGEST_GRID = 2**20
"""Most symbols of a stochastic rounding, each with its own threshold."""


@dataclass(frozen=True)
class StochasticRounding(NearAndFar[CountTally]):
    """Stochastic rounding for the mean of a number (Duchi et al., 2018).

    A report is one of the two ends of the domain, the nearer one with the greater probability. It
    is only for :meth:`mean`. Two outputs cannot be decoded to a distribution, so no survey may use
    it.

    Parameters
    ----------
    domain : Interval or Integers
        Domain of the values, evenly spaced, with 2 to 2^20 bins. An interval's bins are
        represented by their middles.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.

    Notes
    -----
    **Privacy.** The upper end is reported with probability ``T_x / 2^64``. The integers T_x rise
    evenly from ``2^64 - T`` at the first bin to T at the last. T is the largest integer for which
    ``T / (2^64 - T)`` is at most a rational lower bound of ``e^epsilon``. This is the worst-case
    likelihood ratio of both reports. :meth:`certificate` states it. The tests check it on the table
    of all ratios, and T + 1 fails them.

    **Accuracy.** The mean is unbiased. With values v in [-1, 1] one report has variance
    ``((e^epsilon + 1) / (e^epsilon - 1))^2 - v^2``. An interval's values are first moved to the
    middle of their bin.

    **Cost.** A report takes 1 byte. Randomizing or tallying one takes O(1) time.

    The method is that of [1]_, as section 2.2 of [2]_ describes it. Unlike there, it works on a
    grid. The range [-1, 1] runs from the first grid point to the last.

    References
    ----------
    .. [1] J. C. Duchi, M. I. Jordan, M. J. Wainwright, "Minimax optimal procedures for locally
       private estimation", Journal of the American Statistical Association 113(521), 2018.
       doi:10.1080/01621459.2017.1389735
    .. [2] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    Examples
    --------
    >>> import lapwing as lw
    >>> age = lw.papers.baselines.StochasticRounding(lw.Integers(0, 100, outside="clip"), epsilon=2)
    >>> reports = age.randomize([20] * 50_000 + [60] * 50_000, rng=lw.seeded(1))
    >>> mean = age.mean(age.tally(reports))
    >>> round(mean.value, 1), round(mean.deviation, 2)
    (39.9, 0.21)
    """

    domain: Annotated[Interval | Integers, domain_of(None, grid_points, most=LARGEST_GRID)]

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Interval | Integers, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "stochastic-rounding"

    _near: ClassVar[int] = 1
    _far: ClassVar[int] = 1

    def _upper_threshold(self, point: int) -> int:
        """Return T_x of an input: the upper end is reported with probability T_x / 2^64."""
        lowest = WORD - self._threshold
        return lowest + (self._threshold - lowest) * point // (self._points - 1)

    @property
    def _thresholds(self) -> dict[str, int]:
        """T_x of the first and of the last symbol. The others lie evenly between, rounded down."""
        return {"first": WORD - self._threshold, "last": self._threshold}

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"points": self._points, "outputs": 2}

    @cached_property
    def _layout(self) -> CodeReports:
        return CodeReports(2)

    @cached_property
    def _upper(self) -> NDArray[np.uint64]:
        return np.array(
            [self._upper_threshold(point) for point in range(self._points)], dtype=np.uint64
        )

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one block with two outputs."""
        block = Block(_TwoRows(self._chances), Multinomial(self._draw))
        return Channel(self.domain, [block], self.fingerprint, self.guarantee)

    @cached_property
    def _chances(self) -> Vector:
        chances: Vector = self._upper.astype(np.float64) / float(WORD)
        return chances

    def _draw(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        high = int(rng.binomial(people, self._chances).sum())
        return np.array([int(people.sum()) - high, high])

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        def encode(some: NDArray[np.int64]) -> NDArray[np.int64]:
            return (source.words(some.size) < self._upper[some]).astype(np.int64)

        return self._layout.make(points, encode)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one input.

        It uses one word. The report is the upper end if the word is below T_x.
        """
        check_symbol(value, self._points, what="an input")
        return self._layout.report(int(next(words) < self._upper_threshold(value)))

    @inherits(Piecewise.mean)
    def mean(self, tally: CountTally) -> MeanEstimate:
        """Return the unbiased mean of the reported values."""
        first, step = grid_points(self.domain)
        center = first + step * (self._points - 1) / 2
        # A report stands for a point beyond its end, by what the noise shrinks the mean.
        reach = step * (self._points - 1) / 2 / float(Fraction(2 * self._threshold - WORD, WORD))
        counts = own_counts(tally, self.fingerprint)
        return mean_of(counts, np.array([center - reach, center + reach]), tally.standing)


class _TwoRows(Operator):
    """``1 - upper`` above `upper`: a report with two outputs. Shape [2, inputs]."""

    def __init__(self, upper: Vector) -> None:
        super().__init__((2, upper.size))
        self.upper = upper

    def _matmat(self, x: Vector) -> Vector:
        high = self.upper @ x
        return np.stack([x.sum(axis=0) - high, high])

    def _rmatmat(self, r: Vector) -> Vector:
        product: Vector = np.multiply.outer(self.upper, r[1] - r[0]) + r[0]
        return product


MeanRandomizer = StochasticRounding | Piecewise


@dataclass(frozen=True)
class SquaredDeviation(Declared):
    """Question of the second round: the squared deviation of a value from the mean.

    Its range is public, because it follows from the domain and the mean that was sent back.

    domain: Domain of the first round.
    center: Mean that was sent back, in the unit of the domain. It is moved to the nearest point of
        the domain.
    bins: Bins of the grid of squared deviations. Rounding to the middle of a bin moves the variance
        by at most half a bin. Default: 4096.

    Examples
    --------
    >>> question = SquaredDeviation(Integers(0, 10), 4.0)
    >>> question.grid.high, question.of([4, 10]).tolist()
    (36.0, [0.0, 36.0])
    """

    domain: Interval | Integers
    center: float
    bins: AtLeastOne = 4096

    def _settle(self) -> None:
        """Check the domain and move the center into it."""
        first, step = grid_points(self.domain)
        last = first + step * (self.domain.size - 1)
        object.__setattr__(self, "center", min(max(self.center, first), last))

    @property
    def grid(self) -> Interval:
        """The domain of the second round: from 0 to the largest squared deviation there can be."""
        first, step = grid_points(self.domain)
        last = first + step * (self.domain.size - 1)
        largest = max(self.center - first, last - self.center) ** 2
        return Interval(0.0, largest, bins=self.bins, outside="clip")

    def of(self, values: Values) -> NDArray[np.float64]:
        """Return the squared deviation of each value, after it was put on the domain's grid."""
        first, step = grid_points(self.domain)
        points = first + step * self.domain.index(values).astype(np.float64)
        return (points - self.center) ** 2


def mean_and_variance(
    values: Values, first: MeanRandomizer, *, rng: RandomSource | None = None
) -> tuple[MeanEstimate, MeanEstimate]:
    """Run both rounds in one process and return the mean and the variance.

    A random half of the people reports the value. Their mean is sent back, and everybody else
    reports the squared deviation from it. Each person reports once, so each spends epsilon once.

    values: Values of the first randomizer's domain, at least 4.
    first: Randomizer of the first round. The second round uses the same kind and epsilon.
    rng: Source of random numbers. Default: the secure source of the operating system.

    **Accuracy.** The mean has half of the reports. The variance is unbiased up to two terms. These
    are the squared error of the mean that was sent back, and half a bin of the second grid.

    The method is that of section 6.3 of [1]_. The text leaves open how squared deviations are
    brought into the range of the mechanism. Here the public bounds of :class:`SquaredDeviation` do
    it.

    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    """
    source = source_of(rng)
    column = np.asarray(values)
    if column.ndim != 1 or column.size < 4:
        raise ArgumentError(
            f"two rounds need a column of at least 4 values, got shape {column.shape}"
        )
    order = np.argsort(source.words(column.size), kind="stable")
    asked, later = column[order[: column.size // 2]], column[order[column.size // 2 :]]
    mean = first.mean(first.tally(first.randomize(asked, rng=source)))
    question = SquaredDeviation(first.domain, mean.value)
    make: Callable[..., MeanRandomizer] = type(first)
    second = make(question.grid, first.epsilon)
    variance = second.mean(second.tally(second.randomize(question.of(later), rng=source)))
    return mean, variance
