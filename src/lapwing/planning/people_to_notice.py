"""How many people a week must have for a change to be noticed in time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lapwing.decoders.empirical_bayes.quadratic_likelihood import quadratic_likelihood
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.decoders.series.change_test import SIZES, WAVES, needed
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.operators.sums import running_sums
from lapwing.planning.expected_error import USER_LIMIT
from lapwing.planning.simulation import simulate
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.randomizer import Randomizer, channel_for

_DRAWS = 1000

_SHAPES = 2
"""Waves along which a change is tried: from the left to the right, and from both ends inwards."""

_CLOSE = 1.03
"""Factor between the bounds of the answer at which the search ends."""


@one_thread
def people_to_notice(
    randomizer: Randomizer[Any],
    *,
    change: float,
    weeks: int = 2,
    before: int = 12,
    alpha: float = 0.05,
    power: float = 0.95,
) -> int:
    """Return how many people a week need for :class:`lapwing.Watch` to report a change in time.

    Parameters
    ----------
    randomizer : Randomizer
        Of numbers.
    change : float
        The largest gap between the CDFs before and after, in (0, 0.5].
    weeks : int
        Weeks with the change until it is reported, at least 1.
    before : int
        Weeks before the change, at least 1.
    alpha : float
        Of the watch, in (0, 0.5].
    power : float
        With what probability it is to be reported by then, in (0, 1).

    Returns
    -------
    int
        The more of two shapes: people who move from the left to the right, and from both ends to
        the middle. Rounded up to two digits.

    Raises
    ------
    ArgumentError
        When a number is out of its range, or even 2^40 people would not do.
    UnsupportedChannelError
        For labels.

    Accuracy
    --------
    Simulated, 1000 times, with normal scores about a uniform distribution; good to about a tenth.

    Examples
    --------
    >>> from lapwing.randomizers.numerical.square_wave import SquareWave
    >>> from lapwing.protocol.domains.interval import Interval
    >>> wave = SquareWave(Interval(0, 60, bins=32), epsilon=1)
    >>> 1_000 < people_to_notice(wave, change=0.1) < 40_000
    True
    """
    for name, value, most in (("change", change, 0.5), ("alpha", alpha, 0.5), ("power", power, 1)):
        if not 0 < value <= most or (name == "power" and value >= 1):
            raise ArgumentError(f"{name} must be in (0, {most:g}], got {value!r}")
    for name, number in (("weeks", weeks), ("before", before)):
        check_whole(name, number, low=1, high=1000, error=ArgumentError)
    domain = randomizer.domain
    if not domain.ordered:
        raise UnsupportedChannelError("the people who notice a change are planned for numbers only")
    scaled = ScaledBasis(domain, limit=WAVES)
    columns = scaled.columns(np.ones(scaled.joined.size))
    tally = simulate(randomizer, np.full(domain.size, 1000), rng=1)
    even = np.full(domain.size, 1 / domain.size)
    information, _ = quadratic_likelihood(channel_for(randomizer, tally), tally, even)  # type: ignore[arg-type]
    told = columns.T @ information @ columns / tally.total
    root = 1 / scaled.basis.frequency  # of the variances that a change of size 1 has
    values, vectors = np.linalg.eigh(told * root * root[:, None])
    seen = np.maximum(values, 0.0) / (1 / before + 1 / weeks)
    least = needed(alpha, 1) + math.log(before * (before + 1))

    def reported(people: float, along: int) -> float:
        moved = vectors[along] * (
            change / float(np.abs(running_sums(columns[:, along])).max()) / root[along]
        )
        return _reported(people * seen, moved, least)

    found = 0.0
    for along in range(min(_SHAPES, root.size)):
        low, high = 1.0, float(USER_LIMIT)
        if reported(high, along) < power:
            raise ArgumentError("so small a change is not noticed with any number of people")
        while high > _CLOSE * low:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if reported(middle, along) >= power else (middle, high)
        found = max(found, high)
    unit = 10 ** max(0, math.floor(math.log10(found)) - 1)
    return int(math.ceil(found / unit) * unit)


def _reported(seen: Vector, moved: Vector, least: float) -> float:
    """Return in what part of simulated series the evidence for the true week is enough.

    That for the other weeks adds little. In the directions in which a change and what two looks
    tell of it are independent, scores have the mean ``seen * moved`` and the variance ``seen``.
    """
    rng = np.random.default_rng(20_261_122)
    scores = seen * moved + np.sqrt(seen) * rng.normal(size=(_DRAWS, seen.size))
    factors = [
        (size**2 * scores**2 / (1 + size**2 * seen) - np.log1p(size**2 * seen)).sum(axis=1) / 2
        for size in SIZES
    ]
    evidence = np.logaddexp.reduce(factors, axis=0) - math.log(len(SIZES))
    return float(np.mean(evidence >= least))
