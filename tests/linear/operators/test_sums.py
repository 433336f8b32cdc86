"""Running sums are NumPy's, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.linear.operators.sums import running_sums


@pytest.mark.parametrize("shape", [(1, 40), (7,), (50, 3), (50, 16), (33, 100)])
def test_they_are_the_sums_of_numpy_and_leave_their_argument(shape: tuple[int, ...]) -> None:
    rows = np.random.default_rng(1).normal(size=shape)
    before = rows.copy()
    for given in (rows, np.asfortranarray(rows), rows[::-1]):
        assert np.array_equal(running_sums(given), np.cumsum(given, axis=0))
    assert np.array_equal(rows, before)
