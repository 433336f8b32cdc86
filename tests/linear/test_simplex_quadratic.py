"""The interior point against active sets found by trying all, and its proof of nearness."""

from itertools import combinations

import numpy as np
import pytest

from lapwing.linear.solvers import gap, quadratic_on_simplex
from tests.rows import each


def by_trying(gram: np.ndarray, right: np.ndarray) -> float:
    """The minimum over every face of the simplex, each by its own linear equations."""
    size = right.size
    best = np.inf
    for count in range(1, size + 1):
        for face in map(list, combinations(range(size), count)):
            system = np.block(
                [[gram[np.ix_(face, face)], np.ones((count, 1))], [np.ones((1, count)), 0]]
            )
            inside = np.linalg.lstsq(system, np.append(right[face], 1), rcond=None)[0][:count]
            if inside.min() < -1e-9:
                continue
            point = np.zeros(size)
            point[face] = np.maximum(inside, 0) / np.maximum(inside, 0).sum()
            best = min(best, float(point @ gram @ point / 2 - right @ point))
    return best


@each("seed", range(12))
@each("rank", [2, 5, 9])
def test_it_finds_the_minimum_also_of_singular_matrices(seed: int, rank: int) -> None:
    rng = np.random.default_rng([seed, rank])
    rows = rng.normal(size=(rank, 7)) * 10.0 ** rng.integers(-3, 3, size=(rank, 1))
    gram, right = rows.T @ rows, rows.T @ rng.normal(size=rank)
    found = quadratic_on_simplex(gram, right, tolerance=1e-9)
    assert found.converged
    assert found.point.min() >= 0
    assert found.point.sum() == pytest.approx(1)
    assert found.objective == pytest.approx(by_trying(gram, right), abs=2e-8)


def test_a_single_entry() -> None:
    found = quadratic_on_simplex(np.array([[2.0]]), np.array([1.0]), tolerance=1e-9)
    assert found.point.tolist() == [1.0]


def test_the_gap_bounds_what_is_left_everywhere() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(8, 5))
    gram, right = rows.T @ rows, rows.T @ rng.normal(size=8)
    least = by_trying(gram, right)
    for point in rng.dirichlet(np.ones(5), size=200):
        above = point @ gram @ point / 2 - right @ point - least
        assert -1e-9 <= above <= gap(point, gram @ point - right) + 1e-9


def test_without_steps_it_says_that_it_did_not_arrive() -> None:
    found = quadratic_on_simplex(np.diag([1.0, 9.0]), np.array([0.0, 3.0]), tolerance=1e-9, limit=1)
    assert not found.converged
