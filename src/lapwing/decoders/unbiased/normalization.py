"""Three simple ways to make unbiased shares sum to one: baselines of the papers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.decoder import decoder_document, distribution_of
from lapwing.decoders.unbiased.linear_estimate import available_band
from lapwing.decoders.unbiased.unbiased_shares import unbiased_shares
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.projections import simplex
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate

METHODS = ("clip-and-normalize", "additive", "norm-cut")


@dataclass(frozen=True)
class Normalization:
    """Make the unbiased shares of categories sum to one.

    Parameters
    ----------
    method : {"clip-and-normalize", "additive", "norm-cut"}
        "clip-and-normalize": negative shares become zero and the rest is divided by its sum, as
        the authors of Hadamard response do for all their baselines. "additive": one number is
        added to all shares, and the result is projected on the simplex. "norm-cut": the largest
        shares are kept unchanged as long as their sum is at most one, the others become zero, and
        what is then missing is spread evenly over them.
    signed : bool
        Whether to keep :attr:`Distribution.signed`: of "additive" the shares before the
        projection, of "norm-cut" those before the rest is spread, as its authors leave them.
        "clip-and-normalize" has none.

    Notes
    -----
    **Accuracy.** On many rare categories the first is the worst decoder there is: noise of either
    sign becomes mass. See the league in `benchmarks/accuracy`. The projection on the simplex,
    Norm-Sub, is :class:`LeastSquares`.

    **Cost.** O(size log size).

    Source: Fang et al. 2023, section II-B; Wang et al. 2020 (Norm-Cut); Xiong et al. 2021, section
    5 ("normalized decoder"). On a channel that supports symbols the second is least squares with
    the known total.
    """

    _: KW_ONLY
    method: Literal["clip-and-normalize", "additive", "norm-cut"] = "clip-and-normalize"
    signed: bool = False
    band: bool = True

    name: ClassVar[str] = "normalization"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        if self.method not in METHODS:
            raise ArgumentError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.signed and self.method == "clip-and-normalize":
            raise ArgumentError(
                "method='clip-and-normalize' makes no signed estimate; use 'additive' or "
                "'norm-cut', or LeastSquares(signed=True)"
            )

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the shares, made to sum to one.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every symbol by itself.
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

    Each has the band at its own plug-in if `decoder.band`.
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


def clipped(shares: Vector) -> Vector:
    """Return positive shares divided by their sum; uniform where none is positive."""
    positive = np.maximum(shares, 0.0)
    total = float(positive.sum())
    return positive / total if total > 0 else np.full(shares.size, 1 / shares.size)


def cut(shares: Vector) -> NDArray[np.bool_]:
    """Return which shares Norm-Cut keeps: the largest positive ones that sum to at most one.

    The largest is kept even if it is above one by itself.

    Examples
    --------
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


def spread(shares: Vector, *, kept: NDArray[np.bool_]) -> Vector:
    """Return a distribution: kept shares as they are, what is missing evenly on all others.

    Where the kept shares already sum to one or more, or all are kept, they are projected on the
    simplex instead, and the others stay zero.

    Parameters
    ----------
    shares : numpy.ndarray
        float64 [size].
    kept : numpy.ndarray
        bool [size].
    """
    positive = np.where(kept, np.maximum(shares, 0.0), 0.0)
    missing = 1 - float(positive.sum())
    others = int(kept.size - np.count_nonzero(kept))
    if missing <= 0 or others == 0:
        return projected(shares, kept=kept)
    positive[~kept] = missing / others
    return positive


def projected(shares: Vector, *, kept: NDArray[np.bool_]) -> Vector:
    """Return the nearest distribution that lives on the kept symbols; uniform without any."""
    if not kept.any():
        return np.full(shares.size, 1 / shares.size)
    mass = np.zeros(shares.size)
    mass[kept] = simplex(shares[kept])
    return mass
