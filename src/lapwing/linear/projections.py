"""Nearest points of convex sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def simplex(
    point: NDArray[np.float64], *, weights: NDArray[np.float64] | None = None, total: float = 1.0
) -> NDArray[np.float64]:
    """Return the non-negative vector of the given total that is nearest to a point.

    With equal weights this is Norm-Sub: lower every entry by the same amount, set negative ones
    to zero, repeat until the rest sums to the total.

    Parameters
    ----------
    point : numpy.ndarray
        float64 [size], finite.
    weights : numpy.ndarray, optional
        float64 [size], positive: minimise ``sum(weights * (x - point)^2)``. Default: all one.
    total : float
        Greater than 0.

    Returns
    -------
    numpy.ndarray
        float64 [size].

    Notes
    -----
    The solution is ``max(point - level / weights, 0)``; the level is found exactly by sorting
    ``point * weights``, O(size log size). Huge entries cannot overflow it: the level is computed
    relative to the largest key.

    Source: Held, Wolfe and Crowder 1974; Norm-Sub in Wang et al. 2020 (consistency).
    """
    if weights is None:
        # Shifting by the maximum keeps the sums of tiny differences exact. What lies further below
        # it than the total gets nothing, however far, so it must not overflow the sums.
        with np.errstate(over="ignore"):
            shifted = np.maximum(point - point.max(), -total)
        ordered = np.sort(shifted)[::-1]
        levels = (np.cumsum(ordered) - total) / np.arange(1, point.size + 1)
        active = int(np.count_nonzero(ordered > levels))
        nearest: NDArray[np.float64] = np.maximum(shifted - levels[max(active, 1) - 1], 0.0)
    else:
        keys = point * weights
        order = np.argsort(keys)[::-1]
        inverse = 1 / weights[order]
        levels = (np.cumsum(point[order]) - total) / np.cumsum(inverse)
        active = int(np.count_nonzero(keys[order] > levels))
        nearest = np.maximum(point - levels[max(active, 1) - 1] / weights, 0.0)
    nearest *= total / nearest.sum()
    return nearest
