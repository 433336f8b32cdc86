"""How large the error of a curve will be, from the information of reports: none are drawn.

Near a known column the likelihood of reports is a parabola, and information adds up: that of a
table of parts is the sum of its parts', each times the people who are asked by it. What the
decoder will have learned of smoothness, spikes and steps is what it learns from typical reports of
this column. So the error of a table is that of a normal posterior, a few milliseconds each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky

from lapwing.decoders.empirical_bayes.coarse_model import Cells
from lapwing.decoders.empirical_bayes.dense_model import learned_prior, pilot_of
from lapwing.decoders.empirical_bayes.gaussian_model import Posterior
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.domain import Domain

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

    Parameters
    ----------
    domain : Domain
        Ordered.
    mass : numpy.ndarray
        float64 [domain.size], the column: a public one, or a published estimate.
    """

    def __init__(self, domain: Domain, mass: Vector) -> None:
        size = domain.size
        width = -(-size // CELLS)
        laid = ScaledBasis(domain, limit=1)
        (places,) = np.nonzero(laid.apart)
        start = np.unique(np.concatenate([np.arange(0, size, width), places, places + 1]))
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

        Their score is what is expected on this column, and noise of the size it will have: without
        any, waves too small to be seen would pass for waves that are known not to be there.

        Parameters
        ----------
        information : numpy.ndarray
            float64 [cells, cells], of all reports.
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
        """Return the expected W1, as a share of the range, and the expected largest gap.

        Both are to the people who report: their draw from a population is taken out.

        Parameters
        ----------
        information : numpy.ndarray
            float64 [cells, cells], of all reports.
        prior : LearnedPrior
        people : int
            Who report.
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


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """What a decoder has learned of a column, and what it could not exclude.

    Parameters
    ----------
    mean : numpy.ndarray
        float64 [cells].
    covariance : numpy.ndarray
        float64 [cells, cells], with spikes that may be there unseen.
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
