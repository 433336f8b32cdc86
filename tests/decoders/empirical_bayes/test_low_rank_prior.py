"""The spectral prior above 512 symbols: as good as the whole one, atoms found in their places."""

import numpy as np
import pytest

from lapwing import (
    Distribution,
    Interval,
    MultiscaleWave,
    RandomizedResponse,
    SpectralPrior,
    SquareWave,
    SubsetSelection,
    simulate,
)
from lapwing.decoders.empirical_bayes import spectral_prior
from lapwing.distances import kolmogorov_smirnov, wasserstein
from lapwing.papers.square_wave import Hierarchical
from lapwing.papers.wavelet import Wavelet
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.results.symbols import missing_share
from tests.decoders.band_choices import KINDS

SIZE = 640
DOMAIN = Interval(0, 1, bins=SIZE, outside="clip")
SPIKES = {3: 0.2, 200: 0.15, 413: 0.05}


def _smooth(size: int = SIZE) -> np.ndarray:
    place = (np.arange(size) + 0.5) / size
    mass = place**4 * (1 - place)
    return mass / mass.sum()


def _spiky() -> np.ndarray:
    mass = (1 - sum(SPIKES.values())) * _smooth()
    mass[list(SPIKES)] += list(SPIKES.values())
    return mass


def _people(mass: np.ndarray, number: int) -> np.ndarray:
    return np.random.default_rng(11).multinomial(number, mass)


def _errors(answer: np.ndarray, people: np.ndarray) -> tuple[float, float]:
    gap = np.abs(np.cumsum(answer) - np.cumsum(people) / people.sum())
    return float(gap.mean()), float(gap.max())


@pytest.mark.parametrize(
    "spikes",
    [
        pytest.param({}, id="smooth", marks=pytest.mark.soak),
        pytest.param({3: 0.2, 100: 0.15, 206: 0.05}, id="spiky"),
    ],
)
def test_it_is_as_good_as_matrices_of_all_symbols(
    spikes: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 480  # cells are blocks of two
    randomizer = MultiscaleWave(Interval(0, 1, bins=size, outside="clip"), 2)
    truth = (1 - sum(spikes.values())) * _smooth(size)
    truth[list(spikes)] += list(spikes.values())
    people = _people(truth, 200_000)
    errors = []
    for seed in range(2):
        tally = simulate(randomizer, people, rng=seed)
        for most in (size - 1, size):
            monkeypatch.setattr(spectral_prior, "DENSE", most)
            mass = SpectralPrior(band=False).decode(randomizer.channel, tally).mass
            errors.append(_errors(mass, people))
    reduced, whole = np.mean(errors[::2], axis=0), np.mean(errors[1::2], axis=0)
    assert reduced[0] < 1.1 * whole[0]
    assert reduced[1] < 1.15 * whole[1]


def test_atoms_are_found_in_their_bins() -> None:
    randomizer = MultiscaleWave(DOMAIN, 4)
    people = _people(_spiky(), 400_000)
    tally = simulate(randomizer, people, rng=1)
    result = SpectralPrior(band=False).decode(randomizer.channel, tally)
    for place, share in SPIKES.items():
        assert result.mass[place] == pytest.approx(share, rel=0.2)
    flat = result.mass.copy()
    # The same answer with its atoms spread over ten bins must not pass for it.
    for place in SPIKES:
        around = slice(max(place - 5, 0), place + 5)
        flat[around] = flat[around].mean()
    exact = Distribution.of_counts(people, DOMAIN)
    assert kolmogorov_smirnov(result, exact) < 0.02
    assert kolmogorov_smirnov(Distribution(DOMAIN, flat), exact) > 0.05


@pytest.mark.parametrize(
    "make",
    [
        SquareWave,
        OptimizedUnaryEncoding,
        SubsetSelection,
        Hierarchical,
        Wavelet,
    ],
    ids=lambda made: made.name,
)
def test_it_decodes_any_channel(make: type) -> None:
    randomizer = make(DOMAIN, 4)
    people = _people(_smooth(), 1_000_000)
    tally = simulate(randomizer, people, rng=2)
    result = SpectralPrior().decode(randomizer.channel, tally)
    exact = Distribution.of_counts(people, DOMAIN)
    assert wasserstein(result, exact) < 0.01
    assert kolmogorov_smirnov(result, exact) < 0.04
    assert result.confidence_band() is not None


def test_declared_atoms_and_the_missing_symbol_stand_apart() -> None:
    domain = Interval(0, 1, bins=SIZE, atoms=(0, 0.5), missing="bin", outside="clip")
    mass = np.zeros(domain.size)
    mass[: domain.left.size] = (domain.right - domain.left) * 0.5
    mass[domain.index([0.0, 0.5])] = [0.25, 0.15]
    mass[-1] = 0.1
    people = _people(mass / mass.sum(), 400_000)
    randomizer = MultiscaleWave(domain, 3)
    result = SpectralPrior().decode(randomizer.channel, simulate(randomizer, people, rng=3))
    assert result.share(0.0) == pytest.approx(0.25, abs=0.03)
    assert result.share(0.5) == pytest.approx(0.15, abs=0.03)
    assert missing_share(result) == pytest.approx(0.1, abs=0.03)
    band = result.confidence_band()
    assert band is not None
    assert np.isfinite(band.low).all()


def test_on_a_circle_it_turns_with_the_data() -> None:
    domain = Interval(0, 24, bins=SIZE, circular=True)
    randomizer = SquareWave(domain, 2)
    tally = simulate(randomizer, _people(_smooth(), 100_000), rng=2)
    decoder = SpectralPrior(band=False)
    one = decoder.decode(randomizer.channel, tally).mass
    # Blocks begin at multiples of 16 symbols, so a turn by 64 moves them onto themselves.
    turned = CountTally([np.roll(tally.blocks[0], 64)], tally.reports, tally.fingerprint)
    two = decoder.decode(randomizer.channel, turned).mass
    assert np.allclose(np.roll(one, 64), two, atol=1e-6)


@pytest.mark.parametrize("places", [[SIZE - 1], [5, 300]])
def test_few_or_like_people_give_a_distribution(places: list[int]) -> None:
    randomizer = MultiscaleWave(DOMAIN, 1)
    for each in (1, 100_000):
        people = np.zeros(SIZE, dtype=np.int64)
        people[places] = each
        tally = simulate(randomizer, people, rng=1)
        result = SpectralPrior().decode(randomizer.channel, tally)
        assert np.isfinite(result.mass).all()
        for kind in KINDS:
            band = result.confidence_band(kind=kind)
            assert band is not None
            assert np.isfinite(band.low).all() and np.isfinite(band.high).all()
            assert each > 1 or (band.high - band.low).max() > 0.5


def test_all_people_at_declared_atoms_leave_a_flat_density() -> None:
    domain = Interval(0, 1, bins=SIZE, atoms=(0.25,), outside="clip")
    people = np.zeros(domain.size, dtype=np.int64)
    people[domain.index([0.25])] = 10**9
    randomizer = RandomizedResponse(domain, 8)
    result = SpectralPrior().decode(randomizer.channel, simulate(randomizer, people, rng=1))
    assert result.share(0.25) > 0.999
    assert np.isfinite(result.mass).all()
