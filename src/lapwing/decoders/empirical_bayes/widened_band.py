"""Honest bands from a posterior: the prior is widened on purpose before the band is drawn.

The posterior of a fitted prior is too sure of what it could not see. A band that trusts it
covers 66 to 91 % on the worst columns where it says 95. Doubling the fitted amplitudes and adding
a floor of smooth shapes and of single bins costs 20 to 60 % in width and repairs the coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.empirical_bayes.normal_posterior import LearntPrior
from lapwing.decoders.empirical_bayes.spectrum import Basis
from lapwing.decoders.unbiased.linear_estimate import compressed
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.covariance import Covariance
from lapwing.results.uncertainty import Uncertainty, Variants

POINTWISE = (4.0, 1.0)

SIMULTANEOUS = (10.0, 4.0)
"""Factors of the fitted prior and of the floors, for the two kinds of band."""

METHOD = "posterior under a widened prior (recipe R)"


@dataclass(frozen=True, eq=False)
class Evidence:
    """The quadratic likelihood of a decode, all from one pilot.

    Parameters
    ----------
    information : numpy.ndarray
        float64 [size, size].
    score : numpy.ndarray
        float64 [size].
    pilot : numpy.ndarray
        float64 [size].
    reports : int
    """

    information: Matrix
    score: Vector
    pilot: Vector
    reports: int


def widened_band(
    evidence: Evidence,
    fitted: LearntPrior,
    floor: Matrix,
    compress: Callable[[Vector, Matrix, float], tuple[Vector, Covariance, Vector]] | None = None,
    plug_in: Vector | None = None,
) -> Uncertainty:
    """Return the error law under the widened prior, for both targets and both kinds of band.

    Parameters
    ----------
    evidence : Evidence
    fitted : LearntPrior
        The prior that was learnt.
    floor : numpy.ndarray
        float64 [size, size], from :func:`floors`: what is always allowed.
    compress : callable, optional
        Makes of the centre, the covariance and the factor of the floor the centre, columns and
        remainder that are kept, when the law is kept on other symbols than the evidence has.
    plug_in : numpy.ndarray, optional
        float64 [symbols]: the pilot on those symbols.

    Notes
    -----
    Covariance of the masses of the population: ``C = S (I + H S)^-1``. Of the people who
    reported, whose sample shares its deviation D with the reports: ``C + D - X - X' - D R H D``
    with ``R = (I + H S)^-1`` and ``X = C H D``, centred at ``mean + C h + D R h``. Written
    without cancellation; D, H and the pilot must belong together, or it can turn negative.
    """
    laws = []
    for amplify, share in (POINTWISE, SIMULTANEOUS):
        prior = amplify * fitted.covariance + share * floor
        along = prior.sum(axis=1)
        prior -= np.outer(along, along) / along.sum()
        for centre, covariance in _error_laws(evidence, fitted.mean, prior):
            if compress is None:
                kept = (centre, *compressed(covariance))
            else:
                kept = compress(centre, covariance, share)
            pilot = evidence.pilot if plug_in is None else plug_in
            laws.append(Uncertainty(*kept, pilot, evidence.reports, METHOD))
    empirical, population, wider_empirical, wider_population = laws
    variants = Variants(
        population_pointwise=population,
        empirical_simultaneous=wider_empirical,
        population_simultaneous=wider_population,
    )
    return replace(empirical, variants=variants)


def local_mass(mass: Vector, joined: NDArray[np.int64], *, blur: float) -> Vector:
    """Return the masses averaged over neighbours, at least a fiftieth of a uniform one.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [size].
    joined : numpy.ndarray
        int64, the symbols that touch.
    blur : float
        Standard deviation of the filter, in cells.
    """
    from scipy.ndimage import gaussian_filter1d  # slow to import

    local = np.maximum(mass, 0.02 / mass.size)
    local[joined] = np.maximum(gaussian_filter1d(mass[joined], blur), 0.02 / mass.size)
    return local


def smooth_floor(local: Vector, basis: Basis, joined: NDArray[np.int64]) -> Matrix:
    """Return columns G such that ``G G'`` is the covariance of shapes that are always allowed."""
    size = local.size
    columns = np.zeros((size, basis.frequency.size))
    cells = basis.columns * np.sqrt(local[joined] * size)[:, None] / size
    columns[joined] = cells - cells.mean(axis=0)
    return columns / basis.frequency


def floors(mass: Vector, basis: Basis, joined: NDArray[np.int64]) -> Matrix:
    """Return the covariance of smooth shapes and of single bins that is always allowed.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [size], the decoded distribution.
    basis : Basis
        Of the cells that touch.
    joined : numpy.ndarray
        int64, the symbols that touch.
    """
    local = local_mass(mass, joined, blur=5)
    columns = smooth_floor(local, basis, joined)
    return columns @ columns.T + np.diag(local) / mass.size


def _error_laws(
    evidence: Evidence, mean: Vector, prior: Matrix
) -> tuple[tuple[Vector, Matrix], tuple[Vector, Matrix]]:
    """Return centre and covariance about the people who reported, and about the population."""
    information = evidence.information
    pull = evidence.score - information @ mean
    system = information @ prior
    system[np.diag_indices_from(system)] += 1
    inverse = np.linalg.inv(system)
    covariance = prior @ inverse
    covariance = (covariance + covariance.T) / 2
    centre = mean + covariance @ pull
    p = evidence.pilot

    def sampled(rows: Matrix) -> Matrix:
        """Multiply by D = (diag(p) - p p') / n from the right."""
        return (rows * p - np.outer(rows @ p, p)) / evidence.reports

    cross = sampled(covariance @ information)
    shared = sampled(sampled(inverse @ information).T)
    about = covariance - cross - cross.T - shared
    about[np.diag_indices_from(about)] += p / evidence.reports
    about -= np.outer(p, p) / evidence.reports
    moved = sampled((inverse @ pull)[None, :])[0]
    return (centre + moved, (about + about.T) / 2), (centre, covariance)
