"""The least weighted sum of squares over the simplex, with a proof of how near it came."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.solvers import Solution

_STEP_BACK = 0.995
"""Of the longest step that keeps all entries positive, the part that is taken."""


def quadratic_on_simplex(
    gram: Matrix, right: Vector, *, tolerance: float, limit: int = 60
) -> Solution:
    """Return the minimum of ``x' gram x / 2 - right' x`` over non-negative x of sum one.

    A primal-dual interior point: a few tens of steps however badly conditioned the matrix is,
    where projected gradients need tens of thousands.

    Parameters
    ----------
    gram : numpy.ndarray
        float64 [size, size], symmetric and positive semidefinite.
    right : numpy.ndarray
        float64 [size].
    tolerance : float
        Greater than 0: stop when the objective is within this of the minimum. That is proved by
        :func:`gap`.
    limit : int
        Most steps.

    Returns
    -------
    Solution
        Its `converged` says whether the tolerance was met.

    Notes
    -----
    O(size^3) a step. Source: Mehrotra 1992, with a fixed centering instead of his predictor.
    """
    size = right.size
    point = np.full(size, 1 / size)
    gradient = gram @ point - right
    level = float(gradient.min()) - float(np.ptp(gradient)) / size - tolerance
    dual = gradient - level
    steps = 0
    while steps < limit and gap(point, gradient) > tolerance:
        steps += 1
        center = 0.1 * float(point.dot(dual)) / size
        infeasible = gradient - level - dual
        system = gram.copy()
        system[np.diag_indices(size)] += dual / point
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        toward = cho_solve(factor, -infeasible - dual + center / point, check_finite=False)
        ones = cho_solve(factor, np.ones(size), check_finite=False)
        rise = (1 - float(point.sum()) - float(toward.sum())) / float(ones.sum())
        move = toward + rise * ones
        pull = (center - dual * move) / point - dual
        length = _STEP_BACK * min(_longest(point, move), _longest(dual, pull))
        length = min(1.0, length)
        point = point + length * move
        dual = dual + length * pull
        level += length * rise
        point /= point.sum()
        gradient = gram @ point - right
    reached = gap(point, gradient) <= tolerance
    return Solution(point, float(point.dot(gradient - right)) / 2, steps, reached)


def gap(point: Vector, gradient: Vector) -> float:
    """Return a bound on how far a convex objective at a point of the simplex is above its minimum.

    The objective is above its tangent, and a linear function is smallest at a corner.
    """
    return max(0.0, float(gradient.dot(point) - gradient.min()))


def _longest(point: Vector, move: Vector) -> float:
    falling = move < 0
    if not falling.any():
        return np.inf
    return float((point[falling] / -move[falling]).min())
