"""Unary encoding: its thresholds, its bits, and reports of many bytes."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from lapwing import Categories
from lapwing.errors import DomainError, PrivacyError, ReportError
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD, seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.randomizers import OptimizedUnaryEncoding, UnaryEncoding
from tests.false_alarms import REPORTS_PER_VALUE, accepts, binomial_tail
from tests.signed_decoder import unbiased

EPSILONS = ["0.001", "0.1", "1", "1/3", "4", "17.25", "24"]
both = pytest.mark.parametrize("protocol", [UnaryEncoding, OptimizedUnaryEncoding])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_symmetric_threshold_is_the_largest(epsilon: str) -> None:
    randomizer = UnaryEncoding(Categories(3), epsilon)
    own, other = randomizer._thresholds["own"], randomizer._thresholds["other"]
    assert own + other == WORD
    bound = exponential_bounds(Fraction(epsilon))[0]
    assert Fraction(own, other) ** 2 <= bound < Fraction(own + 1, other - 1) ** 2
    with mpmath.workdps(60):
        half = mpmath.exp(
            mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator / 2
        )
        assert abs(own - WORD * half / (half + 1)) <= 1


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_optimized_threshold_is_the_smallest(epsilon: str) -> None:
    randomizer = OptimizedUnaryEncoding(Categories(3), epsilon)
    own, other = randomizer._thresholds["own"], randomizer._thresholds["other"]
    assert own == WORD // 2
    bound = exponential_bounds(Fraction(epsilon))[0]
    assert Fraction(WORD - other, other) <= bound < Fraction(WORD - other + 1, other - 1)
    with mpmath.workdps(60):
        e = mpmath.exp(mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator)
        assert abs(other - WORD / (e + 1)) <= 1


@both
@pytest.mark.parametrize("size", [8, 65, 200])
def test_marginals_and_independence_of_pairs_of_bits(
    protocol: type[UnaryEncoding], size: int
) -> None:
    """Given the value the bits are independent: pairs are as frequent as products say."""
    people = REPORTS_PER_VALUE // 4
    randomizer = protocol(Categories(size), 1)
    value = size // 2
    reports = randomizer.randomize(np.full(people, value), rng=seeded(size))
    table = np.unpackbits(reports.data, axis=1, bitorder="little")[:, :size].astype(np.float32)
    together = np.rint(table.T @ table).astype(np.int64)
    own, other = (threshold / WORD for threshold in randomizer._thresholds.values())
    law = np.full(size, other)
    law[value] = own
    assert accepts(binomial_tail(np.diag(together), people, law)), "one bit"
    upper = np.triu_indices(size, 1)
    pairs = np.outer(law, law)
    assert accepts(binomial_tail(together[upper], people, pairs[upper])), "two bits"
    # Copies of a neighbor, in one place of one in eight reports, would be seen.
    copied = table.copy()
    copied[::8, 1] = copied[::8, 0]
    spoiled = np.rint(copied.T @ copied).astype(np.int64)
    assert not accepts(binomial_tail(spoiled[upper], people, pairs[upper]))


@both
def test_the_number_of_set_bits_is_binomial(protocol: type[UnaryEncoding]) -> None:
    size, people = 200, 20_000
    randomizer = protocol(Categories(size), 1)
    reports = randomizer.randomize(np.arange(people) % size, rng=seeded(5))
    ones = np.unpackbits(reports.data, axis=1).sum(axis=1, dtype=np.int64)
    own, other = (threshold / WORD for threshold in randomizer._thresholds.values())
    mean = own + (size - 1) * other
    variance = own * (1 - own) + (size - 1) * other * (1 - other)
    assert abs(ones.mean() - mean) < 7.1 * math.sqrt(variance / people)
    assert ones.var() == pytest.approx(variance, rel=7.1 * math.sqrt(2 / people) + 0.01)


@both
@pytest.mark.parametrize("size", [2, 7, 8, 9, 64, 65, 1000])
def test_bits_stand_where_the_format_says(protocol: type[UnaryEncoding], size: int) -> None:
    randomizer = protocol(Categories(size), 24)
    assert randomizer.report_width == math.ceil(size / 8)
    words = [WORD - 1] * size
    for symbol in {0, size // 2, size - 1}:
        chosen = list(words)
        chosen[symbol] = 0
        report = randomizer.from_words(symbol, iter(chosen))
        assert int.from_bytes(report, "little") == 1 << symbol
    everything = randomizer.from_words(0, iter([0] * size))
    assert int.from_bytes(everything, "little") == 2**size - 1
    words_left = iter([0] * size + [77])
    randomizer.from_words(0, words_left)
    assert next(words_left) == 77, "as many words as symbols are taken"


@both
def test_each_word_is_compared_with_its_own_threshold(protocol: type[UnaryEncoding]) -> None:
    randomizer = protocol(Categories(3), 1)
    own, other = randomizer._thresholds.values()
    below = randomizer.from_words(1, iter([other - 1, own - 1, other - 1]))
    at = randomizer.from_words(1, iter([other, own, other]))
    assert (below[0], at[0]) == (0b111, 0)


@both
def test_spare_bits_of_every_report_are_zero(protocol: type[UnaryEncoding]) -> None:
    randomizer = protocol(Categories(13), 0.1)
    reports = randomizer.randomize(np.zeros(5000, dtype=int), rng=seeded(6))
    assert not (reports.data[:, 1] & 0xE0).any()
    spoiled = reports.data.copy()
    spoiled[4321, 1] |= 0x80
    with pytest.raises(ReportError, match="position 4321 ") as caught:
        randomizer.tally(Reports(spoiled, randomizer.fingerprint))
    assert caught.value.position == 4321


@both
def test_many_rows_and_wide_rows(protocol: type[UnaryEncoding]) -> None:
    """Pieces of 4 MiB: several of them, and a row that is larger than a piece."""
    tall = protocol(Categories(1000), 20)
    values = np.random.default_rng(1).integers(1000, size=70_000)
    reports = tall.randomize(values, rng=seeded(7))
    own = reports.data[np.arange(values.size), values >> 3] >> (values & 7).astype(np.uint8) & 1
    share = tall._thresholds["own"] / WORD
    assert accepts(binomial_tail(np.array(own.sum()), values.size, share))
    assert tall.tally(reports).blocks[0].sum() == np.unpackbits(reports.data, axis=1).sum()
    wide = protocol(Categories(2**24), 24)
    report = wide.randomize(np.array([2**24 - 1]), rng=seeded(8))
    assert report.data.shape == (1, 2**21)
    assert np.unpackbits(report.data).sum() < 20 + 3 * wide._thresholds["other"] * 2**24 / WORD


@both
def test_sizes(protocol: type[UnaryEncoding]) -> None:
    for size in (1, 2**24 + 1):
        with pytest.raises(DomainError, match=r"2 to 2\^24 symbols"):
            protocol(Categories(size), 1)


def test_an_epsilon_too_small_for_thresholds() -> None:
    """Of 2^64 words 1e-12 still moves millions; the check is for what could not be expressed."""
    for protocol in (UnaryEncoding, OptimizedUnaryEncoding):
        randomizer = protocol(Categories(2), "1e-12")
        assert randomizer._thresholds["own"] > randomizer._thresholds["other"]
        with pytest.raises(PrivacyError):
            protocol(Categories(2), "1e-13")


def test_optimized_is_better_for_rare_symbols_and_worse_than_response_for_few() -> None:
    """The variances of the docstrings, and where they cross: k = 3 e^epsilon + 2."""
    from lapwing import RandomizedResponse, simulate

    def variance(randomizer: UnaryEncoding | RandomizedResponse) -> float:
        people = np.zeros(randomizer.domain.size, dtype=int)
        people[0] = 10**9
        tally = simulate(randomizer, people, rng=1)
        result = unbiased(randomizer.channel, tally)
        assert result.uncertainty is not None
        return float(result.uncertainty.covariance("empirical").variance()[1]) * 10**9

    for epsilon in (0.5, 1.0, 2.0):
        e, k = math.exp(epsilon), 64
        total = 1 - 1 / k  # the known total takes one part in k away
        optimized = variance(OptimizedUnaryEncoding(Categories(k), epsilon))
        symmetric = variance(UnaryEncoding(Categories(k), epsilon))
        assert optimized == pytest.approx(4 * e / (e - 1) ** 2 * total, rel=0.01)
        half = math.exp(epsilon / 2)
        assert symmetric == pytest.approx(half / (half - 1) ** 2 * total, rel=0.01)
        assert optimized < symmetric
    for k, response_wins in ((8, True), (14, False)):
        response = variance(RandomizedResponse(Categories(k), 1))
        optimized = variance(OptimizedUnaryEncoding(Categories(k), 1)) / (1 - 1 / k)
        assert (response < optimized) is response_wins
