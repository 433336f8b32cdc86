"""Three bins for each quantile in one exact draw: the ends of its interval, and the point.

The exponential mechanism [1]_ chooses the three together, as [2]_ chooses several quantiles. Its
utility is minus the number of people who would have to change until all three had their ranks. One
person moves all ranks at once, so three bins cost no more privacy than one.

.. [1] F. McSherry, K. Talwar, "Mechanism design via differential privacy", FOCS, 2007.
   doi:10.1109/FOCS.2007.66
.. [2] J. Gillenwater, M. Joseph, A. Kulesza, "Differentially private quantiles", ICML, 2021.
.. [3] M. Cesar, R. Rogers, "Bounding, concentrating, and truncating: unifying privacy loss
   composition for data analytics", ALT, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise, product
from typing import Any

import numpy as np

from lapwing.errors import PrivacyError
from lapwing.linear.arrays import cached_property, memoized
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.results.asked_numbers import STRENGTH, AskedNumbers, Counts, within

SMALLEST_WEIGHT = 64
"""Distances beyond so many scales count as this one."""

LARGEST_SCALE = 2**14

_WORDS = 10
"""Words of a uniform number: more than the sum of all weights has, by a word at least."""


@dataclass(frozen=True)
class QuantileDraws:
    """The exact draws of one question for quantiles.

    numbers: Of a question for quantiles.
    scale: Scale of its noise. A number of people has this noise.

    **Privacy.** A bin is at a distance, in whole people, above its rank or below it. The number of
    people is public or secret:

    - Public: a replaced person moves the ranks of neighboring bins by at most one, all in the same
      direction. So the largest distance above plus the largest one below changes by at most one. A
      value that becomes missing moves the rank that is asked also. Ranks are rounded up to whole
      people, so the same holds.
    - Secret: the largest distance of all, in steps of the most that one person moves one. Only
      bins in order are chosen from, which do not depend on the people.

    Weights fall with this sum by a factor of at most ``exp(1 / levels)`` a step. So probabilities
    of two neighbors differ by factors of which the largest and the smallest are at most ``exp(2 /
    levels)`` apart. `tests/mechanisms/test_quantile_draws.py` compares this with the exact
    probabilities on tiny tables. Such a draw costs ``2 / levels`` of pure epsilon, or half of the
    square of ``1 / levels`` in zero-concentrated privacy [3]_.

    **Accuracy.** Ends move outward so far that an empty part of the range next to a quantile is
    rarely chosen. This holds even if the whole range is empty.

    **Cost.** Linear in the bins and in the scale, and independent of the rows.
    """

    numbers: AskedNumbers
    scale: Fraction

    def __post_init__(self) -> None:
        """Refuse a scale at which a draw would take too long."""
        if self.levels > LARGEST_SCALE:
            raise PrivacyError(
                "this privacy budget is too small for a quantile: it would move ranks by more than "
                f"{LARGEST_SCALE:,} people. Ask for fewer numbers, or give a larger epsilon"
            )

    @property
    def levels(self) -> Fraction:
        """Steps in which weights fall by a factor of e."""
        return self.scale / STRENGTH

    @property
    def bins(self) -> int:
        """Number of bins that are chosen from."""
        return int(within(self.numbers.domain).left.size)

    @property
    def outward(self) -> int:
        """Steps by which the ranks of the two ends move outward, computed from public numbers.

        An end in an empty part of the range costs so many steps, and the other end in another empty
        part no more. They are there in up to a quarter of the square of the bins ways, against one
        with both ends in place. Where the number of people is secret, all three bins in one part
        cost no more either. They are there in order in a sixth of the cube of the bins ways,
        against as many as there are bins.
        """
        wrong = Fraction(self.bins**2, 1 + self.numbers.public)
        return math.ceil(math.log(wrong) * self.levels)

    @cached_property
    def falling(self) -> Any:
        """Weight of each distance, divided into those of all distances from it on."""
        return falling_weights(self.levels)

    def draw(self, counts: Counts, noise: Counts, source: RandomSource) -> Counts:
        """Return the answers of one segment: a noisy number of people, and three bins each.

        counts: int64 [size of the domain], rows in each bin of the domain.
        noise: int64, that of the number of people. Empty where it is public.
        """
        upto = np.concatenate([[0], np.cumsum(counts[: self.bins])])
        present = int(upto[-1])
        shown = [present + int(each) for each in noise]
        people = shown[0] if shown else int(counts.sum())
        found = [
            self._three(upto, number, step, people, source)
            for number, step in zip(self.numbers.probabilities[0], self.numbers.moved, strict=True)
        ]
        return np.array([*shown, *chain.from_iterable(found)], dtype=np.int64)

    def _three(
        self, upto: Counts, number: int, step: int, people: int, source: RandomSource
    ) -> list[int]:
        """Return the low end, the high end and the point of one quantile."""
        whole, reach = self.numbers.probabilities[1], self.outward * step
        rank = number * int(upto[-1])
        if self.numbers.public:
            rank = -(-rank // whole) * whole
        # An end whose rank is beyond the people says nothing, so the range ends there.
        open_ends = [number * people <= reach, (whole - number) * people <= reach]
        asked = [
            (place, move)
            for place, move, beyond in ((0, -reach, open_ends[0]), (1, reach, open_ends[1]))
            if not beyond
        ]
        ranks = [rank + move for _, move in (*asked, (2, 0))]
        tops, lows = self._within(whole * upto, ranks, step)
        places = [*(place for place, _ in asked), 2]
        if self.numbers.public:
            chosen = [0, self.bins - 1, 0]
            for place, each in zip(places, self._apart(tops, lows, source), strict=True):
                chosen[place] = each
            return [min(chosen), max(chosen), chosen[2]]
        starts = np.zeros((3, self.falling.size), dtype=object)
        starts[1] = self.bins - 1
        stops = starts + 1
        starts[places], stops[places] = lows, tops
        return self._in_order(starts, stops, source)

    def _within(self, upto: Counts, ranks: Sequence[int], step: int) -> tuple[Any, Any]:
        """Return the end and the start of the bins in each distance of each rank.

        upto: int64 [bins + 1], people below each edge, in units of ranks.
        """
        last = self.falling.size - 1
        above = [np.maximum(0, upto[:-1] - rank) for rank in ranks]
        below = [np.maximum(0, rank - upto[1:]) for rank in ranks]
        # How many bins are at most so far above, and how many are further below: the first ones.
        tops, lows = (
            np.array([_up_to(-(-each // step), last) for each in distances])
            for distances in (above, below)
        )
        return tops, self.bins - lows

    def _apart(self, tops: Any, lows: Any, source: RandomSource) -> list[int]:
        """Return a bin for each rank, from one draw of a distance above and one below."""
        upward = picked(self.falling * self._all_below(tops, lows), source)
        weights = np.prod(tops[:, [upward]] - lows, axis=0)
        downward = picked(self.falling * weights, source)
        ends = zip(tops[:, upward], lows[:, downward], strict=True)
        return [low + uniform_below(top - low, source) for top, low in ends]

    def _in_order(self, starts: Any, stops: Any, source: RandomSource) -> list[int]:
        """Return a low end, a high end and a point between them, from one draw of a distance."""
        distance = picked(self.falling * ordered_triples(starts, stops), source)
        (low, high, start), (low_stop, high_stop, stop) = starts[:, distance], stops[:, distance]
        points = np.arange(start, stop, dtype=object)
        lows = np.minimum(points + 1, low_stop) - low
        highs = high_stop - np.maximum(points, high)
        place = picked(lows * highs, source)
        below, above = (uniform_below(int(each[place]), source) for each in (lows, highs))
        return [low + below, high_stop - 1 - above, points[place]]

    def _all_below(self, tops: Any, lows: Any) -> Any:
        """Return the weight of all distances below for each distance above.

        The product of differences is expanded, because each of its terms is a product of one number
        for each distance above and one for each distance below.
        """
        places = range(len(tops))
        total = 0
        for kept in product((False, True), repeat=len(tops)):
            left = [place for place in places if kept[place]]
            rest = [place for place in places if place not in left]
            moment = (self.falling * np.prod(lows[left], axis=0)).sum()
            total = total + (-1) ** len(left) * moment * np.prod(tops[rest], axis=0)
        return total


def ordered_triples(starts: Any, stops: Any) -> Any:
    """Return how many three bins are in order: a low end, a point, and a high end.

    starts, stops: Of the bins of the low end, of the high end, and of the point. No bin of the
        point is below all those of the low end, or above all those of the high end.
    """
    (low, high, point), (low_stop, high_stop, point_stop) = starts, stops
    total = 0
    # Low ends are those up to the point or all of them, and so for high ends.
    for some_low, some_high in product((False, True), repeat=2):
        first, last = point, point_stop
        if some_low:
            last, lows, more = np.minimum(last, low_stop), 1 - low, 1
        else:
            first, lows, more = np.maximum(first, low_stop), low_stop - low, 0
        if some_high:
            first, highs, fewer = np.maximum(first, high), high_stop, 1
        else:
            last, highs, fewer = np.minimum(last, high), high_stop - high, 0
        last = np.maximum(first, last)
        sums, squares = (
            last * (last - 1) // 2 - first * (first - 1) // 2,
            (last - 1) * last * (2 * last - 1) // 6 - (first - 1) * first * (2 * first - 1) // 6,
        )
        total = total + lows * highs * (last - first)
        total = total + (more * highs - fewer * lows) * sums - more * fewer * squares
    return total


def _up_to(distances: Counts, last: int) -> Any:
    """Return how many distances are at most each of 0 to the last, as Python's whole numbers."""
    counted = np.bincount(np.minimum(distances, last), minlength=last + 1)
    return np.cumsum(counted).astype(object)


@memoized(most=8)
def falling_weights(levels: Fraction) -> Any:
    """Return whole numbers whose sums from each place on fall by at most ``exp(1 / levels)``.

    The last place stands for all beyond.
    """
    low, _ = exponential_bounds(1 / levels)
    sums = [2**128]
    for _ in range(math.ceil(SMALLEST_WEIGHT * levels)):
        sums.append(-(-sums[-1] * low.denominator // low.numerator))  # rounded up
    return np.array([*(one - other for one, other in pairwise(sums)), sums[-1]], dtype=object)


def picked(weights: Any, source: RandomSource) -> int:
    """Return a place with a probability that is exactly in proportion to its weight.

    weights: Python's whole numbers in an array.
    """
    upto = np.cumsum(weights)
    return int((upto <= uniform_below(upto[-1], source)).sum())


def uniform_below(bound: int, source: RandomSource) -> int:
    """Return an exactly uniform whole number below a bound, which has a word less than drawn."""
    whole = 2 ** (64 * _WORDS)
    while True:  # a second turn has a probability below 2^-64
        drawn = int.from_bytes(source.words(_WORDS).tobytes(), "little")
        if drawn < whole - whole % bound:
            return drawn % bound
