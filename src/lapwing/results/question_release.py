"""Release of answers to questions: noisy numbers for each question, with a share of the budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import Declared, From, Later
from lapwing.documents import Stored
from lapwing.errors import (
    ArgumentError,
    DomainError,
    FormatError,
    MismatchError,
    PrivacyError,
    kind_of,
)
from lapwing.linear.memoized import cached_property
from lapwing.privacy.gaussian_dp import noise_scale
from lapwing.privacy.guarantee import Guarantee, Standing, weakest_standing
from lapwing.privacy.integer_noise import Noise, calibrated
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.domain import DomainField
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.messages.exact_counts import MOST_PEOPLE
from lapwing.protocol.messages.release_identity import (
    IDENTIFIER,
    SummedRelease,
    check_digests,
    digests_of_sum,
)
from lapwing.protocol.release import LARGEST_SUM, Release
from lapwing.questions import Curve, Quantile, Question, read
from lapwing.results.asked_numbers import AskedNumbers, within
from lapwing.stored_fields import UNSAID, Coded, Exact, FromFields, StoredArray

_FINE = 2**40
"""Parts of mu and rho, and what follows from them, are multiples of 1 / _FINE, rounded down."""


def _asked(value: Any, place: str) -> Question:
    """Return a question of a document. FormatError where it is none."""
    if not isinstance(value, dict):
        raise FormatError(f"{place} must be an object, got {kind_of(value)}")
    try:
        return read(value)
    except (ArgumentError, DomainError) as error:
        raise FormatError(f"{place} is not a question: {error}") from error


AskedField = Annotated[Question, Later, Coded(lambda asked: asked.to_document(), _asked)]
"""A field that holds a question."""

DomainDocument = Annotated[
    DomainField,
    Coded(lambda domain: domain.to_document(), lambda value, place: build_domain(value)),
]


def share_of(promise: Promise, share: Fraction) -> Promise:
    """Return the privacy parameters of a question that has a share of the budget.

    Shares of epsilon and delta add, as those of rho do, and squares of mu.
    """
    if promise.epsilon is not None:
        given: dict[str, Any] = {"epsilon": promise.epsilon * share, "delta": promise.delta * share}
    elif promise.mu is not None:
        given = {"mu": Fraction(math.isqrt(math.floor(promise.mu**2 * share * _FINE**2)), _FINE)}
    else:
        assert promise.rho is not None
        given = {"rho": promise.rho * share}
    return Promise(promise.neighbors, unit=promise.unit, **given)


def gaussian_promise(promise: Promise) -> Promise:
    """Return mu for epsilon and delta, of which questions with Gaussian noise get shares."""
    assert promise.epsilon is not None
    scale = noise_scale(promise.epsilon, promise.delta, squared_sensitivity=Fraction(1))
    mu = Fraction(math.floor(_FINE / scale), _FINE)
    return Promise(promise.neighbors, mu=mu, unit=promise.unit)


def divided_promise(promise: Promise, noises: Iterable[Noise]) -> Promise:
    """Return the privacy parameters that shares divide: mu where an answer has Gaussian noise."""
    normal = any(noise.kind == "normal" for noise in noises)
    return gaussian_promise(promise) if promise.delta and normal else promise


def pure_epsilon(promise: Promise) -> Fraction:
    """Return the epsilon of a pure mechanism that keeps a guarantee.

    Epsilon-DP implies mu-GDP where ``1 / (1 + e^epsilon) >= Phi(-mu / 2)``: its trade-off function
    has two straight pieces that meet there, and that of mu-GDP is convex and below both. It implies
    ``epsilon^2 / 2`` of zero-concentrated privacy.
    """
    if promise.epsilon is not None:
        return promise.epsilon
    if promise.rho is not None:
        return Fraction(math.isqrt(math.floor(2 * promise.rho * _FINE**2)), _FINE)
    place = float(promise.mu or 0) / math.sqrt(8)
    epsilon = math.log(math.erfc(-place)) - math.log(math.erfc(place))
    return Fraction(math.floor(epsilon * (1 - 2.0**-30) * _FINE), _FINE)


@dataclass(frozen=True, eq=False)
class QuestionPart(Declared, FromFields):
    """The answer to one question, as it was released.

    question: Question of :mod:`lapwing.questions`, but for the curve.
    share: Share of the budget, above 0 and at most 1.
    noise: Noise of each number. The weights of bins for quantiles fall by its scale.
    answers: Noisy numbers of each segment: int64. Those of quantiles are three chosen bins each,
        after a noisy number of people where it is secret.
    """

    question: AskedField
    share: Exact
    noise: Noise
    answers: Annotated[NDArray[np.int64], Later, StoredArray("<i8")]

    _name: ClassVar = "an answer of a release"

    def loss(self, numbers: AskedNumbers, promise: Promise) -> PrivacyLoss:
        """Return its privacy loss in the kind of what shares divide, so that they add."""
        return part_loss(numbers, self.noise, share_of(promise, self.share))


def part_loss(numbers: AskedNumbers, noise: Noise, promise: Promise) -> PrivacyLoss:
    """Return the privacy loss of noise on the numbers of a question, for its own parameters."""
    loss, sensitivity = noise.loss(numbers.sensitivity), numbers.sensitivity
    if isinstance(numbers.question, Quantile) and promise.rho is not None:
        loss = PrivacyLoss(rho=sensitivity.squared / (2 * noise.scale**2))
    if loss.pure and loss.epsilon <= pure_epsilon(promise):
        if promise.mu is not None:
            return PrivacyLoss(mu_squared=promise.mu**2)
        if promise.rho is not None:
            return PrivacyLoss(rho=loss.epsilon**2 / 2)
    if not promise.allows(loss):
        raise PrivacyError("the noise of an answer is too small for the privacy guarantee")
    return loss


def noise_for(numbers: AskedNumbers, promise: Promise) -> Noise:
    """Return the least noise with which the numbers of a question keep a guarantee.

    Epsilon with a delta gives Laplace noise, because Gaussian noise is of a mu that is shared.
    """
    if isinstance(numbers.question, Quantile) and promise.rho is not None:
        return Noise("laplace", calibrated(promise, numbers.sensitivity, kind="normal").scale)
    if isinstance(numbers.question, Quantile) or promise.delta:
        pure = Promise(promise.neighbors, epsilon=pure_epsilon(promise), unit=promise.unit)
        return calibrated(pure, numbers.sensitivity, kind="laplace")
    return calibrated(promise, numbers.sensitivity)


@dataclass(frozen=True, eq=False, repr=False)
class QuestionRelease(SummedRelease, Declared, FromFields, Stored):
    """Release of answers to questions, which is public.

    Releases of different people are added with ``+``, except those with drawn quantiles.

    Parameters
    ----------
    domain : Domain
        The curator's domain of the values, with its bins, perhaps by segment.
    promise : Promise
        Privacy parameters of the whole release.
    parts : sequence of QuestionPart
        The answer to each question, in order.
    identifiers : sequence of str
        Random identifier of each release that was added, 32 hex digits.
    people : int or None
        Number of rows. None if it is secret.
    curve : Release or None
        The release of the whole curve, if it was requested.
    standing : {"seeded"} or None
        "seeded" if its noise came from a seed. Default: None.
    digests : sequence of str
        As in :class:`lapwing.Release`. Default: computed.
    from_curve : sequence of Quantile
        Questions for quantiles that the curve answers.

    See Also
    --------
    lapwing.release : Makes one, with `questions`.

    Notes
    -----
    **Privacy.** Each question has independent noise, for its share of the budget. The shares
    compose to the whole guarantee, which is checked when a release is loaded. Each person is in
    one of the releases that were added.

    Examples
    --------
    >>> import lapwing as lw
    >>> made = lw.release([20, 30, 40] * 500, lw.Interval(0, 100, bins=50), epsilon=1,
    ...     neighbors="replace-one", questions=["mean"])
    >>> made.release.people, str(made.release.parts[0].question)
    (1500, 'mean')
    """

    domain: DomainDocument
    promise: Promise
    parts: Sequence[QuestionPart]
    identifiers: Annotated[Sequence[str], Later]
    people: Annotated[int, From(0, MOST_PEOPLE)] | None
    curve: Release | None = field(default=None, metadata=UNSAID)
    standing: Standing | None = field(default=None, metadata=UNSAID)
    digests: Annotated[Sequence[str], Later] = field(default=(), metadata={"absent": ()})
    from_curve: Sequence[AskedField] = field(default=(), metadata={"absent": ()})

    _name: ClassVar = "a release of answers"
    _kind: ClassVar = "question-release"

    def __post_init__(self) -> None:
        """Check that everything fits, and that the noise keeps the guarantee."""
        super().__post_init__()
        object.__setattr__(self, "parts", tuple(self.parts))
        if not isinstance(self.identifiers, list | tuple):
            raise ArgumentError("identifiers", "must be a list")
        names = [*self.identifiers]
        object.__setattr__(self, "identifiers", names)
        if not all(isinstance(name, str) and IDENTIFIER.fullmatch(name) for name in names):
            raise ArgumentError("identifiers", "must be 32 lowercase hex digits each")
        if not names or len(set(names)) < len(names):
            raise MismatchError("the same release is in both, so its people would count twice")
        check_digests(self, names)
        object.__setattr__(self, "from_curve", tuple(self.from_curve))
        if not self.parts and not self.from_curve:
            raise ArgumentError("parts", "must be at least one answer")
        if (self.people is None) == self.promise.shows_people:
            raise ArgumentError("people", "must be None if their number is secret")
        if any(part.share <= 0 for part in self.parts) or sum(p.share for p in self.parts) > 1:
            raise ArgumentError("share", "must be above 0 for each answer, and at most 1 in total")
        if self.standing == "stated":
            raise ArgumentError("standing", "must be 'seeded', 'simulated' or left out")
        for part, numbers in zip(self.parts, self._numbers, strict=True):
            if part.answers.shape != (numbers.numbers * numbers.segments,):
                raise ArgumentError("answers", "must be as many as the question asks for")
            if isinstance(part.question, Quantile):
                bins = within(self.domain).left.size
                chosen = part.answers.reshape(numbers.segments, -1)[:, numbers.noises :]
                if chosen.min() < 0 or chosen.max() >= bins:
                    raise ArgumentError("answers", "must be bins of the domain")
        self._check_curve()
        for asked in self.from_curve:
            AskedNumbers(asked, self.domain, self.promise)  # refuses what the domain cannot answer
            if self.curve is None or not isinstance(asked, Quantile):
                raise ArgumentError("from_curve", "must be quantiles, of a release with the curve")
        if len({*self.questions}) < len(self.questions):
            raise ArgumentError("parts", "must not answer a question twice")
        if not self.promise.allows(self.loss):
            raise PrivacyError("the answers cost more than the stated privacy parameters")

    def _check_curve(self) -> None:
        """Raise MismatchError unless the curve is of the people of the answers."""
        if self.curve is None:
            return
        of_parts = [
            (part.promise.neighbors, part.promise.unit, part.loss) for part in self.curve.parts
        ]
        mine = (self.promise.neighbors, self.promise.unit, self.curve.parts[0].loss)
        alike = (self.curve.domain, self.curve.people) == (self.domain, self.people)
        if not alike or of_parts != [mine] * len(self.identifiers) or self.curve.groups:
            raise MismatchError(
                "the curve must have the same domain, people and neighbors as the answers, "
                "with equal noise from each site"
            )
        standings = [part.standing for part in self.curve.parts]
        if weakest_standing(self.standing, *standings) != self.standing:
            raise MismatchError("the answers must state the same verification as their curve")

    def _drawn(self) -> Iterable[tuple[Noise, NDArray[np.int64]]]:
        alone = len(self.identifiers) == 1
        return [(part.noise, part.answers) for part in self.parts] if alone else []

    def __repr__(self) -> str:
        """Return one line."""
        asked = ", ".join(map(str, self.questions))
        return f"<QuestionRelease of {asked}, {self.guarantee}>"

    def __eq__(self, other: object) -> bool:
        """Return whether two releases say the same."""
        return isinstance(other, QuestionRelease) and self.to_document() == other.to_document()

    def __hash__(self) -> int:
        """Return a number that is equal for equal releases."""
        return hash(tuple(self.identifiers))

    @property
    def questions(self) -> list[Question]:
        """The questions that were asked, the curve last."""
        more: list[Question] = [] if self.curve is None else [Curve()]
        return [*(part.question for part in self.parts), *self.from_curve, *more]

    @cached_property
    def _numbers(self) -> list[AskedNumbers]:
        return [AskedNumbers(part.question, self.domain, self.promise) for part in self.parts]

    @cached_property
    def loss(self) -> PrivacyLoss:
        """Privacy loss of each person."""
        shared = divided_promise(self.promise, (part.noise for part in self.parts))
        losses = [
            part.loss(numbers, shared)
            for part, numbers in zip(self.parts, self._numbers, strict=True)
        ]
        curve = [] if self.curve is None else [self.curve.parts[0].loss]
        return sum([*losses, *curve], PrivacyLoss())

    @property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of each person."""
        return self.promise.guarantee(self.loss).marked(self.standing)

    def __add__(self, other: QuestionRelease) -> QuestionRelease:
        """Return the release of the people of both, who must be different."""
        if not isinstance(other, QuestionRelease):
            return NotImplemented
        for part in self.parts:
            if isinstance(each := part.question, Quantile):
                raise MismatchError(
                    f"'{each}' cannot be added: each release chose a bin, and two chosen bins "
                    "do not determine the bin for everyone. Ask for the curve, whose releases "
                    "can be added"
                )
        of_all = ("domain", "promise", "from_curve")
        alike = [getattr(self, name) == getattr(other, name) for name in of_all]
        kept = ("question", "share", "noise")
        ours, theirs = (
            [[getattr(part, name) for name in kept] for part in each.parts]
            for each in (self, other)
        )
        if not all(alike) or ours != theirs:
            raise MismatchError(
                "releases of answers can be added only when their domain, privacy parameters, "
                "questions and shares are equal. Agree on them before you release"
            )
        digests = digests_of_sum(self, other)
        parts = []
        for one, two in zip(self.parts, other.parts, strict=True):
            if np.abs(one.answers.astype(float) + two.answers).max() >= LARGEST_SUM:
                raise MismatchError("these answers are too large to be added")
            parts.append(replace(one, answers=one.answers + two.answers))
        both = None if self.curve is None or other.curve is None else self.curve + other.curve
        if (both is None) != (self.curve is None and other.curve is None):
            raise MismatchError("one of the releases has the curve, but the other does not")
        return QuestionRelease(
            self.domain,
            self.promise,
            parts,
            [*self.identifiers, *other.identifiers],
            None if self.people is None else self.people + (other.people or 0),
            both,
            weakest_standing(self.standing, other.standing),
            digests,
            self.from_curve,
        )
