"""The compiled count of bits against plain NumPy."""

import numpy as np
import pytest

from lapwing.randomizers import report_kernel


@pytest.mark.parametrize("rows", [0, 1, 14, 15, 16, 30, 31, 4000, 65_535, 65_536, 131_085])
@pytest.mark.parametrize("words", [1, 3])
def test_positional_popcount(rows: int, words: int) -> None:
    rng = np.random.default_rng(rows)
    table = rng.integers(2**64, size=(rows, words), dtype=np.uint64)
    expected = np.unpackbits(table.view(np.uint8), axis=1, bitorder="little").sum(
        axis=0, dtype=np.int64
    )
    found = report_kernel.positional_popcount(table)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows", [15, 65_535, 65_550, 200_000])
def test_vertical_counters_do_not_overflow(rows: int) -> None:
    """All bits set: every counter reaches the number of rows, the most it can hold."""
    full = np.full((rows, 1), 2**64 - 1, dtype=np.uint64)
    assert (report_kernel.positional_popcount(full) == rows).all()
    assert not report_kernel.positional_popcount(np.zeros((rows, 1), dtype=np.uint64)).any()
