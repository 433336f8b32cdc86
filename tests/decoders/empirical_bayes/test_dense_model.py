"""Spikes of the whole prior: what stands out stays, what chance alone brings goes."""

import numpy as np
import pytest

from lapwing import Interval
from lapwing.decoders.empirical_bayes import dense_model
from lapwing.decoders.empirical_bayes.dense_model import (
    Whitener,
    _log_prior_odds,
    _moved_spike_variance,
    _spike_and_slab_variance,
    _steps,
    _with_spikes_and_steps,
    learned_answer,
)
from lapwing.decoders.empirical_bayes.gaussian_model import NormalPrior, Posterior, ScaledBasis

SIZE = 256
SCALED = ScaledBasis(Interval(0, 1, bins=SIZE, outside="clip"))
EVEN = np.full(SIZE, 1 / SIZE)
INFORMATION = 1e4 * np.diag(1 / EVEN)
"""That of ten thousand honest reports of the symbols themselves."""


def _prior(score: np.ndarray) -> NormalPrior:
    known = NormalPrior(EVEN, np.zeros((SIZE, SIZE)))
    return _with_spikes_and_steps(known, np.zeros(SIZE), INFORMATION, score, SCALED)


def _spikes(deviations: np.ndarray) -> np.ndarray:
    """Return the variances of single cells, as parts of what the reports leave open."""
    score = INFORMATION @ EVEN + np.sqrt(np.diag(INFORMATION)) * deviations
    covariance = _prior(score).covariance
    # Twice a cell beside its neighbors: what they share, waves and steps and the total, is gone.
    beside = np.diag(covariance)[1:-1] - covariance[np.arange(1, SIZE - 1), np.arange(SIZE - 2)]
    return np.append(0, beside) * INFORMATION[0, 0]


@pytest.mark.parametrize(
    "domain",
    [
        Interval(0, 1, bins=20),
        Interval(0, 1, bins=20, atoms=[0.3], missing="bin"),
        Interval(0, 1, edges=[0, 0.1, 0.4, 0.5, 1]),
        Interval(0, 1, bins=20, circular=True),
    ],
    ids=["plain", "atoms", "edges", "circle"],
)
def test_the_residual_score_varies_as_by_the_whole_posterior(domain: Interval) -> None:
    scaled = ScaledBasis(domain)
    rng, size = np.random.default_rng(1), domain.size
    half = rng.normal(size=(size, size))
    information, smooth = 30 * half @ half.T, half[:, :3] @ half[:, :3].T / 9
    jump = rng.uniform(0, 0.1, scaled.joined.size - 1) * (not scaled.circular)
    single = rng.uniform(0, 0.1, size)
    prior = smooth + _steps(jump, scaled) + np.diag(single)
    posterior = prior @ np.linalg.inv(np.eye(size) + information @ prior)
    found = Whitener.of(information, smooth, scaled).whitened(jump, single)
    expected = information - information @ posterior @ information
    assert np.allclose(found.T @ found, expected, rtol=1e-7, atol=1e-7)


def test_three_deviations_in_one_cell_of_many_are_chance_and_seven_are_not() -> None:
    deviations = np.zeros(SIZE)
    deviations[40] = 3.2
    assert _spikes(deviations)[40] < 0.07
    # A spike that is sure to be there is hardly shrunk.
    deviations[40] = 7
    assert _spikes(deviations)[40] > 10
    # Where one cell in ten has them, three are no chance.
    deviations[5:245:20], deviations[15:255:20] = 3.2, -3.2
    assert _spikes(deviations)[45] > 0.5


def test_what_one_cell_of_many_has_by_chance_is_a_spike_beside_another_only() -> None:
    deviations = np.zeros(SIZE)
    deviations[40] = 3.7
    assert _spikes(deviations)[40] < 1e-6
    deviations[200] = 12
    assert _spikes(deviations)[40] > 0.5


def test_a_spike_of_its_own_makes_no_cell_more_likely_to_have_one() -> None:
    determined = np.zeros(SIZE)
    determined[40] = 0.9
    price = _log_prior_odds(determined, nowhere(determined))
    np.testing.assert_allclose(price[40], np.log(SIZE / 0.05))
    np.testing.assert_allclose(price[41], np.log(SIZE / (0.05 + 0.95 * 0.9 + 0.9)))


def nowhere(determined: np.ndarray) -> np.ndarray:
    """Return that no cell is outside the range."""
    return np.zeros(determined.size, dtype=np.bool_)


def _with_false_spikes(columns: int) -> int:
    """Return in how many columns without spikes one is found, of honest reports and 64 cells."""
    size = 64
    scaled, even = ScaledBasis(Interval(0, 1, bins=size, outside="clip")), np.full(size, 1 / size)
    information = 1e4 * size * np.eye(size)
    known = NormalPrior(even, np.zeros((size, size)))
    rng = np.random.default_rng(8)
    found = 0
    for _ in range(columns):
        score = information @ even + 100 * np.sqrt(size) * rng.standard_normal(size)
        prior = _with_spikes_and_steps(known, np.zeros(size), information, score, scaled)
        # A cell that may be anything on its own; what neighbors share is no spike.
        beside = np.diag(prior.covariance)[:-1] - np.diag(prior.covariance, 1)
        found += beside.max() * information[0, 0] > 0.05
    return found


def test_one_column_of_a_hundred_has_a_spike_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six or more of 60, where one of 100 is expected, have a probability of 4e-5."""
    assert _with_false_spikes(60) < 6
    # A prior that expects a spike in every column finds one in every fourth that has none.
    monkeypatch.setattr(dense_model, "_EXPECTED", 1.0)
    assert _with_false_spikes(60) >= 6


def test_what_an_atom_holds_is_taken_from_all_others_by_their_shares() -> None:
    truth = 0.9 * EVEN
    truth[77] += 0.1
    prior = _prior(INFORMATION @ truth)
    found = Posterior.of(INFORMATION, INFORMATION @ truth, prior.mean, prior.covariance)
    mass = found.distribution()
    assert abs(mass[77] / truth[77] - 1) < 0.02
    assert np.abs(np.delete(mass, 77) * SIZE - 0.9).max() < 0.02


def test_a_spike_that_is_surer_than_a_number_near_one_can_say_has_a_finite_variance() -> None:
    sure, unsure = np.full(300, 1e12), np.full(300, 4.0)
    determined = np.full(300, 0.1)
    determined[7] = 1 - 1e-9
    with np.errstate(all="raise", under="ignore"):
        found = _spike_and_slab_variance(sure, np.full(300, 1e20), determined, nowhere(sure))
        assert np.isfinite(found).all()
        # All that the score is worth beyond its noise is the spike's.
        assert np.allclose(found, (sure - (1 - determined)) / 1e20, rtol=1e-6)
        none = _spike_and_slab_variance(unsure, np.ones(300), np.zeros(300), nowhere(sure))
        assert none.max() == 0


def test_a_band_knows_of_spikes_that_the_answer_has_not() -> None:
    """Odds of three deviations in one of 256 cells are seven to one against a spike."""
    deviations = np.zeros(SIZE)
    deviations[40] = 3.2
    score = INFORMATION @ EVEN + np.sqrt(np.diag(INFORMATION)) * deviations
    prior = _prior(score)
    assert prior.doubtful is not None
    chance = 1 / (1 + SIZE * np.exp(-(3.2**2 - 1 - np.log(3.2**2)) / 2))
    held = prior.doubtful * INFORMATION[0, 0]
    np.testing.assert_allclose(held[40], chance * (3.2**2 - 1), rtol=0.1)
    assert np.delete(held, 40).max() < 0.02 * held[40]
    beyond = prior.allowed() - prior.covariance
    np.testing.assert_allclose(np.diag(beyond), prior.doubtful, atol=1e-12)


def test_a_spike_that_one_pass_saw_is_doubtful_after_the_next() -> None:
    deviations = np.zeros(SIZE)
    deviations[40] = 3.2
    seen = INFORMATION @ EVEN + np.sqrt(np.diag(INFORMATION)) * deviations
    scores = iter([seen, INFORMATION @ EVEN])
    found = learned_answer(lambda _: (INFORMATION, next(scores)), SCALED, reports=10_000, passes=2)
    assert found.prior.doubtful is not None
    assert found.prior.doubtful[40] * INFORMATION[0, 0] > 0.5


def test_a_spike_may_be_in_any_cell_that_the_reports_cannot_tell_from_its_own() -> None:
    """Cells 0 and 1 are one to the reports, 2 is like them by half, and 3 is another matter."""
    half = np.sqrt(0.5)
    seen = np.array([[1, 0, 0], [1, 0, 0], [half, half, 0], [0, 0, 1.0]])
    information, score = 100 * seen @ seen.T, 100 * seen @ np.array([0.5, 0, 0.01])
    variance = 0.2
    prior = np.diag([variance, 0, 0, 0])
    posterior = np.linalg.solve(np.eye(4) + prior @ information, prior)
    residual = score - information @ posterior @ score
    left = information - information @ posterior @ information
    values, directions = np.linalg.eigh(left)
    whitened = (directions * np.sqrt(np.maximum(values, 0.0))).T
    found = _moved_spike_variance(0, variance, residual, whitened)
    # z^2 is 25 in both, 12.5 in the third.
    worth = np.exp((np.array([25, 25, 12.5]) - np.log([25, 25, 12.5])) / 2)
    chance = worth / worth.sum()
    assert found[0] == 0 and found[3] < 1e-6
    np.testing.assert_allclose(found[1], chance[1] * 24 / 100, rtol=1e-3)
    np.testing.assert_allclose(found[2], chance[2] * 11.5 / 100, rtol=1e-3)
