"""A covariance kept as a diagonal and a few signed columns is the dense one."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing.linear.covariance import Covariance
from lapwing.linear.operators.banded import SlidingWindow
from lapwing.linear.operators.operator import CompoundSymmetric, dense

RNG = np.random.default_rng(1)
SIZE = 6
EXAMPLE = Covariance(RNG.random(SIZE), RNG.normal(size=(SIZE, 2)), np.array([1.0, -0.5]))
OTHER = Covariance(RNG.random(SIZE), np.zeros((SIZE, 0)), np.zeros(0))


def test_parts_and_sums() -> None:
    by_hand = np.diag(EXAMPLE.diagonal)
    for column, sign in zip(EXAMPLE.factor.T, EXAMPLE.signs, strict=True):
        by_hand += sign * np.outer(column, column)
    np.testing.assert_allclose(EXAMPLE.dense(), by_hand, atol=1e-15)
    np.testing.assert_allclose(EXAMPLE.variance(), np.diag(by_hand), atol=1e-15)
    np.testing.assert_allclose(
        (EXAMPLE + OTHER).dense(), by_hand + np.diag(OTHER.diagonal), atol=1e-15
    )
    for number in (3.0, -0.25):
        np.testing.assert_allclose(EXAMPLE.scaled(number).dense(), number * by_hand, atol=1e-15)
    assert EXAMPLE.size == SIZE


@pytest.mark.parametrize(
    "operator",
    [
        CompoundSymmetric(SIZE, diagonal=2.0, off_diagonal=-0.3),
        CompoundSymmetric(SIZE, diagonal=0.4, off_diagonal=0.0),
        SlidingWindow(SIZE, width=3, inside=0.3, outside=0.01),
        aslinearoperator(RNG.normal(size=(4, SIZE))),
    ],
    ids=["compound symmetric", "multiple of one", "window", "dense"],
)
@pytest.mark.parametrize("covariance", [EXAMPLE, OTHER, EXAMPLE.scaled(-1)])
def test_through_a_map(operator: LinearOperator, covariance: Covariance) -> None:
    matrix = dense(operator)
    expected = matrix @ covariance.dense() @ matrix.T
    found = covariance.through(operator)
    np.testing.assert_allclose(found.dense(), expected, atol=1e-13)
    np.testing.assert_allclose(found.variance(), np.diag(expected), atol=1e-13)


def test_a_multinomial_through_its_own_inverse_stays_structured() -> None:
    """The case that makes exact errors of 2^24 symbols possible: rank stays small."""
    shares = RNG.dirichlet(np.ones(1000))
    law = Covariance(shares, shares[:, None], np.array([-1.0]))
    inverse = CompoundSymmetric(1000, diagonal=5.0, off_diagonal=-0.001)
    found = law.through(inverse)
    assert found.factor.shape[1] <= 4
    expected = dense(inverse) @ law.dense() @ dense(inverse)
    np.testing.assert_allclose(found.dense(), expected, atol=1e-12)
