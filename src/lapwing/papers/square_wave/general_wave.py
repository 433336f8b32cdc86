"""Waves of any shape: a report is likely a point near the value."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.declared import Share
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.banded import Circulant, SlidingTable
from lapwing.privacy.exact_numbers import ExactNumber, exponential_bounds
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import WORD, RandomSource, scalar_below, uniform_below
from lapwing.protocol.channels.channel import Block, Channel, Multinomial
from lapwing.protocol.domains.domain import bins_alone, domain_of
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer, check_symbol
from lapwing.randomizers.numerical.square_wave import half_window, mutual_information_width
from lapwing.randomizers.two_level import CodeReports
from lapwing.randomizers.window_counts import spread_evenly

LARGEST_WINDOW = 2**16
"""Most points in a window: each has an integer in the survey document."""

_PEOPLE_AT_ONCE = 2**22
"""Simulated people who are drawn one by one at a time."""


@dataclass(frozen=True)
class GeneralWave(Randomizer[CountTally]):
    """General wave mechanism, for example a trapezoid or a triangle (Li et al., 2020).

    The value is rounded to a grid. A report is a point of a longer grid, drawn by a public table.
    The table has an integer for every offset in a window around the value. The report lies at
    offset o with probability ``table[o] / 2^64``, and otherwise uniformly outside the window. The
    output grid is longer by half a window at each end. On a circular interval the window wraps and
    there are no ends.

    Parameters
    ----------
    domain : Interval or Integers
        Domain of the values, with at least 2 bins.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    shape : "trapezoid" or sequence of float
        Shape of the wave. A sequence gives the height at every offset of the window: an odd number
        of heights in [0, 1], the largest being 1. Height 0 is as likely as a point outside, and
        height 1 is ``e^epsilon`` times as likely. Default: "trapezoid".
    ratio : float, optional
        Top side of the trapezoid divided by its bottom side, in [0, 1]. 0 is a triangle, and 1 is
        the square wave. Only for a trapezoid, which needs it.
    width : float, optional
        Half of the trapezoid's bottom side as a fraction of the domain's length, in [0, 1].
        Default: the width of the square wave. For a trapezoid only.

    See Also
    --------
    lapwing.SquareWave : The shape that separates values best.

    Notes
    -----
    **Privacy.** Every probability is an integer over 2^64, so the worst-case likelihood ratio is a
    fraction. The table is computed from a rational lower bound of ``e^epsilon`` and rounded down.
    Then its largest entries are lowered until none exceeds a limit. The limit is that bound times
    the smallest entry, or times the probability of an outside point. :meth:`certificate` states the
    ratio. The tests check it on the table of all ratios, and an entry one above its limit fails
    them.

    **Accuracy.** The reports of two values at distance D have Wasserstein distance
    :attr:`separation` times D. On a fine grid it is ``1 - (2 b + 1) q`` with
    ``q = 1 / (1 + 2 b + (e^epsilon - 1) b (1 + ratio))``. It grows with the ratio, so the square
    wave is the best shape. Use another shape only for comparison.

    **Cost.** A report takes ``ceil(log2(outputs) / 8)`` bytes. Randomizing a value takes a search
    in the table. A product with the channel takes O(outputs log outputs). Simulation takes
    O(points * window) or O(people), whichever is less.

    With ``h = floor(b points)`` the window has ``2 h + 1`` points, and the trapezoid's bottom side
    spans their cells. Its height is taken at their centers, so the peak of a triangle is 1. With
    ratio 1 this is :class:`lapwing.SquareWave` of the same width, even on a circle.

    The method is that of [1]_, definition 5.1, theorem 5.2 and section 6.4. Lemma 5.5 there prints
    the total as ``1 + 2 b e^epsilon q``. It is ``q + 2 b e^epsilon q``, as definition 5.1 has it.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 100, bins=50, outside="clip")
    >>> triangle = lw.papers.square_wave.GeneralWave(domain, epsilon=2, ratio=0)
    >>> triangle.report_width, triangle.certificate().holds
    (1, True)
    >>> ages = list(range(20, 60)) * 500  # half of them below 40
    >>> reports = triangle.randomize(ages, rng=lw.seeded(1))
    >>> result = lw.SpectralPrior().decode(triangle.channel, triangle.tally(reports))
    >>> round(float(result.cdf(40)), 1)
    0.5
    """

    domain: Annotated[Interval | Integers, domain_of("numbers", bins_alone)]
    _: KW_ONLY
    shape: Literal["trapezoid"] | Sequence[Share] = "trapezoid"
    ratio: Share | None = None
    width: Share | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Interval | Integers,
            epsilon: ExactNumber,
            *,
            shape: Literal["trapezoid"] | Sequence[float] = "trapezoid",
            ratio: float | None = None,
            width: float | None = None,
        ) -> None: ...

    name: ClassVar[str] = "general-wave"
    decoder: ClassVar[str] = "spectral-prior"

    def __post_init__(self) -> None:
        """Check the fields, the shape and the sizes."""
        super().__post_init__()
        if self.shape == "trapezoid":
            if self.ratio is None:
                raise ArgumentError(
                    "a trapezoid needs the ratio of its top side to its bottom side, in [0, "
                    "1]: 0 is a triangle, 1 is the square wave"
                )
        else:
            if self.ratio is not None or self.width is not None:
                raise ArgumentError(
                    "ratio and width describe a trapezoid. Leave them out if you give heights"
                )
            if len(self.shape) % 2 == 0 or max(self.shape) != 1:
                raise ArgumentError(
                    "a wave must have an odd number of heights, the largest of them 1, got "
                    f"{len(self.shape)} heights"
                )
        if self._window > LARGEST_WINDOW or self._far < 1:
            raise DomainError(
                f"the window must have at most {LARGEST_WINDOW} points and leave some output out: "
                f"got {self._window} of {self._outputs}. Choose a smaller width or fewer bins"
            )

    @property
    def half_width(self) -> float:
        """Half of the bottom side: `width`, or that of the square wave if it was left out.

        For a list of heights, half of its length as a fraction of the domain's.
        """
        if self.shape != "trapezoid":
            return len(self.shape) / 2 / self._points
        if self.width is not None:
            return self.width
        return mutual_information_width(self.epsilon, circular=self.domain.circular)

    @cached_property
    def _half_window(self) -> int:
        """Points of the window on either side of its center."""
        if self.shape != "trapezoid":
            return len(self.shape) // 2
        # A square with zeros in its spectrum is replaced as by SquareWave. A triangle's spectrum is
        # positive (the mean of two Fejer kernels of neighboring order); other trapezoids have
        # exact zeros by accident only.
        circular = self.domain.circular
        return half_window(
            self._points, self.half_width, circular=circular, coprime=self.ratio == 1
        )

    @cached_property
    def _window(self) -> int:
        """Points of the window."""
        return 2 * self._half_window + 1

    @cached_property
    def _outputs(self) -> int:
        """Points of the output grid."""
        return self._points if self.domain.circular else self._points + 2 * self._half_window

    @cached_property
    def _far(self) -> int:
        """Outputs outside the window of a given value."""
        return self._outputs - self._window

    @cached_property
    def _table(self) -> tuple[int, ...]:
        """Probability of every offset of the window, times 2^64: integers [window]."""
        heights, unit = self._heights
        bound = exponential_bounds(self.epsilon)[0]
        # An outside point has weight 1, height t the weight 1 + (bound - 1) t; all in integers.
        base = bound.denominator * unit
        slope = bound.numerator - bound.denominator
        total = base * self._outputs + slope * sum(heights)
        table = [WORD * (base + slope * height) // total for height in heights]
        # Rounding down raised the outside points and may have lowered the smallest entry.
        least = min(Fraction(WORD - sum(table), self._far), Fraction(min(table)))
        most = int(bound * least)
        return tuple(min(entry, most) for entry in table)

    @cached_property
    def _heights(self) -> tuple[list[int], int]:
        """Heights of the wave at every offset as whole parts of a common unit."""
        if self.shape != "trapezoid":
            exact = [Fraction(str(height)) for height in self.shape]
            unit = math.lcm(*(height.denominator for height in exact))
            return [int(height * unit) for height in exact], unit
        half, window = self._half_window, self._window
        ratio = Fraction(str(self.ratio))
        if ratio == 1:
            return [1] * window, 1
        # (B - |o|) / (B (1 - ratio)) with B = window / 2, at most 1.
        unit = window * (ratio.denominator - ratio.numerator)
        slopes = [ratio.denominator * (window - 2 * abs(o)) for o in range(-half, half + 1)]
        return [min(height, unit) for height in slopes], unit

    @cached_property
    def _limits(self) -> tuple[int, ...]:
        """Cumulative sums of the table: a word below the first such limit gives its offset."""
        return tuple(accumulate(self._table))

    @cached_property
    def _limit_words(self) -> NDArray[np.uint64]:
        return np.array(self._limits, dtype=np.uint64)

    @property
    def _thresholds(self) -> dict[str, int]:
        """The limits by the number of their offset."""
        return {str(offset): limit for offset, limit in enumerate(self._limits)}

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"points": self._points, "window": self._window, "outputs": self._outputs}

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio."""
        from scipy.ndimage import maximum_filter1d, minimum_filter1d

        # Probabilities times 2^64 * far, and the order of the different ones.
        far = self._far
        exact = [entry * far for entry in self._table]
        outside = WORD - sum(self._table)
        levels = sorted({*exact, outside})
        rank = {level: number for number, level in enumerate(levels)}
        ranks = np.array([rank[level] for level in exact])
        if self.domain.circular:
            # Every output is at every offset from some value.
            return Certificate(self.epsilon, Fraction(levels[-1], levels[0]))
        # Output y is at the offsets y - points + 1 .. y from the values.
        seen = np.pad(ranks, self._points - 1, constant_values=rank[outside])
        shift = -(self._points // 2)
        most = maximum_filter1d(seen, self._points, origin=shift)[: self._outputs]
        least = minimum_filter1d(seen, self._points, origin=shift)[: self._outputs]
        high = low = 1
        for above, below in np.unique(np.column_stack([most, least]), axis=0).tolist():
            # Compared by products of whole numbers: as fractions they would take seconds.
            if levels[above] * low > high * levels[below]:
                high, low = levels[above], levels[below]
        return Certificate(self.epsilon, Fraction(high, low))

    @cached_property
    def _layout(self) -> CodeReports:
        return CodeReports(self._outputs)

    @cached_property
    def _probabilities(self) -> tuple[NDArray[np.float64], float]:
        """Probabilities of the offsets, float64 [window], and of one outside point."""
        inside = np.array([float(Fraction(entry, WORD)) for entry in self._table])
        return inside, float(Fraction(WORD - sum(self._table), WORD * self._far))

    @property
    def separation(self) -> float:
        """Wasserstein distance between the reports of two values, per unit distance of the values.

        It is the mass of the wave above its floor, which moves with the value. On a circle it is
        only that mass, because mass may move either way around.
        """
        return float(1 - Fraction(self._outputs * (WORD - sum(self._table)), WORD * self._far))

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one multinomial block."""
        inside, outside = self._probabilities
        operator: LinearOperator
        if self.domain.circular:
            kernel = np.full(self._points, outside)
            kernel[np.arange(-self._half_window, self._half_window + 1)] = inside
            operator = Circulant(kernel)
        else:
            operator = SlidingTable(self._points, table=inside, outside=outside)
        block = Block(operator, Multinomial(self._draw))
        return Channel(self.domain, [block], self.fingerprint, self.guarantee)

    def _draw(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        # The law is a mixture: uniform over all outputs with probability outputs * outside, else
        # by what the table holds above that floor.
        inside, outside = self._probabilities
        anywhere = rng.binomial(people, min(outside * self._outputs, 1.0))
        raised = np.maximum(inside - outside, 0.0)
        if self.domain.circular:
            starts = np.roll(people - anywhere, -self._half_window)
            line = _spread(starts, raised / raised.sum(), rng)
            counts = line[: self._points].copy()
            counts[: self._window - 1] += line[self._points :]
        else:
            counts = _spread(people - anywhere, raised / raised.sum(), rng)
        return counts + spread_evenly(int(anywhere.sum()), self._outputs, rng)

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        def encode(some: NDArray[np.int64]) -> NDArray[np.int64]:
            slot = np.searchsorted(self._limit_words, source.words(some.size), side="right")
            outside = slot == self._window
            count = int(outside.sum())
            slot[outside] = uniform_below(source, bounds=self._far, count=count)
            return self._locate(some, outside, slot)

        return self._layout.make(points, encode)

    def _locate(
        self, point: NDArray[np.int64], outside: NDArray[np.bool_], slot: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return point `slot` of the window of an input, or of what the window leaves out."""
        if self.domain.circular:
            half = self._half_window
            return (point + np.where(outside, slot + half + 1, slot - half)) % self._points
        return np.where(outside, slot + self._window * (slot >= point), point + slot)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one input.

        The first limit above the first word gives the offset in the window. A word above all limits
        means a point outside. Then :func:`lapwing.privacy.sampling.randomness.scalar_below` draws
        the point from the next word.
        """
        check_symbol(value, self._points, what="an input")
        slot = bisect_right(self._limits, next(words))
        outside = slot == self._window
        if outside:
            slot = scalar_below(words, self._far)
        code = self._locate(np.array([value]), np.array([outside]), np.array([slot]))
        return self._layout.report(int(code[0]))


def _spread(
    people: NDArray[np.int64], chances: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return how often each point is hit when person i is at i + an offset of these chances.

    At an input that has more people than there are offsets their counts are drawn together,
    elsewhere people are drawn one by one: the same joint distribution, and the less work.
    """
    counts = np.zeros(people.size + chances.size - 1, dtype=np.int64)
    many = people > chances.size
    for start in np.flatnonzero(many):
        counts[start : start + chances.size] += rng.multinomial(people[start], chances)
    (starts,) = np.nonzero(~many & (people > 0))
    batch = np.cumsum(people[starts]) // _PEOPLE_AT_ONCE
    for number in np.unique(batch):
        group = starts[batch == number]
        each = np.repeat(group, people[group])
        offsets = rng.choice(chances.size, size=each.size, p=chances)
        counts += np.bincount(each + offsets, minlength=counts.size)
    return counts
