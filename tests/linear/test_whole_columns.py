"""Whole columns: refused before the cast, and compared exactly at any size."""

import numpy as np
import pytest

from lapwing.errors import ArgumentError
from lapwing.linear.function_families import Dictionary
from lapwing.linear.whole_columns import (
    LARGEST_ENTRY,
    most_moved,
    most_moved_pair,
    ranges,
    whole,
)

UNIT = 2**20


class TestWhole:
    def test_entries_are_rounded_to_whole_units(self):
        found = whole(np.array([[0.5, -1.25, 0.3]]), unit=4)
        assert found.dtype == np.int64 and found.tolist() == [[2, -5, 1]]

    def test_what_sensitivities_are_computed_of_cannot_be_changed(self):
        curves = Dictionary.of(np.eye(3)).curves
        for kept in (whole(np.array([0.5]), unit=4), curves):
            with pytest.raises(ValueError, match="read-only"):
                kept += 1

    @pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 4.0, -4.0, 1e300, 2.0**43])
    def test_what_is_not_finite_or_too_large_is_refused_before_the_cast(self, wrong):
        assert whole(np.array([4 - 2 / UNIT]), unit=UNIT) == LARGEST_ENTRY - 2
        with pytest.raises(ArgumentError, match="finite numbers below 4"):
            whole(np.array([[0.0, wrong]]), unit=UNIT)

    def test_rows_of_the_largest_summary_add_up_below_two_to_62(self):
        assert (LARGEST_ENTRY - 1) * 2**40 < 2**62


def in_python(matrix, *, replaced):
    columns = [[int(number) for number in column] for column in np.asarray(matrix).T]
    pairs = [(a, b) for a in columns for b in columns]
    apart = [[x - y for x, y in zip(a, b, strict=True)] for a, b in pairs] if replaced else columns
    return max(sum(x * x for x in d) for d in apart), max(sum(map(abs, d)) for d in apart)


@pytest.mark.parametrize("largest", [1, 5, 2**22, 2**31, 2**40, 2**62, 2**63 - 1])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1), (7, 9)])
class TestMoved:
    # Squares of 2^32 wrap to zero in 64 bits, and differences of 2^62 change their sign.
    @staticmethod
    def matrices(shape, largest):
        rng = np.random.default_rng(1)
        yield rng.integers(-largest, largest, shape, endpoint=True)
        signs = np.where(np.indices(shape).sum(axis=0) % 2, 1, -1)
        yield signs.astype(np.int64) * largest
        yield np.zeros(shape, dtype=np.int64)

    def test_norms_are_those_of_all_pairs(self, shape, largest):
        for matrix in self.matrices(shape, largest):
            for replaced in (True, False):
                assert most_moved(matrix, replaced=replaced) == in_python(matrix, replaced=replaced)

    def test_ranges_and_pairs_of_answers_too(self, shape, largest):
        for matrix in self.matrices(shape, largest):
            rows = [[int(number) for number in row] for row in matrix]
            assert ranges(matrix) == tuple(max(row) - min(row) for row in rows)
            symbols = range(shape[1])
            moved = [[abs(row[s] - row[t]) for row in rows] for s in symbols for t in symbols]
            assert most_moved_pair(matrix) == max(sum(sorted(one)[-2:]) for one in moved)
