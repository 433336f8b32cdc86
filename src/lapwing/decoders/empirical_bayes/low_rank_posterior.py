"""A normal posterior of large domains, kept as a few columns instead of a matrix of all symbols.

The masses are ``mean + V z`` with columns V of sum zero and normal amplitudes z. The likelihood is
asked for products only, so nothing here is larger than [size, columns].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dtrsm

from lapwing.decoders.empirical_bayes.normal_posterior import likelihood_terms, nearest_distribution
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.operators.operator import Operator
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import Counts


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The quadratic likelihood ``s'x - x'Hx / 2`` near a pilot, with H as operators.

    Parameters
    ----------
    terms : sequence of Operator
        The information of every block; H is their sum.
    score : numpy.ndarray
        float64 [size], s.
    """

    terms: Sequence[Operator]
    score: Vector

    @classmethod
    def of(cls, channel: Channel, tally: Counts, pilot: Vector) -> Likelihood:
        """Return that of a tally at a pilot of positive masses."""
        terms, slope = likelihood_terms(channel, tally, pilot)
        without = cls(terms, slope)
        return cls(terms, slope + without.curved(pilot))

    def curved(self, masses: Matrix) -> Matrix:
        """Return H times a vector or a matrix: float64 of the shape given."""
        product = np.zeros(masses.shape)
        for term in self.terms:
            product += term.matvec(masses) if masses.ndim == 1 else term.matmat(masses)
        return product

    def near_diagonal(self, lags: int) -> Matrix:
        """Return the entries (i, i + lag) of H: float64 [lags, size]."""
        bands = np.zeros((lags, self.score.size))
        for term in self.terms:
            bands += term.near_diagonal(lags)
        return bands


@dataclass(frozen=True, eq=False)
class Columns:
    """Directions in which masses may leave their mean, with what the reports say about them.

    Parameters
    ----------
    value : numpy.ndarray
        float64 [size, columns], V; each column sums to zero.
    curved : numpy.ndarray
        float64 [size, columns], H V.
    information : numpy.ndarray
        float64 [columns, columns], V'H V.
    """

    value: Matrix
    curved: Matrix
    information: Matrix

    @classmethod
    def of(cls, value: Matrix, likelihood: Likelihood) -> Columns:
        """Return columns with their products: one product of the likelihood with a matrix."""
        curved = likelihood.curved(value)
        information = value.T @ curved
        return cls(value, curved, (information + information.T) / 2)

    def joined(self, more: Columns) -> Columns:
        """Return these columns and more."""
        cross = self.value.T @ more.curved
        return Columns(
            np.hstack([self.value, more.value]),
            np.hstack([self.curved, more.curved]),
            np.block([[self.information, cross], [cross.T, more.information]]),
        )

    def kept(self, keep: NDArray[np.bool_]) -> Columns:
        """Return some of the columns."""
        return Columns(
            self.value[:, keep], self.curved[:, keep], self.information[np.ix_(keep, keep)]
        )


@dataclass(frozen=True, eq=False)
class ReducedPosterior:
    """The posterior of the amplitudes of columns, independent before the reports came.

    Parameters
    ----------
    columns : Columns
    deviation : numpy.ndarray
        float64 [columns]: prior standard deviations, T^1/2.
    factor : numpy.ndarray
        float64 [columns, columns]: lower triangular L, ``L L' = I + T^1/2 V'HV T^1/2``.
    amplitude : numpy.ndarray
        float64 [columns]: posterior mean z.
    """

    columns: Columns
    deviation: Vector
    factor: Matrix
    amplitude: Vector

    @classmethod
    def of(cls, columns: Columns, pull: Vector, variance: Vector) -> ReducedPosterior:
        """Return the posterior of amplitudes N(0, variance).

        Parameters
        ----------
        columns : Columns
        pull : numpy.ndarray
            float64 [size]: the score at the mean, ``s - H mean``.
        variance : numpy.ndarray
            float64 [columns], positive.
        """
        deviation = np.sqrt(variance)
        system = columns.information * deviation * deviation[:, None]
        system[np.diag_indices_from(system)] += 1
        factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        amplitude = _covariance_times(deviation, factor, columns.value.T @ pull)
        return cls(columns, deviation, factor, amplitude)

    def whitened(self, rows: Matrix) -> Matrix:
        """Return ``L^-1 T^1/2 rows'``: float64 [columns, rows].

        For rows of V its squares sum to posterior variances, for rows of H V to the information
        that the columns already take up.
        """
        scaled = np.asfortranarray((rows * self.deviation).T)
        whitened: Matrix = dtrsm(1.0, self.factor, scaled, lower=1, overwrite_b=1)
        return whitened

    def covariance_times(self, vector: Vector) -> Vector:
        """Return the posterior covariance of the amplitudes times a vector."""
        return _covariance_times(self.deviation, self.factor, vector)

    def variance(self) -> Vector:
        """Return the posterior variances of the amplitudes: float64 [columns]."""
        spread = self.whitened(np.eye(self.deviation.size))
        variance: Vector = np.einsum("ij,ij->j", spread, spread)
        return variance

    def residual(self, pull: Vector) -> Vector:
        """Return the score at the posterior mean: float64 [size]."""
        return pull - self.columns.curved @ self.amplitude

    def distribution(self, mean: Vector) -> Vector:
        """Return the distribution nearest to the posterior mean, in the posterior's own metric.

        Parameters
        ----------
        mean : numpy.ndarray
            float64 [size], of sum one.
        """
        value = self.columns.value

        def block(cells: Whole) -> Matrix:
            push = self.whitened(value[cells])
            return push.T @ push

        def shift(cells: Whole, multipliers: Vector) -> Vector:
            return value @ self.covariance_times(value[cells].T @ multipliers)

        return nearest_distribution(mean + value @ self.amplitude, block, shift)


def _covariance_times(deviation: Vector, factor: Matrix, vector: Vector) -> Vector:
    """Return ``T^1/2 (L L')^-1 T^1/2 vector``."""
    half = solve_triangular(factor, deviation * vector, lower=True, check_finite=False)
    product: Vector = deviation * solve_triangular(factor.T, half, check_finite=False)
    return product
