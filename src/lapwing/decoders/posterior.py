"""The normal posterior of masses under a normal prior, and its nearest distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, lstsq, solve
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dsygst
from scipy.sparse.linalg import LinearOperator

from lapwing.channel import Channel
from lapwing.linear.stacked import dense
from lapwing.tally import Counts

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def quadratic_likelihood(channel: Channel, tally: Counts, pilot: Vector) -> tuple[Matrix, Vector]:
    """Return (H, s) such that the log-likelihood near the pilot is ``s'x - x'Hx / 2 + constant``.

    H is the expected information of all blocks and s the score at the pilot plus ``H pilot``.
    Blocks without a likelihood contribute their composite one.

    Parameters
    ----------
    channel : Channel
    tally : Counts
    pilot : numpy.ndarray
        float64 [size], positive.

    Notes
    -----
    O(outputs * size) per structured block, as its operator is applied to a matrix once.
    """
    size = channel.domain.size
    terms, slope = likelihood_terms(channel, tally, pilot)
    information = np.zeros((size, size))
    for term in terms:
        information += dense(term)
    information = (information + information.T) / 2
    return information, slope + information @ pilot


def likelihood_terms(
    channel: Channel, tally: Counts, pilot: Vector
) -> tuple[list[LinearOperator], Vector]:
    """Return the information of every block with reports, and the score of all at the pilot."""
    terms: list[LinearOperator] = []
    slope = np.zeros(channel.domain.size)
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        if reports:
            score, information = block.score_and_information(pilot, counts, reports)
            slope += score
            terms.append(information)
    return terms, slope


@dataclass(frozen=True, eq=False)
class LearntPrior:
    """A normal prior of the masses.

    Parameters
    ----------
    mean : numpy.ndarray
        float64 [size].
    smooth : numpy.ndarray
        float64 [size, size]: the part of the covariance from cosines and steps.
    single : numpy.ndarray
        float64 [size]: variances of single symbols (spikes).
    """

    mean: Vector
    smooth: Matrix
    single: Vector

    @property
    def covariance(self) -> Matrix:
        """The whole covariance: float64 [size, size]."""
        covariance = self.smooth.copy()
        covariance[np.diag_indices_from(covariance)] += self.single
        return covariance


@dataclass(frozen=True, eq=False)
class Posterior:
    """Mean and covariance of the masses given the reports, on the plane of total one.

    Parameters
    ----------
    mean : numpy.ndarray
        float64 [size]; may have negative entries.
    covariance : numpy.ndarray
        float64 [size, size], singular along the total.
    """

    mean: Vector
    covariance: Matrix

    @classmethod
    def of(cls, information: Matrix, score: Vector, mean: Vector, prior: Matrix) -> Posterior:
        """Return the posterior of the prior N(mean, prior).

        ``C = S (I + H S)^-1`` needs no inverse of the prior, which may be singular.
        """
        covariance = shrunk(information, prior)
        centre = mean + covariance @ (score - information @ mean)
        along = covariance.sum(axis=1)
        spread = along.sum()
        centre = centre + along * ((1 - centre.sum()) / spread)
        return cls(centre, covariance - np.outer(along, along) / spread)

    def distribution(self) -> Vector:
        """Return the distribution that is nearest to the mean in the posterior's own metric.

        Minimises ``(x - mean)' C^-1 (x - mean)`` over x >= 0, total one: what is taken from
        negative cells goes where the reports cannot tell the difference. The Euclidean
        projection can be far worse.

        Notes
        -----
        ``x = mean + C v`` with multipliers v >= 0, zero where x > 0. Solved by exchanging all
        cells that violate a sign at once while that helps, then one at a time, which ends.
        Source: Portugal, Judice and Vicente 1994.
        """
        size = self.mean.size
        held = self.mean < 0
        tiny = 1e-12 * float(np.abs(self.mean).max())
        ridge = 1e-13 * float(np.trace(self.covariance)) / size
        fewest, patience = size + 1, 3
        point = self.mean
        for _ in range(50 * size):
            multipliers = np.zeros(size)
            (at_zero,) = np.nonzero(held)
            if at_zero.size:
                block = self.covariance[np.ix_(at_zero, at_zero)]
                block[np.diag_indices_from(block)] += ridge
                multipliers[at_zero] = _solve(block, -self.mean[at_zero])
            shift: Vector = self.covariance @ multipliers
            point = self.mean + shift
            wrong = (held & (multipliers < 0)) | (~held & (point < -tiny))
            count = int(wrong.sum())
            if count == 0:
                break
            if count < fewest:
                fewest, patience = count, 3
            elif patience > 0:
                patience -= 1
            else:
                last = int(np.flatnonzero(wrong)[-1])
                wrong = np.zeros(size, dtype=np.bool_)
                wrong[last] = True
            held = held ^ wrong
        mass = np.maximum(point, 0.0)
        mass[held] = 0.0
        mass /= mass.sum()
        return mass


def _solve(matrix: Matrix, right: Vector) -> Vector:
    try:
        solution: Vector = cho_solve(cho_factor(matrix), right)
    except LinAlgError:
        # Cells that the reports cannot tell apart: the shortest of all solutions.
        solution = lstsq(matrix, right)[0]
    return solution


def shrunk(information: Matrix, prior: Matrix) -> Matrix:
    """Return the posterior covariance ``S (I + H S)^-1``, symmetric."""
    system = information @ prior
    system[np.diag_indices_from(system)] += 1
    # (I + H S)' C = S, because C is symmetric.
    covariance: Matrix = solve(system, prior, transposed=True, check_finite=False)
    return (covariance + covariance.T) / 2


def root_of(information: Matrix) -> Matrix:
    """Return a lower triangular F with ``F F' = information``, which may be singular.

    The diagonal is raised by 1e-13 of its mean, far less than any prior that is not flat.
    """
    raised = information.copy()
    raised[np.diag_indices_from(raised)] += 1e-13 * float(np.trace(raised)) / raised.shape[0]
    root: Matrix = cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    return root


def whitener(root: Matrix, prior: Matrix) -> Matrix:
    """Return W such that ``W'W = H - H C H``, the precision of the pull under the prior.

    With ``H = F F'`` and ``G G' = I + F' S F`` it is ``W = G^-1 F'``: one reduction, one
    Cholesky factor and one triangular solution, a quarter of the work of C itself.

    Parameters
    ----------
    root : numpy.ndarray
        float64 [size, size], the lower triangular F of :func:`root_of`.
    prior : numpy.ndarray
        float64 [size, size], the covariance S.
    """
    system, _ = dsygst(prior.T, root, itype=2, lower=1)
    system[np.diag_indices_from(system)] += 1
    factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    whitened: Matrix = dtrsm(1.0, factor, root, side=1, lower=1, trans_a=1).T
    return whitened
