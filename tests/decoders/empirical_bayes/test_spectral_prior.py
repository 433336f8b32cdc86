"""The spectral prior: what it finds, what it refuses, and that its bands are honest."""

import warnings

import numpy as np
import pytest

from lapwing import (
    Categories,
    Distribution,
    ExpectationMaximization,
    Integers,
    Interval,
    RandomizedResponse,
    SquareWave,
    simulate,
)
from lapwing.decoders.empirical_bayes.spectral_prior import SpectralPrior
from lapwing.distances import wasserstein
from lapwing.errors import UnsupportedChannelError, WeakAnswerWarning
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.results.symbols import missing_share

SIZE = 64
DOMAIN = Interval(0, 1, bins=SIZE, outside="clip")
PLACE = (np.arange(SIZE) + 0.5) / SIZE


def _smooth() -> np.ndarray:
    mass = PLACE**4 * (1 - PLACE)
    return mass / mass.sum()


def _spiky() -> np.ndarray:
    mass = 0.6 * _smooth()
    mass[[0, 20, 41]] += [0.2, 0.15, 0.05]
    return mass / mass.sum()


def _people(mass: np.ndarray, number: int) -> np.ndarray:
    return np.random.default_rng(11).multinomial(number, mass)


@pytest.mark.parametrize("truth", [_smooth(), _spiky()], ids=["smooth", "spiky"])
@pytest.mark.parametrize(
    "make", [MultiscaleWave, SquareWave, OptimizedUnaryEncoding], ids=lambda made: made.name
)
def test_with_ever_more_reports_it_finds_the_truth(make: type, truth: np.ndarray) -> None:
    channel = make(DOMAIN, 4).channel
    counts = [
        np.rint(1e12 * block.share * block.mean(truth)).astype(np.int64) for block in channel.blocks
    ]
    reports = [round(1e12 * block.share) for block in channel.blocks]
    for number, (block, part) in enumerate(zip(channel.blocks, counts, strict=True)):
        sums = block.operator.rmatvec(np.ones(block.outputs))
        if np.ptp(sums) < 1e-9:
            # Laws that fix the total of a report: put what rounding left on the first output.
            part[0] += round(reports[number] * float(sums[0])) - int(part.sum())
    tally = CountTally(counts, reports, channel.fingerprint)
    mass = SpectralPrior(band=False, passes=5).decode(channel, tally).mass
    assert np.abs(np.cumsum(mass) - np.cumsum(truth)).max() < 2e-4


def test_it_beats_smoothing_on_spikes_and_does_not_lose_on_smooth_data() -> None:
    randomizer = SquareWave(DOMAIN, 2)
    ratios = []
    for truth in (_spiky(), _smooth()):
        people = _people(truth, 100_000)
        exact = Distribution.of_counts(people, DOMAIN)
        errors = []
        for seed in range(12):
            tally = simulate(randomizer, people, rng=seed)
            for decoder in (
                SpectralPrior(band=False),
                ExpectationMaximization(smoothed=True, band=False),
            ):
                errors.append(wasserstein(decoder.decode(randomizer.channel, tally), exact))
        ratios.append(sum(errors[::2]) / sum(errors[1::2]))
    assert ratios[0] < 0.6
    assert ratios[1] < 1.25


def _coverage(
    randomizer: SquareWave, truth: np.ndarray, repeats: int, narrow: float
) -> tuple[float, float, float]:
    """Return how often both bands cover, and how often a narrow pointwise one does."""
    people = _people(truth, 50_000)
    heights = np.cumsum(people) / people.sum()
    inner = (heights > 0.02) & (heights < 0.98)
    found = []
    for seed in range(repeats):
        tally = simulate(randomizer, people, rng=seed)
        result = SpectralPrior().decode(randomizer.channel, tally)
        inside = []
        for kind, part in (("pointwise", 1.0), ("simultaneous", 1.0), ("pointwise", narrow)):
            band = result.confidence_band(0.95, kind=kind)
            assert band is not None
            middle, reach = (band.low + band.high) / 2, part * (band.high - band.low) / 2
            inside.append((np.abs(heights - middle) <= reach + 1e-12)[inner])
        found.append((inside[0].mean(), inside[1].all(), inside[2].mean()))
    pointwise, simultaneous, narrower = np.mean(found, axis=0)
    return float(pointwise), float(simultaneous), float(narrower)


@pytest.mark.parametrize(
    ("make", "truth"),
    [
        pytest.param(MultiscaleWave, _spiky(), id="multiscale-wave, spiky"),
        pytest.param(SquareWave, _smooth(), id="square-wave, smooth"),
        pytest.param(
            MultiscaleWave, _smooth(), id="multiscale-wave, smooth", marks=pytest.mark.soak
        ),
        pytest.param(SquareWave, _spiky(), id="square-wave, spiky", marks=pytest.mark.soak),
    ],
)
def test_its_bands_cover_and_narrow_ones_do_not(make: type, truth: np.ndarray) -> None:
    pointwise, simultaneous, narrower = _coverage(make(DOMAIN, 1), truth, 40, narrow=0.4)
    assert pointwise > 0.9
    assert simultaneous > 0.85
    assert narrower < 0.85


def test_atoms_and_a_missing_bin_are_estimated_apart() -> None:
    domain = Interval(0, 1, bins=32, atoms=(0, 0.5), missing="bin", outside="clip")
    mass = np.full(domain.size, 0.5 / 32)
    mass[domain.left.size :] = 0.1
    mass[domain.index([0.0, 0.5])] = [0.25, 0.15]
    people = _people(mass / mass.sum(), 400_000)
    randomizer = SquareWave(domain, 3)
    result = SpectralPrior().decode(randomizer.channel, simulate(randomizer, people, rng=3))
    assert result.share(0.0) == pytest.approx(0.25, abs=0.03)
    assert result.share(0.5) == pytest.approx(0.15, abs=0.03)
    assert missing_share(result) == pytest.approx(0.1, abs=0.03)
    assert result.confidence_band() is not None


def test_on_a_circle_it_turns_with_the_data() -> None:
    domain = Interval(0, 24, bins=SIZE, circular=True)
    randomizer = SquareWave(domain, 2)
    people = _people(_smooth(), 100_000)
    tally = simulate(randomizer, people, rng=2)
    turned = CountTally([np.roll(tally.blocks[0], 10)], tally.reports, tally.fingerprint)
    decoder = SpectralPrior(band=False)
    one = decoder.decode(randomizer.channel, tally).mass
    two = decoder.decode(randomizer.channel, turned).mass
    assert np.allclose(np.roll(one, 10), two, atol=1e-6)


@pytest.mark.parametrize("people", [[1] + [0] * 7, [0] * 7 + [5], [1] * 8])
def test_a_handful_of_reports_gives_a_distribution(people: list[int]) -> None:
    randomizer = MultiscaleWave(Integers(1, 8), 1)
    tally = simulate(randomizer, people, rng=1)
    with pytest.warns(WeakAnswerWarning, match="say little"):
        result = SpectralPrior().decode(randomizer.channel, tally)
    assert np.isfinite(result.mass).all()
    band = result.confidence_band()
    assert band is not None
    assert np.isfinite(band.low).all()
    assert band.high.max() - band.low.min() > 0.5


def test_many_reports_are_not_called_weak() -> None:
    randomizer = MultiscaleWave(Integers(1, 8), 1)
    tally = simulate(randomizer, [10_000] * 8, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SpectralPrior().decode(randomizer.channel, tally)


def test_what_it_cannot_decode_is_refused() -> None:
    labels = RandomizedResponse(Categories(5), 1)
    with pytest.raises(UnsupportedChannelError, match="order"):
        SpectralPrior().decode(labels.channel, simulate(labels, [5] * 5, rng=1))
    many = RandomizedResponse(Categories(600), 1)
    with pytest.raises(UnsupportedChannelError, match="order"):
        SpectralPrior().decode(many.channel, simulate(many, [5] * 600, rng=1))
    large = SquareWave(Interval(0, 1, bins=2**16 + 1), 1)
    people = np.ones(2**16 + 1, dtype=np.int64)
    with pytest.raises(UnsupportedChannelError, match="65536 bins"):
        SpectralPrior().decode(large.channel, simulate(large, people, rng=1))
