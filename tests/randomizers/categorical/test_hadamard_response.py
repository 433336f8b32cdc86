"""Hadamard response: its blocks, its exact draw, its fast estimate with exact variances."""

import math

import numpy as np
import pytest
from scipy.linalg import hadamard

from lapwing import Categories, ExpectationMaximization, LeastSquares, simulate
from lapwing.decoders.unbiased.linear_estimate import hadamard_estimate, linear_estimate
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.operators.operator import dense
from lapwing.privacy.sampling.randomness import seeded
from lapwing.randomizers import HadamardResponse
from lapwing.randomizers.categorical.hadamard_response import (
    least_variance_blocks,
    published_blocks,
    spread_in_halves,
)
from lapwing.results.uncertainty import Uncertainty
from lapwing.testing.randomizer_contract import exact_law
from tests.false_alarms import DECODES, accepts, moments_tail


def test_one_block_is_the_published_matrix() -> None:
    """Entry by entry: `inside` where column s + 1 of Sylvester's matrix is +1."""
    response = HadamardResponse(Categories(6), 1, blocks=1)
    inside, outside = response._probabilities
    expected = np.where(hadamard(8)[:, 1:7] > 0, inside, outside)
    np.testing.assert_allclose(dense(response.channel.blocks[0].operator), expected, rtol=1e-12)


def test_near_sets_are_halves_of_blocks_that_share_quarters() -> None:
    response = HadamardResponse(Categories(23), 2, blocks=4)
    assert (response._length, response._outputs) == (8, 32)
    sets = []
    for symbol in range(23):
        point = np.full(response._near, symbol)
        near = response._locate(point, np.ones(4, dtype=bool), np.arange(4))
        far = response._locate(np.full(28, symbol), np.zeros(28, dtype=bool), np.arange(28))
        assert set(near // 8) == {symbol % 4}
        assert sorted([*near, *far]) == list(range(32))
        sets.append(set(near.tolist()))
    for one in range(23):
        for two in range(one):
            assert len(sets[one] & sets[two]) == (2 if one % 4 == two % 4 else 0)


@pytest.mark.parametrize(
    ("epsilon", "blocks"), [(0.5, 1), (1, 1), (1.33, 1), (1.36, 2), (2, 4), (3, 8), (4, 32)]
)
def test_blocks_minimize_the_variance(epsilon: float, blocks: int) -> None:
    # (2 B + E)^2 / (B E^2) with E = e^epsilon - 1, at its smallest power of two.
    assert least_variance_blocks(10_000, epsilon) == blocks
    gain = math.expm1(epsilon)
    values = {b: (2 * b + gain) ** 2 / b for b in (1, 2, 4, 8, 16, 32, 64, 128)}
    assert values[blocks] == min(values.values())


def test_blocks_of_the_authors() -> None:
    assert [published_blocks(10_000, eps) for eps in (0.5, 1, 2, 3, 4)] == [1, 2, 4, 16, 32]
    assert published_blocks(8, 20) == 8 and published_blocks(5, 20) == 4
    assert published_blocks(8, 1e-17) == 1  # e^epsilon is 1 in floats, and 2^-1 is no block
    assert least_variance_blocks(5, 20) == 4


@pytest.mark.parametrize("blocks", [3, 16])
def test_illegal_blocks_are_refused(blocks: int) -> None:
    with pytest.raises(ArgumentError, match="blocks must be"):
        HadamardResponse(Categories(10), 1, blocks=blocks)


def test_too_many_symbols_are_refused() -> None:
    with pytest.raises(DomainError, match="LinearHashing"):
        HadamardResponse(Categories(2**25 + 1), 1)


def test_measured_deviations_of_the_note() -> None:
    """The study measured 2.164 for one block and 2.353 for two at epsilon 1, times 1/sqrt(n)."""
    found = {}
    for blocks in (1, 2):
        response = HadamardResponse(Categories(1000), 1, blocks=blocks)
        people = np.full(1000, 1000)
        estimate = hadamard_estimate(response.channel, simulate(response, people, rng=1))
        found[blocks] = float(np.sqrt(np.median(estimate.noise.diagonal) * 1e6))
    assert found[1] == pytest.approx(2.164, rel=0.01)
    assert found[2] == pytest.approx(2.353, rel=0.01)


@pytest.mark.parametrize(("epsilon", "more"), [(0.5, 0.06), (1, 0.27), (2, 0.75), (4, 0.98)])
def test_variance_above_the_least_is_as_documented(epsilon: float, more: float) -> None:
    gain, blocks = math.expm1(epsilon), least_variance_blocks(10_000, epsilon)
    variance = (2 * blocks + gain) ** 2 / (blocks * gain**2)
    assert variance / (4 * (gain + 1) / gain**2) - 1 == pytest.approx(more, abs=0.01)


def test_spreading_in_halves_has_the_law_of_people() -> None:
    """Means and covariances of people who each draw a row with +1 at their column."""
    people = np.array([40, 100, 0, 300, 7, 60, 90, 200])
    halves = hadamard(8) > 0
    mean, covariance = np.zeros(8), np.zeros((8, 8))
    for column, number in enumerate(people):
        law = halves[:, column] / halves[:, column].sum()
        mean += number * law
        covariance += number * (np.diag(law) - np.outer(law, law))
    rng = np.random.default_rng(1)
    drawn = np.array([spread_in_halves(people, rng) for _ in range(DECODES)], dtype=np.float64)
    assert accepts(moments_tail(drawn, mean, covariance))
    # Too little spread is found: the mean of two such draws.
    assert not accepts(moments_tail((drawn[::2] + drawn[1::2]) / 2, mean, covariance))


def _estimates(response: HadamardResponse, people: np.ndarray) -> tuple[np.ndarray, Uncertainty]:
    rng = np.random.default_rng(1)
    shares = people / people.sum()
    drawn = []
    for _ in range(DECODES):
        law = hadamard_estimate(
            response.channel, simulate(response, people, rng=rng), plug_in=shares
        )
        drawn.append(law.center)
    return np.array(drawn), law


@pytest.mark.parametrize("blocks", [1, 4])
def test_estimate_is_unbiased_with_exact_variances(blocks: int) -> None:
    response = HadamardResponse(Categories(7), 1.5, blocks=blocks)
    people = np.array([900, 0, 30, 400, 100, 250, 20])
    drawn, law = _estimates(response, people)
    np.testing.assert_allclose(drawn.sum(axis=1), 1, atol=1e-12)
    shares, variance = people / people.sum(), law.noise.diagonal
    for symbol in range(7):
        one = drawn[:, [symbol]] * people.sum()
        mean, spread = shares[[symbol]] * people.sum(), variance[symbol] * people.sum() ** 2
        assert accepts(moments_tail(one, mean, np.array([[spread]])))
        assert not accepts(moments_tail(one, mean, np.array([[1.6 * spread]])))


def test_one_block_is_least_squares_with_equal_weights() -> None:
    response = HadamardResponse(Categories(9), 1, blocks=1)
    tally = simulate(response, np.arange(9) * 100, rng=1)
    matrix = dense(response.channel.blocks[0].operator)
    rates = tally.blocks[0] / tally.total
    # Least squares under the known total, by its normal equations.
    system = np.block([[matrix.T @ matrix, np.ones((9, 1))], [np.ones((1, 9)), np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.append(matrix.T @ rates, 1.0))[:9]
    found = hadamard_estimate(response.channel, tally).center
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_total_variation_is_that_of_every_two_values() -> None:
    response = HadamardResponse(Categories(5), 1, blocks=1)
    laws = [exact_law(response, symbol) for symbol in range(5)]
    for one in range(5):
        for two in range(one):
            gaps = [abs(laws[one][report] - laws[two][report]) for report in laws[one]]
            assert sum(gaps) / 2 == response.total_variation
    assert HadamardResponse(Categories(5), 1, blocks=2).total_variation is None


def test_many_labels_take_the_transform_and_few_the_matrix() -> None:
    """Both are unbiased; up to 256 labels correlations are kept, and variances agree."""
    for size, whole in ((200, True), (300, False)):
        response = HadamardResponse(Categories(size), 1, blocks=1)
        people = np.arange(size) * 10
        tally = simulate(response, people, rng=1)
        exact = linear_estimate(response.channel, tally, plug_in=people / people.sum())
        quick = hadamard_estimate(response.channel, tally, plug_in=people / people.sum())
        assert (exact.noise.factor.shape[1] > 0) == whole
        np.testing.assert_allclose(exact.noise.variance(), quick.noise.variance(), rtol=0.02)


def test_any_decoder_takes_it() -> None:
    response = HadamardResponse(Categories(40), 2)
    shares = np.arange(1, 41) / 820
    symbols = np.random.default_rng(1).choice(40, size=100_000, p=shares)
    tally = response.tally(response.randomize(symbols, rng=seeded(1)))
    truth = np.bincount(symbols, minlength=40) / symbols.size
    for decoder in (LeastSquares(), LeastSquares(weighted=False), ExpectationMaximization()):
        result = decoder.decode(response.channel, tally)
        assert np.abs(result.mass - truth).max() < 0.02
