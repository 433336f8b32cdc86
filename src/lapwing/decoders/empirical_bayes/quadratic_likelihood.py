"""What the reports say near a pilot: a quadratic likelihood, as a matrix or as operators.

First step of a pass. Near a distribution that is close to the truth every block's log-likelihood
is a parabola, so a normal prior gives a normal posterior. Up to a few hundred symbols its matrix
is kept whole (`quadratic_likelihood`), above only its products (`Likelihood`). The
prior is learned next, in `dense_model.py` or `low_rank_prior.py`; cells of many symbols have the
matrix of their sums (`cells.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.operators.operator import Operator
from lapwing.linear.operators.stacked import dense
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import CountTally


def quadratic_likelihood(
    channel: Channel, tally: CountTally, pilot: Vector
) -> tuple[Matrix, Vector]:
    """Return (H, s) such that the log-likelihood near the pilot is ``s'x - x'Hx / 2 + constant``.

    H is the expected information of all blocks and s the score at the pilot plus ``H pilot``.
    Blocks without a likelihood contribute their composite one.

    Parameters
    ----------
    channel : Channel
    tally : CountTally
    pilot : numpy.ndarray
        float64 [size], positive.

    Notes
    -----
    O(outputs * size) per structured block, as its operator is applied to a matrix once.
    """
    size = channel.domain.size
    terms, slope = likelihood_terms(channel, tally, pilot)
    information = np.zeros((size, size))
    for term in terms:
        information += dense(term)
    information = (information + information.T) / 2
    return information, slope + information @ pilot


def likelihood_terms(
    channel: Channel, tally: CountTally, pilot: Vector
) -> tuple[list[Operator], Vector]:
    """Return the information of every block with reports, and the score of all at the pilot."""
    terms: list[Operator] = []
    slope = np.zeros(channel.domain.size)
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        if reports:
            score, information = block.score_and_information(pilot, counts, reports)
            slope += score
            terms.append(information)
    return terms, slope


@dataclass(frozen=True, eq=False)
class Evidence:
    """The quadratic likelihood as a matrix of all symbols, and the pilot it was taken at.

    Parameters
    ----------
    information : numpy.ndarray
        float64 [size, size].
    score : numpy.ndarray
        float64 [size].
    pilot : numpy.ndarray
        float64 [size].
    reports : int
    """

    information: Matrix
    score: Vector
    pilot: Vector
    reports: int


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The quadratic likelihood ``s'x - x'Hx / 2`` near a pilot, with H as operators.

    Parameters
    ----------
    terms : sequence of Operator
        The information of every block; H is their sum.
    score : numpy.ndarray
        float64 [size], s.
    """

    terms: Sequence[Operator]
    score: Vector

    @classmethod
    def of(cls, channel: Channel, tally: CountTally, pilot: Vector) -> Likelihood:
        """Return that of a tally at a pilot of positive masses."""
        terms, slope = likelihood_terms(channel, tally, pilot)
        without = cls(terms, slope)
        return cls(terms, slope + without.curved(pilot))

    def curved(self, masses: Matrix) -> Matrix:
        """Return H times a vector or a matrix: float64 of the shape given."""
        product = np.zeros(masses.shape)
        for term in self.terms:
            product += term.matvec(masses) if masses.ndim == 1 else term.matmat(masses)
        return product

    def score_at(self, masses: Vector) -> Vector:
        """Return the score of the quadratic at some masses, ``s - H masses``: float64 [size]."""
        return self.score - self.curved(masses)

    def near_diagonal(self, lags: int) -> Matrix:
        """Return the entries (i, i + lag) of H: float64 [lags, size]."""
        bands = np.zeros((lags, self.score.size))
        for term in self.terms:
            bands += term.near_diagonal(lags)
        return bands
