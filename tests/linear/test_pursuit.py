"""Orthogonal matching pursuit against the textbook's loop, and its fits against other solvers."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from scipy.sparse.linalg import aslinearoperator

from lapwing.decoders.structured.sparse_recovery import Pursuit, matching_pursuit


def textbook(matrix: np.ndarray, target: np.ndarray, steps: int) -> tuple[list[int], np.ndarray]:
    """Return support and coefficients by the definition: best column, then least squares."""
    unit = matrix / np.linalg.norm(matrix, axis=0)
    support: list[int] = []
    values, residual = np.zeros(0), target
    for _ in range(steps):
        support.append(int(np.argmax(np.abs(unit.T @ residual))))
        values = np.linalg.lstsq(matrix[:, support], target, rcond=None)[0]
        residual = target - matrix[:, support] @ values
    return support, values


def pursued(matrix: np.ndarray, target: np.ndarray, **knobs: Any) -> Pursuit:
    norms = np.linalg.norm(matrix, axis=0)
    return matching_pursuit(aslinearoperator(matrix), target, norms=norms, **knobs)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_textbooks_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(60, 200)) * rng.uniform(0.5, 2, 200)
    target = matrix[:, :12] @ rng.normal(size=12) + 0.3 * rng.normal(size=60)
    support, values = textbook(matrix, target, 20)
    found = pursued(matrix, target, most=20, nonnegative=False)
    assert found.support.tolist() == support
    np.testing.assert_allclose(found.values, values, rtol=1e-8, atol=1e-10)
    assert not found.exhausted
    left = np.linalg.norm(found.triangle.T @ found.values - found.right)
    assert left < 1e-9, "the triangle holds the whole least-squares problem"


@pytest.mark.parametrize("nonnegative", [True, False])
def test_sparse_vectors_are_recovered_exactly_without_noise(nonnegative: bool) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.choice([-1.0, 1.0], size=(100, 400))
    truth = np.zeros(400)
    truth[rng.choice(400, 8, replace=False)] = rng.uniform(0.5, 1, 8)
    found = pursued(matrix, matrix @ truth, most=50, threshold=1e-9, nonnegative=nonnegative)
    assert found.exhausted and sorted(found.support) == np.flatnonzero(truth).tolist()
    np.testing.assert_allclose(found.values, truth[found.support], rtol=1e-10)


def test_nonnegative_coefficients_are_the_best_ones_on_the_support() -> None:
    rng = np.random.default_rng(2)
    hindered = 0
    for _ in range(20):
        matrix = rng.normal(size=(12, 40)) + 0.8
        target = rng.normal(size=12) + 1
        found = pursued(matrix, target, most=8)
        best, length = nnls(matrix[:, found.support], target)
        np.testing.assert_allclose(found.values, best, atol=1e-9)
        hindered += int((best == 0).any())
        reached = np.linalg.norm(matrix[:, found.support] @ found.values - target)
        assert reached == pytest.approx(length, abs=1e-9)
    assert hindered > 3, "in some of these the constraint must hold something down"


def test_coefficients_on_the_simplex_minimize_the_distance() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(30, 80))
    target = matrix[:, :5] @ np.array([0.5, 0.3, 0.1, 0.05, 0.02]) + 0.2 * rng.normal(size=30)
    found = pursued(matrix, target, most=8)
    on_simplex = found.on_simplex()
    assert on_simplex.min() >= 0 and on_simplex.sum() == pytest.approx(1)
    chosen = matrix[:, found.support]
    best = minimize(
        lambda x: np.sum((chosen @ x - target) ** 2),
        np.full(8, 1 / 8),
        bounds=[(0, 1)] * 8,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    reached = np.sum((chosen @ on_simplex - target) ** 2)
    assert reached <= best.fun * (1 + 1e-9)
    one = pursued(matrix, matrix[:, 4], most=1)
    assert one.on_simplex().tolist() == [1.0]


def test_it_stops_at_the_threshold_and_before_what_adds_nothing() -> None:
    matrix = np.eye(4)[:, [0, 1, 2, 0]]
    target = np.array([3.0, 2.0, 1.0, 0.0])
    assert pursued(matrix, target, most=4, threshold=1.5).support.tolist() == [0, 1]
    assert pursued(matrix, target, most=4, threshold=3.5).support.size == 0
    # Column 3 is column 0 again, and a column of zeros says nothing.
    found = pursued(matrix, target, most=4, threshold=-math.inf)
    assert found.support.tolist() == [0, 1, 2] and found.exhausted
    assert pursued(np.zeros((3, 2)), np.ones(3), most=2).support.size == 0
    negative = pursued(-np.eye(3), np.array([1.0, 2.0, 3.0]), most=3)
    assert negative.support.size == 0 and negative.values.size == 0


def test_it_goes_on_beyond_its_first_sixteen_columns() -> None:
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(80, 70))
    truth = rng.uniform(0.5, 1, 70)
    found = pursued(matrix, matrix @ truth, most=70, threshold=1e-9)
    assert found.support.size == 70
    np.testing.assert_allclose(found.values, truth[found.support], rtol=1e-6)
