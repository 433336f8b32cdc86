"""Blind deconvolution: the channel guessed from reports, for one who was not told epsilon.

An analyst knows the survey and needs none of this. It shows what reports give away about their
randomizer, and lets a decoder run on counts whose epsilon is lost.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError, TallyError, UnsupportedChannelError
from lapwing.linear.operators.banded import Circulant
from lapwing.linear.operators.operator import Operator
from lapwing.linear.operators.symmetric import CompoundSymmetric
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.channels.laws import Law, Multinomial, ProductOfBits
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally

PROTOCOLS = ("unary-encoding", "optimized-unary-encoding")
"""Randomizers of whose reports the number of set bits tells epsilon."""


def channel_from_one_input(
    domain: Domain, tally: CountTally, *, value: Any, pure: bool = True
) -> Channel:
    """Return the channel that many reports of one known input show.

    Anybody who has the client can make them: its randomness is fresh each time.

    Parameters
    ----------
    domain : Domain
    tally : CountTally
        Of reports that were all made from `value`; one block with an output per symbol. The
        channel takes its fingerprint, so it decodes tallies of the same randomizer.
    value : Any
        The input.
    pure : bool
        True: all symbols other than the own one are supported alike, so two numbers are
        estimated (generalized response, unary encoding, subset selection). False: a whole
        circulant column (a wave on a circle).

    Returns
    -------
    Channel
        Without a guarantee. Multinomial when each report supports one symbol, else of bits.

    Notes
    -----
    **Accuracy.** Each probability p is off by ``sqrt(p (1 - p) / reports)``; of a pure one, the
    off-diagonal one by less, as it is the mean of all others.

    Source: Fang et al. 2023, appendix B, first way.
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
    """Return the epsilon that the mean number of set bits of reports shows.

    Parameters
    ----------
    tally : CountTally
        Of reports of any values; one block of bits.
    protocol : {"unary-encoding", "optimized-unary-encoding"}
        The kind of randomizer, which must be known.

    Raises
    ------
    UnsupportedChannelError
        For any other protocol: reports of generalized response support one symbol and those of
        subset selection a fixed number of them, whatever epsilon is.
    TallyError
        When these counts cannot come from that protocol with any epsilon.

    Notes
    -----
    A report has ``p + (k - 1) q`` set bits on average. Optimized: ``p = 1/2``, ``q = 1 /
    (e^epsilon + 1)``. Symmetric: ``p = 1 - q``, ``q = 1 / (e^(epsilon/2) + 1)``.

    Source: Fang et al. 2023, appendix B, second way.
    """
    if protocol not in PROTOCOLS:
        raise UnsupportedChannelError(
            f"the size of a report tells epsilon for {' and '.join(PROTOCOLS)} only, got "
            f"{protocol!r}: where every report supports as many symbols, it tells nothing; use "
            "channel_from_one_input"
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
                "reports of two symmetric bits have one set bit on average for every epsilon"
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

    Parameters
    ----------
    domain : Domain
    tally : CountTally
        One block with a bit per symbol.
    protocol : {"unary-encoding", "optimized-unary-encoding"}
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
        raise ArgumentError("the domain must have at least 2 symbols")
    return tally.blocks[0], tally.total
