"""Tallies to try decoders on: without noise, drawn, and of people who all said the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.channels.laws import FixedSizeSubset, Multinomial
from lapwing.protocol.channels.signed_subset_law import SignedSubset
from lapwing.protocol.messages.tally import CountTally

PEOPLE = 2**40
"""Behind a noiseless tally: expected counts rounded to whole numbers are right to 1e-10."""


def truth(size: int) -> Vector:
    """Return an uneven distribution, nowhere zero: float64 [size]."""
    mass: Vector = np.asarray(1.0 + np.arange(size) * 5 % (size + 1), dtype=np.float64)
    mass[size // 3] *= 3
    mass /= mass.sum()
    return mass


def noiseless(channel: Channel, mass: Vector, *, people: int = PEOPLE) -> CountTally:
    """Return the expected counts, rounded to whole numbers that reports can have."""
    blocks, numbers = [], []
    for block in channel.blocks:
        reports = round(people * block.share)
        counts = np.rint(reports * block.mean(mass)).astype(np.int64)
        if isinstance(block.law, Multinomial):
            counts[np.argmax(counts)] += reports - counts.sum()
        if isinstance(block.law, FixedSizeSubset) and block.law.symbols == counts.size:
            counts[np.argmin(counts)] += reports * block.law.members - counts.sum()
        if isinstance(block.law, SignedSubset):
            _make_signed(counts, block.law, reports)
        blocks.append(counts)
        numbers.append(reports)
    return CountTally(blocks, numbers, channel.fingerprint)


def _make_signed(counts: NDArray[np.int64], law: SignedSubset, reports: int) -> None:
    if law.members == law.coordinates:
        counts[1::2] = reports - counts[::2]
    else:
        counts[np.argmin(counts)] += reports * law.members - counts.sum()


def sampled(channel: Channel, mass: Vector, *, people: int, seed: int) -> CountTally:
    """Return what a population of so many people sends."""
    rng = np.random.default_rng(seed)
    symbols = rng.multinomial(people, mass)
    groups = rng.multinomial(symbols, [block.share for block in channel.blocks]).T
    blocks = [block.sample(group, rng) for block, group in zip(channel.blocks, groups, strict=True)]
    return CountTally(blocks, [int(group.sum()) for group in groups], channel.fingerprint)
