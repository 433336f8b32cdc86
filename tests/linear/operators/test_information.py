"""The information of weighted counts is the matrix it stands for, on and near its diagonal."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from lapwing import Interval, SquareWave
from lapwing.linear.operators import operator
from lapwing.linear.operators.banded import Circulant, SlidingTable, SlidingWindow, circular_window
from lapwing.linear.operators.operator import (
    Coarsened,
    CompoundSymmetric,
    Repeated,
    WeightedInformation,
    as_operator,
    dense,
)
from lapwing.papers.square_wave.sliding_box import SlidingBox
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave

LAGS = 7

STRUCTURED: dict[str, Callable[[], LinearOperator]] = {
    "window": lambda: SlidingWindow(29, width=5, inside=0.2, outside=0.03),
    "window of one": lambda: SlidingWindow(29, width=1, inside=0.5, outside=0.03),
    "window wider than the line": lambda: SlidingWindow(9, width=21, inside=0.2, outside=0.03),
    "fewer symbols than lags": lambda: SlidingWindow(4, width=3, inside=0.2, outside=0.03),
    "compound symmetric": lambda: CompoundSymmetric(23, diagonal=0.6, off_diagonal=0.02),
    "circulant": lambda: Circulant(np.random.default_rng(5).dirichlet(np.ones(24))),
    "window on a circle": lambda: circular_window(25, width=9, inside=0.1, outside=0.01),
    "table": lambda: SlidingTable(29, table=np.array([0.1, 0.3, 0.2, 0.05, 0.1]), outside=0.03),
    "table wider than the line": lambda: SlidingTable(
        9, table=np.random.default_rng(7).gamma(1.0, size=21), outside=0.03
    ),
    "table on fewer symbols than lags": lambda: SlidingTable(
        4, table=np.array([0.4, 0.2, 0.1]), outside=0.2
    ),
    "coarse cells": lambda: Coarsened(SlidingWindow(8, width=3, inside=0.2, outside=0.1), size=29),
    "cells of one or two": lambda: Coarsened(
        CompoundSymmetric(17, diagonal=0.4, off_diagonal=0.03), size=29
    ),
    "cells of cells": lambda: Coarsened(
        Coarsened(CompoundSymmetric(4, diagonal=0.4, off_diagonal=0.2), size=11), size=29
    ),
}

OTHERS: dict[str, Callable[[], LinearOperator]] = {
    "box": lambda: SlidingBox(inputs=29, outputs=31, half_width=0.2, inside=2.0, outside=0.1),
    "window on a fine grid": lambda: (
        SlidingWindow(36, width=5, inside=0.2, outside=0.01) @ Repeated(12, times=3)
    ),
    "coarse boxes": lambda: Coarsened(
        SlidingBox(inputs=9, outputs=7, half_width=0.2, inside=2.0, outside=0.1), size=29
    ),
    "any matrix": lambda: aslinearoperator(np.random.default_rng(6).normal(size=(13, 29))),
}


def _bands(matrix: np.ndarray, lags: int) -> np.ndarray:
    """Return the entries (i, i + lag), read from the whole matrix."""
    size = matrix.shape[0]
    bands = np.zeros((lags, size))
    for lag in range(min(lags, size)):
        bands[lag, : size - lag] = np.diagonal(matrix, lag)
    return bands


def _made(operator: LinearOperator) -> tuple[WeightedInformation, np.ndarray]:
    weights = np.random.default_rng(4).gamma(1.0, size=operator.shape[0])
    matrix = dense(operator)
    return WeightedInformation(operator, weights), matrix.T @ (weights[:, None] * matrix)


every = pytest.mark.parametrize("make", (STRUCTURED | OTHERS).values(), ids=STRUCTURED | OTHERS)


@every
def test_products_are_those_of_the_matrix(make: Callable[[], LinearOperator]) -> None:
    found, expected = _made(make())
    x = np.random.default_rng(3).normal(size=(expected.shape[0], 3))
    close = {"rtol": 1e-12, "atol": 1e-13 * np.abs(expected).max() * np.abs(x).sum()}
    np.testing.assert_allclose(found.matmat(x), expected @ x, **close)
    np.testing.assert_allclose(found.matvec(x[:, 0]), expected @ x[:, 0], **close)
    np.testing.assert_allclose(found.rmatvec(x[:, 0]), expected @ x[:, 0], **close)
    np.testing.assert_allclose(found.adjoint().matmat(x), expected @ x, **close)


@every
@pytest.mark.parametrize("lags", [1, LAGS])
@pytest.mark.parametrize("chunk", [4, 256])
def test_near_diagonals_are_those_of_the_matrix(
    make: Callable[[], LinearOperator], lags: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator, "_CHUNK", chunk)
    found, expected = _made(make())
    close = {"rtol": 1e-11, "atol": 1e-13 * np.abs(expected).max()}
    np.testing.assert_allclose(found.near_diagonal(lags), _bands(expected, lags), **close)
    np.testing.assert_allclose(found.diagonal(), np.diag(expected), **close)
    # An operator that does not say how it is made is looked at column by column.
    plain = as_operator(expected)
    np.testing.assert_allclose(plain.near_diagonal(lags), _bands(expected, lags), **close)


def test_structured_operators_never_make_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(size: int, start: int, number: int) -> np.ndarray:
        raise AssertionError("columns of the matrix were made")

    monkeypatch.setattr(operator, "_unit_columns", refuse)
    for make in STRUCTURED.values():
        _made(make())[0].near_diagonal(LAGS)
    with pytest.raises(AssertionError, match="were made"):
        _made(OTHERS["box"]())[0].near_diagonal(LAGS)
    domain = Interval(0, 1, bins=1024, outside="clip")
    mass = np.full(1024, 1 / 1024)
    for randomizer in (
        MultiscaleWave(domain, 1),
        SquareWave(domain, 1),
        SquareWave(Interval(0, 1, bins=1024, circular=True), 1),
        OptimizedUnaryEncoding(domain, 1),
    ):
        for block in randomizer.channel.blocks:
            counts = np.rint(1e6 * block.mean(mass)).astype(np.int64)
            _, curvature = block.score_and_information(mass, counts, 10**6)
            assert (curvature.near_diagonal(16)[0] > 0).all()
