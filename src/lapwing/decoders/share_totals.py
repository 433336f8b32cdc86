"""What becomes of the mass that is missing when small shares are set to zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.projections import simplex

Vector = NDArray[np.float64]


def spread(shares: Vector, *, kept: NDArray[np.bool_]) -> Vector:
    """Return a distribution: kept shares as they are, what is missing evenly on all others.

    Where the kept shares already sum to one or more, or all are kept, they are projected on the
    simplex instead, and the others stay zero.

    Parameters
    ----------
    shares : numpy.ndarray
        float64 [size].
    kept : numpy.ndarray
        bool [size].
    """
    positive = np.where(kept, np.maximum(shares, 0.0), 0.0)
    missing = 1 - float(positive.sum())
    others = int(kept.size - np.count_nonzero(kept))
    if missing <= 0 or others == 0:
        return projected(shares, kept=kept)
    positive[~kept] = missing / others
    return positive


def projected(shares: Vector, *, kept: NDArray[np.bool_]) -> Vector:
    """Return the nearest distribution that lives on the kept symbols; uniform without any."""
    if not kept.any():
        return np.full(shares.size, 1 / shares.size)
    mass = np.zeros(shares.size)
    mass[kept] = simplex(shares[kept])
    return mass
