"""The distributions that a release allows, whatever the data are: a band without assumptions.

A few coefficients, or counts below a few places, leave much undetermined. Decoders fill it in by
assumption, and no release can tell how far that is from the data. But a release determines which
distributions would make its answers likely. The truth lies between the lowest and the highest of
their curves.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector, Whole, one_thread
from lapwing.linear.operators.operator import dense
from lapwing.protocol.release import Release
from lapwing.results.uncertainty import Band, Target, check_kind, check_level

METHOD = "all distributions that the answers allow"

_KNOTS = 32
"""Places at which curves are searched for. Between them, a curve that never falls is bounded."""

_WIDER = 1.25
"""Noise beyond its limit leaves no distribution. Then the limit grows by this factor."""

MOST_SYMBOLS = 4096


@one_thread
def allowed_band(release: Release, level: float = 0.95, *, target: Target = "empirical") -> Band:
    """Return a confidence band of the CDF that holds for all data at once.

    It is for projections, matching pursuit and adaptive quantiles, whose decoded curves have no
    error distribution. Any other release of one block may be used as well.

    Parameters
    ----------
    release : Release
        Release with a public number of people, on an ordered domain of at most 4096 bins.
    level : float
        Simultaneous confidence level of the whole curve, in (0, 1). Default: 0.95.
    target : {"empirical", "population"}
        The people in the release, or the population from which they were drawn. Default:
        "empirical".

    Returns
    -------
    Band
        Lower and upper bounds of the CDF.

    Raises
    ------
    ArgumentError
        When the number of people is secret, or the domain has no order or too many bins.

    Notes
    -----
    **Privacy.** It uses the release only, so it costs no privacy.

    **Accuracy.** It is exact at 33 places and conservative between them. It covers at least as
    often as stated, and mostly more, because all answers are bounded together. Its width depends on
    the answers: one person in K cannot be placed by K coefficients.

    **Cost.** 64 linear programs with as many constraints as answers. This takes a second for 12
    answers on 1024 bins, and some seconds for 80.

    Each answer's noise stays within a limit, all together with the probability of the level. Noise
    of different answers is independent, whether they were released at once or one after the other.
    For the population the level is split. Half of the error probability goes to the sampling of
    people, by the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant [1]_.

    References
    ----------
    .. [1] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals of
       Probability 18(3), 1990. doi:10.1214/aop/1176990746

    Examples
    --------
    >>> import lapwing as lw
    >>> ages = list(range(20, 60)) * 500  # 52.5% of them at most 40
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=50, outside="clip"), neighbors="replace-one",
    ...     epsilon=1, mechanism="adaptive-quantiles", rng=lw.seeded(1),
    ... )
    >>> lw.papers.functional_approximation.allowed_band(published.release).level
    0.95
    """
    check_level(level)
    check_kind("simultaneous", target)
    domain = release.domain
    if not domain.ordered or domain.left.size > MOST_SYMBOLS:
        raise ArgumentError(f"an allowed band needs an ordered domain of at most {MOST_SYMBOLS}")
    if release.people is None:
        raise ArgumentError(
            "an allowed band needs the number of people, which this release keeps secret. Use "
            "neighbors 'replace-one', or prefix sums, which have their own band"
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
    """Return the lowest and highest sums up to each knot. None where no distribution is allowed."""
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
