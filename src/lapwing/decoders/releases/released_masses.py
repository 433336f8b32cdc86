"""What a linear release says about masses, as the quadratic likelihood that a prior asks for.

The noise of a release is known exactly, so its log-likelihood about the people is a parabola, not
only near a pilot. About the population the people were drawn from, the draw is added to the noise.
Domains of many symbols are put into cells first, whose masses are spread as a pilot has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lapwing.decoders.empirical_bayes.cell_band import Cells
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.operators.operator import Operator
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.release import Release

_CLOSE = 1e-6

_STEP_LIMIT = 500


@dataclass(frozen=True, eq=False)
class ReleasedMasses:
    """The exact log-likelihood ``s'x - x'Hx / 2`` of the people's masses of cells, up to a constant.

    Parameters
    ----------
    information : numpy.ndarray
        float64 [cells, cells], H; singular where the release does not determine all masses.
    score : numpy.ndarray
        float64 [cells], s.
    people : int
        Whom the masses are shares of.
    hidden : bool
        Whether that number is an estimate: then the release tells nothing of the total of the
        masses, and what it says is freed of that.
    """

    information: Matrix
    score: Vector
    people: int
    hidden: bool

    @classmethod
    def of(cls, channel: Channel, release: Release, cells: Cells, people: int) -> ReleasedMasses:
        """Return that of a release of one block with additive noise.

        Parameters
        ----------
        channel : Channel
        release : Release
        cells : Cells
            How the mass of each lies on the symbols.
        people : int

        Notes
        -----
        One product of the operator with as many columns as cells, and O(answers * cells^2).
        """
        seen = channel.blocks[0].operator.matmat(cells.spread()) * (people / np.sqrt(release.variance))
        answers = release.answers / np.sqrt(release.variance)
        return cls(seen.T @ seen, seen.T @ answers, people, release.people is None)

    def near(self, pilot: Vector) -> tuple[Matrix, Vector]:
        """Return H and s about the population, whose draw of people has the law of the pilot.

        With D the covariance of the draw, ``(H^-1 + D)^-1 = H (I + D H)^-1``.
        """
        information, score = self.information, self.score
        if self.hidden:
            # The total is free: integrated out along the pilot, which is what it multiplies.
            along = information @ pilot
            curved = float(pilot @ along)
            score = score - along * (float(pilot @ score) / curved)
            information = information - np.outer(along, along) / curved
        drawn = draw_of(pilot, self.people) @ information
        drawn[np.diag_indices_from(drawn)] += 1
        # (I + D H)' X' = H, because both are symmetric: X = H (I + D H)^-1.
        both = np.linalg.solve(drawn.T, np.column_stack([information, score]))
        reduced = both[:, :-1]
        return (reduced + reduced.T) / 2, both[:, -1]


def inner_information(channel: Channel, release: Release, cells: Cells, people: int) -> Vector:
    """Return what a release says about mass that moves between the halves of each cell.

    See :meth:`Cells.inner_information`: float64 [cells].
    """
    halves = np.where(cells.along() - cells.share / 2 < 0.5, 1.0, -1.0)
    seen = channel.blocks[0].operator.matmat(cells.spread() * halves[:, None])
    told: Vector = (seen**2).sum(axis=0) * (people**2 / release.variance)
    return told


def draw_of(mass: Vector, people: int) -> Matrix:
    """Return the covariance of the shares of so many people drawn from a law."""
    covariance = -np.outer(mass, mass) / people
    covariance[np.diag_indices_from(covariance)] += mass / people
    return covariance


def people_given(
    operator: Operator, release: Release, population: Vector, people: int
) -> Vector:
    """Return the mean of the people's masses, given the law that they were drawn from.

    ``m + D A' (A D A' + V)^-1 (y - A m)`` with D the covariance of the draw and V that of the
    noise: what the release shows beyond the law is shared between the draw and the noise. Some
    may be negative; they sum to one. Where the number of people is an estimate, their number may
    differ from it by as much as it likes.

    Parameters
    ----------
    operator : Operator
        Shape [answers, symbols], of counts.
    release : Release
    population : numpy.ndarray
        float64 [symbols], m.
    people : int

    Notes
    -----
    By conjugate gradients, O(symbols log symbols) a step for prefix sums and some tens of steps,
    so nothing of the size [symbols, symbols] is held.
    """
    variance = release.variance
    # The total varies by as much as itself where it is not known, and not at all where it is.
    total = float(people) if release.people is None else 0.0

    def drawn(masses: Vector) -> Vector:
        found: Vector = population * (masses + (total - 1) * float(population @ masses))
        return found

    def system(answers: Vector) -> Vector:
        along: Vector = operator.matvec(drawn(operator.rmatvec(answers)))
        return along * (people / variance) + answers

    residual = release.answers - people * operator.matvec(population)
    found = population + drawn(operator.rmatvec(_solved(system, residual))) / variance
    masses: Vector = found / found.sum()
    return masses


def _solved(system: Callable[[Vector], Vector], right: Vector) -> Vector:
    """Return x with ``system(x) = right``, for a positive symmetric system, to 1e-6 of the right.

    Conjugate gradients (Hestenes and Stiefel 1952).
    """
    solution = np.zeros(right.size)
    residual = right
    square = float(residual @ residual)
    enough = _CLOSE**2 * square
    direction = residual
    for _ in range(_STEP_LIMIT):
        if square <= enough:
            break
        moved = system(direction)
        step = square / float(direction @ moved)
        solution = solution + step * direction
        residual = residual - step * moved
        before, square = square, float(residual @ residual)
        direction = residual + (square / before) * direction
    return solution
