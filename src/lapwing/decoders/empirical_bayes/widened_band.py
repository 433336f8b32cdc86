"""Honest bands from a posterior: the prior is widened on purpose before the band is drawn.

After the last pass of a decode. The posterior of a fitted prior is too sure of what it could not
see. A band that trusts it covers 66 to 91 % on the worst columns where it says 95. Doubling the
fitted amplitudes and adding a floor of smooth shapes and of single bins costs 20 to 60 % in width
and repairs the coverage. What is found here becomes intervals in `results/uncertainty.py`; large
domains come here by way of `cell_band.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lapwing.decoders.empirical_bayes.normal_posterior import NormalPrior
from lapwing.decoders.empirical_bayes.quadratic_likelihood import Evidence
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.decoders.unbiased.linear_estimate import compressed
from lapwing.linear.arrays import Matrix, Vector
from lapwing.results.uncertainty import Uncertainty, Variants

POINTWISE = (4.0, 1.0)

SIMULTANEOUS = (10.0, 4.0)
"""Factors of the fitted prior and of the floors, for the two kinds of band.

The whole curve of a spiky column at epsilon 0.5 needs the larger ones: on a made-up one (100,000
people, 256 bins, 73 polls each of a multiscale and a square wave) 97 and 99 % were covered, by
(6, 2) 95 and 96 %, by the pointwise factors 89 and 88 %. Smooth, stepped and other columns do not,
and their whole curves are covered in 99 %.
"""

METHOD = "posterior under a widened prior"


@dataclass(frozen=True, eq=False)
class WidenedPosterior:
    """Where the masses are under one widened prior, about one target.

    Parameters
    ----------
    name : str
        Target and kind of the band it is for, as the fields of :class:`Variants` are named.
    floor : float
        Factor of the floor in the prior.
    center : numpy.ndarray
        float64 [size].
    covariance : numpy.ndarray
        float64 [size, size].
    """

    name: str
    floor: float
    center: Vector
    covariance: Matrix


def widened_band(evidence: Evidence, fitted: NormalPrior, floor: Matrix) -> Uncertainty:
    """Return the error law under the widened prior, for both targets and both kinds of band.

    Parameters
    ----------
    evidence : Evidence
    fitted : NormalPrior
        The prior that was learned, with what is doubtful: a heavy symbol that the answer has missed
        or put beside its place.
    floor : numpy.ndarray
        float64 [size, size], what is always allowed; see :func:`always_allowed`.
    """
    laws = {
        one.name: Uncertainty(
            one.center, *compressed(one.covariance), evidence.pilot, evidence.reports, METHOD
        )
        for one in widened_posteriors(evidence, fitted, floor)
    }
    return replace(laws.pop("empirical_pointwise"), variants=Variants(**laws))


def widened_posteriors(
    evidence: Evidence, fitted: NormalPrior, floor: Matrix
) -> list[WidenedPosterior]:
    """Return the posteriors of :func:`widened_band`, one for each target and kind.

    Notes
    -----
    Covariance of the masses of the population: ``C = S (I + H S)^-1``. Of the people who
    reported, whose sample shares its deviation D with the reports: ``C + D - X - X' - D R H D``
    with ``R = (I + H S)^-1`` and ``X = C H D``, centered at ``mean + C h + D R h``. Written
    without cancellation; D, H and the pilot must belong together, or it can turn negative.
    """
    found = []
    for kind, (amplify, share) in (("pointwise", POINTWISE), ("simultaneous", SIMULTANEOUS)):
        prior = amplify * fitted.allowed() + share * floor
        along = prior.sum(axis=1)
        prior -= np.outer(along, along) / along.sum()
        for target, (center, covariance) in _error_laws(evidence, fitted.mean, prior).items():
            found.append(WidenedPosterior(f"{target}_{kind}", share, center, covariance))
    return found


def _error_laws(
    evidence: Evidence, mean: Vector, prior: Matrix
) -> dict[str, tuple[Vector, Matrix]]:
    """Return the center and the covariance about either target."""
    information = evidence.information
    score = evidence.score - information @ mean
    system = information @ prior
    system[np.diag_indices_from(system)] += 1
    inverse = np.linalg.inv(system)
    covariance = prior @ inverse
    covariance = (covariance + covariance.T) / 2
    center = mean + covariance @ score
    p = evidence.pilot

    def sampled(rows: Matrix) -> Matrix:
        """Multiply by D = (diag(p) - p p') / n from the right."""
        return (rows * p - np.outer(rows @ p, p)) / evidence.reports

    cross = sampled(covariance @ information)
    shared = sampled(sampled(inverse @ information).T)
    about = covariance - cross - cross.T - shared
    about[np.diag_indices_from(about)] += p / evidence.reports
    about -= np.outer(p, p) / evidence.reports
    moved = sampled((inverse @ score)[None, :])[0]
    return {
        "empirical": (center + moved, (about + about.T) / 2),
        "population": (center, covariance),
    }


def always_allowed(mass: Vector, scaled: ScaledBasis) -> tuple[Matrix, Vector]:
    """Return the floor of a prior: shapes and single bins that are allowed whatever was learned.

    Columns G such that ``G G'`` is the covariance of smooth shapes, float64 [size, frequencies],
    and local masses, float64 [size]: averaged over neighbors, at least a fiftieth of a uniform
    one. A bin's variance is a part of its local mass.

    Parameters
    ----------
    mass : numpy.ndarray
        float64 [size], the decoded distribution.
    scaled : ScaledBasis
        Its waves, and its filter.
    """
    from scipy.ndimage import gaussian_filter1d  # slow to import

    size, joined, basis = scaled.size, scaled.joined, scaled.basis
    local = np.maximum(mass, 0.02 / size)
    local[joined] = np.maximum(gaussian_filter1d(mass[joined], scaled.blur), 0.02 / size)
    columns = np.zeros((size, basis.frequency.size))
    cells = basis.columns * np.sqrt(local[joined] * size)[:, None] / size
    columns[joined] = cells - cells.mean(axis=0)
    return columns / basis.frequency, local
