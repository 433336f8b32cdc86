"""Local hashing, with a fresh seed each and with a pool."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, ExpectationMaximization, Integers, LeastSquares, simulate
from lapwing.errors import ArgumentError, DomainError, MismatchError
from lapwing.linear.operators.operator import dense
from lapwing.papers.baselines import LocalHashing
from lapwing.papers.baselines.local_hashing import (
    factors_and_shifts,
    hashes,
    keys_of,
    least_variance_size,
)
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD, iterate, seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.testing.randomizer_contract import exact_law, exact_ratio
from tests.false_alarms import REPORTS_PER_VALUE, accepts, binomial_tail, multinomial_tail
from tests.mistaken import mistaken
from tests.signed_decoder import unbiased


@pytest.mark.parametrize(
    ("epsilon", "size"), [(0.1, 2), (0.5, 3), (1, 4), (2, 8), (4, 56), (24, 2**16)]
)
def test_size_of_a_hash(epsilon: float, size: int) -> None:
    assert least_variance_size(epsilon) == size
    if epsilon < 10:
        power = math.exp(epsilon)
        sizes = range(2, 200)
        assert size == min(sizes, key=lambda g: (power + g - 1) ** 2 / (g - 1))


class _Seeded:
    """A randomizer whose last word is a fixed seed, for the exact law given that seed."""

    def __init__(self, randomizer: LocalHashing, seed: int) -> None:
        self.randomizer = randomizer
        self.seed = seed

    def from_words(self, value: int, words: Iterator[Any]) -> bytes:
        first, second = next(words), next(words)
        return self.randomizer.from_words(value, iter([first, second, self.seed]))


@pytest.mark.parametrize("epsilon", [0.1, 1, 4, 24])
def test_every_seed_keeps_the_promise_exactly(epsilon: float) -> None:
    hashing = LocalHashing(Categories(7), epsilon, size=5)
    loose = replace(hashing)
    loose.__dict__["_threshold"] = hashing._threshold + 1
    bound = exponential_bounds(hashing.epsilon)[0]
    for seed in (0, 1, 2**63 + 12345, WORD - 1):
        laws = [exact_law(mistaken(_Seeded(hashing, seed)), x) for x in range(7)]
        hashed = {max(law, key=lambda report: law[report]) for law in laws}
        assert 1 < len(hashed) <= 5
        assert exact_ratio(laws) == hashing.certificate().ratio <= bound
        laws = [exact_law(mistaken(_Seeded(loose, seed)), x) for x in range(7)]
        assert exact_ratio(laws) == loose.certificate().ratio > bound
    assert not loose.certificate().holds


def test_reports_are_the_own_hash_with_the_stated_probability() -> None:
    hashing = LocalHashing(Categories(1000), 2)
    people, value = 200_000, 789
    data = hashing.randomize(np.full(people, value), rng=seeded(1)).data
    seeds = data[:, :8].copy().view("<u8").ravel()
    near = Fraction(hashing._threshold, WORD)
    # The scalar path with these seeds says which value is the own one.
    own = [
        hashing.from_words(value, iter([0, 2**63, int(seed)]))[8] for seed in seeds[:3000].tolist()
    ]
    told = data[:3000, 8]
    assert accepts(binomial_tail(np.array([(told == own).sum()]), 3000, float(near)))
    others = (told.astype(int) - np.array(own)) % hashing._hash_size
    assert accepts(binomial_tail(np.array([np.unique(seeds).size]), people, 1 - 1e-9))
    assert others[others > 0].min() == 1
    # Bits of seeds are fair.
    bits = np.unpackbits(data[:, :8], axis=1).sum(axis=0)
    assert accepts(binomial_tail(bits, people, 0.5))


@pytest.mark.parametrize("epsilon", [0.1, 1, 2])
def test_bulk_reports_have_the_exact_law_given_their_seeds(epsilon: float) -> None:
    """The own hash with the stated probability, and every other value equally often."""
    hashing = LocalHashing(Categories(1000), epsilon)
    size = hashing._hash_size
    data = hashing.randomize(np.full(REPORTS_PER_VALUE, 789), rng=seeded(5)).data
    seeds, told = data[:, :8].copy().view("<u8").ravel(), data[:, 8]
    own = hashes(*factors_and_shifts(seeds), keys_of(np.full(seeds.size, 789)), size=size)
    for seed, hashed in zip(seeds[:200].tolist(), own[:200].tolist(), strict=True):
        assert hashing.from_words(789, iter([0, 2**63, seed]))[8] == hashed
    near = hashing._threshold / WORD

    def tail(reports: np.ndarray) -> float:
        counts = np.bincount(own * size + reports, minlength=size * size).reshape(size, size)
        law = np.where(np.eye(size, dtype=bool), near, (1 - near) / (size - 1))
        return min(multinomial_tail(*row) for row in zip(counts, law, strict=True)) * size

    assert accepts(tail(told))
    # One that never says the last value, unless it is the own one, is found.
    assert not accepts(tail(np.where((told == size - 1) & (own != size - 1), 0, told)))


@pytest.mark.parametrize("epsilon", [1, 2])
def test_supports_have_probabilities_half_and_one_in_g(epsilon: float) -> None:
    hashing = LocalHashing(Categories(500), epsilon)
    people = 100_000
    counts = hashing.tally(hashing.randomize(np.full(people, 77), rng=seeded(2))).blocks[0]
    inside, _ = hashing._probabilities
    assert inside == pytest.approx(0.5, abs=0.05)
    assert accepts(binomial_tail(counts[[77]], people, inside))
    others = np.delete(counts, 77)
    assert accepts(binomial_tail(others, people, 1 / hashing._hash_size))
    assert not accepts(binomial_tail(others, people, 1.05 / hashing._hash_size))


def test_shares_are_unbiased_with_the_stated_variance() -> None:
    """Variance within 3% of (e^eps + g - 1)^2 / ((e^eps - 1)^2 (g - 1) n), over 2000 values."""
    hashing = LocalHashing(Categories(2000), 1)
    people = np.zeros(2000, dtype=np.int64)
    people[:4] = 10_000
    tally = simulate(hashing, people, rng=1)
    estimate = unbiased(hashing.channel, tally)
    size = hashing._hash_size
    gain = math.expm1(1)
    variance = (gain + size) ** 2 / (gain**2 * (size - 1)) / people.sum()
    errors = estimate.mass - people / people.sum()
    assert errors[4:].var() == pytest.approx(variance, rel=7 * math.sqrt(2 / 1996))
    assert np.abs(errors[:4]).max() < 6 * math.sqrt(variance + 0.25 / people.sum())


def test_scalar_and_bulk_paths_have_one_law() -> None:
    hashing = LocalHashing(Categories(40), 1)
    words = iterate(seeded(3))
    reports = b"".join(hashing.from_words(5, words) for _ in range(20_000))
    data = np.frombuffer(reports, dtype=np.uint8).reshape(-1, hashing.report_width)
    counts = hashing.tally(Reports(data.copy(), hashing.fingerprint)).blocks[0]
    inside, _ = hashing._probabilities
    assert accepts(binomial_tail(counts[[5]], 20_000, inside))
    assert accepts(binomial_tail(np.delete(counts, 5), 20_000, 1 / hashing._hash_size))


def test_a_pool_is_a_block_channel() -> None:
    pool = LocalHashing(Categories(30), 1, hashes=8, size=4)
    matrix = dense(pool.channel.blocks[0].operator).reshape(8, 4, 30)
    inside, outside = pool._probabilities
    assert set(np.unique(matrix)) == {inside, outside}
    # Each symbol is near one value of each hash.
    assert ((matrix == inside).sum(axis=1) == 1).all()
    people = np.random.default_rng(1).integers(0, 2000, 30)
    drawn = simulate(pool, people, rng=2).blocks[0]
    assert accepts(multinomial_tail(drawn, matrix.reshape(32, 30) @ people / people.sum()))
    tally = simulate(pool, 50 * people, rng=3)
    for decoder in (LeastSquares(), ExpectationMaximization(tolerance=1.0, band=False)):
        result = decoder.decode(pool.channel, tally)
        assert np.abs(result.mass - people / people.sum()).max() < 0.05


def test_support_counts_of_a_pool_keep_the_stated_error() -> None:
    """What FLH's own estimate is off by without any noise: variance sum p^2 / (H (g - 1))."""
    shares = np.array([0.4, 0.3, 0.2, 0.1, *np.zeros(16)])
    hashes, size = 6, 4
    errors = []
    for seed in range(600):
        pool = LocalHashing(Categories(20), 1, hashes=hashes, size=size, seed=seed)
        inside, _ = pool._probabilities
        matrix = dense(pool.channel.blocks[0].operator)
        supported = ((matrix == inside) * (matrix @ shares)[:, None]).sum(axis=0)
        own = hashes * inside
        errors.append((supported - 1 / size) / (own - 1 / size) - shares)
    variance = np.array(errors)[:, 4:].var()
    expected = (shares**2).sum() / (hashes * (size - 1))
    # 600 pools; the 16 empty symbols of a pool are nearly independent.
    assert variance == pytest.approx(expected, rel=0.1)
    assert variance != pytest.approx(1.3 * expected, rel=0.1)


def test_reports_of_another_pool_are_foreign() -> None:
    """The hash numbers are the same, what they mean is not."""
    pool = LocalHashing(Categories(30), 1, hashes=8, seed=1)
    other = LocalHashing(Categories(30), 1, hashes=8, seed=2)
    assert not np.array_equal(pool._pool[0], other._pool[0])
    with pytest.raises(MismatchError, match="Tally them with the survey"):
        pool.tally(other.randomize([1, 2], rng=seeded(1)))


def test_a_seed_without_a_pool_is_refused() -> None:
    with pytest.raises(ArgumentError, match="Also give hashes"):
        LocalHashing(Categories(10), 1, seed=3)


def test_domains_it_does_not_suit_are_refused() -> None:
    with pytest.raises(DomainError, match="LinearHashing"):
        LocalHashing(Categories(2**26 + 1), 1)
    with pytest.raises(DomainError, match="without an order"):
        LocalHashing(Integers(0, 9), 1)
    with pytest.raises(DomainError, match="at most"):
        LocalHashing(Categories(100), 4, hashes=2**22)
