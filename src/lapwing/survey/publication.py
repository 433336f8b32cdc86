"""A curator's work in one call: count, release with a privacy guarantee, decode, and read."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

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
from lapwing.linear.arrays import cached_property
from lapwing.planning.release_choice import Choice
from lapwing.planning.release_defaults import mechanism_choice, release_decoder
from lapwing.privacy.guarantee import Guarantee, weakest_standing
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism, Release, check_unit
from lapwing.registry import MECHANISMS, publication_of
from lapwing.results.counted import ALL_NOISE, VAGUE, all_noise, counted_word, vague
from lapwing.results.distribution import Distribution
from lapwing.results.steps import Detail
from lapwing.results.timeline import segments_figure
from lapwing.results.uncertainty import Target
from lapwing.results.weak_parameters import warn_of_parameters

Drawn = TypeVar("Drawn")

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
        subclass: Any = publication_of(document.get("format"))
        if subclass is not None:
            return subclass.from_document(document)  # type: ignore[no-any-return]
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


@dataclass(frozen=True)
class PlannedRelease:
    """A checked release, which only the ledger or too many people can still refuse.

    Made by :func:`planned_release`, before the values are looked at.

    loss: Its privacy cost.
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

        def draw(identifier: str | None) -> Release:
            made = self.mechanism.release(summary, self.promise, rng=rng, identifier=identifier)
            keep(made)
            return made

        guarantee = self.guarantee.marked(weakest_standing(standing_of(rng), summary.standing))
        made = drawn_and_paid(
            draw, guarantee, self.loss, ledger=ledger, name=name, rounds=self.mechanism.rounds
        )
        return Publication(made, choice=self.choice)


def drawn_and_paid(
    draw: Callable[[str | None], Drawn],
    guarantee: Guarantee,
    loss: PrivacyLoss,
    *,
    ledger: LedgerFile | Path | str | None,
    name: str,
    rounds: int = 1,
) -> Drawn:
    """Return what is drawn, once a ledger has paid for it, where one is named.

    draw: Takes the identifier of the payment, or None, and stores what it draws.
    """
    if ledger is None:
        return draw(None)
    identifier = secrets.token_hex(16)
    with Ledger.open(ledger).paying(name, guarantee, loss=loss, release=identifier, rounds=rounds):
        return draw(identifier)


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
    return PlannedRelease(chosen, promise, checked_loss(chosen, domain, promise), choice)


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
