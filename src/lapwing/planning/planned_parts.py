"""The mixture components of a multiscale wave for one column: those of the least predicted error.

The default mixture suits smooth, rough and atomic columns at once, so each pays for the others. On
a smooth column a sixth of the people report about fine bins without features. It can be avoided if
you know a similar column, or have the published answer of a first epoch (:func:`next_randomizer`).

Near a known column the log-likelihood of reports is a parabola, and information adds up. That of a
mixture is the sum of its components', each times the people who use it. Typical reports of this
column determine what the decoder will learn of smoothness, spikes and steps. So the error of a
mixture is that of a Gaussian posterior, a few milliseconds each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import cholesky

from lapwing.decoders.empirical_bayes.coarse_model import Cells
from lapwing.decoders.empirical_bayes.dense_model import learned_prior, pilot_of
from lapwing.decoders.empirical_bayes.gaussian_model import Posterior, ScaledBasis
from lapwing.decoders.empirical_bayes.spectral_prior import SYMBOL_LIMIT
from lapwing.errors import ArgumentError, DomainError, MismatchError, kind_of
from lapwing.linear.arrays import Matrix, Vector, one_thread
from lapwing.planning.expected_error import USER_LIMIT
from lapwing.privacy.exact_numbers import ExactNumber, check_whole
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.numerical.multiscale_wave import (
    MultiscaleWave,
    Wave,
    default_mixture,
    fitted,
)
from lapwing.results.distribution import Distribution

CELLS = 256
"""Most blocks of symbols that errors are predicted on, however many symbols there are."""

_BLUR = 5 / 256
"""Standard deviation of the filter that makes an answer a local density, as in the decoder."""

_PASSES = 2

_RIDGES = (1e-9, 1e-7, 1e-5)
"""Added to a singular matrix before its root is taken, as parts of its mean diagonal."""

_DRAWS = 64
"""Curves that are drawn from a posterior for their largest error: always the same normal ones."""

_LEFT = 0.1
"""Least part of a variance that is left after the draw of the people is taken out of it."""


class CurveRisk:
    """Errors that reports about one column will leave.

    domain: Ordered.
    mass: float64 [domain.size], the column: a public one, or a published estimate.
    starts: Symbols at which a block of symbols must begin.
    """

    def __init__(self, domain: Domain, mass: Vector, *, starts: Sequence[int] = ()) -> None:
        size = domain.size
        width = -(-size // CELLS)
        laid = ScaledBasis(domain, limit=1)
        (places,) = np.nonzero(laid.apart)
        every = np.arange(0, size, width)
        asked = np.array(starts, dtype=np.int64)
        start = np.unique(np.concatenate([every, places, places + 1, asked]))
        start = start[start < size]
        self._cells = Cells.of(start, size)
        self._scaled = laid.merged(start, width=width, blur=_BLUR)
        self._mass = self._cells.total(mass)
        self._spread = self._cells.of_symbols(pilot_of(self._mass, self._scaled.uniform))
        self._draws = np.random.default_rng(0).standard_normal((_DRAWS + 1, start.size))

    def information(self, channel: Channel) -> Matrix:
        """Return what one report says of the masses of the cells: float64 [cells, cells].

        The mean over the groups of a channel. Within a cell people are spread evenly.
        """
        spread = self._cells.spread()
        total = np.zeros((spread.shape[1],) * 2)
        for block in channel.blocks:
            nothing = np.zeros(block.outputs, dtype=np.int64)
            _, operator = block.score_and_information(self._spread, nothing, 1)
            total += block.share * self._cells.averaged(operator.matmat(spread))
        return (total + total.T) / 2

    def prior(self, information: Matrix) -> LearnedPrior:
        """Return what the decoder learns from typical reports of this information.

        Their score is what is expected on this column, and noise of the size it will have. Without
        noise, waves too small to be seen would count as waves that are known to be absent.

        information: float64 [cells, cells], of all reports.
        """
        score = information @ self._mass + _root(information) @ self._draws[0]
        answer = None
        for _ in range(_PASSES):
            prior = learned_prior(information, score, self._scaled, answer)
            answer = Posterior.of(information, score, prior.mean, prior.covariance).distribution()
        return LearnedPrior(prior.mean, prior.allowed())

    def errors(
        self, information: Matrix, prior: LearnedPrior, *, people: int
    ) -> tuple[float, float]:
        """Return the expected Wasserstein-1 distance, as a share of the range, and the largest gap.

        Both are to the respondents: their sampling from a population is taken out.

        information: float64 [cells, cells], of all reports.
        prior: Prior of the column.
        people: Number of respondents.
        """
        zero = np.zeros(len(information))
        covariance = Posterior.of(information, zero, prior.mean, prior.covariance).covariance
        curves = np.cumsum(_root(covariance), axis=0)
        variance = np.einsum("ij,ij->i", curves, curves)
        below = np.minimum(np.cumsum(self._mass), 1.0)
        drawn = below * (1 - below) / people
        kept = np.sqrt(np.maximum(1 - drawn / variance, _LEFT))
        gaps = np.abs(curves @ self._draws[1:].T) * kept[:, None]
        # Of a normal error, to which the draws above are too few.
        mean = np.sqrt(2 / np.pi * variance) * kept
        extent = np.diff(np.append(self._cells.start, self._cells.cell.size))
        return float(mean @ extent / extent.sum()), float(gaps.max(axis=0).mean())

    def linear_errors(
        self, information: Matrix, prior: LearnedPrior, weights: Matrix, *, people: int
    ) -> Vector:
        """Return the standard errors of sums of masses, about the respondents: float64 [sums].

        information: float64 [cells, cells], of all reports.
        prior: Prior of the column.
        weights: float64 [sums, symbols].
        people: Number of respondents.
        """
        zero = np.zeros(len(information))
        covariance = Posterior.of(information, zero, prior.mean, prior.covariance).covariance
        averaged = self._cells.averaged(weights.T).T
        variance = np.maximum(np.einsum("ij,ij->i", averaged @ covariance, averaged), 0.0)
        mean = averaged @ self._mass
        drawn = np.maximum(averaged**2 @ self._mass - mean**2, 0.0) / people
        errors: Vector = np.sqrt(np.maximum(variance - drawn, _LEFT * variance))
        return errors


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """Prior that a decoder has learned of a column, with what it could not exclude.

    mean: float64 [cells].
    covariance: float64 [cells, cells], with spikes that may be there unseen.
    """

    mean: Vector
    covariance: Matrix


def _root(matrix: Matrix) -> Matrix:
    """Return a lower triangle whose square is a matrix that may be singular but for rounding.

    Unlike the eigenvectors it is the same on every machine, and so are the parts that it chooses.
    """
    for ridge in _RIDGES:
        raised = matrix.copy()
        raised[np.diag_indices_from(raised)] += ridge * np.trace(matrix) / len(matrix)
        try:
            root: Matrix = cholesky(raised, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return root
    return np.diag(np.sqrt(np.maximum(matrix.diagonal(), 0.0)))


SUBSETS = (0.25, 0.5, 1.0, 2.0)
"""Factors of the subsets' share."""

NARROW = (0.0, 1.0)
"""Factors of the narrowest wave's share."""

WIDTHS = (0.8, 1.0, 1.25)
"""Factors of the widths of all waves."""

GAIN = 0.03
"""What must be gained of both errors to leave the default mixture: less is in doubt."""


def tables(epsilon: ExactNumber) -> Iterator[tuple[Wave, ...]]:
    """Yield the tables that are compared, the default mixture first."""
    yield default_mixture(float(epsilon))
    for subsets, narrow, widths in product(SUBSETS, NARROW, WIDTHS):
        if (subsets, narrow, widths) != (1.0, 1.0, 1.0):
            yield bent(
                default_mixture(float(epsilon)), subsets=subsets, narrow=narrow, widths=widths
            )


def bent(
    table: Sequence[Wave], *, subsets: float, narrow: float, widths: float
) -> tuple[Wave, ...]:
    """Return a table with other shares and widths.

    table: Mixture components.
    subsets: Factor of the share of all subsets. Waves get the rest.
    narrow: Factor of the share of the narrowest wave among the waves.
    widths: Factor of the waves' widths.
    """
    waves = [part for part in table if part[0] == "wave"]
    sets = [(kind, size, share * subsets) for kind, size, share in table if kind != "wave"]
    least = min(size for _, size, _ in waves)
    weighed = [
        (kind, round(size * widths, 3), share * (narrow if size == least else 1.0))
        for kind, size, share in waves
    ]
    left = 1 - math.fsum(share for _, _, share in sets)
    total = math.fsum(share for _, _, share in weighed)
    kept = [(kind, size, share * left / total) for kind, size, share in weighed if share > 0]
    return tuple((kind, size, round(share, 9)) for kind, size, share in [*kept, *sets])


@one_thread
def planned_parts(
    domain: Domain,
    mass: Vector,
    *,
    epsilon: ExactNumber,
    users: int,
    before: Sequence[tuple[Channel, int]] = (),
) -> tuple[Wave, ...]:
    """Return the components of least predicted error on a column, for :class:`MultiscaleWave`.

    domain: Ordered domain of at least 8 bins.
    mass: The column, float64 [domain.size]: a public one, or the published answer of a first epoch.
        The components reveal something of it, so it must not be anybody's secret.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    users: Number of people who will report with these components.
    before: Channels through which others have reported, and their numbers. Their reports and the
        new ones will be decoded together. Default: none.
    returns: Mixture components.

    The error is the larger of two ratios to that of the default mixture. They are those of the
    expected Wasserstein-1 distance and of the expected largest gap. By their product, columns with
    many small spikes lost the subsets that find them, and a few percent of the distance. No mixture
    has less than a quarter of the default's subsets of fine bins. An estimate may not show all
    features, and a column may change until the next epoch. Where there are none, this costs one to
    two percent of the error.

    **Cost.** 0.6 s at 256 bins and 1.5 s at 1024, of which 10 ms for each of 24 mixtures. They are
    compared on at most 256 blocks of bins.
    """
    risk = CurveRisk(domain, mass)
    known: dict[tuple[str, float], Matrix] = {}

    def one_report(table: Sequence[Wave]) -> Matrix:
        total: Matrix = np.zeros(())
        for kind, size, share in table:
            if (kind, size) not in known:
                alone = MultiscaleWave(domain, epsilon, components=[(kind, size, 1.0)])
                known[kind, size] = risk.information(alone.channel)
            total = total + share * known[kind, size]
        return total

    made = [fitted(table, domain) for table in tables(epsilon)]
    so_far = [people * risk.information(channel) for channel, people in before]
    seen = sum(so_far[1:], so_far[0]) if so_far else users * one_report(made[0])
    prior = risk.prior(seen)
    people = users + sum(number for _, number in before)

    def errors(table: Sequence[Wave]) -> tuple[float, float]:
        information = users * one_report(table) + (seen if so_far else 0.0)
        return risk.errors(information, prior, people=people)

    usual = errors(made[0])

    def cost(table: Sequence[Wave]) -> float:
        return max(one / other for one, other in zip(errors(table), usual, strict=True))

    best = min(made, key=cost)
    return best if cost(best) < 1 - GAIN else made[0]


LEAST = 8
"""Symbols that a multiscale wave needs."""


def next_randomizer(
    randomizer: Randomizer[Any], answer: Distribution, *, users: int | None = None
) -> MultiscaleWave:
    """Return the multiscale wave of least predicted error when both epochs are decoded together.

    randomizer: Randomizer of the epoch so far, over numbers. The new one has its domain and its
        epsilon.
    answer: Answer of its reports. All of them are counted as if this randomizer had made them.
        Where several have, what is known already is slightly over- or underestimated.
    users: Number of people who will report next. Default: as many as have.
    returns: Randomizer of the next epoch.

    Raises ArgumentError when the answer is not one of reports, or `users` is out of range.
    Raises DomainError when the domain has no order, less than 8 bins or more than 65,536.
    Raises MismatchError when the answer is on another domain.
    """
    domain = randomizer.domain
    if not domain.ordered or not LEAST <= domain.inside_size <= SYMBOL_LIMIT:
        raise DomainError(
            f"the next epoch is planned only for numbers with {LEAST} to {SYMBOL_LIMIT} bins. "
            "Ask the same survey again, and add the tallies"
        )
    if not isinstance(answer, Distribution):
        raise ArgumentError("answer", "must be a decoded Distribution", kind_of(answer))
    if answer.domain.to_document() != domain.to_document():
        raise MismatchError(
            "the answer must be on the domain of the survey. Decode its tally at its own bins"
        )
    if answer.guarantee is None or answer.guarantee.model != "local" or answer.reports < 1:
        raise ArgumentError(
            "the next epoch needs the answer of a survey: mixture components chosen by raw "
            "values would reveal something about them. For a public column see recommend(like=...)"
        )
    if users is None:
        users = answer.reports
    check_whole("users", users, low=1, high=USER_LIMIT, error=ArgumentError)
    parts = planned_parts(
        domain,
        answer.mass,
        epsilon=randomizer.epsilon,
        users=users,
        before=[(randomizer.channel, answer.reports)],
    )
    return MultiscaleWave(domain, randomizer.epsilon, components=parts)
