"""What every decoder offers."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Protocol

from lapwing.channel import Channel
from lapwing.distribution import Distribution
from lapwing.signed_estimate import SignedEstimate
from lapwing.tally import Counts


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


def decoder_document(decoder: Any) -> dict[str, Any]:
    """Return the JSON form of a decoder: its name and its knobs."""
    return {"class": decoder.name, **dataclasses.asdict(decoder)}
