"""Batches of fixed-width records, and codes in bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import Reports
from lapwing.errors import ReportError
from lapwing.protocol.messages.reports import code_width, pack_codes, unpack_codes

STEADY = settings(deadline=None, max_examples=200, derandomize=True)


@pytest.mark.parametrize(
    ("codes", "width"),
    [(1, 1), (2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3), (2**24, 3), (2**24 + 1, 4)],
)
def test_the_fewest_bytes_that_hold_a_code(codes: int, width: int) -> None:
    assert code_width(codes) == width
    assert (codes - 1).bit_length() <= 8 * width


@STEADY
@given(st.integers(1, 7), st.lists(st.integers(0, 2**56 - 1), min_size=1, max_size=30))
def test_codes_are_little_endian_bytes(width: int, codes: list[int]) -> None:
    kept = [code % 2 ** (8 * width) for code in codes]
    data = pack_codes(np.array(kept, dtype=np.int64), width=width)
    assert data.shape == (len(codes), width) and data.dtype == np.uint8
    assert [bytes(row) for row in data] == [code.to_bytes(width, "little") for code in kept]
    assert unpack_codes(data).tolist() == kept
    assert unpack_codes(np.asfortranarray(data)).tolist() == kept


def test_eight_bytes_that_overflow_show_as_negative() -> None:
    assert unpack_codes(np.full((1, 8), 255, dtype=np.uint8)).tolist() == [-1]


def test_a_batch() -> None:
    data = np.arange(12, dtype=np.uint8).reshape(4, 3)
    reports = Reports(data, "f")
    assert len(reports) == 4 and reports.width == 3
    part = reports[1:3]
    assert (
        len(part) == 2 and part.fingerprint == "f" and part.data.tolist() == [[3, 4, 5], [6, 7, 8]]
    )
    with pytest.raises(ValueError, match="read-only"):
        reports.data[0, 0] = 1


@pytest.mark.parametrize(
    "data",
    [
        np.zeros(3, dtype=np.uint8),
        np.zeros((2, 2, 2), dtype=np.uint8),
        np.zeros((2, 2)),
        np.zeros((2, 2), dtype=np.int8),
        np.zeros((2, 2), dtype=bool),
    ],
)
def test_what_is_no_batch_of_bytes_is_refused(data: np.ndarray) -> None:
    with pytest.raises(ReportError, match=r"bytes of shape \[n, width\]"):
        Reports(data, "f")
