"""Significance thresholds: shares that noise cannot explain, kept or listed as heavy hitters."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np

from lapwing.decoders.decoder import decoder_document
from lapwing.decoders.unbiased.normalization import projected, shares_summing_to_one, spread
from lapwing.decoders.unbiased.unbiased_shares import unbiased_shares
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters

Control = Literal["family-wise", "false-discovery"]

CONTROLS = ("family-wise", "false-discovery")


def check_test(alpha: float, control: str) -> None:
    """Raise ArgumentError unless these are a level and a name of a control."""
    number = isinstance(alpha, int | float) and not isinstance(alpha, bool)
    if not number or not 0 < alpha < 1:
        raise ArgumentError(f"alpha must be a number between 0 and 1, got {alpha!r}")
    if control not in CONTROLS:
        raise ArgumentError(f"control must be one of {', '.join(CONTROLS)}, got {control!r}")


def critical_score(scores: Vector, *, alpha: float, control: Control) -> float:
    """Return the score from which a value counts as significant.

    Parameters
    ----------
    scores : numpy.ndarray
        float64 [tests]: estimates over their standard deviations; normal where nothing is there.
    alpha : float
        In (0, 1).
    control : {"family-wise", "false-discovery"}
        "family-wise": any false one with probability at most alpha (Bonferroni: the normal
        quantile at ``1 - alpha / tests``). "false-discovery": among those found, an expected part
        of at most alpha is false (Benjamini and Hochberg 1995): the smallest score for which no
        more than ``alpha i / tests`` of the noise would be as large as the i-th largest score.

    Notes
    -----
    The second holds for independent scores, and where they depend positively. Those of a
    generalized response are slightly negatively correlated; the tests measure it.
    """
    tests = scores.size
    # The lower tail keeps its digits: for 2^40 tests the upper one would be rounded to one.
    strict = -NormalDist().inv_cdf(alpha / tests)
    if control == "family-wise":
        return strict
    from scipy.special import ndtr, ndtri

    # No score below this can pass, so most of many need not be sorted.
    ordered = np.sort(scores[scores > -ndtri(alpha)])[::-1]
    ranks = np.arange(1, ordered.size + 1)
    passed = np.flatnonzero(ndtr(-ordered) <= alpha * ranks / tests)
    if passed.size == 0:
        return strict
    return float(-ndtri(alpha * ranks[passed[-1]] / tests))


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

    Notes
    -----
    **Accuracy.** See the league in `benchmarks/accuracy`; :class:`MixturePrior` is better in nearly
    all cells.

    **Cost.** O(size).

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

    Notes
    -----
    **Accuracy.** Shares are unbiased estimates before the selection; the listed ones are, near the
    threshold, too large on average. :meth:`HeavyHitters.confidence_band` allows for it.

    **Cost.** O(size), and a sort of what is near the threshold or above.

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
            raise ArgumentError(
                f"above must be a share of at least 0 and less than 1, got {self.above!r}"
            )
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
