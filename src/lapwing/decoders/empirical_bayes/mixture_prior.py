"""Empirical Bayes with a learned prior of shares: the default decoder of sparse categories."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from lapwing.decoders.decoder import decoder_document, distribution_of, signed_of
from lapwing.decoders.empirical_bayes.head_of_shares import (
    DoubtedShares,
    Head,
    ShrunkShares,
)
from lapwing.decoders.empirical_bayes.learned_mixture import LearnedMixture
from lapwing.decoders.empirical_bayes.risk_of_shares import (
    belief_in,
    clearness,
    doubtfulness,
    evidence,
)
from lapwing.decoders.unbiased.linear_estimate import available_band
from lapwing.decoders.unbiased.normalization import spread
from lapwing.decoders.unbiased.unbiased_shares import UnbiasedShares, unbiased_shares
from lapwing.errors import ArgumentError
from lapwing.linear.blas_threads import one_thread
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution

CERTAIN = 10.0
"""Standard deviations from which an estimate is kept: no prior could move it by much."""


@dataclass(frozen=True)
class MixturePrior:
    """Shrink every unbiased share by what the shares of all symbols are like.

    The shares of all symbols are taken for draws from one unknown prior, which is learned from the
    reports: the mixture of point masses on a grid that makes the estimates most probable, with
    the mean that shares must have because they sum to one. Where nearly all symbols are empty, the
    prior says so, and noise is taken for noise; no sparsity and no threshold is asked for.

    Parameters
    ----------
    estimate : {"mean", "median"}
        Of the posterior of a share. The mean has the least squared error; the median sets what is
        probably nothing to zero. Of the largest shares the mean is not quite taken: an error
        there costs more, and what is significant stays near its estimate
        (:class:`lapwing.decoders.empirical_bayes.head_of_shares.Head`).
    signed : bool
        Whether to keep the posterior estimates, too, as :attr:`Distribution.signed`; their sum
        need not be one. The distribution projects means on the simplex, which takes least from
        the largest, and spreads what medians lack evenly over the zeros. In l1 the posterior
        estimates are better where most of the mass lies in a tail that nobody can identify.
    iterations : int
        Of the EM algorithm that learns the prior.
    band : bool
        Whether to compute the band of the unbiased shares. It belongs to the channel and the
        tally, not to the shrunk estimate: see :meth:`Band.share_inside`.

    Accuracy
    --------
    Against the best of nine decoders on 24 sparse and heavy-tailed populations of 10,000 symbols,
    and on Kosarak's clicks, see the league in `benchmarks/accuracy`, and there, too, how far the
    50 largest of 16,000 labels are from the unbiased estimate: near it where the smallest of them
    is six standard deviations or more above zero, up to three times its squared error where that
    cannot be told from the noise of thousands. Up to 100 labels it is the
    posterior mean, and of fewer than 100 that is believed only as far as the estimates say that
    shrinking paid (:func:`lapwing.decoders.empirical_bayes.risk_of_shares.belief_in`): unequal
    shares of 4 to 50 labels have about the error of the nearest distribution, or less; equal ones
    far less. Where 500 and more have exactly one share the error is up to 1.5 times that
    mean's, which is a hundredth of the noise. Order of the symbols is not used: a smooth column is
    better decoded by :class:`SpectralPrior`.

    Cost
    ----
    O(size) and some tens of milliseconds for the prior.

    Notes
    -----
    A share theta has the estimate ``z ~ N(theta, empty + slope theta)``. The grid has zero, small
    fractions of a standard deviation, steps of a quarter of it and ends above the largest estimate
    that is not kept. EM for the weights w of the grid, with c the mean posterior, maximizes
    ``sum(c log w)`` subject to ``sum(w) = 1`` and ``sum(w theta) = m``: then
    ``w = c / (1 + lambda (theta - m))``. Without the second constraint the estimates of empty
    symbols leak: each keeps a little, and together they hold a large share.

    Estimates above 10 standard deviations are kept as they are; m is what they leave to the others.

    Source: Kiefer and Wolfowitz 1956 (the mixture); the constraint is ours. Differs from the
    decoders of the papers, which threshold or project.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding
    >>> from lapwing.planning.simulation import simulate
    >>> bits = OptimizedUnaryEncoding(Categories(1000), 1)
    >>> people = np.zeros(1000, dtype=int)
    >>> people[[3, 4]] = 30_000, 20_000
    >>> found = MixturePrior().decode(bits.channel, simulate(bits, people, rng=1))
    >>> found.mass[[3, 4]].round(1).tolist(), float(found.mass.sum().round(6))
    ([0.6, 0.4], 1.0)
    """

    _: KW_ONLY
    estimate: Literal["mean", "median"] = "mean"
    signed: bool = False
    iterations: int = 300
    band: bool = True

    name: ClassVar[str] = "mixture-prior"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        if self.estimate not in ("mean", "median"):
            raise ArgumentError(f"estimate must be 'mean' or 'median', got {self.estimate!r}")
        whole = isinstance(self.iterations, int) and not isinstance(self.iterations, bool)
        if not whole or self.iterations < 1:
            raise ArgumentError(
                f"iterations must be a whole number of at least 1, got {self.iterations!r}"
            )

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the shrunk shares.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every symbol by itself.
        """
        found = unbiased_shares(channel, tally)
        smaller = shrunk(found.with_total(), estimate=self.estimate, iterations=self.iterations)
        free = smaller.free
        mass = smaller.mass if self.estimate == "mean" else spread(free, kept=free > 0)
        band = available_band(channel, tally, mass) if self.band else None
        provenance, signed = decoder_document(self), None
        if self.signed:
            signed = signed_of(channel, tally, free, provenance=provenance, uncertainty=band)
        return distribution_of(
            channel, tally, mass, provenance=provenance, uncertainty=band, signed=signed
        )


def shrunk(
    found: UnbiasedShares, *, estimate: Literal["mean", "median"] = "mean", iterations: int = 300
) -> ShrunkShares:
    """Return posterior means or medians of all shares, none of them negative.

    Parameters
    ----------
    found : UnbiasedShares
    estimate : {"mean", "median"}
    iterations : int
    """
    shares, symbols = np.maximum(found.shares, 0.0), found.shares.size
    # Laplace noise of 14 standard deviations is as rare as normal noise of 6.
    most = CERTAIN if found.tails == "normal" else 2 * CERTAIN
    certain = found.shares > most * np.sqrt(found.variance(shares))
    left = 1 - float(shares[certain].sum())
    unsure = np.flatnonzero(~certain)
    costs = np.ones(shares.size)
    if unsure.size == 0:
        return ShrunkShares(shares, costs)
    if left <= 0:
        # The certain ones hold everything already: nothing is left for the others.
        shares[unsure] = 0.0
        return ShrunkShares(shares, costs)
    # Where labels are few, what is learned of them is doubted; Stein's risk is that of normal
    # noise.
    doubt = doubtfulness(symbols) if found.tails == "normal" and estimate == "mean" else 0.0
    learn = partial(
        LearnedMixture.of, found, unsure, mean=left / unsure.size, iterations=iterations
    )
    learned, foretold = learn(added=doubt), 0.0
    if doubt:
        foretold = evidence(learned)
        learned = learn(added=doubt * (1 - clearness(foretold, unsure.size)))
    if estimate == "median":
        learned.read(learned.medians(), found.shares, shares)
        return ShrunkShares(shares, costs)
    head = Head.of(learned, symbols=symbols, certain=int(certain.sum()), tails=found.tails)
    learned.read(head.estimates, found.shares, shares)
    learned.read(head.costs, found.shares, costs)
    costs[certain] = head.costs.max()
    answer = ShrunkShares(shares, costs)
    if not doubt:
        return answer
    belief = 1 - doubt * (1 - belief_in(learned, found, answer.mass, foretold=foretold))
    return DoubtedShares.of(answer, found.shares, belief)
