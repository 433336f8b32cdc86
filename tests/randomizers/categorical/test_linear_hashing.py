"""Linear hashing: its block, its transform, its exact law of supports."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing import Categories, Integers, LinearHashing
from lapwing.errors import DomainError, TallyError, UnsupportedChannelError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.randomizers.categorical.linear_hashing import (
    block_deviation,
    enough_hash_bits,
    least_variance_near,
)
from lapwing.tallies import TallyLog
from lapwing.testing.randomizer_contract import exact_law
from tests.false_alarms import accepts, binomial_tail
from tests.mistaken import mistaken
from tests.signed_decoder import unbiased


@pytest.mark.parametrize(
    ("epsilon", "bits", "near", "deviation"),
    [
        (0.25, 4, 7, 7.979),
        (0.5, 3, 3, 3.959),
        (1, 2, 1, 1.919),
        (1.5, 4, 3, 1.216),
        (2, 3, 1, 0.851),
        (3, 6, 3, 0.470),
        (4, 8, 5, 0.2757),
    ],
)
def test_the_smallest_hash_that_loses_nothing(
    epsilon: float, bits: int, near: int, deviation: float
) -> None:
    """The table of the study, and its least deviations 2 e^(eps/2) / (e^eps - 1)."""
    assert enough_hash_bits(epsilon) == bits and least_variance_near(bits, epsilon) == near
    best = 2 * math.exp(epsilon / 2) / math.expm1(epsilon)
    assert best == pytest.approx(deviation, abs=1e-3)
    assert best <= block_deviation(near / 2**bits, epsilon) <= 1.002 * best


def test_loss_at_large_epsilon_is_as_documented() -> None:
    def loss(epsilon: float) -> float:
        bits = enough_hash_bits(epsilon)
        found = block_deviation(least_variance_near(bits, epsilon) / 2**bits, epsilon)
        return (found / block_deviation(1 / (math.exp(epsilon) + 1), epsilon)) ** 2

    assert loss(5) < 1.007
    assert loss(6) == pytest.approx(1.05, abs=0.01) and loss(8) == pytest.approx(3.4, abs=0.1)


def test_every_matrix_keeps_the_promise_by_itself() -> None:
    """Given the seed, no report is more than e^epsilon as likely under another value."""
    hashing = LinearHashing(Categories(5), 1, hash_bits=2)
    laws = [exact_law(hashing, symbol) for symbol in range(5)]
    seeds = 2**hashing._hash.seed_bits
    for law in laws:
        by_seed: dict[int, Fraction] = {}
        for report, chance in law.items():
            seed = int.from_bytes(report, "little") >> 2
            by_seed[seed] = by_seed.get(seed, Fraction(0)) + chance
        # The seed itself says nothing.
        assert by_seed == dict.fromkeys(range(seeds), Fraction(1, seeds))


def test_counts_are_the_supports_and_supports_the_definition() -> None:
    hashing = LinearHashing(Categories(300), 2)
    log = hashing.tally(hashing.randomize(np.arange(2000) % 300, rng=seeded(1)))
    counts = hashing.log_channel.counts(log).blocks[0]
    channel = hashing.log_channel
    assert (channel.supports(log, np.arange(300)) == counts).all()
    seeds = log.codes >> np.uint64(hashing._bits)
    told = log.codes & np.uint64(hashing._outputs - 1)
    for symbol in (0, 1, 17, 299):
        hashed = hashing._hash.hashes(seeds, np.array(symbol))
        assert counts[symbol] == int(((hashed ^ told) < hashing._near).sum())


@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
def test_supports_have_the_stated_probabilities(epsilon: float) -> None:
    """Of people who all hold one value: the own is supported with `inside`, others `outside`."""
    hashing = LinearHashing(Categories(2**12), epsilon)
    people = 200_000
    held = 3333
    log = hashing.tally(hashing.randomize(np.full(people, held), rng=seeded(2)))
    counts = hashing.log_channel.counts(log).blocks[0]
    inside, outside = hashing.log_channel.inside, hashing.log_channel.outside
    assert accepts(binomial_tail(counts[[held]], people, inside))
    others = np.delete(counts, held)[::40]
    assert accepts(binomial_tail(others, people, outside))
    assert not accepts(binomial_tail(others, people, 1.2 * outside))
    # And as often as a binomial has it: variances over values, within 7 standard errors.
    spread = np.delete(counts, held).var() / (people * outside * (1 - outside))
    assert abs(spread - 1) < 7 * math.sqrt(2 / 4095)


def test_any_decoder_takes_the_counts() -> None:
    hashing = LinearHashing(Categories(50), 1)
    symbols = np.random.default_rng(1).integers(0, 10, 100_000)
    log = hashing.tally(hashing.randomize(symbols, rng=seeded(3)))
    shares = np.bincount(symbols, minlength=50) / symbols.size
    result = unbiased(hashing.channel, hashing.log_channel.counts(log))
    reach = hashing.log_channel.deviations(shares, symbols.size)
    assert (np.abs(result.mass - shares) < 6 * reach).all()
    # The variance that the note states, to 2 percent.
    best = 2 * math.exp(0.5) / math.expm1(1) / math.sqrt(symbols.size)
    assert np.median(reach) == pytest.approx(best, rel=0.02)


def test_least_supports_are_exactly_binomial() -> None:
    """The expected number of false values is at most what was asked, and one less is too many."""
    from scipy import stats

    channel = LinearHashing(Categories(2**32), 2).log_channel
    for reports, values, false in ((10**6, 2**32, 0.05), (1000, 2**40, 1e-6), (50, 10, 3.0)):
        least = channel.least_supports(reports, values=values, expected_false=false)
        tail = stats.binom.sf(least - 1, reports, channel.outside)
        before = stats.binom.sf(least - 2, reports, channel.outside)
        assert values * tail <= false < values * before
    assert channel.least_supports(100, values=5, expected_false=5) == 0
    # The normal law would admit about a tenth more at this depth.
    limit = channel.least_supports(10**6, values=2**32, expected_false=0.05)
    deviation = math.sqrt(10**6 * channel.outside * (1 - channel.outside))
    normal = 2**32 * stats.norm.sf((limit - 10**6 * channel.outside) / deviation)
    assert normal < 0.95 * 0.05


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(DomainError, match="without an order"):
        LinearHashing(Integers(0, 9), 1)
    with pytest.raises(DomainError, match=r"must have 2 to 2\^40 symbols"):
        LinearHashing(Categories(2**40, missing="category"), 1)
    with pytest.raises(DomainError, match=r"from 1 to 2\^40"):
        Categories(2**40 + 1)


def test_a_domain_too_large_to_list_has_no_channel_of_counts() -> None:
    hashing = LinearHashing(Categories(2**40), 1)
    with pytest.raises(UnsupportedChannelError, match="ExhaustiveScan"):
        _ = hashing.channel
    log = hashing.tally(hashing.randomize([2**40 - 1, 0], rng=seeded(1)))
    with pytest.raises(UnsupportedChannelError, match="ExhaustiveScan"):
        hashing.log_channel.counts(log)


def test_impossible_logs_are_refused() -> None:
    hashing = LinearHashing(Categories(10), 1, hash_bits=2)
    channel = hashing.log_channel
    with pytest.raises(TallyError, match="no reports"):
        channel.check(TallyLog([], hashing.report_width, hashing.fingerprint))
    with pytest.raises(TallyError, match="damaged"):
        channel.check(TallyLog([np.array([255], dtype=np.uint64)], 1, hashing.fingerprint))
    with pytest.raises(UnsupportedChannelError, match="from a log"):
        channel.check(mistaken(hashing.log_channel.counts(hashing.tally(hashing.randomize([1])))))
