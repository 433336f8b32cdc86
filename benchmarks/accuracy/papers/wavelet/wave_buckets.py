"""SW-EM as in Li's experiments: values are randomized first, then the reports put into buckets.

Li et al. 2020, section 5.4 (R-B): a report is a number in [-b, 1 + b], the aggregator cuts that
interval into as many buckets as the histogram has bins, and EM gets the buckets' counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.papers.wavelet import wave_kernels
from lapwing.decoders.decoder import Decoder
from lapwing.linear.operators.operator import Operator
from lapwing.protocol.channels.channel import Block, Channel, Multinomial

Matrix = NDArray[np.float64]


def bucket_of(outputs: int, buckets: int) -> NDArray[np.int64]:
    """Return in which of so many equal buckets each point of the reports' grid lies."""
    return np.arange(outputs) * buckets // outputs


class Bucketed(Operator):
    """A matrix of buckets by bins, kept as its steps from bucket to bucket.

    Parameters
    ----------
    matrix : numpy.ndarray
        float64 [buckets, bins]: how likely a value of each bin is reported in each bucket.
    sizes : numpy.ndarray
        float64 [buckets]: points of the reports' grid in each.
    """

    def __init__(self, matrix: Matrix, sizes: Matrix) -> None:
        super().__init__((matrix.shape[0], matrix.shape[1]))
        steps = np.diff(matrix / sizes[:, None], axis=0, prepend=0.0).T
        kept = np.abs(steps) > 1e-12 * np.abs(steps).max()
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        rows = np.nonzero(kept)[1]
        self._parts = (starts, rows, np.ascontiguousarray(steps[kept]), sizes)

    def _matvec(self, x: Matrix) -> Matrix:
        product: Matrix = wave_kernels.forward(*self._parts, np.asarray(x, float).reshape(-1))
        return product

    def _rmatvec(self, r: Matrix) -> Matrix:
        product: Matrix = wave_kernels.backward(*self._parts, np.asarray(r, float).reshape(-1))
        return product


def bucketed(channel: Channel, bins: int) -> Channel:
    """Return what `bins` bins of values are seen as through so many buckets of a wave's reports.

    Values are even within a bin, as the paper's transition matrix has them.

    Parameters
    ----------
    channel : Channel
        Of a square wave on a fine grid, whose points are a multiple of the bins.
    """
    (block,) = channel.blocks
    outputs, points = block.operator.shape
    of = bucket_of(outputs, bins)
    even = np.repeat(np.eye(bins), points // bins, axis=0) * (bins / points)
    matrix = np.zeros((bins, bins))
    np.add.at(matrix, of, block.operator.matmat(even))
    operator = Bucketed(matrix, np.bincount(of).astype(float))
    domain: Any = channel.domain
    return Channel(
        domain.refined(bins),
        [Block(operator, Multinomial())],
        channel.fingerprint,
        channel.guarantee,
    )


@dataclass(frozen=True)
class InBuckets:
    """Put a fine wave's reports into as many buckets as bins, then decode."""

    bins: int
    decoder: Decoder
    name: ClassVar[str] = "in-buckets"
    reads: ClassVar[str] = "counts"
    _made: dict[str, Channel] = field(default_factory=dict, repr=False, compare=False)

    def decode(self, channel: Channel, tally: lw.tallies.CountTally) -> Any:
        """Return the decoder's answer from the buckets' counts."""
        bins = min(self.bins, channel.domain.size)
        if channel.fingerprint not in self._made:
            self._made.clear()  # one wave at a time is enough
            self._made[channel.fingerprint] = bucketed(channel, bins)
        (counts,) = tally.blocks
        inside = np.zeros(bins, dtype=np.int64)
        np.add.at(inside, bucket_of(counts.size, bins), counts)
        coarse = self._made[channel.fingerprint]
        return self.decoder.decode(
            coarse, lw.tallies.CountTally([inside], tally.reports, tally.fingerprint)
        )
