"""Running sums are NumPy's, bit for bit, and Gram matrices are products."""

import numpy as np
import pytest

from lapwing.linear.arrays import running_sums
from lapwing.linear.operators.operator import Stacked, dense
from lapwing.linear.operators.sums import UNIT, BlendedSums, CellSums, NestedSums, SquareRootSums


@pytest.mark.parametrize("shape", [(1, 40), (7,), (50, 3), (50, 16), (33, 100)])
def test_they_are_the_sums_of_numpy_and_leave_their_argument(shape: tuple[int, ...]) -> None:
    rows = np.random.default_rng(1).normal(size=shape)
    before = rows.copy()
    for given in (rows, np.asfortranarray(rows), rows[::-1]):
        assert np.array_equal(running_sums(given), np.cumsum(given, axis=0))
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("size", [1, 2, 37])
def test_gram_matrices_are_products_with_the_transpose(size: int) -> None:
    rows = np.random.default_rng(2).normal(size=(3, size)) * UNIT
    for operator in (SquareRootSums(size), BlendedSums(rows), CellSums([0], size)):
        matrix = dense(operator)
        np.testing.assert_allclose(operator.gram(), matrix.T @ matrix, rtol=1e-9)


@pytest.mark.parametrize("starts", [[], [[0, 1, 5]], [[0], [0, 3], [0, 2, 3, 6]]], ids=len)
def test_sums_of_nested_cells_are_those_of_stacked_ones_bit_for_bit(
    starts: list[list[int]],
) -> None:
    levels = [CellSums(places, 7) for places in (*starts, range(7))]
    assert all(np.array_equal(level.sparse.toarray(), dense(level)) for level in levels)
    nested, stacked = NestedSums(levels), Stacked(levels)
    rng = np.random.default_rng(3)
    for width in ((), (1,), (4,)):
        entries = rng.normal(size=(7, *width))
        answers = rng.normal(size=(nested.shape[0], *width))
        assert np.array_equal(nested @ entries, stacked @ entries)
        assert np.array_equal(nested.adjoint() @ answers, stacked.adjoint() @ answers)
    assert np.array_equal(nested.gram(), dense(stacked).T @ dense(stacked))
