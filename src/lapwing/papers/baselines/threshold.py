"""Baselines that make unbiased shares plausible: they sum to one, or noise cannot explain them.

Shares above a significance threshold are kept, or listed as heavy hitters.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from statistics import NormalDist
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne, Between, Declared, From
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of, guarantee_of
from lapwing.decoders.unbiased.linear_estimate import available_band, unbiased_shares
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.projections import clipped, projected, simplex, spread
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.signed_estimate import SignedEstimate


@dataclass(frozen=True)
class Normalization(Declared):
    """Normalization of unbiased shares: clipping, additive, Norm-Cut (Wang et al., 2020).

    Parameters
    ----------
    method : {"clip-and-normalize", "additive", "norm-cut"}
        Way to make the shares sum to one. "clip-and-normalize" sets negative shares to zero and
        divides the rest by its sum, as the authors of Hadamard response do for all their baselines.
        "additive" adds one number to all shares, and projects the result onto the simplex.
        "norm-cut" keeps the largest shares unchanged as long as their sum is at most one. It
        spreads the remaining mass evenly over the others. Default: "clip-and-normalize".
    signed : bool
        Whether to keep the shares before the last step, as :attr:`Distribution.signed`. For
        "additive" they are those before the projection. For "norm-cut" they are those before the
        rest is spread, as its authors leave them. "clip-and-normalize" has none. Default: False.
    band : bool
        Whether to compute the confidence band of the unbiased shares. Default: True.

    See Also
    --------
    lapwing.LeastSquares : The projection onto the simplex, Norm-Sub.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** On many rare categories "clip-and-normalize" is the worst of all decoders, because
    noise of either sign becomes mass. See `benchmarks/accuracy`.

    **Cost.** O(size log size).

    Norm-Cut is from [1]_. The others are in section II-B of [2]_ and section 5 of [3]_ ("normalized
    decoder"). On a channel that supports categories, "additive" is least squares with the known
    total.

    References
    ----------
    .. [1] T. Wang, M. Lopuhaä-Zwakenberg, Z. Li, B. Škorić, N. Li, "Locally differentially private
       frequency estimation with consistency", NDSS, 2020. doi:10.14722/ndss.2020.24157
    .. [2] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    .. [3] Z. Xiong, Z. Huang, X. Mao, J. Wang, S. Ying, "Compressive privatization: sparse
       distribution estimation under locally differential privacy", 2021. arXiv:2012.02081v1.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["yes", "no", "unsure"]), epsilon=1)
    >>> tally = lw.simulate(response, [7000, 3000, 0], rng=1)
    >>> decoder = lw.papers.baselines.Normalization(method="norm-cut")
    >>> result = decoder.decode(response.channel, tally)
    >>> round(float(result.share("yes")), 1)
    0.7
    """

    _: KW_ONLY
    method: Literal["clip-and-normalize", "additive", "norm-cut"] = "clip-and-normalize"
    signed: bool = False
    band: bool = True

    name: ClassVar[str] = "normalization"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the fields, and that the method has a signed estimate where one is wanted."""
        super().__post_init__()
        if self.signed and self.method == "clip-and-normalize":
            raise ArgumentError(
                "method",
                "'clip-and-normalize' makes no signed estimate",
                advice="Use 'additive' or 'norm-cut', or LeastSquares(signed=True)",
            )

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the shares, normalized to sum to one.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every category separately.
        """
        shares, signed = unbiased_shares(channel, tally).shares, None
        if self.method == "additive":
            signed = shares + (1 - shares.sum()) / shares.size
            mass = simplex(signed)
        elif self.method == "norm-cut":
            largest = cut(shares)
            signed = np.where(largest, shares, 0.0)
            mass = spread(signed, kept=largest)
        else:
            mass = clipped(shares)
        return shares_summing_to_one(self, channel, tally, mass, signed=signed)


def shares_summing_to_one(
    decoder: Any, channel: Channel, tally: CountTally, mass: Vector, *, signed: Vector | None
) -> Distribution:
    """Return the distribution, with the shares before they summed to one if `decoder.signed`.

    Each has the confidence band at its own plug-in if `decoder.band`.
    """
    estimate = None
    if decoder.signed and signed is not None:
        band = available_band(channel, tally, simplex(signed)) if decoder.band else None
        estimate = SignedEstimate(channel.domain, signed, tally.total, uncertainty=band)
    band = available_band(channel, tally, mass) if decoder.band else None
    source = decoder_document(decoder)
    return distribution_of(
        channel, tally, mass, provenance=source, uncertainty=band, signed=estimate
    )


def cut(shares: Vector) -> NDArray[np.bool_]:
    """Return which shares Norm-Cut keeps: the largest positive ones that sum to at most one.

    The largest is kept even if it is above one on its own.

    >>> cut(np.array([0.25, 0.5, -0.25, 0.125, 0.5])).tolist()
    [False, True, False, False, True]
    """
    order = np.argsort(-shares, kind="stable")
    sums = np.cumsum(np.maximum(shares[order], 0.0))
    count = max(1, int(np.searchsorted(sums, 1.0, side="right")))
    kept = np.zeros(shares.size, dtype=np.bool_)
    kept[order[:count]] = True
    kept &= shares > 0
    return kept


Control = Literal["family-wise", "false-discovery"]


def critical_score(scores: Vector, *, alpha: float, control: Control) -> float:
    """Return the score from which a value counts as significant.

    scores: Estimates divided by their standard deviations, float64 [tests]. They are standard
        normal where the share is zero.
    alpha: Level of the test, in (0, 1).
    control: Error rate that is controlled. "family-wise": any false one with probability at most
        alpha (Bonferroni, the normal quantile at ``1 - alpha / tests``). "false-discovery": an
        expected part of at most alpha of those found is false [1]_. It is the smallest score for
        which at most ``alpha i / tests`` of the noise would be as large as the i-th largest score.
    returns: Smallest significant score.

    The second control holds for independent scores, and where they depend positively. Those of
    generalized randomized response are slightly negatively correlated, and the tests measure it.

    .. [1] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate: a practical and
       powerful approach to multiple testing", Journal of the Royal Statistical Society B 57(1),
       1995. doi:10.1111/j.2517-6161.1995.tb02031.x
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
class Threshold(Declared):
    """Significance threshold for unbiased shares, Base-Cut (Wang et al., 2017).

    Unbiased shares above a significance threshold are kept unchanged.

    Parameters
    ----------
    alpha : float
        Level of the test, in (0, 1). Default: 0.05.
    control : {"family-wise", "false-discovery"}
        Error rate that is controlled. With "family-wise", as in the papers, any empty category is
        kept with probability at most alpha. The threshold is ``Phi^-1(1 - alpha / size)`` standard
        deviations of an empty category's share. With "false-discovery" more are kept, of which an
        expected fraction alpha is empty. Default: "family-wise".
    rest : {"spread", "project"}
        Treatment of the mass that the kept shares leave. "spread" divides it evenly over all
        others. "project" projects the kept shares onto the simplex, so that they have all the
        mass. Use it only if they are known to have it: on heavy tails the error grows a
        hundredfold. Default: "spread".
    signed : bool
        Whether to store only the kept shares, whose sum need not be one, as
        :attr:`Distribution.signed`. Default: False.
    band : bool
        Whether to compute the confidence band of the unbiased shares. Default: True.

    See Also
    --------
    lapwing.MixturePrior : Better in nearly all cells of the benchmarks.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** See `benchmarks/accuracy`.

    **Cost.** O(size).

    The method is that of [1]_ and equation 6 of [2]_. Figure 9 of [2]_ prints thresholds (763 and
    1676) that omit the division by the size. Equation 6 gives 1806 and 3965. False-discovery
    control is from [3]_.

    References
    ----------
    .. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for
       frequency estimation", USENIX Security, 2017.
    .. [2] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    .. [3] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate: a practical and
       powerful approach to multiple testing", Journal of the Royal Statistical Society B 57(1),
       1995. doi:10.1111/j.2517-6161.1995.tb02031.x

    Examples
    --------
    >>> import lapwing as lw
    >>> bits = lw.randomizers.OptimizedUnaryEncoding(lw.Categories(1000), epsilon=1)
    >>> people = [0] * 1000
    >>> people[3], people[4] = 30_000, 20_000
    >>> tally = lw.simulate(bits, people, rng=1)
    >>> result = lw.papers.baselines.Threshold(signed=True).decode(bits.channel, tally)
    >>> result.signed.mass.nonzero()[0].tolist()
    [3, 4]
    """

    _: KW_ONLY
    alpha: Between = 0.05
    control: Control = "family-wise"
    rest: Literal["spread", "project"] = "spread"
    signed: bool = False
    band: bool = True

    name: ClassVar[str] = "threshold"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the shares above the threshold, with the rest treated as `rest` says.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every category separately.
        """
        found = unbiased_shares(channel, tally)
        scores = found.shares / found.deviation
        kept = scores >= critical_score(scores, alpha=self.alpha, control=self.control)
        rest = spread if self.rest == "spread" else projected
        mass, signed = rest(found.shares, kept=kept), np.where(kept, found.shares, 0.0)
        return shares_summing_to_one(self, channel, tally, mass, signed=signed)


@dataclass(frozen=True)
class HeavyHitterSelection(Declared):
    """Heavy hitters among listed categories, by significance (Fang et al., 2023).

    It lists the categories whose share is significantly above a level, or simply the largest ones.

    Parameters
    ----------
    alpha : float
        Level of the test, in (0, 1). Default: 0.05.
    control : {"family-wise", "false-discovery", "none"}
        Error rate that is controlled. With "family-wise" every listed share is above the level,
        with probability at least ``1 - alpha``. With "false-discovery" an expected fraction of at
        most alpha of those listed is not. With "none" the `top` largest estimates are listed,
        whatever their size. Default: "family-wise".
    above : float
        Level as a share of the respondents, in [0, 1). 0 lists categories that somebody has, and
        0.01 those that more than 1% have. Default: 0.
    top : int, optional
        Most categories that are listed, the largest ones. Default: no limit.

    See Also
    --------
    ExhaustiveScan : Searches domains too large to count.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** Shares are unbiased estimates before the selection. Near the threshold, listed
    shares are too large on average. :meth:`HeavyHitters.confidence_band` allows for it.

    **Cost.** O(size), and a sort of the estimates near the threshold or above.

    Family-wise control is that of sections II-B and V-E of [1]_. False-discovery control is from
    [2]_.

    References
    ----------
    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    .. [2] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate: a practical and
       powerful approach to multiple testing", Journal of the Royal Statistical Society B 57(1),
       1995. doi:10.1111/j.2517-6161.1995.tb02031.x

    Examples
    --------
    >>> import lapwing as lw
    >>> bits = lw.randomizers.OptimizedUnaryEncoding(lw.Categories(1000), epsilon=1)
    >>> people = [0] * 1000
    >>> people[3], people[4] = 20_000, 30_000
    >>> tally = lw.simulate(bits, people, rng=1)
    >>> lw.papers.baselines.HeavyHitterSelection().decode(bits.channel, tally).values
    [4, 3]
    """

    _: KW_ONLY
    alpha: Between = 0.05
    control: Literal["family-wise", "false-discovery", "none"] = "family-wise"
    above: Annotated[float, From(0, 1, without="most")] = 0.0
    top: AtLeastOne | None = None

    name: ClassVar[str] = "heavy-hitter-selection"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the fields, and that something limits the list."""
        super().__post_init__()
        if self.control == "none" and (self.top is None or self.above != 0):
            raise ArgumentError(
                "without a control, pass top (how many values to list) and no level"
            )

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> HeavyHitters:
        """Return the listed categories, the largest share first.

        Returns
        -------
        HeavyHitters
            Listed categories with their unbiased shares.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every category separately.
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
            guarantee=guarantee_of(channel.guarantee, tally),
            provenance=decoder_document(self),
        )
