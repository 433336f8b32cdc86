"""Honest bands from a posterior: the prior is widened on purpose before the band is drawn.

The posterior of a fitted prior is too sure of what it could not see. A band that trusts it
covers 66 to 91 % on the worst columns where it says 95. Doubling the fitted amplitudes and adding
a floor of smooth shapes and of single bins costs 20 to 60 % in width and repairs the coverage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.band import Uncertainty
from lapwing.decoders.bands import compressed
from lapwing.decoders.posterior import LearntPrior
from lapwing.decoders.spectrum import Basis

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

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
    mass: Vector,
    basis: Basis,
    joined: NDArray[np.int64],
) -> Uncertainty:
    """Return the error law under the widened prior, for both targets and both kinds of band.

    Parameters
    ----------
    evidence : Evidence
    fitted : LearntPrior
        The prior that was learnt.
    mass : numpy.ndarray
        float64 [size], the decoded distribution.
    basis : Basis
        Of the cells that touch.
    joined : numpy.ndarray
        int64, the symbols that touch.

    Notes
    -----
    Covariance of the masses of the population: ``C = S (I + H S)^-1``. Of the people who
    reported, whose sample shares its deviation D with the reports: ``C + D - X - X' - D R H D``
    with ``R = (I + H S)^-1`` and ``X = C H D``, centred at ``mean + C h + D R h``. Written
    without cancellation; D, H and the pilot must belong together, or it can turn negative.
    """
    laws = {}
    for kind, (amplify, floor) in (("pointwise", POINTWISE), ("simultaneous", SIMULTANEOUS)):
        prior = amplify * (fitted.smooth + np.diag(fitted.single))
        prior += floor * _floors(mass, basis, joined)
        along = prior.sum(axis=1)
        prior -= np.outer(along, along) / along.sum()
        for target, (centre, covariance) in _error_laws(evidence, fitted.mean, prior).items():
            noise, remainder = compressed(covariance)
            laws[f"{target} {kind}"] = Uncertainty(
                centre, noise, remainder, evidence.pilot, evidence.reports, METHOD
            )
    first = laws["empirical pointwise"]
    return Uncertainty(
        first.centre,
        first.noise,
        first.remainder,
        first.plug_in,
        first.reports,
        METHOD,
        variants={name: law for name, law in laws.items() if name != "empirical pointwise"},
    )


def _floors(mass: Vector, basis: Basis, joined: NDArray[np.int64]) -> Matrix:
    """Return the covariance of smooth shapes and of single bins that is always allowed."""
    from scipy.ndimage import gaussian_filter1d  # slow to import

    size = mass.size
    local = np.maximum(mass, 0.02 / size)
    local[joined] = np.maximum(gaussian_filter1d(mass[joined], 5), 0.02 / size)
    columns = np.zeros((size, basis.frequency.size))
    cells = basis.columns * np.sqrt(local[joined] * size)[:, None] / size
    columns[joined] = cells - cells.mean(axis=0)
    return (columns / basis.frequency**2) @ columns.T + np.diag(local) / size


def _error_laws(
    evidence: Evidence, mean: Vector, prior: Matrix
) -> dict[str, tuple[Vector, Matrix]]:
    """Return the centre and the covariance about either target."""
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
    return {
        "empirical": (centre + moved, (about + about.T) / 2),
        "population": (centre, covariance),
    }
