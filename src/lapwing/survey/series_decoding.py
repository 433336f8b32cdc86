"""Tallies and releases of many weeks, decoded together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from lapwing.decoders.decoder import steps_entry
from lapwing.decoders.empirical_bayes.gaussian_model import ScaledBasis
from lapwing.decoders.releases.label_shares import CountedShares, noise_of_counts, tails_of
from lapwing.decoders.series.label_walk import walked_labels, walked_labels_so_far
from lapwing.decoders.series.walk_decoder import filter_series, smooth_series
from lapwing.decoders.series.walk_model import found_changes
from lapwing.decoders.unbiased.linear_estimate import (
    UnbiasedShares,
    linear_estimate,
    unbiased_shares,
)
from lapwing.errors import ArgumentError, MismatchError, TallyError, UnsupportedChannelError
from lapwing.linear.arrays import Vector, one_thread
from lapwing.planning.release_defaults import release_decoder
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.channels.channel import Channel, channel_for, check_given
from lapwing.protocol.channels.equal_counts import equal_by_chance
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.tally import CountTally, Tally, check_observation
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.series import ALONE, Errors, Series, SeriesWeek, laws_between
from lapwing.results.series_change import SeriesChange, Shift, check_names, with_missing
from lapwing.results.uncertainty import WHOLE, Uncertainty
from lapwing.survey.publication import Publication
from lapwing.survey.survey import Survey, unit_entry

WeekGiven: TypeAlias = "tuple[Survey, Tally] | Release | Publication | None"
"""What is known about one week: a survey and its tally, a release, or nothing."""

NOBODY = "nobody reported"

LIMIT = 1024
"""Most symbols for numbers: each week has a matrix of that size squared."""

_CELLS = 2**27
"""Numbers in those matrices: 1 GiB."""


@dataclass(frozen=True, eq=False)
class ReadWeek:
    """One week as a decoder reads it.

    channel: None where nobody reported.
    identity: Equal for one tally given twice. None where nobody reported.
    by_chance: Whether different people may have given it by chance, among so many weeks.
    measured: Unit of measurement, as the provenance of a result has it.
    alone: Returns the distribution of the week decoded on its own. None where nobody reported.
    """

    name: str
    domain: Domain
    channel: Channel | None
    observed: Any
    guarantee: Guarantee | None
    identity: Any
    measured: dict[str, str] = field(default_factory=dict)
    alone: Callable[[], Any] | None = None
    by_chance: Callable[[int], bool] = field(default=lambda weeks: False, compare=False)


@one_thread
def decode_series(
    weeks: Sequence[WeekGiven],
    *,
    names: Sequence[str] | None = None,
    smooth: bool = True,
    allow_equal: Sequence[str] = (),
) -> Series:
    """Return the distributions of many weeks, each decoded with information from the others.

    Weeks are steps of a random walk. The reports determine how far a week moves at each frequency,
    in which weeks the distribution jumped, and which weeks were outliers. Surveys, randomizers,
    epsilons and numbers of people may differ from week to week, over one domain.

    Parameters
    ----------
    weeks : sequence of (Survey, Tally), Release, Publication or None
        Weeks in chronological order, with None for a gap. An empty tally is also a gap.
    names : sequence of str, optional
        Names of the weeks. Default: 1, 2 and so on. Names that end with dates (2026-Q3, 2026-03,
        t-2026-W09, 2026-03-01) must be in order. If all do, a date that is missing between others
        is a gap.
    smooth : bool
        True: each week is decoded from all weeks. False: each is decoded only from the weeks up to
        it, as was possible at the time.
    allow_equal : sequence of str, optional
        Names of weeks whose counts may equal those of an earlier week. Default: none. Equal counts
        are refused if different people would give them with a probability below 1e-6.

    Returns
    -------
    Series
        Weeks in order, with the detected changes.

    Raises
    ------
    MismatchError
        When a week is on another domain or is given twice, or its tally is not its survey's.
    ArgumentError
        When there are no weeks, a week is not such a pair, or weeks or names are out of order.
        Also when reports are memoized, and so show no changes.
    UnsupportedChannelError
        For numbers on more than 1024 bins, or more weeks than fit in memory (512 at 512 symbols).
        Also for a release that is not linear.

    Notes
    -----
    Releases of a curator who adds new people each round
    (:class:`lapwing.mechanisms.RunningPrefixSums`) are not a series of weeks, because each covers
    everybody so far.

    **Privacy.** This is post-processing of what is already public. One person's privacy losses
    compose over the weeks in which they answered: `Series` has the privacy guarantee of each week,
    not of all weeks together.

    **Accuracy.** See the tables of `benchmarks/accuracy/series`. Intervals are about each week's
    own people, under the model. Their coverage, even in weeks with a jump, is measured there.
    Intervals of labels and of their differences (:meth:`Series.between`) allow for a change of up
    to 12 points in any week. It may persist, or affect only that week. Weeks of numbers are
    decoded separately if their reports reveal more about their people than other weeks could add.
    This happens at an epsilon of about 8, or about 5 on more than 128 bins. Weeks of labels are
    decoded separately, without intervals, if the reports do not determine all shares.

    **Cost.** Numbers: O(weeks * state^3) with a state of at most 128 amplitudes. For 36 weeks it
    takes 2 s with 64 bins, 4 s with 256 and 25 s with 1024. With ``smooth=False`` it takes about
    five times as long. Labels: O(weeks * labels). If the channel is inverted as a matrix (up to
    512 labels), each week costs O(labels^3).

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> survey = lw.Survey("wait", lw.SquareWave(lw.Interval(0, 60, bins=16), epsilon=1))
    >>> before, after = np.arange(16, 0, -1) * 300, np.arange(1, 17) * 300
    >>> weeks = [before, before, before, after, after]
    >>> tallies = [lw.simulate(survey.randomizer, week, rng=n) for n, week in enumerate(weeks)]
    >>> pairs = [(survey, tally) for tally in tallies]
    >>> series = lw.decode_series(pairs, names=["W1", "W2", "W3", "W4", "W5"])
    >>> [(series[change.week].name, change.kind) for change in series.changes]
    [('W4', 'jump')]
    """
    read = read_weeks(weeks, names, allow_equal)
    domain = next(week.domain for week in read if week.channel is not None)
    if domain.ordered:
        _check_size(domain, sum(week.channel is not None for week in read))
        return _of_numbers(read, domain, smooth=smooth)
    return _of_labels(read, domain, smooth=smooth)


def read_weeks(
    weeks: Sequence[WeekGiven], names: Sequence[str] | None, allow_equal: Sequence[str] = ()
) -> list[ReadWeek]:
    """Return the weeks, checked. Errors as of :func:`decode_series`."""
    given = list(weeks)
    called = [str(number + 1) for number in range(len(given))] if names is None else [*names]
    _check_names(called, len(given))
    known = dict(zip(called, given, strict=True))
    called = with_missing(called)
    given = [known.get(name) for name in called]
    read = [read_week(week, name) for week, name in zip(given, called, strict=True)]
    there = [week for week in read if week.channel is not None]
    if not there:
        raise ArgumentError("a series needs at least one week in which somebody reported")
    unknown = [name for name in allow_equal if name not in called]
    if unknown:
        raise ArgumentError(
            "allow_equal", f"must name weeks, but {unknown[0]!r} is not one of them"
        )
    seen: dict[Any, str] = {}
    known_ids: dict[Any, str] = {}
    first = there[0]
    for week, one in zip(read, given, strict=True):
        if one is not None:
            check_domain(week.domain, first.domain, (week.name, first.name))
        if week.channel is None:
            continue
        tally: Any = one[1] if isinstance(one, tuple) else one
        for each in (id(tally), *getattr(tally, "ids", ())):
            if each in known_ids:
                raise MismatchError(
                    f"week {week.name} is the same as week {known_ids[each]}. Give only one of them"
                )
            known_ids[each] = week.name
        if week.identity in seen:
            check_copy(week, seen[week.identity], len(there), allowed=week.name in allow_equal)
        seen.setdefault(week.identity, week.name)
        for part in week.identity if isinstance(week.observed, Release) else ():
            if known_ids.setdefault(part, week.name) != week.name:  # two sums that share one
                check_copy(week, known_ids[part], len(there), allowed=False)
    return read


def check_copy(week: ReadWeek, earlier: str, weeks: int, *, allowed: bool) -> None:
    """Raise MismatchError when a week that equals an earlier one is a copy of it.

    Counts of different people may be equal by chance. A release is never made twice.
    """
    if isinstance(week.observed, Release):
        raise MismatchError(f"weeks {earlier} and {week.name} are the same release. Give it once")
    if not allowed and not week.by_chance(weeks):
        raise MismatchError(
            f"weeks {earlier} and {week.name} have the same counts, which happens by chance "
            "with a probability below 1e-6. Give each week once, and None for a missing one. "
            f"If their reports do differ, name {week.name} in allow_equal"
        )


def read_week(week: WeekGiven, name: str) -> ReadWeek:
    """Return one week as a decoder reads it. Errors as of :func:`decode_series`."""
    if week is None:
        return ReadWeek(name, None, None, None, None, None)  # type: ignore[arg-type]
    if isinstance(week, Publication):
        week = week.release
    if isinstance(week, Release):
        return _of_release(week, name)
    if not (isinstance(week, tuple) and len(week) == 2 and isinstance(week[0], Survey)):
        raise ArgumentError(
            f"week {name} must be a pair of a survey and its tally, a release, or None"
        )
    survey, tally = week
    check_observation(tally)
    survey.check(tally)
    if survey.answers != "fresh":
        raise ArgumentError(
            f"week {name} is from a survey with memoized reports, which show no changes, "
            "because a person who answers again sends the same randomness. Decode one week on "
            "its own"
        )
    domain = survey.randomizer.domain
    if tally.total == 0:
        return ReadWeek(name, domain, None, None, survey.guarantee, None)
    channel, counts = channel_and_counts(survey, tally)
    check_given(channel, counts)
    identity = identity_of(tally)
    measured = unit_entry(survey)
    alone = partial(survey.decode, tally)
    by_chance = partial(equal_by_chance, tally, channel=channel)
    return ReadWeek(
        name,
        channel.domain,
        channel,
        counts,
        survey.guarantee.marked(tally.standing),
        identity,
        measured,
        alone,
        by_chance,
    )


def identity_of(tally: Tally) -> Any:
    """Return what is equal for one tally given twice."""
    numbers = tuple(block.tobytes() for block in tally.blocks)
    return tally.fingerprint, tuple(tally.reports), numbers


def channel_and_counts(survey: Survey, tally: Tally) -> tuple[Channel, CountTally]:
    """Return how a survey's symbols became counts, and the counts, also of stored reports."""
    channel: Any = channel_for(survey.randomizer, tally)
    counts: CountTally = channel.counts(tally)
    channel = channel_for(survey.randomizer, counts)
    return channel, counts


def _of_release(release: Release, name: str) -> ReadWeek:
    if isinstance(release.domain, Segmented):
        raise ArgumentError(
            f"week {name} is a release by segment. Publish a series of each segment"
        )
    if not release.mechanism.linear or release.mechanism.rounds > 1:
        raise UnsupportedChannelError(
            f"week {name} is a release of {release.mechanism.name}, whose answers are not sums "
            "of one week's counts with known noise. A series takes releases of prefix-sums, "
            "sum-tree, histogram-query and label-counts"
        )
    release.mechanism.verify(release)
    parts = (*sorted(part.identifier for part in release.parts), *release.known_digests)

    def alone() -> Distribution:
        decoder = release_decoder(release.mechanism, release.domain)
        return decoder.decode(release.channel, release)

    return ReadWeek(
        name, release.domain, release.channel, release, release.guarantee, parts, alone=alone
    )


def _check_names(names: list[str], weeks: int) -> None:
    if len(names) != weeks:
        raise ArgumentError("names", f"must be one for each of the {weeks} weeks", str(len(names)))
    check_names(names)


def check_domain(domain: Domain, first: Domain, names: tuple[str, str]) -> None:
    """Raise MismatchError when a week is on another domain than the first."""
    one, other = domain.to_document(), first.to_document()
    if one != other:
        apart = [key for key in other if one.get(key) != other[key]]
        differ = f" (its {' and '.join(apart)} differ{'s' if len(apart) == 1 else ''})"
        raise MismatchError(
            f"all weeks of a series must have one domain, but {names[0]} and {names[1]} "
            f"differ{differ if apart else ''}. Decode weeks before and after a change of the "
            "question separately"
        )


def _check_size(domain: Domain, weeks: int) -> None:
    """Raise UnsupportedChannelError where a dense matrix of each week would be too much."""
    if domain.inside_size > LIMIT:
        raise UnsupportedChannelError(
            f"weeks of numbers are decoded together on at most {LIMIT:,} bins, got "
            f"{domain.inside_size:,}. Decode each week on its own, or use fewer bins"
        )
    most = _CELLS // domain.size**2
    if weeks > most:
        raise UnsupportedChannelError(
            f"with {domain.size} bins or labels, at most {most} weeks can be decoded together, "
            f"got {weeks}. Decode them in parts, or use fewer bins"
        )


def _of_numbers(read: list[ReadWeek], domain: Domain, *, smooth: bool) -> Series:
    given = [None if week.channel is None else (week.channel, week.observed) for week in read]
    scaled = ScaledBasis(domain)
    answer = smooth_series(given, scaled) if smooth else filter_series(given, scaled)
    weeks = _weeks(read, answer.masses, answer.uncertainties, answer.better_alone)
    if not smooth:
        return Series(weeks, (), False, _made("random-walk"))
    errors = answer.errors
    assert errors is not None
    there = [number for number, week in enumerate(read) if week.channel is not None]
    changes = []
    for found in found_changes(answer.walk, answer.looks):
        since = max(number for number in there if number < found.week)
        shift = _shift(errors, weeks, since, found.week)
        changes.append(SeriesChange(found.week, since, found.kind, found.evidence, shift))
    return Series(weeks, tuple(changes), True, _made("random-walk"), errors)


def _of_labels(read: list[ReadWeek], domain: Domain, *, smooth: bool) -> Series:
    try:
        shares = [_shares(week) for week in read]
    except (UnsupportedChannelError, TallyError):  # the second: a group has no reports
        nothing = [None] * len(read)
        weeks = _weeks(read, nothing, nothing, frozenset(range(len(read))))
        return Series(weeks, (), smooth, _made("each week alone"))
    if not smooth:
        return Series(_weeks(read, *walked_labels_so_far(shares)), (), False, _made("label-walk"))
    answer = walked_labels(shares)
    weeks = _weeks(read, answer.masses, answer.uncertainties)

    there = [number for number, week in enumerate(read) if week.channel is not None]
    changes = []
    for since, week in pairwise(there):
        evidence = answer.evidence(week)
        if evidence > 0:
            shift = _shift(answer.errors, weeks, since, week)
            changes.append(SeriesChange(week, since, "jump", evidence, shift))
    return Series(weeks, tuple(changes), True, _made("label-walk"), answer.errors)


def _shift(errors: Errors, weeks: Sequence[SeriesWeek], since: int, week: int) -> Shift:
    """Return how far a week is from an earlier one."""
    laws = laws_between(errors, weeks, since, week)
    domain = next(each.distribution.domain for each in weeks if each.distribution)
    return Shift.of(laws["simultaneous"], ordered=domain.ordered)


def _shares(week: ReadWeek) -> UnbiasedShares | None:
    """Return the unbiased shares of a week of labels, with their variances about its people."""
    if week.channel is None:
        return None
    if isinstance(week.observed, Release):
        return _shares_of_release(week.channel, week.observed)
    size = week.channel.domain.size
    if size > WHOLE:
        return replace(unbiased_shares(week.channel, week.observed), whole=True)
    # The known total makes estimates of few labels better. Variances are linear in the shares.
    even, ramp = np.full(size, 1 / size), np.arange(1.0, size + 1)
    uneven = ramp / ramp.sum()
    one, two = (linear_estimate(week.channel, week.observed, plug_in=p) for p in (even, uneven))
    slope = 0.0
    if size > 1:
        off = uneven - even
        slope = float(off @ (two.noise.variance() - one.noise.variance()) / (off @ off))
    empty = np.maximum(one.noise.variance() - slope / size, 0.0)
    return UnbiasedShares(one.center, empty, slope, week.observed.total, whole=True)


def _shares_of_release(channel: Channel, release: Release) -> UnbiasedShares:
    law = noise_of_counts(channel)
    known = release.people is not None
    counted = CountedShares.of(release.blocks[0], release.total, law.variance, total_is_known=known)
    return UnbiasedShares(
        counted.center, counted.noise.variance(), 0.0, release.total, tails_of(release)
    )


def _weeks(
    read: list[ReadWeek],
    masses: Sequence[Vector | None],
    laws: Sequence[Uncertainty | None],
    alone: frozenset[int] = frozenset(),
) -> tuple[SeriesWeek, ...]:
    found = []
    for number, (week, mass, law) in enumerate(zip(read, masses, laws, strict=True)):
        made = {"class": "series", "week": week.name}
        if number in alone and week.alone is not None:
            answer = week.alone()
            mass, law, made[ALONE] = answer.mass, answer.uncertainty, ALONE
        if mass is None:
            found.append(SeriesWeek(week.name, None, NOBODY))
            continue
        found.append(
            SeriesWeek(
                week.name,
                Distribution(
                    week.domain,
                    mass,
                    reports=week.observed.total,
                    guarantee=week.guarantee,
                    uncertainty=law,
                    provenance=made
                    | week.measured
                    | steps_entry(week.channel, week.observed.total),
                ),
            )
        )
    return tuple(found)


def _made(method: str) -> dict[str, Any]:
    return {"class": "series", "method": method}
