"""The iterative methods on problems whose answer is known."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from lapwing.linear.projections import simplex
from lapwing.linear.solvers import accelerated_fixed_point, largest_eigenvalue, projected_gradient


def test_largest_eigenvalue_bounds_it_from_above() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 5, 40):
        half = rng.normal(size=(size, size))
        matrix = half @ half.T
        found = largest_eigenvalue(lambda x: matrix @ x, size)  # noqa: B023
        true = np.linalg.eigvalsh(matrix)[-1]
        assert true <= found <= 1.1 * true
    assert largest_eigenvalue(lambda x: 0 * x, 3) == 0


def test_projected_gradient_meets_the_conditions_of_the_optimum() -> None:
    rng = np.random.default_rng(2)
    matrix, target = rng.normal(size=(30, 12)), rng.normal(size=30)
    weights = rng.random(30) + 0.1
    solution = projected_gradient(
        aslinearoperator(matrix),
        target,
        weights=weights,
        project=simplex,
        start=np.full(12, 1 / 12),
        tolerance=1e-13,
    )
    assert solution.converged
    x = solution.point
    gradient = matrix.T @ (weights * (matrix @ x - target))
    held = x > 1e-9
    level = gradient[held].mean()
    np.testing.assert_allclose(gradient[held], level, atol=1e-8)
    assert (gradient[~held] >= level - 1e-8).all() and held.sum() < 12
    residual = matrix @ x - target
    assert solution.objective == pytest.approx(float(weights @ residual**2) / 2)


def test_projected_gradient_says_when_it_did_not_settle() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(30, 12))
    solution = projected_gradient(
        aslinearoperator(matrix),
        rng.normal(size=30),
        weights=np.ones(30),
        project=simplex,
        start=np.full(12, 1 / 12),
        tolerance=1e-14,
        limit=3,
    )
    assert not solution.converged and solution.iterations == 3
    nothing = projected_gradient(
        aslinearoperator(np.zeros((3, 2))),
        np.ones(3),
        weights=np.ones(3),
        project=simplex,
        start=np.array([0.3, 0.7]),
    )
    assert nothing.converged and nothing.point.tolist() == [0.3, 0.7]


def _slow_map() -> tuple[np.ndarray, np.ndarray]:
    rates = np.array([0.5, 0.99, 0.999])
    return rates, np.array([1.0, -2.0, 3.0])


def test_acceleration_finds_the_fixed_point_with_fewer_evaluations() -> None:
    rates, goal = _slow_map()
    values = []

    def objective(x: np.ndarray) -> float:
        value = -float(((x - goal) ** 2).sum())
        values.append(value)
        return value

    solution = accelerated_fixed_point(
        lambda x: goal + rates * (x - goal),
        objective,
        lambda x: x,
        start=np.zeros(3),
        tolerance=1e-16,
        limit=5000,
    )
    assert solution.converged
    np.testing.assert_allclose(solution.point, goal, atol=1e-6)
    # The plain map needs log(1e-6 / 3) / log(.999) = 14,900 evaluations.
    assert solution.iterations < 1500
    assert solution.objective == objective(solution.point)


def test_an_extrapolation_that_falls_is_dropped() -> None:
    """Every jump is made worthless: what is left are the plain steps, and they never fall."""
    rates, goal = _slow_map()

    def improve(x: np.ndarray) -> np.ndarray:
        return goal + rates * (x - goal)

    def objective(x: np.ndarray) -> float:
        return -float(((x - goal) ** 2).sum())

    previous = objective(np.zeros(3))
    for rounds in range(1, 30):
        solution = accelerated_fixed_point(
            improve,
            objective,
            lambda x: x + 100.0,
            start=np.zeros(3),
            tolerance=1e-300,
            limit=3 * rounds,
        )
        # Two plain steps a round, and one evaluation for the jump that was dropped.
        np.testing.assert_allclose(solution.point, goal - rates ** (2 * rounds) * goal)
        assert solution.objective > previous
        previous = solution.objective


def test_the_limit_is_kept() -> None:
    rates, goal = _slow_map()
    calls = []

    def improve(x: np.ndarray) -> np.ndarray:
        calls.append(1)
        return goal + rates * (x - goal)

    solution = accelerated_fixed_point(
        improve,
        lambda x: -float(((x - goal) ** 2).sum()),
        lambda x: x,
        start=np.zeros(3),
        tolerance=1e-300,
        limit=20,
    )
    assert not solution.converged and len(calls) == solution.iterations <= 20
