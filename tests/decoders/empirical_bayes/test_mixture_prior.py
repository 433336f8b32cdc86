"""The learned mixture: its constrained maximum, posteriors against a slow script, small errors."""

import math
from typing import Literal

import numpy as np
import pytest
from scipy.optimize import minimize

from lapwing import Categories, LeastSquares, MixturePrior, RandomizedResponse, simulate
from lapwing.decoders.empirical_bayes.learned_mixture import (
    learned_weights,
    share_at,
    steps_to,
    with_mean,
)
from lapwing.decoders.empirical_bayes.mixture_prior import CERTAIN, shrunk
from lapwing.decoders.unbiased.linear_estimate import UnbiasedShares, unbiased_shares
from lapwing.distances import mean_squared_error
from lapwing.linear.projections import simplex
from lapwing.randomizers import HadamardResponse, OptimizedUnaryEncoding, UnaryEncoding
from lapwing.tallies import CountTally
from tests.signed_decoder import signed_estimate


def sparse(size: int, heavy: int, people: int) -> np.ndarray:
    counts = np.zeros(size, dtype=np.int64)
    counts[:heavy] = people // heavy
    return counts


def zipf(size: int, people: int) -> np.ndarray:
    mass = 1 / np.arange(1, size + 1)
    return np.random.default_rng(7).multinomial(people, mass / mass.sum())


def test_weights_with_a_mean_are_those_of_the_equations() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        grid = np.concatenate([[0.0], np.sort(rng.exponential(1.0, 9))])
        held = rng.dirichlet(np.full(10, 0.3))
        mean = float(rng.uniform(0.02, 0.9) * grid[-1])
        weights, _ = with_mean(held, grid - mean)
        assert weights.sum() == pytest.approx(1, abs=1e-12) and (weights >= 0).all()
        assert weights @ grid == pytest.approx(mean, rel=1e-6)
        # w = c / (1 + lambda (theta - m)): the multiplier is the same at every point.
        used = held > 1e-12
        multiplier = (held[used] / weights[used] - 1) / (grid - mean)[used]
        assert np.ptp(multiplier) <= 1e-5 * max(1.0, np.abs(multiplier).max())


def test_the_mean_holds_even_where_a_point_is_all_but_empty() -> None:
    """Its multiplier is next to a pole, nearer than a difference of floats could say."""
    grid = np.array([0.0, 1.0, 2.0, 10.0])
    held = np.array([0.9, 0.1, 1e-30, 1e-60])
    for mean in (0.05, 0.1, 0.2, 3.0):
        weights, _ = with_mean(held, grid - mean)
        assert weights @ grid == pytest.approx(mean, rel=1e-6)


def test_the_prior_is_the_most_probable_one_with_that_mean() -> None:
    rng = np.random.default_rng(1)
    grid = np.array([0.0, 0.5, 1.5, 3.0, 6.0])
    estimates = np.concatenate([rng.normal(0, 1, 300), rng.normal(3, 1, 40)])
    likelihood = np.exp(-((estimates[:, None] - grid) ** 2) / 2)
    bins = np.full(estimates.size, 1 / estimates.size)

    def loss(weights: np.ndarray) -> float:
        return -float(bins @ np.log(likelihood @ weights))

    for mean in (0.2, 0.36, 0.6):
        found = learned_weights(likelihood, bins, grid, mean, 3000)
        best = minimize(
            loss,
            np.full(5, 0.2),
            method="SLSQP",
            bounds=[(1e-12, 1)] * 5,
            constraints=[
                {"type": "eq", "fun": lambda w: w.sum() - 1},
                {"type": "eq", "fun": lambda w, m=mean: w @ grid - m},
            ],
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert found @ grid == pytest.approx(mean, rel=1e-6)
        assert loss(found) == pytest.approx(best.fun, abs=1e-6)
        # The check can fail: the prior without the constraint is more probable.
        assert mean == 0.36 or loss(found) > loss(
            learned_weights(likelihood, bins, grid, 0.36, 3000)
        )


def test_steps_count_standard_deviations() -> None:
    empty, slope = 4e-4, 3e-3
    for steps in (-3.0, 0.0, 0.5, 7.0, 19.0):
        share = share_at(np.array([steps]), empty, slope)
        np.testing.assert_allclose(steps_to(share, empty, slope), steps, atol=1e-12)
    near = share_at(np.array([5.0, 5.001]), empty, slope)
    deviation = math.sqrt(empty + slope * near[0])
    assert (near[1] - near[0]) / 0.001 == pytest.approx(deviation, rel=1e-3)


def slow_posterior(shares: np.ndarray, deviation: float, prior: np.ndarray) -> np.ndarray:
    """Return posterior means symbol by symbol when the shares are drawn from these."""
    means = []
    for share in shares:
        weights = np.exp(-((share - prior) ** 2) / (2 * deviation**2))
        means.append(float(weights @ prior / weights.sum()))
    return np.array(means)


def test_nearly_the_posterior_under_the_true_prior() -> None:
    """Empirical Bayes against a script that is given all shares, in any order."""
    size, people = 3000, 50_000
    bits = OptimizedUnaryEncoding(Categories(size), 1)
    counts = zipf(size, people)
    mass = counts / people
    learned, known, projected = [], [], []
    for seed in range(5):
        found = unbiased_shares(bits.channel, simulate(bits, counts, rng=seed))
        deviation = float(found.deviation[0])
        oracle = slow_posterior(found.shares, deviation, mass)
        learned.append(np.mean((shrunk(found.with_total()).mass - mass) ** 2))
        known.append(np.mean((oracle - mass) ** 2))
        projected.append(np.mean((simplex(found.shares) - mass) ** 2))
    assert np.mean(known) < np.mean(learned) < 1.35 * np.mean(known)
    # The check can fail: the projection, which knows no prior, is far from it.
    assert np.mean(projected) > 1.6 * np.mean(known)


def test_estimates_far_above_the_noise_are_kept() -> None:
    shares = np.array([0.5, 0.2, 0.001, -0.002, 0.0, 0.003])
    found = UnbiasedShares(shares, np.full(6, 1e-6), 1e-6, 1000)
    kept = shares > CERTAIN * np.sqrt(found.variance(shares))
    answer = shrunk(found).free
    np.testing.assert_array_equal(answer[kept], shares[kept])
    assert kept.tolist() == [True, True, False, False, False, False]
    assert (answer[~kept] < 0.31).all() and (answer >= 0).all()


def test_nothing_is_left_for_the_others_when_the_certain_ones_hold_everything() -> None:
    found = UnbiasedShares(np.array([0.7, 0.4, 0.003, -0.01]), np.full(4, 1e-6), 0.0, 1000)
    assert shrunk(found).free.tolist() == [0.7, 0.4, 0.0, 0.0]


@pytest.mark.parametrize("estimate", ["mean", "median"])
def test_better_than_the_projection_on_sparse_data(estimate: Literal["mean", "median"]) -> None:
    decoder = MixturePrior(estimate=estimate, band=False)
    for randomizer in (
        OptimizedUnaryEncoding(Categories(2000), 1),
        UnaryEncoding(Categories(2000), 2),
        HadamardResponse(Categories(2000), 1),
        HadamardResponse(Categories(2000), 3),
        RandomizedResponse(Categories(2000), 5),
    ):
        for people in (sparse(2000, 10, 50_000), zipf(2000, 50_000)):
            mass = people / people.sum()
            ours, theirs = [], []
            for seed in range(3):
                tally = simulate(randomizer, people, rng=seed)
                result = decoder.decode(randomizer.channel, tally)
                ours.append(np.mean((result.mass - mass) ** 2))
                plain = simplex(unbiased_shares(randomizer.channel, tally).shares)
                theirs.append(np.mean((plain - mass) ** 2))
            assert np.mean(ours) < 0.8 * np.mean(theirs), randomizer.name


def test_shares_of_empty_symbols_do_not_leak() -> None:
    """Without the mean each empty symbol keeps a little, and together they hold a large part."""
    bits = OptimizedUnaryEncoding(Categories(5000), 1)
    people = sparse(5000, 5, 100_000)
    for seed in range(3):
        tally = simulate(bits, people, rng=seed)
        result = signed_estimate(MixturePrior(band=False), bits.channel, tally)
        assert result.mass[5:].sum() < 0.05
        assert 0.9 < result.mass.sum() < 1.1


def test_an_order_of_the_symbols_changes_nothing() -> None:
    bits = OptimizedUnaryEncoding(Categories(300), 1)
    tally = simulate(bits, zipf(300, 20_000), rng=2)
    order = np.random.default_rng(3).permutation(300)
    moved = CountTally([tally.blocks[0][order]], tally.reports, tally.fingerprint)
    one = MixturePrior().decode(bits.channel, tally).mass
    two = MixturePrior().decode(bits.channel, moved).mass
    np.testing.assert_allclose(two, one[order], atol=1e-9)


def test_dense_data_stay_as_they_are() -> None:
    """Where everything is far above the noise, it is least squares."""
    response = RandomizedResponse(Categories(6), 3)
    tally = simulate(response, np.array([10, 20, 30, 40, 50, 60]) * 10_000, rng=1)
    ours = MixturePrior().decode(response.channel, tally)
    theirs = LeastSquares().decode(response.channel, tally)
    assert mean_squared_error(ours.mass, theirs.mass) < 1e-24
