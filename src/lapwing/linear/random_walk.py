"""Kalman filter and smoother in information form, for a random walk over weeks (de Jong, 1989).

A state a, of some tens of amplitudes, walks: ``a_t = a_(t-1) + w_t`` with ``w_t ~ N(0, Q_t)``. The
reports of week t say ``b'a - a'Aa / 2`` about it. Nothing here inverts an information or a
covariance. Both may be singular, for example in a week without reports or without a change. The
backward pass carries the score of all later weeks and its variance. From these follow smoothed
means, covariances between any two weeks, and the slope of the evidence in every variance.

The smoother and the covariances between weeks are those of [1]_, the score of the evidence that of
[2]_. Here likelihoods are given by information and score, not by observations with noise. So a week
may say nothing about some directions.

.. [1] P. de Jong, "Smoothing and interpolation with the state-space model", Journal of the American
   Statistical Association, 1989.
.. [2] S. J. Koopman, N. Shephard, "Exact score for time series models in state space form",
   Biometrika, 1992. doi:10.1093/biomet/79.4.823
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgesv

from lapwing.linear.arrays import Matrix, Vector

NOTHING = 1e-7
"""Variance up to which a week has no part of its own: of a density 1 high, .0003."""

_ROUNDING = 1e-10
"""Singular values, alongside the largest, that are rounding."""


def left_inverse(columns: Matrix) -> Matrix:
    """Return what gives amplitudes from masses: float64 [state, size].

    A column that is zero but for rounding has the amplitude zero. Of an even number of cells on a
    circle, the last wave is one: its cosine is zero in the middle of every cell.
    """
    inverse: Matrix = np.asarray(np.linalg.pinv(columns, rcond=_ROUNDING), dtype=np.float64)
    return inverse


@dataclass(frozen=True, eq=False)
class PseudoMeasurement:
    """The quadratic log-likelihood of one week: ``score'a - a' information a / 2``.

    information: float64 [state, state], symmetric, not negative.
    score: float64 [state].
    """

    information: Matrix
    score: Vector


@dataclass(frozen=True, eq=False)
class Filtered:
    """The state week by week, given that week and those before it.

    predicted, mean: float64 [weeks, state]: before and after the week's reports.
    ahead, covariance: float64 [weeks, state, state]: the same.
    residual: float64 [weeks, state]: the score of a week at its mean.
    passed: float64 [weeks, state, state]: ``(I + A P)^-1``, by which the score of later weeks
        reaches the state before this one. The unit where nobody reported.
    expected: float64 [weeks, state, state]: the variance of the residual.
    evidence: Logarithm of the probability of all reports, but for what does not depend on
        variances.
    """

    predicted: Matrix
    ahead: Matrix
    mean: Matrix
    covariance: Matrix
    residual: Matrix
    passed: Matrix
    expected: Matrix
    evidence: float


def filtered(looks: Sequence[PseudoMeasurement | None], first: Matrix, steps: Matrix) -> Filtered:
    """Run the Kalman filter: the state of every week given the weeks up to it.

    looks: One for each week. None where nobody reported.
    first: float64 [state, state]: prior covariance of the first week, whose mean is zero.
    steps: float64 [weeks, state]: variances of the step into each week, which come true also where
        nobody reported. Those of the first week are not used.

    O(weeks * state^3).
    """
    weeks, state = len(looks), first.shape[0]
    predicted, mean, residual = np.zeros((3, weeks, state))
    ahead, covariance, passed, expected = np.zeros((4, weeks, state, state))
    center, spread = np.zeros(state), first
    evidence = 0.0
    for week, look in enumerate(looks):
        if week:
            spread = _raised(spread, steps[week])
        predicted[week], ahead[week] = center, spread
        if look is None:
            passed[week] = np.eye(state)
        else:
            left, score, gained = _seen(look, center, spread)
            passed[week], residual[week] = left, score
            expected[week] = _symmetric(left @ look.information)
            center = center + spread @ score
            spread = _symmetric(spread @ left)
            evidence += gained
        mean[week], covariance[week] = center, spread
    return Filtered(predicted, ahead, mean, covariance, residual, passed, expected, evidence)


def evidence_of(looks: Sequence[PseudoMeasurement | None], first: Matrix, steps: Matrix) -> float:
    """Return the evidence of :func:`filtered` alone, in less time and memory."""
    center, spread = np.zeros(first.shape[0]), first
    evidence = 0.0
    for week, look in enumerate(looks):
        if week:
            spread = _raised(spread, steps[week])
        if look is not None:
            left, score, gained = _seen(look, center, spread)
            center = center + spread @ score
            spread = _symmetric(spread @ left)
            evidence += gained
    return evidence


def _raised(spread: Matrix, step: Vector) -> Matrix:
    raised = spread.copy()
    raised[np.diag_indices_from(raised)] += step
    return raised


def _seen(look: PseudoMeasurement, center: Vector, spread: Matrix) -> tuple[Matrix, Vector, float]:
    """Return ``(I + A P)^-1``, the residual score, and the week's part of the evidence."""
    state = center.size
    system = look.information @ spread
    system[np.diag_indices_from(system)] += 1
    score = look.score - look.information @ center
    right = np.zeros((state, state + 1), order="F")
    right[np.diag_indices(state)] = 1
    right[:, -1] = score
    factor, _, solved, failed = dgesv(system, right, overwrite_a=1, overwrite_b=1)
    if failed:
        raise np.linalg.LinAlgError("the information matrix of a week is singular")
    left, residual = solved[:, :state], solved[:, -1]
    # The likelihood at the predicted mean, and what the spread about it adds.
    gained = float(center @ (look.score + score)) / 2
    gained += float(score @ (spread @ residual)) / 2
    gained -= float(np.log(np.abs(np.diagonal(factor))).sum()) / 2
    return left, residual, gained


def without_own(look: PseudoMeasurement | None, own: Vector) -> PseudoMeasurement | None:
    """Return what a week says about the walk when it has a part of its own, N(0, diag(own)).

    The part is integrated out: ``(I + A U)^-1 A`` and ``(I + A U)^-1 b``.
    """
    if look is None or own.max() <= NOTHING:
        return look
    state = own.size
    system = look.information * own
    system[np.diag_indices_from(system)] += 1
    right = np.column_stack([look.information, look.score])
    solved = np.asarray(np.linalg.solve(system, right), dtype=np.float64)
    return PseudoMeasurement(_symmetric(solved[:, :state]), solved[:, -1])


def own_evidence(look: PseudoMeasurement | None, own: Vector) -> float:
    """Return what integrating a week's own part out adds to the evidence.

    ``b'U (I + A U)^-1 b / 2 - log det(I + A U) / 2``: without it weeks with and without such a
    part could not be compared.
    """
    if look is None or own.max() <= NOTHING:
        return 0.0
    system = look.information * own
    system[np.diag_indices_from(system)] += 1
    told = np.linalg.solve(system, look.score)
    return float(look.score @ (own * told) - np.linalg.slogdet(system)[1]) / 2


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The state week by week given all weeks.

    mean, covariance: float64 [weeks, state] and [weeks, state, state].
    score, precision: float64 [weeks, state] and [weeks, state, state]: the score of this and all
        later weeks at the predicted state, and its variance.
    """

    forward: Filtered
    mean: Matrix
    covariance: Matrix
    score: Matrix
    precision: Matrix

    def between(self, earlier: int, later: int) -> Matrix:
        """Return the covariance of the states of two weeks: float64 [state, state].

        Rows are the earlier week, which must not come after the later one.
        """
        forward = self.forward
        if earlier == later:
            return np.array(self.covariance[earlier])
        carried = forward.ahead[earlier]
        for week in range(earlier, later):
            carried = carried @ forward.passed[week]
        below: Matrix = carried - carried @ self.precision[later] @ forward.ahead[later]
        return below


def smoothed(forward: Filtered) -> Smoothed:
    """Run the Kalman smoother: the state of every week given all. O(weeks * state^3)."""
    mean, score = np.zeros((2, *forward.mean.shape))
    covariance, precision = np.zeros((2, *forward.covariance.shape))
    later = np.zeros(forward.mean.shape[1])
    spread = np.zeros(forward.covariance.shape[1:])
    for week in reversed(range(mean.shape[0])):
        passed, ahead = forward.passed[week], forward.ahead[week]
        later = forward.residual[week] + passed @ later
        spread = _symmetric(forward.expected[week] + passed @ spread @ passed.T)
        score[week], precision[week] = later, spread
        mean[week] = forward.predicted[week] + ahead @ later
        covariance[week] = _symmetric(ahead - ahead @ spread @ ahead)
    return Smoothed(forward, mean, covariance, score, precision)


def _symmetric(matrix: Matrix) -> Matrix:
    half: Matrix = (matrix + matrix.T) / 2
    return half
