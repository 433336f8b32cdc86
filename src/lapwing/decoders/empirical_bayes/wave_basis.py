"""Waves on the cells that touch, their amplitude scaled by a power of the local density.

Where a decode begins: the columns that masses are written with. Where there are many people a
density varies more. The evidence decides which power of it (0, 1/2 or 1) fits. The size of the
waves of each frequency is decided by `gaussian_model.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np

from lapwing.decoders.likelihood.neighbor_smoothing import Neighbors
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.linear.memoized import cached_property
from lapwing.protocol.domains.domain import Domain

FREE = 0.25
"""Prior variance of the mass of a declared atom or of the missing symbol: anything goes."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns of unit mean square over the cells, and the number of half-waves of each.

    columns: float64 [cells, frequencies].
    frequency: float64 [frequencies]: half-waves per domain, at least 1.
    """

    columns: Matrix
    frequency: Vector

    @classmethod
    def of(cls, cells: int, *, circular: bool, limit: int | None = None) -> Basis:
        """Return cosines, or sines and cosines on a circle, without the constant.

        limit: Frequencies kept. Default: all but the constant.
        """
        place = (np.arange(cells) + 0.5) / cells
        return cls.at(place, circular=circular, limit=cells - 1 if limit is None else limit)

    @classmethod
    def at(cls, place: Vector, *, circular: bool, limit: int) -> Basis:
        """Return the same at the middles of cells that may differ in width.

        place: float64 [cells], in (0, 1).
        limit: Frequencies kept.
        """
        number = np.arange(1, min(limit + 1, place.size))
        if not circular:
            columns = np.sqrt(2) * np.cos(np.pi * np.outer(place, number))
            return cls(columns, number.astype(np.float64))
        turns = (number + 1) // 2
        shift = np.where(number % 2 == 1, 0.0, np.pi / 2)
        columns = np.sqrt(2) * np.cos(2 * np.pi * np.outer(place, turns) - shift)
        return cls(columns, 2 * turns.astype(np.float64))


class ScaledBasis:
    """The basis of a domain as masses of all its symbols.

    domain: Ordered domain. Another one raises UnsupportedChannelError.
    limit: Frequencies kept. Default: all.
    blur: Standard deviation, in cells, of the filter that makes an answer a local density.

    Attributes
    ----------
    joined : numpy.ndarray
        int64, the symbols that touch. Atoms and the missing symbol stand apart.
    apart : numpy.ndarray
        bool [size], the others.
    outside : numpy.ndarray
        bool [size], those that stand apart for values below and above the range.
    line : numpy.ndarray
        bool [size], the symbols in order on a line: none on a circle, and not the missing one.
    width : numpy.ndarray
        float64 [joined]: of each symbol that touches, in units of the widest, or of each run
        (:meth:`merged`), in units of their mean.
    uniform : numpy.ndarray
        float64 [size], the masses before anything is known: nobody is outside.
    group : numpy.ndarray
        int64 [joined], not decreasing from 0 in steps of one: the density of a group is one.
    basis : Basis
        On the cells that touch. Computed when it is first asked for.
    """

    def __init__(self, domain: Domain, *, limit: int | None = None, blur: float = 5.0) -> None:
        neighbors = Neighbors.of(domain)
        self.size = domain.size
        self.circular = domain.circular
        self.joined = neighbors.joined
        self.apart = np.ones(domain.size, dtype=np.bool_)
        self.apart[self.joined] = False
        self.outside = np.zeros(domain.size, dtype=np.bool_)
        for end in (domain.below_index, domain.above_index):
            if end is not None:
                self.outside[end] = True
        self.line = (np.arange(domain.size) < domain.left.size) & (not domain.circular)
        self.width = neighbors.width[self.joined]
        self.uniform = ~self.outside / np.count_nonzero(~self.outside)
        self.group = np.arange(self.joined.size)
        self.limit = limit
        self.blur = blur

    @cached_property
    def basis(self) -> Basis:  # noqa: D102 - among the attributes of the class
        return Basis.of(self.joined.size, circular=self.circular, limit=self.limit)

    def on(self, basis: Basis) -> ScaledBasis:
        """Return the same with other columns on the cells that touch."""
        other = copy(self)
        other.__dict__["basis"] = basis
        return other

    def merged(self, start: Whole, *, width: int, blur: float) -> ScaledBasis:
        """Return that of runs of symbols, with as many waves as there are blocks but one.

        start: int64 [runs], increasing from 0: where each begins. A symbol that stands apart is a
            run of its own.
        width: Symbols of a block. Runs end at its multiples at the latest. The density is that of
            blocks: parts of one have the same.
        blur: Standard deviation of the filter, as a part of the domain.
        """
        runs = copy(self)
        runs.size = start.size
        runs.apart = self.apart[start]
        runs.outside = self.outside[start]
        runs.line = self.line[start]
        runs.joined = np.flatnonzero(~runs.apart)
        runs.uniform = np.add.reduceat(self.uniform, start)
        wide, place = np.zeros(self.size), np.zeros(self.size)
        wide[self.joined] = self.width
        place[self.joined] = np.arange(self.joined.size) + 0.5
        first = start[runs.joined]
        runs.width = np.add.reduceat(wide, start)[runs.joined] * (start.size / self.size)
        number = np.diff(np.append(start, self.size))[runs.joined]
        middle = np.add.reduceat(place, start)[runs.joined] / number / self.joined.size
        runs.group = np.unique(first // width, return_inverse=True)[1]
        blocks = int(runs.group[-1]) + 1
        runs.blur = blur * blocks
        return runs.on(Basis.at(middle, circular=self.circular, limit=blocks - 1))

    def shapes(self, mass: Vector | None) -> Iterator[tuple[Vector, Matrix]]:
        """Return prior mean and waves for each scale to choose from, given the answer so far.

        Before there is an answer there is one: the uniform mean, and waves as they are.
        """
        yield self.uniform, self.columns(np.ones(self.joined.size))
        if mass is not None:
            density = self.density(mass)
            for scale in (np.sqrt(density), density):
                yield self._mean(density), self.columns(scale)

    def density(self, mass: Vector) -> Vector:
        """Return the blurred density of the joined cells, mean 1, at least 0.02."""
        from scipy.ndimage import gaussian_filter1d  # slow to import

        # When all mass is in atoms nothing is here: a flat density then.
        density = self.of_groups(np.maximum(mass[self.joined], 1e-300))
        mode = "wrap" if self.circular else "reflect"
        smooth: Vector = gaussian_filter1d(density / density.mean(), self.blur, mode=mode)
        return np.maximum(smooth, 0.02)[self.group]

    def of_groups(self, cells: Vector) -> Vector:
        """Return the density of each group: float64 [groups], from the masses of its cells."""
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        density: Vector = np.add.reduceat(cells, first) / np.add.reduceat(self.width, first)
        return density

    def columns(self, scale: Vector) -> Matrix:
        """Return the waves as masses, scaled, each with sum zero: float64 [size, frequencies]."""
        columns = np.zeros((self.size, self.basis.frequency.size))
        cells = self.basis.columns * (scale * self.width / self.size)[:, None]
        columns[self.joined] = cells - cells.mean(axis=0)
        return columns

    def taken_from(self, mean: Vector) -> Matrix:
        """Return a unit at each symbol that stands apart, less a prior mean.

        Their mass is taken from all others by their shares, so that their shape stays: float64
        [size, symbols apart], of sum zero.
        """
        (places,) = np.nonzero(self.apart)
        columns: Matrix = np.repeat(-mean[:, None], places.size, axis=1)
        columns[places, np.arange(places.size)] += 1
        return columns

    def mean_of(self, mass: Vector) -> Vector:
        """Return the blurred answer as masses, where separate symbols have 1 / size each."""
        return self._mean(self.density(mass))

    def _mean(self, density: Vector) -> Vector:
        """Return the density as masses. Symbols that stand apart have 1 / size each."""
        mean = self.uniform.copy()
        shape = density * self.width
        mean[self.joined] = shape * (self.share / shape.sum())
        return mean

    @property
    def share(self) -> float:
        """Masses of the uniform distribution in the cells that touch."""
        return float(self.uniform[self.joined].sum())
