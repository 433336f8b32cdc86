"""Unbiased shares: exact without noise, with the variances they state."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, RandomizedResponse, SubsetSelection, simulate
from lapwing.decoders.unbiased.linear_estimate import linear_estimate, unbiased_shares
from lapwing.errors import MismatchError, UnsupportedChannelError
from lapwing.linear.operators.operator import CompoundSymmetric
from lapwing.protocol import Channel
from lapwing.randomizers import HadamardResponse, OptimizedUnaryEncoding
from lapwing.randomizers.categorical.linear_hashing import LinearHashing
from lapwing.testing.decoder_contract import noiseless, truth
from tests.contracts.registered_decoders import CHANNELS
from tests.false_alarms import DECODES, accepts, moments_tail

SIZE = 12

RANDOMIZERS: dict[str, Any] = {
    "response": lambda epsilon: RandomizedResponse(Categories(SIZE), epsilon),
    "optimized bits": lambda epsilon: OptimizedUnaryEncoding(Categories(SIZE), epsilon),
    "subsets": lambda epsilon: SubsetSelection(Categories(SIZE), epsilon),
    "Hadamard, blocks": lambda epsilon: HadamardResponse(Categories(SIZE), epsilon, blocks=4),
}

each = pytest.mark.parametrize("name", RANDOMIZERS)


@each
def test_without_noise_they_are_the_shares(name: str) -> None:
    channel = RANDOMIZERS[name](2).channel
    found = unbiased_shares(channel, noiseless(channel, truth(SIZE)))
    np.testing.assert_allclose(found.shares, truth(SIZE), atol=1e-9)


@each
def test_their_errors_have_the_stated_variances(name: str) -> None:
    """About the people who reported: the same people randomize again and again."""
    randomizer = RANDOMIZERS[name](2)
    people = np.round(1000 * truth(SIZE)).astype(np.int64)
    people[5] = 0
    mass = people / people.sum()
    rng = np.random.default_rng(4)
    draws = [
        unbiased_shares(randomizer.channel, simulate(randomizer, people, rng=rng))
        for _ in range(DECODES)
    ]
    samples = np.array([draw.shares for draw in draws])
    # Blocks count their part of the reports; its mean is what the variance is about.
    variance = np.mean([draw.variance(mass) for draw in draws], axis=0)
    for symbol in range(SIZE):
        column = samples[:, [symbol]]
        assert accepts(moments_tail(column, mass[[symbol]], variance[[symbol], None]))
        # The check can fail: with half more or a third less of it.
        for factor in (1.5, 0.67):
            assert not accepts(
                moments_tail(column, mass[[symbol]], factor * variance[[symbol], None])
            )


def test_hashed_reports_give_them_too() -> None:
    hashing = LinearHashing(Categories(SIZE), 2)
    found = unbiased_shares(hashing.channel, noiseless(hashing.channel, truth(SIZE)))
    np.testing.assert_allclose(found.shares, truth(SIZE), atol=1e-9)


@each
def test_the_known_total_is_given_to_the_noisiest(name: str) -> None:
    randomizer = RANDOMIZERS[name](2)
    tally = simulate(randomizer, np.arange(SIZE) * 10, rng=3)
    found = unbiased_shares(randomizer.channel, tally)
    whole = found.with_total()
    assert whole.shares.sum() == pytest.approx(1, abs=1e-12)
    moved = whole.shares - found.shares
    np.testing.assert_allclose(moved / found.empty, moved[0] / found.empty[0], atol=1e-9)
    if isinstance(randomizer.channel.blocks[0].operator, CompoundSymmetric):
        unbiased = linear_estimate(randomizer.channel, tally)
        np.testing.assert_allclose(whole.shares, unbiased.center, atol=1e-12)


@pytest.mark.parametrize("name", ["wave", "mixed", "hierarchy", "multiscale"])
def test_channels_without_support_are_refused(name: str) -> None:
    channel: Channel = CHANNELS[name]()
    with pytest.raises(UnsupportedChannelError, match="share of every symbol on its own"):
        unbiased_shares(channel, noiseless(channel, truth(channel.domain.size)))


def test_a_foreign_tally_is_refused() -> None:
    channel = RANDOMIZERS["response"](2).channel
    tally = replace(noiseless(channel, truth(SIZE)), fingerprint="another")
    with pytest.raises(MismatchError):
        unbiased_shares(channel, tally)
