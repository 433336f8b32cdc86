"""A random walk of distributions with its variances, and what weeks say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.random_walk import (
    Filtered,
    PseudoMeasurement,
    evidence_of,
    filtered,
    own_evidence,
    without_own,
)

JUMP_SLOPE = 2.0
"""Jumps are flatter than most steps are: a break in one week may be anywhere."""


@dataclass(frozen=True, eq=False)
class Week:
    """The quadratic likelihood of a week's masses x: ``score'x - x' information x / 2``."""

    information: Matrix
    score: Vector


@dataclass(frozen=True, eq=False)
class Walk:
    """A random walk of distributions, with the variances that were learned.

    Parameters
    ----------
    mean : numpy.ndarray
        float64 [size]: masses where the state is zero.
    columns : numpy.ndarray
        float64 [size, state]: what an amplitude adds to them; of sum zero.
    frequency : numpy.ndarray
        float64 [state].
    first : numpy.ndarray
        float64 [state, state]: prior covariance of the first week.
    step : numpy.ndarray
        float64 [state]: variances of an ordinary step.
    jump, odd : numpy.ndarray
        float64 [weeks]: levels of the jump into each week, and of what an odd week has alone.
    flicker : float
        Level of what every week has alone.
    """

    mean: Vector
    columns: Matrix
    frequency: Vector
    first: Matrix
    step: Vector
    jump: Vector
    odd: Vector
    flicker: float = 0.0

    @property
    def shape(self) -> Vector:
        """Variances of a jump, or of what a week has alone, of level 1: float64 [state]."""
        shape: Vector = self.frequency**-JUMP_SLOPE
        return shape

    @property
    def steps(self) -> Matrix:
        """Variances of the step into each week: float64 [weeks, state]."""
        return self.step + np.outer(self.jump, self.shape)

    @property
    def own_parts(self) -> Matrix:
        """Variances of each week's own part: float64 [weeks, state]."""
        return np.outer(self.flicker + self.odd, self.shape)

    def looks(self, weeks: Sequence[Week | None]) -> list[PseudoMeasurement | None]:
        """Return what the weeks say about the amplitudes ``a + u``."""
        found: list[PseudoMeasurement | None] = []
        for week in weeks:
            if week is None:
                found.append(None)
                continue
            curved = week.information @ self.columns
            score = week.score @ self.columns - self.mean @ curved
            found.append(PseudoMeasurement(self.columns.T @ curved, score))
        return found

    def filtered(self, looks: Sequence[PseudoMeasurement | None]) -> Filtered:
        """Return the walk's state week by week, given the weeks up to each."""
        parts = [without_own(look, own) for look, own in zip(looks, self.own_parts, strict=True)]
        return filtered(parts, self.first, self.steps)

    def evidence(self, looks: Sequence[PseudoMeasurement | None]) -> float:
        """Return the logarithm of the probability of all reports, up to a constant."""
        parts, alone = self.without_own(looks)
        return evidence_of(parts, self.first, self.steps) + alone

    def without_own(
        self, looks: Sequence[PseudoMeasurement | None]
    ) -> tuple[list[PseudoMeasurement | None], float]:
        """Return what the weeks say about the walk alone, and what that adds to the evidence."""
        pairs = list(zip(looks, self.own_parts, strict=True))
        parts = [without_own(look, own) for look, own in pairs]
        return parts, sum(own_evidence(look, own) for look, own in pairs)
