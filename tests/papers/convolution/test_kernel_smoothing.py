"""The smoothing baselines: scipy's Gaussian filter, (1, 2, 1) / 4, and what happens at the ends."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from lapwing import (
    Categories,
    Distribution,
    Integers,
    Interval,
    LeastSquares,
    RandomizedResponse,
    SquareWave,
    simulate,
)
from lapwing.errors import TallyError, UnsupportedChannelError
from lapwing.linear.projections import simplex
from lapwing.papers.convolution.wiener import (
    BinomialSmoothing,
    GaussianSmoothing,
    noise_spectrum,
)
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.tallies import CountTally
from tests.signed_decoder import signed_estimate, unbiased

LINE = Interval(0, 1, bins=40, outside="clip")
CIRCLE = Interval(0, 1, bins=40, circular=True)
PEOPLE = np.round(2000 * np.exp(-(((np.arange(40) - 30) / 6.0) ** 2))).astype(np.int64)

RANDOMIZERS: dict[str, Randomizer] = {
    "response": RandomizedResponse(LINE, 3),
    "bits": OptimizedUnaryEncoding(LINE, 3),
    "bits on a circle": OptimizedUnaryEncoding(CIRCLE, 3),
    "wave": SquareWave(LINE, 3, width=0.04),
    "wave on a circle": SquareWave(CIRCLE, 3, width=0.04),
}
each = pytest.mark.parametrize("name", list(RANDOMIZERS))


def _tally(name: str) -> CountTally:
    return simulate(RANDOMIZERS[name], PEOPLE, rng=1)


def _unbiased(name: str) -> np.ndarray:
    estimate = unbiased(RANDOMIZERS[name].channel, _tally(name))
    return np.array(estimate.mass)


def _signed(decoder: GaussianSmoothing | BinomialSmoothing, name: str) -> np.ndarray:
    return np.array(signed_estimate(decoder, RANDOMIZERS[name].channel, _tally(name)).mass)


def _reflected(index: int, size: int) -> int:
    """Return where an index beyond an end lies: d c b a | a b c d | d c b a."""
    index %= 2 * size
    return index if index < size else 2 * size - 1 - index


@each
@pytest.mark.parametrize("sigma", [1, 3])
def test_gaussian_is_scipys_with_the_stated_ends(name: str, sigma: int) -> None:
    raw = _unbiased(name)
    ours = _signed(GaussianSmoothing(sigma=sigma), name)
    circular = RANDOMIZERS[name].domain.circular
    mode = "wrap" if circular else "reflect"
    np.testing.assert_allclose(ours, gaussian_filter1d(raw, sigma, mode=mode), atol=1e-15)
    # Slowly, by the formula.
    reach = 4 * sigma
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    weights /= weights.sum()
    slow = np.zeros(40)
    for i in range(40):
        for step, weight in zip(range(-reach, reach + 1), weights, strict=True):
            place = (i + step) % 40 if circular else _reflected(i + step, 40)
            slow[i] += weight * raw[place]
    np.testing.assert_allclose(ours, slow, atol=1e-14)
    assert ours.sum() == pytest.approx(1, abs=1e-12)
    # The other ends give another answer: data that reach an end would tell.
    other = gaussian_filter1d(raw, sigma, mode="reflect" if circular else "wrap")
    assert np.abs(ours - other).max() > 1e-3


@each
def test_binomial_is_one_two_one_with_the_stated_ends(name: str) -> None:
    raw = _unbiased(name)
    expected = np.zeros(40)
    for i in range(40):
        left, right = i - 1, i + 1
        if RANDOMIZERS[name].domain.circular:
            left, right = left % 40, right % 40
        else:
            left, right = max(left, 0), min(right, 39)
        expected[i] = raw[i] / 2 + (raw[left] + raw[right]) / 4
    np.testing.assert_allclose(_signed(BinomialSmoothing(), name), expected, atol=1e-14)
    twice = _signed(BinomialSmoothing(rounds=2), name)
    assert twice.sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(np.diff(twice)).sum() < np.abs(np.diff(expected)).sum()


@pytest.mark.parametrize("name", [name for name in RANDOMIZERS if name != "wave"])
@pytest.mark.parametrize("sigma", [1, 3])
def test_guided_wiener_filter_is_the_slow_one(name: str, sigma: int) -> None:
    """GF1-DW and GF3-DW: P_f is the spectrum of the Gaussian's answer."""
    tally = _tally(name)
    (block,) = RANDOMIZERS[name].channel.blocks
    signal = np.abs(np.fft.fft(_signed(GaussianSmoothing(sigma=sigma), name))) ** 2
    noise = noise_spectrum(block, tally.total)
    H = np.fft.fft(block.operator.kernel)
    W = np.conj(H) / (np.abs(H) ** 2 + noise / signal)
    F = W * np.fft.fft(tally.blocks[0] / tally.total)
    F[0] = 1
    ours = _signed(GaussianSmoothing(sigma=sigma, wiener=True), name)
    np.testing.assert_allclose(ours, np.fft.ifft(F).real, atol=1e-14)


def test_smoothing_helps_on_a_smooth_column_and_guiding_helps_more_where_noise_is_low() -> None:
    """Appendix C: GF3-DW keeps the details that GF3 loses."""
    domain = Interval(0, 1, bins=200, circular=True)
    angle = 2 * np.pi * np.arange(200) / 200
    people = np.round(5000 * (1 + 0.5 * np.cos(angle) + 0.2 * np.cos(15 * angle))).astype(np.int64)
    held = people / people.sum()
    randomizer = OptimizedUnaryEncoding(domain, 4)
    errors: dict[str, list[float]] = {"raw": [], "GF3": [], "GF3-DW": []}
    for seed in range(20):
        tally = simulate(randomizer, people, rng=seed)
        for name, decoder in (
            ("raw", LeastSquares()),
            ("GF3", GaussianSmoothing(sigma=3)),
            ("GF3-DW", GaussianSmoothing(sigma=3, wiener=True)),
        ):
            mass = signed_estimate(decoder, randomizer.channel, tally).mass
            errors[name].append(float(np.mean((mass - held) ** 2)))
    raw, gaussian, guided = (np.mean(errors[name]) for name in ("raw", "GF3", "GF3-DW"))
    assert guided < 0.5 * gaussian and guided < 0.5 * raw


@each
@pytest.mark.parametrize(
    "decoder", [GaussianSmoothing(sigma=1), GaussianSmoothing(), BinomialSmoothing()]
)
def test_norm_sub_makes_a_distribution(
    name: str, decoder: GaussianSmoothing | BinomialSmoothing
) -> None:
    channel = RANDOMIZERS[name].channel
    result = decoder.decode(channel, _tally(name))
    assert isinstance(result, Distribution) and result.mass.min() >= 0
    np.testing.assert_allclose(result.mass, simplex(_signed(decoder, name)), atol=1e-15)
    assert result.confidence_band() is not None and result.guarantee == channel.guarantee
    assert Distribution.from_json(result.to_json()).provenance["class"] == decoder.name


def test_atoms_and_whole_numbers() -> None:
    """Binomial smoothing leaves an atom alone; the Gaussian refuses what is not a plain row."""
    domain = Interval(0, 1, bins=8, atoms=(0.5,))
    randomizer = RandomizedResponse(domain, 4)
    tally = simulate(randomizer, np.full(9, 1000), rng=1)
    raw = unbiased(randomizer.channel, tally).mass
    smooth = signed_estimate(BinomialSmoothing(), randomizer.channel, tally).mass
    atom = int(domain.index([0.5])[0])
    assert smooth[atom] == raw[atom] and np.abs(smooth - raw).max() > 1e-5
    with pytest.raises(UnsupportedChannelError, match="no atoms and no missing bin"):
        GaussianSmoothing().decode(randomizer.channel, tally)
    ages = RandomizedResponse(Integers(17, 90, outside="clip"), 3)
    assert GaussianSmoothing(sigma=2).decode(
        ages.channel, simulate(ages, np.arange(74), rng=1)
    ).mass.sum() == pytest.approx(1)


def test_refusals() -> None:
    labels = RandomizedResponse(Categories(6), 3)
    tally = simulate(labels, np.full(6, 100), rng=1)
    for decoder in (GaussianSmoothing(), BinomialSmoothing()):
        with pytest.raises(UnsupportedChannelError, match="labels have no neighbors"):
            decoder.decode(labels.channel, tally)
    wave = RANDOMIZERS["wave"]
    with pytest.raises(UnsupportedChannelError, match="one circulant block"):
        GaussianSmoothing(wiener=True).decode(wave.channel, _tally("wave"))
    empty = CountTally([np.zeros(40, dtype=np.int64)], [0], RANDOMIZERS["bits"].fingerprint)
    for decoder in (GaussianSmoothing(), BinomialSmoothing()):
        with pytest.raises(TallyError, match="nothing to decode"):
            decoder.decode(RANDOMIZERS["bits"].channel, empty)
