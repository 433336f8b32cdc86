"""Empirical Bayes with a learned prior of shares: the default decoder for sparse categories.

The posterior mean has the least squared error over all categories, nearly all of which are empty.
It shrinks the largest shares more than necessary (see :class:`Head`). A share of four standard
deviations is moved toward the many that are noise. A share of seven is moved toward a nearby atom
of the learned mixture, though that atom is an accident among evenly spread shares.

A distribution that is learned from four or from forty estimates follows their noise. It moves two
unequal shares to one atom between them. So the same estimates are used to judge, in two ways,
whether shrinking helped. One is Stein's unbiased risk, compared with that of the nearest
distribution, which is not shrunk. The other, for fewer than 24 labels, is how well each estimate
is predicted from the others.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np

from lapwing.declared import AtLeastOne, Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of
from lapwing.decoders.empirical_bayes.learned_mixture import LearnedMixture, exponential
from lapwing.decoders.unbiased.linear_estimate import (
    Tails,
    UnbiasedShares,
    available_band,
    unbiased_shares,
)
from lapwing.docstrings import inherits
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.projections import simplex, spread
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.uncertainty import UNKNOWN

HEAD = 50
"""The largest symbols, whose errors count for more."""

PRICE = 0.015
"""Factor by which the squared error of all symbols may grow in return, by the learned mixture."""

ALPHA = 0.05
"""Probability that any empty symbol has an estimate that counts as significant."""

_SHOWN = 0.5
"""A share of so many times the significant size belongs to a head that the reports can show."""

_SOFT = 0.25
"""Standard deviations over which an estimate becomes significant."""

_OWN = 2.0
"""Squared standard deviations of shrinkage that are an accident, as James and Stein's n - 2."""

_NO_HEAD, _HEAD = 2, 10
"""Labels for each label of the head: up to the first number there is no head, from the second
there is."""

_HALVINGS = 40

_FAR_ODDS = 50.0

_LEAST, _MOST = -12.0, 12.0
"""Bounds of the logarithm of an error's cost in the head."""


@dataclass(frozen=True, eq=False)
class ShrunkShares:
    """Estimates of all shares, none of them negative, and the cost of an error in each.

    free: Estimates, float64 [size]. Their sum need not be one.
    costs: Costs, float64 [size], at least one.
    """

    free: Vector
    costs: Vector

    @property
    def mass(self) -> Vector:
        """The nearest shares that sum to one, by these costs. Those of high cost move least."""
        if self.costs.max() == self.costs.min():
            return simplex(self.free)
        return simplex(self.free, weights=self.costs)


@dataclass(frozen=True, eq=False)
class DoubtedShares(ShrunkShares):
    """Shrunk shares of few labels, which are believed in part only.

    averaged: float64 [size]: their distribution, averaged with that of shares that are not shrunk.
    """

    averaged: Vector

    @classmethod
    def of(cls, shrunk: ShrunkShares, unbiased: Vector, belief: float) -> DoubtedShares:
        """Return the average of both, the shrunk shares with the weight `belief`, in [0, 1]."""
        free = belief * shrunk.free + (1 - belief) * np.maximum(unbiased, 0.0)
        averaged = belief * shrunk.mass + (1 - belief) * simplex(unbiased)
        return cls(free, shrunk.costs, averaged)

    @property
    def mass(self) -> Vector:
        """The averaged distribution."""
        return self.averaged


@dataclass(frozen=True, eq=False)
class Head:
    """Estimates for the bins of a mixture, with a higher cost of error for the largest shares.

    estimates: Estimate of each bin, float64 [bins].
    costs: Expected cost of a squared error, float64 [bins], one for those that are not large.

    There are two steps.

    First, errors of the head cost more. Let v be 1 at the largest shares of the grid, `HEAD`
    categories together, and let c be the cost. The weighted loss ``(1 + c v(share)) (t - share)^2``
    has the least expectation at ``t = (E[share] + c E[v share]) / (1 + c E[v])``. This is the most
    accurate rule for the head at a given total error. The cost c is the largest at which the
    squared error of all grows by at most `PRICE`, as far as reports show a head. Where only a part
    of it is half as large as is significant, the price falls with the square of that part.

    Second, significant estimates are shrunk by as much as reduces the risk. The mixture was learned
    from the estimates that it shrinks, so its atoms lie where they do. Above Bonferroni's threshold
    the estimate is ``z + a (t - z)`` with ``a = max(0, 1 - 2 / sum((t - z)^2 / variance))``, as in
    [1]_. So many equal shares stay together. Estimates that are moved only a little stay where the
    reports put them: an evenly spread head, or a share far from all others. With Laplace noise, for
    which that argument does not hold, the mean stays.

    Neither step is for a hundred labels or fewer, most of which would be the head. Some of equal
    ones are significant by chance, and would keep their noise. Half of either step is taken at 300
    labels, and the whole from 500 on.

    The combination is this library's own. It uses the positive part of [1]_, and [2]_ also limits
    how far an estimate is moved.

    .. [1] W. James, C. Stein, "Estimation with quadratic loss", Fourth Berkeley Symposium on
       Mathematical Statistics and Probability, 1961.
    .. [2] B. Efron, C. Morris, "Limiting the risk of Bayes and empirical Bayes estimators. Part II:
       the empirical Bayes case", Journal of the American Statistical Association 67(337), 1972.
    """

    estimates: Vector
    costs: Vector

    @classmethod
    def of(cls, learned: LearnedMixture, *, symbols: int, certain: int, tails: Tails) -> Head:
        """Return the estimates of the bins.

        learned: Learned mixture.
        symbols: Number of categories of the domain.
        certain: Number of categories that are kept as they are and belong to the head.
        tails: Distribution of the noise.
        """
        reach = significant_steps(symbols, tails)
        large = np.asarray(learned.grid_steps >= _SHOWN * reach, dtype=np.float64)
        dear = large * _largest(learned, HEAD - certain)
        shown = certain + float(learned.bins.sum() * (learned.weights @ large))
        rare = min(max((symbols / HEAD - _NO_HEAD) / (_HEAD - _NO_HEAD), 0.0), 1.0)
        price = rare * PRICE * min(1.0, shown / HEAD) ** 2
        means, costs = _dearer_head(learned, dear, price)
        if tails == "laplace":
            return cls(means, costs)
        # Part of the head given the estimate, under the prior that the costs amount to.
        real = 1 - (1 - learned.posterior @ large) / costs
        far = np.clip((learned.steps - reach) / _SOFT, -_FAR_ODDS, _FAR_ODDS)
        return cls(_stayed(learned, means, rare * real / (1 + np.exp(-far))), costs)


def significant_steps(symbols: int, tails: Tails) -> float:
    """Return the standard deviations that no estimate of an empty category exceeds but by accident.

    Of `symbols` empty ones any does with probability at most `ALPHA`.
    """
    if tails == "laplace":
        return math.log(symbols / (2 * ALPHA)) / math.sqrt(2)
    return -NormalDist().inv_cdf(ALPHA / symbols)


def _largest(learned: LearnedMixture, number: int) -> Vector:
    """Return which part of each share of the grid is among so many largest symbols, in [0, 1]."""
    held = learned.weights * learned.bins.sum()
    above = np.cumsum(held[::-1])[::-1] - held
    part: Vector = np.clip((number - above) / np.maximum(held, 1e-9), 0.0, 1.0)
    return part


def _dearer_head(learned: LearnedMixture, dear: Vector, price: float) -> tuple[Vector, Vector]:
    """Return means of the bins where the head costs more, and the expected costs.

    The squared error of all grows by ``sum(bins (t - mean)^2)``, because the mean has the least.
    """
    posterior, grid, bins = learned.posterior, learned.grid, learned.bins
    plain = posterior @ grid
    in_head, of_head = posterior @ dear, posterior @ (dear * grid)
    most = price * float(bins @ np.maximum(posterior @ grid**2 - plain**2, 0.0))
    low, high = _LEAST, _MOST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        moved = math.exp(middle) * (of_head - in_head * plain) / (1 + math.exp(middle) * in_head)
        low, high = (low, middle) if float(bins @ moved**2) > most else (middle, high)
    costs = 1 + math.exp(low) * in_head
    return (plain + math.exp(low) * of_head) / costs, costs


def _stayed(learned: LearnedMixture, means: Vector, sure: Vector) -> Vector:
    """Return the means with those that are surely of the head shrunk by as much as pays."""
    away = means - learned.centers
    moved = float((learned.bins * sure) @ (away**2 / learned.variances))
    part = max(1 - _OWN / max(moved, 1e-300), 0.0)
    stayed: Vector = means - (1 - part) * sure * away
    return stayed


_TEMPERATURE = 4.0
"""Variances of risk by which the odds of a belief fall e times, as Leung and Barron's."""

_SURPRISE = 3.0
"""Logarithm of the evidence at which the shares of very few labels are believed by half."""

_CLEAR, _CLEAR_EACH = 3.0, 1 / 3
"""The same, plus an amount for each label, at which they get weight one half whatever the risk."""

_VERY_FEW, _ENOUGH = 8, 24
"""Labels up to which that evidence is required, and from which it is not: the risk is enough."""

_DOUBTED, _LEARNED = 50, 100
"""Labels up to which the learned prior is doubted, and from which it is not."""

_ROUNDS = 9
"""Doublings of the iterations whose responses are added up: 512 of them."""

_NOTHING = 1e-12
"""Weights of the grid below it do not respond."""

_FAR_LOGISTIC = 500.0


def doubtfulness(labels: int) -> float:
    """Return how far a distribution that is learned from so many labels is doubted, in [0, 1]."""
    return min(max((_LEARNED - labels) / (_LEARNED - _DOUBTED), 0.0), 1.0)


def belief_in(
    learned: LearnedMixture, found: UnbiasedShares, mass: Vector, *, foretold: float
) -> float:
    """Return the weight, in [0, 1], of a shrunk distribution relative to the nearest one.

    learned: Mixture of the shares that are not kept for certain, with Gaussian noise.
    found: Unbiased shares with their total of one.
    mass: Posterior means, projected on the simplex, float64 [size].
    foretold: Evidence of the mixture with an added label.

    The shrunk distribution and the nearest one are averaged with weights
    ``exp(-risk / (4 variance))``, where the risk is the estimate of [1]_ (:func:`stein_risk`). Such
    weights are those of [2]_, which bounds the risk of an average of least-squares projections. For
    a learned mixture there is no such bound, only what was measured (`benchmarks/accuracy`, few
    labels). The derivatives of a learned mixture and the evidence of others are this library's own.

    .. [1] C. M. Stein, "Estimation of the mean of a multivariate normal distribution", Annals of
       Statistics 9(6), 1981. doi:10.1214/aos/1176345632
    .. [2] G. Leung, A. R. Barron, "Information theory and mixing least-squares regressions", IEEE
       Transactions on Information Theory 52(8), 2006.
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

    shares, variance: float64 [size], the estimates and their variances, normal.
    mass: float64 [size]: what is judged, projected on the simplex.
    derivatives: float64 [size]: before the projection, of each by its own estimate.

    With d the difference of the distribution and the nearest one, s, and z the estimates:
    ``|d|^2 + 2 d (s - z) + 2 sum(variance (own derivatives of d))``. A projection on the simplex
    takes the mean of what it keeps away, so of the derivatives there remain ``1 - 1 / kept``.

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

    Under a fixed prior, the derivative is the posterior variance over that of the noise. But the
    prior changes: each weight of the grid, ``w = c / (1 + lambda (theta - mean))``, counts the
    posterior of the label that moved. All weights respond to that, iteration after iteration. Let x
    be the derivatives of log w. An iteration of EM makes ``forced + step x`` of x, so n of them
    make ``(1 + step + ... + step^(n-1)) forced``. The sum is computed by doubling.
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
    """Return the log-evidence that each estimate is predicted by the others' distribution.

    It is relative to the distribution that was added to theirs, which assumes nothing but the mean.
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
    """Return how clear it is, in [0, 1], that estimates predict one another.

    For equal shares it is clear. For shares that lie evenly a few standard deviations apart it is
    not. Though the evidence for atoms grows with the labels there as well. It grows by a fifth for
    each, and for equal ones by two thirds and more.
    """
    return _logistic(foretold - _CLEAR - _CLEAR_EACH * labels)


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-min(max(odds, -_FAR_LOGISTIC), _FAR_LOGISTIC)))


CERTAIN = 10.0
"""Standard deviations from which an estimate is kept, because no prior could move it by much."""


@dataclass(frozen=True)
class MixturePrior(Declared):
    """Empirical-Bayes shares from a nonparametric mixture prior.

    The shares of all categories are treated as draws from one unknown prior, which is learned from
    the reports. It is the mixture of point masses on a grid that makes the estimates most probable.
    Its mean is fixed, because shares sum to one. Where nearly all categories are empty, the prior
    reflects that, and noise is not mistaken for data. You set no sparsity and no threshold. This
    is the default decoder for categories.

    Parameters
    ----------
    estimate : {"mean", "median"}
        Summary of the posterior of a share. The mean has the least squared error, and the median
        sets shares that are probably empty to zero. For the largest shares the mean is adjusted,
        because an error there costs more: significant shares stay near their unbiased estimate.
        Default: "mean".
    signed : bool
        Whether to keep the posterior estimates, whose sum need not be one, as
        :attr:`Distribution.signed`. The distribution itself projects means onto the simplex, which
        takes least from the largest. If the medians sum to less than one, it spreads the remainder
        evenly over the zeros. In the L1 distance the posterior estimates are better where most of
        the mass lies in a tail that cannot be identified. Default: False.
    iterations : int
        Iterations of the EM algorithm that learns the prior, at least 1. Default: 300.
    band : bool
        Whether to compute the confidence band of the unbiased shares. It depends on the channel and
        the tally, not on the shrunk estimate: see :meth:`Band.share_inside`. Default: True.

    See Also
    --------
    SpectralPrior : For ordered domains. It uses neighboring values.
    LeastSquares : For an unbiased estimate.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** The benchmarks compare it with the best of nine decoders on 24 sparse and
    heavy-tailed populations of 10,000 categories, and on Kosarak's clicks (`benchmarks/accuracy`).
    They also compare it with the unbiased estimate on the 50 largest of 16,000 labels. The squared
    error is near that of the unbiased estimate where the smallest of the 50 is six standard
    deviations or more above zero. It is up to three times as large where the smallest cannot be
    distinguished from the noise of thousands of labels.

    Up to 100 labels the estimate is the posterior mean. For fewer than 100 it is weighted by how
    much the estimates indicate that shrinking helped. Unequal shares of 4 to 50 labels then have
    about the error of the nearest distribution, or less. Equal shares have far less. Where 500 or
    more labels have the same share, the error is up to 1.5 times that of the mean. That is a
    hundredth of the noise. The order of the categories is not used.

    **Cost.** O(size) time, and tens of milliseconds for the prior.

    A share theta has the estimate ``z ~ N(theta, empty + slope theta)``. The grid has zero, small
    fractions of a standard deviation, and steps of a quarter of it. It ends above the largest
    estimate that is not kept. EM for the weights w of the grid maximizes ``sum(c log w)``, with c
    the mean posterior, subject to ``sum(w) = 1`` and ``sum(w theta) = m``. The solution is
    ``w = c / (1 + lambda (theta - m))``. Without the second constraint each empty category keeps a
    little mass, and together they have a large share. Estimates above 10 standard deviations are
    kept as they are, and m is the mass that they leave to the others.

    The mixture is that of [1]_. The constraint, and the treatment of large shares, are this
    library's own.

    References
    ----------
    .. [1] J. Kiefer, J. Wolfowitz, "Consistency of the maximum likelihood estimator in the presence
       of infinitely many incidental parameters", Annals of Mathematical Statistics 27(4), 1956.
       doi:10.1214/aoms/1177728066

    Examples
    --------
    >>> import lapwing as lw
    >>> subsets = lw.SubsetSelection(lw.Categories(1000), epsilon=1)
    >>> people = [0] * 1000
    >>> people[3], people[4] = 30_000, 20_000
    >>> result = lw.MixturePrior().decode(subsets.channel, lw.simulate(subsets, people, rng=1))
    >>> result.mass[[3, 4]].round(1).tolist(), round(float(result.mass.sum()), 6)
    ([0.6, 0.4], 1.0)
    """

    _: KW_ONLY
    estimate: Literal["mean", "median"] = "mean"
    signed: bool = False
    iterations: AtLeastOne = 300
    band: bool = True

    name: ClassVar[str] = "mixture-prior"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the shrunk shares.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not estimate the share of every category separately.
        """
        found = unbiased_shares(channel, tally)
        smaller = shrunk(found.with_total(), estimate=self.estimate, iterations=self.iterations)
        free = smaller.free
        mass = smaller.mass if self.estimate == "mean" else spread(free, kept=free > 0)
        band = available_band(channel, tally, mass) if self.band else None
        provenance, signed = decoder_document(self), None
        if self.signed:
            signed = SignedEstimate(channel.domain, free, tally.total, uncertainty=band)
        return distribution_of(
            channel, tally, mass, provenance=provenance, uncertainty=band, signed=signed
        )


def shrunk(
    found: UnbiasedShares, *, estimate: Literal["mean", "median"] = "mean", iterations: int = 300
) -> ShrunkShares:
    """Return posterior means or medians of all shares, none of them negative."""
    shares, symbols = np.maximum(found.shares, 0.0), found.shares.size
    # Laplace noise of 14 standard deviations is as rare as normal noise of 6.
    most = CERTAIN if found.tails == "normal" else 2 * CERTAIN
    certain = found.shares > most * np.sqrt(found.variance(shares))
    if found.own is not None:
        certain |= found.own
    left = 1 - float(shares[certain].sum())
    unsure = np.flatnonzero(~certain)
    costs = np.ones(shares.size)
    if unsure.size == 0:
        return ShrunkShares(shares, costs)
    if left <= 0:
        # The certain ones hold everything already: nothing is left for the others.
        shares[unsure] = 0.0
        return ShrunkShares(shares, costs)
    if found.empty[unsure].min() >= UNKNOWN:
        shares[unsure] = left / unsure.size
        return ShrunkShares(shares, costs)
    # Where labels are few, what is learned of them is doubted; Stein's risk is that of normal
    # noise.
    doubt = doubtfulness(symbols) if found.tails == "normal" and estimate == "mean" else 0.0
    learn = partial(
        LearnedMixture.of, found, unsure, mean=left / unsure.size, iterations=iterations
    )
    learned, foretold = learn(added=doubt), 0.0
    if doubt:
        foretold = evidence(learned)
        learned = learn(added=doubt * (1 - clearness(foretold, unsure.size)))
    if estimate == "median":
        learned.read(learned.medians(), found.shares, shares)
        return ShrunkShares(shares, costs)
    head = Head.of(learned, symbols=symbols, certain=int(certain.sum()), tails=found.tails)
    learned.read(head.estimates, found.shares, shares)
    learned.read(head.costs, found.shares, costs)
    costs[certain] = head.costs.max()
    answer = ShrunkShares(shares, costs)
    if not doubt:
        return answer
    belief = 1 - doubt * (1 - belief_in(learned, found, answer.mass, foretold=foretold))
    return DoubtedShares.of(answer, found.shares, belief)
