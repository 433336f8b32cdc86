"""Waves on the cells that touch, their amplitude scaled by a power of the local density.

Where a decode begins: the columns that masses are written with. Where there are many people a
density varies more; which power of it (0, 1/2 or 1) fits is for the evidence to say, and how large
the waves of each frequency are for `spectrum.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lapwing.decoders.likelihood.neighbour_smoothing import Neighbours
from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.domains.domain import Domain

FREE = 0.25
"""Prior variance of the mass of a declared atom or of the missing symbol: anything goes."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns of unit mean square over the cells, and the number of half-waves of each.

    Parameters
    ----------
    columns : numpy.ndarray
        float64 [cells, frequencies].
    frequency : numpy.ndarray
        float64 [frequencies]: half-waves per domain, at least 1.
    """

    columns: Matrix
    frequency: Vector

    @classmethod
    def of(cls, cells: int, *, circular: bool, limit: int | None = None) -> Basis:
        """Return cosines, or sines and cosines on a circle; the constant is left out.

        Parameters
        ----------
        cells : int
        circular : bool
        limit : int, optional
            Frequencies kept; default all but the constant.
        """
        place = (np.arange(cells) + 0.5) / cells
        number = np.arange(1, cells if limit is None else min(limit + 1, cells))
        if not circular:
            columns = np.sqrt(2) * np.cos(np.pi * np.outer(place, number))
            return cls(columns, number.astype(np.float64))
        turns = (number + 1) // 2
        shift = np.where(number % 2 == 1, 0.0, np.pi / 2)
        columns = np.sqrt(2) * np.cos(2 * np.pi * np.outer(place, turns) - shift)
        return cls(columns, 2 * turns.astype(np.float64))


class ScaledBasis:
    """The basis of a domain as masses of all its symbols.

    Parameters
    ----------
    domain : Domain
        Ordered; else UnsupportedChannelError.
    limit : int, optional
        Frequencies kept; default all.
    blur : float
        Standard deviation, in cells, of the filter that makes an answer a local density.

    Attributes
    ----------
    joined : numpy.ndarray
        int64, the symbols that touch. Atoms and the missing symbol stand apart.
    apart : numpy.ndarray
        bool [size], the others.
    basis : Basis
        On the cells that touch.
    """

    def __init__(self, domain: Domain, *, limit: int | None = None, blur: float = 5.0) -> None:
        neighbours = Neighbours.of(domain)
        self.size = domain.size
        self.circular = domain.circular
        self.joined = neighbours.joined
        self.apart = np.ones(domain.size, dtype=np.bool_)
        self.apart[self.joined] = False
        self.width = neighbours.width[self.joined]
        self.basis = Basis.of(self.joined.size, circular=domain.circular, limit=limit)
        self.blur = blur

    def shapes(self, mass: Vector | None) -> Iterator[tuple[Vector, Matrix]]:
        """Return prior mean and waves for each scale to choose from, given the answer so far.

        Before there is an answer there is one: the uniform mean, and waves as they are.
        """
        yield np.full(self.size, 1 / self.size), self.columns(np.ones(self.joined.size))
        if mass is not None:
            density = self.density(mass)
            for scale in (np.sqrt(density), density):
                yield self._mean(density), self.columns(scale)

    def density(self, mass: Vector) -> Vector:
        """Return the blurred density of the joined cells, mean 1, at least 0.02."""
        from scipy.ndimage import gaussian_filter1d  # slow to import

        # When all mass is in atoms nothing is here: a flat density then.
        density = np.maximum(mass[self.joined], 1e-300) / self.width
        mode = "wrap" if self.circular else "reflect"
        smooth: Vector = gaussian_filter1d(density / density.mean(), self.blur, mode=mode)
        return np.maximum(smooth, 0.02)

    def columns(self, scale: Vector) -> Matrix:
        """Return the waves as masses, scaled, each with sum zero: float64 [size, frequencies]."""
        columns = np.zeros((self.size, self.basis.frequency.size))
        cells = self.basis.columns * (scale * self.width / self.size)[:, None]
        columns[self.joined] = cells - cells.mean(axis=0)
        return columns

    def taken_from(self, mean: Vector) -> Matrix:
        """Return a unit at each symbol that stands apart, less a prior mean.

        What it holds is taken from all others by their shares, so that their shape stays: float64
        [size, symbols apart], of sum zero.
        """
        (places,) = np.nonzero(self.apart)
        columns: Matrix = np.repeat(-mean[:, None], places.size, axis=1)
        columns[places, np.arange(places.size)] += 1
        return columns

    def mean_of(self, mass: Vector) -> Vector:
        """Return the blurred answer as masses; symbols that stand apart have 1 / size each."""
        return self._mean(self.density(mass))

    def _mean(self, density: Vector) -> Vector:
        """Return the density as masses; symbols that stand apart have 1 / size each."""
        mean = np.full(self.size, 1 / self.size)
        shape = density * self.width
        mean[self.joined] = shape * (self.joined.size / self.size / shape.sum())
        return mean
