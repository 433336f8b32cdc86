"""The significance threshold: only shares that noise cannot explain are kept."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, overload

import numpy as np

from lapwing.decoders.decoder import Answer, answer_as, decoder_document
from lapwing.decoders.unbiased.linear_estimate import available_band
from lapwing.decoders.unbiased.normalization import projected, spread
from lapwing.decoders.unbiased.significance import Control, check_test, critical_score
from lapwing.decoders.unbiased.unbiased_shares import unbiased_shares
from lapwing.errors import ArgumentError
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.projections import simplex
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate


@dataclass(frozen=True)
class Threshold(Generic[Answer]):
    """Keep the unbiased shares above a significance threshold, unchanged; also called base-cut.

    Parameters
    ----------
    alpha : float
        In (0, 1): see `control`.
    control : {"family-wise", "false-discovery"}
        "family-wise", the papers': shares above ``Phi^-1(1 - alpha / size)`` standard deviations
        of an empty symbol's share, so that any empty symbol is kept with probability at most
        alpha. "false-discovery": more are kept, of which an expected part alpha are empty.
    rest : {"spread", "drop", "project"}
        What becomes of the mass that the kept ones leave. "spread": evenly over all others; a
        Distribution. "drop": nothing, so the sum is less than one; a :class:`SignedEstimate`.
        "project": the kept ones are projected on the simplex, so that they hold everything. Only
        where they are known to do so: on heavy tails the error grows hundredfold.

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
    >>> found = Threshold(rest="drop").decode(bits.channel, simulate(bits, people, rng=1))
    >>> np.flatnonzero(found.mass).tolist()
    [3, 4]
    """

    _: KW_ONLY
    alpha: float = 0.05
    control: Control = "family-wise"
    rest: Literal["spread", "drop", "project"] = "spread"
    band: bool = True

    if TYPE_CHECKING:  # which of the two it returns is known from its knobs

        @overload
        def __init__(
            self: Threshold[Distribution],
            *,
            alpha: float = 0.05,
            control: Control = "family-wise",
            rest: Literal["spread", "project"] = "spread",
            band: bool = True,
        ) -> None: ...

        @overload
        def __init__(
            self: Threshold[SignedEstimate],
            *,
            alpha: float = 0.05,
            control: Control = "family-wise",
            rest: Literal["drop"],
            band: bool = True,
        ) -> None: ...

        def __init__(self, **knobs: Any) -> None: ...

    name: ClassVar[str] = "threshold"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        check_test(self.alpha, self.control)
        if self.rest not in ("spread", "drop", "project"):
            raise ArgumentError(f"rest must be 'spread', 'drop' or 'project', got {self.rest!r}")

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Answer:
        """Return a Distribution, or a SignedEstimate with ``rest="drop"``.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every symbol by itself.
        """
        found = unbiased_shares(channel, tally)
        scores = found.shares / found.deviation
        kept = scores >= critical_score(scores, alpha=self.alpha, control=self.control)
        signed = self.rest == "drop"
        if signed:
            mass = np.where(kept, found.shares, 0.0)
        elif self.rest == "spread":
            mass = spread(found.shares, kept=kept)
        else:
            mass = projected(found.shares, kept=kept)
        plug_in = simplex(mass) if signed else mass
        band = available_band(channel, tally, plug_in) if self.band else None
        kind: Any = SignedEstimate if signed else Distribution
        made = decoder_document(self)
        answer: Answer = answer_as(kind, channel, tally, mass, made=made, uncertainty=band)
        return answer
