"""The square wave as the paper's experiments run it: randomize first, then put into buckets.

Section 5.4: a person reports a real number in [-b, 1 + b]; the aggregator puts the reports into as
many buckets as the estimate has bins ("we set d~ = d for simplicity") and takes a value to be
anywhere in its bin. Here a value is one of `FINER` points in each bin, and its report is uniform in
the cell of the point that the library's wave on this fine grid answers with: that is the continuous
wave of half-width (h + 1/2) / points around the point, but for half a cell at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import lapwing as lw
from benchmarks.accuracy.papers.figure_columns import CountVector, Vector, interval
from lapwing.decoders.decoder import Decoder
from lapwing.linear.compiled_kernel import compiled
from lapwing.linear.operators.banded import SlidingWindow
from lapwing.papers.square_wave.sliding_box import SlidingBox
from lapwing.protocol.channels.channel import Block, Channel, Multinomial
from lapwing.protocol.messages.tally import Kind

FINER = 16
"""Points of the fine grid in each bin of a figure."""


class CompiledBox(SlidingBox):
    """A :class:`SlidingBox` whose products with one vector are compiled: a sixth of the time."""

    def _matvec(self, x: Vector) -> Vector:
        out = np.empty(self.outputs)
        _box(np.ravel(x), *self._upper, *self._lower, self._gap, self._floor, out)
        return out

    def _rmatvec(self, r: Vector) -> Vector:
        out = np.empty(self.inputs)
        _box_adjoint(np.ravel(r), *self._upper, *self._lower, self._gap, self._floor, out)
        return out

    @property
    def _gap(self) -> float:
        return self.inside - self.outside

    @property
    def _floor(self) -> float:
        return self.outside * self._output_width


def half_width(wave: SlidingWindow) -> float:
    """Return b of the continuous wave that a wave on a fine grid stands for."""
    return wave.width / (2 * wave.size)


def bucket_counts(tally: CountVector, wave: SlidingWindow, buckets: int) -> CountVector:
    """Return reports per bucket: int64 [buckets], equal parts of [-b, 1 + b].

    The reports of a cell that reaches into two buckets are shared between them by its parts.
    """
    b = half_width(wave)
    edges = (wave.width - 1) / 2 + wave.size * np.linspace(-b, 1 + b, buckets + 1)
    up_to = np.concatenate([[0], np.cumsum(tally)])
    counts = np.diff(np.rint(np.interp(edges, np.arange(up_to.size), up_to)))
    return counts.astype(np.int64)


def bucket_matrix(wave: SlidingWindow, bins: int) -> CompiledBox:
    """Return the paper's matrix M with as many buckets as bins, for a wave on a fine grid."""
    b, odds = half_width(wave), wave.inside / wave.outside
    outside = 1 / (2 * b * odds + 1)
    return CompiledBox(
        inputs=bins, outputs=bins, half_width=b, inside=odds * outside, outside=outside
    )


@dataclass(frozen=True)
class InBuckets:
    """Decode a wave on a fine grid from as many buckets of reports as the estimate has bins.

    Parameters
    ----------
    bins : int
    decoder : Decoder
        What decodes the counts of the buckets.
    """

    bins: int
    decoder: Decoder
    name: ClassVar[str] = "in-buckets"
    reads: ClassVar[Kind] = "counts"

    def decode(self, channel: Channel, tally: lw.tallies.CountTally) -> Any:
        """Return the decoder's answer at these bins."""
        wave = channel.blocks[0].operator
        assert isinstance(wave, SlidingWindow)
        counts = bucket_counts(tally.blocks[0], wave, self.bins)
        block = Block(bucket_matrix(wave, self.bins), Multinomial())
        return self.decoder.decode(
            Channel(interval(self.bins), [block], channel.fingerprint, channel.guarantee),
            lw.tallies.CountTally([counts], [int(counts.sum())], tally.fingerprint),
        )


@compiled()
def _box(x, upper, above, lower, beyond, gap, floor, out):  # pragma: no cover
    """Write the product of a sliding box with x into out; the notes of SlidingBox say how."""
    size = x.shape[0]
    cdf, area = np.zeros(size + 1), np.zeros(size + 1)
    for i in range(size):
        cdf[i + 1] = cdf[i] + x[i]
        area[i + 1] = area[i] + (cdf[i] + cdf[i + 1]) / (2 * size)
    last = 0.0
    for j in range(out.shape[0] + 1):
        i, k, s, t = upper[j], lower[j], above[j], beyond[j]
        here = area[i] + cdf[i] * s - area[k] - cdf[k] * t
        if i < size:
            here += x[i] * size * s * s / 2
        if k < size:
            here -= x[k] * size * t * t / 2
        if j > 0:
            out[j - 1] = gap * (here - last) + floor * cdf[size]
        last = here


@compiled()
def _box_adjoint(r, upper, above, lower, beyond, gap, floor, out):  # pragma: no cover
    """Write the product of the adjoint with r into out: the steps of `_box` backwards."""
    size = out.shape[0]
    to_x, to_cdf, to_area = np.zeros(size + 1), np.zeros(size + 1), np.zeros(size + 1)
    total = 0.0
    for j in range(r.shape[0] + 1):
        weight = 0.0
        if j > 0:
            weight = gap * r[j - 1]
            total += r[j - 1]
        if j < r.shape[0]:
            weight -= gap * r[j]
        i, k, s, t = upper[j], lower[j], above[j], beyond[j]
        to_area[i] += weight
        to_area[k] -= weight
        to_cdf[i] += weight * s
        to_cdf[k] -= weight * t
        to_x[i] += weight * size * s * s / 2
        to_x[k] -= weight * size * t * t / 2
    to_cdf[size] += floor * total
    later, sums = 0.0, 0.0
    for i in range(size - 1, -1, -1):
        # later: what reaches the area at knot i + 1 or beyond it
        later += to_area[i + 1]
        half = later / (2 * size)
        sums += to_cdf[i + 1] + half
        out[i] = to_x[i] + sums
        to_cdf[i] += half
