"""Random columns from a public seed: on demand, fair, and as coherent as a dense matrix says."""

import itertools

import numpy as np
import pytest

from lapwing.linear.operators.random_signs import (
    coherence,
    column_numbers,
    ones_per_column,
    random_columns,
    smallest,
    unpacked,
)
from tests.false_alarms import accepts, binomial_tail, multinomial_tail


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 8, 500])
@pytest.mark.parametrize("kind", [{"ones": 1}, {"threshold": 2**31}])
def test_a_column_is_the_same_alone_and_among_all(rows: int, kind: dict[str, int]) -> None:
    together = random_columns(7, 50, rows, **kind)
    for column in (0, 1, 13, 49):
        alone = random_columns(7, 1, rows, first=column, **kind)
        np.testing.assert_array_equal(alone[0], together[column])
    assert not np.array_equal(together, random_columns(8, 50, rows, **kind)) or rows == 2


def test_columns_made_in_several_parts_are_the_same() -> None:
    rows = 1000
    many = random_columns(1, 5000, rows, ones=300)
    np.testing.assert_array_equal(many[4990:], random_columns(1, 10, rows, ones=300, first=4990))
    assert set(ones_per_column(many).tolist()) == {300}


def test_spare_bits_are_zero_and_unpacking_gives_the_rows() -> None:
    packed = random_columns(1, 20, 11, threshold=2**32)
    assert packed.shape == (20, 2) and set(ones_per_column(packed).tolist()) == {11}
    assert unpacked(packed, 11).min() == 1 and unpacked(packed, 11).shape == (20, 11)


def _tail_of_sets(held: np.ndarray, ones: int) -> float:
    """Return how far out the frequencies of sets are, if all of one size are equally likely."""
    sets = list(itertools.combinations(range(held.shape[1]), ones))
    found = [tuple(np.flatnonzero(row).tolist()) for row in held]
    counts = np.array([found.count(one) for one in sets])
    return multinomial_tail(counts, np.full(len(sets), 1 / len(sets)))


def test_balanced_columns_are_uniformly_random_sets() -> None:
    numbers = column_numbers(3, 0, 20_000, 5)
    assert accepts(_tail_of_sets(smallest(numbers, 2), 2))
    # With two bits of each number there are many ties, which favor the lower rows.
    assert not accepts(_tail_of_sets(smallest(numbers >> 30, 2), 2))


def test_of_equal_numbers_the_lower_row_is_smaller() -> None:
    numbers = np.array([[5, 5, 5, 5], [9, 5, 5, 0]], dtype=np.uint32)
    assert smallest(numbers, 2).tolist() == [[True, True, False, False], [False, True, False, True]]


@pytest.mark.parametrize("threshold", [2**31, 2**29])
def test_independent_entries_have_their_probability_in_every_row(threshold: int) -> None:
    columns = 40_000
    held = unpacked(random_columns(4, columns, 16, threshold=threshold), 16)
    counts = held.sum(axis=0, dtype=np.int64)
    assert accepts(binomial_tail(counts, columns, threshold / 2**32))
    assert not accepts(binomial_tail(counts, columns, threshold / 2**32 * 1.1))


def test_coherence_is_the_largest_entry_of_the_dense_gram_matrix() -> None:
    packed = random_columns(2, 200, 60, threshold=2**31)
    gram = np.corrcoef(unpacked(packed, 60).astype(np.float64))
    np.fill_diagonal(gram, 0)
    assert coherence(packed, 60) == pytest.approx(np.abs(gram).max(), rel=1e-5)


def test_coherence_of_orthogonal_equal_opposite_and_constant_columns() -> None:
    rows = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], dtype=np.uint8)
    packed = np.packbits(rows, axis=1, bitorder="little")
    assert coherence(packed, 4) == pytest.approx(0, abs=1e-6)
    assert coherence(packed[[0, 1, 0]], 4) == pytest.approx(1)
    opposite = np.vstack([packed[0], packed[0] ^ 0x0F])
    assert coherence(opposite, 4) == pytest.approx(1)
    for constant in (0x00, 0x0F):
        assert coherence(np.vstack([packed, [[constant]]]).astype(np.uint8), 4) == 1.0


def test_sign_columns_too_large_to_keep_are_the_same_matrix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from lapwing.linear.operators import random_signs
    from lapwing.linear.operators.operator import dense

    packed = random_columns(1, 9, 12, threshold=2**31)
    values = {"inside": np.linspace(0.1, 0.2, 9), "outside": np.linspace(0.01, 0.03, 9)}
    expected = dense(random_signs.SignColumns(packed, 12, **values))
    by_hand = np.where(unpacked(packed, 12).T == 1, values["inside"], values["outside"])
    np.testing.assert_allclose(expected, by_hand, rtol=1e-13)
    monkeypatch.setattr(random_signs, "_KEPT", 0)
    monkeypatch.setattr(random_signs, "_AT_ONCE", 30)
    again = random_signs.SignColumns(packed, 12, **values)
    r = np.linspace(-1, 2, 12)
    np.testing.assert_allclose(dense(again), expected, rtol=1e-13)
    np.testing.assert_allclose(again.rmatvec(r), expected.T @ r, rtol=1e-13)
    squared = again.squared_entries()
    np.testing.assert_allclose(dense(squared), expected**2, rtol=1e-13)
    weights = np.linspace(1, 2, 12)
    gram = expected.T @ (weights[:, None] * expected)
    for lag, band in enumerate(again.weighted_gram(weights, 4)):
        np.testing.assert_allclose(band[: 9 - lag], np.diag(gram, lag), rtol=1e-12)
        assert not band[9 - lag :].any()
