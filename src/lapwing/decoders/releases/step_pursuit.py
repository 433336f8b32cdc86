"""Step pursuit: the default decoder of a released distribution function."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from lapwing.decoders.decoder import decoder_document
from lapwing.decoders.releases.prefix_estimate import (
    PrefixEstimate,
    noise_tails,
    prefix_estimate,
    removed_columns,
    spikes_of,
)
from lapwing.decoders.releases.sine_prior import pursue, sine_transform
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, read_only
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.covariance import Covariance
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.operator import Operator
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import Uncertainty

_EXACT = 2048
"""Symbols up to which the noise of every wave is computed; above, of some, and interpolated."""

_RANK = 128
"""Columns that a band keeps; the rest counts as independent errors, so variances stay exact."""

_NOTICED = 3.0
"""Standard deviations of noise below which a share of missing values is taken to be zero."""

METHOD = "exact covariance of the release's noise"


@dataclass(frozen=True)
class StepPursuit:
    """Smooth what is smooth, keep the jumps that the release shows, and make it monotone.

    Parameters
    ----------
    smooth : bool
        False: only the isotonic regression of the unbiased prefix sums.
    band : bool
        False: no band is computed.

    Accuracy
    --------
    With 10^4 people the Kolmogorov-Smirnov distance is half that of the isotonic step alone on
    smooth data at small epsilon, and no worse on data full of atoms; see the benchmarks.

    The band about the population adds the sampling of people at the decoded distribution. That
    nearest to the unbiased shares has the noise of empty bins as people, and would overstate the
    variance of this sampling: by 59 % on average along the curve of a normal density, at 1024 bins,
    10^4 people and epsilon 1.

    Privacy
    -------
    It sees the release only, so it costs nothing.

    Cost
    ----
    O(size log size) a wave fit, one fit a jump; the noise of the waves and the columns of the
    band are computed once for a size and kept.

    Source: own; empirical Bayes in a sine basis with greedy jumps.
    """

    _: KW_ONLY
    smooth: bool = True
    band: bool = True

    name: ClassVar[str] = "step-pursuit"
    reads: ClassVar[Kind] = "release"

    @one_thread
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution, with the exact band of the unbiased prefix sums.

        Raises
        ------
        UnsupportedChannelError
            When the channel is not one linear release, or its strategy cannot be inverted.
        """
        estimate = prefix_estimate(channel, release)
        people = release.total
        whole = estimate
        if release.people is not None:
            whole = estimate.given(-1, people)
        else:
            people = max(1, round(float(estimate.sums[-1])))
        domain = channel.domain
        held = domain.left.size
        if held < 2:
            raise ArgumentError("a distribution function needs at least two symbols")
        present = float(people)
        missing = 0.0
        if held < domain.size:
            missing = max(0.0, people - float(whole.sums[held - 1]))
            if missing < _NOTICED * whole.deviation(held - 1):
                missing = 0.0
            present = max(people - missing, 1.0)
        inner = whole.given(held - 1, present)
        curve, jumps = self._curve(inner, held, present)
        mass = np.zeros(domain.size)
        mass[:held] = np.diff(curve, prepend=0.0) * present / people
        mass[held:] = missing / people
        mass = np.maximum(mass, 0.0)
        mass /= mass.sum()
        provenance = decoder_document(self) | {"jumps": jumps}
        return Distribution(
            domain,
            mass,
            reports=people,
            guarantee=channel.guarantee,
            uncertainty=self._uncertainty(whole, people, mass, noise_tails(release))
            if self.band
            else None,
            provenance=provenance,
        )

    def _curve(
        self, estimate: PrefixEstimate, held: int, people: float
    ) -> tuple[Vector, list[int]]:
        """Return the decoded distribution function at the ends of the present symbols."""
        from scipy.optimize import isotonic_regression  # slow to import

        line = np.arange(1, held) / held
        heights = estimate.sums[: held - 1] / people
        jumps: list[int] = []
        if self.smooth and held > 2:
            unit = _wave_noise(estimate.root, estimate.known, held)
            noise = unit * estimate.variance / people**2
            sampling = held / (np.pi**2 * np.arange(1, held) ** 2 * people)
            found = pursue(sine_transform(heights - line), noise=noise, sampling=sampling)
            heights = line + sine_transform(found.waves)
            jumps = sorted(int(place) - 1 for place in found.places[found.heights > 0])
        monotone = np.clip(isotonic_regression(heights).x, 0.0, 1.0)
        return np.append(monotone, 1.0), jumps

    @staticmethod
    def _uncertainty(
        estimate: PrefixEstimate, people: int, mass: Vector, tails: float
    ) -> Uncertainty:
        # About the people themselves nothing depends on the decoded mass.
        center = np.diff(estimate.sums, prepend=0.0) / people
        factor, remainder = _columns(estimate.root, estimate.known)
        scale = np.sqrt(estimate.variance) / people
        noise = Covariance(np.zeros(center.size), factor * scale, np.ones(factor.shape[1]))
        return Uncertainty(
            center,
            noise,
            remainder * scale**2,
            mass,
            people,
            METHOD,
            tails=tails * spikes_of(estimate.root) if tails else 0.0,
        )


@memoized(most=4)
def _wave_noise(root: Operator, known: tuple[int, ...], held: int) -> Vector:
    """Return the variance of every sine wave of the inner prefix sums, per unit of noise."""
    chosen = np.arange(1, held)
    if held > _EXACT:
        chosen = np.unique(np.rint(np.geomspace(1, held - 1, 400)).astype(np.int64))
    removed = removed_columns(root, known)
    variance: Vector = np.empty(chosen.size)
    points = np.arange(1, held)
    for start in range(0, chosen.size, 256):
        part = chosen[start : start + 256]
        waves = np.zeros((root.shape[0], part.size))
        waves[: held - 1] = np.sqrt(2 / held) * np.sin(np.pi / held * np.outer(points, part))
        through = root.rmatmat(waves)
        variance[start : start + 256] = (through**2).sum(axis=0)
        variance[start : start + 256] -= ((waves.T @ removed) ** 2).sum(axis=1)
    np.maximum(variance, 1e-12 * variance.max(), out=variance)
    if chosen.size == held - 1:
        return read_only(variance)
    return read_only(np.exp(np.interp(np.log(points), np.log(chosen), np.log(variance))))


@memoized(most=4)
def _columns(root: Operator, known: tuple[int, ...]) -> tuple[Vector, Vector]:
    """Return columns of masses whose errors of sums are the noise, and what they leave."""
    size, removed = root.shape[0], removed_columns(root, known)
    covariance = root.matmat(root.rmatmat(np.eye(size)))
    covariance -= removed @ removed.T
    first = max(0, size - _RANK)
    values, vectors = eigh((covariance + covariance.T) / 2, subset_by_index=[first, size - 1])
    heights = vectors * np.sqrt(np.maximum(values, 0.0))
    factor = np.diff(heights, axis=0, prepend=0.0).astype(np.float32).astype(np.float64)
    explained = (np.cumsum(factor, axis=0) ** 2).sum(axis=1)
    return read_only(factor), read_only(np.maximum(np.diag(covariance) - explained, 0.0))
