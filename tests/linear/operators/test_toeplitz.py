"""The sliding table against its dense matrix and against the sliding window."""

import numpy as np
import pytest

from lapwing.linear.operators.banded import SlidingTable, SlidingWindow
from lapwing.linear.operators.operator import dense


def _matrix(size: int, table: np.ndarray, outside: float) -> np.ndarray:
    matrix = np.full((size + table.size - 1, size), outside)
    for i in range(size):
        matrix[i : i + table.size, i] = table
    return matrix


@pytest.mark.parametrize(
    ("size", "width"), [(1, 1), (1, 4), (6, 1), (6, 3), (4, 11), (2, 3), (37, 20), (64, 65)]
)
def test_products_are_those_of_the_dense_matrix(size: int, width: int) -> None:
    rng = np.random.default_rng(size)
    table = rng.random(width)
    operator = SlidingTable(size, table=table, outside=0.05)
    matrix = _matrix(size, table, 0.05)
    x, r = rng.normal(size=size), rng.normal(size=matrix.shape[0])
    np.testing.assert_allclose(dense(operator), matrix, atol=1e-14)
    np.testing.assert_allclose(operator.rmatmat(np.eye(matrix.shape[0])), matrix.T, atol=1e-14)
    np.testing.assert_allclose(operator.matvec(x), matrix @ x, atol=1e-13)
    np.testing.assert_allclose(operator.rmatvec(r), matrix.T @ r, atol=1e-13)
    assert np.dot(operator.matvec(x), r) == pytest.approx(np.dot(x, operator.rmatvec(r)))


def test_a_constant_table_is_a_sliding_window() -> None:
    window = SlidingWindow(500, width=61, inside=0.01, outside=0.001)
    table = SlidingTable(500, table=np.full(61, 0.01), outside=0.001)
    x = np.random.default_rng(0).random(500)
    np.testing.assert_allclose(table.matvec(x), window.matvec(x), atol=1e-13)
    r = np.random.default_rng(1).random(560)
    np.testing.assert_allclose(table.rmatvec(r), window.rmatvec(r), atol=1e-13)


def test_products_with_masses_stay_positive() -> None:
    """A mean of zero or less would stop expectation maximization."""
    table = 1e-9 + np.array([0.0, 0.2, 0.6, 0.2, 0.0])
    operator = SlidingTable(4096, table=table, outside=1e-9)
    for place in (0, 1000, 4095):
        mass = np.zeros(4096)
        mass[place] = 1.0
        assert operator.matvec(mass).min() > 0.99e-9
