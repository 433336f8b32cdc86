"""Kronecker products of two 0/1 matrices, and blocks of a table."""

import numpy as np
import pytest

from lapwing.linear.operators.operator import dense
from lapwing.linear.operators.separable import ProductBlocks, Separable

RNG = np.random.default_rng(1)
FIRST = (RNG.random((7, 5)) < 0.4).astype(float)
SECOND = (RNG.random((3, 4)) < 0.5).astype(float)


def _by_hand(first: np.ndarray, second: np.ndarray, inside: float, outside: float) -> np.ndarray:
    matrix = np.empty((first.shape[0] * second.shape[0], first.shape[1] * second.shape[1]))
    for i, row in enumerate(first):
        for j, column in enumerate(second):
            seen = np.outer(row, column).ravel() == 1
            matrix[i * second.shape[0] + j] = np.where(seen, inside, outside)
    return matrix


def test_entries_transposes_and_squares() -> None:
    operator = Separable(FIRST, SECOND, inside=0.3, outside=0.02)
    matrix = _by_hand(FIRST, SECOND, 0.3, 0.02)
    assert operator.shape == matrix.shape == (21, 20)
    np.testing.assert_allclose(dense(operator), matrix, rtol=1e-12)
    np.testing.assert_allclose(dense(operator.adjoint()), matrix.T, rtol=1e-12)
    np.testing.assert_allclose(dense(operator.squared_entries()), matrix**2, rtol=1e-12)
    x, r = RNG.random((20, 3)), RNG.random((21, 3))
    np.testing.assert_allclose(operator.matmat(x), matrix @ x, rtol=1e-12)
    np.testing.assert_allclose(operator.adjoint().matmat(r), matrix.T @ r, rtol=1e-12)
    assert operator.slope == pytest.approx(0.28)


def test_axes_that_are_exchanged_are_another_matrix() -> None:
    turned = dense(Separable(SECOND, FIRST, inside=0.3, outside=0.02))
    assert np.abs(turned - _by_hand(FIRST, SECOND, 0.3, 0.02)).max() > 0.2


def test_blocks_are_counted_as_the_numbers_of_both_axes_say() -> None:
    first, second = np.array([0, 0, 1, 2, 1]), np.array([1, 0, 0, 2])
    operator = ProductBlocks(first, second, inside=0.5, outside=0.05)
    matrix = np.full((9, 20), 0.05)
    for x, row in enumerate(first):
        for y, column in enumerate(second):
            matrix[3 * row + column, 4 * x + y] = 0.5
    np.testing.assert_allclose(dense(operator), matrix, rtol=1e-12)
    mass = RNG.dirichlet(np.ones(20))
    totals = operator.cell_totals(mass)
    np.testing.assert_allclose(totals, (matrix == 0.5) @ mass, rtol=1e-12)
    # A report depends on the block alone.
    np.testing.assert_allclose(operator.on_cells @ totals, operator @ mass, rtol=1e-12)
    people = RNG.integers(0, 9, 20)
    assert operator.cell_totals(people).dtype == people.dtype
    assert operator.cell_totals(people).sum() == people.sum()
