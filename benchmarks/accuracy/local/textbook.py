"""The square wave with EMS as the paper prints it: plain, dense, and without the library.

The reference of `ems_reference`. It shares no code with lapwing, on purpose. Symbols are the
paper's (Li et al. 2020): b, p, q, the matrix M with columns that sum to one, the counts n.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def width(epsilon: float) -> float:
    """Return b of section 5.3; for epsilon down to about .01, below which it cancels."""
    e, grown = epsilon, math.exp(epsilon)
    return (e * grown - grown + 1) / (2 * grown * (grown - 1 - e))


def discrete_matrix(epsilon: float, d: int) -> Vector:
    """Return M of the discrete square wave (section 5.4, "bucketize before randomize")."""
    b = math.floor(width(epsilon) * d)
    q = 1 / ((2 * b + 1) * math.exp(epsilon) + d - 1)
    matrix = np.full((d + 2 * b, d), q)
    for i in range(d):
        matrix[i : i + 2 * b + 1, i] = math.exp(epsilon) * q
    return matrix


def continuous_matrix(epsilon: float, d: int) -> Vector:
    """Return M of the continuous square wave for d input and d output buckets, exactly.

    Entry (j, i) is the probability that a value uniform in input bucket i is reported in output
    bucket j of [-b, 1 + b]: q for the whole bucket, and p - q more for its part within b.
    """
    b = width(epsilon)
    q = 1 / (2 * b * math.exp(epsilon) + 1)
    p = math.exp(epsilon) * q
    y = -b + (1 + 2 * b) * np.arange(d + 1)[:, None] / d
    v = np.arange(d + 1)[None, :] / d

    def corner(t: Vector) -> Vector:
        return np.maximum(t, 0.0) ** 2 / 2

    # Integral of 1{|y - v| <= b} from minus infinity to every corner (y, v), up to terms that
    # cancel in the difference over a bucket.
    integral = corner(v - y - b) - corner(v - y + b)
    overlap = integral[1:, 1:] - integral[1:, :-1] - integral[:-1, 1:] + integral[:-1, :-1]
    return q * (1 + 2 * b) / d + (p - q) * d * overlap


def continuous_reports(values: Vector, epsilon: float, rng: np.random.Generator) -> Vector:
    """Return a float report of each value in [0, 1]: near with probability 2 b p, else far."""
    b = width(epsilon)
    near_share = 2 * b * math.exp(epsilon) / (2 * b * math.exp(epsilon) + 1)
    near = rng.random(values.size) < near_share
    inside = values + rng.uniform(-b, b, values.size)
    # The far region has length 1: [-b, v - b) and (v + b, 1 + b].
    outside = rng.random(values.size)
    outside = np.where(outside < values, outside - b, outside + b)
    return np.where(near, inside, outside)


def continuous_counts(reports: Vector, epsilon: float, d: int) -> Vector:
    """Return the histogram of reports in d buckets of [-b, 1 + b]."""
    b = width(epsilon)
    return np.histogram(reports, bins=d, range=(-b, 1 + b))[0].astype(np.float64)


def smoothing_matrix(d: int) -> Vector:
    """Return S: half of a bucket stays, a quarter goes to each neighbor, at an end it stays.

    The paper leaves the ends open; these are the library's, which lose no mass.
    """
    matrix = np.diag(np.full(d, 0.5))
    for i in range(d):
        matrix[max(i - 1, 0), i] += 0.25
        matrix[min(i + 1, d - 1), i] += 0.25
    return matrix


def maximize(
    matrix: Vector, counts: Vector, *, tolerance: float, smooth: bool
) -> tuple[Vector, int]:
    """Return the estimate of algorithm 1 and its number of iterations.

    Stops when the summed log-likelihood changes by less than `tolerance`, as the experiments of
    the paper do.
    """
    d = matrix.shape[1]
    x = np.full(d, 1 / d)
    s = smoothing_matrix(d)
    likelihood = counts @ np.log(matrix @ x)
    iterations = 0
    while True:
        expected = x * (matrix.T @ (counts / (matrix @ x)))
        x = expected / expected.sum()
        if smooth:
            x = s @ x
            x = x / x.sum()
        iterations += 1
        previous, likelihood = likelihood, counts @ np.log(matrix @ x)
        if abs(likelihood - previous) < tolerance:
            return x, iterations
