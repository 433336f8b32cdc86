"""Watches a survey week by week, and reports a change only when it is certain enough.

The test is valid at any time and may be repeated every week. For each week tau at which a change
may have begun there is a Bayes factor. It is that of "one level before tau, another from tau on"
against "one level throughout". While nothing changes it is a martingale, because every week's
reports multiply it by a likelihood ratio. So is their mean, weighted by a prior of tau. It starts
at 1, and the probability that it ever exceeds 1 / alpha is at most alpha (Ville's inequality,
1939). So a look costs nothing, and neither does looking again.

The level does not matter, because it is integrated out under the same flat prior on both sides. How
large a change is and where, is integrated out too, under a mixture of sizes with a smooth
spectrum.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, log1p
from typing import Annotated, Any, ClassVar

import numpy as np

from lapwing.declared import Declared, From, Whole
from lapwing.decoders.empirical_bayes.gaussian_model import ScaledBasis, quadratic_likelihood
from lapwing.decoders.series.walk_decoder import smooth_series
from lapwing.documents import Stored, fingerprint
from lapwing.errors import ArgumentError, FormatError, MismatchError, UnsupportedChannelError
from lapwing.linear.arrays import Matrix, Vector, one_thread, running_sums
from lapwing.linear.projections import simplex
from lapwing.linear.random_walk import PseudoMeasurement, evidence_of, filtered, smoothed
from lapwing.planning.expected_error import USER_LIMIT
from lapwing.planning.simulation import simulate
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.channels.channel import channel_for
from lapwing.protocol.domains.domain_documents import StoredDomain
from lapwing.protocol.randomizer import Randomizer
from lapwing.results.series_change import Shift, check_name, check_order
from lapwing.results.uncertainty import Uncertainty
from lapwing.stored_fields import Coded, FromFields, StoredArray
from lapwing.survey.series_decoding import ReadWeek, WeekGiven, check_copy, check_domain, read_week

SIZES = (0.05, 0.1, 0.2, 0.4)
"""Standard deviations of the lowest wave of a change, as parts of the density's height."""
# Equally probable. A change of .1 in the largest gap of the curves is about .25.

WAVES = 24
"""Frequencies that are watched: a finer change does not show in a week's reports."""

_LEVEL = 4.0
"""Prior variance of the level's amplitudes: nearly flat."""


@dataclass(frozen=True)
class Verdict:
    """Result of a test.

    evidence: Logarithm of the martingale, which is 1 at the start.
    begun: The week at which a change most probably began, if there was one. It is 0 before there
        are two weeks.
    """

    evidence: float
    begun: int


def verdict(looks: Sequence[PseudoMeasurement], shape: Vector) -> Verdict:
    """Return the evidence that the state changed at one of these weeks.

    looks: One for each week since the reference, in order, all at one pilot that was chosen before.
    shape: float64 [state]: variances of a change of size 1.

    O(weeks * state^3).
    """
    weeks = len(looks)
    if weeks < 2:
        return Verdict(0.0, 0)
    whole = _added(looks)
    before = PseudoMeasurement(np.zeros_like(whole.information), np.zeros_like(whole.score))
    factors, weights = [], []
    for begun in range(1, weeks):
        last = looks[begun - 1]
        before = PseudoMeasurement(before.information + last.information, before.score + last.score)
        after = PseudoMeasurement(
            whole.information - before.information, whole.score - before.score
        )
        factors.append(evidence_at(before, after, shape))
        weights.append(-log(begun * (begun + 1)))
    # What may begin later has a factor of 1 so far: the weights that are left, 1 / weeks.
    terms = np.add(factors, weights)
    evidence = float(np.logaddexp(np.logaddexp.reduce(terms), -log(weeks)))
    return Verdict(evidence, 1 + int(np.argmax(terms)))


def evidence_at(before: PseudoMeasurement, after: PseudoMeasurement, shape: Vector) -> float:
    """Return the logarithm of the Bayes factor of a change between two looks against none."""
    level = _LEVEL * np.eye(shape.size)
    pair = (before, after)
    none = evidence_of(pair, level, np.zeros((2, shape.size)))
    moved = [evidence_of(pair, level, np.outer([0.0, size**2], shape)) - none for size in SIZES]
    return float(np.logaddexp.reduce(moved)) - log(len(SIZES))


def moved_by(
    looks: Sequence[PseudoMeasurement], begun: int, shape: Vector
) -> tuple[Vector, Matrix]:
    """Return how far the state moved at a week, and the covariance of that: [state], its square.

    begun: The first week after the change, in 1..weeks - 1.
    shape: float64 [state].
    """
    pair = (_added(looks[:begun]), _added(looks[begun:]))
    steps = np.outer([0.0, SIZES[-1] ** 2], shape)
    after = smoothed(filtered(pair, _LEVEL * np.eye(shape.size), steps))
    cross = after.between(0, 1)
    covariance = after.covariance[0] + after.covariance[1] - cross - cross.T
    return after.mean[1] - after.mean[0], covariance


def without_finer(look: PseudoMeasurement, watched: int) -> PseudoMeasurement:
    """Return what a week says about the first amplitudes, whatever the others are.

    The others are integrated out under the prior of a level. With B their information, C that
    across and d their score: ``A - C (I / 4 + B)^-1 C'`` and ``b - C (I / 4 + B)^-1 d``. So a
    distribution with more detail than is watched does not look like a change when another
    randomizer sees it otherwise.
    """
    if watched == look.score.size:
        return look
    across = look.information[watched:, :watched]
    finer = look.information[watched:, watched:].copy()
    finer[np.diag_indices_from(finer)] += 1 / _LEVEL
    told = np.linalg.solve(finer, np.column_stack([across, look.score[watched:]]))
    return PseudoMeasurement(
        look.information[:watched, :watched] - across.T @ told[:, :-1],
        look.score[:watched] - across.T @ told[:, -1],
    )


def needed(alpha: float, report: int) -> float:
    """Return the evidence from which the n-th change is reported, n from 1.

    The n-th may be false with a probability of ``alpha / (n (n + 1))``. These sum to alpha.
    """
    return -log(alpha) + log(report) + log1p(report)


def _added(looks: Sequence[PseudoMeasurement]) -> PseudoMeasurement:
    return PseudoMeasurement(
        np.sum([look.information for look in looks], axis=0),
        np.sum([look.score for look in looks], axis=0),
    )


LABEL_LIMIT = 64

METHOD = "two levels, before and after, of a change that was reported because it is large"

_MOST_WEEKS = 2000


_DRAWS = 1000
"""Simulated series in each step of the search of :meth:`Watch.people_needed`."""

_SHAPES = 2
"""Shapes of a change that are tried: from the left to the right, and from both ends inwards."""

_CLOSE = 1.03
"""Factor between the bounds of the answer at which the search ends."""


@dataclass(frozen=True)
class WatchedChange(Declared, FromFields):
    """A change that was reported.

    week: The week in which it most probably began.
    detection_week: The week at whose look it was reported.
    evidence: Logarithm of the evidence.
    shift: From the level before to that after, with a band of the level of the report.
    """

    week: str
    detection_week: str
    evidence: float
    shift: Shift

    _name: ClassVar = "a reported change"


@dataclass(frozen=True)
class Noticed:
    """Findings of a look.

    gap: Why there was nothing to look at, in words.
    evidence, needed: Logarithm of the evidence that something changed since the reference, and from
        which it is reported.
    change: New findings: changes since the last report.
    """

    week: str
    gap: str | None
    evidence: float
    needed: float
    change: WatchedChange | None


def _packed(look: PseudoMeasurement) -> str:
    """Return the lower triangle of the information and the score, as base64 of floats."""
    rows, places = np.tril_indices(look.score.size)
    numbers = np.concatenate([look.information[rows, places], look.score])
    return base64.b64encode(numbers.astype("<f8").tobytes()).decode()


def _unpacked(text: Any, place: str) -> PseudoMeasurement:
    try:
        numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8")
    except (ValueError, TypeError):
        numbers = np.full(1, np.nan)
    state = max(math.isqrt(2 * numbers.size) - 1, 0)  # as (state^2 + 3 state) / 2 = numbers
    if state * (state + 3) != 2 * numbers.size or not np.isfinite(numbers).all():
        raise FormatError(f"{place} is damaged. Restore a copy of it")
    rows, places = np.tril_indices(state)
    information = np.zeros((state, state))
    information[rows, places] = information[places, rows] = numbers[: rows.size]
    return PseudoMeasurement(information, numbers[rows.size :].astype(np.float64))


@dataclass(frozen=True, eq=False)
class _Seen(FromFields):
    """A week that was looked at: its name, what makes it one, and what it says."""

    name: str
    identity: str | None
    look: Annotated[PseudoMeasurement, Coded(_packed, _unpacked)] | None

    _name: ClassVar = "a week of a watch"


@dataclass(frozen=True, eq=False, repr=False)
class Watch(Declared, FromFields, Stored):
    """Sequential change detection over weekly tallies.

    It looks at one week after another, and reports when something has changed.

    The probability that it ever reports a change when there was none is at most `alpha`, however
    many weeks it looks at. A change means one level before and another after. After a report the
    watch starts again with the next week as its reference.

    Parameters
    ----------
    alpha : float
        Upper bound on the probability of any false report, in (0, 0.5]. Default: 0.05.
    domain : Domain, optional
        Domain of the weeks, kept by :meth:`look`. Default: None, before the first look.
    weeks : tuple
        Weeks that were looked at, kept by :meth:`look`. Default: empty.
    since : int
        Position of the reference week, kept by :meth:`look`. Default: 0.
    pilot : numpy.ndarray, optional
        Distribution at which scores are taken, kept by :meth:`look`. Default: None.
    changes : tuple of WatchedChange
        Reported changes, in order. Default: empty.

    Notes
    -----
    It is frozen: :meth:`look` returns the watch after the look, and what it noticed. The state to
    keep from one week to the next is in :meth:`to_json`: the information from the weeks since the
    reference. It takes a few kB per week and contains no reports.

    The test is exact for normal scores whose information is known. Scores of reports are
    approximately normal from about 1,000 people per week on. A slow drift also counts as a change
    once it is large enough.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> survey = lw.Survey("wait", lw.SquareWave(lw.Interval(0, 60, bins=16), epsilon=1))
    >>> watch = lw.Watch(alpha=0.05)
    >>> before, after = np.arange(16, 0, -1) * 300, np.arange(1, 17) * 300
    >>> for week, people in enumerate([before, before, before, after]):
    ...     tally = lw.simulate(survey.randomizer, people, rng=week)
    ...     watch, noticed = watch.look((survey, tally), name=f"W{week + 1}")
    >>> noticed.change.week, noticed.change.detection_week
    ('W4', 'W4')
    """

    alpha: Annotated[float, From(0, 0.5, without="least")] = 0.05
    domain: StoredDomain | None = None
    weeks: tuple[_Seen, ...] = ()
    since: Whole = 0
    pilot: Annotated[Vector, StoredArray(shape=("symbols",))] | None = None
    changes: tuple[WatchedChange, ...] = ()

    _kind: ClassVar = "watch"
    _name: ClassVar = "a watch"

    def _check_stored(self) -> None:
        if self.since > len(self.weeks):
            raise ArgumentError("since", "must be one of the weeks")
        if self.pilot is not None and (self.domain is None or self.pilot.min() <= 0):
            raise ArgumentError("pilot", "must be positive, of a domain")
        state = 0 if self.pilot is None else self._columns()[1].size
        if any(week.look and week.look.score.size != state for week in self.weeks):
            raise ArgumentError("weeks", "must be of one pilot. Restore a copy of them")
        if any(change.shift.beyond(self.domain) for change in self.changes):
            raise ArgumentError("changes", "must be at symbols of the domain")

    def __repr__(self) -> str:
        """Return one line: what it looked at, not what was seen."""
        weeks, changes = len(self.weeks), len(self.changes)
        return f"<Watch at alpha {self.alpha:g}, {weeks} weeks examined, {changes} reported>"

    @property
    def names(self) -> list[str]:
        """Names of the weeks that were looked at, in order."""
        return [week.name for week in self.weeks]

    @one_thread
    def look(
        self, week: WeekGiven, *, name: str | None = None, allow_equal: Sequence[str] = ()
    ) -> tuple[Watch, Noticed]:
        """Return the watch after one more week, and what it noticed.

        Parameters
        ----------
        week : (Survey, Tally), Release, Publication or None
            As for :func:`lapwing.decode_series`. A week without reports is a gap, and is reported
            as one.
        name : str, optional
            Name of the week. Default: its number. Names that are dates must be in order.
        allow_equal : sequence of str, optional
            The name of the week, if its counts may equal those of an earlier one. Default: equal
            counts are refused if different people would give them with a probability below 1e-6.

        Returns
        -------
        tuple of (Watch, Noticed)
            The watch after the look, and the findings of the look.

        Raises
        ------
        MismatchError
            When the week is on another domain, or was looked at before.
        ArgumentError
            When its name was given before or is out of order, and as for `decode_series`.
        """
        called = str(len(self.weeks) + 1) if name is None else name
        check_name(called)
        if called in self.names:
            raise MismatchError(f"week {called} was already examined. Name each week once")
        check_order([*self.names, called])
        if len(self.weeks) >= _MOST_WEEKS:
            raise ArgumentError(f"a watch takes at most {_MOST_WEEKS} weeks. Begin another one")
        found = read_week(week, called)
        if week is not None and self.domain is not None:
            check_domain(found.domain, self.domain, (called, self.weeks[0].name))
        least = needed(self.alpha, len(self.changes) + 1)
        if found.channel is None:
            after = replace(self, weeks=(*self.weeks, _Seen(called, None, None)))
            return after, Noticed(called, "nobody reported", self._verdict().evidence, least, None)
        # Counts that others may have by chance tell nothing, so no hash of them is kept. The ids of
        # a file were drawn at random, so theirs says nothing of its reports.
        by_chance = found.by_chance(_MOST_WEEKS)
        given: Any = week[1] if isinstance(week, tuple) else week
        ids = sorted(getattr(given, "ids", ()))
        identity = None if by_chance else fingerprint([repr(found.identity)])
        if by_chance and ids:
            identity = fingerprint(ids)
        for seen in self.weeks:
            if identity is not None and seen.identity == identity:
                if by_chance:
                    raise MismatchError(
                        f"week {called} is the same as week {seen.name}. Give only one of them"
                    )
                check_copy(found, seen.name, _MOST_WEEKS, allowed=called in allow_equal)
        after = self._started(found)
        assert after.pilot is not None
        look = after._look(found)
        after = replace(after, weeks=(*after.weeks, _Seen(called, identity, look)))
        told = after._verdict()
        if told.evidence < least:
            return after, Noticed(called, None, told.evidence, least, None)
        change = after._change(told, called)
        noticed = Noticed(called, None, told.evidence, least, change)
        # What was seen so far was chosen for being large, so nothing of it may count again.
        anew = replace(
            after,
            changes=(*after.changes, change),
            since=len(after.weeks),
            weeks=tuple(replace(seen, look=None) for seen in after.weeks),
            pilot=None,
        )
        return anew, noticed

    @one_thread
    def people_needed(
        self,
        randomizer: Randomizer,
        *,
        change: float,
        weeks: int = 2,
        before: int = 12,
        power: float = 0.95,
    ) -> int:
        """Return how many people per week this watch needs to report a change in time.

        Parameters
        ----------
        randomizer : Randomizer
            Randomizer of the survey, for numbers.
        change : float
            The largest gap between the CDFs before and after, in (0, 0.5].
        weeks : int
            Number of weeks after the change by which it is reported, in 1..1000.
        before : int
            Number of weeks before the change, in 1..1000.
        power : float
            Probability that the change is reported by then, in (0, 1).

        Returns
        -------
        int
            The larger of the numbers for two shapes of change: people move from left to right, or
            from both ends to the middle. It is rounded up to two digits.

        Raises
        ------
        ArgumentError
            When a number is out of its range, or even 10^9 people per week are too few.
        UnsupportedChannelError
            For labels.

        Notes
        -----
        **Accuracy.** The number comes from 1000 simulations with Gaussian scores around a uniform
        distribution. It is accurate to about a tenth.

        Examples
        --------
        >>> import lapwing as lw
        >>> wave = lw.SquareWave(lw.Interval(0, 60, bins=32), epsilon=1)
        >>> 1_000 < lw.Watch(alpha=0.05).people_needed(wave, change=0.1) < 40_000
        True
        """
        for name, value, most, limit in (
            ("change", change, 0.5, "at most 0.5"),
            ("power", power, 1, "less than 1"),
        ):
            if not 0 < value <= most or (name == "power" and value >= 1):
                raise ArgumentError(name, f"must be greater than 0 and {limit}", repr(value))
        for name, number in (("weeks", weeks), ("before", before)):
            check_whole(name, number, low=1, high=1000, error=ArgumentError)
        domain = randomizer.domain
        if not domain.ordered:
            raise UnsupportedChannelError(
                "the number of people needed to detect a change is computed for numbers only"
            )
        scaled = ScaledBasis(domain, limit=WAVES)
        columns = scaled.columns(np.ones(scaled.joined.size))
        tally = simulate(randomizer, np.full(domain.size, 1000), rng=1)
        even = np.full(domain.size, 1 / domain.size)
        information, _ = quadratic_likelihood(channel_for(randomizer, tally), tally, even)  # type: ignore[arg-type]
        told = columns.T @ information @ columns / tally.total
        root = 1 / scaled.basis.frequency  # of the variances that a change of size 1 has
        values, vectors = np.linalg.eigh(told * root * root[:, None])
        seen = np.maximum(values, 0.0) / (1 / before + 1 / weeks)
        least = needed(self.alpha, 1) + math.log(before * (before + 1))

        def reported(people: float, along: int) -> float:
            moved = vectors[along] * (
                change / float(np.abs(running_sums(columns[:, along])).max()) / root[along]
            )
            return _reported(people * seen, moved, least)

        found = 0.0
        for along in range(min(_SHAPES, root.size)):
            low, high = 1.0, float(USER_LIMIT)
            if reported(high, along) < power:
                raise ArgumentError(
                    "no number of people is enough to detect such a small change. Ask for a "
                    "larger one"
                )
            while high > _CLOSE * low:
                middle = math.sqrt(low * high)
                low, high = (low, middle) if reported(middle, along) >= power else (middle, high)
            found = max(found, high)
        unit = 10 ** max(0, math.floor(math.log10(found)) - 1)
        return int(math.ceil(found / unit) * unit)

    def _started(self, week: ReadWeek) -> Watch:
        """Return the watch with a domain, and a pilot at which all weeks until a report are seen.

        The first week is the reference: its own answer is the pilot.
        """
        if self.pilot is not None:
            return self
        domain = week.domain
        if not domain.ordered and domain.size > LABEL_LIMIT:
            raise ArgumentError(
                f"a watch takes at most {LABEL_LIMIT} labels, got {domain.size}. Count the rare "
                "ones as other"
            )
        if domain.ordered:
            mass = smooth_series([(week.channel, week.observed)], ScaledBasis(domain)).masses[0]
            assert mass is not None
        else:
            mass = _label_pilot(week)
        return replace(self, domain=domain, pilot=0.9 * mass + 0.1 / mass.size)

    def _columns(self) -> tuple[Matrix, Vector]:
        """Return what is watched: columns of masses, and how large a change of each may be."""
        assert self.domain is not None
        assert self.pilot is not None
        pilot = self.pilot
        if not self.domain.ordered:
            columns = np.diag(np.sqrt(pilot)) - np.outer(pilot, np.sqrt(pilot))
            return columns, np.full(pilot.size, 0.3)
        waves, frequency, apart = self._waves()
        shape = np.append(frequency[:WAVES] ** -2.0, np.ones(apart.shape[1]))
        return np.column_stack([waves[:, :WAVES], apart]), shape

    def _waves(self) -> tuple[Matrix, Vector, Matrix]:
        """Return all waves on the scale of the pilot, their frequencies, and what stands apart."""
        assert self.domain is not None
        assert self.pilot is not None
        scaled = ScaledBasis(self.domain)
        waves = scaled.columns(np.sqrt(scaled.density(self.pilot)))
        apart = scaled.taken_from(self.pilot) * np.sqrt(np.maximum(self.pilot[scaled.apart], 1e-3))
        return waves, scaled.basis.frequency, apart

    def _look(self, week: ReadWeek) -> PseudoMeasurement:
        """Return what a week says about the amplitudes, at the pilot."""
        assert self.pilot is not None
        assert self.domain is not None
        information, score = quadratic_likelihood(week.channel, week.observed, self.pilot)  # type: ignore[arg-type]
        columns, _ = self._columns()
        watched = columns.shape[1]
        if self.domain.ordered:
            # What is finer is unknown, and integrated out: kept at the pilot it would move what
            # is watched, by as much in every week only while randomizer and people are the same.
            columns = np.column_stack([columns, self._waves()[0][:, WAVES:]])
        curved = information @ columns
        look = without_finer(
            PseudoMeasurement(columns.T @ curved, score @ columns - self.pilot @ curved), watched
        )
        # Exactly symmetric, so that a state that was stored goes on as one that was not.
        found = look.information
        found = np.ascontiguousarray(np.tril(found) + np.tril(found, -1).T)
        return PseudoMeasurement(found, look.score)

    def _looks(self) -> list[tuple[str, PseudoMeasurement]]:
        return [(week.name, week.look) for week in self.weeks[self.since :] if week.look]

    def _verdict(self) -> Verdict:
        looks = [look for _, look in self._looks()]
        return verdict(looks, self._columns()[1]) if looks else Verdict(0.0, 0)

    def _change(self, told: Verdict, seen: str) -> WatchedChange:
        """Return what is reported: the shift of the level, with a band of the report's level."""
        assert self.domain is not None
        assert self.pilot is not None
        columns, shape = self._columns()
        looks = self._looks()
        mean, covariance = moved_by([look for _, look in looks], told.begun, shape)
        law = Uncertainty.of_covariance(
            columns @ mean, columns @ covariance @ columns.T, self.pilot, 1, METHOD
        )
        report = len(self.changes) + 1
        level = 1 - self.alpha / (report * (report + 1))
        shift = Shift.of(law, ordered=self.domain.ordered, level=level)
        return WatchedChange(looks[told.begun][0], seen, told.evidence, shift)


def _label_pilot(week: ReadWeek) -> Vector:
    """Return the nearest distribution to the reports of the reference, of labels."""
    size = week.domain.size
    even = np.full(size, 1 / size)
    information, score = quadratic_likelihood(week.channel, week.observed, even)  # type: ignore[arg-type]
    raised = information + 1e-9 * np.trace(information) * np.eye(size)
    return simplex(np.linalg.solve(raised, score))


def _reported(seen: Vector, moved: Vector, least: float) -> float:
    """Return in what part of simulated series the evidence for the true week is enough.

    That for the other weeks adds little. In the directions in which a change and what two looks
    tell of it are independent, scores have the mean ``seen * moved`` and the variance ``seen``.
    """
    rng = np.random.default_rng(20_261_122)
    scores = seen * moved + np.sqrt(seen) * rng.normal(size=(_DRAWS, seen.size))
    factors = [
        (size**2 * scores**2 / (1 + size**2 * seen) - np.log1p(size**2 * seen)).sum(axis=1) / 2
        for size in SIZES
    ]
    evidence = np.logaddexp.reduce(factors, axis=0) - math.log(len(SIZES))
    return float(np.mean(evidence >= least))
