"""Signed estimates of decoders that make one."""

from __future__ import annotations

from typing import Any

from benchmarks.signed_decoder import SignedDecoder
from lapwing.decoders.unbiased.least_squares import LeastSquares
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate


def signed_estimate(decoder: Any, channel: Any, tally: Any) -> SignedEstimate:
    """Return what a decoder with an option `signed` estimates before it makes a distribution."""
    return SignedDecoder(decoder).decode(channel, tally)


def unbiased(channel: Any, tally: Any) -> SignedEstimate:
    """Return the unbiased estimate of a channel."""
    return signed_estimate(LeastSquares(), channel, tally)


def projected(signed: SignedEstimate, projection: Any = "simplex") -> Distribution:
    """Return the distribution that a projection makes of a signed estimate."""
    return Distribution(
        signed.domain,
        signed.project(projection),
        reports=signed.reports,
        guarantee=signed.guarantee,
        uncertainty=signed.uncertainty,
        provenance=signed.provenance,
    )
