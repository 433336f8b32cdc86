"""Calibrate, the fitted power law of the labels' league."""

import numpy as np
import pytest

import lapwing as lw
from benchmarks.accuracy.labels import calibrate


def test_the_posterior_mean_is_that_of_a_sum_over_all_counts(monkeypatch):
    """With few people every count is a point, so the sum by hand is exact."""
    monkeypatch.setattr(calibrate, "EXPONENTS", np.array([1.5]))
    estimate, spread, people = np.array([-3.0, 0.5, 12.0, 40.0]), 4.0, 50
    means, exponent = calibrate.posterior_means(estimate, spread, people)
    counts = np.arange(1, people + 1)
    weights = counts**-1.5 * np.exp(-(((estimate[:, None] - counts) / spread) ** 2) / 2)
    assert exponent == 1.5
    np.testing.assert_allclose(means, (weights * counts).sum(1) / weights.sum(1), rtol=1e-12)


def test_bins_of_large_counts_cover_each_count_once():
    counts, widths = calibrate.counts_and_widths(100_000)
    assert widths.sum() == pytest.approx(100_000)
    assert np.all(np.diff(counts) > 0) and counts[0] == 1 and counts[-1] < 100_000


@pytest.mark.parametrize("wanted", [1.2, 2.0])
def test_the_exponent_is_found_where_there_is_a_power_law(wanted):
    rng = np.random.default_rng(4)
    counts, widths = calibrate.counts_and_widths(100_000)
    law = widths * counts**-wanted
    true = rng.choice(counts, size=20_000, p=law / law.sum())
    _, exponent = calibrate.posterior_means(true + 3 * rng.standard_normal(20_000), 3.0, 100_000)
    # Of 20,000 draws the standard error is .02 at most.
    assert abs(exponent - wanted) <= 0.1


def test_it_beats_the_unbiased_estimate_and_reads_the_channel_rightly():
    shares = (np.arange(2000) + 1.0) ** -1
    shares /= shares.sum()
    randomizer = lw.randomizers.OptimizedUnaryEncoding(lw.Categories(2000), 1)
    rng = np.random.default_rng(2)
    held = rng.multinomial(100_000, shares)
    tally = lw.simulate(randomizer, held, rng=rng)
    mass = calibrate.Calibrate().decode(randomizer.channel, tally).mass
    own, other = randomizer.channel.blocks[0].operator.compound
    unbiased = (tally.blocks[0] / 100_000 - other) / (own - other)
    true = held / 100_000
    assert ((mass - true) ** 2).sum() < 0.5 * ((unbiased - true) ** 2).sum()
    assert mass[0] == pytest.approx(true[0], rel=0.1)
