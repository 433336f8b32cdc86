"""The keystream bit by bit, and draws whose exactness is counted, not sampled, where possible."""

import hashlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from lapwing.errors import ArgumentError
from lapwing.privacy.sampling.randomness import (
    BUFFER_BYTES,
    WORD,
    Keystream,
    bernoulli,
    iterate,
    scalar_below,
    secure,
    seeded,
    uniform_below,
)
from tests.false_alarms import COIN_BITS, accepts, binomial_tail, multinomial_tail

SIZES = (1, 7, 100, 8191, 8192, 8193, 1, 20_000, 3)
"""Words drawn at a time: across the ends of the buffer of 8192 words, and onto them."""


def aes_words(secret: bytes, count: int) -> np.ndarray:
    """Return the keystream of AES-256-CTR as the `cryptography` package gives it in one piece."""
    cipher = Cipher(algorithms.AES(secret[:32]), modes.CTR(secret[32:48]))
    return np.frombuffer(cipher.encryptor().update(bytes(8 * count)), dtype="<u8")


class Scripted:
    """A source that hands out given words, and says how many are left."""

    def __init__(self, words: np.ndarray | list[int]) -> None:
        self.left = np.array(words, dtype=np.uint64)

    def words(self, count: int) -> np.ndarray:
        assert count <= self.left.size, "more words were drawn than were given"
        taken, self.left = self.left[:count], self.left[count:]
        return taken.copy()


# The keystream

OF_THE_PACKAGE = secure()  # in a test it draws the words of that test


def test_seeded_words_are_aes_in_counter_mode() -> None:
    secret = hashlib.sha512(b"lapwing seeded 12345 1").digest()[:48]
    source = seeded(12345)
    drawn = np.concatenate([source.words(size) for size in SIZES])
    assert drawn.dtype == np.uint64
    np.testing.assert_array_equal(drawn, aes_words(secret, sum(SIZES)))


def test_secure_words_are_aes_keyed_by_the_operating_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = bytes(range(100, 148))
    asked = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return given

    monkeypatch.setattr(os, "urandom", urandom)
    source = Keystream(OF_THE_PACKAGE._draw_key)
    np.testing.assert_array_equal(source.words(20_000), aes_words(given, 20_000))
    assert asked == [48]


def test_secure_is_one_stream_that_never_repeats() -> None:
    assert secure() is secure()
    first, second = secure().words(1000), secure().words(1000)
    assert np.unique(np.concatenate([first, second])).size == 2000


def test_words_handed_out_are_wiped_from_the_buffer() -> None:
    source: Any = seeded(1)
    drawn = source.words(1000).tobytes()
    left = bytes(source._key._buffer)
    assert drawn not in left and left[:8000] == bytes(8000) and left[8000:BUFFER_BYTES].strip(b"\0")


def test_zero_words() -> None:
    source = seeded(1)
    assert source.words(0).size == 0
    assert source.words(2).tolist() == seeded(1).words(2).tolist()
    assert bernoulli(source, threshold=5, count=0).size == 0
    assert uniform_below(source, bounds=5, count=0).size == 0


def test_a_new_key_after_its_last_block() -> None:
    source: Any = seeded(7)
    source.words(1)
    source._key._left = BUFFER_BYTES
    secrets = [hashlib.sha512(f"lapwing seeded 7 {n}".encode()).digest()[:48] for n in (1, 2)]
    words_in_buffer = BUFFER_BYTES // 8
    rest = source.words(2 * words_in_buffer - 1)
    np.testing.assert_array_equal(rest, aes_words(secrets[0], 2 * words_in_buffer)[1:])
    np.testing.assert_array_equal(source.words(50), aes_words(secrets[1], 50))


@pytest.mark.parametrize("seed", [-1, WORD, 1.5, True, "1", None])
def test_a_seed_is_a_64_bit_number(seed: Any) -> None:
    with pytest.raises(ArgumentError, match=r"a whole number|from 0 to 2\^64-1"):
        seeded(seed)


def test_seeds_give_different_streams() -> None:
    streams = [seeded(seed).words(10).tobytes() for seed in (0, 1, 2, WORD - 1, np.int64(3))]
    assert len(set(streams)) == 5


def test_threads_share_one_stream_without_repeating_or_losing_words() -> None:
    source, sizes, found = seeded(3), [1, 3, 100, 5000], []

    def draw() -> None:
        mine = [source.words(sizes[turn % 4]) for turn in range(200)]
        found.append(np.concatenate(mine))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = np.concatenate(found)
    assert together.size == 4 * 50 * sum(sizes)
    np.testing.assert_array_equal(np.sort(together), np.sort(seeded(3).words(together.size)))


def test_iterate_yields_the_words_in_order() -> None:
    words = iterate(seeded(5))
    assert [next(words) for _ in range(100)] == seeded(5).words(100).tolist()
    assert isinstance(next(words), int)


def test_bits_of_the_stream_are_fair() -> None:
    words = seeded(11).words(COIN_BITS // 64)
    bits = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1)
    assert accepts(binomial_tail(bits.sum(axis=0), words.size, 0.5))


# Coins


@pytest.mark.parametrize("threshold", [1, 2, 2**32, 2**63, WORD - 1, 0x9E3779B97F4A7C15])
def test_a_coin_is_true_for_exactly_the_words_below_its_threshold(threshold: int) -> None:
    words = [0, threshold - 1, threshold, WORD - 1]
    coins = bernoulli(Scripted(words), threshold=threshold, count=4)
    assert coins.tolist() == [word < threshold for word in words]


def test_certain_coins() -> None:
    source = seeded(1)
    assert not bernoulli(source, threshold=0, count=1000).any()
    assert bernoulli(source, threshold=WORD, count=1000).all()
    assert bernoulli(Scripted([WORD - 1, 0]), threshold=WORD, count=2).all()


def test_coins_have_their_frequency() -> None:
    threshold = 0x4A5D_6F00_1234_5678
    count = COIN_BITS // 8
    heads = int(bernoulli(seeded(2), threshold=threshold, count=count).sum())
    assert accepts(binomial_tail(np.array(heads), count, threshold / WORD))
    assert not accepts(binomial_tail(np.array(heads), count, threshold / WORD * 1.02))


# Bounded integers, one at a time

BOUNDS = [1, 2, 3, 5, 6, 7, 10, 255, 256, 257, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32 + 1]
BOUNDS += [2**33 + 7, 10**12 + 39, 2**40, 2**62 + 1, 2**63 - 1, 2**63 + 1, WORD - 1]


def _first_and_last(bound: int, result: int, bits: int) -> tuple[int, int]:
    """Return the smallest and the largest word that multiply-high must accept for a result."""
    size, excess = 2**bits, 2**bits % bound
    return -(-(result * size + excess) // bound), (result * size + size - 1) // bound


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_result_has_equally_many_words(bound: int) -> None:
    """The proof of uniformity that the exact laws of the contract tests rest on.

    The words that give a result are an interval; all of these hold 2^64 // bound words. The code
    accepts its ends, and rejects or maps elsewhere the words just outside.
    """
    for result in {0, 1 % bound, bound // 3, bound // 2, bound - 2, bound - 1} - {-1}:
        first, last = _first_and_last(bound, result, 64)
        assert last - first + 1 == WORD // bound
        for word in (first, (first + last) // 2, last):
            assert scalar_below(iter([word]), bound) == result
        for word in (first - 1, last + 1):
            if 0 <= word < WORD:
                words = iter([word, first])
                other = scalar_below(words, bound)
                rejected = next(words, None) is None
                assert rejected or other != result
                assert not rejected or other == result


def test_words_that_would_bias_are_drawn_anew() -> None:
    # 2^64 mod 3 = 1: of all words only 0 leaves a low half below it.
    words: Iterator[int] = iter([0, 0, 0, 1, 99])
    assert scalar_below(words, 3) == 0
    assert next(words) == 99
    words = iter([0, WORD - 1, 7])
    assert scalar_below(words, 3) == 2
    assert next(words) == 7


# Bounded integers in bulk


def _halves(numbers: list[int]) -> Scripted:
    """Return a source whose words are these 32-bit numbers, two by two, the low half first."""
    padded = numbers + [0] * (len(numbers) % 2)
    return Scripted([low | high << 32 for low, high in zip(padded[::2], padded[1::2], strict=True)])


@pytest.mark.parametrize("bound", [bound for bound in BOUNDS if bound <= 2**31])
def test_bulk_results_have_equally_many_half_words(bound: int) -> None:
    for result in {0, 1 % bound, bound // 3, bound // 2, bound - 1}:
        first, last = _first_and_last(bound, result, 32)
        assert last - first + 1 == 2**32 // bound
        for half in (first, (first + last) // 2, last):
            source = _halves([half])
            assert uniform_below(source, bounds=bound, count=1).tolist() == [result]
            assert source.left.size == 0
        for half in (first - 1, last + 1):
            if 0 <= half < 2**32:
                source = _halves([half, 0, first, 0])
                other = uniform_below(source, bounds=bound, count=1).tolist()[0]
                rejected = source.left.size == 0
                assert (other == result) == rejected


def test_only_rejected_places_are_drawn_anew() -> None:
    source = _halves([0, 2**31, 0, 2**32 - 1, 0, 0, 5, 0])
    # Half-word 0 is rejected for bound 3 (2^32 mod 3 = 1), not for bound 4.
    drawn = uniform_below(source, bounds=np.array([3, 3, 4, 3], dtype=np.uint64), count=4)
    assert drawn.tolist() == [0, 1, 0, 2] and source.left.size == 0


def test_masked_results_above_31_bits() -> None:
    bound = 2**33 + 7
    # The mask keeps 34 bits; what is not below the bound is drawn anew, alone.
    words = [bound - 1, bound, 2**34 + 5, 2**63 | 3, bound + 1, 2**34 - 1, 17]
    drawn = uniform_below(Scripted(words), bounds=bound, count=4)
    assert drawn.tolist() == [bound - 1, 17, 5, 3]
    power = uniform_below(Scripted([2**40 - 1, 2**40, 2**41 - 1]), bounds=2**40, count=3)
    assert power.tolist() == [2**40 - 1, 0, 2**40 - 1]
    mixed = np.array([1, 2**31 + 1, 3], dtype=np.uint64)
    assert uniform_below(Scripted([77, 2**31, 7, 2]), bounds=mixed, count=3).tolist() == [
        0,
        2**31,
        2,
    ]


@pytest.mark.parametrize("bound", [3, 5, 1000, 2**31 - 1, 2**31, 2**31 + 1, 2**33 + 7, 2**40])
def test_bulk_results_are_uniform(bound: int) -> None:
    count = 400_000
    drawn = uniform_below(seeded(bound), bounds=bound, count=count)
    assert drawn.dtype == np.int64 and drawn.min() >= 0 and drawn.max() < bound
    cells = min(bound, 64)
    edges = [cell * bound // cells for cell in range(cells + 1)]
    sizes = np.diff(edges) / bound
    places = np.searchsorted(edges, drawn, side="right") - 1
    assert accepts(multinomial_tail(np.bincount(places, minlength=cells), sizes)), "high part"
    if bound > 64:
        # The low part: a biased rejection shows in residues, not in ranges.
        expected = np.array([len(range(residue, bound, 7)) for residue in range(7)]) / bound
        assert accepts(multinomial_tail(np.bincount(drawn % 7, minlength=7), expected)), "low part"


def test_arrays_of_bounds_are_uniform_each() -> None:
    pattern = np.array([2, 3, 7, 1, 2**31 - 1], dtype=np.uint64)
    for bounds in (pattern, np.append(pattern[:4], np.uint64(2**35 + 1))):
        many = np.tile(bounds, 60_000)
        drawn = uniform_below(seeded(9), bounds=many, count=many.size)
        for place, bound in enumerate(bounds.tolist()):
            own = drawn[place :: bounds.size]
            cells = min(bound, 8)
            edges = [cell * bound // cells for cell in range(cells + 1)]
            found = np.bincount(np.searchsorted(edges, own, side="right") - 1, minlength=cells)
            assert accepts(multinomial_tail(found, np.diff(edges) / bound))


def test_plain_remainders_would_be_found_biased() -> None:
    """The same test on the naive `word % bound`: 3 of 4 values of a 2-bit word fall unevenly."""
    bound = 3 * 2**62
    words = seeded(5).words(100_000)
    found = np.bincount((words % np.uint64(bound) >= np.uint64(2**62)).astype(int), minlength=2)
    assert not accepts(multinomial_tail(found, np.array([1 / 3, 2 / 3])))
