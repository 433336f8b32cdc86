"""A curator's work in one call: count, release with a privacy guarantee, decode, and read.

A release has a curve, or the answers to questions.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lapwing.decoders.decoder import Decoder
from lapwing.decoders.releases.segment_curves import (
    Segment,
    is_table_of_curves,
    segment_distributions,
    somebody_in_none,
    table_of_curves,
)
from lapwing.decoders.releases.spectral_pursuit import LinearAnswers, SpectralPursuit
from lapwing.documents import Stored
from lapwing.errors import ArgumentError, PrivacyError, WeakAnswerWarning
from lapwing.facts import html_of
from lapwing.linear.memoized import cached_property
from lapwing.mechanisms.question_draws import QuestionDraws, asked_draws
from lapwing.planning.release_defaults import Choice, mechanism_choice, release_decoder
from lapwing.privacy.guarantee import Guarantee, weakest_standing
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.protocol.domains.units import to_number
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism, Release, check_unit
from lapwing.questions import Curve, Mean, Quantile, Question, read, read_questions
from lapwing.registry import MECHANISMS
from lapwing.results.asked_numbers import AskedNumbers, counting_domain, symbols_in, within
from lapwing.results.counted import ALL_NOISE, VAGUE, all_noise, counted_word, vague
from lapwing.results.distribution import Distribution
from lapwing.results.plotting import dots_figure
from lapwing.results.question_answers import Answer, answer_documents, question_table
from lapwing.results.question_release import QuestionRelease
from lapwing.results.released_answers import LEVEL, answer_released, part_for
from lapwing.results.steps import Detail
from lapwing.results.timeline import segments_figure
from lapwing.results.uncertainty import Target
from lapwing.results.weak_parameters import warn_of_parameters

_NAMED = 5
"""Segments that a warning names."""

_SHOWN = 20
"""Segments that a notebook lists."""


@dataclass(frozen=True)
class Publication(Stored):
    """Published distribution: a release and the distribution read from it.

    Parameters
    ----------
    release : Release
        The release, which is public: it may be stored, sent and added.
    note : str
        How the bins were chosen if the domain had none, and otherwise empty.
    choice : Choice, optional
        How the mechanism was chosen, if there were several candidates. None for a loaded release.
        The distribution's provenance contains it.
    """

    release: Release
    note: str = field(default="", compare=False)
    choice: Choice | None = field(default=None, compare=False)

    _name: ClassVar = "a release"

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: that of the release, from which the distribution follows."""
        return self.release.to_document()

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the publication of a stored release. FormatError if it is not one.

        Parameters
        ----------
        document : dict
            JSON object that :meth:`to_document` returned. Released answers give a
            :class:`lapwing.survey.QuestionPublication`.
        """
        if document.get("format") == "lapwing-question-release":
            return QuestionPublication.from_document(document)  # type: ignore[return-value]
        return cls(Release.from_document(document))

    @property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of each person in the release."""
        return self.release.guarantee

    @cached_property
    def distribution(self) -> Distribution:
        """The decoded distribution, with its band."""
        if is_table_of_curves(self.release):
            return table_of_curves(self.release, self._segments)
        result = self._decoded()
        if self.choice is not None:
            chosen = {"choice": self.choice.to_document()}
            result = replace(result, provenance=result.provenance | chosen)
        if self.guarantee.unit is not None and all_noise(result):
            warnings.warn(
                f"{ALL_NOISE}. The noise is as large as the counts. Use a smaller `most`, a "
                "larger epsilon or more rows",
                WeakAnswerWarning,
                stacklevel=3,
            )
        return result

    def _decoded(self) -> Distribution:
        return decode_release(self.release)

    def by_segment(self) -> dict[Segment, Distribution]:
        """Return the distribution within each segment. See :func:`segment_distributions`.

        Returns
        -------
        dict
            Distribution of each segment, by its label. Rows in none of the segments are under the
            key None, if the 95% interval of their number excludes zero.

        Warns
        -----
        WeakAnswerWarning
            When the 95% interval of the median of a segment of numbers spans more than half of the
            range, or there is no interval.
        """
        found = dict(self._segments)
        if not somebody_in_none(self.release):
            del found[None]
        weak = [segment_text(key) for key, each in found.items() if key is not None and vague(each)]
        if weak:
            warnings.warn(
                f"{', '.join(weak[:_NAMED])}{', ...' if len(weak) > _NAMED else ''}: too few "
                f"{counted_word(self.guarantee)} for a distribution by segment ({len(weak)} of "
                f"{len(found.keys() - {None})} segments). {VAGUE}. Use a larger epsilon, fewer "
                "bins or fewer segments",
                WeakAnswerWarning,
                stacklevel=2,
            )
        return found

    @cached_property
    def _segments(self) -> dict[Segment, Distribution]:
        return segment_distributions(self.release)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say where a question to the distribution is asked: not of the release."""
            if not name.startswith("_") and hasattr(Distribution, name):
                raise AttributeError(f"a Publication has no {name}. Use .distribution.{name}")
            raise AttributeError(f"a Publication has no {name}")

    def plot(
        self,
        *,
        detail: Detail = "resolved",
        title: str | None = None,
        label: str | None = None,
        level: float = 0.95,
        target: Target = "empirical",
    ) -> Any:
        """Draw the distribution or, for a release by segment, a small picture of each segment.

        Parameters
        ----------
        detail : {"resolved", "all"}
            Density in the steps that the release can distinguish, or in every bin.
        title, label : str, optional
            Title of the picture, and name of the values with their unit.
        level : float
            Level of the intervals, in (0, 1). Default: 0.95.
        target : {"empirical", "population"}
            Whom the intervals are about: the people in the data, or the population.

        Returns
        -------
        matplotlib.figure.Figure
            Figure with the picture.
        """
        options: Any = {"detail": detail, "title": title, "label": label}
        options |= {"level": level, "target": target}
        if not isinstance(self.release.domain, Segmented):
            return self.distribution.plot(**options).figure
        segments = {segment_text(key): each for key, each in self.by_segment().items()}
        return segments_figure(segments, people=self.release.people, **options)

    def _repr_html_(self) -> str:
        """Return what is published and promised, as a notebook shows it."""
        if not isinstance(self.release.domain, Segmented):
            return self.distribution._repr_html_()
        facts = {"privacy guarantee": str(self.guarantee)}
        segments = self.by_segment()
        if len(segments) > _SHOWN:
            facts["segments"] = f"{len(segments):,}, the first {_SHOWN} are shown"
        for segment, found in islice(segments.items(), _SHOWN):
            facts[f"segment {segment_text(segment)}"] = (
                f"about {found.reports:,} {counted_word(self.guarantee, found.reports)}"
            )
        return html_of(facts)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A checked release, which only the ledger or too many people can still refuse.

    Made by :func:`planned`, before the values are looked at.

    counted: Domain of the exact counts that it needs.
    loss: Its privacy cost.
    choice: How the mechanism was chosen, where it was chosen from several.
    """

    promise: Promise
    counted: Domain
    loss: PrivacyLoss
    choice: Choice | None = None

    @property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of each person."""
        return self.promise.guarantee(self.loss)

    def publish(
        self,
        summary: ExactCounts,
        *,
        ledger: LedgerFile | Path | str | None = None,
        name: str = "release",
        rng: RandomSource | None = None,
        keep: Callable[[Any], None] = lambda release: None,
    ) -> Publication:
        """Pay and release. See :func:`lapwing.release`.

        keep: Stores the release while its payment is open: if it fails, the payment stays marked as
            interrupted.
        """
        self._check(summary)
        people = summary.people if self.promise.shows_people else None
        warn_of_parameters(self.promise, self.guarantee.epsilon, people, stacklevel=4)
        source = source_of(rng)  # before anything is paid
        entry, rounds = self._entry(name)
        guarantee = self.guarantee.marked(weakest_standing(standing_of(source), summary.standing))
        identifier: str | None = None
        payment: AbstractContextManager[Any] = nullcontext()
        if ledger is not None:
            identifier = secrets.token_hex(16)
            payment = Ledger.open(ledger).paying(
                entry, guarantee, loss=self.loss, release=identifier, rounds=rounds
            )
        with payment:
            made = self._drawn(summary, source, identifier)
            keep(made.release)
        return made

    def _check(self, summary: ExactCounts) -> None:
        """Raise an error of what the counts are refused for."""
        raise NotImplementedError

    def _entry(self, name: str) -> tuple[str, int]:
        """Return the name of the entry in a ledger, and for how many rounds it pays."""
        raise NotImplementedError

    def _drawn(
        self, summary: ExactCounts, source: RandomSource, identifier: str | None
    ) -> Publication:
        """Draw. The identifier is that of the payment, if there is one."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class PlannedRelease(Planned):
    """A checked release of the whole curve."""

    mechanism: Mechanism

    def _check(self, summary: ExactCounts) -> None:
        check_unit(self.mechanism, self.promise, summary)
        check_people(self.mechanism, summary)

    def _entry(self, name: str) -> tuple[str, int]:
        return name, self.mechanism.rounds

    def _drawn(
        self, summary: ExactCounts, source: RandomSource, identifier: str | None
    ) -> Publication:
        made = self.mechanism.release(summary, self.promise, rng=source, identifier=identifier)
        return Publication(made, choice=self.choice)


def planned(
    domain: Domain,
    promise: Promise,
    questions: Sequence[Question | str] | None,
    *,
    shares: Any = None,
    mechanism: Mechanism | str | None = None,
    expected: int | None = None,
    composed: bool = False,
) -> PlannedRelease | PlannedAnswers:
    """Return a release to be made of a curator's domain: of answers, or else of the curve.

    mechanism, expected: For the curve.
    """
    how = dict[str, Any](mechanism=mechanism, expected=expected, composed=composed)
    if questions is not None:
        return planned_answers(domain, promise, questions, shares=shares, **how)
    if shares is not None:
        raise ArgumentError("shares are for questions. Leave them out, or pass questions")
    return planned_release(domain, promise, **how)


def planned_release(
    domain: Domain,
    promise: Promise,
    mechanism: Mechanism | str | None = None,
    *,
    expected: int | None = None,
    composed: bool = False,
) -> PlannedRelease:
    """Return a release to be made of a curator's domain. Errors as of :func:`checked_loss`."""
    choice = None
    if mechanism is None:
        chosen, choice = mechanism_choice(domain, promise, expected=expected, composed=composed)
    elif expected is not None:
        raise ArgumentError("expected chooses the mechanism. Leave out expected or mechanism")
    else:
        chosen = MECHANISMS.resolve(mechanism)
    loss = checked_loss(chosen, domain, promise)
    return PlannedRelease(
        mechanism=chosen, promise=promise, counted=domain, loss=loss, choice=choice
    )


def checked_loss(mechanism: Mechanism, domain: Domain, promise: Promise) -> PrivacyLoss:
    """Return what a release will cost, once nothing is left that it could be refused for.

    The one door to a payment: what is refused after it would have been paid for nothing.

    Raises ArgumentError, PrivacyError, MissingExtraError when the mechanism does not suit the
    domain, cannot keep the privacy guarantee, or would need noise that cannot be drawn.
    """
    if domain.ordered and domain.left.size < 2:
        raise ArgumentError(
            "a distribution function needs at least two bins, besides missing values. Use a "
            "domain with more bins"
        )
    check_unit(mechanism, promise)
    mechanism.check(domain)
    loss = mechanism.loss(domain, promise)
    if not promise.allows(loss):
        raise PrivacyError(
            f"{mechanism.name} would cost more than the privacy parameters allow. Nothing was "
            "drawn or charged"
        )
    promise.guarantee(loss)  # refused where no epsilon states it
    return loss


def check_people(mechanism: Mechanism, summary: ExactCounts) -> None:
    """Raise ArgumentError when a mechanism with a limit of its own has too many people.

    Only mechanisms that show the number of people have one, so this tells nothing else.
    """
    most = mechanism.most_people
    if summary.people > most:
        raise ArgumentError(
            f"{mechanism.name} computes exact sums for at most {most} people, got "
            f"{summary.people}. Release the rows in parts, or use prefix sums"
        )


def decode_release(
    release: Release, decoder: Decoder | None = None, *, beside: LinearAnswers | None = None
) -> Distribution:
    """Return the estimate from a release, by the decoder that suits its mechanism.

    decoder: Default: the one of the mechanism. Of a table by segment each segment is decoded alone.
    beside: Further answers about the same people. Only spectral pursuit uses them.
    returns: Distribution over the symbols, or over the cells of a table.
    """
    if decoder is None and is_table_of_curves(release):
        return table_of_curves(release, segment_distributions(release))
    chosen = release_decoder(release.mechanism, release.domain) if decoder is None else decoder
    channel = release.mechanism.channel_for(release)
    if beside is not None and isinstance(chosen, SpectralPursuit):
        return chosen.decode_beside(channel, release, beside)
    return chosen.decode(channel, release)


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


@dataclass(frozen=True, kw_only=True)
class PlannedAnswers(Planned):
    """Checked answers.

    draws: The exact draws of the questions.
    curve: The release of the whole curve for its share of the budget, where it is asked or answers.
    from_curve: Questions that the curve answers.
    """

    draws: QuestionDraws
    curve: PlannedRelease | None = None
    from_curve: tuple[Quantile, ...] = ()

    @property
    def questions(self) -> str:
        """The questions in words."""
        more = [] if self.curve is None else ["curve"]
        return ", ".join([*map(str, (*self.draws.shares, *self.from_curve)), *more])

    def _check(self, summary: ExactCounts) -> None:
        if summary.unit != self.promise.unit:
            raise PrivacyError("the exact counts and the privacy guarantee have different units")
        self.draws.check(summary.domain)

    def _entry(self, name: str) -> tuple[str, int]:
        return f"{name}: {self.questions}"[:_LONGEST_NAME], 1

    def _drawn(
        self, summary: ExactCounts, source: RandomSource, identifier: str | None
    ) -> Publication:
        curve: Release | None = None
        if self.curve is not None:
            counts = self.draws.on_bins(summary)
            curve = self.curve.mechanism.release(counts, self.curve.promise, rng=source)
        made = self.draws.draw(
            summary, source, identifier=identifier, curve=curve, from_curve=self.from_curve
        )
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
    draws.check()
    loss = draws.loss + (PrivacyLoss() if curve is None else curve.loss)
    if not promise.allows(loss):
        raise PrivacyError("the answers would cost more than the privacy parameters allow")
    return PlannedAnswers(
        promise=promise,
        counted=draws.counted,
        loss=loss,
        choice=None if curve is None else curve.choice,
        draws=draws,
        curve=curve,
        from_curve=from_curve,
    )
