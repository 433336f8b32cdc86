"""Published answers to questions: a release, and the answers read from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from lapwing.decoders.releases.spectral_pursuit import LinearAnswers
from lapwing.errors import ArgumentError, PrivacyError
from lapwing.facts import html_of
from lapwing.linear.arrays import cached_property
from lapwing.mechanisms.question_draws import QuestionDraws, asked_draws
from lapwing.privacy.guarantee import Guarantee, weakest_standing
from lapwing.privacy.ledger import LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.protocol.domains.units import to_number
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism, Release
from lapwing.questions import Curve, Mean, Quantile, Question, read, read_questions
from lapwing.results.asked_numbers import AskedNumbers, counting_domain, symbols_in, within
from lapwing.results.distribution import Distribution
from lapwing.results.plotting import dots_figure
from lapwing.results.question_answers import Answer, answer_documents, question_table
from lapwing.results.question_release import QuestionRelease
from lapwing.results.released_answers import LEVEL, answer_released, part_for
from lapwing.results.uncertainty import Target
from lapwing.results.weak_parameters import warn_of_parameters
from lapwing.survey.publication import (
    PlannedRelease,
    Publication,
    decode_release,
    drawn_and_paid,
    planned_release,
)

_LONGEST_NAME = 200


@dataclass(frozen=True)
class QuestionPublication(Publication):
    """Published answers to questions: a release and the answers read from it.

    Parameters
    ----------
    release : QuestionRelease
        The release, which is public: it may be stored, sent and added.
    note : str
        How the bins were chosen if the domain had none, and otherwise empty.
    choice : Choice, optional
        How the mechanism of the curve was chosen, if the curve was requested.

    Examples
    --------
    >>> import lapwing as lw
    >>> with lw.testing.reproducible(1):
    ...     made = lw.release([20, 30, 40] * 500, lw.Interval(0, 100, bins=50), epsilon=1,
    ...         neighbors="replace-one", questions=["mean", "share above 50"])
    >>> round(made.answer("mean").value)
    30
    """

    release: QuestionRelease  # type: ignore[assignment]
    note: str = field(default="", compare=False)

    _name: ClassVar = "a release of answers"

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the publication of a stored release. FormatError if it is not one.

        Parameters
        ----------
        document : dict
            JSON object that :meth:`to_document` returned.
        """
        return cls(QuestionRelease.from_document(document))

    @cached_property
    def _curve(self) -> Publication:
        if self.release.curve is None:
            asked = ", ".join(f"'{each}'" for each in self.release.questions)
            raise ArgumentError(
                f"this release has no curve. It answers {asked}: use answer(). For a "
                "distribution, also ask 'curve'"
            )
        return Publication(self.release.curve, choice=self.choice)

    @cached_property
    def distribution(self) -> Distribution:
        """The distribution of the curve. ArgumentError if the release has no curve.

        The default decoder for numbers, spectral pursuit, reads it from the curve and from the
        shares, histograms and means together.
        """
        curve, beside = self._curve, linear_answers(self.release)
        if beside is None:
            return curve.distribution
        return _CurveBeside(curve.release, choice=self.choice, beside=beside).distribution

    def by_segment(self) -> dict[str | int | None, Distribution]:
        """Return the distribution within each segment, if the curve was requested.

        Returns
        -------
        dict
            Distribution of each segment, by its label.
        """
        return self._segments

    def answer(
        self,
        question: Question | str,
        *,
        segment: str | int | None = None,
        level: float = LEVEL,
        target: Target = "empirical",
    ) -> Answer:
        """Return the answer to a question that was asked, or that the curve answers.

        Parameters
        ----------
        question : Question or str
            A question from :mod:`lapwing.questions`, such as "mean".
        segment : str or int, optional
            One of the segments, for a release by segment. There, None means the rows in none of
            them.
        level : float
            Confidence level, in (0, 1). Drawn quantiles have only 0.95, which is fixed when they
            are drawn.
        target : {"empirical", "population"}
            The people in the data, or those from whom they were drawn. Only the people in the data
            for drawn quantiles, and for a mean without a curve.

        Returns
        -------
        Answer
            The answer with its interval. It has no point if there are too few people.

        Raises
        ------
        ArgumentError
            When the question was not asked, and neither was the curve.
        """
        asked, how = read(question), dict[str, Any](level=level, target=target)
        part = part_for(self.release, asked)
        linear = part is not None and not isinstance(part.question, Quantile)
        curve = None
        if self.release.curve is not None and (linear or part is None):
            segmented = isinstance(self.release.domain, Segmented)
            # An answer of its own counts once: not in the curve also.
            whole = self._curve if linear else self
            curve = self._segments.get(segment) if segmented else whole.distribution
        if part is None and self.release.curve is not None and curve is None:
            names = ", ".join(segment_text(each) for each in self.segments() if each is not None)
            raise ArgumentError("segment", f"must be one of {names}")
        if curve is not None and (part is None or (target, asked) == ("population", Mean())):
            joined = part is not None and not isinstance(self.release.domain, Segmented)
            return (self.distribution if joined else curve).answer(asked, **how)
        return answer_released(self.release, asked, segment=segment, curve=curve, **how)

    @cached_property
    def _segments(self) -> dict[str | int | None, Distribution]:
        return self._curve.by_segment()

    def segments(self) -> list[str | int | None]:
        """Return the segments that answers are about, or a single None if there are none.

        Returns
        -------
        list
            Labels of the segments.
        """
        domain = self.release.domain
        return list(domain.segmentation.listed) if isinstance(domain, Segmented) else [None]

    def answers(
        self,
        *,
        level: float = LEVEL,
        questions: Sequence[Question | str] | None = None,
        segment: str | int | None = None,
        target: Target = "empirical",
    ) -> list[dict[str, Any]]:
        """Return a row for each number that was asked for, without those of the curve.

        Parameters
        ----------
        level : float
            Confidence level of the intervals, in (0, 1). That of drawn quantiles is 0.95.
        questions : sequence of Question or str, optional
            Questions to answer. Default: all that were asked, except the curve.
        segment : str or int, optional
            One segment. Default: all of them.
        target : {"empirical", "population"}
            As for :meth:`answer`.

        Returns
        -------
        list of dict
            Question, value, low, high, note, and the point and the interval as text. By segment,
            also the segment.
        """
        rows = []
        asked = questions or [one for one in self.release.questions if one != Curve()]
        for name in self.segments() if segment is None else [segment]:
            how = dict[str, Any](segment=name, level=level, target=target)
            found = [self.answer(each, **how) for each in asked]
            named = {} if name is None else {"segment": name}
            domain = within(self.release.domain)
            lines = [line for each in answer_documents(found, domain) for line in each["lines"]]
            table = question_table(found, domain)
            rows += [named | line | row for line, row in zip(lines, table, strict=True)]
        return rows

    def plot(self, **options: Any) -> Any:
        """Draw the answers: a dot with its interval for each number of one question.

        Parameters
        ----------
        **options : object
            `level`, as for :meth:`answers`, and `title`.
        """
        title = options.pop("title", None) or str(self.guarantee)
        unit = within(self.release.domain).unit
        panels: dict[Any, list[tuple[str, Any, Any, Any]]] = {}
        for row in self.answers(**options):
            of_value = row["question"].partition(" ")[0] in ("mean", "quantile")
            ends = [row["value"], row["low"], row["high"]]
            if of_value:
                ends = [
                    None if end is None else to_number(end, unit=unit, name="an end")
                    for end in ends
                ]
            point, low, high = ends
            name = f"{row['segment']}, {row['question']}" if "segment" in row else row["question"]
            low, high = -math.inf if low is None else low, math.inf if high is None else high
            panels.setdefault(unit if of_value else None, []).append((name, point, low, high))
        return dots_figure([(rows, unit) for unit, rows in panels.items()], title=title)

    def _repr_html_(self) -> str:
        """Return what is published and promised, as a notebook shows it."""
        facts = {"privacy guarantee": str(self.guarantee)}
        for row in self.answers():
            name = f"{row['segment']}, " if "segment" in row else ""
            facts[name + row["question"]] = f"{row['text']} ({row['interval']})"
        return html_of(facts)


@dataclass(frozen=True)
class _CurveBeside(Publication):
    """The curve of a release of answers, which is decoded with them."""

    beside: LinearAnswers | None = None

    def _decoded(self) -> Distribution:
        return decode_release(self.release, beside=self.beside)


def linear_answers(release: QuestionRelease) -> LinearAnswers | None:
    """Return the shares, histograms and means of a release beside its curve, if there are any.

    None also by segment, where each segment is decoded alone.
    """
    domain, weights, spread, given, variances = release.domain, [], [], [], []
    for part in release.parts:
        if isinstance(part.question, Quantile) or isinstance(domain, Segmented):
            continue
        counted = counting_domain(domain, (part.question,))
        places = symbols_in(counted, domain)
        rows = AskedNumbers(part.question, domain, release.promise).rows(counted)
        for row, answer in zip(rows, part.answers, strict=True):
            least, most = np.full((2, domain.size), row[0], dtype=np.float64)
            least[places] = most[places] = row
            np.minimum.at(least, places, row)
            np.maximum.at(most, places, row)
            weights.append((least + most) / 2)
            spread.append((most - least) / 2)
            given.append(float(answer))
            variances.append(part.noise.variance * len(release.identifiers))
    if not given:
        return None
    return LinearAnswers(*map(np.array, (weights, spread, given, variances)))


@dataclass(frozen=True)
class PlannedAnswers:
    """Checked answers, which only the ledger can still refuse.

    draws: The exact draws of the questions.
    curve: The release of the whole curve for its share of the budget, where it is asked or answers.
    from_curve: Questions that the curve answers.
    """

    draws: QuestionDraws
    promise: Promise
    curve: PlannedRelease | None = None
    from_curve: tuple[Quantile, ...] = ()

    @property
    def choice(self) -> Any:
        """How the mechanism of the curve was chosen."""
        return None if self.curve is None else self.curve.choice

    @cached_property
    def loss(self) -> PrivacyLoss:
        """Privacy loss of all answers together."""
        curve = PrivacyLoss() if self.curve is None else self.curve.loss
        return self.draws.loss + curve

    @property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of each person."""
        return self.promise.guarantee(self.loss)

    @property
    def questions(self) -> str:
        """The questions in words."""
        more = [] if self.curve is None else ["curve"]
        return ", ".join([*map(str, (*self.draws.shares, *self.from_curve)), *more])

    def publish(
        self,
        summary: ExactCounts,
        *,
        ledger: LedgerFile | Path | str | None = None,
        name: str = "release",
        rng: RandomSource | None = None,
        keep: Callable[[QuestionRelease], None] = lambda release: None,
    ) -> QuestionPublication:
        """Pay and release. See :func:`lapwing.release`.

        keep: Stores the release while its payment is open.
        """
        if summary.unit != self.promise.unit:
            raise PrivacyError("the exact counts and the privacy guarantee have different units")
        self.draws.check(summary.domain)
        people = summary.people if self.promise.shows_people else None
        warn_of_parameters(self.promise, self.guarantee.epsilon, people, stacklevel=4)
        source = source_of(rng)  # before anything is paid

        def draw(identifier: str | None) -> QuestionRelease:
            curve: Release | None = None
            if self.curve is not None:
                counts = self.draws.on_bins(summary)
                curve = self.curve.mechanism.release(counts, self.curve.promise, rng=source)
            made = self.draws.draw(
                summary, source, identifier=identifier, curve=curve, from_curve=self.from_curve
            )
            keep(made)
            return made

        paid = self.guarantee.marked(weakest_standing(standing_of(source), summary.standing))
        entry = f"{name}: {self.questions}"[:_LONGEST_NAME]
        made = drawn_and_paid(draw, paid, self.loss, ledger=ledger, name=entry)
        return QuestionPublication(made, choice=self.choice)


def planned_answers(
    domain: Domain,
    promise: Promise,
    questions: Sequence[Question | str],
    *,
    shares: Any = None,
    mechanism: Mechanism | str | None = None,
    expected: int | None = None,
    composed: bool = False,
) -> PlannedAnswers:
    """Return answers to be released of a curator's domain, or raise what refuses them.

    mechanism, expected: For the curve.
    """
    asked, curve = read_questions(questions), None
    if [*asked] == [Curve()]:
        raise ArgumentError("leave out the questions to release the curve alone")
    draws, from_curve, of_curve = asked_draws(domain, promise, asked, shares)
    if of_curve is not None:
        curve = planned_release(domain, of_curve, mechanism, expected=expected, composed=composed)
    elif mechanism is not None or expected is not None:
        raise ArgumentError("mechanism and expected are for the curve, which is not asked for")
    planned = PlannedAnswers(draws, promise, curve, from_curve)
    planned.draws.check()
    if not promise.allows(planned.loss):
        raise PrivacyError("the answers would cost more than the privacy parameters allow")
    return planned
