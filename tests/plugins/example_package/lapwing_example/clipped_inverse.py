"""The inverse of the channel's matrix, with what is below zero cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from lapwing import Distribution
from lapwing.decoders.decoder import decoder_document
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.protocol import Channel
from lapwing.tallies import CountTally


@dataclass(frozen=True)
class ClippedInverse:
    """Counts through the inverse matrix, at least `floor`, divided by their sum."""

    floor: float = 0.0

    name: ClassVar[str] = "clipped-inverse"
    reads: ClassVar[Literal["counts"]] = "counts"

    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        channel.check(tally)
        (block,), (counts,) = channel.blocks, tally.blocks
        if block.operator.shape[0] != block.operator.shape[1]:
            raise UnsupportedChannelError("clipped-inverse needs a square matrix")
        shares = np.linalg.solve(dense(block.operator), counts / tally.total)
        mass = np.maximum(shares, self.floor)
        return Distribution(
            channel.domain,
            mass / mass.sum(),
            reports=tally.total,
            guarantee=channel.guarantee,
            provenance=decoder_document(self),
        )
