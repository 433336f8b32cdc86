"""EM and EMS against the published algorithm, written out with a dense matrix."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from lapwing import (
    Categories,
    ExpectationMaximization,
    Guarantee,
    Interval,
    RandomizedResponse,
    SquareWave,
)
from lapwing.decoders.decoder import smoother
from lapwing.decoders.likelihood import expectation_maximization
from lapwing.decoders.likelihood.expectation_maximization import iterate
from lapwing.errors import ConvergenceWarning, UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.planning.simulation import simulate
from lapwing.protocol import Channel
from lapwing.randomizers import OptimizedUnaryEncoding, UnaryEncoding
from lapwing.tallies import CountTally
from lapwing.testing.decoder_contract import noiseless, sampled, truth
from tests.contracts.registered_decoders import mixed_channel

DOMAIN = Interval(0, 1, bins=24)


def textbook(
    matrix: np.ndarray, counts: np.ndarray, *, tau: float, smoothing: np.ndarray | None
) -> tuple[np.ndarray, int, list[float]]:
    """Return the estimate of algorithm 1 of the square-wave paper, its iterations and likelihoods.

    E step: P_i = x_i sum_j n_j M_ji / sum_k M_jk x_k. M step: x = P / sum(P). S step: x = S x.
    It stops when the log-likelihood, summed over all reports, changes by less than tau.
    """
    estimate = np.full(matrix.shape[1], 1 / matrix.shape[1])
    likelihoods: list[float] = []
    while True:
        likelihoods.append(float(counts @ np.log(matrix @ estimate)))
        if len(likelihoods) > 1 and abs(likelihoods[-1] - likelihoods[-2]) < tau:
            return estimate, len(likelihoods) - 1, likelihoods
        expected = estimate * (matrix.T @ (counts / (matrix @ estimate)))
        estimate = expected / expected.sum()
        if smoothing is not None:
            estimate = smoothing @ estimate
            estimate /= estimate.sum()


def binomial_smoothing(size: int) -> np.ndarray:
    """Return S: half of a mass stays, a quarter goes to each side; ends keep what cannot go."""
    matrix = np.zeros((size, size))
    for i in range(size):
        matrix[i, i] += 0.5
        for neighbor in (i - 1, i + 1):
            matrix[neighbor if 0 <= neighbor < size else i, i] += 0.25
    return matrix


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("smoothed", [False, True])
def test_same_iterations_and_same_answer_as_the_textbook(epsilon: float, smoothed: bool) -> None:
    wave = SquareWave(DOMAIN, epsilon)
    tally = simulate(wave, np.rint(1e5 * truth(24)).astype(int), rng=1)
    tau = 1e-3 if smoothed else 1e-3 * math.exp(epsilon)
    smoothing = binomial_smoothing(24) if smoothed else None
    matrix = dense(wave.channel.blocks[0].operator)
    expected, steps, _ = textbook(matrix, tally.blocks[0], tau=tau, smoothing=smoothing)
    result = ExpectationMaximization(smoothed=smoothed).decode(wave.channel, tally)
    assert result.provenance["iterations"] == steps > 5 and result.provenance["converged"]
    np.testing.assert_allclose(result.mass, expected, atol=1e-10)
    assert result.provenance["likelihood"] == "full"


def test_every_iterate_is_the_textbooks_and_the_likelihood_never_falls() -> None:
    wave = SquareWave(DOMAIN, 1)
    tally = simulate(wave, np.rint(1e5 * truth(24)).astype(int), rng=2)
    matrix, counts = dense(wave.channel.blocks[0].operator), tally.blocks[0]
    previous = -math.inf
    for limit in range(1, 40):
        decoder = ExpectationMaximization(tolerance=1e-12, limit=limit, band=False)
        with pytest.warns(ConvergenceWarning, match=f"limit of {limit} iterations"):
            result = decoder.decode(wave.channel, tally)
        assert not result.provenance["converged"] and result.provenance["iterations"] == limit
        expected = np.full(24, 1 / 24)
        for _ in range(limit):
            expected = expected * (matrix.T @ (counts / (matrix @ expected)))
            expected /= expected.sum()
        np.testing.assert_allclose(result.mass, expected, atol=1e-12)
        likelihood = float(counts @ np.log(matrix @ result.mass))
        assert likelihood > previous
        previous = likelihood


def test_smoothing_costs_likelihood() -> None:
    """EMS ends at a fixed point of its two steps, not at a maximum of the likelihood."""
    wave = SquareWave(DOMAIN, 4)
    tally = simulate(wave, np.rint(1e5 * truth(24)).astype(int), rng=3)
    matrix = dense(wave.channel.blocks[0].operator)
    em, ems = (
        tally.blocks[0]
        @ np.log(
            matrix @ ExpectationMaximization(smoothed=smoothed).decode(wave.channel, tally).mass
        )
        for smoothed in (False, True)
    )
    assert em > ems + 1000


def test_ems_ends_at_a_fixed_point() -> None:
    wave = SquareWave(DOMAIN, 1)
    tally = simulate(wave, np.rint(1e5 * truth(24)).astype(int), rng=4)
    decoder = ExpectationMaximization(smoothed=True, tolerance=1e-7)
    mass = decoder.decode(wave.channel, tally).mass
    matrix = dense(wave.channel.blocks[0].operator)
    expected = mass * (matrix.T @ (tally.blocks[0] / (matrix @ mass)))
    again = binomial_smoothing(24) @ (expected / expected.sum())
    np.testing.assert_allclose(again, mass, atol=1e-7)


@pytest.mark.parametrize("channel", [SquareWave(Interval(0, 1, bins=12), 3, width=0.1).channel])
def test_conditions_of_the_maximum_at_the_end_of_em(channel: Channel) -> None:
    """Of a concave likelihood on the simplex: no symbol's gradient exceeds n, held ones have n."""
    tally = sampled(channel, truth(12), people=3000, seed=5)
    result = ExpectationMaximization(tolerance=1e-10, limit=500_000).decode(channel, tally)
    (block,) = channel.blocks
    matrix = dense(block.operator)
    gradient = matrix.T @ (tally.blocks[0] / (matrix @ result.mass)) / tally.total
    assert gradient.max() <= 1 + 1e-5
    held = result.mass > 1e-4
    np.testing.assert_allclose(gradient[held], 1, atol=1e-5)
    best = maximum_by_descent(
        lambda x: float(tally.blocks[0] @ np.log(matrix @ x)), result.mass.size, tally.total
    )
    np.testing.assert_allclose(result.mass, best, atol=2e-4)


def maximum_by_descent(objective: Any, size: int, scale: float) -> np.ndarray:
    """Return the maximizer over the simplex found by SciPy's general method (SLSQP)."""
    found = minimize(
        lambda x: -objective(x) / scale,
        np.full(size, 1 / size),
        bounds=[(1e-12, 1)] * size,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert found.success
    return found.x / found.x.sum()


@pytest.mark.parametrize("protocol", [UnaryEncoding, OptimizedUnaryEncoding])
def test_bits_are_decoded_by_the_composite_likelihood(protocol: Any) -> None:
    randomizer = protocol(Categories(6), 1)
    tally = simulate(randomizer, [4000, 0, 300, 2000, 2500, 1200], rng=6)
    result = ExpectationMaximization(tolerance=1e-9, limit=200_000).decode(
        randomizer.channel, tally
    )
    assert result.provenance["likelihood"] == "composite marginal-binomial"
    law, operator = randomizer.channel.blocks[0].law, randomizer.channel.blocks[0].operator

    def composite(mass: np.ndarray) -> float:
        return law.composite_log_likelihood(operator, mass, tally.blocks[0], tally.total)

    best = maximum_by_descent(composite, 6, tally.total)
    np.testing.assert_allclose(result.mass, best, atol=5e-5)
    assert composite(result.mass) == pytest.approx(composite(best), abs=1e-4)


def test_a_mixed_channel_maximizes_the_sum_of_its_likelihoods() -> None:
    channel = mixed_channel()
    tally = sampled(channel, truth(8), people=4000, seed=7)
    result = ExpectationMaximization(tolerance=1e-8, limit=200_000).decode(channel, tally)
    assert result.provenance["likelihood"] == "composite marginal-binomial"
    wave, bits = (dense(block.operator) for block in channel.blocks)

    def likelihood(mass: np.ndarray) -> float:
        ones, reports = tally.blocks[1], tally.reports[1]
        value = tally.blocks[0] @ np.log(wave @ mass) + ones @ np.log(bits @ mass)
        return float(value + (reports - ones) @ np.log(1 - bits @ mass))

    best = maximum_by_descent(likelihood, 8, tally.total)
    np.testing.assert_allclose(result.mass, best, atol=1e-5)


def test_the_default_tolerance_of_em_follows_epsilon() -> None:
    channel = RandomizedResponse(Categories(5), 2).channel
    tally = sampled(channel, truth(5), people=10_000, seed=8)
    by_default = ExpectationMaximization().decode(channel, tally)
    given = ExpectationMaximization(tolerance=1e-3 * math.exp(2)).decode(channel, tally)
    np.testing.assert_array_equal(by_default.mass, given.mass)


def test_without_a_guarantee_em_needs_a_tolerance() -> None:
    made = RandomizedResponse(Categories(5), 2).channel
    channel = Channel(made.domain, made.blocks, made.fingerprint)
    tally = sampled(channel, truth(5), people=1000, seed=9)
    with pytest.raises(UnsupportedChannelError, match=r"states no guarantee\. Pass tolerance"):
        ExpectationMaximization().decode(channel, tally)
    assert ExpectationMaximization(tolerance=0.1).decode(channel, tally).guarantee is None


def test_the_band_can_be_left_out() -> None:
    channel = SquareWave(DOMAIN, 1).channel
    tally = sampled(channel, truth(24), people=10_000, seed=10)
    bare = ExpectationMaximization(smoothed=True, band=False).decode(channel, tally)
    full = ExpectationMaximization(smoothed=True).decode(channel, tally)
    assert bare.uncertainty is None and bare.confidence_band() is None
    np.testing.assert_array_equal(bare.mass, full.mass)
    assert full.guarantee == Guarantee(Fraction(1), Fraction(0), "replace-one", "local")


def test_large_domains_are_decoded_without_a_matrix_and_without_a_band() -> None:
    wave = SquareWave(Interval(0, 1, bins=5000, outside="clip"), 2)
    shares = np.diff(np.linspace(0, 1, 5001) ** 2)
    tally = simulate(wave, np.rint(1e6 * shares).astype(int), rng=11)
    result = ExpectationMaximization(smoothed=True).decode(wave.channel, tally)
    assert result.confidence_band() is None
    assert abs(result.quantile(0.5) - math.sqrt(0.5)) < 0.01
    # Randomized response keeps its band at any size: its inverse has a closed form.
    response = RandomizedResponse(Categories(5000), 8)
    tally = simulate(response, np.full(5000, 200), rng=12)
    assert ExpectationMaximization().decode(response.channel, tally).confidence_band() is not None


def test_noise_that_em_follows_and_ems_does_not() -> None:
    """Why the stopping rule of EM is a regularizer: run on, it leaves the truth."""
    wave = SquareWave(Interval(0, 1, bins=64, outside="clip"), 1)
    mass = np.diff(np.linspace(0, 1, 65) ** 2)
    tally = simulate(wave, np.rint(1e5 * mass).astype(int), rng=13)
    error = {}
    for name, decoder in {
        "stopped": ExpectationMaximization(band=False),
        "run on": ExpectationMaximization(tolerance=1e-3, limit=100_000, band=False),
        "smoothed": ExpectationMaximization(smoothed=True, band=False),
    }.items():
        result = decoder.decode(wave.channel, tally)
        error[name] = np.abs(np.cumsum(result.mass) - np.cumsum(mass)).mean()
    assert error["smoothed"] < error["stopped"] < error["run on"]


def test_noiseless_counts_of_a_few_people() -> None:
    channel = RandomizedResponse(Categories(3), 1).channel
    mass = np.array([0.5, 0.3, 0.2])
    tally = noiseless(channel, mass, people=10**6)
    assert isinstance(tally, CountTally)
    found = ExpectationMaximization(tolerance=1e-9).decode(channel, tally).mass
    np.testing.assert_allclose(found, mass, atol=1e-4)


COLUMNS = {
    "smooth": Interval(0, 1, bins=24),
    "circle": Interval(0, 1, bins=24, circular=True),
    "atoms": Interval(0, 1, bins=24, atoms=[0.25]),
    "own edges": Interval(0, 1, edges=[0, 0.02, 0.05, 0.1, 0.2, 0.5, 0.6, 1]),
}


@pytest.mark.parametrize("people", [1_000, 100_000])
@pytest.mark.parametrize("domain", COLUMNS.values(), ids=COLUMNS)
def test_acceleration_keeps_the_fixed_point_of_ems(domain: Interval, people: int) -> None:
    wave = SquareWave(domain, 4)
    mass = truth(domain.size) ** 2
    mass /= mass.sum()
    tally = simulate(wave, np.rint(people * mass).astype(int), rng=5)
    rows = expectation_maximization.likelihood_rows(wave.channel, tally)
    found = [
        iterate(
            rows,
            np.full(domain.size, 1 / domain.size),
            smooth=smoother(domain),
            tolerance=1e-300,
            limit=limit,
            accelerated=accelerated,
        )
        for accelerated, limit in ((False, 20_000), (True, 2_000))
    ]
    np.testing.assert_allclose(found[1].point, found[0].point, atol=1e-9)


def test_a_leap_that_lowers_the_likelihood_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every leap is made worthless: what is left are the plain iterations, two a round."""
    wave = SquareWave(DOMAIN, 1)
    tally = simulate(wave, np.rint(1e5 * truth(24)).astype(int), rng=2)
    rows = expectation_maximization.likelihood_rows(wave.channel, tally)
    start = np.full(24, 1 / 24)

    def far(*_: object, most: float) -> tuple[np.ndarray, float]:
        return np.append(np.zeros(23), 1.0), most

    monkeypatch.setattr(expectation_maximization, "extrapolated", far)
    for rounds in (1, 2, 10):
        given: Any = {"smooth": None, "tolerance": 1e-300}
        leaps = iterate(rows, start, limit=3 * rounds, accelerated=True, **given)
        plain = iterate(rows, start, limit=2 * rounds, **given)
        np.testing.assert_array_equal(leaps.point, plain.point)
        assert leaps.iterations == 3 * rounds and not leaps.converged


def test_the_likelihood_of_em_never_falls_with_leaps() -> None:
    wave = SquareWave(DOMAIN, 1)
    tally = simulate(wave, np.rint(1e5 * truth(24)).astype(int), rng=2)
    rows = expectation_maximization.likelihood_rows(wave.channel, tally)
    likelihood = []
    for rounds in range(1, 30):
        found = iterate(
            rows,
            np.full(24, 1 / 24),
            smooth=None,
            tolerance=1e-300,
            limit=3 * rounds,
            accelerated=True,
        )
        likelihood.append(expectation_maximization.expect(rows, found.point)[1])
    assert np.diff(likelihood).min() > 0


def test_many_bins_are_accelerated_unless_a_limit_is_given() -> None:
    wave = SquareWave(Interval(0, 1, bins=5_000), 2)
    tally = simulate(wave, np.rint(20_000 * truth(wave.domain.size)).astype(int), rng=6)
    few = ExpectationMaximization(smoothed=True).decode(wave.channel, tally)
    many = ExpectationMaximization(smoothed=True, limit=20_000).decode(wave.channel, tally)
    assert few.provenance["converged"] and many.provenance["converged"]
    assert 0 < 3 * few.provenance["iterations"] < many.provenance["iterations"]
    assert np.abs(np.cumsum(few.mass - many.mass)).max() < 0.01
    plain = iterate(
        expectation_maximization.likelihood_rows(wave.channel, tally),
        np.full(wave.domain.size, 1 / wave.domain.size),
        smooth=smoother(wave.domain),
        tolerance=1e-3,
        limit=20_000,
    )
    np.testing.assert_array_equal(many.mass, plain.point)
    # EM is not: where it stops is its regularizer.
    alone = ExpectationMaximization(band=False).decode(wave.channel, tally)
    given = ExpectationMaximization(band=False, limit=20_000).decode(wave.channel, tally)
    np.testing.assert_array_equal(alone.mass, given.mass)
