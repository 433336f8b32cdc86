"""The largest shares of a domain that is counted, with control of false discoveries."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from lapwing.decoders.decoder import decoder_document
from lapwing.decoders.unbiased.significance import check_test, critical_score
from lapwing.decoders.unbiased.unbiased_shares import unbiased_shares
from lapwing.errors import ArgumentError
from lapwing.linear.blas_threads import one_thread
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.heavy_hitters import HeavyHitters


@dataclass(frozen=True)
class HeavyHitterSelection:
    """List the values whose share is significantly above a level, or simply the largest ones.

    Parameters
    ----------
    alpha : float
        In (0, 1): see `control`.
    control : {"family-wise", "false-discovery", "none"}
        "family-wise": with probability at least 1 - alpha no value is listed whose share is not
        above the level. "false-discovery": of those listed, an expected part of at most alpha is
        not (Benjamini and Hochberg). "none": the `top` largest estimates, whatever they are.
    above : float
        The level, in [0, 1): 0 lists what somebody holds, .01 what more than 1 % hold.
    top : int, optional
        List at most so many, the largest.

    Accuracy
    --------
    Shares are unbiased estimates before the selection; the listed ones are, near the threshold,
    too large on average. :meth:`HeavyHitters.confidence_band` allows for it.

    Cost
    ----
    O(size), and a sort of what is near the threshold or above.

    Source: Fang et al. 2023, sections II-B and V-E, for the first control; Benjamini and Hochberg
    1995. Domains too large to count are searched by ExhaustiveScan.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding
    >>> from lapwing.planning.simulation import simulate
    >>> bits = OptimizedUnaryEncoding(Categories(1000), 1)
    >>> people = np.zeros(1000, dtype=int)
    >>> people[[3, 4]] = 20_000, 30_000
    >>> HeavyHitterSelection().decode(bits.channel, simulate(bits, people, rng=1)).values
    [4, 3]
    """

    _: KW_ONLY
    alpha: float = 0.05
    control: Literal["family-wise", "false-discovery", "none"] = "family-wise"
    above: float = 0.0
    top: int | None = None

    name: ClassVar[str] = "heavy-hitter-selection"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        check_test(self.alpha, "family-wise" if self.control == "none" else self.control)
        number = isinstance(self.above, int | float) and not isinstance(self.above, bool)
        if not number or not 0 <= self.above < 1:
            raise ArgumentError(f"above must be a share in [0, 1), got {self.above!r}")
        if self.top is not None and (type(self.top) is not int or self.top < 1):
            raise ArgumentError(f"top must be a whole number of at least 1, got {self.top!r}")
        if self.control == "none" and (self.top is None or self.above != 0):
            raise ArgumentError("without a control give top, how many values to list, and no level")

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> HeavyHitters:
        """Return the listed values, the largest share first.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every symbol by itself.
        """
        found = unbiased_shares(channel, tally)
        size = found.shares.size
        limits = np.full(size, -np.inf)
        if self.control != "none":
            # What the estimate of a value whose share is just the level would vary by.
            deviation = np.sqrt(found.variance(np.full(size, float(self.above))))
            scores = (found.shares - self.above) / deviation
            score = critical_score(scores, alpha=self.alpha, control=self.control)
            limits = self.above + score * deviation
        listed = np.flatnonzero(found.shares >= limits)
        order = np.lexsort((listed, -found.shares[listed]))[: self.top]
        symbols = listed[order]
        shares = found.shares[symbols]
        threshold = float(limits.min())
        if self.control == "none" or (shares.size and shares.size == self.top):
            threshold = max(threshold, float(shares[-1]))
        variance = found.variance(np.clip(found.shares, 0, 1))
        return HeavyHitters(
            channel.domain,
            symbols,
            shares,
            np.sqrt(variance[symbols]),
            threshold=threshold,
            searched=size,
            reports=tally.total,
            expected_false=None if self.control == "none" else float(self.alpha),
            guarantee=channel.guarantee,
            provenance=decoder_document(self),
        )
