"""What a linear release says about masses, as the quadratic likelihood that a prior asks for.

The noise of a release is known exactly, so its log-likelihood about the people is a parabola, not
only near a pilot. About the population the people were drawn from, the draw is added to the noise.
Domains of many symbols are put into cells first, whose masses are spread as a pilot has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from lapwing.decoders.decoder import required
from lapwing.decoders.empirical_bayes.cells import Cells
from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.channels.additive_noise import AdditiveNoise
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.release import Release

_CLOSE = 1e-6

_STEP_LIMIT = 500

_LOOSE = 1e-4
"""Variance of a known total, in units of that of a count of so many."""


@dataclass(frozen=True, eq=False)
class ReleasedMasses:
    """Independent unit normal errors: ``z = R x + e`` for the people's masses x of cells.

    Parameters
    ----------
    root : numpy.ndarray
        float64 [rows, cells], R; at most as many rows as cells.
    answers : numpy.ndarray
        float64 [rows], z.
    people : int
        Whom the masses are shares of.
    hidden : bool
        Whether that number is an estimate; then the total of the masses may be another than one,
        and what the release says of it is not used.
    """

    root: Matrix
    answers: Vector
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
        deviation = np.sqrt(noise_of(channel.blocks[0]))
        seen = channel.blocks[0].operator.matmat(cells.spread())
        turned, root = np.linalg.qr(seen * (people / deviation))
        answers = turned.T @ (release.blocks[0] / deviation)
        return cls(root, answers, people, release.people is None)

    def near(self, pilot: Vector) -> tuple[Matrix, Vector]:
        """Return H and s about the population, whose draw of people has the law of the pilot.

        With D the covariance of the draw, ``H = R' (I + R D R')^-1 R``, and the same of z. A known
        total is left a hundredth of the draw's deviation: the posterior is taken at a total of one
        in the end, and information without bounds would drown all other in its rounding.
        """
        draw = draw_of(pilot, self.people, hidden=self.hidden)
        draw += np.outer(pilot, pilot) * (_LOOSE / self.people)
        through = self.root @ draw
        system = through @ self.root.T
        system = (system + system.T) / 2
        system[np.diag_indices_from(system)] += 1
        factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        both = np.column_stack([self.root, self.answers])
        whitened = solve_triangular(factor, both, lower=True, check_finite=False)
        seen, told = whitened[:, :-1], whitened[:, -1]
        return seen.T @ seen, seen.T @ told


def draw_of(mass: Vector, people: int, *, hidden: bool) -> Matrix:
    """Return the covariance of the shares of so many people drawn from a law.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [size], the law.
    people : int
    hidden : bool
        True: the total varies by as much as itself, because nothing is known of it.
    """
    covariance = np.outer(mass, mass) * ((1.0 if hidden else 0.0) - 1 / people)
    covariance[np.diag_indices_from(covariance)] += mass / people
    return covariance


def noise_of(block: Block) -> float:
    """Return the variance of the noise in each answer; UnsupportedChannelError for other laws."""
    # Of several rounds the answers are combined, and so is their noise.
    refusal = "a release with added noise is needed; reports are decoded by the spectral prior"
    return required(block.law, AdditiveNoise, refusal).variance


def inner_information(channel: Channel, cells: Cells, people: int) -> Vector:
    """Return what a release says about mass that moves between the halves of each cell.

    See :meth:`Cells.inner_information`: float64 [cells].
    """
    halves = np.where(cells.along() - cells.share / 2 < 0.5, 1.0, -1.0)
    seen = channel.blocks[0].operator.matmat(cells.spread() * halves[:, None])
    told: Vector = (seen**2).sum(axis=0) * (people**2 / noise_of(channel.blocks[0]))
    return told


def people_given(block: Block, release: Release, population: Vector, people: int) -> Vector:
    """Return the mean of the people's masses, given the law that they were drawn from.

    ``m + D A' (A D A' + V)^-1 (y - A m)`` with D the covariance of the draw and V that of the
    noise: what the release shows beyond the law is shared between the draw and the noise. Some
    may be negative; they sum to one. Where the number of people is an estimate, their number may
    differ from it by as much as it likes.

    Parameters
    ----------
    block : Block
        Of the release's channel.
    release : Release
    population : numpy.ndarray
        float64 [symbols], m.
    people : int

    Notes
    -----
    By conjugate gradients, O(symbols log symbols) a step for prefix sums and some tens of steps,
    so nothing of the size [symbols, symbols] is held.
    """
    operator, variance = block.operator, noise_of(block)
    # The total varies by as much as itself where it is not known, and not at all where it is.
    total = float(people) if release.people is None else 0.0

    def drawn(masses: Vector) -> Vector:
        found: Vector = population * (masses + (total - 1) * float(population @ masses))
        return found

    def system(answers: Vector) -> Vector:
        along: Vector = operator.matvec(drawn(operator.rmatvec(answers)))
        return along * (people / variance) + answers

    residual = release.blocks[0] - people * operator.matvec(population)
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
