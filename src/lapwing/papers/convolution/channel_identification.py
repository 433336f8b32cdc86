"""Blind deconvolution: the channel estimated from reports when epsilon is not known.

An analyst knows the survey and needs none of this. It shows what reports reveal about their
randomizer, and lets a decoder run on counts whose epsilon is lost.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError, TallyError, UnsupportedChannelError
from lapwing.linear.operators.banded import Circulant
from lapwing.linear.operators.operator import CompoundSymmetric, Operator
from lapwing.protocol.channels.channel import Block, Channel, Law, Multinomial, ProductOfBits
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally

PROTOCOLS = ("unary-encoding", "optimized-unary-encoding")
"""Randomizers of whose reports the number of set bits tells epsilon."""


def channel_from_one_input(
    domain: Domain, tally: CountTally, *, value: Any, pure: bool = True
) -> Channel:
    """Return the channel that many reports of one known input show (Fang et al., 2023).

    Anybody who has the client can make them, because its randomness is fresh each time.

    domain: Domain of the values.
    tally: Tally of reports that were all made from `value`, of one block with an output for each
        bin. The channel takes its fingerprint, so it decodes tallies of the same randomizer.
    value: The input.
    pure: True: all bins other than the true one are supported alike, so two numbers are estimated
        (generalized randomized response, unary encoding, subset selection). False: a whole
        circulant column (a wave on a circle). Default: True.
    returns: Channel without a guarantee. It is multinomial when each report supports one bin, else
        of bits.

    **Accuracy.** Each probability p has standard error ``sqrt(p (1 - p) / reports)``. For a pure
    channel that off the diagonal has less, because it is the mean of all others.

    The method is the first one of appendix B of [1]_.

    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    """
    counts, reports = _only_block(domain, tally)
    own = int(domain.index([value])[0])
    column = np.roll(counts / reports, -own)
    operator: Operator
    if pure:
        others = float(column[1:].mean())
        operator = CompoundSymmetric(domain.size, diagonal=float(column[0]), off_diagonal=others)
    else:
        operator = Circulant(column)
    law: Law = Multinomial() if int(counts.sum()) == reports else ProductOfBits()
    return Channel(domain, [Block(operator, law)], tally.fingerprint)


def epsilon_from_support(tally: CountTally, *, protocol: str) -> float:
    """Return the epsilon that the mean number of set bits of reports shows (Fang et al., 2023).

    tally: Tally of reports of any values, of one block of bits.
    protocol: Kind of randomizer, which must be known.
    returns: Estimate of the privacy parameter, in nats.

    Raises UnsupportedChannelError for any other protocol. Reports of generalized randomized
    response support one bin and those of subset selection a fixed number of them, whatever epsilon
    is.
    Raises TallyError when these counts cannot come from that protocol with any epsilon.

    A report has ``p + (k - 1) q`` set bits on average. Optimized unary encoding has ``p = 1/2`` and
    ``q = 1 / (e^epsilon + 1)``. Symmetric unary encoding has ``p = 1 - q`` and
    ``q = 1 / (e^(epsilon/2) + 1)``.

    The method is the second one of appendix B of [1]_.

    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    """
    if protocol not in PROTOCOLS:
        raise UnsupportedChannelError(
            f"the size of a report reveals epsilon only for {' and '.join(PROTOCOLS)}, got "
            f"{protocol!r}. If all reports support equally many symbols, it reveals nothing. "
            "Use channel_from_one_input"
        )
    if len(tally.blocks) != 1 or tally.total == 0:
        raise TallyError("epsilon needs a tally of one block with at least one report")
    counts = tally.blocks[0]
    size = float(counts.sum() / tally.total)
    if protocol == "optimized-unary-encoding":
        other, odds = (size - 0.5) / (counts.size - 1), 1.0
    else:
        if counts.size == 2:
            raise UnsupportedChannelError(
                "reports of two symmetric bits have one set bit on average, whatever epsilon is"
            )
        other, odds = (size - 1) / (counts.size - 2), 2.0
    if not 0 < other < 0.5:
        raise TallyError(
            f"reports with {size:.6g} set bits of {counts.size} on average cannot come from "
            f"{protocol} with any epsilon above 0"
        )
    return odds * math.log(1 / other - 1)


def channel_from_support(domain: Domain, tally: CountTally, *, protocol: str) -> Channel:
    """Return the channel of :func:`epsilon_from_support`, for decoding the same tally.

    tally: One block with a bit per symbol.
    """
    _only_block(domain, tally)
    epsilon = epsilon_from_support(tally, protocol=protocol)
    if protocol == "optimized-unary-encoding":
        own, other = 0.5, 1 / (math.exp(epsilon) + 1)
    else:
        other = 1 / (math.exp(epsilon / 2) + 1)
        own = 1 - other
    operator = CompoundSymmetric(domain.size, diagonal=own, off_diagonal=other)
    return Channel(domain, [Block(operator, ProductOfBits())], tally.fingerprint)


def _only_block(domain: Domain, tally: CountTally) -> tuple[np.ndarray, int]:
    if len(tally.blocks) != 1 or tally.blocks[0].size != domain.size:
        raise UnsupportedChannelError(
            "the reports must be of one group and support symbols of the domain: one block of "
            f"{domain.size} counts, got blocks of {[counts.size for counts in tally.blocks]}"
        )
    if tally.total == 0:
        raise TallyError("a channel needs at least one report to be estimated")
    if domain.size < 2:
        raise ArgumentError("domain", "must have at least 2 symbols", str(domain.size))
    return tally.blocks[0], tally.total
