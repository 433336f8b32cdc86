"""Every fast matrix is the matrix it stands for, in all its products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing import Interval, LeastSquares, SpectralPrior
from lapwing.decoders import SparseRecovery
from lapwing.linear.operators.banded import SlidingWindow
from lapwing.linear.operators.operator import Operator, as_operator, dense
from lapwing.protocol import Block, Channel
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.testing.operator_contract import by_columns, check_operator, dot_test
from tests.contracts.registered_decoders import CHANNELS
from tests.contracts.registered_operators import OPERATORS


def _channel_operators() -> dict[str, LinearOperator]:
    return {
        f"{name}, block {number}": block.operator
        for name, make in CHANNELS.items()
        for number, block in enumerate(make().blocks)
    }


def by_products(matrix: np.ndarray) -> LinearOperator:
    """Return an operator of two functions, as somebody else may have it."""
    return LinearOperator(
        matrix.shape, matvec=lambda x: matrix @ x, rmatvec=lambda r: matrix.T @ r, dtype=float
    )


def _operators() -> list[object]:
    made = {name: make() for name, make in OPERATORS.items()} | _channel_operators()
    return [pytest.param(operator, id=name) for name, operator in made.items()]


every = pytest.mark.parametrize("operator", _operators())


@every
def test_every_operator_keeps_the_contract(operator: LinearOperator) -> None:
    check_operator(operator)


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
    operator = broken(9, width=5, inside=0.17, outside=0.02)
    assert dot_test(operator) > 1e-3
    with pytest.raises(AssertionError, match="the adjoint is wrong"):
        check_operator(operator)


class _Squares(SlidingWindow):
    """A window whose squared entries are not squared."""

    def squared_entries(self) -> SlidingWindow:
        return SlidingWindow(9, width=5, inside=0.17, outside=0.02)


class _Columns(SlidingWindow):
    """A window that shows the next column for the one asked for."""

    def column(self, number: int) -> np.ndarray:
        return self.matvec(np.roll(np.eye(9)[number], 1))


class _Overwrites(SlidingWindow):
    """A window that works in the vector that it was given."""

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        product = super()._matvec(x)
        x *= 0.5
        return product


@pytest.mark.parametrize(
    ("broken", "message"),
    [(_Squares, "squared"), (_Columns, "a single column"), (_Overwrites, "the adjoint is wrong")],
)
def test_a_wrong_operator_is_told_what_is_wrong(broken: type[SlidingWindow], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_operator(broken(9, width=5, inside=0.17, outside=0.02))


@every
def test_every_answer_is_that_of_the_dense_matrix(operator: LinearOperator) -> None:
    known, matrix = as_operator(operator), by_columns(operator)
    rows, columns = matrix.shape
    rng = np.random.default_rng(3)
    weights, mass = rng.uniform(0.5, 2, rows), rng.dirichlet(np.ones(columns))
    close = {"rtol": 1e-11, "atol": 1e-13 * max(np.abs(matrix).max(), 1.0)}
    found = [known.column(number) for number in range(columns)]
    np.testing.assert_allclose(np.column_stack(found), matrix, **close)
    squared = known.squared_entries()
    np.testing.assert_allclose(by_columns(squared), matrix**2, **close)
    np.testing.assert_allclose(squared.matmat(np.eye(columns)), matrix**2, **close)
    np.testing.assert_allclose(squared.rmatvec(weights), (matrix**2).T @ weights, **close)
    lags = columns + 2
    gram = matrix.T @ (weights[:, None] * matrix)
    np.testing.assert_allclose(known.weighted_gram(weights, lags), _bands(gram, lags), **close)
    if rows == columns:
        np.testing.assert_allclose(known.near_diagonal(lags), _bands(matrix, lags), **close)
    factor, signs = rng.normal(size=(columns, 2)), np.array([1.0, -0.5])
    diagonal, through, their = known.congruence(mass, factor, signs)
    expected = matrix @ (np.diag(mass) + (factor * signs) @ factor.T) @ matrix.T
    np.testing.assert_allclose(np.diag(diagonal) + (through * their) @ through.T, expected, **close)


@every
def test_what_an_operator_says_of_its_structure_is_true(operator: LinearOperator) -> None:
    known, matrix = as_operator(operator), by_columns(operator)
    mass = np.random.default_rng(4).dirichlet(np.ones(matrix.shape[1]))
    close = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(known.on_cells.matvec(known.cell_totals(mass)), matrix @ mass)
    people = known.cell_totals(np.arange(mass.size))
    assert people.dtype == np.int64 and people.sum() == np.arange(mass.size).sum()
    if known.compound is not None:
        own, other = known.compound
        expected = np.full(matrix.shape, other) + (own - other) * np.eye(mass.size)
        np.testing.assert_allclose(matrix, expected, **close)
    if known.kernel is not None:
        rolled = [np.roll(known.kernel, number) for number in range(mass.size)]
        np.testing.assert_allclose(matrix, np.column_stack(rolled), **close)
    found = known.separate_shares(matrix @ mass, 100)
    if found is not None:
        np.testing.assert_allclose(found[0], mass, rtol=1e-9, atol=1e-12)
        assert found[1].shape == mass.shape and (found[1] >= 0).all()


def test_some_operators_say_something() -> None:
    offered = [as_operator(make()) for make in OPERATORS.values()]
    assert sum(known.compound is not None for known in offered) == 2
    assert sum(known.kernel is not None for known in offered) == 5
    assert sum(known.on_cells is not known for known in offered) == 3
    shares = [known.separate_shares(np.ones(known.shape[0]), 9) for known in offered]
    assert sum(found is not None for found in shares) == 4


def _bands(matrix: np.ndarray, lags: int) -> np.ndarray:
    """Return the entries (i, i + lag)."""
    bands = np.zeros((lags, matrix.shape[0]))
    for lag in range(min(lags, matrix.shape[0])):
        bands[lag, : matrix.shape[0] - lag] = np.diagonal(matrix, lag)
    return bands


def test_all_operators_of_the_package_have_the_one_base() -> None:
    for operator in _channel_operators().values():
        assert isinstance(operator, Operator)


@pytest.mark.parametrize(
    "door", [aslinearoperator, np.array, by_products], ids=lambda f: f.__name__
)
def test_a_block_takes_anybodys_operator(door: Callable[[np.ndarray], object]) -> None:
    channel = OptimizedUnaryEncoding(Interval(0, 1, bins=8), 3).channel
    own = channel.blocks[0]
    given = Block(door(dense(own.operator)), own.law)
    mass = np.arange(1, 9) / 36
    found, expected = given.covariance(mass).dense(), own.covariance(mass).dense()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    counts = np.rint(1000 * own.mean(mass)).astype(np.int64)
    for one, other in zip(
        given.score_and_information(mass, counts, 1000),
        own.score_and_information(mass, counts, 1000),
        strict=True,
    ):
        np.testing.assert_allclose(one @ mass, other @ mass, rtol=1e-9, atol=1e-10)
    tally = CountTally([counts], [1000], channel.fingerprint)
    theirs = Channel(channel.domain, [given], channel.fingerprint)
    for decoder in (LeastSquares(), SpectralPrior(), SparseRecovery()):
        mine = decoder.decode(theirs, tally).mass
        np.testing.assert_allclose(mine, decoder.decode(channel, tally).mass, atol=1e-4)
