"""The two families of hashes: what makes supports by chance as frequent as they should be."""

import itertools

import numpy as np
import pytest

from lapwing.linear.operators.toeplitz_hash import ToeplitzHash, block_spectrum
from lapwing.papers.baselines.local_hashing import factors_and_shifts, hashes, intervals, keys_of
from tests.false_alarms import accepts, binomial_tail


@pytest.mark.parametrize(("key_bits", "hash_bits"), [(1, 1), (3, 2), (4, 3), (5, 1)])
def test_two_keys_differ_by_a_uniform_value_over_all_seeds(key_bits: int, hash_bits: int) -> None:
    """By enumeration: exactly, for every pair of keys."""
    family = ToeplitzHash(key_bits, hash_bits)
    seeds = np.arange(2**family.seed_bits, dtype=np.uint64)
    table = [family.hashes(seeds, np.array(key)) for key in range(2**key_bits)]
    for one, two in itertools.combinations(table, 2):
        counts = np.bincount(one ^ two, minlength=2**hash_bits)
        assert (counts == seeds.size // 2**hash_bits).all()


def test_the_matrix_is_toeplitz() -> None:
    family = ToeplitzHash(4, 3)
    seed = 0b101101
    matrix = np.array([[seed >> (row + column) & 1 for column in range(4)] for row in range(3)])
    for key in range(16):
        bits = np.array([key >> column & 1 for column in range(4)])
        parities = matrix @ bits % 2
        expected = int(sum(parity << row for row, parity in enumerate(parities)))
        assert family.hashes(np.array([seed], dtype=np.uint64), np.array([key])) == [expected]


def test_spectrum_of_the_near_set() -> None:
    for bits in (1, 2, 3):
        for near in range(1, 2**bits):
            spectrum = block_spectrum(near, bits)
            assert spectrum[0] == near
            for point in range(2**bits):
                signs = 1 - 2 * (np.bitwise_count(np.arange(2**bits) & point).astype(int) & 1)
                assert (spectrum * signs).sum() == 2**bits * (point < near)


def test_keys_are_different_and_scattered() -> None:
    keys = keys_of(np.arange(2**20))
    assert np.unique(keys).size == 2**20 and int(keys.max()) < 2**32
    # Fixed: other software must find the same.
    assert keys_of(np.array([0, 1, 2])).tolist() == [0, 1364076727, 821347078]


@pytest.mark.parametrize("size", [2, 3, 4, 8, 55])
def test_two_symbols_collide_as_often_as_they_should(size: int) -> None:
    draws = 400_000
    seeds = np.random.default_rng(1).integers(0, 2**64, draws, dtype=np.uint64)
    factors, shifts = factors_and_shifts(seeds)
    keys = keys_of(np.arange(6))
    table = [hashes(factors, shifts, key, size=size) for key in keys]
    collisions = [int((one == two).sum()) for one, two in itertools.combinations(table, 2)]
    assert accepts(binomial_tail(np.array(collisions), draws, 1 / size))
    for hashed in table:
        assert accepts(binomial_tail(np.bincount(hashed, minlength=size), draws, 1 / size))
    # What the mixing is for: three symbols in arithmetic progression, hashed without it, agree
    # too often; but for halves, where they do by chance what they should.
    plain = [hashes(factors, shifts, np.uint64(key << 12), size=size) for key in (1, 2, 3)]
    for three, right in ((table[1:4], True), (plain, False)):
        together = int(((three[0] == three[1]) & (three[1] == three[2])).sum())
        holds = accepts(binomial_tail(np.array([together]), draws, 1 / size**2))
        assert holds == (right or size == 2)


@pytest.mark.parametrize("size", [2, 3, 7, 2**16])
def test_intervals_are_the_hashes_that_come_out(size: int) -> None:
    told = np.arange(size)
    first, width = intervals(told, size=size)
    assert int(first[0]) == 0 and int(width.astype(np.int64).sum()) == 2**32
    assert (np.cumsum(width.astype(np.int64))[:-1] == first[1:]).all()
    for edge in (first.astype(np.int64), first.astype(np.int64) + width - 1):
        assert ((edge * size) >> 32 == told).all()
