"""How far shrunk shares are believed, where labels are too few to tell what shares are like.

A law that is learned from four or from forty estimates follows their noise: it puts two unequal
shares on one atom between them. Whether shrinking paid is asked of the same estimates, in two ways:
by Stein's unbiased risk, beside that of the nearest distribution, which is not shrunk; and of fewer
than 24 labels by how well the estimate of each is foretold from the others.
"""

from __future__ import annotations

import math

import numpy as np

from lapwing.decoders.empirical_bayes.learned_mixture import LearnedMixture, exponential
from lapwing.decoders.unbiased.unbiased_shares import UnbiasedShares
from lapwing.linear.arrays import Vector
from lapwing.linear.projections import simplex

_TEMPERATURE = 4.0
"""Variances of risk by which the odds of a belief fall e times, as Leung and Barron's."""

_SURPRISE = 3.0
"""Logarithm of the evidence at which the shares of very few labels are believed by half."""

_CLEAR, _CLEAR_EACH = 3.0, 1 / 3
"""The same, and so much for each label, at which they are believed by half whatever the risk."""

_VERY_FEW, _ENOUGH = 8, 24
"""Labels up to which that evidence is asked for, and from which it is not: the risk is enough."""

_DOUBTED, _LEARNED = 50, 100
"""Labels up to which what is learned of them is doubted, and from which it is not."""

_ROUNDS = 9
"""Doublings of the iterations whose responses are added up: 512 of them."""

_NOTHING = 1e-12
"""Weights of the grid below it do not respond."""

_FAR = 500.0


def doubtfulness(labels: int) -> float:
    """Return how far a law that is learned from so many labels is doubted, in [0, 1]."""
    return min(max((_LEARNED - labels) / (_LEARNED - _DOUBTED), 0.0), 1.0)


def belief_in(
    learned: LearnedMixture, found: UnbiasedShares, mass: Vector, *, foretold: float
) -> float:
    """Return the weight, in [0, 1], of a shrunk distribution beside the nearest one.

    Parameters
    ----------
    learned : LearnedMixture
        Of the shares that are not kept for certain; normal noise.
    found : UnbiasedShares
        With their total of one.
    mass : numpy.ndarray
        float64 [size]: the posterior means, projected on the simplex.
    foretold : float
        The evidence of the mixture with an added label.

    Notes
    -----
    The shrunk distribution and the nearest one are averaged with weights
    ``exp(-risk / (4 variance))``, where the risk is Stein's estimate (:func:`stein_risk`).

    Source: Stein 1981 (the risk); Leung and Barron 2006 (weights that fall exponentially with it).
    They bound the risk of such an average of least-squares projections; for a learned mixture there
    is no such bound, only what was measured (`benchmarks/accuracy`, few labels). The derivatives
    of a learned mixture and the evidence of others are ours.
    """
    size = mass.size
    derivatives = np.ones(size)
    learned.read(own_derivatives(learned), found.shares, derivatives)
    nearest = simplex(found.shares)
    # The known total takes a part of the variance away.
    variance = found.variance(nearest) * (1 - 1 / size)
    risk = stein_risk(found.shares, variance, mass, derivatives)
    asked = min(max((_ENOUGH - size) / (_ENOUGH - _VERY_FEW), 0.0), 1.0)
    believed: float = _logistic(-risk / (_TEMPERATURE * float(variance.mean())))
    believed *= math.pow(_logistic(foretold - _SURPRISE), asked)
    return believed + (1 - believed) * clearness(foretold, int(learned.bins.sum()))


def stein_risk(shares: Vector, variance: Vector, mass: Vector, derivatives: Vector) -> float:
    """Return the unbiased estimate of a squared error less that of the nearest distribution.

    Parameters
    ----------
    shares, variance : numpy.ndarray
        float64 [size], the estimates and their variances, normal.
    mass : numpy.ndarray
        float64 [size]: what is judged, projected on the simplex.
    derivatives : numpy.ndarray
        float64 [size]: before the projection, of each by its own estimate.

    Notes
    -----
    With d the difference of the distribution and the nearest one, s, and z the estimates:
    ``|d|^2 + 2 d (s - z) + 2 sum(variance (own derivatives of d))``. A projection on the simplex
    takes the mean of what it keeps away, so of the derivatives there remain ``1 - 1 / kept``.

    Examples
    --------
    Halfway from the estimates to equal shares, which are two variances or more apart, it pays:

    >>> variance = np.full(4, 0.0004)
    >>> shares = np.array([0.28, 0.26, 0.24, 0.22])
    >>> round(stein_risk(shares, variance, (shares + 0.25) / 2, np.full(4, 0.5)), 5)
    -0.0007
    """
    nearest = simplex(shares)
    kept, plain = mass > 0, nearest > 0
    more = np.where(kept, derivatives * (1 - 1 / kept.sum()), 0.0)
    more -= np.where(plain, 1 - 1 / plain.sum(), 0.0)
    away = mass - nearest
    return float(away @ away + 2 * away @ (nearest - shares) + 2 * variance @ more)


def own_derivatives(learned: LearnedMixture) -> Vector:
    """Return how far the posterior mean of each bin moves with an estimate in it: float64 [bins].

    Notes
    -----
    Under a prior that stays, the derivative is the posterior variance over the noise's. The prior
    does not stay: each weight of the grid, ``w = c / (1 + lambda (theta - mean))``, counts the
    posterior of the label that moved, and all weights answer to that, iteration after iteration.
    With x the derivatives of log w, an iteration of EM makes ``forced + step x`` of x, so n of
    them ``(1 + step + ... + step^(n-1)) forced``, which is summed by doubling.
    """
    weights, grid, posterior = learned.weights, learned.grid, learned.posterior
    away = grid - learned.mean
    means = posterior @ grid
    slopes = learned.score()
    off = grid - means[:, None]
    own: Vector = (posterior * off * slopes).sum(axis=1)
    used = learned.bins > 0
    held, bins = posterior[used], learned.bins[used]
    counted = bins @ held + learned.flat
    total = counted.sum()
    live = weights > _NOTHING
    tilt = np.where(live, away * weights * total / np.maximum(counted, 1e-300), 0.0)
    bend = float(weights @ (away * tilt))

    def answered(more: Vector) -> Vector:
        # Of what is counted more, [grid, columns], to the derivatives of log w, the mean kept.
        logs = np.where(live, 1 / np.maximum(counted, 1e-300), 0.0)[:, None] * more
        return logs - tilt[:, None] * ((weights * away) @ logs) / max(bend, 1e-300)

    slopes = slopes[used]
    response = answered((held * (slopes - (held * slopes).sum(axis=1, keepdims=True))).T)
    step = answered(np.diag(bins @ held) - held.T @ (bins[:, None] * held))
    for _ in range(_ROUNDS):
        response = response + step @ response
        step = step @ step
    own[used] += ((held * off[used]) * response.T).sum(axis=1)
    # Between the bins that are used nobody is.
    place = np.flatnonzero(used)
    filled: Vector = np.interp(np.arange(used.size), place, own[place])
    return filled


def evidence(learned: LearnedMixture) -> float:
    """Return the logarithm of how much better each estimate is foretold from the others' law.

    Beside the law that was added to theirs, which supposes nothing but the mean.
    """
    used = learned.bins > 0
    held, bins = learned.posterior[used], learned.bins[used]
    likelihood = np.concatenate([group.likelihood(learned.grid) for group in learned.groups])[used]
    total = bins.sum() + learned.flat.sum()
    others = np.maximum(total * learned.weights - held, 0.0) / (total - 1)
    foretold = (likelihood * others).sum(axis=1)
    unknown = likelihood @ exponential(learned.grid, learned.mean)
    ratio = np.maximum(foretold, 1e-300) / np.maximum(unknown, 1e-300)
    return float(bins @ np.log(ratio))


def clearness(foretold: float, labels: int) -> float:
    """Return how clear it is, in [0, 1], that estimates are foretold by one another.

    Of equal shares it is; of shares that lie evenly a few deviations apart it is not, though the
    evidence for atoms grows with the labels there, too: by a fifth for each, of equal ones by two
    thirds and more.
    """
    return _logistic(foretold - _CLEAR - _CLEAR_EACH * labels)


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-min(max(odds, -_FAR), _FAR)))
