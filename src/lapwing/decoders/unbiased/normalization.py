"""Three simple ways to make unbiased shares sum to one: baselines of the papers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, overload

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.decoder import Answer, answer_as, decoder_document
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
class Normalization(Generic[Answer]):
    """Make the unbiased shares of categories sum to one.

    Parameters
    ----------
    method : {"clip-and-normalize", "additive", "norm-cut"}
        "clip-and-normalize": negative shares become zero and the rest is divided by its sum, as
        the authors of Hadamard response do for all their baselines. "additive": one number is
        added to all shares, of which some stay negative; a :class:`SignedEstimate`. "norm-cut":
        the largest shares are kept unchanged as long as their sum is at most one, the others
        become zero, and what is then missing is spread evenly over them.
    total : {"one", "free"}
        For "norm-cut": "free" does not spread what is missing, as its authors; a SignedEstimate.

    Accuracy
    --------
    On many rare categories the first is the worst decoder there is: noise of either sign becomes
    mass. See the league in `benchmarks/accuracy`. The projection on the simplex, Norm-Sub, is
    :class:`LeastSquares`.

    Cost
    ----
    O(size log size).

    Source: Fang et al. 2023, section II-B; Wang et al. 2020 (Norm-Cut); Xiong et al. 2021, section
    5 ("normalized decoder"). On a channel that supports symbols the second is least squares with
    the known total.
    """

    _: KW_ONLY
    method: Literal["clip-and-normalize", "additive", "norm-cut"] = "clip-and-normalize"
    total: Literal["one", "free"] = "one"
    band: bool = True

    if TYPE_CHECKING:  # which of the two it returns is known from its knobs

        @overload
        def __init__(
            self: Normalization[Distribution],
            *,
            method: Literal["clip-and-normalize", "norm-cut"] = "clip-and-normalize",
            total: Literal["one"] = "one",
            band: bool = True,
        ) -> None: ...

        @overload
        def __init__(
            self: Normalization[SignedEstimate],
            *,
            method: Literal["additive"],
            total: Literal["one"] = "one",
            band: bool = True,
        ) -> None: ...

        @overload
        def __init__(
            self: Normalization[SignedEstimate],
            *,
            method: Literal["norm-cut"],
            total: Literal["free"],
            band: bool = True,
        ) -> None: ...

        def __init__(self, **knobs: Any) -> None: ...

    name: ClassVar[str] = "normalization"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        if self.method not in METHODS:
            raise ArgumentError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.total not in ("one", "free"):
            raise ArgumentError(f"total must be 'one' or 'free', got {self.total!r}")
        if self.total == "free" and self.method != "norm-cut":
            raise ArgumentError("total='free' is for method='norm-cut'; the others sum to one")

    @one_thread
    def decode(self, channel: Channel, tally: CountTally) -> Answer:
        """Return a Distribution; a SignedEstimate of "additive" and of a free total.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every symbol by itself.
        """
        found = unbiased_shares(channel, tally)
        signed = self.method == "additive" or self.total == "free"
        if self.method == "additive":
            mass = found.shares + (1 - found.shares.sum()) / found.shares.size
        elif self.method == "norm-cut":
            kept = cut(found.shares)
            mass = np.where(kept, found.shares, 0.0)
            mass = mass if signed else spread(mass, kept=kept)
        else:
            mass = clipped(found.shares)
        plug_in = simplex(mass) if signed else mass
        band = available_band(channel, tally, plug_in) if self.band else None
        kind: Any = SignedEstimate if signed else Distribution
        made = decoder_document(self)
        answer: Answer = answer_as(kind, channel, tally, mass, made=made, uncertainty=band)
        return answer


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
