"""What a release allows, whatever the data are: a band that assumes nothing.

A few coefficients, or counts below a few places, leave much open. Decoders fill it in by what they
assume; how far that is from the data no release can say. What it can say is which distributions
would make its answers likely: those are all allowed, and between the lowest and the highest of
their curves lies the truth.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.operators.operator import dense
from lapwing.protocol.release import Release
from lapwing.results.uncertainty import Band, Target, check_kind, check_level

METHOD = "all distributions that the answers allow"

_KNOTS = 32
"""Places at which curves are searched for; between them, a curve that never falls is bounded."""

_WIDER = 1.25
"""Noise beyond its limit leaves no distribution; then the limit grows by this factor."""

MOST_SYMBOLS = 4096


@one_thread
def allowed_band(release: Release, level: float = 0.95, *, target: Target = "empirical") -> Band:
    """Return the band of the distribution function that holds for all data at once.

    For projections, matching pursuit and adaptive quantiles, whose decoded curves have no error
    law; any other release of one block may be asked too.

    Parameters
    ----------
    release : Release
        With a public number of people, at most 4096 symbols.
    level : float
        In (0, 1): of the whole curve, so of each point at least.
    target : {"empirical", "population"}
        The people in the release, or those they were drawn from.

    Raises
    ------
    ArgumentError
        When the number of people is secret, or the domain has no order or too many symbols.

    Notes
    -----
    **Privacy.** It sees the release only, so it costs nothing.

    **Accuracy.** Exact at 33 places and safe between them: it covers at least as often as it says,
    and mostly more, because all answers are bounded together. It is as wide as the answers leave
    room for: one person in K cannot be placed by K coefficients.

    **Cost.** 64 linear programs with as many constraints as answers: a second for 12 answers on
    1024 symbols, some seconds for 80.

    Each answer's noise stays within a limit, all together with the probability of the level (noise
    of different answers is independent, whether they were asked at once or one after the other).
    About the population the level is split: half of what it may miss is the draw's, by the
    inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (1990).
    """
    check_level(level)
    check_kind("simultaneous", target)
    domain = release.domain
    if not domain.ordered or domain.left.size > MOST_SYMBOLS:
        raise ArgumentError(f"an allowed band needs an ordered domain of at most {MOST_SYMBOLS}")
    if release.people is None:
        raise ArgumentError(
            "an allowed band needs the number of people, which this release keeps secret; use "
            "neighbors 'replace-one', or prefix sums, whose answer has a band"
        )
    missed = 1 - level if target == "empirical" else (1 - level) / 2
    limit = _limit(release, 1 - missed)
    held, people = domain.left.size, release.total
    knots = np.unique(np.rint(np.linspace(0, held, _KNOTS + 1)).astype(np.int64))[1:]
    matrix = dense(release.channel.blocks[0].operator)
    shares = release.blocks[0] / people
    found = None
    while found is None:
        found = _extremes(matrix, shares, limit / people, knots)
        limit *= _WIDER
    low, high = found
    if target == "population":
        drawn = math.sqrt(math.log(2 / missed) / (2 * people))
        low, high = low - drawn, high + drawn
    place = np.searchsorted(knots, np.arange(1, held + 1))
    after = np.clip(high, 0.0, 1.0)[place]
    # Up to the knot before a symbol's end the curve has risen at least to what it has there.
    reached = np.searchsorted(knots, np.arange(1, held + 1), side="right")
    before = np.append(0.0, np.clip(low, 0.0, 1.0))[reached]
    right, left = domain.right, domain.left
    return Band(right, left, before, after, level, "simultaneous", target, METHOD)


def _limit(release: Release, level: float) -> float:
    """Return what no answer's noise exceeds, all together with the probability of the level."""
    alone = level ** (1 / release.blocks[0].size)
    normal = sum(p.noise.variance for p in release.parts if p.noise.kind != "laplace")
    laplace = [p.noise.variance for p in release.parts if p.noise.kind == "laplace"]
    if laplace:
        # What none of several noises exceeds by itself, their sum does not exceed by theirs.
        alone = alone ** (1 / (len(laplace) + (normal > 0)))
    limit = NormalDist().inv_cdf((1 + alone) / 2) * math.sqrt(normal)
    limit += sum(-math.log1p(-alone) * math.sqrt(variance / 2) for variance in laplace)
    # Noise is rounded to whole numbers.
    return limit + len(release.parts)


def _extremes(
    matrix: Matrix, shares: Vector, limit: float, knots: Whole
) -> tuple[Vector, Vector] | None:
    """Return the lowest and highest sums up to each knot; None where no distribution is allowed."""
    from scipy.optimize import linprog  # slow to import

    size = matrix.shape[1]
    # Answers in units of the limit, because solvers look at absolute numbers.
    sides = np.vstack([matrix, -matrix]) / limit
    bounds = np.concatenate([shares, -shares]) / limit + 1
    low, high = np.zeros(knots.size), np.ones(knots.size)
    for number, knot in enumerate(knots):
        below = (np.arange(size) < knot).astype(np.float64)
        for sign, curve in ((1.0, low), (-1.0, high)):
            found = linprog(
                sign * below, A_ub=sides, b_ub=bounds, A_eq=np.ones((1, size)), b_eq=[1.0]
            )
            if found.status == 2:
                return None
            if found.status == 0:
                curve[number] = sign * found.fun
    return low, high
