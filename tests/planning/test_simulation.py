"""Simulated populations of several groups, and what a simulation is refused.

Means and covariances for every randomizer are compared in `contracts/test_randomizer_simulation`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from lapwing import LinearHashing, RandomizedResponse, seeded, simulate
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.papers.baselines import LocalHashing
from lapwing.protocol import Channel
from lapwing.protocol.channels.channel import Block
from lapwing.protocol.domains.categories import Categories
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.contracts.registered_decoders import mixed_channel
from tests.false_alarms import REPEATS, accepts, binomial_tail, moments_tail


@dataclass
class Mixture:
    """As much of a randomizer as a simulation asks for."""

    channel: Channel
    simulation: str = "exact"
    name: ClassVar[str] = "mixture"
    fingerprint: ClassVar[str] = "mixed"

    @property
    def domain(self) -> Any:
        return self.channel.domain


def test_a_public_coin_splits_the_people_whatever_they_hold() -> None:
    mixture: Any = Mixture(mixed_channel())
    people = np.array([0, 500, 0, 0, 100, 0, 0, 0])
    rng = np.random.default_rng(1)
    tallies = [simulate(mixture, people, rng=rng) for _ in range(REPEATS)]
    sizes = np.array([tally.reports for tally in tallies])
    assert (sizes.sum(axis=1) == 600).all()
    assert accepts(binomial_tail(sizes[:, 0], 600, 0.625))
    variance = 600 * 0.625 * 0.375
    spread = moments_tail(
        sizes.astype(float),
        np.array([375.0, 225.0]),
        variance * np.array([[1.0, -1.0], [-1.0, 1.0]]),
    )
    assert accepts(spread)
    for tally in tallies[:50]:
        mixture.channel.check(tally)
    # Within a group the symbols are those of the population: bit j of the second block.
    bits = np.array([tally.blocks[1] for tally in tallies]).sum(axis=0)
    p, q = 0.5, mixture.channel.blocks[1].operator.off_diagonal
    members = int(sizes[:, 1].sum())
    share = np.array([0, 5 / 6, 0, 0, 1 / 6, 0, 0, 0])
    assert accepts(binomial_tail(bits, members, q + share * (p - q)))


def test_shares_that_floats_sum_a_little_off() -> None:
    blocks = [
        Block(
            RandomizedResponse(Categories(3), 1).channel.blocks[0].operator,
            RandomizedResponse(Categories(3), 1).channel.blocks[0].law,
            share,
        )
        for share in [0.1] * 10
    ]
    mixture: Any = Mixture(Channel(Categories(3), blocks, "mixed"))
    tally = simulate(mixture, [10**6, 0, 5], rng=1)
    assert tally.total == 10**6 + 5 and min(tally.reports) > 90_000


def test_where_no_joint_law_is_known_everybody_is_randomized() -> None:
    hashing = LocalHashing(Categories(3), 1)
    people = np.array([40, 0, 60])
    tally = simulate(hashing, people, rng=1)
    assert tally == simulate(hashing, people, rng=1) != simulate(hashing, people, rng=2)
    assert tally.total == 100 and tally.fingerprint == hashing.fingerprint
    # The law of its counts refuses to be drawn from by itself.
    with pytest.raises(UnsupportedChannelError, match="Randomize every person instead"):
        hashing.channel.blocks[0].sample(people, np.random.default_rng(1))
    # A log says what it holds of every symbol.
    linear = LinearHashing(Categories(3), 1)
    assert simulate(linear, people, rng=1).blocks[0].shape == (3,)


@pytest.mark.parametrize(
    ("counts", "match"),
    [
        ([1, 2], "must be 3 whole numbers"),
        ([[1, 2, 3]], "of shape"),
        ([1.0, 2.0, 3.0], "float64"),
        ([True, False, True], "bool"),
        (["a", "b", "c"], "whole numbers"),
        ([1, -1, 3], "not be negative"),
        ([0, 0, 0], "at least one person"),
        ([], "must be 3 whole numbers"),
    ],
)
def test_counts_must_be_a_population(counts: list[Any], match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        simulate(OptimizedUnaryEncoding(Categories(3), 1), counts, rng=1)


def test_unsigned_counts_and_generators() -> None:
    randomizer = RandomizedResponse(Categories(3), 1)
    people = np.array([5, 0, 7], dtype=np.uint16)
    by_seed = simulate(randomizer, people, rng=5)
    assert by_seed == simulate(randomizer, people, rng=np.random.default_rng(5))
    assert by_seed.total == 12 and people.tolist() == [5, 0, 7]


def test_a_seeded_source_of_words_is_as_good_as_a_seed() -> None:
    wave = RandomizedResponse(Categories(4), 1)
    first, again, other = (simulate(wave, [50] * 4, rng=seeded(seed)) for seed in (1, 1, 2))
    assert first == again and first != other
