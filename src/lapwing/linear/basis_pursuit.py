"""Basis pursuit: the shortest vector, in the sum of absolute values, that explains the counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import Vector
from lapwing.linear.projections import simplex
from lapwing.linear.solvers import Solution, largest_eigenvalue, projected_gradient


def l1_ball(point: Vector, radius: float) -> Vector:
    """Return the nearest vector whose absolute values sum to at most a radius.

    Parameters
    ----------
    point : numpy.ndarray
        float64 [size].
    radius : float
        Not negative.

    Examples
    --------
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

    Parameters
    ----------
    operator : LinearOperator
        Shape [rows, size].
    target : numpy.ndarray
        float64 [rows].
    noise : float
        Not negative; Euclidean length.
    nonnegative : bool
        Also subject to ``x >= 0``.
    tolerance : float
        How much longer than `noise` the residual may be, as a part of the target's length.
    limit : int
        Most gradient steps together.

    Notes
    -----
    The least residual within a ball of sum t falls convexly in t, and its slope is known from the
    residual, so Newton's method finds the t at which it equals `noise`; from below, so that no
    step overshoots. Each step is an accelerated projected gradient from where the last one ended.

    Source: van den Berg and Friedlander 2008.
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
