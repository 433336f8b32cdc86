"""Least squares: unbiased with a known variance, or the nearest distribution."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from lapwing import Categories, Interval, LeastSquares, RandomizedResponse, SquareWave, simulate
from lapwing.decoders.unbiased.linear_estimate import linear_estimate
from lapwing.errors import ConvergenceWarning, UnsupportedChannelError
from lapwing.linear.operators.banded import circular_window
from lapwing.linear.operators.operator import dense
from lapwing.linear.projections import simplex
from lapwing.linear.solvers import projected_gradient
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol import Block, Channel
from lapwing.protocol.channels.channel import Multinomial
from lapwing.randomizers import (
    HadamardResponse,
    OptimizedUnaryEncoding,
    SubsetSelection,
    UnaryEncoding,
)
from lapwing.randomizers.two_level import TwoLevel
from lapwing.results import SignedEstimate
from lapwing.tallies import CountTally
from lapwing.testing.decoder_contract import sampled, truth
from tests.contracts.registered_decoders import CHANNELS
from tests.false_alarms import DECODES, accepts, moments_tail
from tests.rows import each
from tests.signed_decoder import unbiased

TWELVE = Interval(0, 1, bins=12)


def _by_nnls(channel: Channel, tally: CountTally, *, weighted: bool) -> np.ndarray:
    """Return the best distribution by SciPy's nnls, with the total as a heavy row."""
    size = channel.domain.size
    uniform = np.full(size, 1 / size)
    rows, targets = [], []
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        matrix = dense(block.operator)
        variance = np.diag(block.covariance(uniform).dense()) if weighted else np.ones(counts.size)
        scale = np.sqrt(reports / variance)
        rows.append(scale[:, None] * matrix)
        targets.append(scale * counts / reports)
    heavy = 1e6 * np.abs(rows[0]).max()
    system = np.vstack([*rows, heavy * np.ones((1, size))])
    found, _ = nnls(system, np.append(np.concatenate(targets), heavy), maxiter=10_000)
    return found / found.sum()


@each("name", CHANNELS)
@each("weighted", [True, False])
def test_nearest_distribution_is_that_of_nnls(name: str, weighted: bool) -> None:
    channel = CHANNELS[name]()
    mass = truth(channel.domain.size)
    mass[1::3] = 0
    mass /= mass.sum()
    tally = sampled(channel, mass, people=500, seed=1)
    result = LeastSquares(weighted=weighted).decode(channel, tally)
    expected = _by_nnls(channel, tally, weighted=weighted)
    np.testing.assert_allclose(result.mass, expected, atol=2e-5)
    assert result.mass.min() == 0, "the constraint binds somewhere, or nothing is tested"


def test_many_labels_of_one_hadamard_block_need_one_transform() -> None:
    response = HadamardResponse(Categories(300), 1)
    tally = simulate(response, np.rint(30_000 * truth(300)).astype(int), rng=5)
    result = LeastSquares().decode(response.channel, tally)
    signed = unbiased(response.channel, tally).mass
    np.testing.assert_allclose(result.mass, simplex(signed), atol=1e-12)
    expected = _by_nnls(response.channel, tally, weighted=True)
    people = truth(300)
    error, least = (np.linalg.norm(mass - people) for mass in (result.mass, expected))
    assert error < 1.01 * least, "the weights change next to nothing"
    assert "iterations" not in result.provenance


@pytest.mark.parametrize(
    "randomizer",
    [
        HadamardResponse(Categories(40), 4),
        HadamardResponse(Categories(400), 4),
        HadamardResponse(Categories(600), 2),
        SubsetSelection(Categories(40), 1),
        UnaryEncoding(Categories(40), 1),
        RandomizedResponse(Categories(40), 1),
    ],
    ids=["few codes", "codes", "two blocks", "subsets", "bits", "response"],
)
def test_the_closed_form_is_where_the_iteration_ends(randomizer: Any) -> None:
    channel = randomizer.channel
    size = channel.domain.size
    people = np.rint(30_000 * truth(size)).astype(int)
    people[1::3] = 0
    tally = simulate(randomizer, people, rng=3)
    (block,) = channel.blocks
    found = LeastSquares(weighted=False).decode(channel, tally)
    ended = projected_gradient(
        block.operator,
        tally.blocks[0] / tally.reports[0],
        weights=np.ones(block.operator.shape[0]),
        project=simplex,
        start=np.full(size, 1 / size),
        tolerance=1e-13,
    )
    np.testing.assert_allclose(found.mass, ended.point, atol=1e-9)
    assert "iterations" not in found.provenance and found.mass.min() == 0


def test_weights_of_several_blocks_of_codes_change_next_to_nothing() -> None:
    response = HadamardResponse(Categories(300), 4)
    tally = simulate(response, np.rint(30_000 * truth(300)).astype(int), rng=5)
    assert response.channel.blocks[0].operator.blocks > 1
    mass = LeastSquares().decode(response.channel, tally).mass
    expected = _by_nnls(response.channel, tally, weighted=True)
    error, least = (np.linalg.norm(one - truth(300)) for one in (mass, expected))
    assert error < 1.01 * least


@pytest.mark.parametrize("epsilon", [1, 4])
def test_twelve_bins_of_a_wave(epsilon: float) -> None:
    wave = SquareWave(TWELVE, epsilon, width=0.1)
    tally = simulate(wave, np.rint(20_000 * truth(12)).astype(int), rng=2)
    result = LeastSquares().decode(wave.channel, tally)
    expected = _by_nnls(wave.channel, tally, weighted=True)
    np.testing.assert_allclose(result.mass, expected, atol=2e-5)
    assert result.provenance["converged"] and result.provenance["iterations"] > 1


@pytest.mark.parametrize("protocol", [RandomizedResponse, UnaryEncoding])
def test_on_pure_protocols_it_is_norm_sub(protocol: type[RandomizedResponse]) -> None:
    randomizer = protocol(Categories(40), 1)
    tally = simulate(randomizer, np.rint(3000 * truth(40)).astype(int), rng=3)
    inverse = unbiased(randomizer.channel, tally)
    nearest = LeastSquares().decode(randomizer.channel, tally)
    np.testing.assert_allclose(nearest.mass, simplex(inverse.mass), atol=1e-12)
    assert isinstance(inverse, SignedEstimate) and inverse.mass.min() < 0
    np.testing.assert_allclose(inverse.project("simplex"), nearest.mass, atol=1e-12)


def _decodes(randomizer: TwoLevel | UnaryEncoding, people: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(4)
    channel, plug_in = randomizer.channel, people / people.sum()
    found = []
    for draw in range(DECODES):
        tally = simulate(randomizer, people, rng=rng)
        # The decoder's answer is this center; looking for a plug-in of its own takes most of its
        # time and changes nothing but the band.
        found.append(linear_estimate(channel, tally, plug_in=plug_in).center)
        if draw < 10:
            np.testing.assert_array_equal(unbiased(channel, tally).mass, found[-1])
    return np.array(found)


SHARES = np.array([0.4, 0.0, 0.25, 0.05, 0.2, 0.1])


@pytest.mark.parametrize(
    "randomizer",
    [
        RandomizedResponse(Categories(6), 1),
        OptimizedUnaryEncoding(Categories(6), 1),
        SquareWave(Interval(0, 1, bins=6), 2, width=0.15, grid=18),
    ],
    ids=["response", "bits", "fine grid"],
)
def test_unbiased_with_its_exact_covariance(randomizer: TwoLevel | UnaryEncoding) -> None:
    """About the people who reported: the mean of 1,200 decodes, and their covariance."""
    people = np.rint(20_000 * SHARES).astype(int)
    found = _decodes(randomizer, people)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)
    # The covariance by hand: y = counts / n, estimate = A y with A M = 1 on contrasts.
    (block,) = randomizer.channel.blocks
    matrix = dense(block.operator)
    uniform = np.full(6, 1 / 6)
    weights = np.diag(1 / np.diag(block.covariance(uniform).dense()))
    contrasts = np.linalg.svd(np.ones((1, 6)))[2][1:].T
    reduced = matrix @ contrasts
    inverse = contrasts @ np.linalg.solve(reduced.T @ weights @ reduced, reduced.T @ weights)
    law = (
        block.covariance(SHARES).dense()
        - matrix @ (np.diag(SHARES) - np.outer(SHARES, SHARES)) @ matrix.T
    )
    covariance = inverse @ law @ inverse.T / 20_000
    assert accepts(moments_tail(found, SHARES, covariance))
    assert not accepts(moments_tail(found, SHARES, 0.7 * covariance))
    bias = np.array([1.0, -1, 0, 0, 0, 0]) * math.sqrt(covariance[0, 0]) / 4
    assert not accepts(moments_tail(found + bias, SHARES, covariance))
    # In the sampling of a population the covariance of the shares comes on top.
    sampled_law = inverse @ block.covariance(SHARES).dense() @ inverse.T / 20_000
    assert np.trace(sampled_law) > np.trace(covariance)


LARGE, PEOPLE = 100, 100_000


@pytest.mark.parametrize(
    ("protocol", "approximate"),
    [
        # Equations 4 and 5 of the convolution paper, for a symbol that hardly anybody holds.
        (RandomizedResponse, lambda e, d: (e + d - 2) / (PEOPLE * (e - 1) ** 2)),
        pytest.param(
            OptimizedUnaryEncoding,
            lambda e, d: 4 * e / (PEOPLE * (e - 1) ** 2),
            marks=pytest.mark.soak,
        ),
    ],
)
def test_variance_formulas_of_the_convolution_paper(
    protocol: type, approximate: Callable[[float, int], float]
) -> None:
    """Equations 1 to 5, within 3% from 1,200 decodes; the known total takes 1 / d of it away."""
    randomizer = protocol(Categories(LARGE), 1)
    p, q = (randomizer.channel.blocks[0].operator.kernel[i] for i in (0, 1))
    people = np.zeros(LARGE, dtype=int)
    people[:4] = 70_000, 20_000, 5_000, 5_000
    shares = people / PEOPLE
    rng, raw, decoded = np.random.default_rng(5), [], []
    for _ in range(DECODES):
        tally = simulate(randomizer, people, rng=rng)
        raw.append((tally.blocks[0] / PEOPLE - q) / (p - q))  # equation 1
        decoded.append(unbiased(randomizer.channel, tally).mass)
    estimates = np.array(raw)
    exact = q * (1 - q) / (PEOPLE * (p - q) ** 2)
    exact = exact + shares * (1 - p - q) / (PEOPLE * (p - q))  # equation 2
    variance = ((estimates - shares) ** 2).mean(axis=0)
    # 96 empty symbols: a standard error of 0.4%. One symbol alone: 4.1%.
    assert variance[4:].mean() == pytest.approx(exact[4:].mean(), rel=0.03)
    assert exact[4:].mean() == pytest.approx(approximate(math.e, LARGE), rel=0.03)
    assert variance[0] == pytest.approx(exact[0], rel=0.22)
    if protocol is RandomizedResponse:
        # One output a person: estimates sum to one without being told.
        np.testing.assert_allclose(estimates.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(np.array(decoded), estimates, atol=1e-13)
    else:
        assert estimates.sum(axis=1).std() > 0.05
        known = ((np.array(decoded) - shares) ** 2).mean(axis=0)[4:].mean()
        assert known == pytest.approx((1 - 1 / LARGE) * exact[4:].mean(), rel=0.03)


def test_real_reports_are_decoded_without_bias() -> None:
    """End to end, no simulator: 400,000 people, each estimate within 7.1 standard errors."""
    randomizer = OptimizedUnaryEncoding(Categories(6), 1)
    people = np.rint(400_000 * SHARES).astype(int)
    values = np.repeat(np.arange(6), people)
    tally = randomizer.tally(randomizer.randomize(values, rng=seeded(6)))
    result = unbiased(randomizer.channel, tally)
    assert result.uncertainty is not None
    deviation = np.sqrt(result.uncertainty.covariance("empirical").variance())
    assert (np.abs(result.mass - SHARES) < 7.1 * deviation).all() and deviation.max() < 0.01


def test_a_channel_that_mixes_up_symbols_cannot_be_inverted() -> None:
    """A window of a third of the circle: a wave of three periods leaves no trace in the reports."""
    domain = Interval(0, 1, bins=9, circular=True)
    window = circular_window(9, width=3, inside=0.2, outside=0.4 / 6)
    channel = Channel(domain, [Block(window, Multinomial())], "lost")
    tally = CountTally([np.arange(100, 109)], [936], "lost")
    with pytest.raises(
        UnsupportedChannelError, match="different distributions give the same reports"
    ):
        unbiased(channel, tally)
    # A randomizer does not choose such a window: its length shares no divisor with the circle.
    wave = SquareWave(domain, 2, width=0.12)
    assert math.gcd(wave._near, 9) == 1
    tally = simulate(wave, np.full(9, 1000), rng=7)
    assert unbiased(wave.channel, tally).reports == 9000


def test_too_many_symbols_for_a_matrix() -> None:
    wave = SquareWave(Interval(0, 1, bins=2049, outside="clip"), 4)
    tally = simulate(wave, np.full(2049, 100), rng=8)
    with pytest.raises(UnsupportedChannelError, match="limited to 2048 bins"):
        unbiased(wave.channel, tally)
    bits = OptimizedUnaryEncoding(Interval(0, 1, bins=2049, outside="clip"), 4)
    tally = simulate(bits, np.full(2049, 1000), rng=8)
    assert unbiased(bits.channel, tally).confidence_band() is not None


def test_not_settling_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from lapwing.decoders.unbiased import least_squares

    original = least_squares.projected_gradient
    monkeypatch.setattr(
        least_squares, "projected_gradient", lambda *a, **k: original(*a, **{**k, "limit": 2})
    )
    wave = SquareWave(TWELVE, 1)
    tally = simulate(wave, np.rint(20_000 * truth(12)).astype(int), rng=9)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        result = LeastSquares().decode(wave.channel, tally)
    assert not result.provenance["converged"]
