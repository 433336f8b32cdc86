"""Spikes of the whole prior: what stands out stays, what chance alone brings goes."""

from __future__ import annotations

import numpy as np

from lapwing import Interval
from lapwing.decoders.empirical_bayes.normal_posterior import NormalPrior, Posterior
from lapwing.decoders.empirical_bayes.wave_basis import ScaledBasis
from lapwing.decoders.empirical_bayes.whole_prior import _likely, _with_spikes_and_steps

SIZE = 256
SCALED = ScaledBasis(Interval(0, 1, bins=SIZE))
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
    # Twice a cell beside its neighbours: what they share, waves and steps and the total, is gone.
    beside = np.diag(covariance)[1:-1] - covariance[np.arange(1, SIZE - 1), np.arange(SIZE - 2)]
    return np.append(0, beside) * INFORMATION[0, 0]


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
        found = _likely(sure, np.full(300, 1e20), determined)
        assert np.isfinite(found).all()
        # All that the score is worth beyond its noise is the spike's.
        assert np.allclose(found, (sure - (1 - determined)) / 1e20, rtol=1e-6)
        assert _likely(unsure, np.ones(300), np.zeros(300)).max() == 0
