"""The exact linear band: its algebra, its coverage, and that too narrow bands are caught."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing import (
    Distribution,
    ExpectationMaximization,
    Interval,
    LeastSquares,
    SquareWave,
    simulate,
)
from lapwing.decoders.unbiased.linear_estimate import linear_estimate
from lapwing.errors import MismatchError, TallyError, WeakAnswerWarning
from lapwing.linear.operators.operator import dense
from lapwing.protocol import Channel
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.results.uncertainty import RANK, WHOLE, Band
from lapwing.tallies import CountTally
from lapwing.testing.decoder_contract import sampled, truth
from tests.contracts.registered_decoders import CHANNELS, mixed_channel
from tests.decoders.band_choices import TARGETS
from tests.false_alarms import (
    BROKEN_BAND_DRAWS,
    COVERAGE_DRAWS,
    COVERAGE_WINDOW,
    LEAST_SIMULTANEOUS,
)
from tests.mistaken import mistaken

every = pytest.mark.parametrize("name", CHANNELS)


def _by_hand(
    channel: Channel, tally: CountTally, mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted least squares with a total of one, and its covariance, by matrices."""
    size = channel.domain.size
    uniform = np.full(size, 1 / size)
    contrasts = np.linalg.svd(np.ones((1, size)))[2][1:].T
    blocks = list(zip(channel.blocks, tally.blocks, tally.reports, strict=True))
    information = np.zeros((size - 1, size - 1))
    score, parts = np.zeros(size - 1), []
    for block, counts, reports in blocks:
        weights = reports / np.diag(block.covariance(uniform).dense())
        reduced = dense(block.operator) @ contrasts
        residual = counts / reports - block.mean(uniform)
        information += reduced.T @ (weights[:, None] * reduced)
        score += reduced.T @ (weights * residual)
        parts.append((block, reports, reduced.T * weights))
    inverse = contrasts @ np.linalg.inv(information)
    center = uniform + inverse @ score
    covariance = np.zeros((size, size))
    for block, reports, rows in parts:
        linear = inverse @ rows
        covariance += linear @ block.covariance(mass).dense() @ linear.T / reports
    covariance -= (np.diag(mass) - np.outer(mass, mass)) / tally.total
    return center, covariance


@every
def test_center_and_covariance_by_hand(name: str) -> None:
    channel = CHANNELS[name]()
    mass = truth(channel.domain.size)
    tally = sampled(channel, mass, people=20_000, seed=1)
    estimate = linear_estimate(channel, tally, plug_in=mass)
    center, covariance = _by_hand(channel, tally, mass)
    scale = np.abs(covariance).max()
    np.testing.assert_allclose(estimate.center, center, atol=1e-10)
    sampling = (np.diag(mass) - np.outer(mass, mass)) / tally.total
    for target, exact in zip(TARGETS, (covariance, covariance + sampling), strict=True):
        kept = estimate.covariance(target).dense()
        # Columns are kept as float32, and rounded to them at once.
        np.testing.assert_allclose(kept, exact, atol=1e-6 * scale)
        if channel.domain.ordered:
            sums = np.cumsum(np.cumsum(exact, axis=0), axis=1)
            deviation = estimate.cdf_deviation(target)
            np.testing.assert_allclose(deviation**2, np.diag(sums), atol=1e-6 * sums.max())
        weights = np.zeros(channel.domain.size)
        weights[2:5] = 1
        by_hand = float(np.sqrt(weights @ exact @ weights))
        assert estimate.deviation(weights, target) == pytest.approx(by_hand, rel=1e-4)


def test_a_large_channel_keeps_its_strongest_errors_and_exact_variances() -> None:
    wave = SquareWave(Interval(0, 1, bins=WHOLE + 8, outside="clip"), 2)
    mass = truth(WHOLE + 8)
    tally = sampled(wave.channel, mass, people=10**7, seed=1)
    estimate = linear_estimate(wave.channel, tally, plug_in=mass)
    assert estimate.noise.factor.shape == (WHOLE + 8, RANK)
    assert estimate.remainder.max() > 0
    _, covariance = _by_hand(wave.channel, tally, mass)
    sums = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    variance = estimate.cdf_deviation("empirical") ** 2
    np.testing.assert_allclose(variance, np.diag(sums), rtol=1e-5, atol=1e-6 * sums.max())


@every
def test_without_a_plug_in_it_finds_its_own(name: str) -> None:
    channel = CHANNELS[name]()
    mass = truth(channel.domain.size)
    tally = sampled(channel, mass, people=200_000, seed=2)
    own, given = linear_estimate(channel, tally), linear_estimate(channel, tally, plug_in=mass)
    np.testing.assert_array_equal(own.center, given.center)
    np.testing.assert_allclose(
        own.cdf_deviation("empirical"), given.cdf_deviation("empirical"), rtol=0.05, atol=1e-6
    )
    assert own.plug_in.min() >= 0 and own.plug_in.sum() == pytest.approx(1)


def test_a_group_without_reports_is_left_out() -> None:
    channel = mixed_channel()
    tally = sampled(channel, truth(8), people=1000, seed=3)
    one = replace(
        tally, blocks=[tally.blocks[0], 0 * tally.blocks[1]], reports=[tally.reports[0], 0]
    )
    (wave, _) = channel.blocks
    alone = Channel(channel.domain, [replace(wave, share=1.0)], "mixed", channel.guarantee)
    expected = linear_estimate(alone, CountTally([one.blocks[0]], [one.reports[0]], "mixed"))
    np.testing.assert_allclose(linear_estimate(channel, one).center, expected.center, atol=1e-10)


def test_two_groups_say_more_than_one() -> None:
    channel = mixed_channel()
    tally = sampled(channel, truth(8), people=20_000, seed=4)
    both = linear_estimate(channel, tally, plug_in=truth(8)).cdf_deviation("population")[:-1]
    for index, block in enumerate(channel.blocks):
        alone = Channel(channel.domain, [replace(block, share=1.0)], "mixed", channel.guarantee)
        part = CountTally([tally.blocks[index]], [tally.reports[index]], "mixed")
        single = linear_estimate(alone, part, plug_in=truth(8)).cdf_deviation("population")[:-1]
        assert both.mean() < single.mean()


def test_next_to_no_reports_are_called_weak() -> None:
    wave = SquareWave(Interval(0, 1, bins=32, outside="clip"), 0.5)
    tally = simulate(wave, np.full(32, 1), rng=5)
    with pytest.warns(WeakAnswerWarning, match="32 reports say little"):
        linear_estimate(wave.channel, tally)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linear_estimate(wave.channel, simulate(wave, np.full(32, 10_000), rng=5))


def test_foreign_and_empty_tallies() -> None:
    wave = SquareWave(Interval(0, 1, bins=8), 1)
    tally = simulate(wave, np.full(8, 100), rng=6)
    with pytest.raises(MismatchError):
        linear_estimate(wave.channel, replace(tally, fingerprint="other"))
    with pytest.raises(TallyError):
        linear_estimate(wave.channel, replace(tally, blocks=[0 * tally.blocks[0]], reports=[0]))


# Coverage

Change = Callable[[Any], Any]


def _unchanged(result: Any) -> Any:
    return result


def coverage(
    randomizer: Any,
    decoder: Any,
    *,
    draws: int,
    target: str = "empirical",
    change: Change = _unchanged,
    seed: int = 7,
    people: int = 20_000,
) -> tuple[float, float]:
    """Return pointwise coverage, averaged over bins with .02 < F < .98, and simultaneous coverage.

    Every draw is a new sample of the population, randomized and decoded; `change` may spoil what
    was decoded.
    """
    size = randomizer.domain.size - (randomizer.domain.missing_index is not None)
    places = (np.arange(size) + 0.5) / size
    mass = places**4 * (1 - places) + 0.002
    mass = np.append(mass / mass.sum() * 0.9, 0.1) if size < randomizer.domain.size else mass
    mass /= mass.sum()
    rng = np.random.default_rng(seed)
    pointwise, simultaneous = [], []
    for _ in range(draws):
        sample = rng.multinomial(people, mass)
        result = change(decoder.decode(randomizer.channel, simulate(randomizer, sample, rng=rng)))
        held = sample if target == "empirical" else mass
        truth_curve = np.cumsum(held[:size]) / held[:size].sum()
        used = (truth_curve > 0.02) & (truth_curve < 0.98)
        inside = [
            (band.low - 1e-12 <= truth_curve) & (truth_curve <= band.high + 1e-12)
            for band in (
                result.confidence_band(0.95, kind=kind, target=target)
                for kind in ("pointwise", "simultaneous")
            )
        ]
        pointwise.append(inside[0][used].mean())
        simultaneous.append(inside[1][used].all())
    # What the number of draws was chosen by; see COVERAGE_DRAWS.
    assert change is not _unchanged or np.std(pointwise) < 0.15
    return float(np.mean(pointwise)), float(np.mean(simultaneous))


def _narrowed(factor: float) -> Change:
    def change(result: Distribution) -> Distribution:
        uncertainty = result.uncertainty
        assert uncertainty is not None
        narrow = replace(
            uncertainty,
            noise=uncertainty.noise.scaled(factor**2),
            remainder=uncertainty.remainder * factor**2,
        )
        return replace(result, uncertainty=narrow)

    return change


THIRTY_TWO = Interval(0, 1, bins=32, outside="clip")
EMS = ExpectationMaximization(smoothed=True)

QUICK = {
    "wave, EMS": (SquareWave(THIRTY_TWO, 2), EMS, "empirical"),
    "bits, least squares, population": (
        OptimizedUnaryEncoding(THIRTY_TWO, 1),
        LeastSquares(),
        "population",
    ),
}


@pytest.mark.parametrize(("randomizer", "decoder", "target"), QUICK.values(), ids=QUICK.keys())
def test_coverage(randomizer: Any, decoder: Any, target: str) -> None:
    pointwise, simultaneous = coverage(randomizer, decoder, draws=COVERAGE_DRAWS, target=target)
    assert COVERAGE_WINDOW[0] <= pointwise <= COVERAGE_WINDOW[1]
    assert simultaneous >= LEAST_SIMULTANEOUS


@pytest.mark.parametrize(("randomizer", "decoder", "target"), QUICK.values(), ids=QUICK.keys())
def test_half_the_deviation_is_caught(randomizer: Any, decoder: Any, target: str) -> None:
    pointwise, simultaneous = coverage(
        randomizer, decoder, draws=BROKEN_BAND_DRAWS, target=target, change=_narrowed(0.5)
    )
    assert pointwise < COVERAGE_WINDOW[0] - 0.1
    assert simultaneous < LEAST_SIMULTANEOUS - 0.2


def test_twice_the_deviation_is_caught() -> None:
    randomizer, decoder, target = QUICK["wave, EMS"]
    pointwise, _ = coverage(
        randomizer, decoder, draws=BROKEN_BAND_DRAWS, target=target, change=_narrowed(2)
    )
    assert pointwise > COVERAGE_WINDOW[1]


def test_a_bootstrap_around_a_smoothed_curve_is_caught() -> None:
    """Percentiles of resampled EMS curves: they vary little and are biased together."""
    randomizer = SquareWave(THIRTY_TWO, 1)
    rng = np.random.default_rng(8)
    bare = replace(EMS, band=False)

    class Resampled:
        """As much of a result as a coverage needs: the band of 30 resamples."""

        def __init__(self, result: Distribution) -> None:
            curves = []
            for _ in range(30):
                people = rng.multinomial(result.reports, result.mass)
                again = bare.decode(randomizer.channel, simulate(randomizer, people, rng=rng))
                curves.append(np.cumsum(again.mass))
            # The outermost of 30 curves at each point: a level of 1 - 2 / 31 = .935.
            self.low, self.high = np.min(curves, axis=0), np.max(curves, axis=0)

        def confidence_band(self, level: float, *, kind: str, target: str) -> Band:
            edges = THIRTY_TWO.bin_edges
            return Band(
                edges[1:],
                edges[:-1],
                self.low,
                self.high,
                level,
                kind,
                target,
                mistaken("percentiles"),
            )

    pointwise, simultaneous = coverage(
        randomizer, bare, draws=BROKEN_BAND_DRAWS // 8, change=Resampled, target="population"
    )
    assert pointwise < COVERAGE_WINDOW[0] - 0.1 and simultaneous < LEAST_SIMULTANEOUS - 0.3
