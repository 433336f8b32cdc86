"""Bits in bulk: the bit-sliced comparison counted exhaustively, and counting against NumPy."""

from typing import Any

import numpy as np
import pytest

from lapwing.privacy.sampling.randomness import WORD, seeded
from lapwing.randomizers import bit_reports
from lapwing.randomizers.bit_reports import bits_set, count_bits, random_bits, random_sets
from tests.false_alarms import COIN_BITS, accepts, binomial_tail, multinomial_tail


class Enumerating:
    """A source under which lane n draws the number n: every number of so many bits once.

    `random_bits` asks for a word of 64 lanes per bit of the threshold, most significant bit
    first, eight bits at a time, and after each eight only for the words with an open lane. Lane n
    is bit n % 64 of word n // 64; what is open follows from the threshold, not from the code.
    """

    def __init__(self, threshold: int, *, width: int) -> None:
        self.top = threshold >> (64 - width)
        self.width = width
        self.numbers = np.arange(max(2**width, 64)) % 2**width
        self.asked = 0

    def words(self, count: int) -> np.ndarray:
        done = 8 * self.asked
        self.asked += 1
        # A lane is open while all bits so far equal the threshold's.
        agrees = self.numbers >> (self.width - done) == self.top >> (self.width - done)
        used = agrees.reshape(-1, 64).any(axis=1)
        rounds = count // int(used.sum())
        assert rounds * int(used.sum()) == count and 1 <= rounds <= 8
        lanes = self.numbers.reshape(-1, 64)[used]
        rows = []
        for position in range(done, done + rounds):
            shift = self.width - 1 - position
            drawn = (lanes >> shift & 1) if shift >= 0 else np.zeros_like(lanes)
            packed = np.packbits(drawn.astype(np.uint8), axis=1, bitorder="little")
            rows.append(packed.view("<u8").ravel())
        return np.concatenate(rows)


def wrong_lanes(threshold: int, *, width: int) -> int:
    """Return how many of all numbers of `width` bits are compared wrongly with a threshold."""
    source = Enumerating(threshold, width=width)
    drawn = random_bits(source, threshold=threshold, size=source.numbers.size // 8)
    below = np.unpackbits(drawn, bitorder="little")
    return int((below != (source.numbers < source.top)).sum())


@pytest.mark.parametrize("width", [1, 2, 4, 5, 6, 7, 8])
def test_every_number_against_every_threshold(width: int) -> None:
    for top in range(2**width):
        assert wrong_lanes(top << (64 - width), width=width) == 0, f"{top} / 2^{width}"


@pytest.mark.parametrize("width", [9, 12, 16])
def test_every_number_where_undecided_lanes_are_gathered(width: int) -> None:
    chosen = np.random.default_rng(1).integers(2**width, size=40).tolist()
    ends = [0, 1, 2, 2**width - 1, 2**width - 2, 2 ** (width - 1), 2**8 - 1, 2**8]
    for top in {*chosen, *ends}:
        assert wrong_lanes(top << (64 - width), width=width) == 0, f"{top} / 2^{width}"


def test_broken_comparisons_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = bit_reports._compare

    def below_or_equal(source: Any, pattern: list[bool], below: np.ndarray) -> None:
        # As if what is still open at the end counted as below: one number too many.
        number = int("".join("01"[bit] for bit in pattern), 2) + 1
        right(source, [digit == "1" for digit in f"{number:0{len(pattern)}b}"], below)

    def first_bits_only(source: Any, pattern: list[bool], below: np.ndarray) -> None:
        right(source, pattern[:8], below)

    def against_the_bits_reversed(source: Any, pattern: list[bool], below: np.ndarray) -> None:
        right(source, pattern[::-1], below)

    threshold = 0x5AC1 << 48
    assert wrong_lanes(threshold, width=16) == 0
    for broken in (below_or_equal, first_bits_only, against_the_bits_reversed):
        monkeypatch.setattr(bit_reports, "_compare", broken)
        assert wrong_lanes(threshold, width=16) > 0, broken.__name__


@pytest.mark.parametrize(
    "threshold",
    [WORD // 2, WORD // 3, int(WORD * 0.2689414213699951), 0x0123_4567_89AB_CDEF, WORD - WORD // 5],
)
def test_frequency_of_millions_of_bits(threshold: int) -> None:
    # 40 bytes, so that no column of bits is always the same lane of a word.
    table = random_bits(seeded(threshold % 1000), threshold=threshold, size=COIN_BITS // 8)
    ones = np.unpackbits(table.reshape(-1, 40), axis=1, bitorder="little").sum(axis=0)
    rows = COIN_BITS // 8 // 40
    assert accepts(binomial_tail(ones, rows, threshold / WORD)), "each place"
    total = np.array(ones.sum())
    assert accepts(binomial_tail(total, COIN_BITS, threshold / WORD)), "all together"
    # What cutting the threshold to 8 bits would do, unless it has no more.
    cut = (threshold >> 56) / 256
    if abs(cut - threshold / WORD) > 0.002:
        assert not accepts(binomial_tail(total, COIN_BITS, cut))


def test_bits_are_independent_of_their_neighbors() -> None:
    table = random_bits(seeded(4), threshold=WORD // 5, size=500_000).reshape(-1, 2)
    pairs = np.bincount(table[:, 0] & 3, minlength=4)
    p = 0.2
    law = np.array([(1 - p) ** 2, p * (1 - p), p * (1 - p), p * p])
    assert accepts(multinomial_tail(pairs, law)), "neighbors in a byte"
    # Lanes of one word, and the same lane of words that were drawn together.
    for step in (2, 8, 4096 * 4):
        one = table[:-step:2, 0] & 1
        other = table[step::2, 0][: one.size] & 1
        found = np.bincount(2 * one + other, minlength=4)
        assert accepts(multinomial_tail(found, law)), f"{step} apart"


@pytest.mark.parametrize("size", [1, 7, 8, 9, 31, 8 * 4096 - 1, 8 * 4096 + 1, 100_003])
def test_any_number_of_bytes(size: int) -> None:
    drawn = random_bits(seeded(1), threshold=WORD // 3, size=size)
    assert drawn.shape == (size,) and drawn.dtype == np.uint8
    assert drawn[-1:].size == 1 and (size < 100 or len(set(drawn[-50:].tolist())) > 5)


def test_certain_bits() -> None:
    assert not random_bits(seeded(1), threshold=0, size=99).any()
    assert (random_bits(seeded(1), threshold=WORD, size=99) == 255).all()
    almost = random_bits(seeded(1), threshold=WORD - 1, size=1000)
    assert (almost == 255).all()


@pytest.fixture(params=["by NumPy", "by the kernel"])
def counted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count tables of any size in each of the two ways."""
    monkeypatch.setattr(bit_reports, "_SMALL", 2**40 if request.param == "by NumPy" else 0)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(
    ("rows", "width"),
    [(0, 3), (1, 1), (5, 3), (1000, 8), (70_000, 1), (40_001, 3), (3000, 125), (2000, 128)],
)
def test_count_bits_is_the_sum_of_the_bits(rows: int, width: int) -> None:
    data = np.random.default_rng(rows).integers(256, size=(rows, width), dtype=np.uint8)
    expected = np.unpackbits(data, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    found = count_bits(data)
    assert found.dtype == np.int64 and found.shape == (8 * width,)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("counted")
def test_count_bits_of_a_part_of_a_table() -> None:
    data = np.random.default_rng(1).integers(256, size=(4000, 24), dtype=np.uint8)
    for part in (data[::2], data[:, :16], data[7:]):
        expected = np.unpackbits(part, axis=1, bitorder="little").sum(axis=0)
        np.testing.assert_array_equal(count_bits(part), expected)


class _WithWordsToReject:
    """A seeded source, some of whose words an exact number has to reject."""

    def __init__(self) -> None:
        self._source = seeded(7)

    def words(self, count: int) -> np.ndarray:
        words = self._source.words(count)
        words[500::1000] = 0
        return words


@pytest.mark.parametrize(("items", "members"), [(12, 3), (64, 17), (300, 40)])
def test_compiled_and_plain_loops_make_the_same_sets(items, members, monkeypatch):
    rng = np.random.default_rng(items)
    own, inside = rng.integers(0, items, 5000), rng.random(5000) < 0.5
    made = []
    for many in (5000, 5001):
        monkeypatch.setattr(bit_reports, "_MANY_SETS", many)
        source = _WithWordsToReject()
        kept = own.copy()
        made.append(random_sets(source, own, inside, items=items, members=members))
        assert (own == kept).all()
    assert (made[0] == made[1]).all() and (bits_set(made[0]) == members).all()
    row = np.arange(5000)
    assert (((made[0][row, own >> 3] >> (own & 7)) & 1) == inside).all()
