"""Bins on a finer grid, and operators on top of each other."""

import numpy as np
import pytest

from lapwing.linear.operators.operator import CompoundSymmetric, Repeated, Stacked, dense


def test_a_bin_is_spread_evenly_over_its_points() -> None:
    repeated = Repeated(3, times=4)
    assert repeated.matvec(np.array([4.0, 8.0, 0.0])).tolist() == [1] * 4 + [2] * 4 + [0] * 4
    np.testing.assert_allclose(dense(repeated).sum(axis=0), 1)
    np.testing.assert_allclose(dense(Repeated(5, times=1)), np.eye(5))


def test_rows_are_stacked_in_order() -> None:
    first = CompoundSymmetric(3, diagonal=1.0, off_diagonal=0.0)
    second = CompoundSymmetric(3, diagonal=2.0, off_diagonal=1.0)
    stacked = Stacked([first, second, first])
    assert stacked.shape == (9, 3)
    expected = np.vstack([dense(first), dense(second), dense(first)])
    np.testing.assert_allclose(dense(stacked), expected)
    np.testing.assert_allclose(dense(Stacked([second])), dense(second))


def test_columns_must_agree() -> None:
    with pytest.raises(ValueError, match="equal numbers of columns"):
        Stacked([CompoundSymmetric(n, diagonal=1.0, off_diagonal=0.0) for n in (3, 4)])
