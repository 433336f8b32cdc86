"""A curator's work in one call: count, release with a privacy guarantee, decode, and read."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lapwing.decoders.decoder import Decoder
from lapwing.decoders.releases.segment_curves import (
    Segment,
    is_table_of_curves,
    segment_distributions,
    somebody_in_none,
    table_of_curves,
)
from lapwing.documents import Stored, html_of
from lapwing.errors import ArgumentError, MismatchError, PrivacyError, WeakAnswerWarning
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.planning.chosen_bins import advice_on, with_bins
from lapwing.planning.release_choice import Choice
from lapwing.planning.release_defaults import (
    mechanism_choice,
    release_bins,
    release_decoder,
)
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.guarantee import Guarantee, Neighbors, american, weakest_standing
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.exact_counts import ExactCounts, require_one_column
from lapwing.protocol.messages.unit_rows import require_column, unit_named
from lapwing.protocol.release import Mechanism, Release, check_unit
from lapwing.registry import MECHANISMS
from lapwing.results.band import Target
from lapwing.results.counted import ALL_NOISE, VAGUE, all_noise, counted_word, vague
from lapwing.results.distribution import Distribution
from lapwing.results.steps import Detail
from lapwing.results.timeline import segments_figure
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
        Public: what may be stored, sent and added.
    note : str
        How the bins were chosen, where the domain had none, else empty.
    choice : Choice, optional
        How the mechanism was chosen, where it was chosen from several. None for a loaded release.
        The distribution's provenance holds it.
    """

    release: Release
    note: str = field(default="", compare=False)
    choice: Choice | None = field(default=None, compare=False)

    _name: ClassVar = "a release"

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: that of the release, from which the distribution follows.

        Returns
        -------
        dict
            JSON object that :meth:`from_document` reads.
        """
        return self.release.to_document()

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the publication of a stored release. FormatError when it is none.

        Parameters
        ----------
        document : dict
            JSON object that :meth:`to_document` returned.
        """
        return cls(Release.from_document(document))

    @property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of each person that it is about."""
        return self.release.guarantee

    @cached_property
    def distribution(self) -> Distribution:
        """The decoded distribution, with its band."""
        if is_table_of_curves(self.release):
            return table_of_curves(self.release, self._segments)
        result = decode_release(self.release)
        if self.choice is not None:
            chosen = {"choice": self.choice.to_document()}
            result = replace(result, provenance=result.provenance | chosen)
        if self.guarantee.unit is not None and all_noise(result):
            warnings.warn(
                f"{ALL_NOISE}. The noise is as large as what was counted. A smaller `most`, a "
                "larger epsilon or more rows would tell more",
                WeakAnswerWarning,
                stacklevel=3,
            )
        return result

    def by_segment(self) -> dict[Segment, Distribution]:
        """Return the distribution within each segment. See :func:`segment_distributions`.

        Returns
        -------
        dict
            Distribution of each segment, by its label. Rows in none of the segments are under None,
            if the 95% interval of their number excludes zero.

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
        """Draw the distribution. Of a release by segment, a small picture of each segment.

        Parameters
        ----------
        detail : {"resolved", "all"}
            Density in steps that the release can distinguish, or every bin.
        title, label : str, optional
            Of the picture, and of the values: what they are, and their unit.
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


@american
def release(
    values: Values | ExactCounts,
    domain: Domain | None = None,
    *,
    neighbors: Neighbors,
    epsilon: ExactNumber | None = None,
    delta: ExactNumber = 0,
    mu: ExactNumber | None = None,
    rho: ExactNumber | None = None,
    mechanism: Mechanism | str | None = None,
    expected: int | None = None,
    by: Values | None = None,
    segments: Sequence[str | int] | None = None,
    texts: Texts = "iso",
    unit: Values | None = None,
    most: int | None = None,
    ledger: LedgerFile | Path | str | None = None,
    name: str = "release",
    rng: RandomSource | None = None,
) -> Publication:
    """Publish the distribution of raw values once, under central differential privacy.

    Parameters
    ----------
    values : array_like [n], or ExactCounts
        What the people hold, each read on its own. Values outside the domain are clipped, or
        counted below and above where it does not clip. Missing and unreadable values get a
        symbol, as does every value that is no label, unless the domain names an `other`. There may
        be none.
    domain : Interval, Integers or Categories
        Public: its bounds or labels must not come from the data. Left out for ExactCounts. An
        interval without bins gets a round width by the privacy parameters alone: 128 to 512 bins,
        or 512 to 2048 from epsilon 2 on. By segment at pure epsilon it gets 32 to 128 bins.
        `Publication.note` says which.
    neighbors : {"replace-one", "add-or-remove-one"}
        What is protected. "replace-one" makes the number of people public.
    epsilon, delta, mu, rho : number or text
        Exactly one of epsilon (with delta), mu and rho. See :class:`Promise`.
    mechanism : Mechanism or str, optional
        One, or the name of one without its knobs, such as "sum-tree". Default: the mechanism of
        least predicted error. `Publication.choice` names it and the one that comes next.
    expected : int, optional
        Expected number of people (with `unit`, of rows), for the choice of the mechanism. It must
        be public and not come from the data. Default: the choice suits 1,000 to a million
        people alike. Sites whose releases are to be added must all give the same number, or none.
        All of them must have a ledger, or none. Labels, and any column with `by`, have one default
        mechanism, which it does not change.
    by : array_like [n], optional
        The segment of each person, which is as protected as the value: a replaced row may change
        both. Then :meth:`Publication.by_segment` has a distribution for each.
    segments : sequence of str or int, optional
        The segments, for `by`: public, and not from the data. Rows in none of them are kept apart.
    texts : {"iso", "days", "seconds"}
        How strings of dates, times and durations are read:
        :mod:`lapwing.protocol.domains.text_values`.
    unit : array_like [n], optional
        Whose each row is, where a person may have several: user numbers, say. The unit with all
        its rows is then protected. Rows that name no unit are left out. The number of rows is
        secret, with either relation. Default: each row is of another person.
    most : int, optional
        With `unit`: rows of one unit that are counted, random ones where it has more. Noise grows
        in proportion. It must not come from the data.
    ledger : LedgerFile or path, optional
        Pays for the release before its noise is drawn. With a delta, the default mechanism then has
        Gaussian noise, because it composes more tightly.
    name : str
        Of the entry in the ledger.
    rng : RandomSource, optional
        Default: secure randomness. A seeded one is for tests and simulation only.

    Returns
    -------
    Publication
        Release, and the distribution that follows from it.

    Raises
    ------
    PrivacyError, ArgumentError, DomainError
        Before anything is drawn or released. BudgetError when the ledger cannot pay.

    Warns
    -----
    RowsWarning
        Of 100 values or more, before anything is paid: when more than half are missing, unreadable
        or outside the range, or more than 1% are unreadable. It holds exact counts, for your eyes.
    PrivacyWarning
        Before anything is paid, when epsilon is above 4 or delta is above 1e-3. Also when delta is
        at least 1/n, if the number n of people is public.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).normal(40, 10, size=20_000)
    >>> with lw.testing.reproducible(1):
    ...     published = lw.release(ages, lw.Interval(0, 100, bins=128), neighbors="replace-one",
    ...                         epsilon=1, delta=1e-6)
    >>> round(float(published.distribution.quantile(0.5)))
    40
    """
    counted = isinstance(values, ExactCounts)
    if counted and (unit is not None or most is not None):
        raise ArgumentError("exact counts know their unit. Leave unit and most out")
    whose = values.unit if isinstance(values, ExactCounts) else unit_named(unit, most)
    promise = Promise(neighbors, epsilon=epsilon, delta=delta, mu=mu, rho=rho, unit=whose)
    note = ""
    require_column(by, name="by", what="the segment of each row")
    if domain is not None:
        require_one_column(domain)
        domain, note = with_bins(domain, release_bins(promise, by_segment=segments is not None))
        require_domain(domain)
        note = f"{advice_on(domain)} {note}".strip()
    if isinstance(values, ExactCounts):
        if domain is not None and domain.for_curator() != values.domain:
            raise MismatchError("the domain is not that of the exact counts. Leave it out")
        curated = values.domain
    elif domain is None:
        raise ArgumentError(
            "raw values need a domain. Its bounds or labels must be public knowledge"
        )
    else:
        curated = (domain if segments is None else Segmented(domain, segments)).for_curator()
    _check_segments(values, by, segments, curated)
    # Checked before the values are looked at, or anything is paid.
    planned = planned_release(
        curated, promise, mechanism, expected=expected, composed=ledger is not None
    )
    if isinstance(values, ExactCounts):
        summary = values
    else:
        summary = ExactCounts._of_rows(
            values, by, curated, texts=texts, units=unit, most=most, rng=rng, stacklevel=4
        )
    return replace(planned.publish(summary, ledger=ledger, name=name, rng=rng), note=note)


def _check_segments(
    values: Any, by: Values | None, segments: Sequence[str | int] | None, domain: Domain
) -> None:
    """Raise ArgumentError unless there are segments of people where there is a list of them."""
    if isinstance(values, ExactCounts):
        if by is not None or segments is not None:
            raise ArgumentError("exact counts know their segments. Leave by and segments out")
    elif (by is not None) != isinstance(domain, Segmented):
        raise ArgumentError(
            "by and segments belong together: the segment of each person, and the public list"
        )


@dataclass(frozen=True)
class PlannedRelease:
    """A release that nothing is left to be refused for but the ledger and too many people.

    Made by :func:`planned_release`, before the values are looked at.

    loss: What it will cost.
    choice: How the mechanism was chosen, where it was chosen from several.
    """

    mechanism: Mechanism
    promise: Promise
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
        keep: Callable[[Release], None] = lambda release: None,
    ) -> Publication:
        """Pay and release. See :func:`release`.

        keep: Stores the release while its payment is open: if it fails, the payment stays marked as
            interrupted.
        """
        check_unit(self.mechanism, self.promise, summary)
        check_people(self.mechanism, summary)
        people = summary.people if self.promise.shows_people else None
        warn_of_parameters(self.promise, self.guarantee.epsilon, people, stacklevel=4)
        rng = source_of(rng)  # before anything is paid
        if ledger is None:
            made = self.mechanism.release(summary, self.promise, rng=rng)
            keep(made)
            return Publication(made, choice=self.choice)
        file = Ledger.open(ledger)
        identifier = secrets.token_hex(16)
        rounds = self.mechanism.rounds
        paid = self.guarantee.marked(weakest_standing(standing_of(rng), summary.standing))
        with file.paying(name, paid, loss=self.loss, release=identifier, rounds=rounds):
            made = self.mechanism.release(summary, self.promise, rng=rng, identifier=identifier)
            keep(made)
        return Publication(made, choice=self.choice)


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
        raise ArgumentError("expected chooses the mechanism. Leave it out, or mechanism")
    else:
        chosen = MECHANISMS.resolve(mechanism)
    return PlannedRelease(chosen, promise, checked_loss(chosen, domain, promise), choice)


def checked_loss(mechanism: Mechanism, domain: Domain, promise: Promise) -> PrivacyLoss:
    """Return what a release will cost, once nothing is left that it could be refused for.

    The one door to a payment: what is refused after it would have been paid for nothing.

    Raises ArgumentError, PrivacyError, MissingExtraError when the mechanism does not suit the
    domain, cannot keep the privacy guarantee, or would need noise that cannot be drawn.
    """
    if domain.ordered and domain.left.size < 2:
        raise ArgumentError(
            "a distribution function needs at least two symbols, besides the missing one. Use a "
            "domain with more bins"
        )
    check_unit(mechanism, promise)
    mechanism.check(domain)
    loss = mechanism.loss(domain, promise)
    if not promise.allows(loss):
        raise PrivacyError(
            f"{mechanism.name} would cost more than the privacy parameters allow. Nothing was "
            f"drawn or paid"
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
            f"{mechanism.name} adds exactly up to {most} people, got {summary.people}. Release "
            "parts of them, or use prefix sums"
        )


def decode_release(release: Release, decoder: Decoder | None = None) -> Distribution:
    """Return the distribution behind a release, by the decoder that suits its mechanism.

    decoder: Default: the one of the mechanism. Of a table by segment each segment is decoded alone.
    returns: Distribution over the symbols, or over the cells of a table.
    """
    if decoder is None and is_table_of_curves(release):
        return table_of_curves(release, segment_distributions(release))
    chosen = release_decoder(release.mechanism, release.domain) if decoder is None else decoder
    return chosen.decode(release.mechanism.channel_for(release), release)
