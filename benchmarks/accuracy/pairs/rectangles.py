"""Random rectangles, and the errors of a table of cells in them and in its CDF."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

NUMBER = 500

Table = NDArray[np.float64]


@cache
def rectangles(bins: int, number: int = NUMBER) -> NDArray[np.int64]:
    """Return corners of random rectangles, the same each time.

    Parameters
    ----------
    bins : int
        On each axis.
    number : int
        Rectangles. Fewer of them are the first of more.

    Returns
    -------
    numpy.ndarray
        int64 [number, 4]: first row and the row after the last, then of columns.
    """
    rng = np.random.default_rng(0)
    corners = [
        np.concatenate([np.sort(rng.choice(bins + 1, 2, replace=False)) for _ in range(2)])
        for _ in range(number)
    ]
    return np.array(corners)


def scores(estimate: Table, truth: Table) -> dict[str, float]:
    """Return the root mean squared errors of rectangles and of the CDF at all corners of cells.

    Parameters
    ----------
    estimate, truth : numpy.ndarray
        float64 [bins, bins].

    Returns
    -------
    dict
        "rectangles" and "cdf".
    """
    bins = truth.shape[0]
    corners = np.zeros((bins + 1, bins + 1))
    corners[1:, 1:] = (estimate - truth).cumsum(axis=0).cumsum(axis=1)
    low, high, left, right = rectangles(bins).T
    found = corners[high, right] - corners[low, right] - corners[high, left] + corners[low, left]
    return {
        "rectangles": float(np.sqrt((found**2).mean())),
        "cdf": float(np.sqrt((corners**2).mean())),
    }
