"""A population's tally, without making each person's report."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.randomizer import Randomizer
from lapwing.tally import Counts


def simulate(
    randomizer: Randomizer, counts: ArrayLike, *, rng: np.random.Generator | int
) -> Counts:
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
        When the counts are not whole, negative, of a wrong length or all zero.

    Notes
    -----
    Means, variances and covariances of the counts are those of randomising every person; the
    time depends on the number of bins and hardly on the number of people.

    Examples
    --------
    >>> from lapwing.domain import Interval
    >>> from lapwing.local.square_wave import SquareWave
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
    if randomizer.simulation != "exact":
        raise UnsupportedChannelError(
            f"no exact joint law is known for {randomizer.name}; randomise every person instead"
        )
    generator = np.random.default_rng(rng)
    blocks, reports = [], []
    groups = _groups(people.astype(np.int64), randomizer, generator)
    for block, group in zip(randomizer.channel.blocks, groups, strict=True):
        blocks.append(block.sample(group, generator))
        reports.append(int(group.sum()))
    return Counts(blocks, reports, randomizer.fingerprint)


def _groups(
    people: np.ndarray, randomizer: Randomizer, generator: np.random.Generator
) -> list[np.ndarray]:
    """Split the people over the blocks by a public coin, whatever they hold."""
    shares = [block.share for block in randomizer.channel.blocks]
    if len(shares) == 1:
        return [people]
    return list(generator.multinomial(people, shares).T)
