"""Thresholds of near sets of different sizes, against the definitions in fractions."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing import Categories, RandomizedResponse
from lapwing.linear.operators.random_signs import ones_per_column, random_columns, unpacked
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD
from lapwing.randomizers.categorical.compressive_privatization import (
    banded,
    probabilities,
    published,
    scaled_odds,
    worst_ratio,
)

BOUND = exponential_bounds(Fraction(1))[0]


def by_hand(packed: np.ndarray, outputs: int, thresholds: dict[int, int]) -> Fraction:
    """Return the worst ratio from the whole table of probabilities."""
    table = []
    for column in unpacked(packed, outputs):
        size = int(column.sum())
        near = Fraction(thresholds[size], WORD * size) if size else None
        far = Fraction(WORD - thresholds[size], WORD * (outputs - size)) if size < outputs else None
        table.append([near if bit else far for bit in column])
        assert sum(table[-1]) == 1
    return max(max(row) / min(row) for row in zip(*table, strict=True))


MATRICES = {
    "random": random_columns(1, 12, 9, threshold=2**31),
    "sparse": random_columns(1, 12, 9, threshold=2**29),
    "balanced": random_columns(1, 12, 9, ones=3),
    "with an empty and a full one": np.vstack(
        [random_columns(1, 6, 9, threshold=2**31), np.array([[0, 0], [255, 1]], dtype=np.uint8)]
    ),
}
every = pytest.mark.parametrize("packed", MATRICES.values(), ids=MATRICES)


@every
def test_worst_ratio_is_that_of_the_whole_table(packed: np.ndarray) -> None:
    sizes = ones_per_column(packed)
    for thresholds in (
        published(sizes.tolist(), 9, BOUND),
        banded(sizes, 9, BOUND),
        published(sizes.tolist(), 9, scaled_odds(sizes.tolist(), 9, BOUND)),
        {size: 2**63 for size in range(1, 9)} | {0: 0, 9: WORD},
    ):
        assert worst_ratio(packed, 9, thresholds) == by_hand(packed, 9, thresholds)


@every
def test_repairs_keep_the_bound_and_the_published_form_does_not(packed: np.ndarray) -> None:
    sizes = ones_per_column(packed)
    even = len(set(sizes.tolist())) == 1
    as_published = worst_ratio(packed, 9, published(sizes.tolist(), 9, BOUND))
    assert (as_published <= BOUND) == even
    for repaired in (
        banded(sizes, 9, BOUND),
        published(sizes.tolist(), 9, scaled_odds(sizes.tolist(), 9, BOUND)),
    ):
        ratio = worst_ratio(packed, 9, repaired)
        assert ratio <= BOUND
        assert even or ratio > 2, "not much of it is left unused"


@every
def test_banded_probabilities_lie_in_one_band(packed: np.ndarray) -> None:
    chances = probabilities(banded(ones_per_column(packed), 9, BOUND), 9)
    levels = [chance for pair in chances.values() for chance in pair]
    assert max(levels) / min(levels) <= BOUND
    assert all(near >= far for near, far in chances.values())
    assert chances.get(0, (Fraction(1, 9),) * 2) == (Fraction(1, 9), Fraction(1, 9))
    assert chances.get(9, (Fraction(1, 9),) * 2)[0] == Fraction(1, 9)


def test_with_one_size_all_forms_are_the_two_level_design() -> None:
    response = RandomizedResponse(Categories(9), 1)
    sizes = np.ones(9, dtype=np.int64)
    for thresholds in (
        published([1], 9, BOUND),
        banded(sizes, 9, BOUND),
        published([1], 9, scaled_odds([1], 9, BOUND)),
    ):
        # A root is taken from below, which may cost one unit.
        assert 0 <= response._threshold - thresholds[1] <= 1


@pytest.mark.parametrize("sizes", [[3, 5], [1, 8], [0, 4], [2, 9], [210, 297]])
def test_scaled_odds_are_the_largest(sizes: list[int]) -> None:
    outputs = 9 if max(sizes) < 10 else 500
    odds = scaled_odds(sizes, outputs, BOUND)

    def ratio(r: Fraction) -> Fraction:
        return r * (max(sizes) * r + outputs - max(sizes)) / (min(sizes) * r + outputs - min(sizes))

    assert ratio(odds) <= BOUND < ratio(odds * (1 + Fraction(1, 2**100)))


def test_a_threshold_past_its_limit_is_found() -> None:
    packed = MATRICES["random"]
    good = banded(ones_per_column(packed), 9, BOUND)
    assert worst_ratio(packed, 9, good) <= BOUND
    assert worst_ratio(packed, 9, {size: T + 1 for size, T in good.items()}) > BOUND
