"""The prior of smooth logarithms: its tangent, its evidence, and when it gets weight."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from lapwing import Interval, MultiscaleWave, simulate
from lapwing.decoders.empirical_bayes.dense_model import (
    Candidate,
    averaged,
    baseline,
    heavy_atoms,
    linearized,
    log_density,
)
from lapwing.decoders.empirical_bayes.gaussian_model import (
    Posterior,
    ScaledBasis,
    averaged_spectrum,
    evidence_of,
    quadratic_likelihood,
)

PLAIN = Interval(0, 1, bins=64, outside="clip")
WITH_ATOMS = Interval(0, 1, bins=64, atoms=(0, 0.5), outside="clip")
DOMAINS = pytest.mark.parametrize("domain", [PLAIN, WITH_ATOMS], ids=["plain", "atoms"])


def masses(scaled: ScaledBasis, logarithm: np.ndarray) -> np.ndarray:
    """Masses of the joined cells whose log-density is this, up to a constant."""
    found = np.exp(logarithm) * scaled.width
    return found * scaled.joined.size / scaled.size / found.sum()


def shape_of(logarithm: np.ndarray) -> np.ndarray:
    shape = np.exp(logarithm)
    return shape / shape.mean()


@DOMAINS
def test_the_tangent_touches_and_has_the_slope_of_the_masses(domain: Interval) -> None:
    scaled = ScaledBasis(domain)
    waves = scaled.basis.columns
    amplitudes = np.random.default_rng(3).normal(size=waves.shape[1]) / scaled.basis.frequency
    here = waves @ amplitudes
    mean, columns = linearized(scaled, shape_of(here))
    assert mean.sum() == pytest.approx(1)
    assert np.abs(columns.sum(axis=0)).max() < 1e-12
    at_shape = (mean + columns @ amplitudes)[scaled.joined]
    np.testing.assert_allclose(at_shape, masses(scaled, here), rtol=1e-10)
    step = 1e-6
    for k in (0, 5, 40):
        ahead = masses(scaled, here + step * waves[:, k])
        behind = masses(scaled, here - step * waves[:, k])
        slope = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(columns[scaled.joined, k], slope, atol=1e-8)


def test_at_the_uniform_shape_it_is_the_plain_prior() -> None:
    scaled = ScaledBasis(PLAIN)
    mean, columns = linearized(scaled, np.ones(64))
    np.testing.assert_allclose(mean, 1 / 64)
    np.testing.assert_allclose(columns, scaled.columns(np.ones(64)), atol=1e-15)


def likelihood(mass: np.ndarray, people: int, epsilon: float = 2) -> tuple:
    """Information and score of simulated reports, linearized at the people's own masses."""
    counts = np.random.default_rng(5).multinomial(people, mass)
    channel = MultiscaleWave(PLAIN, epsilon).channel
    tally = simulate(MultiscaleWave(PLAIN, epsilon), counts, rng=6)
    return quadratic_likelihood(channel, tally, 0.95 * counts / people + 0.05 / 64)


def logarithmic(
    information: np.ndarray, score: np.ndarray, scaled: ScaledBasis, mass: np.ndarray
) -> Candidate:
    """The prior of smooth logarithms, from a shape and a plain spectrum to start from."""
    density = scaled.density(mass)
    variance = scaled.basis.frequency**-2.0
    return log_density(information, score, scaled, density / density.mean(), variance)


def linear(information: np.ndarray, score: np.ndarray, scaled: ScaledBasis) -> Candidate:
    """The plain prior: waves of the density about the uniform one."""
    columns = scaled.columns(np.ones(64))
    mean = np.full(64, 1 / 64)
    at_mean = columns.T @ (score - information @ mean)
    spectrum = averaged_spectrum(columns.T @ information @ columns, at_mean, scaled.basis.frequency)
    evidence = spectrum.evidence + baseline(information, score, mean)
    return Candidate(mean, columns, spectrum, evidence)


def test_evidence_with_its_baseline_is_the_integral_over_the_prior() -> None:
    information, score = likelihood(np.full(64, 1 / 64), 2_000)
    scaled = ScaledBasis(PLAIN)
    shapes = [np.ones(64), shape_of(0.3 * scaled.basis.columns[:, 1])]
    differences = []
    for shape in shapes:
        mean, columns = linearized(scaled, shape)
        column, variance = columns[:, 0], 0.04
        top = baseline(information, score, np.full(64, 1 / 64))

        def product(z: float, mean=mean, column=column, top=top, variance=variance) -> float:
            x = mean + z * column
            weight = np.exp(-z * z / (2 * variance)) / np.sqrt(2 * np.pi * variance)
            return float(np.exp(baseline(information, score, x) - top) * weight)

        integral = top + np.log(quad(product, -1.5, 1.5, epsabs=0, limit=200, points=[0])[0])
        curvature = np.array([[column @ information @ column]])
        at_mean = np.array([column @ (score - information @ mean)])
        evidence = evidence_of(curvature, at_mean, np.array([variance]))
        found = evidence + baseline(information, score, mean)
        assert found == pytest.approx(integral, abs=1e-6)
        differences.append(abs(evidence - integral))
    # Without the baseline the evidences of different means could not be compared.
    assert max(differences) > 1e-3


PLACE = (np.arange(64) + 0.5) / 64
STEEP = np.exp(-8 * PLACE) / np.exp(-8 * PLACE).sum()
WAVY = (1 + 0.9 * np.cos(3 * np.pi * PLACE)) / 64
ATOM = np.where(np.arange(64) == 20, 0.4, 0.6 / 63)


def test_it_is_chosen_for_a_steep_density_and_not_for_a_wave_or_an_atom() -> None:
    scaled = ScaledBasis(PLAIN)
    gains = {}
    for name, mass in (("steep", STEEP), ("wavy", WAVY), ("atom", ATOM)):
        information, score = likelihood(mass, 200_000)
        found = logarithmic(information, score, scaled, mass)
        gains[name] = found.evidence - linear(information, score, scaled).evidence
    assert gains["steep"] > 10
    assert gains["wavy"] < 0
    # A third of the people in one cell: the steps do not settle, and the evidence says so.
    assert gains["atom"] < -100


def test_its_answer_for_a_steep_density_is_nearer_than_the_plain_ones() -> None:
    scaled = ScaledBasis(PLAIN)
    information, score = likelihood(STEEP, 200_000)
    priors = [
        logarithmic(information, score, scaled, STEEP),
        linear(information, score, scaled),
    ]
    errors = []
    for prior in priors:
        covariance = (prior.columns * prior.spectrum.variance) @ prior.columns.T
        answer = Posterior.of(information, score, prior.mean, covariance)
        errors.append(np.abs(np.cumsum(answer.distribution() - STEEP)).mean())
    assert errors[0] < errors[1]


def test_the_mixture_forgets_what_has_no_evidence_and_halves_twins() -> None:
    scaled = ScaledBasis(PLAIN)
    information, score = likelihood(STEEP, 50_000)
    good = logarithmic(information, score, scaled, STEEP)
    bad = replace(linear(information, score, scaled), evidence=good.evidence - 50)
    frequency = scaled.basis.frequency
    alone = averaged([good], information, score, frequency)
    for several in ([good, bad], [bad, good], [good, good]):
        mean, covariance = averaged(several, information, score, frequency)
        np.testing.assert_allclose(mean, alone[0], atol=1e-12)
        np.testing.assert_allclose(covariance, alone[1], atol=1e-12)
    even = replace(bad, evidence=good.evidence)
    mixed = averaged([good, even], information, score, frequency)
    other = averaged([even], information, score, frequency)
    np.testing.assert_allclose(mixed[0], (alone[0] + other[0]) / 2)
    np.testing.assert_allclose(mixed[1], (alone[1] + other[1]) / 2)


@DOMAINS
def test_heavy_atoms_are_found_and_steep_or_rough_densities_have_none(domain: Interval) -> None:
    scaled = ScaledBasis(domain)
    size = domain.size
    rough = np.random.default_rng(1).gamma(3, size=size)
    steep = np.exp(-8 * np.arange(size) / size)
    for quiet in (rough / rough.sum(), steep / steep.sum()):
        assert not heavy_atoms(quiet, scaled).any()
        cells = scaled.joined[[0, 30, -1]]
        loud = 0.7 * quiet
        loud[cells] += 0.1
        found = heavy_atoms(loud, scaled)
        assert set(np.flatnonzero(found)) == set(cells[found[cells] > 0])
        assert found[cells[1]] == pytest.approx(0.1, abs=0.02)
        assert (found <= loud).all()


def test_when_most_people_stand_out_none_is_set_aside() -> None:
    mass = np.full(64, 0.4 / 63)
    mass[9] = 0.6
    assert not heavy_atoms(mass, ScaledBasis(PLAIN)).any()


def test_no_frequencies_have_no_evidence(capfd: pytest.CaptureFixture[str]) -> None:
    # LAPACK prints a line for each solve without rows.
    nothing = np.zeros(0)
    assert evidence_of(np.zeros((0, 0)), nothing, nothing) == 0
    assert capfd.readouterr() == ("", "")
