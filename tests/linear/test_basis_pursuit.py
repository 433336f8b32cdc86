"""The shortest vector that explains the counts, against other solvers and by its conditions."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.sparse.linalg import aslinearoperator

from lapwing.decoders.structured.sparse_recovery import basis_pursuit, l1_ball, positive_ball


def problem(seed: int, *, noise: float, sign: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.choice([-1.0, 1.0], size=(30, 60)) / np.sqrt(30)
    truth = np.zeros(60)
    truth[rng.choice(60, 5, replace=False)] = rng.uniform(0.5, 1.5, 5)
    if sign:
        truth *= rng.choice([-1, 1], size=60)
    return matrix, truth, matrix @ truth + noise * rng.normal(size=30)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_without_noise_it_solves_the_linear_program(seed: int, nonnegative: bool) -> None:
    # The target is not that of a sparse vector, so that the program is not trivial.
    matrix, _, target = problem(seed, noise=0.3, sign=not nonnegative)
    if nonnegative:
        target = matrix @ (np.random.default_rng(seed).uniform(size=60) ** 4)
        best = linprog(np.ones(60), A_eq=matrix, b_eq=target)
    else:
        best = linprog(np.ones(120), A_eq=np.hstack([matrix, -matrix]), b_eq=target)
    found = basis_pursuit(
        aslinearoperator(matrix), target, noise=0.0, nonnegative=nonnegative, tolerance=1e-7
    )
    assert found.converged
    assert found.objective == pytest.approx(best.fun, rel=1e-4)
    np.testing.assert_allclose(matrix @ found.point, target, atol=1e-6 * np.linalg.norm(target))


@pytest.mark.parametrize("sign", [False, True])
def test_sparse_vectors_are_recovered_exactly_without_noise(sign: bool) -> None:
    matrix, truth, target = problem(9, noise=0.0, sign=sign)
    found = basis_pursuit(
        aslinearoperator(matrix), target, noise=0.0, nonnegative=not sign, tolerance=1e-9
    )
    np.testing.assert_allclose(found.point, truth, atol=1e-6)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_with_noise_the_conditions_of_the_optimum_hold(seed: int, nonnegative: bool) -> None:
    matrix, _, target = problem(seed, noise=0.1, sign=not nonnegative)
    found = basis_pursuit(
        aslinearoperator(matrix), target, noise=0.5, nonnegative=nonnegative, tolerance=1e-9
    )
    residual = target - matrix @ found.point
    assert np.linalg.norm(residual) == pytest.approx(0.5, abs=1e-7)
    correlation = matrix.T @ residual
    dual = correlation.max() if nonnegative else np.abs(correlation).max()
    held = np.abs(found.point) > 1e-5
    # All columns in use correlate alike with what is left, in the direction of their sign.
    np.testing.assert_allclose(correlation[held], dual * np.sign(found.point[held]), rtol=1e-3)
    assert held.sum() >= 3 and (not nonnegative or found.point.min() >= 0)


def test_with_noise_it_is_as_short_as_a_general_solver_finds() -> None:
    matrix, _, target = problem(1, noise=0.1, sign=False)
    found = basis_pursuit(aslinearoperator(matrix), target, noise=0.5, nonnegative=True)
    best = minimize(
        np.sum,
        np.full(60, 0.1),
        jac=lambda x: np.ones(60),
        bounds=[(0, None)] * 60,
        constraints={
            "type": "ineq",
            "fun": lambda x: 0.25 - np.sum((matrix @ x - target) ** 2),
            "jac": lambda x: -2 * matrix.T @ (matrix @ x - target),
        },
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert best.success and found.objective == pytest.approx(best.fun, rel=1e-4)


def test_what_needs_no_explanation_and_what_has_none() -> None:
    matrix = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    quiet = basis_pursuit(aslinearoperator(matrix), np.array([0.1, 0.1, 0.1]), noise=1.0)
    assert quiet.converged and not quiet.point.any()
    beyond = basis_pursuit(aslinearoperator(matrix), np.array([0.0, 0.0, 1.0]), noise=0.1)
    assert not beyond.converged and not beyond.point.any()


@pytest.mark.parametrize("radius", [0.0, 0.5, 2.0, 50.0])
def test_the_nearest_point_of_a_ball(radius: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        point = rng.normal(size=9)
        nearest = l1_ball(point, radius)
        assert np.abs(nearest).sum() <= radius + 1e-12
        # No point of the ball is on the far side of the plane through the nearest one.
        corners = radius * np.vstack([np.eye(9), -np.eye(9)])
        assert ((corners - nearest) @ (point - nearest)).max() <= 1e-9
        positive = positive_ball(point, radius)
        assert positive.min() >= 0 and positive.sum() <= radius + 1e-12
        corners = np.vstack([radius * np.eye(9), np.zeros(9)])
        assert ((corners - positive) @ (point - positive)).max() <= 1e-9
