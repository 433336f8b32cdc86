"""The noise spectrum of the Wiener decoders, from many tallies, and where equation 20 errs."""

import numpy as np
from scipy import stats

from lapwing import Categories, simulate
from lapwing.linear.operators.banded import Circulant
from lapwing.papers.convolution.wiener import noise_spectrum
from lapwing.protocol import Block
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.false_alarms import DECODES, accepts
from tests.papers.convolution.wiener_scripts import ALL, CIRCULAR, PURE, SIZE, each, equation_20


def _measured(randomizer: Randomizer, people: np.ndarray, runs: int) -> np.ndarray:
    """Return |N|^2 of many tallies of the same people: float64 [runs, size]."""
    rng = np.random.default_rng(3)
    operator = randomizer.channel.blocks[0].operator
    mean = operator.matvec(people / people.sum())
    counts = np.array([simulate(randomizer, people, rng=rng).blocks[0] for _ in range(runs)])
    return np.asarray(np.abs(np.fft.fft(counts / people.sum() - mean, axis=1)) ** 2)


def _spectrum_tail(measured: np.ndarray, spectrum: np.ndarray) -> float:
    """Return the tail of the worst frequency: a sum of |N|^2 is gamma, two degrees a draw."""
    runs, size = measured.shape
    tails = []
    for k in range(1, size // 2 + 1):
        freedom = runs if 2 * k == size else 2 * runs
        statistic = measured[:, k].sum() / spectrum[k] * freedom / runs
        tails += [stats.chi2.cdf(statistic, freedom), stats.chi2.sf(statistic, freedom)]
    return min(1.0, len(tails) * min(tails))


@each
def test_noise_has_the_analytic_spectrum_whatever_people_hold(name: str) -> None:
    randomizer = ALL[name]
    spike = np.full(SIZE, 100)
    spike[17] = 5_000
    slope = 10 * np.arange(SIZE)
    for people in (spike, slope):
        total = int(people.sum())
        spectrum = noise_spectrum(randomizer.channel.blocks[0], total)
        # 500 draws tell a factor of 1.6.
        measured = _measured(randomizer, people, DECODES // 4)
        assert accepts(_spectrum_tail(measured, spectrum))
        assert not accepts(_spectrum_tail(measured, 1.6 * spectrum))
        np.testing.assert_allclose(measured[:, 1:].mean(), spectrum[1:].mean(), rtol=0.05)
        if name in ("response", *CIRCULAR):
            # One output a report: the counts add up, and frequency 0 has no noise at all.
            assert measured[:, 0].max() < 1e-25 and spectrum[0] < 1e-18


def test_noise_of_a_circular_wave_is_not_flat() -> None:
    randomizer = CIRCULAR["square wave on a circle"]
    people = np.full(SIZE, 400)
    measured = _measured(randomizer, people, DECODES)
    spectrum = noise_spectrum(randomizer.channel.blocks[0], int(people.sum()))
    assert spectrum[1:].max() > 1.5 * spectrum[1:].min()
    flat = np.full(SIZE, spectrum[1:].mean())
    assert not accepts(_spectrum_tail(measured, flat))


def test_equation_20_holds_for_bits_and_misses_a_factor_for_response() -> None:
    for name in ("optimized bits", "response"):
        operator = PURE[name].channel.blocks[0].operator
        p, q = operator.diagonal, operator.off_diagonal
        spectrum = noise_spectrum(PURE[name].channel.blocks[0], 1000)
        factor = SIZE / (SIZE - 1) if name == "response" else 1.0
        expected = factor * equation_20(p, q, SIZE, 1000)
        np.testing.assert_allclose(spectrum[1:], expected, rtol=1e-9)


def test_noise_of_bits_through_a_circulant_block() -> None:
    """The general formula, dense inside, on a block that no randomizer of the package has."""
    kernel = np.array([0.8, 0.5, 0.1, 0.1, 0.3])
    law = OptimizedUnaryEncoding(Categories(5), 1).channel.blocks[0].law
    spectrum = noise_spectrum(Block(Circulant(kernel), law), 10)
    # Bits are independent given the value: the noise is white.
    np.testing.assert_allclose(spectrum, (kernel * (1 - kernel)).sum() / 10, rtol=1e-12)
