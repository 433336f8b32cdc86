"""Smoothing baselines: the unbiased estimate, averaged over neighbors."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from lapwing.decoders.decoder import decoder_document
from lapwing.decoders.deconvolution.wiener import Wiener, circulant, norm_sub_of
from lapwing.decoders.likelihood.neighbor_smoothing import Neighbors
from lapwing.decoders.unbiased.linear_estimate import linear_estimate
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution


@dataclass(frozen=True)
class GaussianSmoothing:
    """Average the unbiased estimate with Gaussian weights; or let that guide a Wiener filter.

    Parameters
    ----------
    sigma : float
        Standard deviation of the weights, in bins, greater than 0. GF1 and GF3 of the paper are
        1 and 3: a number of bins, so the same sigma smooths more on fewer bins.
    wiener : bool
        True: the smoothed estimate's spectrum is the signal spectrum of a direct Wiener filter
        (GF1-DW, GF3-DW), which needs a circulant channel. False: it is the answer (GF1, GF3).
    signed : bool
        Whether to keep the estimate before Norm-Sub projects it on the simplex, too, as
        :attr:`Distribution.signed`.

    Accuracy
    --------
    On smooth columns GF3-DW is the best of the convolution paper's methods per symbol; sigma
    oversmooths narrow features, and is not adapted to the noise.

    Cost
    ----
    That of the unbiased estimate: O(size) for generalized response, unary encoding and subset
    selection, else O(size^3) up to 2048 symbols. O(sigma size) to smooth.

    Notes
    -----
    Weights end at 4 sigma. Beyond an end the estimate is reflected about the outer edge of the
    last bin (``d c b a | a b c d | d c b a``), which keeps the total; on a circular domain it
    goes on at the other end.

    Source: Fang et al. 2023, appendix C. Differs: the paper leaves the ends open; this is what
    `scipy.ndimage.gaussian_filter1d` does when not told, and keeps mass.

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
    >>> from lapwing.planning.simulation import simulate
    >>> response = RandomizedResponse(Interval(0, 1, bins=8), 4)
    >>> tally = simulate(response, [0, 0, 0, 100_000, 0, 0, 0, 0], rng=1)
    >>> GaussianSmoothing(sigma=1).decode(response.channel, tally).mass.round(2).tolist()
    [0.0, 0.05, 0.24, 0.4, 0.24, 0.05, 0.0, 0.0]
    """

    _: KW_ONLY
    sigma: float = 3.0
    wiener: bool = False
    signed: bool = False

    name: ClassVar[str] = "gaussian-smoothing"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the width."""
        if isinstance(self.sigma, bool) or not isinstance(self.sigma, Real):
            raise ArgumentError(f"sigma must be a number, got a {type(self.sigma).__name__}")
        if not 0 < float(self.sigma) < math.inf:
            raise ArgumentError(f"sigma must be greater than 0 and finite, got {self.sigma}")
        object.__setattr__(self, "sigma", float(self.sigma))

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the smoothed estimate, projected on the simplex.

        Raises
        ------
        UnsupportedChannelError
            When the channel cannot be inverted, the symbols do not lie evenly in a row, or a
            Wiener filter is asked for and the channel is not circulant.
        """
        from scipy.ndimage import gaussian_filter1d

        check_given(channel, tally)
        if not Neighbors.of(channel.domain).even:
            raise UnsupportedChannelError(
                "Gaussian smoothing needs symbols of one width in a row: no atoms and no missing "
                "bin; use BinomialSmoothing, or ExpectationMaximization(smoothed=True)"
            )
        if self.wiener:
            circulant(channel)
        estimate = linear_estimate(channel, tally)
        mode = "wrap" if channel.domain.circular else "reflect"
        smooth: Vector = gaussian_filter1d(estimate.center, self.sigma, mode=mode)
        if self.wiener:
            power = np.abs(np.fft.fft(smooth)) ** 2
            guided = Wiener(
                method="direct", signal=tuple(power.tolist()), signed=True, band=False
            ).decode(channel, tally)
            assert guided.signed is not None
            smooth = np.array(guided.signed.mass)
        provenance = decoder_document(self)
        return norm_sub_of(
            channel, tally, smooth, signed=self.signed, uncertainty=estimate, provenance=provenance
        )


@dataclass(frozen=True)
class BinomialSmoothing:
    """Average each share of the unbiased estimate with its two neighbors, weights (1, 2, 1) / 4.

    Parameters
    ----------
    rounds : int
        How often, at least 1.
    signed : bool
        Whether to keep the estimate before Norm-Sub projects it on the simplex, too, as
        :attr:`Distribution.signed`.

    Cost
    ----
    That of the unbiased estimate, as for :class:`GaussianSmoothing`; O(size) a round.

    Notes
    -----
    At an end 3/4 of the mass stays (the estimate is reflected), on a circular domain it goes
    round; between bins of unequal width mass flows by density; atoms and the missing symbol have
    no neighbors. The total is kept.

    Source: Fang et al. 2023, equation 25, after Nychka 1990. Differs: the ends are stated.
    """

    _: KW_ONLY
    rounds: int = 1
    signed: bool = False

    name: ClassVar[str] = "binomial-smoothing"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the number of rounds."""
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 1:
            raise ArgumentError(f"rounds must be a whole number of at least 1, got {self.rounds!r}")

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the smoothed estimate, projected on the simplex.

        Raises
        ------
        UnsupportedChannelError
            When the channel cannot be inverted, or the domain has no order.
        """
        check_given(channel, tally)
        neighbors = Neighbors.of(channel.domain)
        estimate = linear_estimate(channel, tally)
        smooth = estimate.center
        for _ in range(self.rounds):
            smooth = neighbors.smooth(smooth)
        provenance = decoder_document(self)
        return norm_sub_of(
            channel, tally, smooth, signed=self.signed, uncertainty=estimate, provenance=provenance
        )
