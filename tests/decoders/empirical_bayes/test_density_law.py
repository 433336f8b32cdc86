"""The floor of a smooth density's steps: learned from the reports, for these steps alone."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.decoders.empirical_bayes.gaussian_model import Evidence, ScaledBasis
from lapwing.decoders.empirical_bayes.spectral_prior import (
    _SHARES,
    SpectralPrior,
    floor_limit,
    roughness,
    strongest_wave,
    unexplained,
)
from lapwing.results.steps import KEY, drawn_steps

LINE = lw.Interval(0, 1, bins=128, outside="clip")
EDGES = np.linspace(0, 1, 129)
SHARES: dict[str, Any] = {
    "normal": np.diff(stats.norm.cdf(EDGES, 0.5, 0.15)),
    "beta": np.diff(stats.beta.cdf(EDGES, 2, 5)),
    "levels": np.repeat([1, 3, 2, 5, 1, 4, 2, 0.3], 16),
    "teeth": 1 + (np.arange(128) / 6.4 % 1 - 0.5),
    "peaks": np.diff(stats.norm.cdf(EDGES, 0.3, 0.012) + stats.norm.cdf(EDGES, 0.6, 0.2)),
}


def decoded(column: str, *, epsilon: float, seed: int = 1, people: int = 200_000) -> Any:
    """Return the counts of a poll and its decoded distribution."""
    shares = SHARES[column] / SHARES[column].sum()
    counts = np.random.default_rng(seed).multinomial(people, shares)
    wave = lw.MultiscaleWave(LINE, epsilon)
    return counts, SpectralPrior().decode(wave.channel, lw.simulate(wave, counts, rng=seed))


def without(result: Any) -> Any:
    law = result.uncertainty
    return replace(result, uncertainty=replace(law, variants=replace(law.variants, density=None)))


def test_the_roughness_of_white_masses_and_of_a_line() -> None:
    scaled = ScaledBasis(LINE)
    assert roughness(np.eye(128) * 1e-6, scaled) == pytest.approx(128 * np.sqrt(6e-6))
    line = np.outer(np.arange(128.0), np.arange(128.0))
    assert roughness(line, scaled) == pytest.approx(0, abs=1e-3)
    # A density that is a line, in bins of different widths beside an atom.
    own = lw.Interval(0, 1, edges=[0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1], atoms=[0.25])
    scaled = ScaledBasis(own)
    heights = np.zeros(own.size)
    heights[scaled.joined] = scaled.width * np.arange(scaled.joined.size)
    heights[scaled.apart] = 7
    assert roughness(np.outer(heights, heights), scaled) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("people", [100.0, 3_000.0, 1e5])
def test_the_limit_of_a_floor_against_the_density_of_the_score(people: float) -> None:
    """The score of normal reports is normal with covariance ``H + H P H``."""
    rng, size = np.random.default_rng(int(people)), 12
    root = rng.normal(size=(size, size))
    information = people * (root @ root.T / size + np.eye(size))
    prior, floor = 0.01 * root[:, :2] @ root[:, :2].T, np.diag(rng.uniform(0.001, 0.003, size))
    mean = np.full(size, 1 / size)

    def law_of(share: float) -> Any:
        among = information @ (prior + share * floor) @ information
        return stats.multivariate_normal(information @ mean, information + among)

    limits, true = [], 0.2
    for seed in range(40):
        score = law_of(true).rvs(random_state=seed)
        evidence = Evidence(information, score, mean, round(people))
        found = floor_limit(*unexplained(evidence, mean, prior), floor)
        logarithms = np.array([law_of(share).logpdf(score) for share in [0.0, *_SHARES]])
        allowed = _SHARES[logarithms[1:] >= logarithms.max() - 1.35]
        assert found == pytest.approx(allowed.max(initial=_SHARES[0]))
        limits.append(found)
    assert np.mean(np.array(limits) >= true) >= 0.85
    assert (min(limits) == 1) == (people == 100)


def test_a_wave_of_any_phase_stands_out() -> None:
    """Of chance alone the largest of a hundred chi-squares is about ten."""
    scaled, local, rng = ScaledBasis(LINE), np.full(128, 1 / 128), np.random.default_rng(2)
    information = 100.0 * 128 * np.eye(128)  # of a hundred reports of the bins themselves
    noise = rng.normal(size=(60, 128)) * np.sqrt(information[0, 0])
    place = (np.arange(128) + 0.5) / 128
    chance = [strongest_wave(information, one, scaled, local) for one in noise]
    assert 5 < np.median(chance) < 14 and np.mean(np.array(chance) > 15) < 0.15
    for phase in (0, 0.25, 0.5, 0.75):
        wave = 0.8 * np.cos(2 * np.pi * (21.5 * place + phase)) / 128
        moved = [
            strongest_wave(information, one + information @ wave, scaled, local) for one in noise
        ]
        # The noncentrality is 100 * 0.8^2 / 2 = 32.
        assert 20 < np.median(moved) < 50
    assert (
        strongest_wave(
            np.eye(8),
            np.ones(8),
            ScaledBasis(lw.Interval(0, 1, bins=8, outside="clip")),
            np.full(8, 1 / 8),
        )
        == 0
    )


@pytest.mark.parametrize("column", ["normal", "beta"])
def test_smooth_steps_have_narrower_intervals_and_nothing_else_changes(column: str) -> None:
    ratios = []
    for seed in range(2):
        counts, result = decoded(column, epsilon=4, seed=seed)
        plain, number = without(result), result.provenance[KEY]
        for target in ("empirical", "population"):
            drawn = drawn_steps(result, steps=number, target=target)
            wide = drawn_steps(plain, steps=number, target=target)
            ratios.append(np.sum(drawn.high - drawn.low) / np.sum(wide.high - wide.low))
            assert np.all((drawn.low <= drawn.shares) & (drawn.shares <= drawn.high))
        truth = np.add.reduceat(counts, np.arange(0, 128, 128 // number)) / counts.sum()
        drawn = drawn_steps(result, steps=number)
        assert np.all((drawn.low <= truth) & (truth <= drawn.high))
        # All bins, bands and single numbers are those of the whole floor.
        fine, before = drawn_steps(result), drawn_steps(plain)
        assert np.array_equal(fine.low, before.low) and np.array_equal(fine.high, before.high)
        for kind in ("pointwise", "simultaneous"):
            band, other = (one.confidence_band(kind=kind) for one in (result, plain))
            assert np.array_equal(band.low, other.low) and np.array_equal(band.high, other.high)
        assert result.probability_interval(0.25, 0.5) == plain.probability_interval(0.25, 0.5)
        assert result.quantile_interval(0.5) == plain.quantile_interval(0.5)
    assert max(ratios) < 0.8


def test_a_stored_result_keeps_its_steps() -> None:
    _, result = decoded("normal", epsilon=4)
    again = lw.Distribution.from_document(json.loads(json.dumps(result.to_document())))
    number = result.provenance[KEY]
    for one, other in ((result, again), (without(result), without(again))):
        drawn, loaded = drawn_steps(one, steps=number), drawn_steps(other, steps=number)
        np.testing.assert_allclose(loaded.high, drawn.high, rtol=1e-6)
    assert again.uncertainty.variants.density is not None


def test_the_population_has_the_sampling_error_too() -> None:
    _, result = decoded("normal", epsilon=4, people=20_000)
    number = result.provenance[KEY]
    people, all_people = (
        result.uncertainty.about_steps(target).noise for target in ("empirical", "population")
    )
    gap = all_people.variance() - people.variance()
    p = result.uncertainty.plug_in
    np.testing.assert_allclose(gap, p * (1 - p) / 20_000, rtol=1e-6)
    drawn, wide = (
        drawn_steps(result, steps=number, target=each) for each in ("empirical", "population")
    )
    assert np.sum(wide.high - wide.low) > np.sum(drawn.high - drawn.low)


@pytest.mark.parametrize(
    ("column", "epsilon"), [("normal", 1.0), ("levels", 4.0), ("peaks", 4.0), ("teeth", 2.0)]
)
def test_rough_columns_and_small_epsilons_keep_the_whole_floor(column: str, epsilon: float) -> None:
    _, result = decoded(column, epsilon=epsilon)
    assert result.uncertainty.variants.density is None
