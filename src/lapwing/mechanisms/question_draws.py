"""The exact draws of a release of answers: noise on whole numbers, and bins for quantiles.

No floating-point number takes part in a draw. How far ranks move outward is computed from the
public number of bins, and rounded up to a whole number first. Noise is drawn before the counts are
looked at.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError, MismatchError
from lapwing.linear.arrays import cached_property
from lapwing.mechanisms.quantile_draws import QuantileDraws
from lapwing.privacy.exact_numbers import exact_number
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
    AskedNumbers,
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
