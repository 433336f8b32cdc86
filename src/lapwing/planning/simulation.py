"""Simulated tallies, and the errors of a randomizer and a decoder on known columns.

A population's tally is drawn without making each person's report. The columns are synthetic, of
three kinds from smooth to spiky. So planning a survey needs no data, and nothing was tuned on
anybody's data. A kind is a family, and a number always selects the same member of it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.decoders.decoder import Decoder
from lapwing.distances import kolmogorov_smirnov, wasserstein
from lapwing.errors import ArgumentError, LapwingWarning
from lapwing.linear.arrays import Vector
from lapwing.privacy.sampling.randomness import RandomSource, generator_of, seeded
from lapwing.protocol.channels.channel import channel_for
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer
from lapwing.results.distribution import Distribution

CROWD_LIMIT = 10**8
"""Most people who are randomized one by one, in a few seconds and gigabytes."""


def simulated_exactly(randomizer: Randomizer) -> bool:
    """Return whether counts can be drawn without drawing every person's report."""
    return getattr(randomizer, "_simulation", "exact") == "exact"


def simulate(
    randomizer: Randomizer, counts: ArrayLike, *, rng: np.random.Generator | RandomSource | int
) -> CountTally:
    """Return the tally that a population would send, drawn with its exact joint distribution.

    Parameters
    ----------
    randomizer : Randomizer
        Randomizer of the reports.
    counts : array_like [domain.size]
        Number of people in each bin or category, whole numbers. The bins below and above the range
        may be left out, and then count as empty.
    rng : numpy.random.Generator or int
        Generator or seed. Simulated people need no protection.

    Returns
    -------
    CountTally
        Simulated tally. It and its results say "simulated: not private".

    Raises
    ------
    ArgumentError
        When the counts are not whole, are negative, are of the wrong length or are all zero. Also
        when there are more than 10^8 people and the randomizer must randomize each of them.

    Notes
    -----
    **Privacy.** Simulated tallies are not private, so never simulate from real counts to publish.

    **Accuracy.** Means, variances and covariances of the counts are those of randomizing every
    person.

    **Cost.** The time depends on the number of bins, and hardly on the number of people. Where no
    joint distribution is known (seeded hashing) every person is randomized, with randomness from
    the generator. For linear hashing the result has the support counts of every category.

    Examples
    --------
    >>> import lapwing as lw
    >>> wave = lw.SquareWave(lw.Interval(0, 1, bins=4), epsilon=2)
    >>> lw.simulate(wave, [0, 10**9, 0, 0], rng=1).total
    1000000000
    """
    people = randomizer.domain.with_nobody_outside(np.asarray(counts))
    if people.shape != (randomizer.domain.size,) or people.dtype.kind not in "iu":
        raise ArgumentError(
            "counts",
            f"must be {randomizer.domain.size} whole numbers, one per symbol",
            f"{people.dtype.name} of shape {people.shape}",
        )
    if people.min() < 0 or people.sum() == 0:
        raise ArgumentError("counts", "must not be negative and must contain at least one person")
    generator = generator_of(rng)
    if not simulated_exactly(randomizer):
        return _everybody(randomizer, people, generator)
    blocks, reports = [], []
    groups = _groups(people.astype(np.int64), randomizer, generator)
    for block, group in zip(randomizer.channel.blocks, groups, strict=True):
        blocks.append(block.sample(group, generator))
        reports.append(int(group.sum()))
    return CountTally(blocks, reports, randomizer.fingerprint, standing="simulated")


def _everybody(
    randomizer: Randomizer, people: NDArray[np.int64], generator: np.random.Generator
) -> CountTally:
    """Randomize every person, with a keystream whose seed the generator draws."""
    if people.sum() > CROWD_LIMIT:
        raise ArgumentError(
            f"this randomizer is simulated person by person, for at most {CROWD_LIMIT} people, "
            f"got {people.sum()}. Scale down the counts"
        )
    symbols = np.repeat(np.arange(people.size), people)
    source = seeded(int(generator.integers(2**64, dtype=np.uint64)))
    data = randomizer._reports_of(symbols, source)
    tally = randomizer.tally(Reports(data, randomizer.fingerprint))
    return replace(channel_for(randomizer, tally).counts(tally), standing="simulated")


def _groups(
    people: np.ndarray, randomizer: Randomizer, generator: np.random.Generator
) -> list[np.ndarray]:
    """Split the people over the blocks by a public coin, whatever they hold."""
    shares = [block.share for block in randomizer.channel.blocks]
    if len(shares) == 1:
        return [people]
    return list(generator.multinomial(people, shares).T)


KINDS: Mapping[str, str] = {
    "smooth": "one or two bumps, each a twelfth to a quarter of the range wide, on a low floor",
    "multimodal": "three to six bumps, each a hundredth to a sixteenth of the range wide, on a "
    "floor",
    "spiky": "a smooth column of which 20 to 60% sit on 4 to 24 single points, a few of them heavy",
}
"""The kinds, with a description of their members."""

_SEED = 5021


def reference_column(kind: str, *, size: int, number: int, circular: bool = False) -> Vector:
    """Return the masses of one made-up column: float64 [size], not negative, summing to one.

    kind: Family of the column, one of :data:`KINDS`.
    size: Number of bins, of equal width. A member has the same shape at every size.
    number: Number of the member of the family, from 0.
    circular: Whether bumps continue beyond the end at the start. Default: False.

    >>> column = reference_column("spiky", size=64, number=0)
    >>> column.size, round(float(column.sum()), 12), bool(column.max() > 10 / 64)
    (64, 1.0, True)
    """
    if kind not in KINDS:
        raise ArgumentError("kind", f"must be one of {', '.join(KINDS)}", repr(kind))
    rng = np.random.default_rng([_SEED, list(KINDS).index(kind), number])
    edges = np.arange(size + 1) / size
    if kind == "multimodal":
        bumps = int(rng.integers(3, 7))
        widths = np.exp(rng.uniform(math.log(0.01), math.log(0.06), bumps))
        centers = rng.uniform(0.05, 0.95, bumps)
        return _bumps(edges, centers, widths, rng.dirichlet(np.full(bumps, 2.0)), 0.1, circular)
    bumps = int(rng.integers(1, 3))
    widths = rng.uniform(0.08, 0.25, bumps)
    centers = rng.uniform(0.15, 0.85, bumps)
    smooth = _bumps(edges, centers, widths, rng.dirichlet(np.full(bumps, 2.0)), 0.05, circular)
    if kind == "smooth":
        return smooth
    share, points = rng.uniform(0.2, 0.6), int(rng.integers(4, 25))
    symbols = (rng.random(points) * size).astype(np.int64)
    heights = rng.dirichlet(np.full(points, 0.5))
    mass: Vector = (1 - share) * smooth + np.bincount(symbols, share * heights, size)
    return mass


def _bumps(
    edges: Vector, centers: Vector, widths: Vector, weights: Vector, floor: float, circular: bool
) -> Vector:
    """Return the masses between the edges of normal bumps, cut at the ends, on a floor."""
    from scipy.special import ndtr  # not needed to import lapwing

    mass = np.zeros(edges.size - 1)
    for center, width, weight in zip(centers, widths, weights, strict=True):
        turns = (-1, 0, 1) if circular else (0,)
        bump = sum(np.diff(ndtr((edges + turn - center) / width)) for turn in turns)
        mass += weight * bump / bump.sum()
    return (1 - floor) * mass + floor / mass.size


def column_on(
    domain: Domain, kind: str, *, number: int, size: int, circular: bool = False
) -> Vector:
    """Return :func:`reference_column` on the first symbols of a domain, with nobody outside.

    kind, number, circular: As there.
    size: Symbols of the domain that the column is for, those outside among them.
    returns: float64 [size].
    """
    outside = domain.outside_indices
    inner = reference_column(kind, size=size - len(outside), number=number, circular=circular)
    return np.insert(inner, [place - at for at, place in enumerate(outside)], 0.0)


Column = Callable[[int], NDArray[np.float64]]
"""The masses of the column in each repeat: the same every time, or another member of a family."""


def reference_family(domain: Domain, *, first: int = 0) -> dict[str, Column]:
    """Return the reference columns of every kind on a domain. Repeat r is member first + r."""

    def member(kind: str) -> Column:
        return lambda repeat: column_on(
            domain, kind, size=domain.size, number=first + repeat, circular=domain.circular
        )

    return {kind: member(kind) for kind in KINDS}


def simulated_errors(
    randomizer: Randomizer,
    decoder: Decoder,
    *,
    users: int,
    columns: Mapping[str, Column],
    repeats: int,
    seed: int,
) -> dict[str, dict[str, list[float]]]:
    """Return the errors of decoding simulated reports, by distance and column, one per repeat.

    randomizer: On an ordered domain.
    users: Number of people. Every repeat draws new ones from the column.
    columns: The masses by repeat: float64 [domain.size].
    returns: ``"wasserstein"``, as a share of the range, and ``"kolmogorov_smirnov"``. Both are
        distances to the respondents in the bins of the domain, without differences inside a bin.
    """
    domain = randomizer.domain
    span = float(domain.right[-1] - domain.left[0])
    found: dict[str, dict[str, list[float]]] = {
        distance: {name: [] for name in columns}
        for distance in ("wasserstein", "kolmogorov_smirnov")
    }
    for name, column in columns.items():
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, repeat, users % 2**32])
            people = rng.multinomial(users, column(repeat))
            truth = Distribution.of_counts(people, domain)
            tally = simulate(randomizer, people, rng=rng)
            with warnings.catch_warnings():
                # That some answers are weak is what is being found out.
                warnings.simplefilter("ignore", LapwingWarning)
                answer = decoder.decode(randomizer.channel, tally)
            found["wasserstein"][name].append(wasserstein(answer, truth) / span)
            found["kolmogorov_smirnov"][name].append(kolmogorov_smirnov(answer, truth))
    return found
