"""The likelihood of reports about pairs, seen through products of both axes.

A density over two axes is ``x = exp(eta) / sum(exp(eta))`` with ``eta = A Z B'``: columns of A and
B are functions of the axes, Z their amplitudes. The computations here need products of small
matrices only. They are the likelihood and its slope, its curvature, and draws from the posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Matrix, Whole
from lapwing.linear.operators.separable import Separable
from lapwing.protocol.channels.channel import (
    Block,
    Channel,
    FixedSizeSubset,
    Multinomial,
    ProductOfBits,
)
from lapwing.protocol.messages.tally import CountTally

_TINY = 1e-300

_AT_ONCE = 32
"""Amplitudes that are multiplied by the curvature at once."""


def _product(first: Matrix, middle: Matrix, second: Matrix) -> Matrix:
    """Return first @ middle @ second, in the order with fewer multiplications."""
    rows, columns = middle.shape[-2:]
    left = len(first) * columns * (rows + second.shape[1])
    right = second.shape[1] * rows * (columns + len(first))
    found: Matrix
    # Rounding of single precision would move where an iteration stops, so its order is fixed.
    if left <= right or middle.dtype != np.float64:
        found = np.matmul(np.matmul(first, middle), second)
    else:
        found = np.matmul(first, np.matmul(middle, second))
    return found


@dataclass(frozen=True, eq=False)
class SeparablePart:
    """Counts of one block of the channel, and how each cell is seen there.

    first, second: Zeros and ones: which outputs of an axis see a symbol.
    base, slope: The chance of an output is ``base + slope * (what it sees)``. Groups of outputs may
        have bases that differ.
    counts: float64 [outputs of the first axis, outputs of the second].
    information: None where each report is one output. Else what each count is worth as a sum of
        independent bits: 1, or less where bits exclude each other.
    """

    first: Matrix
    second: Matrix
    base: float | Matrix
    slope: float
    counts: Matrix
    reports: int
    information: float | None

    def means(self, cells: Matrix) -> Matrix:
        """Return the chance of each output."""
        return self.base + self.slope * _product(self.first, cells, self.second.T) + _TINY

    def changes(self, moved: Matrix) -> Matrix:
        """Return by how much chances change with the cells, also for a stack of changes."""
        return self.slope * _product(self.first, moved, self.second.T)

    def adjoint(self, outputs: Matrix) -> Matrix:
        """Return the transpose of :meth:`changes`."""
        return self.slope * _product(self.first.T, outputs, self.second)

    def value_and_score(self, cells: Matrix) -> tuple[float, Matrix]:
        """Return the (composite) log-likelihood, and its slope by the chances of outputs."""
        means = self.means(cells)
        if self.information is None:
            return float((self.counts * np.log(means)).sum()), self.counts / means
        others = 1 - means + _TINY
        value = self.counts * np.log(means) + (self.reports - self.counts) * np.log(others)
        score = (self.counts - self.reports * means) / (means * others)
        return self.information * float(value.sum()), self.information * score

    def weights(self, cells: Matrix) -> Matrix:
        """Return the expected information about the chance of each output."""
        means = self.means(cells)
        if self.information is None:
            return self.reports / means
        return self.information * self.reports / (means * (1 - means) + _TINY)

    def grouped(self, starts: Sequence[Whole]) -> SeparablePart:
        """Return what it says about groups of cells.

        starts: First symbol of each group, for both axes.
        """
        seen, counts, base = [], self.counts, np.full(self.counts.shape, self.base)
        for axis, (matrix, begin) in enumerate(zip((self.first, self.second), starts, strict=True)):
            cells = np.diff([*begin, matrix.shape[1]])
            matrix = np.add.reduceat(matrix, begin, axis=1) / cells
            if self.information is None and len(begin) < len(matrix):
                # Outputs that are as near to each other are one output. Their law is the same.
                outputs = np.arange(0, len(matrix), cells.max())
                counts = np.add.reduceat(counts, outputs, axis=axis)
                base = np.add.reduceat(base, outputs, axis=axis)
                matrix = np.add.reduceat(matrix, outputs, axis=0)
            seen.append(matrix)
        return replace(self, first=seen[0], second=seen[1], base=base, counts=counts)


def separable_parts(channel: Channel, tally: CountTally) -> list[SeparablePart]:
    """Return the blocks of a channel over two axes, with their counts.

    Raises UnsupportedChannelError when a block is not a product of both axes, or its reports have
    another distribution.
    """
    found = []
    shape = getattr(channel.domain, "shape", None)
    if shape is None:
        raise UnsupportedChannelError(
            "this decoder is for pairs: reports about a Product of two axes"
        )
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        if reports:
            first, second, inside, outside = _factors(block, shape)
            found.append(
                SeparablePart(
                    first,
                    second,
                    outside,
                    inside - outside,
                    counts.astype(np.float64).reshape(first.shape[0], second.shape[0]),
                    reports,
                    _information(block),
                )
            )
    return found


def _factors(block: Block, shape: tuple[int, int]) -> tuple[Matrix, Matrix, float, float]:
    operator = block.operator
    if isinstance(operator, Separable):
        return operator.first, operator.second, operator.inside, operator.outside
    if operator.compound is not None and operator.shape[0] == operator.shape[1]:
        return np.eye(shape[0]), np.eye(shape[1]), *operator.compound
    raise UnsupportedChannelError(
        "this decoder needs reports that treat the two axes separately: boxes, strips, blocks "
        "or single cells. Decode this randomizer with MixturePrior or LeastSquares"
    )


def _information(block: Block) -> float | None:
    law = block.law
    if isinstance(law, Multinomial):
        return None
    if isinstance(law, ProductOfBits):
        return 1.0
    if isinstance(law, FixedSizeSubset):
        return 1 - 1 / law.symbols
    raise UnsupportedChannelError(
        "this decoder takes reports that are one output, bits, or sets of one size"
    )


class LogDensity:
    """Densities over two axes by the amplitudes of products of their functions.

    first, second: Functions of the axes: float64 [symbols, functions].
    """

    def __init__(self, first: Matrix, second: Matrix, parts: Sequence[SeparablePart]) -> None:
        self.first = first
        self.second = second
        self.parts = parts

    def cells(self, amplitudes: Matrix) -> Matrix:
        """Return the shares of the cells."""
        eta = self.first @ amplitudes @ self.second.T
        cells: Matrix = np.exp(eta - eta.max())
        cells /= cells.sum()
        return cells

    def value_and_slope(self, amplitudes: Matrix) -> tuple[float, Matrix]:
        """Return the log-likelihood and its slope by the amplitudes."""
        cells = self.cells(amplitudes)
        value, slope = 0.0, np.zeros_like(cells)
        for part in self.parts:
            more, score = part.value_and_score(cells)
            value += more
            slope += part.adjoint(score)
        return value, self.pulled_back(cells, slope)

    def moved(self, cells: Matrix, amplitudes: Matrix) -> Matrix:
        """Return by how much cells change with the amplitudes, also for a stack of changes."""
        eta = _product(self.first, amplitudes, self.second.T)
        mean = (eta * cells).sum(axis=(-2, -1), keepdims=True)
        moved: Matrix = cells * (eta - mean)
        return moved

    def pulled_back(self, cells: Matrix, slope: Matrix) -> Matrix:
        """Return the transpose of :meth:`moved`."""
        mean = (slope * cells).sum(axis=(-2, -1), keepdims=True)
        eta = cells * (slope - mean)
        return _product(self.first.T, eta, self.second)

    def weights(self, cells: Matrix) -> list[Matrix]:
        """Return the information about the outputs of each part."""
        return [part.weights(cells) for part in self.parts]

    def diagonal(self, cells: Matrix) -> Matrix:
        """Return the diagonal of the curvature, as if both axes were independent."""
        rows, columns = cells.sum(axis=1), cells.sum(axis=0)
        mean = np.outer(rows @ self.first, columns @ self.second)
        total = np.zeros_like(mean)
        for part in self.parts:
            # An output moves by (along x across) - mean (row x column).
            weight = part.slope**2 * part.weights(cells)
            along, row = part.first @ (rows[:, None] * self.first), part.first @ rows
            across, column = part.second @ (columns[:, None] * self.second), part.second @ columns
            total += (along**2).T @ weight @ across**2
            total -= 2 * mean * ((row[:, None] * along).T @ weight @ (column[:, None] * across))
            total += mean**2 * float(row**2 @ weight @ column**2)
        return np.maximum(total, 0.0)

    def curved(self, cells: Matrix, weights: Sequence[Matrix], amplitudes: Matrix) -> Matrix:
        """Return the expected curvature times a stack of amplitudes."""
        return self.pulled_back(cells, self.informed(weights, self.moved(cells, amplitudes)))

    def informed(self, weights: Sequence[Matrix], moved: Matrix) -> Matrix:
        """Return the information about the cells times a stack of changes of them."""
        slope = np.zeros_like(moved)
        for part, weight in zip(self.parts, weights, strict=True):
            slope += part.adjoint(weight * part.changes(moved))
        return slope

    def cell_information(self, weights: Sequence[Matrix]) -> Matrix:
        """Return the diagonal of the information about the cells."""
        # What an output sees of a cell is 0 or 1, so its square is itself.
        seen = [
            part.slope * part.adjoint(weight)
            for part, weight in zip(self.parts, weights, strict=True)
        ]
        diagonal: Matrix = np.sum(seen, axis=0)
        return diagonal

    def single(self) -> LogDensity:
        """Return the same in single precision, for draws: twice as fast, and exact enough."""
        parts = [
            replace(
                part,
                first=part.first.astype(np.float32),
                second=part.second.astype(np.float32),
                counts=part.counts.astype(np.float32),
            )
            for part in self.parts
        ]
        return LogDensity(self.first.astype(np.float32), self.second.astype(np.float32), parts)

    def grouped(self, starts: Sequence[Whole]) -> LogDensity:
        """Return the same on groups of neighboring cells, or itself where a group is a cell.

        starts: First symbol of each group, for both axes.
        """
        axes = self.first, self.second
        if all(len(axis) == len(begin) for axis, begin in zip(axes, starts, strict=True)):
            return self
        first, second = (
            np.add.reduceat(axis, begin) / np.diff([*begin, len(axis)])[:, None]
            for axis, begin in zip(axes, starts, strict=True)
        )
        return LogDensity(first, second, [part.grouped(starts) for part in self.parts])

    def information(self, amplitudes: Matrix, chosen: Whole) -> Matrix:
        """Return the expected curvature of some amplitudes.

        chosen: Their numbers in the flattened table.
        """
        cells = self.cells(amplitudes)
        weights = self.weights(cells)
        found = np.empty((chosen.size, chosen.size))
        for start in range(0, chosen.size, _AT_ONCE):
            part = chosen[start : start + _AT_ONCE]
            units = np.zeros((part.size, amplitudes.size))
            units[np.arange(part.size), part] = 1.0
            curved = self.curved(cells, weights, units.reshape(-1, *amplitudes.shape))
            found[start : start + _AT_ONCE] = curved.reshape(part.size, -1)[:, chosen]
        return found

    def surprise(self, cells: Matrix, weights: Sequence[Matrix]) -> Matrix:
        """Return how counts differ from what the cells say, each by its information, by the cells.

        Its mean is the information times what is wrong with the cells, however wrong they are.
        """
        slope = np.zeros_like(cells)
        for part, weight in zip(self.parts, weights, strict=True):
            slope += part.adjoint(weight * (part.counts / part.reports - part.means(cells)))
        return slope

    def scores(self, weights: Sequence[Matrix], draws: int, rng: np.random.Generator) -> Matrix:
        """Return slopes by the cells as the noise of the reports makes them: [draws, cells]."""
        part, weight = self.parts[0], weights[0]
        slope = np.zeros((draws, part.first.shape[1], part.second.shape[1]), dtype=weight.dtype)
        for part, weight in zip(self.parts, weights, strict=True):
            errors = rng.standard_normal((draws, *weight.shape)).astype(weight.dtype)
            slope += part.adjoint(np.sqrt(weight) * errors)
        return slope
