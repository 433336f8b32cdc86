"""Where a density has what waves cannot follow: single cells and small blocks that stand out.

A candidate is a unit of mass spread over a block, less the same mass spread over all symbols. How
far the reports ask for it, beyond what the columns at hand explain, is one number per block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.empirical_bayes.low_rank_posterior import Likelihood, ReducedPosterior
from lapwing.linear.arrays import Matrix, Vector, Whole

WIDTHS = (1, 2, 4, 8, 16)
"""Cells of a block; blocks begin at multiples of their width."""

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Atoms:
    """Blocks with the prior variances of their masses.

    Parameters
    ----------
    start, stop : numpy.ndarray
        int64 [atoms]: symbols ``start..stop - 1``.
    variance : numpy.ndarray
        float64 [atoms].
    """

    start: Whole
    stop: Whole
    variance: Vector

    @classmethod
    def none(cls) -> Atoms:
        """Return an empty list."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))

    @property
    def count(self) -> int:
        """Number of atoms."""
        return self.start.size

    def joined(self, more: Atoms) -> Atoms:
        """Return these and more."""
        return Atoms(
            np.concatenate([self.start, more.start]),
            np.concatenate([self.stop, more.stop]),
            np.concatenate([self.variance, more.variance]),
        )

    def kept(self, keep: NDArray[np.bool_] | Whole) -> Atoms:
        """Return some of them."""
        return Atoms(self.start[keep], self.stop[keep], self.variance[keep])

    def columns(self, allowed: NDArray[np.bool_]) -> Matrix:
        """Return them as masses of sum zero: float64 [size, atoms].

        Parameters
        ----------
        allowed : numpy.ndarray
            bool [size]: symbols that may be in a block; others in its range get nothing.
        """
        size = allowed.size
        columns = np.full((size, self.count), -1 / size)
        for number, (start, stop) in enumerate(zip(self.start, self.stop, strict=True)):
            inside = allowed[start:stop]
            columns[start:stop, number] += inside / inside.sum()
        return columns


@dataclass(frozen=True, eq=False)
class Candidates:
    """All blocks of all widths, with what the reports say about each beyond the columns at hand.

    Parameters
    ----------
    start, stop : numpy.ndarray
        int64 [blocks].
    pull, precision : numpy.ndarray
        float64 [blocks]: the score of the block's mass at zero, and its variance under the prior.
        Under a prior without the block, ``pull^2 / precision`` is chi-squared of one degree.
    """

    start: Whole
    stop: Whole
    pull: Vector
    precision: Vector

    @property
    def strength(self) -> Vector:
        """Pull in squared standard deviations: float64 [blocks]."""
        return self.pull**2 / self.precision

    def atoms(self, chosen: Whole) -> Atoms:
        """Return some as atoms, each with the variance that makes its pull most probable."""
        pull, precision = self.pull[chosen], self.precision[chosen]
        variance = np.clip((pull**2 - precision) / precision**2, 1e-16, 9)
        return Atoms(self.start[chosen], self.stop[chosen], variance)

    def standing_out(self, *, least: float, most: int, known: Atoms) -> Atoms:
        """Return the strongest that do not overlap each other and are not known.

        Parameters
        ----------
        least : float
            Strength of the weakest.
        most : int
        known : Atoms
        """
        strength = self.strength
        taken = np.zeros(int(self.stop.max()), dtype=np.bool_)
        before = set(zip(known.start.tolist(), known.stop.tolist(), strict=True))
        chosen: list[int] = []
        for block in np.argsort(-strength, kind="stable"):
            start, stop = int(self.start[block]), int(self.stop[block])
            if strength[block] < least or len(chosen) >= most:
                break
            if not taken[start:stop].any() and (start, stop) not in before:
                taken[start:stop] = True
                chosen.append(int(block))
        return self.atoms(np.array(chosen, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _Blocks:
    """All blocks of one width: allowed cells in each, and the information about its mass."""

    width: int
    start: Whole
    stop: Whole
    cells: Vector
    used: NDArray[np.bool_]
    information: Vector

    @classmethod
    def of(cls, width: int, bands: Matrix, member: Vector, flat: Vector) -> _Blocks:
        size = member.size
        start = np.arange(0, size, width)
        place = np.arange(size) % width
        # Sum the entries of H over the block: those on the diagonal once, the others twice.
        square = bands[0] * member
        for lag in range(1, min(width, size)):
            both = member[:-lag] * member[lag:] * (place[:-lag] < width - lag)
            square[:-lag] += 2 * bands[lag, :-lag] * both
        cells = np.add.reduceat(member, start)
        used = cells > 0
        cells = np.maximum(cells, 1)
        information = np.add.reduceat(square, start) / cells**2
        information -= 2 * np.add.reduceat(flat * member, start) / cells
        information += flat.mean()
        return cls(width, start, np.minimum(start + width, size), cells, used, information)


class BlockSearch:
    """Looks for atoms in one quadratic likelihood.

    Parameters
    ----------
    likelihood : Likelihood
    allowed : numpy.ndarray
        bool [size]: symbols that may be in a block.
    """

    def __init__(self, likelihood: Likelihood, allowed: NDArray[np.bool_]) -> None:
        size = allowed.size
        self.allowed = allowed
        self.size = size
        self.likelihood = likelihood
        self.flat = likelihood.curved(np.full(size, 1 / size))
        bands = likelihood.near_diagonal(max(WIDTHS))
        member = allowed.astype(np.float64)
        self.blocks = [_Blocks.of(width, bands, member, self.flat) for width in WIDTHS]

    def candidates(
        self, posterior: ReducedPosterior, pull: Vector, *, widths: int = len(WIDTHS)
    ) -> Candidates:
        """Return the blocks of the first so many widths.

        O(size * columns^2) for one triangular solution, then O(size * columns).
        """
        residual = posterior.residual(pull)
        taken = posterior.whitened(posterior.columns.curved)
        middle = taken.mean(axis=1)
        taken[:, ~self.allowed] = 0
        inside = np.where(self.allowed, residual, 0.0)
        found = []
        for blocks in self.blocks[:widths]:
            if blocks.width > 1:
                taken, inside = _pairs(taken), _pairs(inside)
            share = 1 / blocks.cells
            explained = np.einsum("ij,ij->j", taken, taken) * share**2
            explained += middle @ middle - 2 * (middle @ taken) * share
            found.append(
                (
                    blocks.start,
                    blocks.stop,
                    np.where(blocks.used, inside * share - residual.mean(), 0.0),
                    np.maximum(blocks.information - explained, _TINY),
                )
            )
        return Candidates(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def heavy(self, posterior: ReducedPosterior, pull: Vector, *, least: float, most: int) -> Atoms:
        """Return single cells with more mass than expected, the strongest first.

        Each is explained before the next is looked for, so that no cell is found for the waves
        that a stronger one throws: a rank-one step, O(size * columns).

        Parameters
        ----------
        posterior : ReducedPosterior
            Under a smooth spectrum.
        pull : numpy.ndarray
            float64 [size].
        least : float
            Strength of the weakest.
        most : int
        """
        cells = self.candidates(posterior, pull, widths=1)
        open_cells = self.allowed.copy()
        steps: list[tuple[Vector, float]] = []
        found = Atoms.none()
        while found.count < most:
            strength = np.where(open_cells & (cells.pull > 0), cells.strength, 0.0)
            cell = int(np.argmax(strength))
            if strength[cell] < least:
                break
            atom = cells.atoms(np.array([cell]))
            found = found.joined(atom)
            # Two cells side by side are one atom seen twice.
            open_cells[max(cell - 1, 0) : cell + 2] = False
            variance = float(atom.variance[0])
            unit = atom.columns(self.allowed)[:, 0]
            column = self.likelihood.curved(unit)
            curved = posterior.columns.curved
            column -= curved @ posterior.covariance_times(curved.T @ unit)
            for earlier, weight in steps:
                column -= earlier * (weight * float(earlier @ unit))
            # Masses of sum zero do not feel constants.
            column -= column.mean()
            weight = variance / (1 + variance * float(cells.precision[cell]))
            steps.append((column, weight))
            cells = replace(
                cells,
                pull=cells.pull - column * (weight * float(cells.pull[cell])),
                precision=np.maximum(cells.precision - weight * column**2, _TINY),
            )
        return found


def _pairs(rows: Matrix) -> Matrix:
    """Return the sums of columns 0 and 1, 2 and 3, ...; an odd last one stays alone."""
    even = rows.shape[-1] // 2 * 2
    sums: Matrix = rows[..., 0:even:2] + rows[..., 1:even:2]
    if even < rows.shape[-1]:
        sums = np.concatenate([sums, rows[..., even:]], axis=-1)
    return sums
