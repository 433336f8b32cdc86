"""How much two attributes depend on each other, from the reports without smoothing.

A smooth density makes a dependence look weaker than it is. Mean counts of outputs are linear in the
cells. So some sums of counts estimate a sum of cells without bias, whatever the density is. Here is
the one with the least variance. A measure of the dependence is no sum of cells, but near a fitted
table it is close to one: its slopes are the weights.
"""

from __future__ import annotations

import numpy as np

from lapwing.decoders.empirical_bayes.separable_model import LogDensity
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.block_gradients import System, solved
from lapwing.protocol.domains.product import Product
from lapwing.results.association import measure_of, slopes_of

_MOST_ROUNDS = 60
"""Rounds of conjugate gradients, at most."""
# The deviation is that of the sum of counts that is found, wherever the rounds end.

_RIDGES = (1e-6, 1.0, 10.0, 100.0)
"""Information about each cell that is added, for each report."""
# With more of it an estimate has less noise, and leaves more of the measure to the fitted table.
# The one with the least deviation counts.

_HIDDEN = 2.0
"""Factor of the deviation of what is left to the table."""
# The truth is further off than draws of a smooth density. Chosen on a normal pair and on five of
# the benchmark's, with people of their own.


_UNKNOWN = 1e6
"""Deviation of a measure about which the reports say nothing."""


def direct_measures(
    density: LogDensity, cells: Matrix, domain: Product, amplitudes: Matrix, changes: Matrix
) -> dict[str, tuple[float, float]]:
    """Return each measure of the dependence as the reports show it, with its standard deviation.

    cells: The fitted table.
    amplitudes: Posterior draws of the distance from the fitted amplitudes: [draws, functions,
        functions].
    changes: Posterior draws of the distance from the fitted cells, for what no counts show: [draws,
        cells, cells].
    returns: As :attr:`JointUncertainty.direct`.
    """
    slopes = slopes_of(domain, cells)
    added, deviations = _direct(density, cells, np.array(list(slopes.values())), changes)
    found = {}
    for name, more, deviation in zip(slopes, added, deviations, strict=True):
        value = measure_of(domain, name)(cells) + float(more)
        if name == "mutual_information":
            value -= _optimism(density, cells, amplitudes)
        known = np.isfinite(value) and np.isfinite(deviation)
        found[name] = (value, float(deviation)) if known else (0.0, _UNKNOWN)
    return found


def _direct(
    density: LogDensity, cells: Matrix, slopes: Matrix, changes: Matrix
) -> tuple[Vector, Vector]:
    """Return what the reports add to numbers of the fitted cells, and deviations of the sums."""
    weights = density.weights(cells)
    surprise = density.surprise(cells, weights)
    reports = sum(part.reports for part in density.parts)
    added, deviations = np.zeros(len(slopes)), np.full(len(slopes), np.inf)
    for ridge in reports * np.array(_RIDGES):
        linear = solved(
            _with_ridge(density, weights, ridge),
            slopes,
            density.cell_information(weights) + ridge,
            tolerance=0.01,
            most=_MOST_ROUNDS,
        )
        shown = density.informed(weights, linear)
        hidden = np.einsum("kij,dij->kd", slopes - shown, changes)
        variance = (linear * shown).sum(axis=(1, 2)) + _HIDDEN**2 * (hidden**2).mean(axis=1)
        better = np.sqrt(variance) < deviations
        added[better] = (linear * surprise).sum(axis=(1, 2))[better]
        deviations[better] = np.sqrt(variance)[better]
    return added, deviations


def _with_ridge(density: LogDensity, weights: list[Matrix], ridge: float) -> System:
    """Return the information about the cells, with more of it about each."""
    return lambda of_cells: density.informed(weights, of_cells) + ridge * of_cells


def _optimism(density: LogDensity, cells: Matrix, amplitudes: Matrix) -> float:
    """Return by how much the reports overrate a log-ratio that was fitted to themselves.

    The log-ratio of the cells and independence follows the noise of the reports, so their mean of
    it is too large: by the posterior variance of the log-ratio of a person's cell.
    """
    moved = np.matmul(np.matmul(density.first, amplitudes), density.second.T)
    rows = np.maximum(cells.sum(axis=1, keepdims=True), _LEAST)
    columns = np.maximum(cells.sum(axis=0), _LEAST)
    held = moved * cells
    ratio = moved - held.sum(axis=2, keepdims=True) / rows
    ratio += held.sum(axis=(1, 2), keepdims=True) - held.sum(axis=1, keepdims=True) / columns
    return float((cells * ratio**2).sum(axis=(1, 2)).mean())


_LEAST = 1e-300
"""Keeps a quotient of nothing finite."""
