"""Three simple ways to make unbiased shares sum to one, as baselines of the papers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of
from lapwing.decoders.unbiased.linear_estimate import available_band
from lapwing.decoders.unbiased.unbiased_shares import unbiased_shares
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.projections import clipped, simplex, spread
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution
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
