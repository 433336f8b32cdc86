"""The wavelet paper's scripts: what is worked out by hand, and what stands on the page."""

import math

import pytest

from benchmarks.accuracy.papers.wavelet import (
    wavelet_levels,
)
from lapwing.papers.wavelet.wavelet import error_bound


class TestLevels:
    def test_the_example_by_hand(self):
        found = wavelet_levels.example()
        assert found["first"]["l1"] == found["second"]["l1"] == pytest.approx(0.5)
        assert found["first"]["w1"] == pytest.approx(1 / 64)
        assert found["second"]["w1"] == pytest.approx(1 / 8)
        assert found["second"]["ks"] == pytest.approx(1 / 4)

    def test_both_bounds_by_hand(self):
        assert wavelet_levels.lemmas(3, 100_000, 1) == error_bound(4, 100_000, 1)
        # J / (epsilon sqrt n) + 2^-(J+1); from epsilon 1 on e^epsilon and 1 / sqrt n besides.
        assert wavelet_levels.equation_88(4, 10_000, 0.5) == pytest.approx(0.08 + 1 / 32)
        middle = 0.01 + 0.04 / math.e + 1 / 32
        assert wavelet_levels.equation_88(4, 10_000, 1) == pytest.approx(middle)
        assert wavelet_levels.equation_88(4, 10_000, 2) == pytest.approx(0.01 + 1 / 32)
        assert wavelet_levels.least(wavelet_levels.equation_88, 8_760_687, 0.25) == 8
