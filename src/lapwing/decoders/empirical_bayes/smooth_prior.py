"""The smooth part of the prior: waves of the density and of its logarithm, weighed by evidence.

After the likelihood (`quadratic_likelihood.py`), before spikes and steps (`dense_model.py`).
A wave of the density adds to it, by as much anywhere or by more where there are many people. A
wave of its logarithm multiplies: a density that varies by factors and cannot be negative. Near a
shape that is linear in the amplitudes, so a few Newton steps find the shape, and the last of them
is a normal prior of the masses like any other. How large the waves of each frequency are is learned
by `spectrum.py`; its evidence weighs the kinds against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.decoders.empirical_bayes.normal_posterior import NormalPrior
from lapwing.decoders.empirical_bayes.spectrum import Spectrum, averaged_spectrum, refined
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.linear.arrays import Matrix, Vector

STEPS = 3
"""Newton steps. The spectrum is learned anew in the last."""

_FLOOR = 0.002
"""Least density of a shape, of a mean of 1: below it nobody can tell how empty a cell is."""

_NEIGHBORHOOD = 13
"""Cells, its own included, that a heavy atom is compared with."""

_LEAST, _TIMES = 0.02, 5.0
"""A heavy atom stands out by this mass, and by so many times what is usual around it."""

_NEGLIGIBLE = 0.02
"""Candidates of less weight are left out."""


def smooth_part(
    information: Matrix,
    score: Vector,
    scaled: ScaledBasis,
    mass: Vector | None,
    further: Further | None = None,
) -> tuple[NormalPrior, Vector]:
    """Return the prior of smooth shapes that the reports support best, and the heavy atoms.

    The atoms, float64 [size], are in the prior's mean but not in its covariance.

    Waves of the density, scaled by a power of the answer so far, and waves of its logarithm
    are weighed by their evidence, after the heavy atoms of that answer were set aside.

    Parameters
    ----------
    information, score : numpy.ndarray
        Of the quadratic likelihood: float64 [size, size] and [size].
    scaled : ScaledBasis
    mass : numpy.ndarray, optional
        float64 [size], the answer so far; none in the first pass.
    further : callable, optional
        Returns further candidates for the same likelihood of the part that is not in heavy atoms.
    """
    uniform = scaled.uniform
    heavy = np.zeros(scaled.size) if mass is None else heavy_atoms(mass, scaled)
    # The people are the heavy atoms and this part, a distribution of its own.
    part = 1 - float(heavy.sum())
    inner = part**2 * information
    slope = part * (score - information @ heavy)
    rest = None if mass is None else (mass - heavy) / part
    # With a mean that follows the data the evidence would count them twice.
    at_uniform = slope - inner @ uniform
    zero = baseline(inner, slope, uniform)
    candidates = []
    for mean, columns in scaled.shapes(rest):
        curvature = columns.T @ inner @ columns
        spectrum = averaged_spectrum(curvature, columns.T @ at_uniform, scaled.basis.frequency)
        candidates.append(Candidate(mean, columns, spectrum, spectrum.evidence + zero))
    if rest is not None:
        density = scaled.density(rest)
        shape, variance = density / density.mean(), candidates[-1].spectrum.variance
        candidates.append(log_density(inner, slope, scaled, shape, variance))
    if further is not None:
        candidates += further(inner, slope, scaled, rest)
    mean, covariance = averaged(candidates, inner, slope, scaled.basis.frequency)
    return NormalPrior(part * mean + heavy, part**2 * covariance), heavy


def heavy_atoms(mass: Vector, scaled: ScaledBasis) -> Vector:
    """Return what stands out of an answer in single cells: float64 [size], mostly zero.

    No smooth density has a cell with many times the people of its neighbors. Set aside, it
    neither bends the waves nor makes the spectrum look rougher than the rest is. Half of the
    people at least are left to the waves.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.protocol.domains.interval import Interval
    >>> mass = np.full(20, 0.03)
    >>> mass[7] = 0.43
    >>> found = heavy_atoms(mass, ScaledBasis(Interval(0, 1, bins=20)))
    >>> np.flatnonzero(found), round(float(found.sum()), 3)
    (array([7]), 0.4)
    """
    from scipy.ndimage import median_filter

    cells = mass[scaled.joined]
    mode = "wrap" if scaled.circular else "reflect"
    around = median_filter(scaled.of_groups(cells), _NEIGHBORHOOD, mode=mode)
    usual = around[scaled.group] * scaled.width
    excess = cells - usual
    heavy = np.zeros(mass.size)
    out = (excess > _LEAST) & (excess > _TIMES * usual)
    heavy[scaled.joined] = np.where(out, excess, 0.0)
    return heavy if heavy.sum() <= 0.5 else np.zeros(mass.size)


def baseline(information: Matrix, score: Vector, mean: Vector) -> float:
    """Return the quadratic log-likelihood at a mean, which makes evidences comparable."""
    return float(score @ mean - mean @ information @ mean / 2)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A normal prior of the masses from waves, and the evidence for it.

    Parameters
    ----------
    mean : numpy.ndarray
        float64 [size].
    columns : numpy.ndarray
        float64 [size, frequencies]: what an amplitude of 1 adds to the masses; sums are zero.
    spectrum : Spectrum
        Variances of the amplitudes.
    evidence : float
        Logarithm of the probability of the reports, up to a constant that is the same for all
        candidates under one quadratic likelihood, whatever their mean.
    settled : bool
        True: the variances are not refined by half-octaves of the frequencies.
    """

    mean: Vector
    columns: Matrix
    spectrum: Spectrum
    evidence: float
    settled: bool = False


Further = Callable[[Matrix, Vector, ScaledBasis, Vector | None], list[Candidate]]
"""From a quadratic likelihood, the waves and the answer so far to candidates of one's own."""


def log_density(
    information: Matrix,
    score: Vector,
    scaled: ScaledBasis,
    shape: Vector,
    variance: Vector,
    *,
    learn: Callable[[Matrix, Vector, Vector], Spectrum] = averaged_spectrum,
) -> Candidate:
    """Return the prior of smooth logarithms that the reports support, near its own answer.

    Parameters
    ----------
    information, score : numpy.ndarray
        Of the quadratic likelihood: float64 [size, size] and [size].
    scaled : ScaledBasis
    shape : numpy.ndarray
        float64 [joined cells]: positive densities to start from, mean 1.
    variance : numpy.ndarray
        float64 [frequencies], of the amplitudes, to start from: waves scaled by the density have
        nearly the same.
    learn : callable
        From information, score and frequencies of the amplitudes to their variances.

    Notes
    -----
    Where the steps do not settle, as at an atom that no smooth logarithm has, the evidence of the
    last one is small, and the candidate gets no weight.
    """
    for _ in range(STEPS - 1):
        mean, columns = linearized(scaled, shape)
        curvature = columns.T @ information @ columns
        at_mean = columns.T @ (score - information @ mean)
        shape = _shape(scaled, _amplitudes(curvature, at_mean, variance))
    mean, columns = linearized(scaled, shape)
    curvature = columns.T @ information @ columns
    at_mean = columns.T @ (score - information @ mean)
    spectrum = learn(curvature, at_mean, scaled.basis.frequency)
    evidence = spectrum.evidence + baseline(information, score, mean)
    return Candidate(mean, columns, spectrum, evidence)


def linearized(scaled: ScaledBasis, shape: Vector) -> tuple[Vector, Matrix]:
    """Return mean and columns of the masses whose log-density is a sum of waves, near a shape.

    ``shape (1 + waves z - log shape)``, on the plane of its total. The mean is where all
    amplitudes z are zero: not the shape, but what its tangent says of a uniform density.

    Parameters
    ----------
    scaled : ScaledBasis
    shape : numpy.ndarray
        float64 [joined cells], positive densities with mean 1.
    """
    share = scaled.share
    masses = shape * scaled.width
    masses *= share / masses.sum()
    tangent = masses * (1 - np.log(shape))
    mean = scaled.uniform.copy()
    mean[scaled.joined] = tangent + masses * (1 - tangent.sum() / share)
    waves = scaled.basis.columns * masses[:, None]
    columns = np.zeros((scaled.size, waves.shape[1]))
    columns[scaled.joined] = waves - np.outer(masses, waves.sum(axis=0)) / share
    return mean, columns


def _amplitudes(curvature: Matrix, score: Vector, variance: Vector) -> Vector:
    """Return the posterior mean of the amplitudes."""
    root = np.sqrt(variance)
    matrix = curvature * root * root[:, None]
    matrix[np.diag_indices_from(matrix)] += 1
    amplitudes: Vector = root * np.linalg.solve(matrix, root * score)
    return amplitudes


def _shape(scaled: ScaledBasis, amplitudes: Vector) -> Vector:
    logarithm = scaled.basis.columns @ amplitudes
    shape = np.exp(logarithm - logarithm.max())
    shape = np.maximum(shape / shape.mean(), _FLOOR)
    positive: Vector = shape / shape.mean()
    return positive


def averaged(
    candidates: Sequence[Candidate], information: Matrix, score: Vector, frequency: Vector
) -> tuple[Vector, Matrix]:
    """Return mean and covariance of the candidates' mixture, weighed by evidence.

    Parameters
    ----------
    candidates : sequence of Candidate
        Under one quadratic likelihood.
    information, score : numpy.ndarray
        That likelihood.
    frequency : numpy.ndarray
        float64 [frequencies]: of the amplitudes, whose variances are refined by half-octaves.

    Notes
    -----
    The covariance is the mean of the covariances: a mixture's without the spread of its means,
    which are estimates of one shape and not what anyone believed before.
    """
    evidence = np.array([one.evidence for one in candidates])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    weights[weights < _NEGLIGIBLE] = 0
    weights /= weights.sum()
    size = score.size
    mean, covariance = np.zeros(size), np.zeros((size, size))
    for weight, one in zip(weights, candidates, strict=True):
        if weight:
            variance = one.spectrum.variance
            if not one.settled:
                curvature = one.columns.T @ information @ one.columns
                at_mean = one.columns.T @ (score - information @ one.mean)
                variance = refined(variance, curvature, at_mean, frequency)
            mean += weight * one.mean
            covariance += weight * (one.columns * variance) @ one.columns.T
    return mean, covariance
