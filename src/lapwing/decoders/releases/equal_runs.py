"""A few hundred runs of a large domain, for decoders of releases whose work grows with its cube."""

from __future__ import annotations

import numpy as np

from lapwing.decoders.empirical_bayes.cells import Cells
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain

_BLUR = 5.0
"""Standard deviation, in runs, of the filter that makes an answer a local density."""


def equal_runs(domain: Domain, mass: Vector, *, most: int) -> tuple[ScaledBasis, Cells]:
    """Return the waves of runs of symbols that touch, each other symbol alone, and these cells.

    Parameters
    ----------
    domain : Domain
        Ordered; else UnsupportedChannelError.
    mass : numpy.ndarray
        float64 [symbols], the distribution as which the mass of a cell is spread over its symbols;
        every symbol keeps a twentieth of an even share.
    most : int
        Runs, at least 2. A domain of no more symbols that touch is left as it is.
    """
    size = domain.size
    basis = ScaledBasis(domain)
    touching = basis.joined
    runs = min(most, touching.size)
    first = touching[np.arange(runs) * touching.size // runs]
    (alone,) = np.nonzero(basis.apart)
    ends = np.concatenate([first, alone, alone + 1])
    start = np.unique(ends[ends < size])
    if start.size < size:
        together = start.size - int(basis.apart[start].sum())
        basis = basis.merged(start, width=1, blur=_BLUR / together)
    cell = np.repeat(np.arange(start.size), np.diff(np.append(start, size)))
    held = 0.95 * mass + 0.05 / size
    return basis, Cells(start, cell, held / np.add.reduceat(held, start)[cell])
