"""The compiled loops against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing import kernels
from lapwing.linear.banded import SlidingWindow
from lapwing.linear.stacked import dense


@pytest.mark.parametrize("rows", [0, 1, 14, 15, 16, 30, 31, 4000, 65_535, 65_536, 131_085])
@pytest.mark.parametrize("words", [1, 3])
def test_positional_popcount(rows: int, words: int) -> None:
    rng = np.random.default_rng(rows)
    table = rng.integers(2**64, size=(rows, words), dtype=np.uint64)
    expected = np.unpackbits(table.view(np.uint8), axis=1, bitorder="little").sum(
        axis=0, dtype=np.int64
    )
    found = kernels.positional_popcount(table)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows", [15, 65_535, 65_550, 200_000])
def test_vertical_counters_do_not_overflow(rows: int) -> None:
    """All bits set: every counter reaches the number of rows, the most it can hold."""
    full = np.full((rows, 1), 2**64 - 1, dtype=np.uint64)
    assert (kernels.positional_popcount(full) == rows).all()
    assert not kernels.positional_popcount(np.zeros((rows, 1), dtype=np.uint64)).any()


@pytest.mark.parametrize("size", [1, 2, 3, 64, 1000])
@pytest.mark.parametrize("width", [1, 2, 5, 64, 2001])
def test_sliding_window_both_paths(size: int, width: int) -> None:
    """One vector runs compiled, a matrix in NumPy; each is the other's reference."""
    window = SlidingWindow(size, width=width, inside=0.37, outside=0.0021)
    rng = np.random.default_rng(size + width)
    x, r = rng.random(size), rng.random(size + width - 1)
    compiled, plain = window.matvec(x), window.matmat(x[:, None])[:, 0]
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)
    compiled, plain = window.rmatvec(r), window.rmatmat(r[:, None])[:, 0]
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)
    expected = np.full((size + width - 1, size), 0.0021)
    for point in range(size):
        expected[point : point + width, point] = 0.37
    np.testing.assert_allclose(dense(window), expected, rtol=1e-10)
    np.testing.assert_allclose(window.matvec(x), expected @ x, rtol=1e-11)
    np.testing.assert_allclose(window.rmatvec(r), expected.T @ r, rtol=1e-11)


def test_rounding_stays_small_on_a_long_line() -> None:
    size, width = 65_536, 3001
    window = SlidingWindow(size, width=width, inside=1e-4, outside=1e-5)
    mass = np.random.default_rng(1).dirichlet(np.full(size, 0.3))
    exact_sums = np.concatenate([[0.0], np.cumsum(mass.astype(np.longdouble))])
    j = np.arange(size + width - 1)
    inside = exact_sums[np.minimum(j + 1, size)] - exact_sums[np.maximum(j - width + 1, 0)]
    exact = (1e-4 - 1e-5) * inside + 1e-5 * exact_sums[-1]
    np.testing.assert_allclose(window.matvec(mass), exact.astype(float), rtol=1e-11)
