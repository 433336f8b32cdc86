"""The normal posterior of masses under a normal prior, and its nearest distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dsygst

from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.operators.operator import Operator
from lapwing.linear.operators.stacked import dense
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import Counts

_BELOW = 1e-6
"""How far below zero a mass may stay, as a part of 1 / size, before it is set to zero: it changes
the CDF by at most that."""


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
) -> tuple[list[Operator], Vector]:
    """Return the information of every block with reports, and the score of all at the pilot."""
    terms: list[Operator] = []
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
        See :func:`nearest_distribution`.
        """

        def shift(cells: Whole, multipliers: Vector) -> Vector:
            return self.covariance[:, cells] @ multipliers

        def block(cells: Whole) -> Matrix:
            return self.covariance[np.ix_(cells, cells)]

        return nearest_distribution(self.mean, block, shift)


def nearest_distribution(
    start: Vector,
    block: Callable[[Whole], Matrix],
    shift: Callable[[Whole, Vector], Vector],
) -> Vector:
    """Return the x >= 0 that minimises ``(x - start)' C^-1 (x - start)``, for a covariance C.

    ``x = start + C v`` with multipliers v >= 0, zero where x > 0. They solve a non-negative
    least-squares problem in the cells at zero. Those are found by adding the deepest cell of
    every negative stretch until nothing is negative: about ten rounds, because a cell that is
    pushed up takes its neighbours along.

    Parameters
    ----------
    start : numpy.ndarray
        float64 [size], of sum one.
    block : callable
        Returns the entries of C for some cells: float64 [cells, cells].
    shift : callable
        Returns C v: float64 [size], given the cells where v is not zero, and v there.

    Notes
    -----
    Exchanging cells by the signs of their multipliers needs no least squares, but it went in
    circles when the reports said so little that neighbouring cells were one.
    Source: Lawson and Hanson 1974, chapter 23.
    """
    from scipy.optimize import nnls  # slow to import

    size = start.size
    point = start
    cells = np.zeros(0, dtype=np.int64)
    for _ in range(10 * size):
        before = np.concatenate([[np.inf], point[:-1]])
        after = np.concatenate([point[1:], [np.inf]])
        dips = (point < -_BELOW / size) & (point <= before) & (point <= after)
        deeper = np.setdiff1d(np.flatnonzero(dips), cells)
        if deeper.size == 0:
            break
        cells = np.union1d(cells, deeper)
        system = block(cells)
        # Cells that the reports cannot tell apart make it singular.
        system[np.diag_indices_from(system)] += 1e-13 * np.trace(system)
        root = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        lacking = solve_triangular(root, -start[cells], lower=True, check_finite=False)
        multipliers, _ = nnls(root.T, lacking, maxiter=100 * cells.size)
        point = start + shift(cells, multipliers)
        cells = cells[multipliers > 0]
    mass = np.maximum(point, 0.0)
    mass /= mass.sum()
    return mass


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
