"""Sliding windows, compiled, against plain NumPy."""

import numpy as np
import pytest

from lapwing.linear.operators.banded import SlidingWindow
from lapwing.linear.operators.operator import dense


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
