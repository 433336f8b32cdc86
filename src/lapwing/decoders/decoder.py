"""What every decoder offers."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Protocol

from lapwing.channel import Channel
from lapwing.distribution import Distribution
from lapwing.heavy_hitters import HeavyHitters
from lapwing.signed_estimate import SignedEstimate
from lapwing.tally import Counts, ReportLog


class Decoder(Protocol):
    """From counts of reports to the distribution behind them; a frozen dataclass of knobs."""

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

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

    reads_log: ClassVar[bool]
    """True: it decodes the log itself, not the counts that it gives."""

    def decode(self, channel: Any, tally: ReportLog) -> HeavyHitters:
        """Return the heavy hitters of a log's channel; errors as of a :class:`Decoder`."""
        ...


def decoder_document(decoder: Any) -> dict[str, Any]:
    """Return the JSON form of a decoder: its name and its knobs."""
    return {"class": decoder.name, **dataclasses.asdict(decoder)}
