"""The significance threshold: only shares that noise cannot explain are kept."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from lapwing.decoders.unbiased.normalization import projected, shares_summing_to_one, spread
from lapwing.decoders.unbiased.significance import Control, check_test, critical_score
from lapwing.decoders.unbiased.unbiased_shares import unbiased_shares
from lapwing.errors import ArgumentError
from lapwing.linear.blas_threads import one_thread
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution


@dataclass(frozen=True)
class Threshold:
    """Keep the unbiased shares above a significance threshold, unchanged; also called base-cut.

    Parameters
    ----------
    alpha : float
        In (0, 1): see `control`.
    control : {"family-wise", "false-discovery"}
        "family-wise", the papers': shares above ``Phi^-1(1 - alpha / size)`` standard deviations
        of an empty symbol's share, so that any empty symbol is kept with probability at most
        alpha. "false-discovery": more are kept, of which an expected part alpha are empty.
    rest : {"spread", "project"}
        What becomes of the mass that the kept ones leave. "spread": evenly over all others.
        "project": the kept ones are projected on the simplex, so that they hold everything. Only
        where they are known to do so: on heavy tails the error grows hundredfold.
    signed : bool
        Whether to keep the kept shares alone, too, as :attr:`Distribution.signed`; their sum need
        not be one.

    Accuracy
    --------
    See the league in `benchmarks/accuracy`; :class:`MixturePrior` is better in nearly all cells.

    Cost
    ----
    O(size).

    Source: Fang et al. 2023, equation 6, and Wang et al. 2017. Their figure 9 prints thresholds
    (763 and 1676) that leave the division by the size out: equation 6 gives 1806 and 3965.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding
    >>> from lapwing.planning.simulation import simulate
    >>> bits = OptimizedUnaryEncoding(Categories(1000), 1)
    >>> people = np.zeros(1000, dtype=int)
    >>> people[[3, 4]] = 30_000, 20_000
    >>> result = Threshold(signed=True).decode(bits.channel, simulate(bits, people, rng=1))
    >>> np.flatnonzero(result.signed.mass).tolist()
    [3, 4]
    """

    _: KW_ONLY
    alpha: float = 0.05
    control: Control = "family-wise"
    rest: Literal["spread", "project"] = "spread"
    signed: bool = False
    band: bool = True

    name: ClassVar[str] = "threshold"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        check_test(self.alpha, self.control)
        if self.rest not in ("spread", "project"):
            raise ArgumentError(f"rest must be 'spread' or 'project', got {self.rest!r}")

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the shares above the threshold, and the rest by `rest`.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every symbol by itself.
        """
        found = unbiased_shares(channel, tally)
        scores = found.shares / found.deviation
        kept = scores >= critical_score(scores, alpha=self.alpha, control=self.control)
        rest = spread if self.rest == "spread" else projected
        mass, signed = rest(found.shares, kept=kept), np.where(kept, found.shares, 0.0)
        return shares_summing_to_one(self, channel, tally, mass, signed=signed)
