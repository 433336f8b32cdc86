"""What every decoder offers."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Protocol

from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import Counts, ReportLog
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.signed_estimate import SignedEstimate


class Decoder(Protocol):
    """From counts of reports to the distribution behind them; a frozen dataclass of knobs."""

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

    reads: ClassVar[Kind]
    """What it decodes: counts. A log is counted for it."""

    def decode(self, channel: Channel, tally: Counts) -> Distribution | SignedEstimate:
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

    def decode(self, channel: Any, tally: ReportLog) -> HeavyHitters:
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


class AnyDecoder(Protocol):
    """A decoder whose `reads` says what it may be given, and a channel of that."""

    name: ClassVar[str]
    reads: ClassVar[Kind]

    def decode(
        self, channel: Any, observation: Any, /
    ) -> Distribution | SignedEstimate | HeavyHitters:
        """Return what the observation says."""
        ...


def decoder_document(decoder: Any) -> dict[str, Any]:
    """Return the JSON form of a decoder: its name and its knobs."""
    return {"class": decoder.name, **dataclasses.asdict(decoder)}
