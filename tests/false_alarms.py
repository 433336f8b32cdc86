"""The one place with sample sizes and thresholds of statistical tests, and how often they err.

A test draws with a fixed seed, so a run either always passes or always fails. What is worked out
here is how probable it is that *some* comparison would fail although the code is right, if every
seed were drawn anew (a new NumPy may change its streams):

    at most MOST_COMPARISONS calls of :func:`accepts` a process, each at LEVEL,
    so the total is at most MOST_COMPARISONS * LEVEL = 5e-8 a process, 4e-7 for eight of them.

The bound on the number is enforced: :func:`accepts` counts. (Comparisons with a broken input count
too, although they cannot raise a false alarm.) Each function below returns an upper bound of the
probability of data as far off as these, over all entries at once:

* :func:`multinomial_tail`: likelihood-ratio chi-square. Not the asymptotic law, which fails in
  far tails and rare cells, but a bound for every sample size (Agrawal 2020, theorem 1.2).
* :func:`binomial_tail`: exact, with Bonferroni over the entries.
* :func:`moments_tail`, :func:`two_sample_tail`: means and variances along many directions, by the
  normal, chi-square and F laws. Approximate: sums over hundreds of people are nearly normal, and
  the excess kurtosis that is left is allowed for. LEVEL is a thousand times smaller than needed, to
  have room for what the approximation misses.

Coverage of bands: see :data:`COVERAGE_DRAWS`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from lapwing.testing.randomizer_contract import LEVEL, REPORTS_PER_VALUE, multinomial_tail

__all__ = [
    "LEVEL",
    "REPORTS_PER_VALUE",
    "accepts",
    "binomial_tail",
    "directions",
    "moments_tail",
    "multinomial_tail",
    "two_sample_tail",
]

MOST_COMPARISONS = 50_000
"""A process makes no more than this many; the first count of a whole run was 1003."""

REPEATS = 3_000
"""Tallies behind a test of means and covariances: a variance that is off by 20% is 7.7 of its
standard errors away, and the threshold lies at 7.1."""

FEWER_REPEATS = 1_500
"""The same for every class in `make soak`: 28% are 7.7 standard errors."""

SIMULATED_REPEATS = 300
"""The same for every class in `make test`: 63% are 7.7 standard errors. The four broken simulators
are found by these, too."""

PAIR_REPEATS = 400
"""Tallies of two people, each with the exact probability of every tally: the threshold of 45 (6
tallies) to 145 (64) is passed by a divergence of .07 to .2 nats a tally. A second person who sends
what the first one does has .5 and more."""

FEWER_REAL_REPEATS = 150
"""Tallies of real reports beside those. The distribution of one report has its own test, so these
look at how reports hang together: a variance off by 82% is 7.1 standard errors away, and one
word for two reports doubles it. `make soak` draws FEWER_REPEATS."""

FEWER_REPORTS = 25_000
"""Reports of each value, where all values are in one batch: the threshold of 53 (10 outputs) to 142
(64) is passed by a divergence of .0021 to .0057 nats a report, of 1.14 to 1.23 epsilon at
epsilon = 1. REPORTS_PER_VALUE of one value, and of each in `make soak`, tell 1.1 epsilon."""

PEOPLE = 1_200
"""People in each of those tallies: counts of ten and more, nearly normal."""

DECODES = 1_200
"""Simulated decodes behind a test of unbiasedness and of a covariance: a bias of a quarter of the
standard deviation is 8.7 standard errors, a variance that is 1 / 0.7 of the stated one is 10."""

COIN_BITS = 8_000_000
"""Bits behind a test of a coin: a probability off by .0013 is 7.1 standard errors away."""

COVERAGE_DRAWS = 500
"""Simulated tallies behind a test of coverage. The covered share of the bins of one decode has a
standard deviation of at most .15 (errors are correlated along the curve), so the mean of 500 has
.0067 and the window .95 +- .03 is 4.5 of them wide: 7e-6. Simultaneous coverage is a binomial:
P(Bin(500, .95) < 450) = 3e-6. A band with half the width covers .67, and 1 in 3."""

COVERAGE_WINDOW = (0.92, 0.98)
LEAST_SIMULTANEOUS = 0.90

BROKEN_BAND_DRAWS = 100
"""Tallies on which a broken band is caught. One of half the width covers .67 with a standard error
of at most .03, one of percentiles around a smoothed curve about .5 (a third of the draws), against
the .82 that is a tenth below the window."""

SORTED_TABLES = 20
"""Tables sorted by size of which all 20 intervals are to hold the truth: 95% of the tables do.
P(Bin(20, .95) < 13) = 3e-6. Pointwise intervals hold in at most 2 of 10 tables."""

LEAST_TABLES = 0.65

CIRCLE_PEOPLE = 120
"""People behind each mean direction on a circle: so few that the noise is wider than the bins."""

CIRCLE_DRAWS = 60
CIRCLE_LEAST = 0.8
"""Tallies behind the coverage of directions and lengths, and the least share of them that holds:
P(Bin(60, .95) < 48) = 7e-6. Intervals of half the width cover .67, and about .75 with what the
insides of the bins add: P(Bin(60, .75) >= 48) = .23, and the draws are fixed."""

_made = 0


def accepts(tail: float) -> bool:
    """Return whether data with this tail probability are compatible with the law."""
    global _made
    _made += 1
    assert _made <= MOST_COMPARISONS, "too many comparisons for the stated rate of false alarms"
    assert not math.isnan(tail)
    return tail >= LEVEL


def binomial_tail(
    counts: np.ndarray, trials: np.ndarray | int, probabilities: np.ndarray | float
) -> float:
    """Return the exact two-sided tail of the worst of many binomial counts."""
    counts, trials, probabilities = np.broadcast_arrays(counts, trials, probabilities)
    below = stats.binom.cdf(counts, trials, probabilities)
    above = stats.binom.sf(counts - 1, trials, probabilities)
    return min(1.0, 2 * counts.size * float(np.minimum(below, above).min()))


def directions(size: int) -> np.ndarray:
    """Return directions along which covariances are compared: float64 [directions, size].

    Every axis, sums and differences of pairs (of neighbors and across; all of them while there
    are at most 12 axes), the sum of all, and all cumulative sums.
    """
    axes = np.eye(size)
    steps = range(1, size) if size <= 12 else (1, 2, size // 2)
    pairs = [
        axes[i] + sign * axes[i + step]
        for step in steps
        for i in range(size - step)
        for sign in (1, -1)
    ]
    return np.vstack([axes, *pairs, np.tril(np.ones((size, size)))])


def moments_tail(samples: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> float:
    """Return the tail of the worst mean or variance of draws along :func:`directions`.

    Parameters
    ----------
    samples : numpy.ndarray
        float64 [repeats, size], counts of people, or linear functions of them.
    mean, covariance : numpy.ndarray
        Of one draw.
    """
    along = directions(samples.shape[1])
    variance = np.einsum("ij,jk,ik->i", along, covariance, along)
    errors = (samples - mean) @ along.T
    scale = np.abs(covariance).max()
    fixed = variance <= 1e-9 * scale
    if np.abs(errors[:, fixed]).max(initial=0.0) > 1e-6 * max(math.sqrt(scale), 1e-3):
        return 0.0
    errors, variance = errors[:, ~fixed], variance[~fixed]
    if variance.size == 0:
        return 1.0
    repeats = samples.shape[0]
    by_mean = 2 * stats.norm.sf(np.abs(errors.mean(axis=0)) * np.sqrt(repeats) / np.sqrt(variance))
    # A sum of independent indicators has an excess kurtosis of at most 1 / variance; a scaled
    # chi-square with the same two moments stands for the sum of squares.
    inflation = 1 + (0.5 / variance if scale > 1 else 0.02)
    squares = (errors**2).sum(axis=0) / variance / inflation
    freedom = repeats / inflation
    by_variance = 2 * np.minimum(stats.chi2.cdf(squares, freedom), stats.chi2.sf(squares, freedom))
    worst = float(min(by_mean.min(), by_variance.min()))
    return min(1.0, 2 * variance.size * worst)


def two_sample_tail(first: np.ndarray, second: np.ndarray) -> float:
    """Return the tail of the worst difference of means or variances of two sets of draws."""
    along = directions(first.shape[1])
    one, two = first @ along.T, second @ along.T
    moving = one.var(axis=0) > 1e-9 * first.var(axis=0).max()
    if not np.allclose(one[:, ~moving].mean(axis=0), two[:, ~moving].mean(axis=0)):
        return 0.0
    if two[:, ~moving].std(axis=0).max(initial=0.0) > 1e-6:
        return 0.0
    one, two = one[:, moving], two[:, moving]
    var_one, var_two = one.var(axis=0, ddof=1), two.var(axis=0, ddof=1)
    gap = np.abs(one.mean(axis=0) - two.mean(axis=0))
    by_mean = 2 * stats.norm.sf(gap / np.sqrt(var_one / len(one) + var_two / len(two)))
    inflation = 1 + 0.5 / np.minimum(var_one, var_two)
    freedom = ((len(one) - 1) / inflation, (len(two) - 1) / inflation)
    ratio = var_one / var_two
    by_variance = 2 * np.minimum(stats.f.cdf(ratio, *freedom), stats.f.sf(ratio, *freedom))
    worst = float(min(by_mean.min(), by_variance.min()))
    return min(1.0, 2 * var_one.size * worst)
