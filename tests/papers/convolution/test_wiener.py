"""The Wiener decoders against literal scripts of the paper, and the paper's errors resolved.

Fang et al. 2023 (the convolution framework), sections IV and V.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing import Distribution, Interval, LeastSquares, RandomizedResponse, SquareWave, simulate
from lapwing.errors import (
    ArgumentError,
    MismatchError,
    TallyError,
    UnsupportedChannelError,
    WeakAnswerWarning,
)
from lapwing.linear.operators.banded import circular_window
from lapwing.linear.operators.operator import dense
from lapwing.linear.projections import simplex
from lapwing.papers.convolution.wiener import (
    Method,
    Wiener,
    circulant,
    noise_spectrum,
    wiener_filter,
)
from lapwing.protocol import Block, Channel
from lapwing.protocol.channels.channel import Multinomial
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.tallies import CountTally
from tests.papers.convolution.wiener_scripts import (
    ALL,
    CIRCLE,
    CIRCULAR,
    LINE,
    PURE,
    SIZE,
    averaged,
    direct,
    each,
    each_pure,
    equation_20,
    iterative,
    signed,
    smooth_signal,
    tally_of,
    unbiased,
)
from tests.signed_decoder import signed_estimate

SCRIPTS: dict[str, tuple[Wiener, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]]] = {
    "DW": (Wiener(method="direct"), direct),
    "IIW": (Wiener(method="iterative"), lambda g, h, noise: iterative(g, h, noise, 30)),
    "IIW, 3 rounds": (
        Wiener(method="iterative", iterations=3),
        lambda g, h, noise: iterative(g, h, noise, 3),
    ),
    "IIW-G": (
        Wiener(method="iterative-from-reports"),
        lambda g, h, noise: iterative(g, h, noise, 10, start="G"),
    ),
    "AMRP": (
        Wiener(method="permuted", permutations=100, seed=7),
        lambda g, h, noise: averaged(g, h, noise, 100, 7),
    ),
}


@pytest.mark.parametrize("method", list(SCRIPTS))
@pytest.mark.parametrize("name", ["response", "optimized bits"])
def test_equals_the_literal_script_of_the_paper(name: str, method: Method) -> None:
    randomizer = PURE[name]
    channel, tally = randomizer.channel, tally_of(randomizer)
    operator = channel.blocks[0].operator
    p, q = operator.diagonal, operator.off_diagonal
    h = np.array([p] + [q] * (SIZE - 1))
    noise = np.full(SIZE, equation_20(p, q, SIZE, tally.total))
    decoder, script = SCRIPTS[method]
    expected = script(tally.blocks[0] / tally.total, h, noise)
    ours = signed(replace(decoder, noise=tuple(noise.tolist())), channel, tally)
    np.testing.assert_allclose(ours, expected, atol=1e-15)
    flat = signed(replace(decoder, noise=float(noise[0])), channel, tally)
    np.testing.assert_array_equal(flat, ours)
    if name == "optimized bits":
        # For independent bits equation 20 is the analytic spectrum itself.
        np.testing.assert_allclose(signed(decoder, channel, tally), expected, atol=1e-12)


def test_scripts_of_different_methods_differ() -> None:
    channel, tally = PURE["response"].channel, tally_of(PURE["response"])
    results = [signed(decoder, channel, tally) for decoder, _ in SCRIPTS.values()]
    for i, one in enumerate(results):
        for other in results[:i]:
            assert np.abs(one - other).max() > 1e-6


@pytest.mark.parametrize("name", list(CIRCULAR))
def test_circular_waves_follow_the_same_scripts(name: str) -> None:
    """Off pure protocols the transfer is complex or falls with the frequency."""
    randomizer = CIRCULAR[name]
    channel, tally = randomizer.channel, tally_of(randomizer)
    noise = noise_spectrum(channel.blocks[0], tally.total)
    h = dense(channel.blocks[0].operator)[:, 0]
    g = tally.blocks[0] / tally.total
    for decoder, expected in (
        (Wiener(method="direct"), direct(g, h, noise)),
        (Wiener(method="iterative"), iterative(g, h, noise, 30)),
        (Wiener(method="iterative", iterations=0), direct(g, h, noise)),
    ):
        np.testing.assert_allclose(signed(decoder, channel, tally), expected, atol=1e-14)


# Limits and fixed points.


@each
@pytest.mark.parametrize("method", ["direct", "iterative"])
def test_without_noise_the_filter_is_the_unbiased_inverse(name: str, method: Method) -> None:
    randomizer = ALL[name]
    channel, tally = randomizer.channel, tally_of(randomizer)
    ours = signed(Wiener(method=method, noise=0.0), channel, tally)
    np.testing.assert_allclose(ours, unbiased(channel, tally), atol=1e-12)
    known = Wiener(method="direct", noise=0.0, signal=(1.0,) * SIZE)
    np.testing.assert_allclose(signed(known, channel, tally), ours, atol=1e-12)
    # ... and with noise it is not.
    assert np.abs(signed(Wiener(method="direct"), channel, tally) - ours).max() > 1e-6


@each_pure
def test_without_noise_it_is_unconstrained_least_squares(name: str) -> None:
    channel, tally = PURE[name].channel, tally_of(PURE[name])
    least = signed_estimate(LeastSquares(), channel, tally)
    ours = signed(Wiener(method="direct", noise=0.0), channel, tally)
    np.testing.assert_allclose(ours, least.mass, atol=1e-12)


def test_gain_lies_between_zero_and_one() -> None:
    rng = np.random.default_rng(0)
    raw = rng.normal(size=5000) + 1j * rng.normal(size=5000)
    gain, noise, power = np.exp(rng.normal(scale=20, size=(3, 5000)))
    for wrong in (slice(1, 100), slice(50, 150), slice(100, 200)):
        gain[wrong] = 0.0 if wrong.start == 1 else gain[wrong]
        noise[wrong] = 0.0 if wrong.start == 50 else noise[wrong]
        power[wrong] = 0.0 if wrong.start == 100 else power[wrong]
    weight = wiener_filter(raw, gain, noise, power)[1:] / raw[1:]
    assert np.isfinite(weight).all() and np.abs(weight.imag).max() < 1e-12
    assert weight.real.min() >= 0 and weight.real.max() <= 1 + 1e-15
    # Where all three are positive it is the printed filter.
    used = slice(200, 5000)
    printed = 1 / (1 + noise[used] / (gain[used] * power[used]))
    np.testing.assert_allclose(weight.real[199:], printed, rtol=1e-12)


@each
@pytest.mark.parametrize("method", ["direct", "iterative"])
def test_decoders_only_shrink_frequencies(name: str, method: Method) -> None:
    channel, tally = ALL[name].channel, tally_of(ALL[name])
    ours = np.fft.fft(signed(Wiener(method=method), channel, tally))
    ratio = ours[1:] / np.fft.fft(unbiased(channel, tally))[1:]
    assert np.abs(ratio.imag).max() < 1e-9
    assert ratio.real.min() > -1e-9 and ratio.real.max() < 1 + 1e-9


@pytest.mark.parametrize("name", ["response", "optimized bits", "square wave on a circle"])
@pytest.mark.parametrize("method", ["iterative", "iterative-from-reports"])
def test_many_iterations_end_at_the_fixed_point(name: str, method: Method) -> None:
    """P_f tends to max(|G|^2 - Pn, 0) / |H|^2, so F to max(1 - Pn / |G|^2, 0) G / H."""
    channel, tally = ALL[name].channel, tally_of(ALL[name])
    noise = noise_spectrum(channel.blocks[0], tally.total)
    observed = np.abs(np.fft.fft(tally.blocks[0] / tally.total)) ** 2
    raw = np.fft.fft(unbiased(channel, tally))
    limit = np.maximum(1 - noise / observed, 0) * raw
    ours = np.fft.fft(signed(Wiener(method=method, iterations=20_000), channel, tally))
    # From a low start, a frequency that the channel nearly hides is approached very slowly.
    gain = np.abs(np.fft.fft(channel.blocks[0].operator.kernel)) ** 2
    above = (observed[1:] > 1.3 * noise[1:]) & ((gain[1:] > 0.01) | (method == "iterative"))
    assert above.sum() >= 4
    np.testing.assert_allclose(ours[1:][above], limit[1:][above], rtol=1e-9)
    # Below the noise only 0 is stable, and it is approached like 1 / rounds.
    below = observed[1:] < noise[1:] / 1.3
    assert below.sum() >= 4
    assert np.abs(ours[1:][below] / raw[1:][below]).max() < 2.5e-3
    if method == "iterative":
        early = np.fft.fft(signed(Wiener(iterations=500), channel, tally))
        assert np.abs(early[1:][below]).max() > 5 * np.abs(ours[1:][below]).max()


def test_without_the_correction_the_iteration_ends_elsewhere() -> None:
    channel, tally = PURE["response"].channel, tally_of(PURE["response"])
    operator = channel.blocks[0].operator
    h, g = np.asarray(operator.kernel), tally.blocks[0] / tally.total
    noise = noise_spectrum(channel.blocks[0], tally.total)
    right = iterative(g, h, noise, 3000)
    wrong = iterative(g, h, noise, 3000, corrected=False)
    ours = signed(Wiener(method="iterative", iterations=3000), channel, tally)
    np.testing.assert_allclose(ours, right, atol=1e-14)
    assert np.linalg.norm(wrong - right) > 0.1 * np.linalg.norm(right - 1 / SIZE)


def test_algorithm_1_as_printed_never_updates_its_spectrum() -> None:
    """The printed line assigns F(i), which the next line overwrites: the result stays DW."""
    channel, tally = PURE["response"].channel, tally_of(PURE["response"])
    h, g = np.asarray(channel.blocks[0].operator.kernel), tally.blocks[0] / tally.total
    noise = noise_spectrum(channel.blocks[0], tally.total)
    G, H = np.fft.fft(g), np.fft.fft(h)
    P = np.abs(G / H) ** 2
    W = np.conj(H) / (np.abs(H) ** 2 + noise / P)
    F = W * G
    for _ in range(30):
        correction = noise / (np.abs(H) ** 2 + noise / P)
        F = np.abs(F) ** 2 + correction
        W = np.conj(H) / (np.abs(H) ** 2 + noise / P)
        F = W * G
    F[0] = 1
    printed = np.fft.ifft(F).real
    np.testing.assert_allclose(printed, signed(Wiener(method="direct"), channel, tally), atol=1e-14)
    ours = signed(Wiener(method="iterative"), channel, tally)
    assert np.abs(printed - ours).max() > 1e-5


# What is known, given or kept.


def test_a_known_signal_spectrum_beats_every_guess() -> None:
    randomizer = RandomizedResponse(Interval(0, 1, bins=200, outside="clip"), 2)
    channel = randomizer.channel
    for seed in range(20):
        truth = smooth_signal(200, seed=seed)
        people = np.random.default_rng(seed).multinomial(200_000, truth)
        held = people / people.sum()
        tally = simulate(randomizer, people, rng=seed)
        power = tuple((np.abs(np.fft.fft(held)) ** 2).tolist())
        estimates = [
            signed(decoder, channel, tally)
            for decoder in (
                Wiener(method="direct", signal=power),
                Wiener(method="direct"),
                Wiener(method="iterative"),
                Wiener(method="direct", noise=0.0),
            )
        ]
        errors = [float(np.mean((estimate - held) ** 2)) for estimate in estimates]
        assert errors[0] < min(errors[1:]), seed
        # On a smooth signal the paper's order holds, too: IIW before DW before raw.
        assert errors[2] < errors[1] < errors[3], seed


def test_largest_shares_can_be_kept() -> None:
    randomizer = PURE["optimized bits"]
    people = np.full(SIZE, 100)
    people[[3, 30]] = 6_000, 9_000
    tally = simulate(randomizer, people, rng=5)
    raw = unbiased(randomizer.channel, tally)
    plain = Wiener(method="permuted")
    kept = replace(plain, keep_largest=2)
    ours = signed(kept, randomizer.channel, tally)
    np.testing.assert_allclose(ours[[3, 30]], raw[[3, 30]], atol=1e-12)
    filtered = signed(plain, randomizer.channel, tally)
    others = np.delete(np.arange(SIZE), [3, 30])
    np.testing.assert_array_equal(ours[others], filtered[others])
    assert abs(filtered[30] - raw[30]) > 1e-3


@each
def test_total_is_one_whatever_the_counts_add_up_to(name: str) -> None:
    channel, tally = ALL[name].channel, tally_of(ALL[name])
    methods: list[Method] = ["direct", "iterative", "iterative-from-reports"]
    if name in PURE:
        methods.append("permuted")
    for method in methods:
        mass = signed(Wiener(method=method), channel, tally)
        assert mass.sum() == pytest.approx(1, abs=1e-12)


def test_same_seed_same_answer() -> None:
    channel, tally = PURE["response"].channel, tally_of(PURE["response"])
    decoder = Wiener(method="permuted", permutations=5, seed=1)
    np.testing.assert_array_equal(signed(decoder, channel, tally), signed(decoder, channel, tally))
    other = signed(replace(decoder, seed=2), channel, tally)
    assert np.abs(other - signed(decoder, channel, tally)).max() > 1e-6


# IIW-G and its condition.


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, "10.9"), (2, "2.95"), (3, None), (4, None)])
def test_iterating_from_the_reports_warns_when_it_is_stuck(epsilon: int, ratio: str | None) -> None:
    """The paper's figures for d = 1000 and 2,834,264 people: 10.93, 2.95, .99 and .36."""
    domain = Interval(0, 1, bins=1000, outside="clip")
    randomizer = RandomizedResponse(domain, epsilon)
    people = np.random.default_rng(0).multinomial(2_834_264, smooth_signal(1000))
    held = people / people.sum()
    tally = simulate(randomizer, people, rng=1)
    decoder = Wiener(method="iterative-from-reports")
    if ratio is None:
        mass = signed(decoder, randomizer.channel, tally)
        raw = signed(Wiener(method="direct", noise=0.0), randomizer.channel, tally)
        assert np.mean((mass - held) ** 2) < 0.05 * np.mean((raw - held) ** 2)
        return
    with pytest.warns(WeakAnswerWarning, match=rf"below 1, got {ratio}.*method='iterative'"):
        mass = signed(decoder, randomizer.channel, tally)
    if epsilon == 1:
        # Stuck at the uniform distribution: it has followed less than a tenth of the signal.
        assert np.abs(mass - 1 / 1000).max() < 0.1 * np.abs(held - 1 / 1000).max()


# Results and refusals.


@each
def test_norm_sub_makes_a_distribution_with_the_band_of_the_channel(name: str) -> None:
    channel, tally = ALL[name].channel, tally_of(ALL[name])
    decoder = Wiener(method="direct")
    result = decoder.decode(channel, tally)
    assert isinstance(result, Distribution)
    np.testing.assert_allclose(result.mass, simplex(signed(decoder, channel, tally)), atol=1e-15)
    assert result.mass.min() >= 0 and result.mass.sum() == pytest.approx(1)
    assert result.reports == tally.total and result.guarantee == channel.guarantee
    band = result.confidence_band(0.95)
    assert band is not None and (band.high >= band.low).all()
    assert replace(decoder, band=False).decode(channel, tally).confidence_band() is None
    again = Distribution.from_json(result.to_json())
    assert again.provenance["method"] == "direct" and again.provenance["noise"] == "analytic"


@pytest.mark.parametrize("name", list(CIRCULAR))
def test_a_wave_on_a_circle_is_decoded(name: str) -> None:
    """Closer to the truth than the inverse; from the reports, by far, and than knowing nothing."""
    randomizer = CIRCULAR[name]
    people = np.random.default_rng(4).multinomial(1_000_000, smooth_signal(seed=4))
    held = people / people.sum()
    tally = simulate(randomizer, people, rng=4)
    raw = np.mean((unbiased(randomizer.channel, tally) - held) ** 2)
    nothing = np.mean((1 / SIZE - held) ** 2)
    error = {
        method: np.mean((signed(Wiener(method=method), randomizer.channel, tally) - held) ** 2)
        for method in ("direct", "iterative", "iterative-from-reports")
    }
    assert error["iterative"] < error["direct"] < 0.6 * raw
    assert error["iterative-from-reports"] < min(0.1 * error["iterative"], 0.002 * nothing)


def test_turning_the_circle_turns_the_answer() -> None:
    """A kernel stored with its peak in the middle would turn every answer by half a circle."""
    randomizer = CIRCULAR["square wave on a circle"]
    tally = tally_of(randomizer)
    turned = CountTally([np.roll(tally.blocks[0], 7)], tally.reports, tally.fingerprint)
    mass = signed(Wiener(), randomizer.channel, tally)
    np.testing.assert_allclose(
        signed(Wiener(), randomizer.channel, turned), np.roll(mass, 7), atol=1e-14
    )
    one = np.zeros(SIZE, dtype=np.int64)
    one[20] = 1_000_000
    peak = signed(Wiener(), randomizer.channel, simulate(randomizer, one, rng=1))
    assert int(np.argmax(peak)) == 20
    centered = np.fft.fftshift(np.asarray(randomizer.channel.blocks[0].operator.kernel))
    noise = noise_spectrum(randomizer.channel.blocks[0], tally.total)
    moved = direct(simulate(randomizer, one, rng=1).blocks[0] / 1e6, centered, noise)
    assert int(np.argmax(moved)) == (20 + SIZE // 2) % SIZE


def test_channels_that_are_not_circulant_are_refused() -> None:
    wave = SquareWave(LINE, 1)
    fine = SquareWave(CIRCLE, 1, grid=2 * SIZE)
    mixture = MultiscaleWave(LINE, 1)
    bits = PURE["optimized bits"]
    two = Channel(
        LINE, [Block(bits.channel.blocks[0].operator, bits.channel.blocks[0].law, 0.5)] * 2, "two"
    )
    for channel in (wave.channel, fine.channel, mixture.channel, two):
        sizes = [np.zeros(block.outputs, dtype=np.int64) for block in channel.blocks]
        with pytest.raises(UnsupportedChannelError, match="one circulant block"):
            circulant(channel)
        tally = CountTally(sizes, [0] * len(sizes), channel.fingerprint)
        with pytest.raises(TallyError, match="nothing to decode"):
            Wiener().decode(channel, tally)
    reports = wave.tally(wave.randomize(np.linspace(0, 1, 100)))
    with pytest.raises(UnsupportedChannelError, match="SpectralPrior"):
        Wiener().decode(wave.channel, reports)
    circular = CIRCULAR["square wave on a circle"]
    with pytest.raises(UnsupportedChannelError, match="not depend on the order"):
        Wiener(method="permuted").decode(circular.channel, tally_of(circular))
    with pytest.raises(MismatchError):
        Wiener().decode(circular.channel, tally_of(bits))


def test_a_wave_with_blind_frequencies_gives_no_nan_and_no_band() -> None:
    """A box of 5 on 50 points has zeros in its spectrum: there the estimate is zero."""
    inside, outside = 0.1, (1 - 5 * 0.1) / 45
    operator = circular_window(SIZE, width=5, inside=inside, outside=outside)
    channel = Channel(CIRCLE, [Block(operator, Multinomial())], "box")
    counts = np.random.default_rng(0).multinomial(100_000, operator.matvec(smooth_signal()))
    tally = CountTally([counts], [100_000], "box")
    for decoder in (
        Wiener(method="direct"),
        Wiener(method="iterative"),
        Wiener(method="iterative-from-reports"),
    ):
        result = decoder.decode(channel, tally)
        assert np.isfinite(result.mass).all() and result.confidence_band() is None
        for noise in ("analytic", 0.0):
            spectrum = np.fft.fft(signed(replace(decoder, noise=noise), channel, tally))
            assert np.abs(spectrum[[10, 20, 30, 40]]).max() < 1e-12


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"noise": ()}, "at least one number"),
        ({"signal": (), "method": "direct"}, "at least one number"),
        ({"signal": (1.0,) * SIZE}, "method='direct'"),
    ],
)
def test_illegal_knobs_are_refused(knobs: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Wiener(**knobs)


def test_a_spectrum_of_another_length_is_refused() -> None:
    channel, tally = PURE["response"].channel, tally_of(PURE["response"])
    with pytest.raises(ArgumentError, match="noise spectrum must have one number for each symbol"):
        Wiener(noise=(1.0,) * 10).decode(channel, tally)
    with pytest.raises(ArgumentError, match="signal spectrum"):
        Wiener(method="direct", signal=(1.0,) * 60).decode(channel, tally)
