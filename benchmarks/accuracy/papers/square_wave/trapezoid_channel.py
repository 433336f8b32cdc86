"""The channel of a trapezoidal wave with products in O(outputs), for a figure of many decodes.

The library multiplies with a table of any shape by FFTs. A trapezoid is a polygon: its second
difference is zero but at a few corners, so a product is a weighted sum of a few shifts of a double
prefix sum. It takes a quarter of the time, and is the same matrix to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from lapwing.decoders.decoder import Decoder
from lapwing.linear.compiled_kernel import compiled
from lapwing.linear.operators.banded import SlidingTable
from lapwing.linear.operators.operator import Operator
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.messages.tally import Kind

Vector = NDArray[np.float64]

_FLAT = 1e-12
"""Second differences below this part of the largest are rounding: no corner."""


class SlidingPolygon(Operator):
    """The matrix of a :class:`SlidingTable` whose table has few corners.

    Parameters
    ----------
    whole : SlidingTable
    """

    def __init__(self, whole: SlidingTable) -> None:
        super().__init__(whole.shape)
        bends = np.diff(np.pad(whole.table - whole.outside, 2), 2)
        self.places = np.flatnonzero(np.abs(bends) > _FLAT * np.abs(bends).max())
        self.weights = bends[self.places]
        self.outside = whole.outside

    def _matvec(self, x: Vector) -> Vector:
        out = np.empty(self.shape[0])
        _slide(np.ravel(x), self.places, self.weights, self.outside, out)
        return out

    def _rmatvec(self, r: Vector) -> Vector:
        # Turned round, the sums over a window that starts at i are those over one that ends there.
        out = np.empty(self.shape[0])
        _slide(np.ravel(r)[::-1].copy(), self.places, self.weights, self.outside, out)
        return out[: -self.shape[1] - 1 : -1].copy()


@dataclass(frozen=True)
class ByCorners:
    """Decode a trapezoidal wave by a decoder whose products go over the corners.

    Parameters
    ----------
    decoder : Decoder
    """

    decoder: Decoder
    name: ClassVar[str] = "by-corners"
    reads: ClassVar[Kind] = "counts"

    def decode(self, channel: Channel, tally: lw.tallies.CountTally) -> Any:
        """Return the decoder's answer."""
        (block,) = channel.blocks
        assert isinstance(block.operator, SlidingTable)
        fast = Block(SlidingPolygon(block.operator), block.law)
        return self.decoder.decode(
            Channel(channel.domain, [fast], channel.fingerprint, channel.guarantee), tally
        )


@compiled()
def _slide(x, places, weights, outside, out):  # pragma: no cover
    """Write the sum of the double prefix sum of x, shifted to each place, into out."""
    total, twice = 0.0, 0.0
    sums = np.empty(out.shape[0])
    for j in range(out.shape[0]):
        if j < x.shape[0]:
            total += x[j]
        twice += total
        sums[j] = twice
    for j in range(out.shape[0]):
        out[j] = outside * total
    for k in range(places.shape[0]):
        place, weight = places[k], weights[k]
        for j in range(place, out.shape[0]):
            out[j] += weight * sums[j - place]
