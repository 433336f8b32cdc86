"""The distribution of the shares of all symbols, learned as a mixture on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.unbiased.linear_estimate import Tails, UnbiasedShares
from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property

_STEP = 0.1
"""Width of the bins of the estimates, in standard deviations."""

_LOWEST = -8.0
"""Estimates below this many standard deviations count as so low."""

_GROUP_LIMIT = 32
"""Symbols whose estimates have nearly equal variances are binned together. So many groups."""

_FARTHEST = 600.0
"""A weight of ``e^-600`` alongside others is nothing."""

_CLOSE = 1e-9
"""Of log x, when lambda is found."""

_STEP_LIMIT = 100

_GRID: Vector = np.concatenate([[0.0], np.geomspace(0.02, 1, 24), np.arange(1.25, 12.01, 0.25)])
"""Shares at which the prior may have mass, in standard deviations. Above, in steps of 5%."""


@dataclass(frozen=True, eq=False)
class LearnedMixture:
    """Distribution of the shares of some symbols, and the posterior of each given its estimate.

    bins: float64 [bins]: how many estimates are in each bin, group after group.
    grid: float64 [grid]: shares, from zero on.
    weights: float64 [grid]: probabilities of the shares, which sum to one.
    posterior: float64 [bins, grid]: the same, given an estimate in the bin.
    mean: Of the shares.
    flat: float64 [grid]: labels that were added to those seen, spread as if nothing were known of
        their shares but the mean.
    """

    groups: list[BinnedEstimates]
    bins: Vector
    grid: Vector
    weights: Vector
    posterior: Vector
    mean: float
    flat: Vector

    @classmethod
    def of(
        cls,
        found: UnbiasedShares,
        symbols: NDArray[np.int64],
        *,
        mean: float,
        iterations: int,
        added: float = 0.0,
    ) -> LearnedMixture:
        """Learn the distribution of the shares of these symbols, whose mean is known.

        `added` labels with exponentially spread shares are counted with them. The shares of many
        labels are such when every distribution is as probable as any other.
        """
        groups, bins = _binned(found, symbols)
        grid = _grid(groups, mean)
        likelihood = np.concatenate([group.likelihood(grid) for group in groups])
        flat = added * exponential(grid, mean)
        used, total = bins > 0, symbols.size + added
        weights = learned_weights(
            likelihood[used], bins[used] / total, grid, mean, iterations, flat=flat / total
        )
        posterior = likelihood * weights
        # A bin between those that are used may be improbable under every point.
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
        return cls(groups, bins, grid, weights, posterior, mean, flat)

    @cached_property
    def centers(self) -> Vector:
        """Estimates in the middle of the bins: float64 [bins]."""
        return np.concatenate([group.centers for group in self.groups])

    @cached_property
    def steps(self) -> Vector:
        """The same in standard deviations on the way from zero: float64 [bins]."""
        parts = [steps_to(group.centers, group.empty, group.slope) for group in self.groups]
        return np.concatenate(parts)

    @cached_property
    def grid_steps(self) -> Vector:
        """Shares of the grid in standard deviations of the quietest symbols: float64 [grid]."""
        quiet = min(self.groups, key=lambda group: group.empty)
        return steps_to(self.grid, quiet.empty, quiet.slope)

    @cached_property
    def variances(self) -> Vector:
        """Variances of the estimates in the bins, as if they were right: float64 [bins]."""
        parts = [g.empty + g.slope * np.maximum(g.centers, 0.0) for g in self.groups]
        return np.concatenate(parts)

    def score(self) -> Vector:
        """Return the derivatives of the log-likelihoods by the estimates: float64 [bins, grid].

        Of Gaussian noise.
        """
        parts = [
            (self.grid - group.centers[:, None]) / (group.empty + group.slope * self.grid)
            for group in self.groups
        ]
        return np.concatenate(parts)

    def medians(self) -> Vector:
        """Return the posterior medians of the bins: float64 [bins]."""
        half = np.cumsum(self.posterior, axis=1) >= 0.5 - 1e-9
        middle: Vector = self.grid[np.argmax(half, axis=1)]
        return middle

    def read(self, values: Vector, shares: Vector, out: Vector) -> None:
        """Write what numbers of the bins are at the estimate of each symbol: float64 [size]."""
        start = 0
        for group in self.groups:
            part = values[start : start + group.centers.size]
            out[group.symbols] = np.interp(shares[group.symbols], group.centers, part)
            start += group.centers.size


@dataclass(frozen=True, eq=False)
class BinnedEstimates:
    """Symbols whose estimates have one variance at zero, and bins of their estimates.

    Standard deviations grow with the share when `slope` is positive. Where they fall a little
    (Hadamard response), they are taken as constant. Bins and grid have equal steps in
    ``u = 2 (sqrt(empty + slope z) - sqrt(empty)) / slope``, which counts standard deviations on the
    way from zero to z.
    """

    symbols: NDArray[np.int64]
    empty: float
    slope: float
    centers: Vector
    tails: Tails

    def likelihood(self, grid: Vector) -> Vector:
        """Return the density of every bin's center for every share: [bins, grid]."""
        variance = self.empty + self.slope * grid
        if self.tails == "laplace":
            # Of slope zero, so one variance for all.
            steps = np.abs(self.centers[:, None] - grid) * np.sqrt(2 / variance)
            sharp: Vector = np.exp(-steps)
            return sharp
        density: Vector = np.exp(-((self.centers[:, None] - grid) ** 2) / (2 * variance))
        density /= np.sqrt(variance / self.empty)
        return density


def share_at(steps: Vector, empty: float, slope: float) -> Vector:
    """Return the share so many standard deviations above zero, or below."""
    curved = np.where(steps > 0, slope / 4 * steps**2, 0.0)
    share: Vector = np.sqrt(empty) * steps + curved
    return share


def steps_to(share: Vector, empty: float, slope: float) -> Vector:
    """Return how many standard deviations a share is above zero."""
    root = np.sqrt(empty)
    # (sqrt(e + s z) - sqrt(e)) / s, without the cancellation.
    above = np.sqrt(empty + slope * np.maximum(share, 0.0)) + root
    steps: Vector = np.where(share > 0, 2 * share / above, share / root)
    return steps


def _binned(
    found: UnbiasedShares, symbols: NDArray[np.int64]
) -> tuple[list[BinnedEstimates], Vector]:
    """Return groups of symbols with bins, and how many estimates are in each bin of them all."""
    spread_of = np.log(found.empty[symbols] / found.empty[symbols].min())
    width = max(0.04, float(spread_of.max()) / (_GROUP_LIMIT - 1))
    number = np.rint(spread_of / width).astype(np.int64)
    groups, bins = [], []
    for group in np.unique(number):
        members = symbols[number == group]
        empty, slope = float(found.empty[members].mean()), max(found.common_slope, 0.0)
        steps = steps_to(found.shares[members], empty, slope)
        place = np.rint((np.maximum(steps, _LOWEST) - _LOWEST) / _STEP).astype(np.int64)
        counts = np.bincount(place).astype(np.float64)
        steps = _LOWEST + _STEP * np.arange(counts.size, dtype=np.float64)
        centers = share_at(steps, empty, slope)
        groups.append(BinnedEstimates(members, empty, slope, centers, found.tails))
        bins.append(counts)
    return groups, np.concatenate(bins)


def _grid(groups: list[BinnedEstimates], mean: float) -> Vector:
    """Return the shares at which the prior may have mass, from zero to above the largest."""
    quiet = min(groups, key=lambda group: group.empty)
    top = max(2 * mean, *(float(group.centers[-1]) for group in groups))
    grid = share_at(_GRID, quiet.empty, quiet.slope)
    if top > grid[-1]:
        more = int(np.ceil(np.log(top / grid[-1]) / np.log(1.05)))
        grid = np.append(grid, grid[-1] * 1.05 ** np.arange(1, more + 1))
    return grid


def learned_weights(
    likelihood: Vector,
    bins: Vector,
    grid: Vector,
    mean: float,
    iterations: int,
    *,
    flat: Vector | float = 0.0,
) -> Vector:
    """Return the weights of the grid: EM with a given mean, where `flat` is added to the counts."""
    away = grid - mean
    weights, log_x = with_mean(np.full(grid.size, 1 / grid.size), away)
    turned = np.ascontiguousarray(likelihood.T)
    for _ in range(iterations):
        density = np.maximum(likelihood @ weights, 1e-300)
        counted = weights * (turned @ (bins / density)) + flat
        weights, log_x = with_mean(counted, away, start=log_x)
    return weights


def exponential(grid: Vector, mean: float) -> Vector:
    """Return the share of an exponential distribution nearest to each point of a grid from zero."""
    edges = np.concatenate([[0.0], (grid[1:] + grid[:-1]) / 2, [np.inf]])
    part: Vector = -np.diff(np.exp(-edges / mean))
    return part


def with_mean(held: Vector, away: Vector, *, start: float = -1.0) -> tuple[Vector, float]:
    """Return ``held / (1 + lambda away)`` with ``sum(weights away) = 0``, summing to one.

    lambda lies between the poles of the smallest and the largest point. It may be as close to one
    as that point's weight is small. So it is sought as a distance x from the pole, on a log scale.
    At a distance of 1 it is zero. Newton's steps from `start`, a log x, within a bracket. The log x
    is returned as well.
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
