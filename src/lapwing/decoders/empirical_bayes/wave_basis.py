"""Waves on the cells that touch, their amplitude scaled by a power of the local density.

Where there are many people a density varies more. Which power (0, 1/2 or 1) fits is for the
evidence to say.
"""

from __future__ import annotations

import numpy as np

from lapwing.decoders.empirical_bayes.spectrum import Basis
from lapwing.decoders.likelihood.neighbour_smoothing import Neighbours
from lapwing.linear.arrays import Matrix, Vector
from lapwing.protocol.domains.domain import Domain

FREE = 0.25
"""Prior variance of the mass of a declared atom or of the missing symbol: anything goes."""


class ScaledBasis:
    """The basis of a domain as masses of all its symbols.

    Parameters
    ----------
    domain : Domain
        Ordered; else UnsupportedChannelError.
    most : int, optional
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

    def __init__(self, domain: Domain, *, most: int | None = None, blur: float = 5.0) -> None:
        neighbours = Neighbours.of(domain)
        self.size = domain.size
        self.circular = domain.circular
        self.joined = neighbours.joined
        self.apart = np.ones(domain.size, dtype=np.bool_)
        self.apart[self.joined] = False
        self.width = neighbours.width[self.joined]
        self.basis = Basis.of(self.joined.size, circular=domain.circular, most=most)
        self.blur = blur

    def density(self, mass: Vector) -> Vector:
        """Return the blurred density of the joined cells, mean 1, at least 0.02."""
        from scipy.ndimage import gaussian_filter1d  # slow to import

        # When all mass is in atoms nothing is here: a flat density then.
        density = np.maximum(mass[self.joined], 1e-300) / self.width
        mode = "wrap" if self.circular else "reflect"
        smooth: Vector = gaussian_filter1d(density / density.mean(), self.blur, mode=mode)
        return np.maximum(smooth, 0.02)

    def scales(self, mass: Vector | None) -> list[Vector]:
        """Return the scales to choose from, given the answer so far."""
        scales = [np.ones(self.joined.size)]
        if mass is not None:
            density = self.density(mass)
            scales += [np.sqrt(density), density]
        return scales

    def columns(self, scale: Vector) -> Matrix:
        """Return the waves as masses, scaled, each with sum zero: float64 [size, frequencies]."""
        columns = np.zeros((self.size, self.basis.frequency.size))
        cells = self.basis.columns * (scale * self.width / self.size)[:, None]
        columns[self.joined] = cells - cells.mean(axis=0)
        return columns

    def mean(self, mass: Vector) -> Vector:
        """Return the blurred answer as masses; symbols that stand apart have 1 / size each."""
        mean = np.full(self.size, 1 / self.size)
        shape = self.density(mass) * self.width
        mean[self.joined] = shape * (self.joined.size / self.size / shape.sum())
        return mean
