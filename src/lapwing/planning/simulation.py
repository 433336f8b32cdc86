"""A population's tally, without making each person's report."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError
from lapwing.privacy.sampling.randomness import RandomSource, generator_of, seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer, channel_for

CROWD_LIMIT = 10**8
"""Most people who are randomized one by one: a few seconds and gigabytes."""


def simulated_exactly(randomizer: Randomizer) -> bool:
    """Return whether counts can be drawn without drawing every person's report."""
    return getattr(randomizer, "_simulation", "exact") == "exact"


def simulate(
    randomizer: Randomizer, counts: ArrayLike, *, rng: np.random.Generator | RandomSource | int
) -> CountTally:
    """Return the tally that a population would send, drawn with its exact joint law.

    Parameters
    ----------
    randomizer : Randomizer
    counts : array_like [domain.size]
        Whole numbers: how many people hold each symbol.
    rng : numpy.random.Generator or int
        A generator, or a seed. Simulated people need no protection.

    Raises
    ------
    ArgumentError
        When the counts are not whole, negative, of a wrong length or all zero; of a randomizer
        that has to randomize everybody, when there are more than 10^8 people.

    Notes
    -----
    Means, variances and covariances of the counts are those of randomizing every person; the
    time depends on the number of bins and hardly on the number of people. Where no such law is
    known (seeded hashing) every person is randomized, with
    randomness from the generator; of linear hashing the result is what the log says of every
    symbol.

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> from lapwing.randomizers.numerical.square_wave import SquareWave
    >>> wave = SquareWave(Interval(0, 1, bins=4), 2)
    >>> simulate(wave, [0, 10**9, 0, 0], rng=1).total
    1000000000
    """
    people = np.asarray(counts)
    if people.shape != (randomizer.domain.size,) or people.dtype.kind not in "iu":
        raise ArgumentError(
            f"counts must be {randomizer.domain.size} whole numbers, one per symbol, got "
            f"{people.dtype.name} of shape {people.shape}"
        )
    if people.min() < 0 or people.sum() == 0:
        raise ArgumentError("counts must not be negative and must hold at least one person")
    generator = generator_of(rng)
    if not simulated_exactly(randomizer):
        return _everybody(randomizer, people, generator)
    blocks, reports = [], []
    groups = _groups(people.astype(np.int64), randomizer, generator)
    for block, group in zip(randomizer.channel.blocks, groups, strict=True):
        blocks.append(block.sample(group, generator))
        reports.append(int(group.sum()))
    return CountTally(blocks, reports, randomizer.fingerprint)


def _everybody(
    randomizer: Randomizer, people: NDArray[np.int64], generator: np.random.Generator
) -> CountTally:
    """Randomize every person, with a keystream whose seed the generator draws."""
    if people.sum() > CROWD_LIMIT:
        raise ArgumentError(
            f"this randomizer is simulated by randomizing everybody, at most {CROWD_LIMIT} "
            f"people, got {people.sum()}; scale the counts down"
        )
    symbols = np.repeat(np.arange(people.size), people)
    source = seeded(int(generator.integers(2**64, dtype=np.uint64)))
    data = randomizer._reports_of(symbols, source)
    tally = randomizer.tally(Reports(data, randomizer.fingerprint))
    return channel_for(randomizer, tally).counts(tally)


def _groups(
    people: np.ndarray, randomizer: Randomizer, generator: np.random.Generator
) -> list[np.ndarray]:
    """Split the people over the blocks by a public coin, whatever they hold."""
    shares = [block.share for block in randomizer.channel.blocks]
    if len(shares) == 1:
        return [people]
    return list(generator.multinomial(people, shares).T)
