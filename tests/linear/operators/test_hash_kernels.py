"""Every compiled loop of hashed reports beside its NumPy reference."""

import functools
import operator

import numpy as np
import pytest
from scipy.linalg import hadamard

from lapwing.linear.operators.hadamard import WalshHadamard
from lapwing.linear.operators.hash_kernels import (
    fold,
    hashed_supports,
    linear_supports,
    pack,
    pooled_reads,
    pooled_sums,
    reaching,
    scatter,
    spectrum_points,
    walsh,
)
from lapwing.linear.operators.toeplitz_hash import ToeplitzHash, block_spectrum
from lapwing.papers.baselines.local_hashing import factors_and_shifts, hashes, intervals, keys_of

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 512, 2**12, 2**13, 2**15])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_walsh(size: int, kind: type) -> None:
    numbers = RNG.integers(-9, 9, size).astype(kind)
    expected = WalshHadamard(size).matvec(numbers.astype(np.float64))
    walsh(numbers)
    assert numbers.tolist() == expected.tolist()
    if size <= 512:
        signs = hadamard(size).astype(np.int64)
        once = RNG.integers(-9, 9, size)
        twice = once.copy()
        walsh(twice)
        assert (signs @ once).tolist() == twice.tolist()


def test_walsh_wraps_and_is_right_where_the_result_fits() -> None:
    """Steps in between may leave the range of the type; the result is right modulo that range."""
    numbers = np.full(4, 2**30, dtype=np.int32)
    numbers[2:] = -(2**30)
    walsh(numbers)
    # Exactly (0, 0, 2^32, 0), and 2^32 is 0 here.
    assert numbers.tolist() == [0, 0, 0, 0]


def _reports(family: ToeplitzHash, number: int) -> np.ndarray:
    bits = family.seed_bits + family.hash_bits
    return RNG.integers(0, 2**bits, number, dtype=np.uint64)


@pytest.mark.parametrize(("key_bits", "hash_bits", "near"), [(3, 1, 1), (5, 2, 1), (40, 3, 3)])
def test_points_and_supports(key_bits: int, hash_bits: int, near: int) -> None:
    """Points, summed up with their signs at a key, are the supports that the definition counts."""
    family = ToeplitzHash(key_bits, hash_bits)
    codes = _reports(family, 5000)
    seeds, told = codes >> np.uint64(hash_bits), codes & np.uint64(2**hash_bits - 1)
    keys = RNG.integers(0, 2**key_bits, 20, dtype=np.int64)
    expected = [int(((family.hashes(seeds, key) ^ told) < near).sum()) for key in keys]

    found = np.zeros(20, dtype=np.int64)
    linear_supports(codes, keys.astype(np.uint64), key_bits, hash_bits, np.uint64(near), found)
    assert found.tolist() == expected

    spectrum = block_spectrum(near, hash_bits)
    positions = np.empty(codes.size * 2**hash_bits, dtype=np.uint64)
    weights = np.empty(positions.size, dtype=np.int16)
    filled = spectrum_points(codes, key_bits, hash_bits, spectrum, positions, weights)
    assert filled == codes.size * np.count_nonzero(spectrum[1:])
    positions, weights = positions[:filled], weights[:filled].astype(np.int64)
    for key, supports in zip(keys.astype(np.uint64), expected, strict=True):
        signs = 1 - 2 * (np.bitwise_count(positions & key).astype(np.int64) & 1)
        assert 2**hash_bits * supports == near * codes.size + int((weights * signs).sum())


def test_points_are_those_of_the_family() -> None:
    family = ToeplitzHash(6, 3)
    codes = _reports(family, 50)
    seeds = codes >> np.uint64(3)
    positions = np.empty(50 * 7, dtype=np.uint64)
    weights = np.empty(50 * 7, dtype=np.int16)
    spectrum_points(codes, 6, 3, block_spectrum(1, 3), positions, weights)
    # The point of a seed and of c is M' c, where M is the matrix of the seed: row r of it is the
    # bits of the seed from r on, as many as keys have.
    rows = [[int(seed) >> row & 63 for row in range(3)] for seed in seeds]
    expected = [
        functools.reduce(operator.xor, (row for bit, row in enumerate(matrix) if c >> bit & 1))
        for matrix in rows
        for c in range(1, 8)
    ]
    assert sorted(positions.tolist()) == sorted(expected)


def test_scatter_and_fold() -> None:
    low = RNG.integers(0, 16, 300).astype(np.uint32)
    high = RNG.integers(0, 4, 300).astype(np.uint32)
    weights = RNG.integers(-3, 4, 300).astype(np.int16)
    out = np.zeros(16, dtype=np.int64)
    scatter(low.astype(np.uint64), weights, out)
    expected = np.zeros(16, dtype=np.int64)
    np.add.at(expected, low, weights)
    assert out.tolist() == expected.tolist()
    signs = np.array([1, -1, -1, 1], dtype=np.int32)
    tile = np.full(16, 99, dtype=np.int32)
    packed = np.empty(300, dtype=np.uint64)
    pack((high.astype(np.uint64) << np.uint64(4)) | low, weights, 4, 2, packed)
    packed.sort()
    assert (packed >> np.uint64(18)).tolist() == sorted(low.tolist())
    fold(packed, 2, signs, tile)
    expected = np.zeros(16, dtype=np.int64)
    np.add.at(expected, low, weights * signs[high])
    assert tile.tolist() == expected.tolist()


@pytest.mark.parametrize("size", [1, 1023, 1024, 5000])
def test_reaching(size: int) -> None:
    numbers = RNG.integers(0, 100, size).astype(np.int32)
    found = np.empty(size, dtype=np.int64)
    for limit in (0, 50, 99, 100):
        expected = np.flatnonzero(numbers >= limit)
        assert reaching(numbers, limit, found) == expected.size
        assert found[: expected.size].tolist() == expected.tolist()
    few = np.empty(1, dtype=np.int64)
    assert reaching(numbers, 0, few) == size and few[0] == 0


@pytest.mark.parametrize("size", [2, 4, 55, 2**16])
def test_hashed_supports_and_pools(size: int) -> None:
    pool = 203 if size < 2**16 else 23
    factors, shifts = factors_and_shifts(RNG.integers(0, 2**63, pool).astype(np.uint64))
    keys = keys_of(np.arange(2100))
    table = hashes(factors[:, None], shifts[:, None], keys[None, :], size=size)
    assert table.min() >= 0 and table.max() < size
    told = RNG.integers(0, size, pool)
    first, width = intervals(told, size=size)
    counts = np.ones(2100, dtype=np.int64)
    hashed_supports(factors, shifts, first, width, keys, counts)
    assert counts.tolist() == (1 + (table == told[:, None]).sum(axis=0)).tolist()

    mass, rates = RNG.random(2100), RNG.random(pool * size)
    out = np.zeros(pool * size)
    pooled_sums(factors, shifts, keys, size, mass, out)
    expected = np.zeros((pool, size))
    for row, hashed in zip(expected, table, strict=True):
        np.add.at(row, hashed, mass)
    np.testing.assert_allclose(out, expected.ravel())
    reads = np.zeros(2100)
    pooled_reads(factors, shifts, keys, size, rates, reads)
    rows = rates.reshape(pool, size)
    np.testing.assert_allclose(reads, np.take_along_axis(rows, table, axis=1).sum(axis=0))
