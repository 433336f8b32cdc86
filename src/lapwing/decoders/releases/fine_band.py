"""The error distribution of a release at all bins, where its prior was learned for cells of them.

The prior of the cells says nothing of how the people of a cell are divided among its bins. A
release with little noise shows it. If the division is taken as known, the posterior of the cells
is too sure of itself, and its center is off. So each bin has a mass of its own here, in addition to
its share of the mass of its cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

from lapwing.decoders.empirical_bayes.coarse_model import Cells
from lapwing.decoders.empirical_bayes.dense_model import WholeAnswer
from lapwing.decoders.empirical_bayes.spectral_prior import METHOD, POINTWISE, SIMULTANEOUS
from lapwing.linear.arrays import Matrix, Vector, running_sums
from lapwing.linear.operators.operator import Operator
from lapwing.results.spread_law import Spread, SpreadLaw
from lapwing.results.uncertainty import RANK, Uncertainty, Variants, as_stored, triangular

FINE = 4200
"""Most symbols whose matrices are held: 4096 bins take 0.5 GB and 3 s."""

_TOTAL = 100.0
"""Information about a known total, in units of the most that the answers say about one bin."""


@dataclass(frozen=True, eq=False)
class FineLikelihood:
    """The log-likelihood ``s'x - x'Hx / 2`` of the people's masses x of all symbols.

    information: H, float64 [symbols, symbols].
    score: s, float64 [symbols].
    """

    information: Matrix
    score: Vector

    @classmethod
    def of(
        cls, operator: Operator, answers: Vector, *, people: int, variance: float, hidden: bool
    ) -> FineLikelihood:
        """Return that of answers with noise of this variance.

        operator: Strategy, of shape [answers, symbols].
        answers: float64 [answers], in people.
        people: Number of people of whom the masses are shares.
        hidden: Whether that number is an estimate. If not, the total of the masses is known to be
            one.
        """
        information = operator.gram()
        information *= people**2 / variance
        score = operator.rmatvec(answers) * (people / variance)
        if not hidden:
            known = _TOTAL * float(information.diagonal().max())
            information += known
            score = score + known
        return cls(information, score)


@dataclass(frozen=True, eq=False)
class Deviations:
    """Posterior of the sums of ``weight * v``, given the masses of the cells.

    weight: float64 [symbols].
    variance: Of the sum up to each symbol, float64 [symbols].
    at_ends: float64 [cells, symbols]: rows whose products are the covariances of the sums up to the
        last symbol of each cell.
    with_total: Covariance of each entry with the sum of all, float64 [symbols].
    """

    weight: Vector
    variance: Vector
    at_ends: Matrix
    with_total: Vector


@dataclass(frozen=True, eq=False)
class FinePosterior:
    """The posterior of ``x = Q c + v``: masses c of cells, spread by Q, and v ~ N(0, diag(d)).

    carried: v moves against Q c so that x is ``carried @ c + offset``: float64 [symbols, cells].
    offset: float64 [symbols].
    variance: Of each entry of v given c, float64 [symbols].
    information, score: Quadratic likelihood of the cells: float64 [cells, cells] and [cells].
    deviations: For each weight that was asked for.
    """

    carried: Matrix
    offset: Vector
    variance: Vector
    information: Matrix
    score: Vector
    deviations: list[Deviations]

    @classmethod
    def of(
        cls, likelihood: FineLikelihood, cells: Cells, inner: Vector, weights: Sequence[Vector]
    ) -> FinePosterior:
        """Return it under variances d of v.

        inner: d, float64 [symbols].
        weights: Of :class:`Deviations`.

        With ``K K' = I + d^1/2 H d^1/2`` and ``W = d^1/2 K'^-1``, the covariance of v given c is
        ``W W'``. The answers say of c what they say of x, minus what v explains:
        ``Q' (H - H W W' H) Q``. It is ``Q' (D^-1 - D^-1 W W' D^-1) Q`` with D = diag(d).

        O(symbols^3), of which all is LAPACK's, and O(symbols^2 * cells).
        """
        size, number = cells.cell.size, cells.start.size
        root = np.sqrt(inner)
        system = likelihood.information * root
        system *= root[:, None]
        system[np.diag_indices_from(system)] += 1
        lower, failed = dpotrf(system.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError(
                "the information matrix of the answers is not positive definite"
            )
        inverse, _ = dtrtri(lower, lower=1, overwrite_c=1)
        through = np.zeros((number, size))
        own = np.zeros(size)
        sums = [np.zeros(size) for _ in weights]
        variances = [np.zeros(size) for _ in weights]
        at_ends = [np.zeros((number, size)) for _ in weights]
        spread = cells.share / root
        # A row of K'^-1 at a time, which stays in the cache. Before its diagonal there is nothing.
        for place, (cell, row) in enumerate(zip(cells.cell, inverse.T, strict=True)):
            held = row[place:]
            through[cell, place:] += spread[place] * held
            own[place] = held @ held
            for weight, total, variance, ends in zip(
                weights, sums, variances, at_ends, strict=True
            ):
                total[place:] += (weight[place] * root[place]) * held
                variance[place] = total @ total
                ends[cell] = total
        told = dtrmm(1.0, inverse, (root * likelihood.score)[:, None], lower=1)[:, 0]
        columns = np.column_stack([through.T, told, *sums])
        columns = root[:, None] * dtrmm(1.0, inverse, columns, lower=1, trans_a=1)
        carried, offset = columns[:, :number], columns[:, number]
        information = -through @ through.T
        information[np.diag_indices_from(information)] += cells.total(spread**2)
        deviations = [
            Deviations(weight, variance, ends, weight * with_total)
            for weight, variance, ends, with_total in zip(
                weights, variances, at_ends, columns.T[number + 1 :], strict=True
            )
        ]
        return cls(carried, offset, own * inner, information, through @ told, deviations)


def fine_band(
    likelihood: FineLikelihood, learned: WholeAnswer, cells: Cells, waves: Matrix, single: Vector
) -> Uncertainty:
    """Return the error distribution under the widened prior, for every target and kind of band.

    learned: Of the cells.
    waves, single: Floor of the prior of the cells: columns of shapes, float64 [cells, frequencies],
        and variances of single cells, float64 [cells]. These are divided among the bins of a cell.

    The people's masses are those of the population plus the deviation of their sample. In an entry
    of v the population's part has the variance `kept * d`. So the law of the population is that of
    ``Q c + kept * v``, to which the rest of the sample's variance is added.

    The total is free in the prior. In the end all is divided by it. That is exact to first order.

    O(symbols^3).
    """
    evidence, fitted = learned.evidence, learned.prior
    mass = cells.of_symbols(evidence.pilot)
    sampled = mass / evidence.reports
    laws = {}
    for kind, (amplify, floor) in (("pointwise", POINTWISE), ("simultaneous", SIMULTANEOUS)):
        prior = amplify * fitted.allowed() + floor * waves @ waves.T
        prior += np.outer(evidence.pilot, evidence.pilot)
        inner = floor * cells.of_symbols(single)
        kept = inner / (inner + sampled)
        posterior = FinePosterior.of(likelihood, cells, inner + sampled, [np.ones(mass.size), kept])
        factor = _posterior_factor(posterior.information, prior)
        score = posterior.score - posterior.information @ fitted.mean
        center = fitted.mean + factor @ (factor.T @ score)
        drawn = {"empirical": np.zeros(mass.size), "population": kept * sampled}
        for (target, again), left in zip(drawn.items(), posterior.deviations, strict=True):
            law, remainder = _spread_law(posterior, left, cells, center, factor, again)
            laws[f"{target}_{kind}"] = Uncertainty.spread(
                law, remainder, mass, evidence.reports, METHOD
            )
    return replace(laws.pop("empirical_pointwise"), variants=Variants(**laws))


def _posterior_factor(information: Matrix, prior: Matrix) -> Matrix:
    """Return F such that ``F F'`` is the posterior covariance under a prior of this covariance."""
    root = triangular(prior)
    system = root.T @ information @ root
    system = (system + system.T) / 2
    system[np.diag_indices_from(system)] += 1
    factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    found: Matrix = solve_triangular(factor, root.T, lower=True, check_finite=False).T
    return found


def _spread_law(
    posterior: FinePosterior,
    left: Deviations,
    cells: Cells,
    center: Vector,
    factor: Matrix,
    again: Vector,
) -> tuple[SpreadLaw, Vector]:
    """Return the error distribution of ``Q c + weight * v``, divided by its total, and its rest.

    left: With the weight.
    center, factor: Mean of c, float64 [cells], and columns of its covariance, float64 [cells,
        columns].
    again: Variances of independent errors that are added, float64 [symbols].
    """
    weight = left.weight[:, None]
    carried = (1 - weight) * cells.spread() + weight * posterior.carried
    found = carried @ center + left.weight * posterior.offset
    total = found.sum()
    share = found / total
    columns = carried @ factor
    with_total = columns @ columns.sum(axis=0) + left.with_total + again
    free = with_total.sum()
    # An error of a share is that of its mass, minus the share times that of the total.
    of_bins = (columns**2).sum(axis=1) + left.weight**2 * posterior.variance + again
    of_bins += share * (share * free - 2 * with_total)
    high, curve, along = running_sums(columns), np.cumsum(share), np.cumsum(with_total)
    of_sums = (high**2).sum(axis=1) + left.variance + np.cumsum(again)
    of_sums += curve * (curve * free - 2 * along)
    last = np.append(cells.start[1:], share.size) - 1
    crossed = np.outer(curve[last], along[last] - free / 2 * curve[last])
    covariance = high[last] @ high[last].T + left.at_ends @ left.at_ends.T - crossed - crossed.T
    covariance += np.cumsum(again)[np.minimum.outer(last, last)]
    heights = np.diff(triangular(covariance, limit=RANK), axis=0, prepend=0.0) / total
    law = SpreadLaw(Spread(cells.start, cells.share), share, as_stored(heights))
    return law, _remainder(law, of_sums / total**2, of_bins / total**2)


def _remainder(law: SpreadLaw, of_sums: Vector, of_bins: Vector) -> Vector:
    """Return the variance of the sums that a law of cells leaves out, as independent errors.

    Errors of neighboring sums are not independent. So what single bins have too little of it is
    divided between the sums at both of their ends.
    """
    columns = law.spread.over_symbols(law.factor)
    rest = np.maximum(of_sums - (running_sums(columns) ** 2).sum(axis=1), 0.0)
    rest[-1] = 0.0
    lacking = of_bins - (columns**2).sum(axis=1) - rest
    lacking[1:] -= rest[:-1]
    lacking = np.maximum(lacking, 0.0) / 2
    rest[:-1] += lacking[:-1] + lacking[1:]
    return as_stored(rest)
