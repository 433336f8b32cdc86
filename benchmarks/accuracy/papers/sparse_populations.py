"""The distributions of the compressive paper, in both readings of its geometric one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from lapwing.protocol.randomizer import Randomizer

Vector = NDArray[np.float64]

TAIL = 0.1
"""The paper takes s so that a distribution is "roughly (s, 0.1)-sparse"."""


@dataclass(frozen=True)
class Sparse:
    """A distribution by its name, the s that a decoder is told, and how it is made."""

    name: str
    sparsity: int
    make: Callable[[int, np.random.Generator], Vector]


def geometric(ratio: float) -> Callable[[int, np.random.Generator], Vector]:
    """Return shares that fall by a ratio from one symbol to the next."""

    def make(symbols: int, _: np.random.Generator) -> Vector:
        mass: Vector = ratio ** np.arange(symbols, dtype=np.float64)
        mass /= mass.sum()
        return mass

    return make


def even(found: int) -> Callable[[int, np.random.Generator], Vector]:
    """Return equal shares of so many symbols, drawn anew each time."""

    def make(symbols: int, rng: np.random.Generator) -> Vector:
        mass = np.zeros(symbols)
        mass[rng.choice(symbols, found, replace=False)] = 1 / found
        return mass

    return make


def tail_mass(mass: Vector, sparsity: int) -> float:
    """Return the mass beyond the largest s shares: lambda of "(s, lambda)-sparse"."""
    return float(np.sort(mass)[::-1][sparsity:].sum())


def roughly_sparse(ratio: float) -> int:
    """Return the s whose tail, ``ratio^s``, is nearest to 0.1."""
    return min(range(1, 200), key=lambda s: abs(ratio**s - TAIL))


POPULATIONS = {
    one.name: one
    for one in (
        # The text says p(i) ~ (1 - lambda)^i lambda, the baselines' code (1 - lambda) lambda^i.
        Sparse("Geo(.8), text", roughly_sparse(0.2), geometric(0.2)),
        Sparse("Geo(.6), text", roughly_sparse(0.4), geometric(0.4)),
        Sparse("Geo(.8), code", roughly_sparse(0.8), geometric(0.8)),
        Sparse("Geo(.6), code", roughly_sparse(0.6), geometric(0.6)),
        Sparse("Unif(10)", 10, even(10)),
        Sparse("Unif(25)", 25, even(25)),
    )
}


def drawn(
    randomizer: Randomizer, mass: Vector, people: NDArray[np.int64], rng: np.random.Generator
) -> lw.tallies.CountTally:
    """Return the tally of people drawn from a distribution, with the exact joint law.

    But for large subset selection: there the exact sweep takes symbols times members draws, some
    ten seconds at 10,000 symbols. Counts of 50,000 sets and more are normal to all purposes, and
    are drawn as normal numbers with the exact means and covariances of as many people, rounded,
    with the total that they must have.
    """
    if not isinstance(randomizer, lw.SubsetSelection) or randomizer.domain.size < 2000:
        return lw.simulate(randomizer, people, rng=rng)
    block, number = randomizer.channel.blocks[0], int(people.sum())
    noise = block.covariance(mass).scaled(float(number)).sample(1, rng)[0]
    counts = np.rint(number * block.mean(mass) + noise).astype(np.int64)
    missing = number * randomizer._members - int(counts.sum())
    each, rest = divmod(missing, counts.size)
    counts += each
    counts[rng.permutation(counts.size)[:rest]] += 1
    return lw.tallies.CountTally([np.clip(counts, 0, number)], [number], randomizer.fingerprint)


def errors(estimate: Any, mass: Vector) -> tuple[float, float]:
    """Return the l1 and the l2 distance of an estimate's masses from the truth."""
    gap = estimate.mass - mass
    return float(np.abs(gap).sum()), float(np.sqrt(gap @ gap))
