"""Adaptive quantiles: always ask for the share below the middle of the largest gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, MismatchError, PrivacyError
from lapwing.linear.operators.sums import PrefixCounts
from lapwing.mechanisms.linear_mechanism import check_noise, check_part, part_of
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.privacy.integer_noise import Kind, Noise, Sensitivity, calibrated
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.protocol.domains.domain import Domain, check_no_overflow, check_ordered
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism, Release

MOST_STEPS = 1000


def next_place(places: list[int], heights: list[float], *, guarded: bool = True) -> int | None:
    """Return the middle of the gap to ask about, or None when none can be split.

    Parameters
    ----------
    places : list of int
        Increasing, in symbols; at least two.
    heights : list of float
        The distribution function there, as far as it is known; sorted.
    guarded : bool
        True: a gap of one symbol is not split. False: the method as published, which halves an
        atom without end; here it asks for the upper end of its symbol again and again.

    Notes
    -----
    The largest gap in height wins, the first of equals.
    """
    least = 2 if guarded else 1
    best, chosen = -1.0, None
    for i in range(len(places) - 1):
        gap = heights[i + 1] - heights[i]
        if places[i + 1] - places[i] >= least and gap > best:
            best, chosen = gap, (places[i] + places[i + 1] + 2 - least) // 2
    return chosen


def question(
    asked: list[int], answers: list[int], *, held: int, people: int, guarded: bool = True
) -> int | None:
    """Return the place to ask about next, or None when every gap is a symbol.

    Parameters
    ----------
    asked : list of int
        Places asked about so far.
    answers : list of int
        The noisy numbers of rows below them.
    held : int
        Present symbols.
    people : int
    guarded : bool
        See :func:`next_place`.

    Notes
    -----
    Noise may put shares out of order: they are clipped and sorted against the places.
    """
    heights = sorted(min(max(answer / people, 0.0), 1.0) for answer in answers)
    return next_place([0, *sorted(asked), held], [0.0, *heights, 1.0], guarded=guarded)


@dataclass(frozen=True)
class AdaptiveQuantiles(Mechanism):
    """Adaptive quantiles of the empirical CDF (Tao and Sarwate, 2026).

    Each step bisects the largest gap of the distribution function.

    Parameters
    ----------
    steps : int
        Questions, in 1..1000.
    noise : {"normal", "laplace"}, optional
        "laplace" is the basic composition of the paper, whose noise grows with the steps;
        "normal" grows with their root, and is less from 8 steps on. Default: the lesser.
    guarded : bool
        False: as published, bisecting inside an atom without end.

    Notes
    -----
    **Privacy.** Every question is the number of rows below a place that depends on earlier noisy
    answers only. One row changes each answer by at most one, so `steps` adaptive answers cost what
    one answer of squared sensitivity `steps` does (Gaussian), or `steps` times one (Laplace).

    **Accuracy.** Needs the number of people to be public. Prefix sums are 1.7 to 14 times closer in
    Kolmogorov-Smirnov distance; kept for comparison.

    **Cost.** As many numbers as steps, which are asked in order: sites need a round of messages a
    step (:func:`quantiles_of_sites`).

    The method is that of [1]_, section II-B2. It differs in four points: one count a step instead
    of two, clipping before sorting, no bisection inside a symbol, and Gaussian composition.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional Approximation Methods for Differentially Private
       Distribution Estimation", 2026. arXiv:2501.06620v2.
    """

    steps: int = 80
    noise: Kind | None = None
    guarded: bool = True

    name: ClassVar[str] = "adaptive-quantiles"

    def __post_init__(self) -> None:
        """Check the knobs."""
        check_whole_field(self, "steps", low=1, high=MOST_STEPS)
        check_noise(self.noise)

    @property
    def _sensitivity(self) -> Sensitivity:
        return Sensitivity(self.steps, self.steps)

    def check(self, domain: Domain) -> None:
        """Raise ArgumentError unless there are at least two symbols."""
        check_ordered(domain, name=self.name)
        check_no_overflow(domain, name=self.name)
        if domain.left.size < 2:
            raise ArgumentError("adaptive quantiles need a domain of at least 2 symbols")

    def noise_of(self, promise: Promise) -> tuple[Noise, Sensitivity]:
        """Return the noise of every answer and what all answers together must hide."""
        if not promise.shows_people:
            raise PrivacyError(
                "adaptive quantiles divide by the number of people, so it must be public: use "
                "neighbors 'replace-one' without a unit, or a linear mechanism"
            )
        return calibrated(promise, self._sensitivity, kind=self.noise), self._sensitivity

    def loss(self, domain: Domain, promise: Promise) -> PrivacyLoss:
        """Return what a release will cost, before anything is drawn."""
        self.check(domain)
        noise, sensitivity = self.noise_of(promise)
        return noise.loss(sensitivity)

    def _draw(
        self, summary: ExactCounts, promise: Promise, source: RandomSource, identifier: str | None
    ) -> Release:
        """Return the release; it has fewer answers where all gaps are symbols."""
        self.check(summary.domain)
        noise, sensitivity = self.noise_of(promise)
        people = max(1, summary.people)
        part = part_of(
            noise, promise, sensitivity, summary.people, source=source, identifier=identifier
        )
        drawn = noise.draw(self.steps, source)
        held = summary.domain.left.size
        # Missing rows count at the upper end.
        below = np.concatenate([[0], np.cumsum(summary.counts[:held])])
        answers = noisy_answers(below, drawn, people=people, guarded=self.guarded)
        return Release(self, summary.domain, np.array(answers, dtype=np.int64), [part])

    def verify(self, release: Release) -> None:
        """Raise PrivacyError unless the noise of a release keeps its promise."""
        for part in release.parts:
            check_part(part, part.noise.loss(self._sensitivity))
        if release.answers.size > self.steps:
            raise PrivacyError("this release has more answers than were paid for")

    def places(self, release: Release) -> list[int]:
        """Return the places that were asked about: they follow from the answers alone."""
        asked: list[int] = []
        answers: list[int] = release.answers.tolist()
        for number in range(len(answers)):
            place = question(
                asked,
                answers[:number],
                held=release.domain.left.size,
                people=release.total,
                guarded=self.guarded,
            )
            if place is None:
                raise MismatchError("this release holds more answers than there were questions")
            asked.append(place)
        return asked

    def _operator_for(self, release: Release) -> PrefixCounts:
        return PrefixCounts(self.places(release), release.domain.size)


def noisy_answers(
    below: NDArray[np.int64], drawn: NDArray[np.int64], *, people: int, guarded: bool = True
) -> list[int]:
    """Return the answers in the order of the questions that they lead to.

    Parameters
    ----------
    below : numpy.ndarray
        int64 [symbols + 1]: exact numbers of rows before each place.
    drawn : numpy.ndarray
        int64 [steps]: noise; zeros give the method without privacy, for reference curves.
    people : int
    guarded : bool
        See :func:`next_place`.
    """
    answers: list[int] = []
    asked: list[int] = []
    for noise in drawn.tolist():
        place = question(asked, answers, held=below.size - 1, people=people, guarded=guarded)
        if place is None:
            break
        asked.append(place)
        answers.append(int(below[place]) + noise)
    return answers
