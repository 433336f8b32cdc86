"""One value on the diagonal, another elsewhere."""

import numpy as np
import pytest

from lapwing.linear.operators.banded import Circulant
from lapwing.linear.operators.hadamard import HadamardBlocks
from lapwing.linear.operators.operator import CompoundSymmetric, Operator, dense


@pytest.mark.parametrize("size", [1, 2, 7])
def test_entries_inverse_and_squares(size: int) -> None:
    operator = CompoundSymmetric(size, diagonal=0.6, off_diagonal=0.07)
    matrix = np.full((size, size), 0.07)
    np.fill_diagonal(matrix, 0.6)
    np.testing.assert_allclose(dense(operator), matrix, rtol=1e-15)
    np.testing.assert_allclose(dense(operator.inverse()), np.linalg.inv(matrix), rtol=1e-12)
    np.testing.assert_allclose(dense(operator.squared_entries()), matrix**2, rtol=1e-14)
    np.testing.assert_allclose(dense(operator @ operator.inverse()), np.eye(size), atol=1e-14)
    assert operator.adjoint() is operator


@pytest.mark.parametrize(
    "operator",
    [
        CompoundSymmetric(7, diagonal=0.6, off_diagonal=0.07),
        HadamardBlocks(7, blocks=1, length=8, inside=0.2, outside=0.05),
        HadamardBlocks(10, blocks=3, length=8, inside=0.2, outside=0.05),
    ],
    ids=["compound", "codes", "blocks of codes"],
)
def test_inner_products_of_columns_have_three_values(operator: Operator) -> None:
    gram, matrix = operator.grouped_gram, dense(operator)
    assert gram is not None
    same = gram.group[:, None] == gram.group
    rest = matrix.T @ matrix - gram.own * np.eye(operator.shape[1]) - gram.shared * same
    assert np.ptp(rest) < 1e-15
    assert gram.own + gram.shared * np.bincount(gram.group).max() > 0


def test_columns_that_are_not_told_apart_have_no_nearest_point() -> None:
    assert CompoundSymmetric(7, diagonal=0.1, off_diagonal=0.1).grouped_gram is None
    assert Circulant(np.array([0.5, 0.3, 0.2])).grouped_gram is None


def test_inverse_of_a_nearly_uninformative_channel() -> None:
    operator = CompoundSymmetric(1000, diagonal=1e-3 + 1e-6, off_diagonal=1e-3 - 1e-9)
    shares = np.random.default_rng(1).dirichlet(np.ones(1000))
    back = operator.inverse().matvec(operator.matvec(shares))
    np.testing.assert_allclose(back, shares, atol=1e-12)


@pytest.mark.parametrize(("diagonal", "off_diagonal"), [(0.2, 0.2), (0.2, -0.1)])
def test_a_singular_matrix_has_no_inverse(diagonal: float, off_diagonal: float) -> None:
    operator = CompoundSymmetric(3, diagonal=diagonal, off_diagonal=off_diagonal)
    with pytest.raises(ZeroDivisionError):
        operator.inverse()
