"""Step pursuit: a released distribution function under a learned prior of sine waves and jumps.

The difference between a distribution function and the straight line is zero at both ends. So it is
a sum of sine waves, and the noise of a prefix-sum release is nearly independent in them. Marginal
likelihood determines how fast the waves of the data decay. Jumps that no wave explains (atoms of
the data) are added one by one while the release shows them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lapwing.declared import Declared
from lapwing.decoders.decoder import Decoder, decoder_document, steps_entry
from lapwing.decoders.releases.prefix_estimate import (
    PrefixEstimate,
    in_whole_people,
    prefix_estimate,
    removed_columns,
    spikes_of,
    sums_tails,
)
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector, one_thread, read_only
from lapwing.linear.covariance import Covariance
from lapwing.linear.memoized import cached_property, memoized
from lapwing.linear.operators.operator import Operator
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import Uncertainty

_LEVELS = np.exp(np.arange(-12.0, 9.0))

_CORNERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)

_DECAYS = (0.5, 1.0, 2.0, 4.0)

JUMP_LIMIT = 40


_SHAPES = (*product(_CORNERS, _DECAYS), (1.0, 0.0))
"""Corners and decays of the spectra that a fit chooses among."""


def sine_transform(curve: Vector) -> Vector:
    """Return the orthonormal discrete sine transform (its own inverse) along the first axis."""
    from scipy.fft import dst  # slow to import

    result: Vector = dst(curve, type=1, norm="ortho", axis=0)
    return result


@dataclass(frozen=True, eq=False)
class Waves:
    """The waves of a grid of `size` steps, in groups in which a prior is almost constant.

    size: Number of steps. There are ``size - 1`` inner points and as many waves.
    noise: Variance of the noise in each wave, float64 [size - 1].
    """

    size: int
    noise: Vector

    def fitted(self, wave: Vector) -> Vector:
        """Return the prior variances under which the waves are most likely: float64 [size - 1].

        ``size level k^-2 (1 + (k / corner)^2)^-decay``, over a grid of levels, corners and decays.
        """
        k = np.arange(1.0, self.size)
        group, noise, total, constant = self._spectra
        power = np.bincount(group, wave**2 / self.noise) * noise
        shape, level = divmod(int(np.argmin(total @ power + constant)), _LEVELS.size)
        return float(_LEVELS[level]) * self.size * _falling(k, *_SHAPES[shape])

    @cached_property
    def _spectra(self) -> tuple[NDArray[np.int64], Vector, Matrix, Vector]:
        """Groups of waves, their noise, and minus twice the log-likelihood of each spectrum.

        That is a row of weights of the groups' power, and a constant. Rows are shapes, by levels.
        """
        k = np.arange(1.0, self.size)
        # Single waves up to 64, then groups 3% wide, of nearly equal prior and noise.
        group = np.unique(np.rint(np.where(k < 64, k, 64 + np.log(k / 64) / 0.03)), True, True)[2]
        count = np.bincount(group)
        center = np.exp(np.bincount(group, np.log(k)) / count)
        noise = np.exp(np.bincount(group, np.log(self.noise)) / count)
        shapes = self.size * np.array([_falling(center, *shape) for shape in _SHAPES])
        total = noise + (_LEVELS[:, None] * shapes[:, None]).reshape(-1, noise.size)
        return group, noise, 1 / total, np.log(total) @ count

    def jump_waves(self, places: NDArray[np.int64]) -> Vector:
        """Return the waves of unit jumps: float64 [size - 1, jumps].

        A jump at place j (1..size) is the curve ``1[k >= j] - k / size`` at k = 1..size - 1. Its
        transform has the closed form ``cos(pi m (2 j - 1) / (2 size)) / (2 sin(pi m / (2 size)))``.
        """
        angle = np.pi * np.arange(1, self.size) / (2 * self.size)
        waves: Vector = self._scale[:, None] * np.cos(np.outer(angle, 2 * places - 1))
        return waves

    @cached_property
    def _scale(self) -> Vector:
        """Amplitudes of the waves of any unit jump: float64 [size - 1]."""
        angle = np.pi * np.arange(1, self.size) / (2 * self.size)
        scale: Vector = np.sqrt(2 / self.size) / (2 * np.sin(angle))
        return scale

    def jump_scores(self, residual: Vector, weights: Vector) -> Vector:
        """Return how many standard errors a jump at each place would explain: float64 [size].

        ``(a' W r) / sqrt(a' W a)`` for all places at once, by two cosine transforms.
        """
        from scipy.fft import dct  # slow to import

        size = self.size
        rows = np.zeros((2, size))
        rows[0, 1:] = weights * residual * self._scale / 2
        # The square of a cosine is a half, and half of that of twice the angle. Doubled, angles
        # above a straight one mirror those below, with the other sign.
        power = weights * self._scale**2 / 4
        below = (size - 1) // 2
        rows[1, 2 : 2 * below + 1 : 2] = power[:below] - power[size // 2 :][::-1]
        along, own = dct(rows, type=3)
        scores: Vector = along / np.sqrt(np.maximum(own + 2 * power.sum(), 1e-300))
        return scores


def _falling(k: Vector, corner: float, decay: float) -> Vector:
    variance: Vector = k**-2 * (1 + (k / corner) ** 2) ** -decay
    return variance


@dataclass(frozen=True, eq=False)
class SmoothedCurve:
    """What :func:`pursue` found.

    waves: float64 [size - 1], the posterior mean, jumps included.
    places: int64 [jumps], in 1..size.
    heights: float64 [jumps].
    """

    waves: Vector
    places: NDArray[np.int64]
    heights: Vector


def pursue(observed: Vector, *, noise: Vector, sampling: Vector) -> SmoothedCurve:
    """Return the posterior mean of a curve from its noisy sine waves.

    observed: Waves of the curve minus the straight line, float64 [size - 1].
    noise: Variances of the release's noise, float64 [size - 1].
    sampling: Variances of the sampling of people, float64 [size - 1].
    returns: Posterior mean of the waves, with the jumps.

    Jumps enter greedily, the largest standardized score first, while it is above
    ``sqrt(2 ln size) + 0.75``. Then all jumps are fitted together, none below zero, and the prior
    of the rest is learned again. It takes O(size (jumps + 41 * 21 / 6)) for each jump.
    """
    size = observed.size + 1
    waves = Waves(size, noise + sampling)
    threshold = np.sqrt(2 * np.log(size)) + 0.75
    places: list[int] = []
    heights: NDArray[Any] = np.zeros(0)
    columns = np.zeros((size - 1, 0))
    residual = observed
    prior = waves.fitted(residual)
    while len(places) < JUMP_LIMIT:
        weights = 1 / (noise + prior)
        scores = waves.jump_scores(residual, weights)
        if places:
            scores[np.array(places) - 1] = -np.inf
        best = int(np.argmax(scores))
        if not scores[best] >= threshold:
            break
        places.append(best + 1)
        columns = np.column_stack([columns, waves.jump_waves(np.array([best + 1]))])
        weighted = columns * weights[:, None]
        heights = np.linalg.lstsq(weighted.T @ columns, weighted.T @ observed, rcond=None)[0]
        heights = np.maximum(heights, 0.0)
        residual = observed - columns @ heights
        prior = waves.fitted(residual)
    shrunk = residual * prior / (prior + waves.noise)
    return SmoothedCurve(shrunk + columns @ heights, np.array(places, dtype=np.int64), heights)


_EXACT = 2048
"""Symbols up to which the noise of every wave is computed. Above, of some, and interpolated."""

_RANK = 128
"""Columns that a band keeps. The rest counts as independent errors, so variances stay exact."""

_NOTICED = 3.0
"""Standard deviations of noise below which a share of missing values is taken to be zero."""

METHOD = "exact covariance of the release's noise"


@dataclass(frozen=True)
class StepPursuit(Declared):
    """Empirical-Bayes CDF from a release, with sine waves and greedy jumps.

    It smooths the smooth component, keeps the jumps that the release shows, and makes the curve
    monotone.

    Parameters
    ----------
    smooth : bool
        False: only the isotonic regression of the unbiased prefix sums. Default: True.
    band : bool
        Whether to compute the confidence band. Default: True.

    See Also
    --------
    SpectralPursuit : More accurate, and slower.

    Notes
    -----
    **Privacy.** A decoder is post-processing of a release, so it costs no privacy.

    **Accuracy.** With 10^4 people and small epsilon, the Kolmogorov-Smirnov distance on smooth data
    is half that of isotonic regression alone. It is no worse on data full of atoms. See
    `benchmarks/accuracy`.

    The band for the population adds the sampling variance, computed at the decoded distribution.
    The distribution nearest to the unbiased shares counts the noise of empty bins as people. It
    would overstate this variance by 59% on average along the CDF of a Gaussian density, at 1024
    bins, 10^4 people and epsilon 1.

    **Cost.** O(size log size) for a fit of the waves, and one fit for each jump. The noise of the
    waves and the columns of the band are computed once for each size and kept.

    The decoder is this library's own. It is empirical Bayes by marginal likelihood [1]_ in a sine
    basis.

    References
    ----------
    .. [1] D. J. C. MacKay, "Bayesian interpolation", Neural Computation 4(3), 1992.
       doi:10.1162/neco.1992.4.3.415

    Examples
    --------
    >>> import lapwing as lw
    >>> ages = list(range(20, 60)) * 500  # 52.5% of them at most 40
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=50, outside="clip"), neighbors="replace-one",
    ...     epsilon=1, delta="1e-6", rng=lw.seeded(1),
    ... )
    >>> release = published.release
    >>> round(float(lw.decoders.StepPursuit().decode(release.channel, release).cdf(40)), 2)
    0.52
    """

    _: KW_ONLY
    smooth: bool = True
    band: bool = True

    name: ClassVar[str] = "step-pursuit"
    reads: ClassVar[Kind] = "release"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution, with the exact confidence band of the unbiased prefix sums.

        Raises
        ------
        UnsupportedChannelError
            When the channel is not one linear release, or its strategy cannot be inverted.
        """
        estimate = prefix_estimate(channel, release)
        people = release.total
        whole = estimate
        if release.people is not None:
            whole = estimate.condition(-1, people)
        else:
            people = max(1, round(float(estimate.sums[-1])))
        domain = channel.domain
        held = domain.left.size
        if held < 2:
            raise ArgumentError("a distribution function needs at least two bins")
        present = float(people)
        missing = 0.0
        if held < domain.size:
            missing = max(0.0, people - float(whole.sums[held - 1]))
            if missing < _NOTICED * whole.deviation(held - 1):
                missing = 0.0
            present = max(people - missing, 1.0)
        inner = whole.condition(held - 1, present)
        curve, jumps = self._curve(inner, held, present)
        mass = np.zeros(domain.size)
        mass[:held] = np.diff(curve, prepend=0.0) * present / people
        mass[held:] = missing / people
        mass = np.maximum(mass, 0.0)
        mass /= mass.sum()
        provenance = decoder_document(self) | {"jumps": jumps} | steps_entry(channel, people)
        return Distribution(
            domain,
            mass,
            reports=people,
            guarantee=channel.guarantee,
            uncertainty=self._uncertainty(whole, people, mass, release) if self.band else None,
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
            unit = _wave_noise(estimate.root, estimate.exact_indices, held)
            noise = unit * estimate.variance / people**2
            sampling = held / (np.pi**2 * np.arange(1, held) ** 2 * people)
            found = pursue(sine_transform(heights - line), noise=noise, sampling=sampling)
            heights = line + sine_transform(found.waves)
            jumps = sorted(int(place) - 1 for place in found.places[found.heights > 0])
        monotone = np.clip(isotonic_regression(heights).x, 0.0, 1.0)
        return np.append(monotone, 1.0), jumps

    @staticmethod
    def _uncertainty(
        estimate: PrefixEstimate, people: int, mass: Vector, release: Release
    ) -> Uncertainty:
        # About the people themselves nothing depends on the decoded mass.
        center = np.diff(estimate.sums, prepend=0.0) / people
        factor, remainder = _columns(estimate.root, estimate.exact_indices)
        scale = np.sqrt(estimate.variance) / people
        noise = Covariance(np.zeros(center.size), factor * scale, np.ones(factor.shape[1]))
        return Uncertainty(
            center,
            noise,
            remainder * scale**2,
            mass,
            people,
            METHOD,
            tails=sums_tails(release, lambda: spikes_of(estimate.root)),
            whole=in_whole_people(release),
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
