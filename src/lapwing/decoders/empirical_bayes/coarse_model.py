"""The spectral prior above 512 symbols: the dense model on cells, split where atoms were found.

First comes a prior of few columns (`low_rank_model.py`). Its waves are a first answer, and its
atoms show where a symbol or a small block stands out. Blocks of equal width are split there, and on
these cells the prior of all waves, spikes and steps is learned (`dense_model.py`).

The reports tell little about thousands of symbols one by one. So the last passes of a decode and
its band (`spectral_prior.py`) see cells: runs of neighboring symbols. The likelihood is that of the
symbols, and within a cell the density follows its neighbors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.decoders.empirical_bayes.dense_model import WholeAnswer, one_pass, pilot_of
from lapwing.decoders.empirical_bayes.gaussian_model import Evidence, Likelihood, ScaledBasis
from lapwing.decoders.empirical_bayes.low_rank_model import (
    BLUR,
    Atoms,
    LowRankAnswer,
    low_rank_answer,
)
from lapwing.linear.arrays import Matrix, Vector, Whole, running_sums
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import CountTally


@dataclass(frozen=True, eq=False)
class Cells:
    """Runs of symbols, and how the mass of each is spread over its symbols.

    start: int64 [cells], increasing from 0.
    cell: int64 [size], the cell of each symbol.
    share: float64 [size], part of its cell's mass. The parts of a cell sum to one.
    """

    start: Whole
    cell: Whole
    share: Vector

    @classmethod
    def of(cls, start: Whole, size: int) -> Cells:
        """Return cells that begin at some symbols, each spread evenly."""
        number = np.diff(np.append(start, size))
        cell = np.repeat(np.arange(start.size), number)
        return cls(start, cell, 1 / number[cell])

    def following(self, mass: Vector, width: Vector, *, circular: bool = False) -> Cells:
        """Return the same cells, within which the density is a line that suits the neighbors.

        mass: float64 [cells], not negative.
        width: float64 [size], positive, and zero for symbols that are separate cells.
        circular: Whether the last cell touches the first.

        The slope of a cell is the harmonic mean of those to the left and to the right. It is zero
        where they differ in sign [1]_. So no density is negative, and no cell has an extremum that
        its mass does not have.

        .. [1] B. van Leer, "Towards the ultimate conservative difference scheme. II. Monotonicity
           and conservation combined in a second-order scheme", Journal of Computational Physics
           14(4), 1974. doi:10.1016/0021-9991(74)90019-9
        """
        extent = self.total(width)
        apart = extent == 0
        density = mass / np.where(apart, 1.0, extent)
        # Half of this cell and half of the one before it.
        reach = (extent + np.roll(extent, 1)) / 2
        ends = apart | np.roll(apart, 1)
        ends[0] |= not circular
        rise = np.where(ends, 0.0, density - np.roll(density, 1))
        left = rise / np.where(ends, 1.0, reach)
        right = np.roll(left, -1)
        # At the ends, and beside what stands apart, the one neighbor says nothing of a slope.
        same = left * right > 0
        slope = np.where(same, 2 * left * right / np.where(same, left + right, 1.0), 0.0)
        # Beside a narrow cell the line must not leave the range of the neighbors either.
        most = 2 * np.minimum(np.abs(rise), np.abs(np.roll(rise, -1)))
        most = most / np.where(apart, 1.0, extent)
        slope = np.clip(slope, -most, most)
        middle = np.cumsum(extent) - extent / 2
        place = np.cumsum(width) - width / 2 - middle[self.cell]
        raised = width * (density[self.cell] + slope[self.cell] * place)
        raised = np.where(apart[self.cell], 1.0, np.maximum(raised, 0.0))
        held = self.total(raised)
        even = np.where(apart, 1.0, 1 / np.where(apart, 1.0, extent))[self.cell]
        even *= np.where(apart[self.cell], 1.0, width)
        share = np.where(held[self.cell] > 0, raised / np.maximum(held, 1e-300)[self.cell], even)
        return Cells(self.start, self.cell, share)

    def total(self, rows: Matrix) -> Matrix:
        """Return sums over the rows of each cell: float64 [cells] or [cells, columns]."""
        sums: Matrix = np.add.reduceat(rows, self.start, axis=0)
        return sums

    def of_symbols(self, mass: Vector) -> Vector:
        """Return the masses of the symbols, from those of the cells: float64 [size]."""
        return self.share * mass[self.cell]

    def spread(self) -> Matrix:
        """Return the matrix from masses of cells to masses of symbols: float64 [size, cells]."""
        matrix = np.zeros((self.cell.size, self.start.size))
        matrix[np.arange(self.cell.size), self.cell] = self.share
        return matrix

    def averaged(self, rows: Matrix) -> Matrix:
        """Multiply by the transpose of that matrix."""
        return self.total(self.share.reshape(-1, *[1] * (rows.ndim - 1)) * rows)

    def quadratic(self, likelihood: Likelihood) -> tuple[Matrix, Vector]:
        """Return information and score of the cells' masses, float64 [cells, cells] and [cells]."""
        information = self.averaged(likelihood.curved(self.spread()))
        return (information + information.T) / 2, self.averaged(likelihood.score)

    def along(self) -> Vector:
        """Return which part of its cell's mass lies up to the right end of each symbol."""
        sums = running_sums(self.share)
        before = np.append(0.0, sums)[self.start]
        along: Vector = np.clip(sums - before[self.cell], 0.0, 1.0)
        return along

    def inner_information(self, likelihood: Likelihood) -> Vector:
        """Return what the reports say about mass that moves between the halves of each cell.

        The information about the amplitude of `share`, taken up to the middle of the cell's mass
        and negative after it: float64 [cells].
        """
        halves = np.where(self.along() - self.share / 2 < 0.5, self.share, -self.share)
        longest = int(np.diff(np.append(self.start, self.cell.size)).max())
        bands = likelihood.near_diagonal(longest)
        square = bands[0] * halves**2
        for lag in range(1, longest):
            same = self.cell[lag:] == self.cell[:-lag]
            square[:-lag] += 2 * bands[lag, :-lag] * halves[:-lag] * halves[lag:] * same
        information: Vector = np.maximum(self.total(square), 0.0)
        return information


BLOCKS = 384
"""Most blocks before any is split. Their width is a power of two, as that of atoms is."""

_SPLITS = 48
"""Most atoms that split a block, the surest first."""

_ASKED = 128
"""Most cells of a component whose starts split blocks, so that none is cut."""


@dataclass(frozen=True, eq=False)
class CellAnswer:
    """A decoded distribution of many symbols with what a band needs to know.

    mass: float64 [size], the distribution.
    whole: Of the cells.
    cells: As the last pilot was spread.
    pilot: float64 [size].
    likelihood: Of the symbols, at the pilot.
    """

    mass: Vector
    whole: WholeAnswer
    cells: Cells
    pilot: Vector
    likelihood: Likelihood


def block_width(size: int) -> int:
    """Return the symbols of a block: the least power of two that leaves at most 384 of them.

    >>> [block_width(size) for size in (513, 1024, 4096, 65536)]
    [2, 4, 16, 256]
    """
    width = 1
    while -(-size // width) > BLOCKS:
        width *= 2
    return width


def cell_answer(
    channel: Channel, tally: CountTally, scaled: ScaledBasis, *, passes: int
) -> CellAnswer:
    """Return the answer of the whole prior on cells.

    scaled: The waves of the first answer, on the domain of the channel.
    passes: Times the likelihood is linearized before cells are made, at least 1. It is linearized
        once more on them.

    O(size * cells) for each block, then O(cells^3), alongside the first answer.
    """
    found = low_rank_answer(channel, tally, scaled, passes=passes)
    size = scaled.size
    width = block_width(size)
    asked = [getattr(block.operator, "asked_starts", ()) for block in channel.blocks]
    cells = Cells.of(cell_starts(found, scaled, width, asked), size)
    merged = scaled.merged(cells.start, width=width, blur=BLUR)
    extent = np.zeros(size)
    extent[scaled.joined] = scaled.width
    before = cells.total(found.mass)
    pilot = pilot_of(before, merged.uniform)
    cells = cells.following(pilot, extent, circular=scaled.circular)
    spread = cells.of_symbols(pilot)
    likelihood = Likelihood.of(channel, tally, spread)
    evidence = Evidence(*cells.quadratic(likelihood), pilot, tally.total)
    whole = one_pass(evidence, merged, before)
    spread_anew = cells.following(whole.mass, extent, circular=scaled.circular)
    mass = spread_anew.of_symbols(whole.mass)
    return CellAnswer(mass, whole, cells, spread, likelihood)


def cell_starts(
    found: LowRankAnswer, scaled: ScaledBasis, width: int, asked: Sequence[tuple[int, ...]]
) -> Whole:
    """Return where cells begin: int64 [cells].

    At multiples of the width, and at the ends of the surest atoms that are narrower than a
    cell. Also around symbols that are apart, and at the starts of `asked`, where these are few.
    """
    (places,) = np.nonzero(scaled.apart)
    atoms = _narrow(found, width)
    ends = [np.arange(0, scaled.size, width), places, places + 1, atoms.start, atoms.stop]
    ends += [np.array(starts, dtype=np.int64) for starts in asked if len(starts) <= _ASKED]
    start = np.unique(np.concatenate(ends))
    return start[start < scaled.size]


def _narrow(found: LowRankAnswer, width: int) -> Atoms:
    """Return the atoms of less than a block, the surest first."""
    atoms = found.model.atoms
    narrow = np.flatnonzero(atoms.stop - atoms.start < width)
    surest = narrow[np.argsort(-atoms.variance[narrow], kind="stable")]
    return atoms.subset(surest[:_SPLITS])
