"""The square wave: its width, its near sets, its grid, and what it tends to."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lapwing import (
    Categories,
    ExpectationMaximization,
    Integers,
    Interval,
    LeastSquares,
    MultiscaleWave,
    SquareWave,
    simulate,
)
from lapwing.distances import wasserstein
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.operators.operator import dense
from lapwing.papers.square_wave import GeneralWave
from lapwing.papers.square_wave.sliding_box import SlidingBox
from lapwing.privacy.sampling.randomness import seeded
from lapwing.randomizers.numerical.square_wave import mutual_information_width
from lapwing.results import Cumulative
from tests.mistaken import mistaken

# The width


@pytest.mark.parametrize(
    ("epsilon", "width"), [(0.5, 0.3582), (1, 0.2561), (2, 0.1293), (4, 0.0304)]
)
def test_widths_of_the_paper(epsilon: float, width: float) -> None:
    assert mutual_information_width(epsilon) == pytest.approx(width, abs=5e-5)
    assert mutual_information_width(Fraction(str(epsilon))) == mutual_information_width(epsilon)


def _information_bound(b: float, epsilon: float, *, circular: bool) -> float:
    """Return log(length of the output range) less the entropy of a report given its value."""
    e = math.exp(epsilon)
    outside_length = 1 - 2 * b if circular else 1.0
    q = 1 / (2 * b * e + outside_length)
    range_length = 1.0 if circular else 1 + 2 * b
    given = -2 * b * (e * q) * math.log(e * q) - outside_length * q * math.log(q)
    return math.log(range_length) - given


@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 3, 4, 6, 8])
def test_width_maximizes_the_bound_on_the_information(epsilon: float, circular: bool) -> None:
    best = minimize_scalar(
        lambda b: -_information_bound(b, epsilon, circular=circular),
        bounds=(1e-6, 0.5 if circular else 1.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    found = mutual_information_width(epsilon, circular=circular)
    assert found == pytest.approx(best.x, rel=1e-3)
    at_best = _information_bound(best.x, epsilon, circular=circular)
    assert _information_bound(found, epsilon, circular=circular) >= at_best - 1e-12


def test_small_epsilon_does_not_cancel() -> None:
    """b = 1/2 - epsilon / 3 + ..., and 1/4 on a circle; the closed form loses all digits."""
    for epsilon in (1e-3, 1e-6, 1e-9, 1e-12):
        assert mutual_information_width(epsilon) == pytest.approx(0.5 - epsilon / 3, rel=1e-6)
        assert mutual_information_width(epsilon, circular=True) == pytest.approx(0.25, rel=1e-3)
    assert mutual_information_width(1e-6) == pytest.approx(0.5, abs=1e-6)
    assert mutual_information_width(1e-6, circular=True) == pytest.approx(0.25, abs=1e-6)
    e = math.exp(1e-9)
    naive = (1e-9 * e - e + 1) / (2 * e * (e - 1 - 1e-9))
    assert naive != pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("circular", [False, True])
def test_width_falls_with_epsilon(circular: bool) -> None:
    epsilons = np.concatenate([np.logspace(-6, 0, 40), np.linspace(1.1, 24, 100)])
    widths = [mutual_information_width(e, circular=circular) for e in epsilons]
    assert (np.diff(widths) < 0).all()
    assert 0 < widths[-1] < widths[0] < (0.25 if circular else 0.5)


# The law


def literal_law(points: int, half: int, epsilon: float) -> np.ndarray:
    """Return the discrete square wave as the paper defines it, entry by entry."""
    q = 1 / ((2 * half + 1) * math.exp(epsilon) + points - 1)
    table = np.full((points + 2 * half, points), q)
    for value in range(points):
        for report in range(-half, points + half):
            if abs(report - value) <= half:
                table[report + half, value] = math.exp(epsilon) * q
    return table


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_enumerated_law_of_ten_bins(epsilon: float) -> None:
    wave = SquareWave(Interval(0, 1, bins=10), epsilon)
    half = math.floor(mutual_information_width(epsilon) * 10)
    assert (wave._half_window, wave._near, wave._outputs) == (half, 2 * half + 1, 10 + 2 * half)
    matrix = dense(wave.channel.blocks[0].operator)
    np.testing.assert_allclose(matrix, literal_law(10, half, epsilon), rtol=1e-12)
    ages = SquareWave(Integers(17, 26), epsilon)
    np.testing.assert_array_equal(dense(ages.channel.blocks[0].operator), matrix)


def test_whole_numbers_end_to_end() -> None:
    ages = SquareWave(Integers(17, 90, outside="clip"), 3)
    values = np.random.default_rng(1).integers(20, 40, size=200_000)
    tally = ages.tally(ages.randomize(values, rng=seeded(1)))
    result = ExpectationMaximization(smoothed=True).decode(ages.channel, tally)
    assert abs(float(result.quantile(0.5)) - np.median(values)) <= 1
    assert abs(result.mean() - values.mean()) < 0.3


def continuous_law(value: float, b: float, epsilon: float) -> Cumulative:
    """Return the report of the paper's equation 3: density p within b of the value, q elsewhere."""
    q = 1 / (2 * b * math.exp(epsilon) + 1)
    ends = [-b, value - b, value + b, 1 + b]
    mass = np.array([value * q, 2 * b * math.exp(epsilon) * q, (1 - value) * q])
    return Cumulative(np.array(ends[:-1]), np.array(ends[1:]), mass)


def distance_to_the_continuous_wave(bins: int, epsilon: float) -> float:
    """Return the largest Wasserstein distance of the two laws of a report, over five values."""
    wave = SquareWave(Interval(0, 1, bins=bins, outside="clip"), epsilon)
    matrix = dense(wave.channel.blocks[0].operator)
    places = (np.arange(wave._outputs) - wave._half_window + 0.5) / bins
    return max(
        wasserstein(
            continuous_law((point + 0.5) / bins, mutual_information_width(epsilon), epsilon),
            Cumulative(places, places, matrix[:, point]),
        )
        for point in sorted({0, 1, bins // 3, bins // 2, bins - 1})
    )


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
@pytest.mark.parametrize("bins", [16, 64, 100, 256, 1000])
def test_the_grid_is_within_one_bin_of_the_continuous_wave(bins: int, epsilon: float) -> None:
    assert distance_to_the_continuous_wave(bins, epsilon) < 1 / bins


@pytest.mark.parametrize("bins", [33, 64, 100, 256, 1000, 3000])
def test_a_narrow_wave_needs_more_bins(bins: int) -> None:
    """At epsilon = 4 the window is 2 to 15 bins wide, and rounding it is felt."""
    distance = distance_to_the_continuous_wave(bins, 4)
    assert distance < (1 if bins >= 256 else 1.7) / bins


def test_randomize_before_or_after_the_bins_tends_to_the_same_channel() -> None:
    """On a fine grid the channel of coarse bins approaches the paper's matrix M of section 5.5."""
    epsilon, bins, b = 1.0, 8, 0.25
    q = 1 / (2 * b * math.exp(epsilon) + 1)
    box = SlidingBox(inputs=bins, outputs=12, half_width=b, inside=math.e * q, outside=q)
    exact = np.column_stack([box.matvec(unit) for unit in np.eye(bins)])
    previous = 1.0
    for times in (8, 32, 128):
        grid = bins * times
        wave = SquareWave(Interval(0, 1, bins=bins, outside="clip"), epsilon, grid=grid, width=b)
        fine = dense(wave.channel.blocks[0].operator)
        places = (np.arange(wave._outputs) - wave._half_window + 0.5) / grid
        cells = np.clip(((places + b) / (1 + 2 * b) * 12).astype(int), 0, 11)
        coarse = np.zeros((12, bins))
        np.add.at(coarse, cells, fine)
        error = np.abs(coarse - exact).max()
        assert error < previous / 2
        previous = error
    assert previous < 2e-3


@pytest.mark.parametrize("points", [7, 8, 12, 30])
def test_windows_on_a_circle_are_centered_and_can_be_inverted(points: int) -> None:
    for epsilon in (0.5, 2, 5):
        wave = SquareWave(Interval(0, 24, bins=points, circular=True), epsilon)
        assert wave._outputs == points and math.gcd(wave._near, points) == 1
        assert wave._half_window <= mutual_information_width(epsilon, circular=True) * points
        matrix = dense(wave.channel.blocks[0].operator)
        inside, outside = wave._probabilities
        for value in range(points):
            for report in range(points):
                distance = min((report - value) % points, (value - report) % points)
                expected = inside if distance <= wave._half_window else outside
                assert matrix[report, value] == pytest.approx(expected, rel=1e-10)
        assert np.linalg.cond(matrix) < 1e4


# The grid


def test_a_fine_grid_is_decoded_at_any_divisor() -> None:
    wave = SquareWave(Interval(0, 1, bins=12), 2, grid=48, width=0.1)
    values = np.random.default_rng(2).beta(5, 2, size=100_000)
    tally = wave.tally(wave.randomize(values, rng=seeded(2)))
    fine = dense(wave._channel_at(48).blocks[0].operator)
    for bins in (2, 3, 4, 6, 8, 12, 16, 24, 48):
        channel = wave._channel_at(bins)
        assert channel.domain.size == bins and channel.fingerprint == wave.fingerprint
        merged = fine.reshape(-1, bins, 48 // bins).mean(axis=2)
        np.testing.assert_allclose(dense(channel.blocks[0].operator), merged, rtol=1e-12)
        result = LeastSquares().decode(channel, tally)
        truth = np.histogram(values, bins=bins, range=(0, 1))[0] / values.size
        assert np.abs(np.cumsum(result.mass - truth)).max() < 0.05
    np.testing.assert_array_equal(
        dense(wave._channel_at(12).blocks[0].operator), dense(wave.channel.blocks[0].operator)
    )
    people = np.arange(1, 13) * 1000
    sample = wave._channel_at(12).blocks[0].sample(people, np.random.default_rng(1))
    assert sample.sum() == people.sum()


def test_values_go_to_the_grid_point_that_holds_them() -> None:
    wave = SquareWave(Interval(0, 1, bins=2, closed="left"), 20, grid=8, width=0.0)
    assert wave._near == 1 and wave._points == 8
    assert wave._points_of([0, 0.124, 0.125, 0.5, 0.99, 1.0]).tolist() == [0, 0, 1, 4, 7, 7]
    reports = wave.randomize([0.3, 0.9], rng=seeded(1))
    assert reports.data.ravel().tolist() == [2, 7]


def test_a_report_depends_on_the_grid_point_alone() -> None:
    """Where in its grid cell a value lies, to the last bit of the float, reaches no report."""
    wave = SquareWave(Interval(0, 1, bins=4, closed="left"), 1, grid=16)
    edges = np.arange(16) / 16
    reports = {
        wave.randomize(np.repeat(inside, 500), rng=seeded(3)).data.tobytes()
        for inside in (edges, edges + 1e-12, edges + 1 / 48, np.nextafter(edges + 1 / 16, 0))
    }
    assert len(reports) == 1 and wave.randomize([0.5], rng=seeded(3)).data.dtype == np.uint8
    beside = wave.randomize(np.repeat(np.nextafter(edges, -1), 500), rng=seeded(3))
    assert beside.data.tobytes() not in reports


@pytest.mark.parametrize("bins", [0, 1, 5, 7, 96, -12])
def test_bins_that_do_not_divide_the_grid(bins: int) -> None:
    wave = SquareWave(Interval(0, 1, bins=12), 2, grid=48)
    with pytest.raises(ArgumentError, match="bins must divide the 48 points"):
        wave._channel_at(bins)


def test_domains_that_cannot_be_regrouped() -> None:
    for domain in (Interval(0, 1, bins=4, atoms=(0.1,)), Integers(0, 7)):
        with pytest.raises(ArgumentError, match="of a regular interval"):
            SquareWave(domain, 1)._channel_at(2)


@pytest.mark.parametrize(
    "domain",
    [Interval(0, 1, bins=4, atoms=(0,)), Interval(0, 1, bins=4, missing="bin"), Integers(0, 3)],
)
def test_a_grid_needs_a_regular_interval(domain: Any) -> None:
    with pytest.raises(DomainError, match="without atoms or a missing bin"):
        SquareWave(domain, 1, grid=8)


@pytest.mark.parametrize("grid", [5, 6, 2])
def test_a_grid_that_is_no_multiple(grid: int) -> None:
    with pytest.raises(ArgumentError, match="grid must be a multiple"):
        SquareWave(Interval(0, 1, bins=4), 1, grid=grid)


def test_given_widths_and_their_ends() -> None:
    assert SquareWave(Interval(0, 1, bins=10), 1, width=0)._near == 1
    widest = SquareWave(Interval(0, 1, bins=10), 1, width=1)
    assert (widest._near, widest._outputs) == (21, 30) and widest.certificate().holds
    around = SquareWave(Interval(0, 1, bins=10, circular=True), 1, width=1)
    assert around._near == 9 and around._far == 1 and around.certificate().holds
    assert SquareWave(Interval(0, 1, bins=10), 1, width=mistaken(np.float32(0.25))).width == 0.25


def test_labels_have_no_order() -> None:
    with pytest.raises(DomainError, match="Labels have no order"):
        SquareWave(Categories(8), 1)


def test_separation_of_two_values() -> None:
    """The square separates by (1 - (2b + 1) q) of their distance, the most of all wave shapes."""
    bins, b = 2000, mutual_information_width(1)
    wave = SquareWave(Interval(0, 1, bins=bins, outside="clip"), 1)
    matrix = dense(wave.channel.blocks[0].operator)
    places = np.arange(wave._outputs) / bins
    laws = [Cumulative(places, places, matrix[:, point]) for point in (400, 1600)]
    q = 1 / (2 * b * math.e + 1)
    assert wasserstein(*laws) / 0.6 == pytest.approx(1 - (2 * b + 1) * q, abs=1e-3)
    assert wasserstein(*laws) / 0.6 == pytest.approx(0.3679, abs=1e-3)


def test_a_large_population_costs_no_more_than_a_small_one() -> None:
    wave = SquareWave(Interval(0, 1, bins=1024, outside="clip"), 1)
    tally = simulate(wave, np.full(1024, 2**40), rng=1)
    assert tally.total == 2**50
    mean = wave.channel.blocks[0].mean(np.full(1024, 1 / 1024))
    np.testing.assert_allclose(tally.blocks[0] / 2**50, mean, rtol=1e-4)


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
@pytest.mark.parametrize("circular", [False, True])
def test_the_chosen_width_can_be_read_and_given_again(epsilon: float, circular: bool) -> None:
    domain = Interval(0, 1, bins=97, circular=circular, outside="clip")
    for chosen, again in (
        (wave := SquareWave(domain, epsilon), SquareWave(domain, epsilon, width=wave.half_width)),
        (
            general := GeneralWave(domain, epsilon, ratio=1),
            GeneralWave(domain, epsilon, ratio=1, width=general.half_width),
        ),
    ):
        assert chosen.width is None and again.half_width == chosen.half_width
        assert chosen.channel.blocks[0].operator.shape == again.channel.blocks[0].operator.shape
        window = again.channel.blocks[0].operator @ np.eye(97)[:, 48]
        near = int((window > window.min() * 1.001).sum())
        assert near == 2 * int(97 * chosen.half_width) + 1 or circular
    assert MultiscaleWave(domain, epsilon).groups[0].randomizer.half_width > 0


def test_a_list_of_heights_has_half_its_length_as_width() -> None:
    wave = GeneralWave(Interval(0, 1, bins=10), 1, shape=[0.5, 1, 0.5])
    assert wave.half_width == 0.15
