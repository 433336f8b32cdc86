"""Unbiased shares of categories, each with its own variance: what the sparse decoders start from.

For randomizers that say of every symbol whether a report *supports* it: the own symbol with
probability p, every other with q. Then ``(support / n - q) / (p - q)`` is the share, without bias,
and its variance is known for every share. No matrix is inverted, so a domain may be as large as
memory allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Vector, Whole
from lapwing.linear.operators.operator import OwnColumns
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.uncertainty import UNKNOWN

Tails = Literal["normal", "laplace"]

GUESS = 0.1
"""The share of an asked label that weights are made for, because they may not follow from data."""


def guessed_shares(size: int, asked: Sequence[int] | Whole) -> Vector:
    """Return the shares that weights are made for: float64 [size]. Those not asked are equal."""
    one = min(GUESS, 1 / (len(asked) + 1))
    shares = np.full(size, (1 - len(asked) * one) / (size - len(asked)))
    shares[[*asked]] = one
    return shares


@dataclass(frozen=True, eq=False)
class UnbiasedShares:
    """Estimates of all shares, about the respondents.

    shares: Unbiased shares, float64 [size], which may be negative. Their sum is one only on
        average.
    empty: Variance of the estimate where the share is zero, float64 [size].
    slope: Variance that a share of one adds, the same for all that are not kept. It may be
        negative. float, or float64 [size].
    reports: Number of respondents.
    tails: {"normal", "laplace"}. Distribution of the errors.
    whole: Whether errors are whole people where they are a few. Default: False.
    own: Whether a share was asked on its own, so that no prior of the others moves it, bool
        [size]. Default: none was.
    """

    shares: Vector
    empty: Vector
    slope: float | Vector
    reports: int
    tails: Tails = "normal"
    whole: bool = False
    own: NDArray[np.bool_] | None = None

    def variance(self, mass: Vector) -> Vector:
        """Return the variances of the estimates when these are the shares: float64 [size]."""
        return np.maximum(self.empty + self.slope * mass, 1e-300)

    @property
    def common_slope(self) -> float:
        """The slope of those that are not kept."""
        slopes = np.broadcast_to(self.slope, self.shares.shape)
        return float(slopes[0 if self.own is None else int(np.argmin(self.own))])

    def with_total(self) -> UnbiasedShares:
        """Return the shares with the known total of one, where the noisiest are changed most.

        This removes about 1 / size of the variance, which is not counted here.
        """
        off = 1 - float(self.shares.sum())
        return replace(self, shares=self.shares + off * self.empty / self.empty.sum())

    @property
    def deviation(self) -> Vector:
        """Standard deviations of the estimates where the share is zero: float64 [size]."""
        return np.sqrt(self.empty)


def unbiased_shares(channel: Channel, tally: CountTally) -> UnbiasedShares:
    """Return the unbiased shares of a channel that supports categories, with their variances.

    channel: Distribution of a report for each value.
    tally: Counts of at least one report.

    Raises UnsupportedChannelError for any other block. It reads generalized randomized response,
    unary encoding, subset selection, Hadamard response and the support counts of local hashing.
    Some of the people may have reported on a few labels only.

    It takes O(size), and for Hadamard response O(size log size). The estimate is that of equations
    1 and 2 of [1]_.

    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    """
    check_given(channel, tally)
    there = [
        (block.operator, counts, reports)
        for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True)
        if reports
    ]
    whole = [each for each in there if not isinstance(each[0], OwnColumns)]
    read = [one.separate_shares(counts / reports, reports) for one, counts, reports in whole]
    known = [UnbiasedShares(*one, tally.total) for one in read if one is not None]
    if len(known) == len(read):
        size = channel.domain.size
        unknown = UnbiasedShares(np.full(size, 1 / size), np.full(size, UNKNOWN), 0.0, tally.total)
        found = _weighed(known) if known else unknown
        for operator, counts, reports in there:
            if isinstance(operator, OwnColumns):
                found = _with_asked(found, operator, counts / reports, reports, spread=not known)
        return found
    raise UnsupportedChannelError(
        "this decoder needs a channel that estimates the share of every symbol on its own. "
        "Examples are generalized response, unary encoding, subset selection, Hadamard "
        "response and local hashing. For this channel, use LeastSquares or "
        "ExpectationMaximization"
    )


def _weighed(known: list[UnbiasedShares]) -> UnbiasedShares:
    """Return the mean of estimates of different people, drawn alike, weighed by precision.

    The weights are those of a share of zero, because they may not follow from the estimates.
    """
    if len(known) == 1:
        return known[0]
    precisions = np.array([1 / one.empty.mean() for one in known])
    weights = precisions / precisions.sum()
    pairs = list(zip(weights, known, strict=True))
    shares: Vector = np.sum([weight * one.shares for weight, one in pairs], axis=0)
    empty: Vector = np.sum([weight**2 * one.empty for weight, one in pairs], axis=0)
    slope = sum(weight**2 * one.slope for weight, one in pairs)
    return UnbiasedShares(shares, empty, slope, known[0].reports)


def _with_asked(
    found: UnbiasedShares, operator: OwnColumns, rates: Vector, reports: int, *, spread: bool
) -> UnbiasedShares:
    """Return the shares with those that some people were asked for, weighed as above.

    spread: Whether nothing else is known of the others, which then have equal shares of the rest.
    """
    read = operator.inner.separate_shares(rates, reports)
    assert read is not None
    own = operator.own
    more, noise = read[0][:-1], read[1][:-1]
    shares, empty = found.shares.copy(), found.empty.copy()
    slope = np.array(np.broadcast_to(found.slope, shares.shape))
    kept = np.zeros(shares.size, dtype=bool) if found.own is None else found.own.copy()
    guess = guessed_shares(shares.size, own)[own]
    # Each share is of a part of the people, which varies from part to part.
    among = guess * (1 - guess) / reports
    before = empty[own] + slope[own] * guess + guess * (1 - guess) / max(found.reports - reports, 1)
    weight = before / (before + noise + read[2] * guess + among)
    shares[own] += weight * (more - shares[own])
    empty[own] = (1 - weight) ** 2 * empty[own] + weight**2 * noise
    slope[own] = (1 - weight) ** 2 * slope[own] + weight**2 * read[2]
    kept[own] = True
    if spread:
        shares[~kept] = (1 - shares[kept].sum()) / (~kept).sum()
    return replace(found, shares=shares, empty=empty, slope=slope, own=kept)
