"""The normal posterior of masses under a normal prior, and its nearest distribution.

Last step of a pass. The posterior mean can be negative where the reports say little; here it is
moved to the distribution nearest to it, as little as the reports notice. The low-rank posterior
(`low_rank_model.py`) ends in the same :func:`nearest_distribution`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular

from lapwing.linear.arrays import Matrix, Vector, Whole

_BELOW = 1e-6
"""How far below zero a mass may stay, as a part of 1 / size, before it is set to zero: it changes
the CDF by at most that."""


@dataclass(frozen=True, eq=False)
class NormalPrior:
    """A normal prior of the masses.

    Parameters
    ----------
    mean : numpy.ndarray
        float64 [size].
    covariance : numpy.ndarray
        float64 [size, size].
    doubtful : numpy.ndarray, optional
        float64 [size], variances of what may be there beside, too improbable for the answer but
        not for a band.
    """

    mean: Vector
    covariance: Matrix
    doubtful: Vector | None = None

    def allowed(self) -> Matrix:
        """Return the covariance with what is doubtful, as a new array: float64 [size, size]."""
        covariance = self.covariance.copy()
        if self.doubtful is not None:
            covariance[np.diag_indices_from(covariance)] += self.doubtful
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
        center = mean + covariance @ (score - information @ mean)
        along = covariance.sum(axis=1)
        spread = along.sum()
        center = center + along * ((1 - center.sum()) / spread)
        return cls(center, covariance - np.outer(along, along) / spread)

    def distribution(self) -> Vector:
        """Return the distribution that is nearest to the mean in the posterior's own metric.

        Minimizes ``(x - mean)' C^-1 (x - mean)`` over x >= 0, total one: what is taken from
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
    """Return the x >= 0 that minimizes ``(x - start)' C^-1 (x - start)``, for a covariance C.

    ``x = start + C v`` with multipliers v >= 0, zero where x > 0. They solve a non-negative
    least-squares problem in the cells at zero. Those are found by adding the deepest cell of
    every negative stretch until nothing is negative: about ten rounds, because a cell that is
    pushed up takes its neighbors along.

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
    circles when the reports said so little that neighboring cells were one.
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
