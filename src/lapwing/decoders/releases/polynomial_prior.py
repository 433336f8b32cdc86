"""Smooth shapes of a release: polynomials of the density and of its logarithm, beside the waves.

A cosine is flat at both ends. A density that falls steeply to an end, or ends there with a slope,
needs many cosines and few polynomials; and where noise is strong, few is what can be learned. The
spectral prior weighs these candidates against its waves (`empirical_bayes/smooth_prior.py`).
"""

from __future__ import annotations

from copy import copy
from itertools import product

import numpy as np

from lapwing.decoders.empirical_bayes.smooth_prior import Candidate, baseline, log_density
from lapwing.decoders.empirical_bayes.spectrum import Spectrum, evidence_of
from lapwing.decoders.empirical_bayes.wave_basis import Basis, ScaledBasis
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.function_families import legendre

DEGREES = 32
"""Most degrees of a polynomial. What is narrower than these resolve is left to waves and spikes."""

LEVELS, STEEPER = (0.3, 1.0, 3.0), 9.0
"""Standard deviations of the first amplitudes, and one more of a logarithm's."""

CORNERS, DECAYS = (2.0, 4.0, 8.0, 12.0, 16.0), (2.0, 4.0, 8.0)
"""From which degree on amplitudes fall, and how fast: ``(1 + (degree / corner)^2)^-decay``."""

AHEAD = 6.0
"""Log-odds of polynomials against waves before anything is seen. Waves are scaled by the answer so
far, which the evidence for them counts again; on made-up columns at epsilon 0.1 that is worth as
much. Without it polynomials had little weight where their answer is a tenth nearer."""


def polynomials(
    information: Matrix, score: Vector, scaled: ScaledBasis, mass: Vector | None
) -> list[Candidate]:
    """Return smooth shapes that are polynomials, with what the reports say for each.

    Polynomials of the density; the same scaled by its root, where there is an answer so far; and
    polynomials of the logarithm, of which a normal density has degree 2. A circle has none.

    Parameters
    ----------
    information, score : numpy.ndarray
        Of the quadratic likelihood: float64 [size, size] and [size].
    scaled : ScaledBasis
    mass : numpy.ndarray, optional
        float64 [size], the answer so far.

    Notes
    -----
    O(size^2) for each degree.
    """
    if scaled.circular:
        return []
    shaped = copy(scaled)
    shaped.basis = polynomial_basis(scaled.width)
    uniform = scaled.uniform
    at_uniform = score - information @ uniform
    zero = baseline(information, score, uniform)
    scales = [np.ones(scaled.joined.size)]
    if mass is not None:
        density = scaled.density(mass)
        scales.append(np.sqrt(density))
    found = []
    for scale in scales:
        columns = shaped.columns(scale)
        curvature = columns.T @ information @ columns
        spectrum = falling(curvature, columns.T @ at_uniform, shaped.basis.frequency)
        evidence = spectrum.evidence + zero + AHEAD
        found.append(Candidate(uniform, columns, spectrum, evidence, settled=True))
    if mass is not None:
        variance = _falling_from(STEEPER / 3, 4.0, 2.0, shaped.basis.frequency)
        shape = density / density.mean()
        one = log_density(information, score, shaped, shape, variance, learn=_steeper)
        evidence = one.evidence + AHEAD
        found.append(Candidate(one.mean, one.columns, one.spectrum, evidence, settled=True))
    return found


def polynomial_basis(width: Vector) -> Basis:
    """Return Legendre polynomials at the middles of cells, from degree 1, of unit mean square.

    Parameters
    ----------
    width : numpy.ndarray
        float64 [cells], of any total.
    """
    place = (np.cumsum(width) - width / 2) / width.sum()
    degrees = min(DEGREES, width.size - 1)
    # On [-1, 1] an orthonormal polynomial has a mean square of 1/2.
    columns = np.sqrt(2) * legendre(degrees + 1, 2 * place - 1)[1:].T
    return Basis(columns, np.arange(1.0, degrees + 1))


def falling(
    information: Matrix, score: Vector, degree: Vector, *, levels: tuple[float, ...] = LEVELS
) -> Spectrum:
    """Return variances that fall with the degree, averaged in the logarithm by their evidence.

    Parameters
    ----------
    information : numpy.ndarray
        float64 [degrees, degrees], of the amplitudes.
    score : numpy.ndarray
        float64 [degrees], theirs at zero.
    degree : numpy.ndarray
        float64 [degrees].
    levels : tuple of float
        Standard deviations of the first amplitudes.
    """
    spectra = [_falling_from(*one, degree) for one in product(levels, CORNERS, DECAYS)]
    evidences = np.array([evidence_of(information, score, one) for one in spectra])
    best = float(evidences.max())
    weights = np.exp(evidences - best)
    weights /= weights.sum()
    return Spectrum(np.exp(weights @ np.log(spectra)), best)


def _steeper(information: Matrix, score: Vector, degree: Vector) -> Spectrum:
    return falling(information, score, degree, levels=(*LEVELS, STEEPER))


def _falling_from(level: float, corner: float, decay: float, degree: Vector) -> Vector:
    variance: Vector = level**2 * (1 + (degree / corner) ** 2) ** -decay
    return variance
