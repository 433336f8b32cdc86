"""Sparse vectors that explain counts: orthogonal matching pursuit and basis pursuit.

Matching pursuit takes the best column, fits all taken ones, and repeats. Basis pursuit finds the
shortest vector in the sum of absolute values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.operator import as_operator
from lapwing.linear.projections import simplex
from lapwing.linear.solvers import Solution, largest_eigenvalue, projected_gradient

_DEPENDENT = 1e-10
"""Square of the part of a column outside the span of the others below which it adds nothing."""


@dataclass(frozen=True, eq=False)
class Pursuit:
    """Where a pursuit ended.

    support: int64 [taken], columns in the order in which they were taken.
    values: float64 [taken], their coefficients.
    triangle, right: Lower triangle L and vector b with ``|B_S x - target|^2 = |L' x - b|^2 +
        constant``.
    exhausted: Whether it ended because nothing was left to take, and not at its limit.
    """

    support: NDArray[np.int64]
    values: Vector
    triangle: Vector
    right: Vector
    exhausted: bool

    def on_simplex(self) -> Vector:
        """Return the best coefficients that are not negative and sum to one: float64 [taken]."""
        from scipy.sparse.linalg import aslinearoperator

        size = self.support.size
        if size < 2:
            return np.ones(size)
        return projected_gradient(
            aslinearoperator(self.triangle.T),
            self.right,
            weights=np.ones(size),
            project=simplex,
            start=simplex(self.values),
            tolerance=1e-12,
        ).point


def matching_pursuit(
    operator: LinearOperator,
    target: Vector,
    *,
    norms: Vector,
    most: int,
    threshold: float = 0.0,
    nonnegative: bool = True,
) -> Pursuit:
    """Return a sparse x for which ``operator x`` is near the target.

    operator: Shape [rows, columns].
    target: float64 [rows].
    norms: float64 [columns], lengths of the columns of the operator. Columns of length 0 are left
        out.
    most: Largest number of columns to take, at least 1.
    threshold: Stop when no column correlates with the residual by more than this, in units of the
        target for a column of length 1.
    nonnegative: Take only columns that correlate positively, and fit coefficients that are not
        negative.

    The method is that of [1]_, and of [2]_ for the non-negative form.

    **Cost.** Two products with the operator for each column taken, or one if it knows its columns.
    The least squares are kept as a Cholesky factor that grows by a row, O(rows taken + taken^2) a
    step.

    .. [1] J. A. Tropp, "Greed is good: algorithmic results for sparse approximation", IEEE
       Transactions on Information Theory, 2004. doi:10.1109/TIT.2004.834793
    .. [2] A. M. Bruckstein, M. Elad, M. Zibulevsky, "On the uniqueness of nonnegative sparse
       solutions to underdetermined systems of equations", IEEE Transactions on Information Theory,
       2008. doi:10.1109/TIT.2008.929920
    """
    operator = as_operator(operator)
    rows = operator.shape[0]
    available = norms > 1e-12 * norms.max(initial=0.0)
    inverse = np.where(available, 1 / np.where(available, norms, 1.0), 0.0)
    taken: list[int] = []
    columns = np.empty((rows, 16))
    triangle, right = np.zeros((16, 16)), np.zeros(16)
    values = np.zeros(0)
    residual = target
    exhausted = False
    while len(taken) < most:
        correlation = operator.rmatvec(residual) * inverse
        if not nonnegative:
            np.abs(correlation, out=correlation)
        correlation[~available] = -np.inf
        best = int(np.argmax(correlation))
        if not correlation[best] > threshold:
            exhausted = True
            break
        available[best] = False
        column = operator.column(best)
        size = len(taken)
        if size == columns.shape[1]:
            columns = np.hstack([columns, np.empty_like(columns)])
            triangle = np.pad(triangle, (0, size))
            right = np.pad(right, (0, size))
        inner = columns[:, :size].T @ column
        row = _solved(triangle[:size, :size], inner)
        rest = float(column @ column - row @ row)
        if rest <= _DEPENDENT * float(column @ column):
            continue
        columns[:, size] = column
        triangle[size, :size], triangle[size, size] = row, np.sqrt(rest)
        right[size] = (float(column @ target) - row @ right[:size]) / triangle[size, size]
        taken.append(best)
        size += 1
        values = _fitted(triangle[:size, :size], right[:size], nonnegative=nonnegative)
        residual = target - columns[:, :size] @ values
    size = len(taken)
    return Pursuit(
        np.array(taken, dtype=np.int64),
        values,
        triangle[:size, :size].copy(),
        right[:size].copy(),
        exhausted,
    )


def _solved(triangle: Vector, vector: Vector) -> Vector:
    if vector.size == 0:
        return vector
    solution: Vector = solve_triangular(triangle, vector, lower=True, check_finite=False)
    return solution


def _fitted(triangle: Vector, right: Vector, *, nonnegative: bool) -> Vector:
    values: Vector = solve_triangular(triangle, right, lower=True, trans="T", check_finite=False)
    if not nonnegative or values.min() >= 0:
        return values
    from scipy.optimize import nnls  # not needed to import lapwing

    values = nnls(triangle.T, right)[0]
    return values


def l1_ball(point: Vector, radius: float) -> Vector:
    """Return the nearest vector whose absolute values sum to at most a radius.

    point: float64 [size].
    radius: Not negative.

    >>> l1_ball(np.array([3.0, -1.0, 0.5]), 2.0).tolist()
    [2.0, 0.0, 0.0]
    """
    sizes = np.abs(point)
    if sizes.sum() <= radius:
        return point
    if radius == 0:
        return np.zeros_like(point)
    return np.sign(point) * simplex(sizes, total=radius)


def positive_ball(point: Vector, radius: float) -> Vector:
    """Return the nearest vector without negative entries whose sum is at most a radius."""
    return l1_ball(np.maximum(point, 0.0), radius)


def basis_pursuit(
    operator: LinearOperator,
    target: Vector,
    *,
    noise: float,
    nonnegative: bool = False,
    tolerance: float = 1e-6,
    limit: int = 20_000,
) -> Solution:
    """Minimize ``sum |x|`` subject to ``|operator x - target| <= noise``.

    operator: Shape [rows, size].
    target: float64 [rows].
    noise: Euclidean length of the noise, at least 0.
    nonnegative: Also subject to ``x >= 0``.
    tolerance: How much longer than `noise` the residual may be, as a part of the target's length.
    limit: Largest number of gradient steps together.

    The least residual within a ball of sum t falls convexly in t, and its slope is known from the
    residual. So Newton's method finds the t at which it equals `noise` [1]_. It comes from below,
    so that no step overshoots. Each step is an accelerated projected gradient from the end of the
    last one.

    .. [1] E. van den Berg, M. P. Friedlander, "Probing the Pareto frontier for basis pursuit
       solutions", SIAM Journal on Scientific Computing, 2008. doi:10.1137/080714488
    """
    project: Callable[[Vector, float], Vector] = positive_ball if nonnegative else l1_ball
    length = float(np.linalg.norm(target))
    point = np.zeros(operator.shape[1])
    residual, radius, steps = target, 0.0, 0
    lipschitz = largest_eigenvalue(lambda x: operator.rmatvec(operator.matvec(x)), point.size)
    weights = np.ones(target.size)
    converged = length <= noise
    while not converged and steps < limit:
        gradient = operator.rmatvec(residual)
        steepest = float((gradient if nonnegative else np.abs(gradient)).max())
        current = float(np.linalg.norm(residual))
        if steepest <= 1e-12 * lipschitz**0.5 * length:
            # No sum explains the target better than this.
            break
        radius += current * (current - noise) / steepest
        solution = projected_gradient(
            operator,
            target,
            weights=weights,
            project=lambda x: project(x, radius),  # noqa: B023
            start=point,
            tolerance=0.01 * tolerance * radius,
            limit=limit - steps,
            lipschitz=lipschitz,
        )
        steps += solution.iterations
        point = solution.point
        residual = target - operator.matvec(point)
        converged = float(np.linalg.norm(residual)) <= noise + tolerance * length
    return Solution(point, float(np.abs(point).sum()), steps, converged)
