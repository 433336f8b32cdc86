"""Stochastic rounding: a report says one of two ends; for the mean of an attribute, nothing else.

A square wave or a mixture estimates the mean about as well together with the whole distribution;
this is here to be compared with. For the variance see
:mod:`lapwing.randomizers.numerical.two_rounds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import DomainError, PrivacyError
from lapwing.linear.arrays import Values, Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import Operator
from lapwing.privacy.exact_numbers import ExactNumber, exact_epsilon
from lapwing.privacy.sampling.randomness import WORD, RandomSource, source_of
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.channels.laws import Multinomial
from lapwing.protocol.domains.domain import require_domain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Counted, check_symbol, derived_values
from lapwing.randomizers.code_reports import CodeReports
from lapwing.randomizers.near_and_far import near_certificate, near_threshold
from lapwing.randomizers.numerical.mean_estimate import (
    MeanEstimate,
    grid_points,
    mean_of,
    own_counts,
)

LARGEST_GRID = 2**20
"""Most symbols of a stochastic rounding, each with its own threshold."""


@dataclass(frozen=True)
class StochasticRounding(Counted):
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
    1 byte per report; O(1) to randomize and tally one.

    Source: Duchi, Jordan and Wainwright 2018; Li et al. 2020, section 2.2. Differs: on a grid;
    the text's range [-1, 1] runs from the first grid point to the last.

    Examples
    --------
    >>> from lapwing.privacy.sampling.randomness import seeded
    >>> age = StochasticRounding(Integers(0, 100), 2)
    >>> mean = age.mean(age.tally(age.randomize([20] * 50_000 + [60] * 50_000, rng=seeded(1))))
    >>> round(mean.value, 2), round(mean.deviation, 2)
    (39.9, 0.21)
    """

    domain: Interval | Integers
    epsilon: Fraction

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Interval | Integers, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "stochastic-rounding"

    def __post_init__(self) -> None:
        """Make epsilon exact and check the domain."""
        require_domain(self.domain)
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

    near: ClassVar[int] = 1
    far: ClassVar[int] = 1

    @cached_property
    def threshold(self) -> int:
        """T: a report is near with probability T / 2^64."""
        return near_threshold(self)

    certificate = near_certificate

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
        return derived_values(self, points=self.points, outputs=self.outputs)

    @property
    def layout(self) -> CodeReports:
        """How an output is packed, checked and counted."""
        return CodeReports(self.outputs)

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

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value."""
        source = source_of(rng)
        points = self.domain.index(values)

        def encode(part: NDArray[np.int64]) -> NDArray[np.int64]:
            return (source.words(part.size) < self._upper[part]).astype(np.int64)

        return self.layout.make(points, encode, self.fingerprint)

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
        check_symbol(value, self.points, what="an input")
        return self.layout.one(int(next(words) < self.upper(value)))

    def mean(self, tally: CountTally) -> MeanEstimate:
        """Return the unbiased mean of the values behind a tally.

        Raises
        ------
        MismatchError
            When another randomizer made it.
        TallyError
            When it holds fewer than 2 reports.
        """
        first, step = grid_points(self.domain)
        center = first + step * (self.points - 1) / 2
        # A report stands for a point beyond its end, by what the noise shrinks the mean.
        reach = step * (self.points - 1) / 2 / float(Fraction(2 * self.threshold - WORD, WORD))
        counts = own_counts(tally, self.fingerprint)
        return mean_of(counts, np.array([center - reach, center + reach]))


class _TwoRows(Operator):
    """``1 - upper`` above `upper`: the law of a report with two outputs; shape [2, inputs]."""

    def __init__(self, upper: Vector) -> None:
        super().__init__((2, upper.size))
        self.upper = upper

    def _matmat(self, x: Vector) -> Vector:
        high = self.upper @ x
        return np.stack([x.sum(axis=0) - high, high])

    def _rmatmat(self, r: Vector) -> Vector:
        product: Vector = np.multiply.outer(self.upper, r[1] - r[0]) + r[0]
        return product
