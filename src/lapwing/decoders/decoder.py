"""Interface of the decoders, and the parts that they share."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Protocol, TypeVar, cast, get_args

import numpy as np

from lapwing.decoders.resolution import steps_entry
from lapwing.errors import ArgumentError, UnsupportedChannelError, kind_of
from lapwing.linear.arrays import Vector
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.observation import Kind, Observation
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.uncertainty import Uncertainty

Part = TypeVar("Part")


class Decoder(Protocol):
    """Estimator of a distribution: a frozen dataclass of options."""

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

    reads: ClassVar[Kind]
    """Kind of observation that it decodes: counts, stored reports, or a curator's release."""
    # A decoder of counts also decodes stored reports, which are counted first.

    def decode(self, channel: Any, observation: Any, /) -> Distribution:
        """Return the estimate.

        Parameters
        ----------
        channel : Channel
            Distribution of a report, or of a release's answers, for each value.
        observation : CountTally, TallyLog or Release
            Observation of the kind that `reads` names.

        Returns
        -------
        Distribution
            Estimate, with intervals where the decoder has them.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not offer what this decoder needs.
        MismatchError
            When the observation was made for another channel.
        TallyError
            When the observation is a tally without reports.
        """
        ...


class SearchDecoder(Protocol):
    """A decoder that searches labels: it returns those that stand out from the noise."""

    name: ClassVar[str]
    reads: ClassVar[Kind]

    def decode(self, channel: Any, observation: Any, /) -> HeavyHitters:
        """Return the heavy hitters, with the errors of a :class:`Decoder`."""
        ...


_ANSWERS = ("distribution", "joint-distribution", "heavy-hitters")
"""What a decoder may return."""


def check_reads(decoder: Any) -> None:
    """Raise ArgumentError unless a decoder, or its class, says which observations it decodes."""
    kinds = get_args(Kind)
    if getattr(decoder, "reads", None) not in kinds:
        raise ArgumentError(f"the `reads` of a decoder must be one of {', '.join(kinds)}")


def require_answer(answer: Any, domain: Domain, name: str) -> None:
    """Refuse an object that is no answer of a decoder, which a custom one may return.

    Raises ArgumentError when it is not a result, or on another domain than the channel's.
    """
    if getattr(answer, "_kind", None) not in _ANSWERS:
        raise ArgumentError(
            f"the decoder {name} must return a Distribution, JointDistribution or HeavyHitters, "
            "it returned "
            f"{kind_of(answer)}"
        )
    if answer.domain != domain:
        raise ArgumentError(f"the decoder {name} answered on another domain than the channel's")


def decoder_document(decoder: Any) -> dict[str, Any]:
    """Return the JSON form of a decoder: its name and its parameters."""
    return {"class": decoder.name, **dataclasses.asdict(decoder)}


def guarantee_of(promised: Guarantee | None, observation: Observation) -> Guarantee | None:
    """Return the guarantee of a result: that of its channel, marked as what was observed is."""
    return None if promised is None else promised.marked(getattr(observation, "standing", None))


def distribution_of(
    channel: Channel,
    observation: Observation,
    mass: Vector,
    *,
    provenance: dict[str, Any],
    uncertainty: Uncertainty | None = None,
    signed: SignedEstimate | None = None,
) -> Distribution:
    """Return decoded masses with what every estimate carries on from what was observed.

    channel: Its domain, and the guarantee under which the reports were collected.
    observation: For the number of people.
    mass: float64 [domain.size].
    provenance: How: :func:`decoder_document`, and what the decoder learned on the way. The number
        of steps that a picture of the density has is added (:func:`resolved_steps`).
    uncertainty: Error distribution. Without one there is no band.
    signed: The estimate before it became a distribution. It gets the guarantee and the provenance
        of the distribution.
    """
    if isinstance(channel.domain, Product):
        # Most callers decode one attribute, so the declared type is that of its result.
        return cast(Distribution, _joint(channel, observation, mass, provenance, uncertainty))
    return Distribution(
        channel.domain,
        mass,
        reports=observation.total,
        guarantee=guarantee_of(channel.guarantee, observation),
        uncertainty=uncertainty,
        provenance=provenance | steps_entry(channel, observation.total),
        signed=signed,
    )


def _joint(
    channel: Channel,
    observation: Observation,
    mass: Vector,
    provenance: dict[str, Any],
    uncertainty: Uncertainty | None,
) -> Any:
    """Return decoded masses of pairs, with draws of their errors."""
    from lapwing.results.joint_distribution import JointDistribution
    from lapwing.results.joint_uncertainty import JointUncertainty

    domain: Any = channel.domain
    draws = None
    if uncertainty is not None:
        law = uncertainty.about("simultaneous", "empirical")
        errors = law.noise.sample(_DRAWS_OF_PAIRS, np.random.default_rng(0))
        draws = JointUncertainty(law.center, errors.astype(np.float32), law.method)
    return JointDistribution(
        domain,
        mass,
        reports=observation.total,
        guarantee=guarantee_of(channel.guarantee, observation),
        uncertainty=draws,
        provenance=provenance,
    )


_DRAWS_OF_PAIRS = 200
"""Draws of the errors of pairs from a covariance."""


def required(part: object, kind: type[Part], refusal: str) -> Part:
    """Return a part of a channel that a decoder needs: its operator or its distribution.

    Raises UnsupportedChannelError with the words of `refusal`, when it is of another class.
    """
    if not isinstance(part, kind):
        raise UnsupportedChannelError(refusal)
    return part
