"""The compiled products with a square wave whose reports were put into buckets.

Importing this module imports numba. A column of the matrix is constant over the buckets outside of
the wave and over those inside, so of its differences from bucket to bucket some six are not 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.compiled_kernel import compiled

Vector = NDArray[np.float64]
Places = NDArray[np.int64]


@compiled()
def forward(starts: Places, rows: Places, steps: Vector, sizes: Vector, x: Vector) -> Vector:
    """Return ``A x``: the steps of every column, added up over the buckets and times their sizes.

    Parameters
    ----------
    starts : numpy.ndarray
        int64 [columns + 1]: where the steps of a column begin.
    rows, steps : numpy.ndarray
        int64 and float64 [steps]: the bucket of a step and its height.
    sizes : numpy.ndarray
        float64 [buckets].
    """
    product = np.zeros(sizes.size)
    for column in range(x.size):
        for place in range(starts[column], starts[column + 1]):
            product[rows[place]] += steps[place] * x[column]
    total = 0.0
    for row in range(sizes.size):
        total += product[row]
        product[row] = total * sizes[row]
    return product


@compiled()
def backward(starts: Places, rows: Places, steps: Vector, sizes: Vector, r: Vector) -> Vector:
    """Return ``A' r``; parameters as of :func:`forward`."""
    behind = np.empty(sizes.size)
    total = 0.0
    for row in range(sizes.size - 1, -1, -1):
        total += sizes[row] * r[row]
        behind[row] = total
    product = np.zeros(starts.size - 1)
    for column in range(starts.size - 1):
        for place in range(starts[column], starts[column + 1]):
            product[column] += steps[place] * behind[rows[place]]
    return product
