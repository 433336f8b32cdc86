"""The agreed document: the question, and how every answer is randomized.

Devices, collector and analyst have the same document, so none of them types a parameter again.
Reading it recomputes and compares every threshold: a document that promises more privacy than its
thresholds give cannot be loaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

from lapwing.docstrings import inherits
from lapwing.documents import (
    Stored,
    describe_value,
    fingerprint,
    require,
    require_format,
    require_spelling,
)
from lapwing.errors import (
    ArgumentError,
    FormatError,
    LapwingError,
    LapwingWarning,
    MismatchError,
    WeakAnswerWarning,
    kind_of,
)
from lapwing.facts import html_of
from lapwing.linear.arrays import Values, declared_repr
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole, check_whole_field
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.protocol.channels.channel import channel_for
from lapwing.protocol.domains.domain import MAXIMUM_BINS
from lapwing.protocol.domains.domain_documents import build
from lapwing.protocol.domains.label_text import broken_rule, compared_text
from lapwing.protocol.domains.row_counts import RowCounts, are_many, counted_values, warn_of_rows
from lapwing.protocol.messages.group_labels import columns_of
from lapwing.protocol.messages.group_tallies import (
    MINIMUM,
    OTHER,
    GroupTallies,
    count_groups,
    count_weighted,
)
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import Tally, check_observation
from lapwing.protocol.randomizer import Randomizer, derived_values
from lapwing.protocol.release import Release
from lapwing.questions import Curve, Question, check_answerable, read_questions
from lapwing.registry import DECODERS, RANDOMIZERS

if TYPE_CHECKING:
    # Devices hold surveys and never decode one.
    from lapwing.decoders.decoder import Decoder, SearchDecoder
    from lapwing.planning.expected_error import Recommendation
    from lapwing.planning.poisoning_alarm import PoisoningAlarm
    from lapwing.results.distribution import Distribution
    from lapwing.results.heavy_hitters import HeavyHitters

FORMAT = "lapwing-survey"
VERSION = 1

NOTICE = ("question", "purpose", "owner", "contact", "measured_in")
"""What a survey tells the people it asks. It has a separate fingerprint."""

LONGEST_NOTICE = 1000
"""Most characters of each field of the notice."""

LONGEST_UNIT = 20
"""Most characters of a unit of measurement."""

MOST_SEGMENTS = 1000
"""Most labels that a survey declares."""

_REMEMBERED = "remembered"

_LARGEST_MINIMUM = 10**12

_QUICKER = (
    "To score your own list of values in seconds: survey.decode(tally, "
    "decoder=lw.decoders.Candidates([...])). Pass progress= or "
    "decoder=lw.decoders.ExhaustiveScan() to scan without this warning"
)


@dataclass(frozen=True)
class Survey(Stored):
    """Survey: a name and a randomizer, frozen and fingerprinted.

    Parameters
    ----------
    name : str
        Name of the survey: 1 to 200 printable characters. It is part of the fingerprint, so two
        surveys with one randomizer are distinguished.
    randomizer : Randomizer or Recommendation
        Randomizer of the reports. From a recommendation the survey keeps the randomizer. Its
        decoder is the one that :meth:`decode` uses by default.
    segments : sequence of str
        Public labels, one of which may accompany a report: at most 1000, each of 1 to 200
        characters. People with none of them are counted as "other". A label is not protected. Use
        only public facts about a person, such as a country.
    segment_minimum : int
        Number of reports that a segment must have before a collector shows any result for it.
    remembered : bool
        Whether a device answers once and permanently. The report of its first answer is kept and
        sent again in every epoch, even if the value has changed. It costs epsilon once, however
        often it is sent. So changes in the answers are not visible. Fresh reports would show them.
        Default: False.
    question, purpose, owner, contact : str, optional
        The question in words, the purpose of the answers, who asks, and whom to contact. Each has 1
        to 1000 printable characters on one line. Devices show and keep them. They are not part of
        :attr:`fingerprint`. They have their own, :attr:`text_fingerprint`, which devices pin. A
        collector accepts another text only while no epoch can be answered.
    measured_in : str, optional
        Unit of measurement of numbers, such as "ms": 1 to 20 printable characters. It is shown
        next to the values, and is part of the text. Dates, times and labels have none.
    questions : sequence of Question or str, optional
        Questions from :mod:`lapwing.questions` for the result. A recommendation supplies its own
        questions. They change no report, so they are not in :attr:`fingerprint`. Default: the
        whole curve.

    Notes
    -----
    A type checker assumes that :meth:`decode` returns a Distribution. A domain that is too large
    to list gives HeavyHitters. If you pass the decoder, the checker knows that too.

    **Privacy.** A memoized report hides its first value with epsilon, and anybody's later values
    entirely, because nothing that is sent depends on them. One report for each value would not be
    enough, because the sequence of reports would show when the value changed and when it came back.
    It does not hide that two reports come from one person. A long report is hardly ever made
    twice, so an observer who sees it in two epochs knows that somebody took part in both.

    Examples
    --------
    >>> import lapwing as lw
    >>> survey = lw.Survey("income", lw.SquareWave(lw.Interval(0, 100, bins=16), epsilon=4))
    >>> reports = survey.randomize([20.0] * 5000, rng=lw.seeded(1))
    >>> round(float(survey.decode(survey.tally(reports)).quantile(0.5)), 1)
    21.9
    """

    name: str
    randomizer: Randomizer
    _: KW_ONLY
    segments: tuple[str, ...] = ()
    segment_minimum: int = MINIMUM
    remembered: bool = False
    question: str | None = field(default=None, repr=False)
    purpose: str | None = field(default=None, repr=False)
    owner: str | None = field(default=None, repr=False)
    contact: str | None = field(default=None, repr=False)
    measured_in: str | None = field(default=None, repr=False)
    questions: tuple[Question, ...] = field(default=(), repr=False)

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            name: str,
            randomizer: Randomizer | Recommendation,
            *,
            segments: Sequence[str] = (),
            segment_minimum: int = 1000,
            remembered: bool = False,
            question: str | None = None,
            purpose: str | None = None,
            owner: str | None = None,
            contact: str | None = None,
            measured_in: str | None = None,
            questions: Sequence[Question | str] = (),
        ) -> None: ...

    _name: ClassVar = "a survey"
    _indent: ClassVar = 2

    __repr__ = declared_repr

    def __post_init__(self) -> None:
        """Check the name, the segments, and how answers are kept."""
        if not isinstance(self.name, str) or not 1 <= len(self.name) <= 200:
            raise ArgumentError("name", "must be a string of 1 to 200 characters")
        if not self.name.isprintable():
            raise ArgumentError("name", "must contain printable characters only")
        if not RANDOMIZERS.knows(type(self.randomizer)):
            _take_recommendation(self)
        if len(self.questions):
            object.__setattr__(self, "questions", read_questions(self.questions))
        if not RANDOMIZERS.knows(type(self.randomizer)):
            raise ArgumentError(
                f"a survey needs a randomizer, got {kind_of(self.randomizer)}. "
                "Pass for example SquareWave(Interval(0, 1, bins=256), epsilon=1)"
            )
        object.__setattr__(self, "segments", _checked_segments(self.segments))
        check_whole_field(self, "segment_minimum", low=1, high=_LARGEST_MINIMUM)
        if self.segment_minimum != MINIMUM and not self.segments:
            raise ArgumentError(
                "segment_minimum", "is only for segments", advice="Name them, or leave it out"
            )
        if type(self.remembered) is not bool:
            raise ArgumentError("remembered", "must be True or False", repr(self.remembered))
        if self.remembered and self.randomizer.guarantee.lifetime is not None:
            raise ArgumentError(
                f"{self.randomizer.name} already memoizes a permanent round. Leave out remembered"
            )
        for name, text in self.notice.items():
            most = LONGEST_UNIT if name == "measured_in" else LONGEST_NOTICE
            legal = isinstance(text, str) and len(text) <= most and text.isprintable()
            if not legal or not text.strip():
                raise ArgumentError(
                    name,
                    f"must be 1 to {most} printable characters on one line",
                    _fault_of(text, most),
                )
        domain = self.randomizer.domain
        for each in self.questions:
            check_answerable(each, domain)
        if self.measured_in is not None and not (domain.ordered and domain.unit == "number"):
            raise ArgumentError(
                "measured_in",
                "applies only to plain numbers",
                advice="Leave it out for dates, times and labels",
            )

    @property
    def notice(self) -> dict[str, str]:
        """The text for people: question, purpose, owner, contact, measured_in. Only what is set."""
        texts = ((name, getattr(self, name)) for name in NOTICE)
        return {name: text for name, text in texts if text is not None}

    @property
    def answers(self) -> str:
        """State that a device keeps from one epoch to the next.

        "fresh": nothing, so each answer is randomized again and costs again. "remembered report":
        the whole report. "remembered round": the permanent round of :class:`lapwing.Rappor`.
        """
        if self.remembered:
            return "remembered report"
        return "fresh" if self.randomizer.guarantee.lifetime is None else "remembered round"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON of everything that was agreed."""
        return fingerprint(self._agreed())

    @cached_property
    def text_fingerprint(self) -> str:
        """SHA-256 of the canonical JSON of the notice, even for a survey without one.

        The notice is the wording that people see. So a device that pins both fingerprints answers
        no other question.
        """
        return text_fingerprint(self.notice)

    @property
    def guarantee(self) -> Guarantee:
        """The privacy guarantee of one report, and of all reports if they share randomness."""
        one = self.randomizer.guarantee
        return replace(one, lifetime=one.epsilon) if self.remembered else one

    @property
    def lifetime_guarantee(self) -> Guarantee | None:
        """Guarantee of all answers from one device file together. None if each answer costs again.

        A device (:class:`lapwing.client.Device`) keeps the report or the permanent round of its
        first answer in its file. So the privacy guarantee covers all its answers, however the
        value changes. It does not cover :meth:`randomize`, which keeps nothing.
        """
        lifetime = self.guarantee.lifetime
        return None if lifetime is None else replace(self.guarantee, epsilon=lifetime)

    @inherits(Randomizer.randomize)
    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value. This runs on the device. See the randomizer.

        Nothing is kept. A second call for the same people draws other reports, and other permanent
        rounds of :class:`lapwing.Rappor`. It costs each of them the epsilon of :attr:`guarantee`
        again, even if the answers of the survey are memoized. Only a device file keeps a report or
        a round (:class:`lapwing.client.Device`).

        Parameters
        ----------
        rng : RandomSource, optional
            Default: the secure source. A seeded source is for tests only.

        Warns
        -----
        RowsWarning
            With 100 values or more, when more than half are missing, unreadable or outside the
            range, or more than 1% are unreadable. It comes before anything is randomized.
        """
        if are_many(values):
            rows = RowCounts()
            values = counted_values(values, self.randomizer.domain, rows)
            warn_of_rows(rows, self.randomizer.domain)
        return self._reports(values, rng=rng)

    def _reports(
        self, values: Values, *, rng: RandomSource | None = None, rows: RowCounts | None = None
    ) -> Reports:
        """Return one report per value, and count the rows. The caller gives the warnings."""
        if rows is not None:
            values = counted_values(values, self.randomizer.domain, rows)
        return self.randomizer.randomize(values, rng=rng).of_survey(self.fingerprint)

    @overload
    def tally(self, reports: Reports, *, counts: Any = None) -> Tally: ...

    @overload
    def tally(
        self, reports: Reports, *, by: Any, minimum: int | None = None, counts: Any = None
    ) -> GroupTallies: ...

    def tally(
        self, reports: Reports, *, by: Any = None, minimum: int | None = None, counts: Any = None
    ) -> Tally | GroupTallies:
        """Return the exact tally of a batch, or one for each segment of the people.

        Parameters
        ----------
        reports : Reports
            Reports from this survey's randomizer.
        by : iterable, optional
            The segment of each report, a string or a whole number. None, NaN and the empty string
            count as "other". Pass several columns as a mapping by their names, a table, or a list
            of arrays: `by=[countries, years]`. A segment is then named "country=PT/year=2026".
        minimum : int, optional
            With `by`: least number of reports of a segment, at least 1. Default:
            :attr:`segment_minimum`. Segments with fewer reports are counted together as "other",
            which may itself be smaller. If a segment has that name, they are "all other".
        counts : array_like, optional
            How often each report was sent, for reports that a database has counted: whole numbers
            from 0 to 2^53 - 1. Default: once.

        Returns
        -------
        CountTally or TallyLog, or GroupTallies
            Tally, marked as this survey's. GroupTallies maps each segment to its tally, in
            alphabetical order, "other" last. The tallies add up to that of all reports. Compare
            two decoded segments with ``Distribution.difference(..., people="different")``.

        Raises
        ------
        MismatchError, ReportError
            When reports are from another survey or randomizer, or when a report or a count is
            impossible. Nothing is counted.
        ArgumentError
            When there are not as many labels or counts as reports, or over 100,000 different
            labels. Also when the minimum is not positive, or is given without `by`.
        TallyError
            When the counts add up to more than 2^53 - 1 or, for a survey that stores reports, to
            more than 2^31.

        Notes
        -----
        **Privacy.** Segment labels are public: they are sent along with the reports, unprotected.
        Each person sends one report in one segment, so the guarantee is that of the report.

        Examples
        --------
        >>> import lapwing as lw
        >>> survey = lw.Survey("wait", lw.SquareWave(lw.Interval(0, 1, bins=4), 1))
        >>> reports = survey.randomize([0.5] * 10, rng=lw.seeded(1))
        >>> groups = survey.tally(reports, by=["north"] * 7 + ["east"] * 3, minimum=5)
        >>> {name: tally.total for name, tally in groups.items()}
        {'north': 7, 'other': 3}
        """
        if by is not None:
            columns = columns_of(by)
            by = by if columns is None else columns
            groups = (
                count_groups(self, reports, by)
                if counts is None
                else count_weighted(self, reports, by, counts)
            )
            least = self.segment_minimum if minimum is None else minimum
            return GroupTallies.of_groups(groups, minimum=least, columns=list(columns or ()))
        if minimum is not None:
            raise ArgumentError("minimum", "is for segments: pass by=, the segment of each report")
        if counts is not None:
            groups = count_weighted(self, reports, None, counts)
            return groups.added() if groups else self.tally(reports[:0])
        tally = self.randomizer.tally(reports)
        if reports.survey not in (None, self.fingerprint):
            raise MismatchError(
                f"survey {reports.survey[:12]} asked for these reports, but this one is "
                f"{self.fingerprint[:12]}. Use the survey that asked for them"
            )
        return tally.of_survey(self.fingerprint)

    def check(self, tally: Tally) -> None:
        """Raise MismatchError unless the tally is this survey's. ArgumentError if it is no tally.

        Parameters
        ----------
        tally : Tally
            Tally to check.
        """
        check_observation(tally)
        if isinstance(tally, Release):
            raise ArgumentError("a release is decoded by Publication(release).distribution")
        if tally.survey not in (None, self.fingerprint):
            raise MismatchError(
                f"the tally was collected by survey {tally.survey[:12]}, but this one is "
                f"{self.fingerprint[:12]}. Use the survey file that collected it"
            )

    @overload
    def decode(
        self,
        tally: Tally,
        *,
        decoder: SearchDecoder,
        bins: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> HeavyHitters: ...

    @overload
    def decode(
        self,
        tally: Tally,
        *,
        decoder: Decoder | str | None = None,
        bins: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Distribution: ...

    def decode(
        self,
        tally: Tally,
        *,
        decoder: Any = None,
        bins: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Distribution | HeavyHitters:
        """Return the estimated distribution, or the heavy hitters of a domain too large to list.

        Parameters
        ----------
        tally : CountTally or TallyLog
            Of this survey.
        decoder : Decoder or str, optional
            A decoder, or the name of one to be used with its default parameters, such as
            "least-squares". Default: the recommended one.
        bins : int, optional
            Number of bins at which to decode instead, which must divide the grid of a square wave.
        progress : callable, optional
            Called during a scan of all values (:class:`ExhaustiveScan`), with the number of steps
            done and the total. All other decoders take seconds at most and do not call it.

        Returns
        -------
        Distribution or HeavyHitters
            HeavyHitters if labels are searched.

        Raises
        ------
        MismatchError, UnsupportedChannelError, TallyError
            When tally, decoder and survey do not fit together, or nobody reported.
        ArgumentError
            When `decoder` is not a decoder, or one from another package returns no valid answer.

        Warns
        -----
        LapwingWarning
            When the default decoder scans all hashes for more than five seconds, and neither
            `decoder` nor `progress` was passed.
        """
        # Who only asks or randomizes does not wait for all methods to be read.
        from lapwing.decoders.decoder import check_reads, require_answer
        from lapwing.decoders.logs.exhaustive_scan import ExhaustiveScan
        from lapwing.planning.defaults import default_decoder, scanned_long

        self.check(tally)
        if bins is not None:
            check_whole("bins", bins, low=1, high=MAXIMUM_BINS, error=ArgumentError)
        channel = channel_for(self.randomizer, tally, bins=bins)
        chosen: Decoder | SearchDecoder
        if decoder is not None:
            chosen = DECODERS.resolve(decoder)
            check_reads(chosen)
        elif scanned_long(self.randomizer, tally.kind):
            raise ArgumentError(
                f"scanning all {self.randomizer.domain.size:,} values takes hours. Score your "
                "own list with decoder=lw.decoders.Candidates([...]), or request the scan with "
                "decoder=lw.decoders.ExhaustiveScan()"
            )
        else:
            chosen = default_decoder(self.randomizer, tally.kind, size=bins)
        if chosen.reads != tally.kind:
            tally = channel.counts(tally)
            channel = channel_for(self.randomizer, tally)
        scan: Any = chosen
        scans = isinstance(chosen, ExhaustiveScan)
        silent = scans and decoder is None and progress is None
        if silent and (announcement := scan.announcement(channel, tally)):
            warnings.warn(f"{announcement}. {_QUICKER}", LapwingWarning, stacklevel=2)
        with warnings.catch_warnings():
            if self.questions and Curve() not in self.questions:  # nobody asks for the curve
                warnings.simplefilter("ignore", WeakAnswerWarning)
            found: Distribution | HeavyHitters = scan.decode(
                channel, tally, **({"progress": progress} if scans else {})
            )
        require_answer(found, channel.domain, type(chosen).__name__)
        known = found.guarantee and found.guarantee.marked(tally.standing)
        found = replace(found, guarantee=known, provenance=found.provenance | unit_entry(self))
        if self.answers == "fresh" or found._kind == "heavy-hitters":
            return found
        # A difference must know that its two sides share randomness.
        kept = {"survey": self.fingerprint, "answers": self.answers}
        kept_guarantee = self.guarantee.marked(tally.standing)
        return replace(found, guarantee=kept_guarantee, provenance={**found.provenance, **kept})

    def check_poisoning(self, tally: Tally, *, seed: int = 0) -> PoisoningAlarm:
        """Return whether devices that follow the protocol could have sent a tally.

        Parameters
        ----------
        tally : CountTally
            Tally of this survey, with at least one report.
        seed : int
            Seed of the simulations. The same seed gives the same answer.

        Returns
        -------
        PoisoningAlarm
            ``sounds`` is True if honest reports do not explain the tally. ``sentence`` says so in
            words.

        Raises
        ------
        UnsupportedChannelError
            When the reports are stored one by one, or their randomizer has no joint distribution
            to simulate (hashing).
        TallyError, MismatchError
            When the tally is empty, or another survey collected it.

        See Also
        --------
        lapwing.planning.poisoning_alarm : The statistic, its accuracy and its cost.

        Examples
        --------
        >>> import numpy as np
        >>> import lapwing as lw
        >>> survey = lw.Survey("wait", lw.SquareWave(lw.Interval(0, 1, bins=64), epsilon=1))
        >>> survey.check_poisoning(lw.simulate(survey.randomizer, [500] * 64, rng=1)).sounds
        False
        """
        from lapwing.planning.poisoning_alarm import check_poisoning

        self.check(tally)
        return check_poisoning(self.randomizer, tally, seed=seed)

    def next_epoch(
        self, answer: Distribution, *, users: int | None = None, name: str | None = None
    ) -> Survey:
        """Return the survey for the next people, with components chosen by a published answer.

        The default mixture of :class:`lapwing.MultiscaleWave` suits any column. If the first answer
        is smooth, fewer people in the next epoch are asked about fine bins. If it shows single
        values that many people have, more are asked. Domain, epsilon, questions and the cells of
        the questions stay the same. Decode both epochs with :func:`lapwing.decode_together`.

        Parameters
        ----------
        answer : Distribution
            Distribution of the people who reported so far, as returned by :meth:`decode` or
            `decode_together`.
        users : int, optional
            Number of people who will answer next. Default: as many as have answered.
        name : str, optional
            Name of the new survey, which must differ from this one's. Default: this name and ",
            next epoch".

        Returns
        -------
        Survey
            A separate document with a separate fingerprint, so tallies of the two are never added.
            Segments and notice are those of this survey.

        Raises
        ------
        ArgumentError
            When the answer does not come from reports, because components chosen by raw data would
            reveal them. Also when this survey remembers its reports, `users` is out of range, or
            the name is this survey's own or too long.
        DomainError
            When the survey is about labels, or about numbers with fewer than 8 or more than 65,536
            symbols.
        MismatchError
            When the answer is on another domain.

        Notes
        -----
        **Privacy.** The choice is post-processing of a private answer, and the components are
        public. A report satisfies epsilon in any case. Each person should answer in only one
        epoch, because answering in two spends epsilon twice.

        **Cost.** About a second.
        """
        from lapwing.planning.question_design import next_design

        if self.answers != "fresh":
            raise ArgumentError(
                "a survey with memoized reports has no next epoch, because its devices have "
                "answered permanently and would spend epsilon again"
            )
        called = f"{self.name}, next epoch" if name is None else name
        if called == self.name:
            raise ArgumentError(
                "the next epoch needs its own name: with the same mixture components, it would "
                "be this survey. Leave out name, or pass another"
            )
        if len(called) > 200 and name is None:
            raise ArgumentError('with ", next epoch" the name is too long. Pass a shorter name=')
        chosen = next_design(self.randomizer, answer, self.questions, users=users)
        return replace(self, name=called, randomizer=chosen)

    def _agreed(self) -> dict[str, Any]:
        # Only said where it is so: what is absent keeps its meaning, and every old fingerprint.
        segments = {"segments": [*self.segments], "segment_minimum": self.segment_minimum}
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            **(segments if self.segments else {}),
            **({"answers": _REMEMBERED} if self.remembered else {}),
            "randomizer": self.randomizer.to_document(),
            "derived": derived_values(self.randomizer),
        }

    def _facts(self) -> dict[str, str]:
        """Return what is asked and promised, in a few lines for people."""
        from lapwing.protocol.domains.domain_text import domain_text

        labels = [label[:40] for label in self.segments]
        more = f", and {len(labels) - 8:,} more" if len(labels) > 8 else ""
        shown = f"{', '.join(labels[:8])}{more}. Shown from {self.segment_minimum:,} reports each"
        kept = {"answers": "remembered: a device always resends its first report"}
        return {
            "survey": self.name,
            **self.notice,
            **({"asks": ", ".join(map(str, self.questions))} if self.questions else {}),
            "domain": domain_text(self.randomizer.domain),
            "randomizer": self.randomizer.name,
            "privacy guarantee": str(self.guarantee),
            "bytes per report": str(self.randomizer.report_width),
            **({"segments": shown} if labels else {}),
            **(kept if self.remembered else {}),
            "fingerprint": self.fingerprint,
            "fingerprint of the text": self.text_fingerprint,
        }

    def _repr_html_(self) -> str:
        """Return what is asked and promised, as a notebook shows it."""
        return html_of(self._facts())

    @property
    def _asks(self) -> dict[str, Any]:
        """What documents and results say of the questions. Nothing for the whole curve."""
        asks = [each.to_document() for each in self.questions]
        return {"asks": asks} if asks else {}

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        notice = {"notice": self.notice} if self.notice else {}
        return {**self._agreed(), **notice, **self._asks, "fingerprint": self.fingerprint}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the survey that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            When a key, version or class is unknown, or a threshold or the fingerprint is not what
            this software computes for the stated epsilon. Also when anything is not spelled
            exactly as it would be written, so that the fingerprint is always that of the document
            read.
        """
        require_format(document, name=FORMAT, version=VERSION)
        keys = {"format", "version", "name", "randomizer", "derived", "fingerprint"}
        optional = {"segments", "segment_minimum", "answers", "notice", "asks"}
        require(document, keys, name="a survey", optional=optional)
        notice = document.get("notice", {})
        require(notice, set(), name="the notice of a survey", optional=NOTICE)
        if "notice" in document and not (notice and None not in notice.values()):
            raise FormatError(
                "the notice of a survey must contain a string, or be absent. Its keys are "
                f"{', '.join(NOTICE)}"
            )
        try:
            randomizer = build(document["randomizer"], RANDOMIZERS, name="the randomizer")
            asks = document.get("asks", [])
            if not isinstance(asks, list):
                raise FormatError(f"the questions of a survey must be a list, got {kind_of(asks)}")
            survey = cls(
                document["name"],
                randomizer,
                segments=document.get("segments", ()),
                segment_minimum=document.get("segment_minimum", MINIMUM),
                remembered=document.get("answers") == _REMEMBERED,
                questions=tuple(asks),
                **notice,
            )
            computed = derived_values(randomizer)
        except FormatError:
            raise
        except LapwingError as error:
            raise FormatError(f"the survey cannot be used: {error}") from None
        derived = document["derived"]
        if derived != computed:
            wrong = _first_difference(derived, computed)
            raise FormatError(
                f"a value that the survey derives ({wrong}) does not match its epsilon and domain. "
                "The document was changed or made by other software, and its privacy guarantee "
                "cannot be trusted"
            )
        if document["fingerprint"] != survey.fingerprint:
            raise FormatError(
                "the survey's fingerprint does not match its content. The document was changed. "
                "Do not use it"
            )
        require_spelling(document, survey.to_document(), name="the survey")
        return survey


def text_fingerprint(notice: Mapping[str, str]) -> str:
    """Return the fingerprint of a notice. The key before it keeps it from being anything else's."""
    return fingerprint({"notice": dict(notice)})


def _take_recommendation(survey: Survey) -> None:
    """Put the randomizer of a recommendation in its place, and its questions if none are given."""
    # Imported here: a device that loads a survey file needs no planning.
    from lapwing.planning.expected_error import Recommendation

    given: Any = survey.randomizer
    if isinstance(given, Recommendation):
        object.__setattr__(survey, "randomizer", given.randomizer)
        object.__setattr__(survey, "questions", survey.questions or given.questions)


def _fault_of(text: Any, most: int) -> str:
    """Return what is wrong about a string, without the text."""
    if not isinstance(text, str):
        return describe_value(text)
    if len(text) > most:
        return f"{len(text)} characters"
    return "a line break or a control character" if text.strip() else "nothing to read"


def _checked_segments(segments: Any) -> tuple[str, ...]:
    if isinstance(segments, str) or not isinstance(segments, Sequence):
        raise ArgumentError("segments", "must be a list of labels, such as ['north', 'south']")
    if len(segments) > MOST_SEGMENTS:
        raise ArgumentError(f"there must be at most {MOST_SEGMENTS} segments, got {len(segments)}")
    for number, label in enumerate(segments, start=1):
        if not isinstance(label, str) or not 1 <= len(label) <= 200 or label == OTHER:
            raise ArgumentError(
                "segments",
                f"must be strings of 1 to 200 characters other than {OTHER!r}, which is for "
                "people in no segment",
                advice=f"Number {number} is not",
            )
        if (rule := broken_rule(label)) is not None:
            raise ArgumentError(
                f"every segment must {rule}, but number {number} does not. Change it"
            )
    if len(set(map(compared_text, segments))) != len(segments):
        raise ArgumentError("segments", "must be named once, but one is named twice")
    return tuple(segments)


def _first_difference(found: Any, computed: dict[str, Any]) -> str:
    if not isinstance(found, dict):
        return "derived part"
    for key in sorted({*found, *computed}):
        if found.get(key) != computed.get(key):
            return "thresholds" if key == "thresholds" else repr(key)
    return "derived part"


def unit_entry(survey: Survey) -> dict[str, Any]:
    """Return what the provenance of a result says of the unit and of the questions."""
    measured = {} if survey.measured_in is None else {"measured_in": survey.measured_in}
    return measured | survey._asks
