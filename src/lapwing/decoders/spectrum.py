"""How smooth the data are, learnt from the reports: prior variances of the frequencies.

A density is written as a uniform mean plus cosines (sines and cosines on a circle) with
independent normal amplitudes. Their variances follow ``a^2 k^(-2 alpha) + w^2``; a grid of such
spectra is weighed by its evidence, the probability of the reports under each.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtrs

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

SLOPES = (0.5, 1.0, 1.5, 2.0, 3.0)
AMPLITUDES = (0.4, 0.9, 2.0)
FLOORS = (0.0, 0.05, 0.2, 0.7)
"""The grid: alpha, a and w. The amplitude 0.9 with slope 1 is a density with a kink."""

PSEUDO_COUNT = 4.0
"""Weight, in amplitudes, of the chosen spectrum when half-octaves are refined."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns of unit mean square over the cells, and the number of half-waves of each.

    Parameters
    ----------
    columns : numpy.ndarray
        float64 [cells, frequencies].
    frequency : numpy.ndarray
        float64 [frequencies]: half-waves per domain, at least 1.
    """

    columns: Matrix
    frequency: Vector

    @classmethod
    def of(cls, cells: int, *, circular: bool, most: int | None = None) -> Basis:
        """Return cosines, or sines and cosines on a circle; the constant is left out.

        Parameters
        ----------
        cells : int
        circular : bool
        most : int, optional
            Frequencies kept; default all but the constant.
        """
        place = (np.arange(cells) + 0.5) / cells
        number = np.arange(1, cells if most is None else min(most + 1, cells))
        if not circular:
            columns = np.sqrt(2) * np.cos(np.pi * np.outer(place, number))
            return cls(columns, number.astype(np.float64))
        turns = (number + 1) // 2
        shift = np.where(number % 2 == 1, 0.0, np.pi / 2)
        columns = np.sqrt(2) * np.cos(2 * np.pi * np.outer(place, turns) - shift)
        return cls(columns, 2 * turns.astype(np.float64))

    @property
    def half_octave(self) -> NDArray[np.int64]:
        """Number of the half-octave of each frequency."""
        octave: NDArray[np.int64] = np.floor(2 * np.log2(self.frequency)).astype(np.int64)
        return octave


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


def evidence_of(information: Matrix, pull: Vector, variance: Vector) -> float:
    """Return the log-evidence of amplitudes N(0, variance).

    ``b'(A + T^-1)^-1 b / 2 - log det(I + T^1/2 A T^1/2) / 2`` with A the information and b the
    score of the amplitudes at zero.
    """
    root = np.sqrt(variance)
    matrix = information * root
    matrix *= root[:, None]
    matrix[np.diag_indices_from(matrix)] += 1
    # LAPACK itself: SciPy's wrappers copy and check, a third of the time at 200 frequencies.
    # The matrix is symmetric, so its transpose is it in LAPACK's order.
    factor, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the information of the amplitudes is not a number")
    reduced, _ = dtrtrs(factor, root * pull, lower=1)
    return float(reduced @ reduced) / 2 - float(np.log(factor.diagonal()).sum())


def averaged_spectrum(information: Matrix, pull: Vector, frequency: Vector) -> Spectrum:
    """Return the grid's spectra averaged in the logarithm, each weighed by its evidence."""
    variances = np.array(
        [
            amplitude**2 * frequency ** (-2 * slope) + floor**2
            for slope, amplitude, floor in product(SLOPES, AMPLITUDES, FLOORS)
        ]
    )
    evidence = np.array([evidence_of(information, pull, variance) for variance in variances])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    return Spectrum(np.exp(weights @ np.log(variances)), float(evidence.max()))


def refined(
    variance: Vector, information: Matrix, pull: Vector, group: NDArray[np.int64]
) -> Vector:
    """Return variances scaled, a group of frequencies at a time, to what the reports show.

    Expectation maximization for a common factor per group, with the given variances as
    :data:`PSEUDO_COUNT` more amplitudes.
    """
    number = np.unique(group, return_inverse=True)[1]
    size = np.bincount(number)
    for _ in range(3):
        root = np.sqrt(variance)
        matrix = information * root[:, None] * root
        matrix[np.diag_indices_from(matrix)] += 1
        posterior = np.linalg.inv(matrix) * root[:, None] * root
        amplitude = posterior @ pull
        ratio = (amplitude**2 + np.diag(posterior)) / variance
        factor = (PSEUDO_COUNT + np.bincount(number, ratio)) / (PSEUDO_COUNT + size)
        variance = variance * factor[number]
    return variance
