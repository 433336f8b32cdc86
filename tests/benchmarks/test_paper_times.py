"""Run times of the wavelet paper: the distributions of the samplers."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.accuracy.papers.wavelet import wavelet_times
from tests.false_alarms import accepts, multinomial_tail


@pytest.mark.parametrize("sampler", [wavelet_times.until_accepted, wavelet_times.algorithm_2])
def test_both_samplers_have_the_law_of_equation_45(sampler: Callable) -> None:
    """Of d = 3, m = 2: twelve signed sets, e^epsilon as likely where they hold the own sign."""
    epsilon, draws = 1.0, 6000
    rng = np.random.default_rng(3)
    seen: dict[tuple, int] = {}
    for _ in range(draws):
        drawn = sampler(1, 3, 2, epsilon, rng)
        seen[tuple(drawn.tolist())] = seen.get(tuple(drawn.tolist()), 0) + 1
    assert len(seen) == 12 and all(sum(map(abs, one)) == 2 for one in seen)
    weights = {one: math.exp(epsilon) if one[1] == 1 else 1.0 for one in seen}
    total = sum(weights.values())
    chances = np.array([weights[one] / total for one in seen])
    assert accepts(multinomial_tail(np.array(list(seen.values())), chances))
