"""Channels: what is checked when they are made and when they meet a tally."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lapwing import Categories, RandomizedResponse
from lapwing.errors import MismatchError, TallyError, UnsupportedChannelError
from lapwing.linear.operators.operator import CompoundSymmetric
from lapwing.protocol import Block, Channel
from lapwing.protocol.channels.channel import Multinomial, ProductOfBits
from lapwing.tallies import CountTally

DOMAIN = Categories(4)
RESPONSE = CompoundSymmetric(4, diagonal=0.7, off_diagonal=0.1)
BITS = CompoundSymmetric(4, diagonal=0.5, off_diagonal=0.2)


def two_groups() -> Channel:
    blocks = [Block(RESPONSE, Multinomial(), 0.25), Block(BITS, ProductOfBits(), 0.75)]
    return Channel(DOMAIN, blocks, "two groups")


def test_a_block_offers_what_decoders_ask_for() -> None:
    block = RandomizedResponse(DOMAIN, 1).channel.blocks[0]
    mass = np.array([0.4, 0.3, 0.2, 0.1])
    assert block.outputs == 4 and block.share == 1
    assert block.mean(mass).sum() == pytest.approx(1)
    assert block.covariance(mass).dense().sum() == pytest.approx(0, abs=1e-15)
    score, information = block.score_and_information(mass, np.array([4, 3, 2, 1]), 10)
    assert score.shape == (4,) and information.shape == (4, 4)
    assert block.sample(np.array([5, 0, 0, 7]), np.random.default_rng(1)).sum() == 12


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5, float("nan")])
def test_a_share_is_a_part(share: float) -> None:
    with pytest.raises(UnsupportedChannelError, match=r"a share must be in \(0, 1\]"):
        Block(RESPONSE, Multinomial(), share)


def test_wrong_labels_are_refused() -> None:
    with pytest.raises(UnsupportedChannelError, match="must sum to 1"):
        Block(BITS, Multinomial())
    with pytest.raises(UnsupportedChannelError, match="must be probabilities"):
        Block(CompoundSymmetric(4, diagonal=3.0, off_diagonal=1.5), ProductOfBits())


def test_blocks_must_fit_the_domain_and_each_other() -> None:
    with pytest.raises(UnsupportedChannelError, match="at least one block"):
        Channel(DOMAIN, [], "none")
    with pytest.raises(UnsupportedChannelError, match="must have 5 columns"):
        Channel(Categories(5), [Block(RESPONSE, Multinomial())], "narrow")
    half = Block(RESPONSE, Multinomial(), 0.5)
    with pytest.raises(UnsupportedChannelError, match="shares of the blocks must sum to 1"):
        Channel(DOMAIN, [half], "half")
    with pytest.raises(UnsupportedChannelError, match="shares of the blocks must sum to 1"):
        Channel(DOMAIN, [half, half, half], "too many")
    assert len(two_groups().blocks) == 2


def test_a_channel_meets_its_own_tallies_only() -> None:
    channel = two_groups()
    tally = CountTally([np.array([1, 2, 0, 1]), np.array([3, 0, 0, 1])], [4, 3], "two groups")
    channel.check(tally)
    with pytest.raises(MismatchError, match="Decode it with the survey that collected it"):
        channel.check(replace(tally, fingerprint="other"))
    with pytest.raises(MismatchError, match=r"sizes \[4, 4\], got \[4\]"):
        channel.check(CountTally([np.array([1, 2, 0, 1])], [4], "two groups"))
    with pytest.raises(MismatchError, match=r"got \[4, 3\]"):
        channel.check(
            CountTally([np.array([1, 2, 0, 1]), np.array([1, 1, 1])], [4, 3], "two groups")
        )
    with pytest.raises(TallyError, match="nothing to decode"):
        channel.check(CountTally([np.zeros(4, int), np.zeros(4, int)], [0, 0], "two groups"))
    with pytest.raises(TallyError, match="must sum to the 5 reports"):
        channel.check(replace(tally, reports=[5, 3]))
    with pytest.raises(TallyError, match="more often than there are reports"):
        channel.check(replace(tally, reports=[4, 2]))


def test_a_group_that_nobody_joined_is_no_error() -> None:
    two_groups().check(CountTally([np.array([1, 2, 0, 1]), np.zeros(4, int)], [4, 0], "two groups"))
