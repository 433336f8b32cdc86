"""Every fast matrix is the matrix it stands for, in all its products."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.banded import SlidingWindow
from lapwing.linear.stacked import dense
from tests.contracts.registered_decoders import CHANNELS
from tests.contracts.registered_operators import OPERATORS


def _channel_operators() -> dict[str, LinearOperator]:
    return {
        f"{name}, block {number}": block.operator
        for name, make in CHANNELS.items()
        for number, block in enumerate(make().blocks)
    }


def _operators() -> list[object]:
    made = {name: make() for name, make in OPERATORS.items()} | _channel_operators()
    return [pytest.param(operator, id=name) for name, operator in made.items()]


every = pytest.mark.parametrize("operator", _operators())


def dot_test(operator: LinearOperator) -> float:
    """Return the largest relative gap of ``<r, A x>`` and ``<A' r, x>`` over ten random pairs."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(10):
        x, r = rng.normal(size=operator.shape[1]), rng.normal(size=operator.shape[0])
        forward, backward = float(r @ operator.matvec(x)), float(operator.rmatvec(r) @ x)
        worst = max(worst, abs(forward - backward) / (np.abs(r) @ operator.matvec(np.abs(x))))
    return worst


def by_columns(operator: LinearOperator) -> np.ndarray:
    """Return the dense matrix from products with unit vectors, one at a time."""
    return np.column_stack([operator.matvec(unit) for unit in np.eye(operator.shape[1])])


@every
def test_dot_test(operator: LinearOperator) -> None:
    assert dot_test(operator) < 1e-13


@every
def test_all_products_are_those_of_the_dense_matrix(operator: LinearOperator) -> None:
    matrix = by_columns(operator)
    rows, columns = operator.shape
    assert matrix.shape == (rows, columns) and operator.dtype == np.float64
    rng = np.random.default_rng(2)
    x, r = rng.normal(size=(columns, 3)), rng.normal(size=(rows, 3))
    close = {"rtol": 1e-12, "atol": 1e-13 * np.abs(matrix).max()}
    np.testing.assert_allclose(dense(operator), matrix, **close)
    np.testing.assert_allclose(operator.matvec(x[:, 0]), matrix @ x[:, 0], **close)
    np.testing.assert_allclose(operator.rmatvec(r[:, 0]), matrix.T @ r[:, 0], **close)
    np.testing.assert_allclose(operator.matmat(x), matrix @ x, **close)
    np.testing.assert_allclose(operator.rmatmat(r), matrix.T @ r, **close)
    # As SciPy allows: a column, a stride, whole numbers.
    np.testing.assert_allclose(operator.matvec(x[:, :1]), matrix @ x[:, :1], **close)
    np.testing.assert_allclose(operator.rmatvec(r[:, :1]), matrix.T @ r[:, :1], **close)
    np.testing.assert_allclose(operator.matvec(x[::-1, 1]), matrix @ x[::-1, 1], **close)
    np.testing.assert_allclose(operator.rmatvec(r[::-1, 1]), matrix.T @ r[::-1, 1], **close)
    whole = np.arange(columns)
    np.testing.assert_allclose(operator.matvec(whole), matrix @ whole, **close)
    whole = np.arange(rows)
    np.testing.assert_allclose(operator.rmatvec(whole), matrix.T @ whole, **close)


@every
def test_adjoint_and_its_adjoint(operator: LinearOperator) -> None:
    matrix = by_columns(operator)
    close = {"rtol": 1e-12, "atol": 1e-13 * np.abs(matrix).max()}
    adjoint = operator.adjoint()
    assert adjoint.shape == operator.shape[::-1]
    np.testing.assert_allclose(by_columns(adjoint), matrix.T, **close)
    np.testing.assert_allclose(dense(adjoint), matrix.T, **close)
    np.testing.assert_allclose(by_columns(adjoint.adjoint()), matrix, **close)
    np.testing.assert_allclose(dense(operator.T), matrix.T, **close)


@every
def test_wrong_shapes_are_refused(operator: LinearOperator) -> None:
    rows, columns = operator.shape
    for wrong in (columns + 1, columns - 1):
        with pytest.raises(ValueError, match="dimension mismatch"):
            operator.matvec(np.ones(wrong))
        with pytest.raises(ValueError, match="dimension mismatch"):
            operator.matmat(np.ones((wrong, 2)))
    for wrong in (rows + 1, rows - 1):
        with pytest.raises(ValueError, match="dimension mismatch"):
            operator.rmatvec(np.ones(wrong))
        with pytest.raises(ValueError, match="dimension mismatch"):
            operator.rmatmat(np.ones((wrong, 2)))


@every
def test_arguments_are_left_alone(operator: LinearOperator) -> None:
    x, r = np.linspace(1, 2, operator.shape[1]), np.linspace(1, 2, operator.shape[0])
    kept = x.copy(), r.copy()
    (
        operator.matvec(x),
        operator.rmatvec(r),
        operator.matmat(x[:, None]),
        operator.rmatmat(r[:, None]),
    )
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(r, kept[1])


@every
def test_sums_and_products_compose(operator: LinearOperator) -> None:
    matrix = by_columns(operator)
    both = 2 * operator + operator
    np.testing.assert_allclose(dense(both), 3 * matrix, rtol=1e-12, atol=1e-12)
    normal = operator.adjoint() @ operator
    np.testing.assert_allclose(dense(normal), matrix.T @ matrix, rtol=1e-11, atol=1e-11)


@every
def test_pickles_after_use(operator: LinearOperator) -> None:
    operator.rmatvec(operator.matvec(np.ones(operator.shape[1])))
    again = pickle.loads(pickle.dumps(operator))
    np.testing.assert_array_equal(dense(again), dense(operator))


class _Skewed(SlidingWindow):
    """A window whose adjoint starts one output too late."""

    def _rmatvec(self, r: np.ndarray) -> np.ndarray:
        return super()._rmatvec(np.roll(r, 1))


class _Unscaled(SlidingWindow):
    """A window whose adjoint forgets the level outside."""

    def _rmatvec(self, r: np.ndarray) -> np.ndarray:
        product: np.ndarray = super()._rmatvec(r) - self.outside * r.sum()
        return product


@pytest.mark.parametrize("broken", [_Skewed, _Unscaled])
def test_a_wrong_adjoint_fails_the_dot_test(broken: type[SlidingWindow]) -> None:
    assert dot_test(broken(9, width=5, inside=0.17, outside=0.02)) > 1e-3


@every
def test_squared_entries_and_single_columns_where_they_are_offered(
    operator: LinearOperator,
) -> None:
    matrix = by_columns(operator)
    close = {"rtol": 1e-12, "atol": 1e-13 * np.abs(matrix).max()}
    if hasattr(operator, "squared_entries"):
        np.testing.assert_allclose(by_columns(operator.squared_entries()), matrix**2, **close)
    if hasattr(operator, "column"):
        columns = [operator.column(number) for number in range(operator.shape[1])]
        np.testing.assert_allclose(np.column_stack(columns), matrix, **close)


def test_some_operators_offer_them() -> None:
    offered = [make() for make in OPERATORS.values()]
    assert sum(hasattr(operator, "squared_entries") for operator in offered) >= 3
    assert sum(hasattr(operator, "column") for operator in offered) >= 2
