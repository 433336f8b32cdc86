"""Nearest points of convex sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector, Whole


def simplex(
    point: NDArray[np.float64], *, weights: NDArray[np.float64] | None = None, total: float = 1.0
) -> NDArray[np.float64]:
    """Return the non-negative vector of the given total that is nearest to a point: float64 [size].

    With equal weights this is Norm-Sub. It lowers every entry by the same amount, sets negative
    ones to zero, and repeats until the rest sums to the total.

    point: float64 [size], finite.
    weights: float64 [size], positive: minimize ``sum(weights * (x - point)^2)``. Default: all one.
    total: Greater than 0.

    The solution is ``max(point - level / weights, 0)``. The level is found exactly by sorting
    ``point * weights`` [1]_. Huge entries cannot overflow it, because the level is computed
    relative to the largest key. With equal weights it is Norm-Sub [2]_.

    **Cost.** Time O(size log size).

    .. [1] M. Held, P. Wolfe, H. Crowder, "Validation of subgradient optimization", Mathematical
       Programming, 1974. doi:10.1007/BF01580223
    .. [2] T. Wang, M. Lopuhaä-Zwakenberg, Z. Li, B. Škorić, N. Li, "Locally differentially private
       frequency estimation with consistency", NDSS, 2020. doi:10.14722/ndss.2020.24157
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


def grouped_simplex(point: Vector, group: Whole, *, shared: float) -> Vector:
    """Return the distribution x that minimizes ``sum((x - point)^2) + shared * sum(S^2)``.

    S are the sums of x over the groups.

    point: float64 [size], finite.
    group: int64 [size], from 0.
    shared: Greater than -1 / (entries of the largest group), so that the minimum is at one place.
    returns: float64 [size].

    The solution is ``max(point - level - shared S, 0)``. In a group the r largest entries are
    positive below a certain level, the key of the entry of rank r. Between two keys S changes by
    ``r / (1 + shared r)`` for each unit of the level. So the total of all groups is a sum of hinges
    ``w max(key - level, 0)`` with ``w = 1 / ((1 + shared r) (1 + shared (r - 1)))``. The level
    where it is one is found by sorting the keys, as in :func:`simplex`.

    **Cost.** Time O(size log size).
    """
    order = np.lexsort((-point, group))
    number = group[order]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    count = np.diff(first, append=point.size)
    before = np.repeat(first, count)
    rank = np.arange(1, point.size + 1) - before
    # Relative to the largest entry of the group. What lies further below than one gets nothing.
    largest = np.repeat(point[order][first], count)
    below = np.maximum(point[order] - largest, -1.0)
    sums = np.cumsum(below)
    sums -= (sums - below)[before]
    key = largest + below - shared * (sums - rank * below)
    weight = 1 / ((1 + shared * rank) * (1 + shared * (rank - 1)))
    falling = np.argsort(-key)
    top = key[falling[0]]
    ordered, hinge = key[falling] - top, weight[falling]
    levels = (np.cumsum(hinge * ordered) - 1) / np.cumsum(hinge)
    level = top + levels[max(int(np.count_nonzero(ordered > levels)), 1) - 1]
    held = np.bincount(
        number, weight * np.maximum(key - level, 0.0), minlength=int(group.max()) + 1
    )
    nearest: Vector = np.maximum(point - level - shared * held[group], 0.0)
    nearest /= nearest.sum()
    return nearest


def norm_sub(point: NDArray[np.float64], *, total: float = 1.0) -> NDArray[np.float64]:
    """Norm-Sub: nearest non-negative vector of a given total (Wang et al., 2020).

    It is the same as :func:`lapwing.linear.projections.simplex` with equal weights, to rounding. It
    is ten times as fast at 65536 entries.

    point: float64 [size], finite.
    total: Greater than 0. Default: 1.
    returns: float64 [size].

    Lower all entries by the same amount so that they sum to the total, drop the negative ones, and
    repeat with the rest ([1]_, [2]_). Each pass drops an entry or is the last. In practice there
    are three to six passes, O(size) together.

    As published, negative entries are set to zero first, and then none may be left to raise. That
    is a division of zero by zero when all estimates are negative. Here the largest entry is never
    dropped. Relative to it no sum is positive, so the level is always below it, whatever the
    rounding.

    .. [1] T. Wang, M. Lopuhaä-Zwakenberg, Z. Li, B. Škorić, N. Li, "Locally differentially private
       frequency estimation with consistency", NDSS, 2020. doi:10.14722/ndss.2020.24157
    .. [2] C. Michelot, "A finite algorithm for finding the projection of a point onto the canonical
       simplex of R^n", Journal of Optimization Theory and Applications, 1986.
       doi:10.1007/BF00938486
    """
    shifted = point - point.max()
    held = shifted
    while True:
        level = (held.sum() - total) / held.size
        kept = held[held > level]
        if kept.size == held.size:
            break
        held = kept
    nearest: NDArray[np.float64] = np.maximum(shifted - level, 0.0)
    nearest *= total / nearest.sum()
    return nearest


def clipped(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positive shares divided by their sum, uniform where none is positive."""
    positive = np.maximum(shares, 0.0)
    total = float(positive.sum())
    return positive / total if total > 0 else np.full(shares.size, 1 / shares.size)


def spread(shares: NDArray[np.float64], *, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return a distribution with the kept shares, and what is missing evenly on all others.

    Where the kept shares already sum to one or more, or all are kept, they are projected on the
    simplex. The others then stay zero.

    shares: float64 [size].
    kept: bool [size].
    """
    positive = np.where(kept, np.maximum(shares, 0.0), 0.0)
    missing = 1 - float(positive.sum())
    others = int(kept.size - np.count_nonzero(kept))
    if missing <= 0 or others == 0:
        return projected(shares, kept=kept)
    positive[~kept] = missing / others
    return positive


def projected(shares: NDArray[np.float64], *, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the nearest distribution that lives on the kept categories, uniform without any."""
    if not kept.any():
        return np.full(shares.size, 1 / shares.size)
    mass = np.zeros(shares.size)
    mass[kept] = simplex(shares[kept])
    return mass
