"""Equal counts are taken for a copy only where honest ones hardly ever are: proved and drawn."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import lapwing as lw
from lapwing.linear.operators.operator import dense
from lapwing.protocol.channels import equal_counts
from lapwing.protocol.channels.channel import FixedSizeSubset
from lapwing.protocol.channels.equal_counts import equal_by_chance
from lapwing.randomizers import OptimizedUnaryEncoding, UnaryEncoding


def exact(outputs: list[dict[tuple[int, ...], float]]) -> dict[tuple[int, ...], float]:
    """Distribution of a sum of independent vectors."""
    total = {tuple([0] * len(next(iter(outputs[0])))): 1.0}
    for one in outputs:
        after: dict[tuple[int, ...], float] = {}
        for (held, chance), (added, more) in itertools.product(total.items(), one.items()):
            key = tuple(np.add(held, added).tolist())
            after[key] = after.get(key, 0.0) + chance * more
        total = after
    return total


def reports_of(randomizer: Any, value: int) -> dict[tuple[int, ...], float]:
    """Distribution of the counts of one report: of one output, or of independent bits."""
    chances = dense(randomizer.channel.blocks[0].operator)[:, value]
    if isinstance(randomizer, lw.RandomizedResponse):
        return {
            tuple(row): p
            for row, p in zip(np.eye(chances.size, dtype=int), chances.tolist(), strict=True)
        }
    return {
        bits: float(np.prod(np.where(bits, chances, 1 - chances)))
        for bits in itertools.product((0, 1), repeat=chances.size)
    }


@pytest.mark.parametrize("epsilon", [0.1, 4])
@pytest.mark.parametrize("name", ["response", "unary", "optimized"])
def test_no_people_have_counts_more_often_than_the_bound(name: str, epsilon: float) -> None:
    """Of all people of three values: the exact probability of all counts, against the bound."""
    labels = lw.Categories(3)
    randomizer: Any = {
        "response": lw.RandomizedResponse(labels, epsilon),
        "unary": UnaryEncoding(labels, epsilon),
        "optimized": OptimizedUnaryEncoding(labels, epsilon),
    }[name]
    for values in itertools.combinations_with_replacement(range(3), 5):
        found = exact([reports_of(randomizer, value) for value in values])
        assert sum(found.values()) == pytest.approx(1)
        for counts, chance in found.items():
            tally = lw.tallies.CountTally([np.array(counts)], [5], randomizer.fingerprint)
            bound = equal_counts._log_chance(tally, randomizer.channel)
            assert math.log(max(chance, 1e-300)) <= bound + 1e-9


def test_the_bound_of_a_sum_of_bits_is_the_cited_one() -> None:
    rng = np.random.default_rng(4)
    least = 1.0
    for _ in range(300):
        chances = rng.choice([rng.random(), rng.random()], size=int(rng.integers(1, 30)))
        mass = np.ones(1)
        for chance in chances:
            mass = np.convolve(mass, [1 - chance, chance])
        spread = math.sqrt(float((chances * (1 - chances)).sum()))
        assert mass.max() * spread <= equal_counts._LARGEST_MASS
        least = min(least, equal_counts._LARGEST_MASS - mass.max() * spread)
    assert least < 0.1  # the bound is nearly met, so a smaller one would fail


def test_the_sets_with_one_of_two_cells_are_counted_right() -> None:
    k, m, own = 6, 3, 0.7
    sets = [set(each) for each in itertools.combinations(range(k), m)]
    inside = math.comb(k - 1, m - 1)
    weight = [own / inside if 0 in each else (1 - own) / (len(sets) - inside) for each in sets]
    seen = {
        pair: sum(w for each, w in zip(sets, weight, strict=True) if len(each & set(pair)) == 1)
        for pair in ((0, 1), (2, 3))
    }
    law = FixedSizeSubset(symbols=k, members=m, own=own)
    apart = own * (m - 1) * (k - m) + (1 - own) * m * (k - 1 - m)
    assert seen[2, 3] == pytest.approx(2 * apart / ((k - 1) * (k - 2)))
    assert seen[0, 1] == pytest.approx((own * (k - m) + (1 - own) * m) / (k - 1))
    assert equal_counts._of_sets(law, k, 100) == 0.0 > equal_counts._of_sets(law, k, 10_000)


def test_honest_yes_and_no_are_equal_as_often_as_drawn_and_never_a_copy() -> None:
    coin = lw.RandomizedResponse(lw.Categories(2), 1)
    rng = np.random.default_rng(3)
    drawn = [
        lw.simulate(coin, [100, 100], rng=int(rng.integers(2**31))).blocks[0][0]
        for _ in range(2000)
    ]
    equal = float(np.mean(np.array(drawn[:1000]) == np.array(drawn[1000:])))
    tally = lw.tallies.CountTally([np.array([100, 100])], [200], coin.fingerprint)
    bound = math.exp(equal_counts._log_chance(tally, coin.channel))
    # Two tallies agree less often than the likeliest count: 1 / sqrt(2) of a Gaussian's.
    assert equal < bound < 3 * equal
    assert equal_by_chance(tally, 2, coin.channel) and equal_by_chance(tally, 2)


INTERVAL = lw.Interval(0, 60, bins=64)
WIDE: dict[str, Any] = {
    "wave": lw.SquareWave(INTERVAL, 1),
    "ladder": lw.MultiscaleWave(INTERVAL, 1),
    "response": lw.RandomizedResponse(lw.Categories(64), 2),
    "unary": OptimizedUnaryEncoding(lw.Categories(64), 1),
    "sets": lw.SubsetSelection(lw.Categories(64), 1),
}


@pytest.mark.parametrize("name", WIDE)
def test_copies_of_many_reports_are_found(name: str) -> None:
    randomizer = WIDE[name]
    tally = lw.simulate(randomizer, [80] * 64, rng=1)
    assert not equal_by_chance(tally, 1000, randomizer.channel)
    assert not equal_by_chance(tally, 1000)
    few = lw.simulate(randomizer, [1, 1] + [0] * 62, rng=1)
    assert equal_by_chance(few, 1000, randomizer.channel)


def test_without_a_channel_no_distribution_has_the_counts_more_often() -> None:
    for yes in range(31):
        tally = lw.tallies.CountTally([np.array([yes, 30 - yes])], [30], "0" * 64)
        bound = math.exp(equal_counts._log_chance(tally, None))
        assert binom.pmf(yes, 30, np.linspace(0, 1, 301)).max() <= bound + 1e-12


def test_more_tallies_are_equal_by_chance_more_often() -> None:
    coin = lw.RandomizedResponse(lw.Categories(8), 1)
    tally = lw.simulate(coin, [90] * 8, rng=1)
    pairs = [equal_by_chance(tally, number, coin.channel) for number in (2, 10, 100, 1000)]
    assert pairs == sorted(pairs) and not pairs[0] and pairs[-1]


def test_stored_reports_are_a_copy_from_a_few_dozen_on() -> None:
    hashing = lw.LinearHashing(lw.HashedStrings(32), epsilon=2)
    for people, by_chance in ((8, True), (60, False)):
        log = hashing.tally(hashing.randomize([f"w{n}" for n in range(people)], rng=lw.seeded(1)))
        assert equal_by_chance(log, 2) is by_chance
