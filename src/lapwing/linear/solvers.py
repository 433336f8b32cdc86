"""Iterative methods as functions: each takes what it needs and returns its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Solution:
    """Where an iteration ended.

    point: float64 [size].
    objective: Its value there. Larger or smaller is better as the method says.
    iterations: Evaluations of the map.
    converged: Whether the stopping rule held before the limit.
    """

    point: Vector
    objective: float
    iterations: int
    converged: bool


def largest_eigenvalue(apply: Callable[[Vector], Vector], size: int, *, rounds: int = 50) -> float:
    """Return an upper estimate of the largest eigenvalue of a positive matrix.

    Power iteration, times 1.05, because the step of a projected gradient only needs a bound. The
    fixed start keeps answers reproducible.
    """
    vector = 1 + np.cos(np.arange(size) * 2.399963)  # no common symmetry: the golden angle
    value = 0.0
    for _ in range(rounds):
        vector = vector / np.linalg.norm(vector)
        vector = apply(vector)
        value = float(np.linalg.norm(vector))
        if value == 0:
            return 0.0
    return 1.05 * value


def projected_gradient(
    operator: LinearOperator,
    target: Vector,
    *,
    weights: Vector,
    project: Callable[[Vector], Vector],
    start: Vector,
    tolerance: float = 1e-10,
    limit: int = 20_000,
    lipschitz: float | None = None,
) -> Solution:
    """Minimize ``sum(weights * (operator x - target)^2) / 2`` over a convex set.

    Accelerated projected gradient (FISTA) with restart whenever the momentum points uphill.

    operator: Shape [rows, size].
    target, weights: float64 [rows]. Weights are not negative.
    project: Nearest point of the set.
    start: float64 [size], in the set.
    tolerance: Stop when a step moves no entry by more than this.
    limit: Most gradient steps.
    lipschitz: At least the largest eigenvalue of ``operator' diag(weights) operator``, where it is
        known, else it costs fifty steps to find.

    **Cost.** Two products with the operator for each step.

    The method is that of [1]_, with the restart of [2]_.

    .. [1] A. Beck, M. Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear
       inverse problems", SIAM Journal on Imaging Sciences, 2009. doi:10.1137/080716542
    .. [2] B. O'Donoghue, E. Candès, "Adaptive restart for accelerated gradient schemes",
       Foundations of Computational Mathematics, 2015. doi:10.1007/s10208-013-9150-3
    """

    def normal(vector: Vector) -> Vector:
        product: Vector = operator.rmatvec(weights * operator.matvec(vector))
        return product

    if lipschitz is None:
        lipschitz = largest_eigenvalue(normal, start.size)
    if lipschitz == 0:
        return Solution(start, 0.0, 0, True)
    right = operator.rmatvec(weights * target)
    point = ahead = start
    momentum = 1.0
    converged, steps = False, 0
    while steps < limit and not converged:
        steps += 1
        moved = project(ahead - (normal(ahead) - right) / lipschitz)
        change = moved - point
        if float(np.dot(ahead - moved, change)) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum * momentum)) / 2
        ahead = moved + (momentum - 1) / following * change
        momentum, point = following, moved
        converged = bool(np.abs(change).max() <= tolerance)
    residual = operator.matvec(point) - target
    return Solution(point, float(np.dot(weights, residual**2)) / 2, steps, converged)


def accelerated_fixed_point(
    improve: Callable[[Vector], Vector],
    objective: Callable[[Vector], float],
    feasible: Callable[[Vector], Vector],
    *,
    start: Vector,
    tolerance: float,
    limit: int,
) -> Solution:
    """Maximize an objective that a map never lowers, extrapolating two steps of the map at once.

    improve: The map, for example one step of expectation maximization for a penalized likelihood.
    objective: Its value at a point. The map must not lower it.
    feasible: Brings an extrapolated point back into the set on which the map works.
    start: float64 [size].
    tolerance: Stop when a round raises the objective by less than this.
    limit: Most evaluations of the map. A round takes three.

    The method is SQUAREM with step length S3 [1]_. An extrapolation that lowers the objective is
    replaced by the plain second step, so the objective never falls.

    .. [1] R. Varadhan, C. Roland, "Simple and globally convergent methods for accelerating the
       convergence of any EM algorithm", Scandinavian Journal of Statistics, 2008.
       doi:10.1111/j.1467-9469.2007.00585.x
    """
    point, value = start, objective(start)
    evaluations, converged = 0, False
    while evaluations + 3 <= limit:
        first = improve(point)
        second = improve(first)
        evaluations += 2
        best = second
        best_value = objective(second)
        jump, length = extrapolated(point, first, second)
        if length > 1:
            jump = improve(feasible(jump))
            evaluations += 1
            jump_value = objective(jump)
            if np.isfinite(jump_value) and jump_value >= best_value:
                best, best_value = jump, jump_value
        gain = best_value - value
        point, value = best, best_value
        if gain < tolerance:
            converged = True
            break
    return Solution(point, value, evaluations, converged)


def extrapolated(
    point: Vector, first: Vector, second: Vector, *, most: float = np.inf
) -> tuple[Vector, float]:
    """Return where two steps of a map lead, and the length of SQUAREM by which they are stretched.

    point, first, second: A point, where the map takes it, and where it takes that.
    most: Greatest length. A length of 1 leads to `second`.
    """
    change = first - point
    bend = second - first - change
    curvature = float(np.linalg.norm(bend))
    if curvature == 0:
        return second, 1.0
    length = min(max(float(np.linalg.norm(change)) / curvature, 1.0), most)
    return point + 2 * length * change + length * length * bend, length


_STEP_BACK = 0.995
"""Of the longest step that keeps all entries positive, the part that is taken."""


def quadratic_on_simplex(
    gram: Matrix, right: Vector, *, tolerance: float, limit: int = 60
) -> Solution:
    """Return the minimum of ``x' gram x / 2 - right' x`` over non-negative x of sum one.

    A primal-dual interior point: a few tens of steps however badly conditioned the matrix is,
    where projected gradients need tens of thousands.

    gram: float64 [size, size], symmetric and positive semidefinite.
    right: float64 [size].
    tolerance: Greater than 0: stop when the objective is within this of the minimum. That is proved
        by :func:`gap`.
    limit: Most steps.
    returns: Its `converged` says whether the tolerance was met.

    **Cost.** Time O(size^3) for each step.

    The method is that of [1]_, with a fixed centering instead of the predictor.

    .. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal
       on Optimization, 1992. doi:10.1137/0802028
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
