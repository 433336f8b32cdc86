"""Reports of one code and of bits: what is refused, by position, and that a batch is whole."""

import numpy as np
import pytest

from lapwing.errors import ReportError
from lapwing.protocol.randomizer import CHUNK
from lapwing.randomizers.bit_reports import BitReports
from lapwing.randomizers.two_level import CodeReports


def test_codes_are_counted_over_chunks_and_the_first_wrong_one_is_named() -> None:
    layout = CodeReports(300)
    codes = np.arange(CHUNK + 700) % 300
    data = layout.make(codes, lambda points: points)
    np.testing.assert_array_equal(layout.count(data), np.bincount(codes))
    data[CHUNK + 5] = np.frombuffer(layout.report(299), np.uint8)
    layout.count(data)
    data = data.copy()
    data[[CHUNK + 5, CHUNK + 9]] = np.frombuffer((300).to_bytes(2, "little"), np.uint8)
    with pytest.raises(ReportError, match=rf"in 0\.\.299, but the one at position {CHUNK + 5}"):
        layout.count(data)


@pytest.mark.parametrize("symbols", [7, 8, 9])
def test_bits_of_another_number_or_beyond_the_last_symbol_are_refused(symbols: int) -> None:
    layout = BitReports(symbols, 2)
    fine = layout.report([0, symbols - 1])
    data = np.frombuffer(fine * 4, np.uint8).reshape(4, -1).copy()
    assert layout.count(data).sum() == 8
    data = data.copy()
    data[2] = np.frombuffer(layout.report([0]), np.uint8)
    with pytest.raises(
        ReportError, match="contain 2 symbols and no spare bits, but the one at position 2"
    ):
        layout.count(data)
    for spare in range(symbols % 8 or 8, 8):
        data = np.frombuffer(fine * 4, np.uint8).reshape(4, -1).copy()
        data[1, -1] |= 1 << spare
        with pytest.raises(ReportError, match="spare bits 0, but the one at position 1 does not"):
            BitReports(symbols).count(data)
