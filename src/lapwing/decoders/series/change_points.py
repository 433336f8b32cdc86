"""An anytime-valid test for a change of a distribution, which may be repeated every week.

For each week tau at which a change may have begun there is a Bayes factor. It is that of "one level
before tau, another from tau on" against "one level throughout". While nothing changes it is a
martingale, because every week's reports multiply it by a likelihood ratio. So is their mean,
weighted by a prior of tau. It starts at 1, and the probability that it ever exceeds 1 / alpha is at
most alpha (Ville's inequality, 1939). So a look costs nothing, and neither does looking again.

The level does not matter, because it is integrated out under the same flat prior on both sides. How
large a change is and where, is integrated out too, under a mixture of sizes with a smooth spectrum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log1p

import numpy as np

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.random_walk import PseudoMeasurement, evidence_of, filtered, smoothed

SIZES = (0.05, 0.1, 0.2, 0.4)
"""Standard deviations of the lowest wave of a change, as parts of the density's height."""
# Equally probable. A change of .1 in the largest gap of the curves is about .25.

WAVES = 24
"""Frequencies that are watched: a finer change does not show in a week's reports."""

_LEVEL = 4.0
"""Prior variance of the level's amplitudes: nearly flat."""


@dataclass(frozen=True)
class Verdict:
    """Result of a test.

    evidence: Logarithm of the martingale, which is 1 at the start.
    begun: The week at which a change most probably began, if there was one. It is 0 before there
        are two weeks.
    """

    evidence: float
    begun: int


def verdict(looks: Sequence[PseudoMeasurement], shape: Vector) -> Verdict:
    """Return the evidence that the state changed at one of these weeks.

    looks: One for each week since the reference, in order, all at one pilot that was chosen before.
    shape: float64 [state]: variances of a change of size 1.

    O(weeks * state^3).
    """
    weeks = len(looks)
    if weeks < 2:
        return Verdict(0.0, 0)
    whole = _added(looks)
    before = PseudoMeasurement(np.zeros_like(whole.information), np.zeros_like(whole.score))
    factors, weights = [], []
    for begun in range(1, weeks):
        last = looks[begun - 1]
        before = PseudoMeasurement(before.information + last.information, before.score + last.score)
        after = PseudoMeasurement(
            whole.information - before.information, whole.score - before.score
        )
        factors.append(evidence_at(before, after, shape))
        weights.append(-log(begun * (begun + 1)))
    # What may begin later has a factor of 1 so far: the weights that are left, 1 / weeks.
    terms = np.add(factors, weights)
    evidence = float(np.logaddexp(np.logaddexp.reduce(terms), -log(weeks)))
    return Verdict(evidence, 1 + int(np.argmax(terms)))


def evidence_at(before: PseudoMeasurement, after: PseudoMeasurement, shape: Vector) -> float:
    """Return the logarithm of the Bayes factor of a change between two looks against none."""
    level = _LEVEL * np.eye(shape.size)
    pair = (before, after)
    none = evidence_of(pair, level, np.zeros((2, shape.size)))
    moved = [evidence_of(pair, level, np.outer([0.0, size**2], shape)) - none for size in SIZES]
    return float(np.logaddexp.reduce(moved)) - log(len(SIZES))


def moved_by(
    looks: Sequence[PseudoMeasurement], begun: int, shape: Vector
) -> tuple[Vector, Matrix]:
    """Return how far the state moved at a week, and the covariance of that: [state], its square.

    begun: The first week after the change, in 1..weeks - 1.
    shape: float64 [state].
    """
    pair = (_added(looks[:begun]), _added(looks[begun:]))
    steps = np.outer([0.0, SIZES[-1] ** 2], shape)
    after = smoothed(filtered(pair, _LEVEL * np.eye(shape.size), steps))
    cross = after.between(0, 1)
    covariance = after.covariance[0] + after.covariance[1] - cross - cross.T
    return after.mean[1] - after.mean[0], covariance


def without_finer(look: PseudoMeasurement, watched: int) -> PseudoMeasurement:
    """Return what a week says about the first amplitudes, whatever the others are.

    The others are integrated out under the prior of a level. With B their information, C that
    across and d their score: ``A - C (I / 4 + B)^-1 C'`` and ``b - C (I / 4 + B)^-1 d``. So a
    distribution with more detail than is watched does not look like a change when another
    randomizer sees it otherwise.
    """
    if watched == look.score.size:
        return look
    across = look.information[watched:, :watched]
    finer = look.information[watched:, watched:].copy()
    finer[np.diag_indices_from(finer)] += 1 / _LEVEL
    told = np.linalg.solve(finer, np.column_stack([across, look.score[watched:]]))
    return PseudoMeasurement(
        look.information[:watched, :watched] - across.T @ told[:, :-1],
        look.score[:watched] - across.T @ told[:, -1],
    )


def needed(alpha: float, report: int) -> float:
    """Return the evidence from which the n-th change is reported, n from 1.

    The n-th may be false with a probability of ``alpha / (n (n + 1))``. These sum to alpha.
    """
    return -log(alpha) + log(report) + log1p(report)


def _added(looks: Sequence[PseudoMeasurement]) -> PseudoMeasurement:
    return PseudoMeasurement(
        np.sum([look.information for look in looks], axis=0),
        np.sum([look.score for look in looks], axis=0),
    )
