"""What every decoder offers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, get_args

from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.observation import Kind, Observation
from lapwing.protocol.messages.tally import CountTally, TallyLog
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.uncertainty import Uncertainty

Estimate = TypeVar("Estimate", bound=Distribution | SignedEstimate)

Part = TypeVar("Part")

# With a default: who writes Decoder alone need not say what it returns.
if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    Answer = DefaultTypeVar(
        "Answer",
        bound=Distribution | SignedEstimate | HeavyHitters,
        default=Distribution | SignedEstimate,
        covariant=True,
    )
    AnyAnswer = DefaultTypeVar(
        "AnyAnswer",
        bound=Distribution | SignedEstimate | HeavyHitters,
        default=Distribution | SignedEstimate | HeavyHitters,
        covariant=True,
    )
else:
    Answer = TypeVar("Answer", covariant=True)
    AnyAnswer = TypeVar("AnyAnswer", covariant=True)


class Decoder(Protocol[Answer]):
    """From counts of reports to the distribution behind them; a frozen dataclass of knobs."""

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

    reads: ClassVar[Kind]
    """What it decodes: counts. A log is counted for it."""

    def decode(self, channel: Channel, tally: CountTally) -> Answer:
        """Return the estimate.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not offer what this decoder asks for.
        MismatchError
            When the tally was made for another channel.
        TallyError
            When the tally holds no reports.
        """
        ...


class LogDecoder(Protocol):
    """From a log of hashed reports to the values that stand out; a frozen dataclass of knobs."""

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

    reads: ClassVar[Kind]
    """What it decodes: a log itself, not the counts that it gives."""

    def decode(self, channel: Any, tally: TallyLog) -> HeavyHitters:
        """Return the heavy hitters of a log's channel; errors as of a :class:`Decoder`."""
        ...


class ReleaseDecoder(Protocol):
    """From a curator's release to the distribution behind it; a frozen dataclass of knobs."""

    name: ClassVar[str]
    """Kebab-case name in documents."""

    reads: ClassVar[Kind]
    """What it decodes: a release."""

    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution; errors as of a :class:`Decoder`."""
        ...


class AnyDecoder(Protocol[AnyAnswer]):
    """A decoder whose `reads` says what it may be given, and a channel of that."""

    name: ClassVar[str]
    reads: ClassVar[Kind]

    def decode(self, channel: Any, observation: Any, /) -> AnyAnswer:
        """Return what the observation says."""
        ...


def check_reads(decoder: Any) -> None:
    """Raise ArgumentError unless a decoder, or its class, says which observations it decodes."""
    kinds = get_args(Kind)
    if getattr(decoder, "reads", None) not in kinds:
        raise ArgumentError(f"the `reads` of a decoder must be one of {', '.join(kinds)}")


def require_answer(answer: Any, domain: Domain, name: str) -> None:
    """Refuse what is no answer of a decoder; somebody else's may return anything.

    Raises
    ------
    ArgumentError
        When it is no result, or on another domain than the channel's.
    """
    if getattr(answer, "kind", None) not in ("distribution", "signed-estimate", "heavy-hitters"):
        raise ArgumentError(
            f"the decoder {name} must return a Distribution, a SignedEstimate or HeavyHitters, "
            f"it returned {_said(answer)}"
        )
    if answer.domain != domain:
        raise ArgumentError(f"the decoder {name} answered on another domain than the channel's")


def _said(thing: Any) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"a {type(thing).__name__}"


def decoder_document(decoder: Any) -> dict[str, Any]:
    """Return the JSON form of a decoder: its name and its knobs."""
    return {"class": decoder.name, **dataclasses.asdict(decoder)}


def answer_as(
    kind: type[Estimate],
    channel: Channel,
    observation: Observation,
    mass: Vector,
    *,
    made: dict[str, Any],
    uncertainty: Uncertainty | None = None,
) -> Estimate:
    """Return decoded masses with what every estimate carries on from what was observed.

    Parameters
    ----------
    kind : type
        Distribution, or SignedEstimate where masses may be negative or not sum to one.
    channel : Channel
        Its domain, and the promise under which the reports were collected.
    observation : Observation
        For the number of people.
    mass : numpy.ndarray
        float64 [domain.size].
    made : dict
        How: :func:`decoder_document`, and what the decoder found out on the way.
    uncertainty : Uncertainty, optional
        The error law; without one there is no band.
    """
    return kind(
        channel.domain,
        mass,
        reports=observation.total,
        guarantee=channel.guarantee,
        uncertainty=uncertainty,
        made=made,
    )


def required(part: object, kind: type[Part], refusal: str) -> Part:
    """Return a part of a channel that a decoder cannot do without: its operator or its law.

    Raises
    ------
    UnsupportedChannelError
        With the words of `refusal`, when it is of another class.
    """
    if not isinstance(part, kind):
        raise UnsupportedChannelError(refusal)
    return part
