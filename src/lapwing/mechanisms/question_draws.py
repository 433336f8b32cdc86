"""The exact draws of a release of answers: noise on whole numbers, and bins for quantiles.

No floating-point number takes part in a draw. How far ranks move outward is computed from the
public number of bins, and rounded up to a whole number first. Noise is drawn before the counts are
looked at.

A quantile has three bins in one draw: the ends of its interval, and the point. The exponential
mechanism [1]_ chooses the three together, as [2]_ chooses several quantiles. Its utility is minus
the number of people who would have to change until all three had their ranks. One person moves all
ranks at once, so three bins cost no more privacy than one.

.. [1] F. McSherry, K. Talwar, "Mechanism design via differential privacy", FOCS, 2007.
   doi:10.1109/FOCS.2007.66
.. [2] J. Gillenwater, M. Joseph, A. Kulesza, "Differentially private quantiles", ICML, 2021.
.. [3] M. Cesar, R. Rogers, "Bounding, concentrating, and truncating: unifying privacy loss
   composition for data analytics", ALT, 2021.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise, product
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError, MismatchError, PrivacyError
from lapwing.linear.memoized import cached_property, memoized
from lapwing.privacy.exact_numbers import exact_number, exponential_bounds
from lapwing.privacy.guarantee import weakest_standing
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, standing_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.questions import Curve, Quantile, Question, read
from lapwing.results.asked_numbers import (
    SEGMENT_STEPS,
    STEPS,
    STRENGTH,
    AskedNumbers,
    Counts,
    counting_domain,
    symbols_in,
    within,
)
from lapwing.results.question_release import (
    QuestionPart,
    QuestionRelease,
    divided_promise,
    gaussian_promise,
    noise_for,
    part_loss,
    share_of,
)

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


CURVE_SHARE = Fraction(1, 2)
"""Share of the budget that the curve gets, unless shares are given."""


def budget_shares(
    questions: Sequence[Question], shares: Any, *, segmented: bool = False
) -> dict[Question, Fraction]:
    """Return the share of the budget that each question gets, or that the curve gets for it.

    questions: At least one, each once.
    shares: None, a list in the order of the questions, or a mapping from questions or strings.
        Without it the curve gets half, and the others the rest in equal parts.
    segmented: Whether the answers are by segment.
    returns: Without the questions of :func:`by_curve`.
    """
    if shares is None:
        read_off = by_curve(questions, shares, segmented=segmented)
        others = [one for one in questions if one != Curve() and one not in read_off]
        curve = CURVE_SHARE if read_off or Curve() in questions else Fraction(0)
        curve = curve if others else Fraction(1)
        each = {one: (1 - curve) / len(others) for one in others}
        return each | ({Curve(): curve} if curve else {})
    if isinstance(shares, Mapping):
        by_text = {str(read(one)): number for one, number in shares.items()}
        if by_text.keys() != {*map(str, questions)}:
            raise ArgumentError("shares", "must name each question that is asked, once")
        shares = [by_text[str(one)] for one in questions]
    if not isinstance(shares, Sequence) or len(shares) != len(questions):
        raise ArgumentError(
            "shares", f"must be a number for each of the {len(questions)} questions"
        )
    exact = [exact_number(number, name="a share of the budget") for number in shares]
    if min(exact) <= 0 or sum(exact) > 1:
        raise ArgumentError("shares", "must be above 0 and sum to at most 1")
    return dict(zip(questions, exact, strict=True))


def by_curve(
    questions: Sequence[Question], shares: Any, *, segmented: bool
) -> tuple[Quantile, ...]:
    """Return the questions for quantiles that the curve answers, for its share of the budget.

    Draws divide the budget by the number of quantiles, and a curve holds them all. So a draw is
    usually nearer for one quantile, and the curve for three (`benchmarks/accuracy/central`). Two,
    and one beside a curve that is asked, would also have half of the budget, so they are the
    curve's. With shares, each question has what it is given.

    segmented: By segment, quantiles are drawn, because nothing else was measured.
    """
    quantiles = [one for one in questions if isinstance(one, Quantile)]
    several = sum(len(one.probabilities) for one in quantiles) > 1 or Curve() in questions
    return tuple(quantiles) if several and shares is None and not segmented else ()


@dataclass(frozen=True)
class QuestionDraws:
    """Answers that are drawn once the counts are there: nothing is left to be refused.

    domain: The curator's domain with its bins, perhaps by segment.
    shares: Share of the budget of each question, without that of the curve.
    """

    domain: Domain
    promise: Promise
    shares: Mapping[Question, Fraction]

    @cached_property
    def numbers(self) -> list[tuple[AskedNumbers, Fraction, Noise]]:
        """The numbers of each question, its share of the budget, and the noise.

        With a delta all have Laplace noise, or all but quantiles Gaussian noise: what is better.
        Shares of mu lose less, so many questions get Gaussian noise.
        """
        asked = [
            (AskedNumbers(question, self.domain, self.promise), share)
            for question, share in self.shares.items()
        ]
        linear = any(not isinstance(question, Quantile) for question in self.shares)
        ways = [self.promise]
        ways += [gaussian_promise(self.promise)] if self.promise.delta and linear else []
        found = [
            [(numbers, share, noise_for(numbers, share_of(way, share))) for numbers, share in asked]
            for way in ways
        ]
        return min(found, key=lambda way: sum(math.log(noise.variance) for *_, noise in way))

    @property
    def shared(self) -> Promise:
        """The privacy parameters that shares divide, those of the curve also."""
        return divided_promise(self.promise, (noise for *_, noise in self.numbers))

    @cached_property
    def loss(self) -> PrivacyLoss:
        """Privacy loss of the answers."""
        losses = [
            part_loss(numbers, noise, share_of(self.shared, share))
            for numbers, share, noise in self.numbers
        ]
        return sum(losses, PrivacyLoss())

    @cached_property
    def counted(self) -> Domain:
        """The domain in which values are counted, with the edges that are asked."""
        steps = SEGMENT_STEPS if isinstance(self.domain, Segmented) else STEPS
        finer = counting_domain(within(self.domain), tuple(self.shares), steps=steps)
        if isinstance(self.domain, Segmented):
            return Segmented(finer, self.domain.segments)
        return finer

    def check(self, counted: Domain | None = None) -> None:
        """Raise ArgumentError where counts cannot answer a question.

        counted: Domain of the exact counts. Default: :attr:`counted`.
        """
        counted = counted or self.counted
        if counted not in (self.counted, self.domain):
            raise MismatchError("the exact counts have another domain")
        symbols_in(within(counted), within(self.domain))
        nobody = np.zeros(within(counted).size, dtype=np.int64)
        for numbers, _, noise in self.numbers:
            if isinstance(numbers.question, Quantile):
                QuantileDraws(numbers, noise.scale)
            else:
                numbers.exact(nobody, within(counted))

    def on_bins(self, summary: ExactCounts) -> ExactCounts:
        """Return exact counts in :attr:`counted` as those in the bins of the domain."""
        if summary.domain == self.domain:
            return summary
        counted, domain = within(summary.domain), within(self.domain)
        tables = summary.counts.reshape(-1, counted.size)
        bins = np.zeros((len(tables), domain.size), dtype=np.int64)
        np.add.at(bins.T, symbols_in(counted, domain), tables.T)
        return ExactCounts(self.domain, bins.ravel(), summary.unit, summary.standing)

    def draw(
        self,
        summary: ExactCounts,
        source: RandomSource,
        *,
        identifier: str | None = None,
        curve: Release | None = None,
        from_curve: Sequence[Question] = (),
    ) -> QuestionRelease:
        """Return the answers from exact counts.

        summary: Counts in the domain or in :attr:`counted`.
        curve, from_curve: As in the release.
        """
        self.check(summary.domain)
        drawn = [
            noise.draw(numbers.noises * numbers.segments, source).reshape(numbers.segments, -1)
            for numbers, _, noise in self.numbers
        ]
        counted = within(summary.domain)
        tables = summary.counts.reshape(-1, counted.size)
        bins = self.on_bins(summary).counts.reshape(len(tables), -1)
        parts = [
            QuestionPart(
                numbers.question,
                share,
                noise,
                np.concatenate(
                    [
                        QuantileDraws(numbers, noise.scale).draw(of_bins, of_segment, source)
                        if isinstance(numbers.question, Quantile)
                        else numbers.exact(table, counted) + of_segment
                        for table, of_bins, of_segment in zip(tables, bins, draws, strict=True)
                    ]
                ),
            )
            for (numbers, share, noise), draws in zip(self.numbers, drawn, strict=True)
        ]
        return QuestionRelease(
            self.domain,
            self.promise,
            parts,
            [identifier or secrets.token_hex(16)],
            summary.people if self.promise.shows_people else None,
            curve,
            weakest_standing(standing_of(source), summary.standing),
            from_curve=from_curve,
        )


def asked_draws(
    domain: Domain, promise: Promise, questions: Sequence[Question], shares: Any
) -> tuple[QuestionDraws, tuple[Quantile, ...], Promise | None]:
    """Return the draws of questions, those that the curve answers, and its privacy parameters.

    shares: As for :func:`budget_shares`.
    returns: No parameters without a curve.
    """
    segmented = isinstance(domain, Segmented)
    budget = budget_shares(questions, shares, segmented=segmented)
    from_curve = by_curve(questions, shares, segmented=segmented)
    for one in from_curve:
        AskedNumbers(one, domain, promise)  # refuses what the domain cannot answer
    whole = budget.pop(Curve(), None)
    draws = QuestionDraws(domain, promise, budget)
    return draws, from_curve, None if whole is None else share_of(draws.shared, whole)
