"""Masses of a large domain as waves and atoms: a prior of few columns, and its posterior.

The masses are ``mean + V z`` with columns V of sum zero and normal amplitudes z, independent before
the reports came: waves, symbols that stand apart, atoms. `low_rank_prior.py` begins with the waves,
`atom_search.py` adds the atoms. The likelihood is asked for products only, so nothing here is
larger than [size, columns]. What makes a distribution of the posterior mean, the last step of a
pass, is in `normal_posterior.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dtrsm

from lapwing.decoders.empirical_bayes.normal_posterior import nearest_distribution
from lapwing.decoders.empirical_bayes.quadratic_likelihood import Likelihood
from lapwing.decoders.empirical_bayes.spectrum import Spectrum, averaged_spectrum, refined
from lapwing.decoders.empirical_bayes.wave_basis import FREE
from lapwing.linear.arrays import Matrix, Vector, Whole

Members = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LowRankModel:
    """Columns with their prior variances: waves, symbols that stand apart, then atoms.

    Parameters
    ----------
    columns : Columns
    frequency, waves : numpy.ndarray
        float64 [waves]: half-waves per domain, and the spectrum.
    apart : int
        Number of symbols that stand apart.
    atoms : Atoms
    """

    columns: Columns
    frequency: Vector
    waves: Vector
    apart: int
    atoms: Atoms

    @property
    def variance(self) -> Vector:
        """Prior variances of all amplitudes: float64 [columns]."""
        return np.concatenate([self.waves, self.others])

    @property
    def others(self) -> Vector:
        """Prior variances of what is not a wave."""
        return np.concatenate([np.full(self.apart, FREE), self.atoms.variance])

    def posterior(self, score: Vector) -> LowRankPosterior:
        """Return the posterior, given the score at the prior mean."""
        return LowRankPosterior.of(self.columns, score, self.variance)

    def spectrum(self, score: Vector) -> Spectrum:
        """Return the spectrum of the waves that the reports support, the rest as it is."""
        information, at_zero = self.columns.information, self.columns.value.T @ score
        return averaged_spectrum(information, at_zero, self.frequency, self.others)

    def refined(self, score: Vector) -> LowRankModel:
        """Return the model with its spectrum adapted by half-octaves."""
        information, at_zero = self.columns.information, self.columns.value.T @ score
        waves = refined(self.waves, information, at_zero, self.frequency, self.others)
        return replace(self, waves=waves)

    def extended(self, atoms: Atoms, likelihood: Likelihood, allowed: Members) -> LowRankModel:
        """Return the model with more atoms."""
        more = Columns.of(atoms.columns(allowed), likelihood)
        return replace(self, columns=self.columns.joined(more), atoms=self.atoms.joined(atoms))

    def refitted(self, score: Vector, *, weak: float) -> LowRankModel:
        """Return the model with new variances of its atoms, and without the weak ones.

        The variance that makes an amplitude most probable, given how much of it the reports
        determine: a fixed-point step.

        Parameters
        ----------
        score : numpy.ndarray
            float64 [size].
        weak : float
            Squared amplitude, in posterior variances, below which an atom is dropped.
        """
        fixed = self.waves.size + self.apart
        posterior = self.posterior(score)
        amplitude = posterior.amplitude[fixed:]
        spread = posterior.variance()[fixed:]
        determined = np.maximum(1 - spread / self.atoms.variance, 1e-3)
        variance = np.clip(amplitude**2 / determined, 1e-16, 9)
        keep = amplitude**2 >= weak * spread
        return replace(
            self,
            columns=self.columns.kept(np.concatenate([np.ones(fixed, dtype=np.bool_), keep])),
            atoms=replace(self.atoms, variance=variance).kept(keep),
        )


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

    def kept(self, keep: Members) -> Columns:
        """Return some of the columns."""
        return Columns(
            self.value[:, keep], self.curved[:, keep], self.information[np.ix_(keep, keep)]
        )


@dataclass(frozen=True, eq=False)
class Atoms:
    """Blocks with the prior variances of their masses.

    Parameters
    ----------
    start, stop : numpy.ndarray
        int64 [atoms]: symbols ``start..stop - 1``.
    variance : numpy.ndarray
        float64 [atoms].
    """

    start: Whole
    stop: Whole
    variance: Vector

    @classmethod
    def none(cls) -> Atoms:
        """Return an empty list."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))

    @property
    def count(self) -> int:
        """Number of atoms."""
        return self.start.size

    def joined(self, more: Atoms) -> Atoms:
        """Return these and more."""
        return Atoms(
            np.concatenate([self.start, more.start]),
            np.concatenate([self.stop, more.stop]),
            np.concatenate([self.variance, more.variance]),
        )

    def kept(self, keep: Members | Whole) -> Atoms:
        """Return some of them."""
        return Atoms(self.start[keep], self.stop[keep], self.variance[keep])

    def columns(self, allowed: Members) -> Matrix:
        """Return them as masses of sum zero: float64 [size, atoms].

        Parameters
        ----------
        allowed : numpy.ndarray
            bool [size]: symbols that may be in a block; others in its range get nothing.
        """
        size = allowed.size
        columns = np.full((size, self.count), -1 / size)
        for number, (start, stop) in enumerate(zip(self.start, self.stop, strict=True)):
            inside = allowed[start:stop]
            columns[start:stop, number] += inside / inside.sum()
        return columns


@dataclass(frozen=True, eq=False)
class LowRankPosterior:
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
    def of(cls, columns: Columns, score: Vector, variance: Vector) -> LowRankPosterior:
        """Return the posterior of amplitudes N(0, variance).

        Parameters
        ----------
        columns : Columns
        score : numpy.ndarray
            float64 [size]: the score at the mean, ``s - H mean``.
        variance : numpy.ndarray
            float64 [columns], positive.
        """
        deviation = np.sqrt(variance)
        system = columns.information * deviation * deviation[:, None]
        system[np.diag_indices_from(system)] += 1
        factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        amplitude = _covariance_times(deviation, factor, columns.value.T @ score)
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

    def residual(self, score: Vector) -> Vector:
        """Return the score at the posterior mean: float64 [size]."""
        return score - self.columns.curved @ self.amplitude

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
