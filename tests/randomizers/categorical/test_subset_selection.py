"""Subset selection: the size of the sets, and that they are uniform whatever they start from."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, LapwingError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.randomizers import bit_reports
from lapwing.randomizers.categorical.subset_selection import SubsetSelection, optimal_size
from tests.false_alarms import accepts, multinomial_tail
from tests.rows import each


def _variance(symbols: int, size: int, epsilon: float) -> float:
    odds = size * math.exp(epsilon)
    own = odds / (odds + symbols - size)
    other = (size - own) / (symbols - 1)
    return other * (1 - other) / (own - other) ** 2


@each("epsilon", [0.1, 0.5, 1, 2, 4, 8])
@each("symbols", [2, 3, 5, 16, 64, 257])
def test_the_best_size_is_the_best_of_all_sizes(symbols: int, epsilon: float) -> None:
    best = min(range(1, symbols), key=lambda size: _variance(symbols, size, epsilon))
    chosen = _variance(symbols, optimal_size(symbols, epsilon), epsilon)
    assert chosen == pytest.approx(_variance(symbols, best, epsilon), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_its_variance_is_below_that_of_response_and_of_bits(epsilon: float) -> None:
    for symbols in (4, 16, 256):
        sets = _variance(symbols, optimal_size(symbols, epsilon), epsilon)
        response = _variance(symbols, 1, epsilon)
        bits = 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
        assert sets <= response * (1 + 1e-12)
        assert sets <= bits * (1 + 1e-12)


def _sets_of(randomizer: SubsetSelection, value: int, people: int) -> np.ndarray:
    """Return how often each set of the right size was sent, in lexicographic order."""
    reports = randomizer.randomize(np.full(people, value), rng=seeded(5)).data
    codes = np.bincount(reports[:, 0].astype(int), minlength=256)
    sets = combinations(range(randomizer.domain.size), randomizer._members)
    return np.array([codes[sum(1 << member for member in members)] for members in sets])


def _law_of(randomizer: SubsetSelection, value: int) -> np.ndarray:
    symbols, members = randomizer.domain.size, randomizer._members
    own = randomizer._threshold / 2**64
    inside = own / math.comb(symbols - 1, members - 1)
    outside = (1 - own) / math.comb(symbols - 1, members)
    sets = combinations(range(symbols), members)
    return np.array([inside if value in chosen else outside for chosen in sets])


@pytest.mark.parametrize("start", ["as it is", "empty", "full", "half"])
def test_sets_are_uniform_whatever_bits_they_start_from(
    start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    randomizer = SubsetSelection(Categories(8), 1, size=3)
    if start != "as it is":
        fill = {"empty": 0, "full": 255}
        drawn = bit_reports.random_bits

        def begin(source: Any, *, threshold: int, size: int) -> Any:
            if start in fill:
                return np.full(size, fill[start], dtype=np.uint8)
            return drawn(source, threshold=2**63, size=size)

        monkeypatch.setattr(bit_reports, "random_bits", begin)
    counts = _sets_of(randomizer, 2, 100_000)
    assert counts.sum() == 100_000
    assert accepts(multinomial_tail(counts, _law_of(randomizer, 2)))
    assert not accepts(multinomial_tail(counts, _law_of(randomizer, 3)))


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(LapwingError):
        SubsetSelection(Categories(8), 1, size=8)
    with pytest.raises(LapwingError):
        SubsetSelection(Categories(2**21), 1)
