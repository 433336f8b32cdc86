"""A few hundred cells of a large domain, for decoders whose work grows with its cube."""

from __future__ import annotations

import numpy as np

from lapwing.decoders.empirical_bayes.cell_band import Cells
from lapwing.decoders.empirical_bayes.wave_basis import Basis, ScaledBasis
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain


class CellBasis(ScaledBasis):
    """The waves of cells of a domain: runs of symbols that touch, and each other symbol alone.

    Parameters
    ----------
    domain : Domain
        Ordered; else UnsupportedChannelError.
    most : int
        Cells of symbols that touch, at least 2. A domain of no more symbols is left as it is.

    Attributes
    ----------
    start : numpy.ndarray
        int64 [cells], the first symbol of each.
    """

    def __init__(self, domain: Domain, *, most: int) -> None:
        super().__init__(domain, limit=most)
        touching = self.joined
        runs = min(most, touching.size)
        first = touching[np.arange(runs) * touching.size // runs]
        (alone,) = np.nonzero(self.apart)
        ends = np.concatenate([first, alone, alone + 1])
        self.start = np.unique(ends[ends < domain.size])
        symbols = np.zeros(domain.size)
        symbols[touching] = self.width
        width = np.add.reduceat(symbols, self.start)
        self.size = self.start.size
        self.apart = width == 0
        self.joined = np.flatnonzero(~self.apart)
        self.width = width[self.joined] / width.max()
        self.basis = Basis.of(self.joined.size, circular=self.circular)

    def spread_as(self, mass: Vector) -> Cells:
        """Return the cells with the mass of each spread over its symbols as a distribution has it.

        Parameters
        ----------
        mass : numpy.ndarray
            float64 [symbols]; every symbol keeps a twentieth of an even share.
        """
        size = mass.size
        cell = np.repeat(np.arange(self.size), np.diff(np.append(self.start, size)))
        held = 0.95 * mass + 0.05 / size
        return Cells(self.start, cell, held / np.add.reduceat(held, self.start)[cell])
