"""The normal posterior against its textbook formula, and its nearest distribution against a QP."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from lapwing.decoders.empirical_bayes.gaussian_model import (
    AMPLITUDES,
    FLOORS,
    SLOPES,
    Basis,
    Posterior,
    averaged_spectrum,
    evidence_of,
    refined,
    shrunk,
)


def _problem(size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(size, size))
    information = half @ half.T * 50
    half = rng.normal(size=(size, size))
    prior = half @ half.T / size**2
    mean = np.full(size, 1 / size)
    return information, rng.normal(size=size) * 30, mean, prior


def test_the_covariance_is_the_inverse_of_summed_precisions() -> None:
    information, _, _, prior = _problem(7, 0)
    expected = np.linalg.inv(np.linalg.inv(prior) + information)
    assert np.allclose(shrunk(information, prior), expected, rtol=1e-8, atol=1e-12)


def test_the_mean_minimizes_the_penalized_quadratic_on_the_plane_of_total_one() -> None:
    information, score, mean, prior = _problem(6, 1)
    posterior = Posterior.of(information, score, mean, prior)
    # Lagrange: (H + S^-1) x - s - S^-1 mean is the same in all cells, and sum(x) = 1.
    gradient = information @ posterior.mean - score
    gradient += np.linalg.solve(prior, posterior.mean - mean)
    assert posterior.mean.sum() == pytest.approx(1)
    assert np.ptp(gradient) < 1e-6 * np.abs(score).max()
    assert np.abs(posterior.covariance.sum(axis=0)).max() < 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_distribution_is_that_of_a_general_solver(seed: int) -> None:
    information, score, mean, prior = _problem(8, seed)
    posterior = Posterior.of(information, 5 * score, mean, prior)
    metric = np.linalg.pinv(posterior.covariance, rcond=1e-10)

    def distance(x: np.ndarray) -> float:
        return float((x - posterior.mean) @ metric @ (x - posterior.mean))

    found = posterior.distribution()
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    best = minimize(
        distance,
        np.full(8, 1 / 8),
        jac=lambda x: 2 * metric @ (x - posterior.mean),
        bounds=[(0, 1)] * 8,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert distance(found) <= best.fun * (1 + 1e-6) + 1e-9
    # The Euclidean projection is another point: the metric matters.
    if (posterior.mean < -1e-3).any():
        euclidean = np.maximum(posterior.mean, 0) / np.maximum(posterior.mean, 0).sum()
        assert distance(euclidean) > distance(found)


def test_the_evidence_is_the_density_of_the_data() -> None:
    rng = np.random.default_rng(3)
    design = rng.normal(size=(9, 4))
    variance = np.array([1.0, 0.5, 0.1, 0.0])
    data = rng.normal(size=9)

    def log_density(v: np.ndarray) -> float:
        return float(
            multivariate_normal(np.zeros(9), np.eye(9) + design * v @ design.T).logpdf(data)
        )

    information, score = design.T @ design, design.T @ data
    first = evidence_of(information, score, variance) - evidence_of(
        information, score, 2 * variance
    )
    assert first == pytest.approx(log_density(variance) - log_density(2 * variance), rel=1e-9)


@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize("cells", [8, 9])
def test_the_basis_is_orthogonal_of_unit_mean_square(cells: int, circular: bool) -> None:
    basis = Basis.of(cells, circular=circular)
    gram = basis.columns.T @ basis.columns / cells
    odd_one = circular and cells % 2 == 0
    expected = np.eye(cells - 1)
    if odd_one:
        # At the highest frequency of an even circle cosine and sine are one function.
        gram, expected = gram[:-1, :-1], expected[:-1, :-1]
    assert np.allclose(gram, expected, atol=1e-12)
    assert np.abs(basis.columns.sum(axis=0)).max() < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_average_is_that_of_the_whole_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frequency = np.arange(1.0, 40)
    half = rng.normal(size=(39, 60))
    information = half @ half.T * 10.0 ** rng.integers(1, 5)
    score = information @ (0.5 * frequency ** -rng.uniform(0.5, 2) * rng.normal(size=39))
    others = np.array([0.3, 0.01])
    both = np.zeros((41, 41))
    both[:39, :39] = information
    both[39:, 39:] = np.diag([5.0, 900.0])
    found = averaged_spectrum(both, np.append(score, [3.0, 40.0]), frequency, others)
    spectra = [
        a**2 * frequency ** (-2 * slope) + w**2
        for slope, a, w in product(SLOPES, AMPLITUDES, FLOORS)
    ]
    evidence = np.array(
        [
            evidence_of(both, np.append(score, [3.0, 40.0]), np.append(one, others))
            for one in spectra
        ]
    )
    weights = np.exp(evidence - evidence.max())
    expected = np.exp(weights @ np.log(spectra) / weights.sum())
    assert found.evidence == pytest.approx(evidence.max(), rel=1e-12)
    assert np.allclose(found.variance, expected, rtol=1e-8)


def test_the_spectrum_follows_the_amplitudes_that_made_the_data() -> None:
    rng = np.random.default_rng(4)
    frequency = np.arange(1.0, 64)
    information = np.diag(np.full(63, 1e5))

    def learned(slope: float) -> np.ndarray:
        amplitude = 0.9 * frequency**-slope * rng.choice([-1, 1], 63)
        score = information @ (amplitude + rng.normal(size=63) / np.sqrt(1e5))
        variance = averaged_spectrum(information, score, frequency).variance
        return refined(variance, information, score, frequency)

    rough, smooth = learned(0.5), learned(2.0)
    assert rough[40] > 30 * smooth[40]
    assert smooth[0] == pytest.approx(0.81, rel=0.9)
