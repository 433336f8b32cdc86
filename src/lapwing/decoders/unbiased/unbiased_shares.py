"""Unbiased shares of categories, each with its own variance: what the sparse decoders start from.

For randomizers that say of every symbol whether a report *supports* it: the own symbol with
probability p, every other with q. Then ``(support / n - q) / (p - q)`` is the share, without bias,
and its variance is known for every share. No matrix is inverted, so a domain may be as large as
memory allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally

Tails = Literal["normal", "laplace"]


@dataclass(frozen=True, eq=False)
class UnbiasedShares:
    """Estimates of all shares, about the respondents.

    shares: Unbiased shares, float64 [size], which may be negative. Their sum is one only on
        average.
    empty: Variance of the estimate where the share is zero, float64 [size].
    slope: Variance that a share of one adds. It may be negative.
    reports: Number of respondents.
    tails: {"normal", "laplace"}. Distribution of the errors.
    whole: Whether errors are whole people where they are a few. Default: False.
    """

    shares: Vector
    empty: Vector
    slope: float
    reports: int
    tails: Tails = "normal"
    whole: bool = False

    def variance(self, mass: Vector) -> Vector:
        """Return the variances of the estimates when these are the shares: float64 [size]."""
        return np.maximum(self.empty + self.slope * mass, 1e-300)

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

    Notes
    -----
    It takes O(size), and for Hadamard response O(size log size). The estimate is that of equations
    1 and 2 of [1]_.

    References
    ----------
    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    """
    check_given(channel, tally)
    read = [
        block.operator.separate_shares(counts / reports, reports)
        for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True)
        if reports
    ]
    known = [UnbiasedShares(*one, tally.total) for one in read if one is not None]
    if known and len(known) == len(read):
        return known[0] if len(known) == 1 else _weighed(known)
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
    precisions = np.array([1 / one.empty.mean() for one in known])
    weights = precisions / precisions.sum()
    pairs = list(zip(weights, known, strict=True))
    shares: Vector = np.sum([weight * one.shares for weight, one in pairs], axis=0)
    empty: Vector = np.sum([weight**2 * one.empty for weight, one in pairs], axis=0)
    slope = float(sum(weight**2 * one.slope for weight, one in pairs))
    return UnbiasedShares(shares, empty, slope, known[0].reports)
