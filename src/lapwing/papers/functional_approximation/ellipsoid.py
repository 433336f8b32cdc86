"""The best shape of Gaussian noise for answers that move along given differences."""

from __future__ import annotations

import numpy as np

from lapwing.linear.arrays import Vector


def least_trace(differences: Vector, *, steps: int = 400) -> tuple[Vector, float]:
    """Return the covariance of least trace that no difference exceeds, and a lower bound.

    Minimizes ``trace S`` subject to ``d' S^-1 d <= 1`` for every difference d. Noise of this
    covariance hides each difference as unit noise hides a unit step.

    differences: float64 [differences, size], spanning the space.

    Returns
    -------
    covariance : numpy.ndarray
        float64 [size, size], scaled so that the constraint holds exactly on these differences.
    bound : float
        No covariance that meets it has a smaller trace.

    Notes
    -----
    The dual weighs the differences: ``C = sum w d d'`` with weights of sum one gives the bound
    ``trace(C^(1/2))^2``, and ``S = C^(1/2) trace(C^(1/2))`` is optimal when the weights are.
    Multiplicative updates, as for optimal designs (Silvey, Titterington and Torsney 1978).
    """
    weights = np.full(differences.shape[0], 1 / differences.shape[0])
    active = differences
    for step in range(1, steps + 1):
        values, vectors = _root(active, weights)
        along = active @ (vectors / np.sqrt(values))
        weights *= (along**2).sum(axis=1) / values.sum()
        weights /= weights.sum()
        if step % 20 == 0:
            # Most differences end with no weight; the last scaling looks at all of them again.
            kept = weights > 1e-6 / differences.shape[0]
            active, weights = active[kept], weights[kept] / weights[kept].sum()
    values, vectors = _root(active, weights)
    covariance = (vectors * values) @ vectors.T * values.sum()
    largest = (differences @ np.linalg.inv(covariance) * differences).sum(axis=1).max()
    return covariance * largest, float(values.sum() ** 2)


def _root(differences: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """Return eigenvalues and eigenvectors of the square root of the weighted moment matrix."""
    values, vectors = np.linalg.eigh((differences.T * weights) @ differences)
    return np.sqrt(np.maximum(values, 1e-300)), vectors
