"""How smooth the data are, learned from the reports: prior variances of the frequencies.

A density is written as a uniform mean plus cosines (sines and cosines on a circle) with
independent normal amplitudes. Their variances follow ``a^2 k^(-2 alpha) + w^2``; a grid of such
spectra is weighed by its evidence, the probability of the reports under each.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from lapwing.linear.arrays import Matrix, Vector

SLOPES = (0.5, 1.0, 1.5, 2.0, 3.0)

AMPLITUDES = (0.4, 0.9, 2.0)

FLOORS = (0.0, 0.05, 0.2, 0.7)
"""The grid: alpha, a and w. The amplitude 0.9 with slope 1 is a density with a kink."""

_GRID = (SLOPES, AMPLITUDES, FLOORS)

_STARTS = tuple(product((0, 2, 4), (1,), (0, 3)))

_UNLIKELY = 40.0
"""How far below the best, in log-evidence, a spectrum is not followed any further: its weight is
nothing, and so are those behind it. The search goes from neighbor to neighbor, which spares up
to two thirds of the 60 spectra; six starts, because the evidence can have two tops, a smooth and a
rough one."""

Place = tuple[int, ...]

PSEUDO_COUNT = 4.0
"""Weight, in amplitudes, of the chosen spectrum when half-octaves are refined."""


def _beside(place: Place) -> list[Place]:
    """Return the places one step away in one of the three lines of the grid."""
    steps = product(range(3), (-1, 1))
    near = [(*place[:line], place[line] + step, *place[line + 1 :]) for line, step in steps]
    sizes = [len(line) for line in _GRID]
    return [other for other in near if all(0 <= i < n for i, n in zip(other, sizes, strict=True))]


_BESIDE = {place: _beside(place) for place in product(*(range(len(line)) for line in _GRID))}


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Prior variances of the amplitudes, with the evidence for them.

    Parameters
    ----------
    variance : numpy.ndarray
        float64 [frequencies].
    evidence : float
        Logarithm of the probability of the reports under the best spectrum of the grid, up to a
        constant that is the same for all priors with one mean.
    """

    variance: Vector
    evidence: float


def evidence_of(information: Matrix, score: Vector, variance: Vector) -> float:
    """Return the log-evidence of amplitudes N(0, variance).

    ``b'(A + T^-1)^-1 b / 2 - log det(I + T^1/2 A T^1/2) / 2`` with A the information and b the
    score of the amplitudes at zero.
    """
    root = np.sqrt(variance)
    matrix = information * root
    matrix *= root[:, None]
    matrix.reshape(-1)[:: variance.size + 1] += 1
    # LAPACK itself: SciPy's wrappers copy and check, a third of the time at 200 frequencies.
    # The matrix is symmetric, so its transpose is it in LAPACK's order.
    factor, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the information of the amplitudes is not a number")
    reduced, _ = dtrtrs(factor, root * score, lower=1)
    return float(reduced @ reduced) / 2 - float(np.log(factor.diagonal()).sum())


def averaged_spectrum(
    information: Matrix, score: Vector, frequency: Vector, others: Vector | None = None
) -> Spectrum:
    """Return the grid's spectra averaged in the logarithm, each weighed by its evidence.

    Parameters
    ----------
    information : numpy.ndarray
        float64 [columns, columns], of the amplitudes: first the frequencies, then the others.
    score : numpy.ndarray
        float64 [columns], their score at zero.
    frequency : numpy.ndarray
        float64 [frequencies].
    others : numpy.ndarray, optional
        Variances of further amplitudes, the same under every spectrum.
    """
    rest = np.zeros(0) if others is None else others
    spectra: dict[Place, tuple[float, Vector]] = {}

    def weigh(place: Place) -> None:
        slope, amplitude, floor = (line[i] for line, i in zip(_GRID, place, strict=True))
        waves = amplitude**2 * frequency ** (-2 * slope) + floor**2
        evidence = evidence_of(information, score, np.concatenate([waves, rest]))
        spectra[place] = (evidence, waves)

    for start in _STARTS:
        weigh(start)
    best = max(evidence for evidence, _ in spectra.values())
    unmoved: set[Place] = set(_STARTS)
    while unmoved:
        place = max(unmoved, key=lambda place: spectra[place][0])
        unmoved.remove(place)
        if spectra[place][0] < best - _UNLIKELY:
            break
        for near in _BESIDE[place]:
            if near not in spectra:
                weigh(near)
                unmoved.add(near)
                best = max(best, spectra[near][0])
    weights = np.exp([evidence - best for evidence, _ in spectra.values()])
    weights /= weights.sum()
    return Spectrum(np.exp(weights @ np.log([waves for _, waves in spectra.values()])), best)


def refined(
    variance: Vector,
    information: Matrix,
    score: Vector,
    frequency: Vector,
    others: Vector | None = None,
) -> Vector:
    """Return variances scaled, a half-octave of frequencies at a time, to what the reports show.

    Expectation maximization for a common factor per half-octave, with the given variances as
    :data:`PSEUDO_COUNT` more amplitudes. Further amplitudes, after the frequencies, have the
    variances `others`, which stay.
    """
    waves = variance.size
    rest = np.zeros(0) if others is None else others
    number = np.unique(np.floor(2 * np.log2(frequency)), return_inverse=True)[1]
    size = np.bincount(number)
    for _ in range(3):
        root = np.sqrt(np.concatenate([variance, rest]))
        matrix = information * root[:, None] * root
        matrix[np.diag_indices_from(matrix)] += 1
        posterior = np.linalg.inv(matrix) * root[:, None] * root
        second_moment = (posterior @ score) ** 2 + np.diag(posterior)
        ratio = second_moment[:waves] / variance
        factor = (PSEUDO_COUNT + np.bincount(number, ratio)) / (PSEUDO_COUNT + size)
        variance = variance * factor[number]
    return variance
