"""Unbiased shares of categories, each with its own variance: what the sparse decoders start from.

For randomizers that say of every symbol whether a report *supports* it: the own symbol with
probability p, every other with q. Then ``(support / n - q) / (p - q)`` is the share, without bias,
and its variance is known for every share. No matrix is inverted, so a domain may be as large as
memory allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lapwing.channel import Block, Channel
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.compound_symmetric import CompoundSymmetric
from lapwing.linear.hadamard_blocks import HadamardBlocks
from lapwing.tally import Counts

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UnbiasedShares:
    """Estimates of all shares, about the people who reported.

    Parameters
    ----------
    shares : numpy.ndarray
        float64 [size]: unbiased, of either sign; their sum is one only on average.
    empty : numpy.ndarray
        float64 [size]: variance of the estimate where the share is zero.
    slope : float
        What a share of one adds to the variance; may be negative.
    reports : int
        People behind them.
    """

    shares: Vector
    empty: Vector
    slope: float
    reports: int

    def variance(self, mass: Vector) -> Vector:
        """Return the variances of the estimates when these are the shares: float64 [size]."""
        found: Vector = np.maximum(self.empty + self.slope * mass, 1e-300)
        return found

    def with_total(self) -> UnbiasedShares:
        """Return the shares with the known total of one; the noisiest give most of what is off.

        Takes about 1 / size of the variance away, which is not counted here.
        """
        off = 1 - float(self.shares.sum())
        return replace(self, shares=self.shares + off * self.empty / self.empty.sum())

    @property
    def deviation(self) -> Vector:
        """Standard deviations of the estimates where the share is zero: float64 [size]."""
        return np.sqrt(self.empty)


def unbiased_shares(channel: Channel, tally: Counts) -> UnbiasedShares:
    """Return the unbiased shares of a channel that supports symbols, with their variances.

    Raises
    ------
    UnsupportedChannelError
        When the channel is none of: generalised response, unary encoding, subset selection,
        Hadamard response, or the support counts of local hashing.

    Notes
    -----
    With P = p for the own symbol and P = q for others, support is a coin with probability P, so
    the variance of a share f is ``(q (1 - q) + f (p (1 - p) - q (1 - q))) / (n (p - q)^2)``.

    O(size), Hadamard response O(size log size).

    Source: Fang et al. 2023, equations 1 and 2.
    """
    channel.check(tally)
    block = channel.blocks[0]
    if len(channel.blocks) == 1 and isinstance(block.operator, CompoundSymmetric):
        return _supported(block, tally)
    if len(channel.blocks) == 1 and isinstance(block.operator, HadamardBlocks):
        return _in_blocks(block.operator, tally)
    raise UnsupportedChannelError(
        "this decoder needs a channel that estimates the share of every symbol by itself: "
        "generalised response, unary encoding, subset selection, Hadamard response or local "
        "hashing; use LeastSquares or ExpectationMaximization here"
    )


def _supported(block: Block, tally: Counts) -> UnbiasedShares:
    p, q = block.operator.diagonal, block.operator.off_diagonal
    reports, gap = tally.reports[0], p - q
    rates = tally.blocks[0] / reports
    return UnbiasedShares(
        (rates - q) / gap,
        np.full(rates.size, q * (1 - q) / (reports * gap * gap)),
        (1 - p - q) / (reports * gap),
        reports,
    )


def _in_blocks(operator: HadamardBlocks, tally: Counts) -> UnbiasedShares:
    """Return the shares of Hadamard response.

    Given its block, a report adds the sign of the own column: +-1, with mean `gain` for its own
    symbol and zero for all others. Reports of other blocks add nothing, so the variance is the
    part of the reports that name this block, which is counted, over ``n gain^2``.
    """
    reports = tally.reports[0]
    signs = operator.signs(tally.blocks[0] / reports)
    named = np.broadcast_to(signs[0], signs.shape)
    scale = reports * operator.gain**2
    return UnbiasedShares(
        operator.of_inputs(signs) / operator.gain,
        np.maximum(operator.of_inputs(named.copy()), 1 / reports) / scale,
        -1 / reports,
        reports,
    )
