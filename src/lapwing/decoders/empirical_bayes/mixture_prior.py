"""Empirical Bayes with a learnt prior of shares: the default decoder of sparse categories."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, overload

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.decoder import Answer, answer_as, decoder_document
from lapwing.decoders.unbiased.linear_estimate import available_band
from lapwing.decoders.unbiased.normalization import spread
from lapwing.decoders.unbiased.unbiased_shares import Tails, UnbiasedShares, unbiased_shares
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.projections import simplex
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import Counts
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate

CERTAIN = 10.0
"""Standard deviations from which an estimate is kept: no prior could move it by much."""

_STEP = 0.1
"""Width of the bins of the estimates, in standard deviations."""

_LOWEST = -8.0
"""Estimates below this many standard deviations count as so low."""

_GROUP_LIMIT = 32
"""Symbols whose estimates have nearly equal variances are binned together; so many groups."""

_FARTHEST = 600.0
"""A weight of ``e^-600`` beside others is nothing."""

_CLOSE = 1e-9
"""Of log x, when lambda is found."""

_STEP_LIMIT = 100

_GRID: Vector = np.concatenate([[0.0], np.geomspace(0.02, 1, 24), np.arange(1.25, 12.01, 0.25)])
"""Shares at which the prior may have mass, in standard deviations; above, in steps of 5 %."""


@dataclass(frozen=True)
class MixturePrior(Generic[Answer]):
    """Shrink every unbiased share by what the shares of all symbols are like.

    The shares of all symbols are taken for draws from one unknown prior, which is learnt from the
    reports: the mixture of point masses on a grid that makes the estimates most probable, with
    the mean that shares must have because they sum to one. Where nearly all symbols are empty, the
    prior says so, and noise is taken for noise; no sparsity and no threshold is asked for.

    Parameters
    ----------
    estimate : {"mean", "median"}
        Of the posterior of a share. The mean has the least squared error; the median sets what is
        probably nothing to zero.
    total : {"one", "free"}
        "one": a distribution; means are projected on the simplex, after medians what is missing
        is spread evenly over the zeros. "free": the posterior estimates as they are, a
        :class:`SignedEstimate` whose sum need not be one. In l1 that is better where most of the
        mass lies in a tail that nobody can identify.
    iterations : int
        Of the EM algorithm that learns the prior.
    band : bool
        Whether to compute the band of the unbiased shares. It belongs to the channel and the
        tally, not to the shrunk estimate: see :meth:`Distribution.share_in_band`.

    Accuracy
    --------
    Against the best of nine decoders on 24 sparse and heavy-tailed populations of 10,000 symbols,
    and on Kosarak's clicks, see the league in `benchmarks/accuracy`. Order of the symbols is not
    used: a smooth column is better decoded by :class:`SpectralPrior`.

    Cost
    ----
    O(size) and some tens of milliseconds for the prior.

    Notes
    -----
    A share theta has the estimate ``z ~ N(theta, empty + slope theta)``. The grid has zero, small
    fractions of a standard deviation, steps of a quarter of it and ends above the largest estimate
    that is not kept. EM for the weights w of the grid, with c the mean posterior, maximises
    ``sum(c log w)`` subject to ``sum(w) = 1`` and ``sum(w theta) = m``: then
    ``w = c / (1 + lambda (theta - m))``. Without the second constraint the estimates of empty
    symbols leak: each keeps a little, and together they hold a large share.

    Estimates above 10 standard deviations are kept as they are; m is what they leave to the others.

    Source: Kiefer and Wolfowitz 1956 (the mixture); the constraint is ours. Differs from the
    decoders of the papers, which threshold or project.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> from lapwing.local.categorical.unary_encoding import OptimizedUnaryEncoding
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
    total: Literal["one", "free"] = "one"
    iterations: int = 300
    band: bool = True

    if TYPE_CHECKING:  # which of the two it returns is known from its knobs

        @overload
        def __init__(
            self: MixturePrior[Distribution],
            *,
            estimate: Literal["mean", "median"] = "mean",
            total: Literal["one"] = "one",
            iterations: int = 300,
            band: bool = True,
        ) -> None: ...

        @overload
        def __init__(
            self: MixturePrior[SignedEstimate],
            *,
            estimate: Literal["mean", "median"] = "mean",
            total: Literal["free"],
            iterations: int = 300,
            band: bool = True,
        ) -> None: ...

        def __init__(self, **knobs: Any) -> None: ...

    name: ClassVar[str] = "mixture-prior"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the knobs."""
        if self.estimate not in ("mean", "median"):
            raise ArgumentError(f"estimate must be 'mean' or 'median', got {self.estimate!r}")
        if self.total not in ("one", "free"):
            raise ArgumentError(f"total must be 'one' or 'free', got {self.total!r}")
        whole = isinstance(self.iterations, int) and not isinstance(self.iterations, bool)
        if not whole or self.iterations < 1:
            raise ArgumentError(
                f"iterations must be a whole number of at least 1, got {self.iterations!r}"
            )

    @one_thread
    def decode(self, channel: Channel, tally: Counts) -> Answer:
        """Return the shrunk shares: a Distribution (``total="one"``) or a SignedEstimate.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every symbol by itself.
        """
        found = unbiased_shares(channel, tally)
        free = shrunk(found.with_total(), estimate=self.estimate, iterations=self.iterations)
        mass = simplex(free) if self.estimate == "mean" else spread(free, kept=free > 0)
        band = available_band(channel, tally, mass) if self.band else None
        kind: Any
        kind, held = (Distribution, mass) if self.total == "one" else (SignedEstimate, free)
        made = decoder_document(self)
        answer: Answer = answer_as(kind, channel, tally, held, made=made, uncertainty=band)
        return answer


def shrunk(
    found: UnbiasedShares, *, estimate: Literal["mean", "median"] = "mean", iterations: int = 300
) -> Vector:
    """Return posterior means or medians of all shares: float64 [size], not negative.

    Parameters
    ----------
    found : UnbiasedShares
    estimate : {"mean", "median"}
    iterations : int
    """
    shares = np.maximum(found.shares, 0.0)
    # Laplace noise of 14 standard deviations is as rare as normal noise of 6.
    most = CERTAIN if found.tails == "normal" else 2 * CERTAIN
    certain = found.shares > most * np.sqrt(found.variance(shares))
    left = 1 - float(shares[certain].sum())
    unsure = np.flatnonzero(~certain)
    if unsure.size == 0:
        return shares
    if left <= 0:
        # The certain ones hold everything already: nothing is left for the others.
        shares[unsure] = 0.0
        return shares
    groups, bins = _binned(found, unsure)
    grid = _grid(groups, left / unsure.size)
    likelihood = np.concatenate([group.likelihood(grid) for group in groups])
    weights = _learnt_weights(likelihood, bins / unsure.size, grid, left / unsure.size, iterations)
    posterior = likelihood * weights
    # A bin between those that are used may be improbable under every point.
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    if estimate == "mean":
        answer = posterior @ grid
    else:
        answer = grid[np.argmax(np.cumsum(posterior, axis=1) >= 0.5 - 1e-9, axis=1)]
    start = 0
    for group in groups:
        stop = start + group.centres.size
        here = answer[start:stop]
        shares[group.symbols] = np.interp(found.shares[group.symbols], group.centres, here)
        start = stop
    return shares


@dataclass(frozen=True, eq=False)
class _Group:
    """Symbols whose estimates have one variance at zero, and bins of their estimates.

    Standard deviations grow with the share when `slope` is positive; where they fall a little
    (Hadamard response), they are taken as constant. Bins and grid have equal
    steps in ``u = 2 (sqrt(empty + slope z) - sqrt(empty)) / slope``, which counts standard
    deviations on the way from zero to z.
    """

    symbols: NDArray[np.int64]
    empty: float
    slope: float
    centres: Vector
    tails: Tails

    def likelihood(self, grid: Vector) -> Vector:
        """Return the density of every bin's centre for every share: [bins, grid]."""
        variance = self.empty + self.slope * grid
        if self.tails == "laplace":
            # Of slope zero, so one variance for all.
            steps = np.abs(self.centres[:, None] - grid) * np.sqrt(2 / variance)
            sharp: Vector = np.exp(-steps)
            return sharp
        density: Vector = np.exp(-((self.centres[:, None] - grid) ** 2) / (2 * variance))
        density /= np.sqrt(variance / self.empty)
        return density


def _share_at(steps: Vector, empty: float, slope: float) -> Vector:
    """Return the share so many standard deviations above zero, or below."""
    curved = np.where(steps > 0, slope / 4 * steps**2, 0.0)
    share: Vector = np.sqrt(empty) * steps + curved
    return share


def _steps_to(share: Vector, empty: float, slope: float) -> Vector:
    """Return how many standard deviations a share is above zero."""
    root = np.sqrt(empty)
    # (sqrt(e + s z) - sqrt(e)) / s, without the cancellation.
    above = np.sqrt(empty + slope * np.maximum(share, 0.0)) + root
    steps: Vector = np.where(share > 0, 2 * share / above, share / root)
    return steps


def _binned(found: UnbiasedShares, symbols: NDArray[np.int64]) -> tuple[list[_Group], Vector]:
    """Return groups of symbols with bins, and how many estimates are in each bin of them all."""
    spread_of = np.log(found.empty[symbols] / found.empty[symbols].min())
    width = max(0.04, float(spread_of.max()) / (_GROUP_LIMIT - 1))
    number = np.rint(spread_of / width).astype(np.int64)
    groups, bins = [], []
    for group in np.unique(number):
        members = symbols[number == group]
        empty, slope = float(found.empty[members].mean()), max(found.slope, 0.0)
        steps = _steps_to(found.shares[members], empty, slope)
        place = np.rint((np.maximum(steps, _LOWEST) - _LOWEST) / _STEP).astype(np.int64)
        counts = np.bincount(place).astype(np.float64)
        steps = _LOWEST + _STEP * np.arange(counts.size, dtype=np.float64)
        centres = _share_at(steps, empty, slope)
        groups.append(_Group(members, empty, slope, centres, found.tails))
        bins.append(counts)
    return groups, np.concatenate(bins)


def _grid(groups: list[_Group], mean: float) -> Vector:
    """Return the shares at which the prior may have mass, from zero to above the largest."""
    quiet = min(groups, key=lambda group: group.empty)
    top = max(2 * mean, *(float(group.centres[-1]) for group in groups))
    grid = _share_at(_GRID, quiet.empty, quiet.slope)
    if top > grid[-1]:
        more = int(np.ceil(np.log(top / grid[-1]) / np.log(1.05)))
        grid = np.append(grid, grid[-1] * 1.05 ** np.arange(1, more + 1))
    return grid


def _learnt_weights(
    likelihood: Vector, bins: Vector, grid: Vector, mean: float, iterations: int
) -> Vector:
    """Return the weights of the grid: EM with a given mean."""
    away = grid - mean
    weights, log_x = _with_mean(np.full(grid.size, 1 / grid.size), away)
    turned = np.ascontiguousarray(likelihood.T)
    for _ in range(iterations):
        density = np.maximum(likelihood @ weights, 1e-300)
        weights, log_x = _with_mean(weights * (turned @ (bins / density)), away, start=log_x)
    return weights


def _with_mean(held: Vector, away: Vector, *, start: float = -1.0) -> tuple[Vector, float]:
    """Return ``held / (1 + lambda away)`` with ``sum(weights away) = 0``, summing to one.

    lambda lies between the poles of the smallest and the largest point. It may be as close to one
    as that point's weight is small, so it is sought as a distance x from the pole, on a log scale:
    at a distance of 1 it is zero. Newton's steps from `start`, a log x, within a bracket; the log x
    found is returned too.
    """
    pole = float(away[0] if held @ away > 0 else away[-1])
    # 1 + lambda away with lambda = (x - 1) / pole.
    base, tilt = 1 - away / pole, away / pole
    same = tilt > 0
    low, high = -_FARTHEST, 0.0
    log_x = min(max(start, low), high)
    for _ in range(_STEP_LIMIT):
        x = math.exp(log_x)
        below = base + x * tilt
        part = held * tilt / below
        moved = part * (x * tilt / below)
        # On either side of the mean; the logarithm of their ratio is nearly straight in log x.
        more, less = float(part[same].sum()), -float(part[~same].sum())
        if more <= 0 or less <= 0:
            break
        value = math.log(more / less)
        slope = -float(moved[same].sum()) / more - float(moved[~same].sum()) / less
        low, high = (log_x, high) if value > 0 else (low, log_x)
        following = log_x - value / slope if slope < 0 else high
        if not low <= following <= high:
            following = (low + high) / 2
        if abs(following - log_x) < _CLOSE:
            break
        log_x = following
    weights: Vector = held / (base + math.exp(log_x) * tilt)
    weights /= weights.sum()
    return weights, log_x
