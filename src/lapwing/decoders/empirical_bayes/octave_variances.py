"""Variances of the waves of two axes, learned by octaves of both frequencies.

The logarithm of a density over two axes is a sum of products of functions: one of each axis. Axis
functions come in families: the constant, waves by their frequency, contrasts of labels, and an
indicator for each symbol that is no bin. Within a pair of families the logarithm of the variance is
bilinear in the octaves of both frequencies, between knots at whole octaves. Pairs with a constant
are the marginals of one axis. The others are the dependence of both. So marginals are learned apart
from dependence, and independence is the limit where the variances of the latter go to zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.memoized import cached_property
from lapwing.protocol.domains.domain import Domain, bins_of

LEAST_WAVES = 8
"""Bins from which an axis has waves. Fewer are compared by contrasts, as labels are."""

_AXIS_START = (np.log(0.8), -1.6)
_INNER_START = (np.log(0.3), -1.4)
_APART_START = np.log(4.0)
"""Logarithms of variances before anything is learned, and their change per octave."""

_PULL = 0.02
"""Weight of the distance to the start, against 1 for the second differences of the knots."""

_LARGEST_STEP = 2.5


@dataclass(frozen=True, eq=False)
class AxisFunctions:
    """The functions of one axis: columns over its symbols, in families.

    columns: float64 [symbols, functions]. The first is 1 everywhere.
    octave: float64 [functions]: logarithm to base 2 of the frequency, 0 for functions without one.
    family: int64 [functions]: 0 of the constant, 1 of waves or contrasts, then one for each symbol
        that stands apart.
    """

    columns: Matrix
    octave: Vector
    family: NDArray[np.int64]

    @staticmethod
    def of(axis: Domain, *, most: int) -> AxisFunctions:
        """Return the functions of an axis.

        most: Most waves.
        """
        bins = bins_of(axis)
        waves, octave = _waves(axis, bins.size, most)
        columns = np.zeros((axis.size, 1 + waves.shape[1] + axis.size - bins.size))
        columns[:, 0] = 1.0
        columns[bins, 1 : 1 + waves.shape[1]] = waves
        family = [0, *[1] * waves.shape[1]]
        octaves = [0.0, *octave]
        for number, symbol in enumerate(np.setdiff1d(np.arange(axis.size), bins)):
            columns[symbol, 1 + waves.shape[1] + number] = 1.0
            family.append(2 + number)
            octaves.append(0.0)
        return AxisFunctions(columns, np.array(octaves), np.array(family))

    @cached_property
    def knots(self) -> list[int]:
        """Knots of each family: one for each whole octave that it spans."""
        return [
            int(np.ceil(self.octave[self.family == family].max(initial=0.0))) + 1
            for family in range(int(self.family.max()) + 1)
        ]

    def interpolation(self, family: int) -> Matrix:
        """Return the weights of the knots for each function of a family: [functions, knots]."""
        octave = self.octave[self.family == family]
        knots = np.arange(self.knots[family])
        weights: Matrix = np.maximum(1.0 - np.abs(octave[:, None] - knots), 0.0)
        return weights


def _waves(axis: Domain, bins: int, most: int) -> tuple[Matrix, Vector]:
    """Return the functions of the bins but for the constant, each with a mean square of one."""
    place = (np.arange(bins) + 0.5) / bins
    if not axis.ordered or bins < LEAST_WAVES:
        number = np.arange(1, bins)
        contrasts = np.sqrt(2) * np.cos(np.pi * place[:, None] * number)
        return contrasts, np.zeros(bins - 1)
    if not axis.circular:
        number = np.arange(1, min(bins, most + 1))
        return np.sqrt(2) * np.cos(np.pi * place[:, None] * number), np.log2(number)
    number = np.arange(1, min((bins + 1) // 2, most // 2 + 1))
    turn = 2 * np.pi * place[:, None] * number
    waves = np.sqrt(2) * np.hstack([np.cos(turn), np.sin(turn)])
    octave = np.tile(np.log2(number), 2)
    if bins % 2 == 0 and bins // 2 <= most // 2:
        # The fastest wave of an even circle has no sine.
        waves = np.column_stack([waves, np.cos(np.pi * np.arange(bins))])
        octave = np.append(octave, np.log2(bins // 2))
    return waves, octave


@dataclass(frozen=True, eq=False)
class _Patch:
    """Knots of one pair of families, and where its functions are."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    along: Matrix
    across: Matrix
    start: Matrix
    stiffness: Matrix


class OctaveVariances:
    """Variances of all products of functions of two axes, by knots that are learned."""

    def __init__(self, first: AxisFunctions, second: AxisFunctions) -> None:
        self.shape = (first.family.size, second.family.size)
        self._patches = [
            _patch(first, second, one, other)
            for one in range(len(first.knots))
            for other in range(len(second.knots))
            if (one, other) != (0, 0)
        ]
        self._knots = [patch.start.copy() for patch in self._patches]

    def variances(self) -> Matrix:
        """Return the variance of each product. That of the two constants is 0."""
        table = np.zeros(self.shape)
        for patch, knots in zip(self._patches, self._knots, strict=True):
            logarithm = patch.along @ knots @ patch.across.T
            table[np.ix_(patch.rows, patch.columns)] = np.exp(logarithm)
        return table

    def learn(self, squares: Matrix, determined: Matrix) -> None:
        """Move the knots one scoring step towards the marginal likelihood.

        squares: Squares of the amplitudes over their variances.
        determined: How much the reports determine of each amplitude, from 0 to 1.

        With gamma for what is determined and B for the interpolation, the gradient by the knots is
        ``B' (u^2 - gamma) / 2`` and the expected curvature ``B' diag(gamma^2) B / 2``. A stiffness
        is added to both, so octaves that the reports do not determine continue the power of those
        that they do.
        """
        for number, patch in enumerate(self._patches):
            place = np.ix_(patch.rows, patch.columns)
            knots = self._knots[number]
            gradient = patch.along.T @ ((squares - determined)[place] / 2) @ patch.across
            weights = determined[place] ** 2 / 2
            curvature = np.einsum(
                "ia,ib,ij,jc,jd->acbd",
                patch.along,
                patch.along,
                weights,
                patch.across,
                patch.across,
                optimize=True,
            ).reshape(knots.size, knots.size)
            pull = patch.stiffness @ (knots - patch.start).ravel()
            step = np.linalg.solve(curvature + patch.stiffness, gradient.ravel() - pull)
            step = np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
            self._knots[number] = knots + step.reshape(knots.shape)


def _patch(first: AxisFunctions, second: AxisFunctions, one: int, other: int) -> _Patch:
    shape = first.knots[one], second.knots[other]
    return _Patch(
        rows=np.flatnonzero(first.family == one),
        columns=np.flatnonzero(second.family == other),
        along=first.interpolation(one),
        across=second.interpolation(other),
        start=_start(one, other, shape),
        stiffness=_stiffness(shape),
    )


def _start(one: int, other: int, shape: tuple[int, int]) -> Matrix:
    """Return the logarithms of the variances at the knots before anything is learned."""
    octaves = np.arange(shape[0])[:, None] + np.arange(shape[1])
    if 0 not in (one, other):
        inner: Matrix = _INNER_START[0] + _INNER_START[1] * octaves
        return inner
    if max(one, other) > 1:
        return np.full(shape, _APART_START)
    of_axis: Matrix = _AXIS_START[0] + _AXIS_START[1] * octaves
    return of_axis


def _stiffness(shape: tuple[int, int]) -> Matrix:
    """Return the penalty of knots: second differences both ways, mixed ones, and the pull."""
    rows, columns = (np.diff(np.eye(number), n=2, axis=0) for number in shape)
    mixed = np.kron(*(np.diff(np.eye(number), axis=0) for number in shape))
    along = np.kron(rows, np.eye(shape[1]))
    across = np.kron(np.eye(shape[0]), columns)
    penalty: Matrix = _PULL * np.eye(shape[0] * shape[1])
    for differences in (along, across, mixed):
        penalty = penalty + differences.T @ differences
    return penalty
