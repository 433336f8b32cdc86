"""A learned prior for distribution functions: independent sine waves, and a few jumps.

The difference between a distribution function and the straight line is zero at both ends, so it
is a sum of sine waves, and the noise of a prefix-sum release is nearly independent in them. How
fast the waves of the data fall off is learned by marginal likelihood; jumps that no wave explains
(atoms of the data) are added one by one while the release shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector

_LEVELS = np.exp(np.arange(-12.0, 9.0))

_CORNERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)

_DECAYS = (0.5, 1.0, 2.0, 4.0)

JUMP_LIMIT = 40


def sine_transform(curve: Vector) -> Vector:
    """Return the orthonormal discrete sine transform (its own inverse) along the first axis."""
    from scipy.fft import dst  # slow to import

    result: Vector = dst(curve, type=1, norm="ortho", axis=0)
    return result


@dataclass(frozen=True, eq=False)
class Waves:
    """The waves of a grid of `size` steps, in groups in which a prior is almost constant.

    Parameters
    ----------
    size : int
        Steps; there are size - 1 inner points and as many waves.
    noise : numpy.ndarray
        float64 [size - 1]: variance of the noise in each wave.
    """

    size: int
    noise: Vector

    def fitted(self, wave: Vector) -> Vector:
        """Return the prior variances under which the waves are most likely: float64 [size - 1].

        ``size level k^-2 (1 + (k / corner)^2)^-decay``, over a grid of levels, corners and decays.
        """
        k = np.arange(1.0, self.size)
        # Single waves up to 64, then groups 3 % wide, of nearly equal prior and noise.
        group = np.unique(np.rint(np.where(k < 64, k, 64 + np.log(k / 64) / 0.03)), True, True)[2]
        count = np.bincount(group)
        center = np.exp(np.bincount(group, np.log(k)) / count)
        noise = np.exp(np.bincount(group, np.log(self.noise)) / count)
        power = np.bincount(group, wave**2 / self.noise) * noise
        best, chosen = -np.inf, (1.0, 1.0, 0.0)
        for corner, decay in [*product(_CORNERS, _DECAYS), (1.0, 0.0)]:
            shape = self.size * center**-2 * (1 + (center / corner) ** 2) ** -decay
            total = noise + _LEVELS[:, None] * shape
            score = -(power / total + count * np.log(total)).sum(axis=1)
            level = int(np.argmax(score))
            if score[level] > best:
                best, chosen = float(score[level]), (float(_LEVELS[level]), corner, decay)
        level_, corner, decay = chosen
        return level_ * self.size * k**-2 * (1 + (k / corner) ** 2) ** -decay

    def jump_waves(self, places: NDArray[np.int64]) -> Vector:
        """Return the waves of unit jumps: float64 [size - 1, jumps].

        A jump at place j (1..size) is the curve ``1[k >= j] - k / size`` at k = 1..size - 1; its
        transform has the closed form ``cos(pi m (2 j - 1) / (2 size)) / (2 sin(pi m / (2 size)))``.
        """
        angle = np.pi * np.arange(1, self.size) / (2 * self.size)
        scale = np.sqrt(2 / self.size) / (2 * np.sin(angle))
        waves: Vector = scale[:, None] * np.cos(np.outer(angle, 2 * places - 1))
        return waves

    def jump_scores(self, residual: Vector, weights: Vector) -> Vector:
        """Return how many standard errors a jump at each place would explain: float64 [size].

        ``(a' W r) / sqrt(a' W a)`` for all places at once, by two transforms.
        """
        size = self.size
        angle = np.pi * np.arange(1, size) / (2 * size)
        scale = np.sqrt(2 / size) / (2 * np.sin(angle))
        odd = 2 * np.arange(1, size + 1) - 1
        padded = np.zeros(4 * size)
        padded[1:size] = weights * residual * scale
        along = np.fft.rfft(padded).real[odd]
        power = weights * scale**2 / 2
        padded = np.zeros(2 * size)
        padded[1:size] = power
        doubled = np.fft.rfft(padded).real
        # Frequencies above the middle mirror those below.
        own = power.sum() + doubled[np.where(odd > size, 2 * size - odd, odd)]
        scores: Vector = along / np.sqrt(np.maximum(own, 1e-300))
        return scores


@dataclass(frozen=True, eq=False)
class SmoothedCurve:
    """What :func:`pursue` found.

    Parameters
    ----------
    waves : numpy.ndarray
        float64 [size - 1], the posterior mean, jumps included.
    places : numpy.ndarray
        int64 [jumps], in 1..size.
    heights : numpy.ndarray
        float64 [jumps].
    """

    waves: Vector
    places: NDArray[np.int64]
    heights: Vector


def pursue(observed: Vector, *, noise: Vector, sampling: Vector) -> SmoothedCurve:
    """Return the posterior mean of a curve from its noisy sine waves.

    Parameters
    ----------
    observed : numpy.ndarray
        float64 [size - 1]: waves of the curve minus the straight line.
    noise : numpy.ndarray
        float64 [size - 1]: variances of the release's noise.
    sampling : numpy.ndarray
        float64 [size - 1]: variances of the sampling of people.

    Notes
    -----
    Jumps enter greedily, the largest standardized score first, while it is above
    ``sqrt(2 ln size) + 0.75``; then all jumps are fitted together, none below zero, and the
    prior of the rest is learned again. O(size (jumps + 41 * 21 / 6)) a jump.
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
