"""Atoms: which are found, how often one is found where there is none, and what is said of them."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lapwing import (
    Distribution,
    Integers,
    Interval,
    LeastSquares,
    MultiscaleWave,
    RandomizedResponse,
    SpectralPrior,
    SquareWave,
    simulate,
)
from lapwing.decoders.unbiased.linear_estimate import linear_estimate
from lapwing.errors import ArgumentError
from lapwing.linear.covariance import Covariance
from lapwing.results.atoms import Atom, Excess, excess_of, expected_mass, find_atoms
from lapwing.results.uncertainty import Uncertainty, independent_critical_values

CIRCLE = Interval(0, 1, bins=32, circular=True)
BINS = Interval(0, 1, bins=32, outside="clip")


def law(mass: np.ndarray, deviation: float) -> Uncertainty:
    """Return a law of independent errors."""
    noise = Covariance(np.full(mass.size, deviation**2), np.zeros((mass.size, 0)), np.zeros(0))
    return Uncertainty(mass, noise, np.zeros(mass.size), mass, 1000, "by hand")


def spike(place: int, share: float, size: int = 32) -> np.ndarray:
    mass = np.full(size, (1 - share) / size)
    mass[place] += share
    return mass


@pytest.mark.parametrize("place", [0, 1, 15, 30, 31])
@pytest.mark.parametrize("domain", [BINS, CIRCLE], ids=["line", "circle"])
def test_a_bin_that_stands_out_is_found_where_it_is(place: int, domain: Any) -> None:
    mass = spike(place, 0.2)
    for deviation, expected in ((0.02, [place]), (0.2, [])):
        found = find_atoms(
            law(mass, deviation), domain.left, domain.right, circular=domain.circular
        )
        assert found.tolist() == expected


def test_neighboring_atoms_do_not_hide_each_other() -> None:
    mass = np.full(32, 0.5 / 32)
    mass[[10, 11, 20]] += 0.5 / 3
    found = find_atoms(law(mass, 0.005), BINS.left, BINS.right)
    assert found.tolist() == [10, 11, 20]


def test_a_threshold_is_the_normal_one() -> None:
    """Just above and just below: the contrast of a bin with four neighbors has variance 2."""
    critical = stats.norm.ppf(1 - 0.01 / 32)
    mass = spike(15, 0.2)
    excess = mass[15] - 2 * mass[0]
    for factor, expected in ((0.999, [15]), (1.001, [])):
        deviation = factor * excess / critical / np.sqrt(2)
        assert find_atoms(law(mass, deviation), BINS.left, BINS.right).tolist() == expected


def test_a_steep_slope_and_a_doubling_are_no_atoms() -> None:
    slope = 0.7 ** np.arange(32.0)
    for mass in (slope, slope[::-1], spike(15, 1 / 33)):
        assert find_atoms(law(mass / mass.sum(), 1e-9), BINS.left, BINS.right).size == 0


def test_bins_of_equal_ratio_are_compared_by_their_width() -> None:
    domain = Interval(1, 1024, bins=16, scale="log")
    density = (domain.right - domain.left) / 1023
    assert find_atoms(law(density, 1e-9), domain.left, domain.right).size == 0
    density[8] += 0.3
    found = find_atoms(law(density / density.sum(), 1e-6), domain.left, domain.right)
    assert found.tolist() == [8]


def test_declared_atoms_are_neither_found_nor_neighbors() -> None:
    domain = Interval(0, 1, bins=8, atoms=(0, 0.5))
    mass = np.full(domain.size, 0.06)
    mass[domain.left == domain.right] = 0.26
    result = Distribution(domain, mass, uncertainty=law(mass, 1e-4))
    assert [(atom.left, atom.right, atom.declared) for atom in result.atoms] == [
        (0, 0, True),
        (0.5, 0.5, True),
    ]
    assert [atom.share for atom in result.atoms] == pytest.approx([0.26, 0.26])
    for atom in result.atoms:
        assert atom.low is not None and atom.high is not None
        reach = 1.96e-4
        assert (atom.low, atom.high) == pytest.approx((0.26 - reach, 0.26 + reach), abs=1e-6)


def test_whole_numbers_that_stand_out_are_found_at_a_point() -> None:
    mass = spike(3, 0.5, 10)
    (atom,) = Distribution(Integers(0, 9), mass, uncertainty=law(mass, 0.01)).atoms
    assert (atom.left, atom.right, atom.declared) == (3, 3, False)
    assert atom.share == pytest.approx(0.5)


def test_the_share_is_what_is_beyond_the_neighbors() -> None:
    mass = spike(15, 0.2)
    (atom,) = Distribution(BINS, mass, uncertainty=law(mass, 0.01)).atoms
    assert atom == Atom(15 / 32, 0.5, pytest.approx(0.2), atom.low, atom.high, declared=False)
    deviation = 0.01 * np.sqrt(1 + 1 / 4)
    usual = 0.8 / 32  # the bin may hold it twice beside the atom, or not at all
    assert atom.low == pytest.approx(0.2 - usual - 1.96 * deviation, abs=1e-4)
    assert atom.high == pytest.approx(0.2 + usual + 1.96 * deviation, abs=1e-4)
    expected = expected_mass(mass, BINS.left, BINS.right, np.array([15]), circular=False)
    assert expected == pytest.approx([0.8 / 32])


def test_the_law_of_many_symbols_is_used_whole() -> None:
    """The deviation of a contrast is that of the dense covariance, remainder and all."""
    rng = np.random.default_rng(1)
    size = 24
    noise = Covariance(
        rng.random(size) * 1e-3, rng.normal(size=(size, 3)) * 3e-2, np.array([1.0, 1.0, -0.01])
    )
    remainder = rng.random(size) * 1e-3
    mass = spike(11, 0.3, size)
    one = Uncertainty(mass, noise, remainder, mass, 10, "by hand")
    around = np.zeros(size)
    around[[9, 10, 12, 13]] = 1 / 4
    weights = np.eye(size)[11] - 2 * around
    z = (mass @ weights) / one.deviation(weights, "empirical")
    rate = 24 * stats.norm.sf(z)
    domain = Interval(0, 1, bins=size, outside="clip")
    for factor, expected in ((1.01, [11]), (0.99, [])):
        found = find_atoms(one, domain.left, domain.right, false_alarms=factor * rate)
        assert [place for place in found.tolist() if place == 11] == expected


def test_what_cannot_be_judged_is_not_found() -> None:
    assert Distribution(BINS, spike(15, 0.5)).atoms == ()  # no error law
    few = Interval(0, 1, bins=3)
    assert find_atoms(law(np.array([0.1, 0.8, 0.1]), 1e-6), few.left, few.right).size == 0
    for rate in (0, 1, -1, float("nan")):
        with pytest.raises(ArgumentError, match="false_alarms"):
            find_atoms(law(spike(1, 0.5), 0.1), BINS.left, BINS.right, false_alarms=rate)


TALLIES = 100
"""Simulated tallies of a smooth column. The stated rate of 1% gives Bin(100, .01):
P(above 8) = 8e-7. With a third of the standard error most would alarm."""


def test_false_alarms_on_smooth_columns_are_as_rare_as_stated() -> None:
    """By the exact linear law, whose normal errors are what the rate is worked out for."""
    wave = SquareWave(BINS, 3)
    counts = np.diff(np.round(50_000 * stats.beta(2, 4).cdf(BINS.bin_edges))).astype(np.int64)
    alarms = careless = 0
    rng = np.random.default_rng(4)
    for _ in range(TALLIES):
        one = linear_estimate(wave.channel, simulate(wave, counts, rng=rng))
        alarms += find_atoms(one, BINS.left, BINS.right).size > 0
        narrow = dataclasses.replace(one, noise=one.noise.scaled(1 / 9))
        careless += find_atoms(narrow, BINS.left, BINS.right).size > 0
    assert alarms <= 8
    assert careless > 20  # with a third of the true standard error


def test_laplace_noise_alarms_as_rarely() -> None:
    """Bin(80, .01): P(above 7) = 1e-6. Judged by the normal law one in four alarms."""
    rng, flat = np.random.default_rng(6), np.full(512, 1 / 512)
    many = Interval(0, 1, bins=512, outside="clip")
    alarms = {"tails": 0, "laplace": 0, "neither": 0}
    for _ in range(80):
        made = law(flat + rng.laplace(scale=0.02 / np.sqrt(2), size=512), 0.02)
        laws = {
            "tails": dataclasses.replace(made, tails=0.1),
            "laplace": dataclasses.replace(made, laplace=0.02**2),
            "neither": made,
        }
        for name, one in laws.items():
            alarms[name] += find_atoms(one, many.left, many.right).size > 0
    assert alarms["tails"] <= 7 and alarms["laplace"] <= 7
    assert alarms["neither"] > 11
    # Laplace noise of a tenth of the variance is not all of it: its threshold is between the two.
    mass = spike(15, 0.2)
    contrast = mass[15] - 2 * mass[0]
    few = law(mass, contrast / np.sqrt(2) / 3.8)
    assert find_atoms(few, BINS.left, BINS.right).size
    heavy = dataclasses.replace(few, laplace=0.1 * float(few.noise.diagonal[0]))
    assert find_atoms(heavy, BINS.left, BINS.right).size
    assert not find_atoms(dataclasses.replace(few, tails=0.1), BINS.left, BINS.right).size


def test_what_just_stands_out_of_laplace_noise_has_no_luck_to_spare() -> None:
    """The least estimate that is found is the estimate, at the threshold that found it."""
    mass = spike(15, 0.2)
    contrast = mass[15] - 2 * mass[0]
    below, above = 2.0, 9.0
    for _ in range(40):
        critical = (below + above) / 2
        made = dataclasses.replace(law(mass, contrast / np.sqrt(2) / critical), tails=0.1)
        found = find_atoms(made, BINS.left, BINS.right).size
        below, above = (below, critical) if found else (critical, above)
    assert above > 4.2  # a normal one is 3.4
    made = dataclasses.replace(law(mass, contrast / np.sqrt(2) / above), tails=0.1)
    excess = excess_of(made, BINS.left, BINS.right, np.array([15]), circular=False)
    assert excess.least[0] == pytest.approx(excess.share[0], rel=1e-6)
    # With half the error half of the contrast is to spare: 1.2 of it for each unit of share.
    made = dataclasses.replace(law(mass, contrast / np.sqrt(2) / above / 2), tails=0.1)
    excess = excess_of(made, BINS.left, BINS.right, np.array([15]), circular=False)
    assert excess.least[0] == pytest.approx(excess.share[0] - contrast / 2 / 1.2, rel=1e-6)


@pytest.mark.parametrize("kind", ["tails", "laplace"])
def test_the_threshold_is_that_of_as_many_laplace_answers(kind: str) -> None:
    """One bin less the half of each of four: variances of 1 and 4 quarters, of which the effective
    part in one answer is the root of 1 and 4 sixteenths over their sum."""
    mass = spike(15, 0.2)
    contrast = mass[15] - 2 * mass[0]
    part = np.array([np.sqrt(1 + 4 / 16) / (1 + 4 / 4)])
    expected = float(independent_critical_values(1 - 2 * 0.01 / 32, 1, part)[0])
    for side, alarms in ((1 - 1e-3, 0), (1 + 1e-3, 1)):
        deviation = contrast / np.sqrt(2) / (expected * side)
        knob = {"tails": 0.1} if kind == "tails" else {"laplace": deviation**2}
        made = dataclasses.replace(law(mass, deviation), **knob)
        assert find_atoms(made, BINS.left, BINS.right).size == alarms
        excess = excess_of(made, BINS.left, BINS.right, np.array([15]), circular=False)
        assert excess.least[0] == pytest.approx(excess.share[0], rel=2e-3)
    # Half of it is luck to spare when the error is half as large.
    half = contrast / np.sqrt(2) / expected / 2
    knob = {"tails": 0.1} if kind == "tails" else {"laplace": half**2}
    made = dataclasses.replace(law(mass, half), **knob)
    excess = excess_of(made, BINS.left, BINS.right, np.array([15]), circular=False)
    assert excess.least[0] == pytest.approx(excess.share[0] - contrast / 2 / 1.2, rel=1e-4)


def test_the_default_decoder_finds_what_is_there() -> None:
    """Two atoms of 12% on a smooth column, and none where there is none; seeded."""
    domain = Interval(0, 1, bins=128, outside="clip")
    randomizer = MultiscaleWave(domain, 2)
    smooth = np.diff(np.round(60_000 * stats.beta(2, 4).cdf(domain.bin_edges))).astype(np.int64)
    spiky = (0.76 * smooth).astype(np.int64)
    spiky[[30, 64]] += 7_200
    for counts, expected in ((smooth, []), (spiky, [30, 64])):
        tally = simulate(randomizer, counts, rng=1)
        result = SpectralPrior().decode(randomizer.channel, tally)
        assert [round(atom.left * 128) for atom in result.atoms] == expected
        for atom in result.atoms:
            assert atom.low is not None and atom.high is not None
            assert atom.low < 0.12 < atom.high


def test_many_symbols_take_no_matrix() -> None:
    domain = Integers(0, 2**15 - 1, outside="clip")
    response = RandomizedResponse(domain, 12)
    counts = np.full(domain.size, 10, dtype=np.int64)
    counts[777] = 500_000
    result = LeastSquares().decode(response.channel, simulate(response, counts, rng=1))
    assert isinstance(result, Distribution)
    assert [atom.left for atom in result.atoms] == [777]


def test_what_a_decoder_smooths_away_is_reported_as_it_was_found() -> None:
    """The masses are flat, the law has the spike: the share is the law's, inside its interval."""
    flat = np.full(32, 1 / 32)
    (atom,) = Distribution(BINS, flat, uncertainty=law(spike(15, 0.2), 0.01)).atoms
    assert atom.share == pytest.approx(0.2)
    assert atom.low is not None and atom.high is not None and atom.low < 0.2 < atom.high


def test_an_interval_allows_for_the_luck_of_being_found() -> None:
    """Of shares near the least that is found. 200,000 draws: a standard error is 0.1%."""
    rng, truth, least = np.random.default_rng(8), 0.078, np.float64(0.09)
    drawn = rng.normal(truth, 0.0135, 1_000_000)
    drawn = drawn[drawn > least]
    found = Excess(drawn, np.full(drawn.size, 0.0135), np.full(drawn.size, least))
    low, high = found.intervals(0.95)
    assert drawn.size > 150_000
    # The upper end is the usual one, which luck moves away from the truth.
    assert np.mean(low > truth) == pytest.approx(0.025, abs=0.003)
    assert np.mean(high < truth) == 0
    # Broken: as if it had been named before looking.
    assert np.mean(drawn - 1.96 * 0.0135 > truth) > 0.1


def test_what_surely_stands_out_has_the_usual_interval() -> None:
    excess = Excess(np.array([0.5]), np.array([0.01]), np.array([0.1]))
    (low,), (high,) = excess.intervals(0.95)
    assert (low, high) == pytest.approx((0.5 - 0.0196, 0.5 + 0.0196), abs=1e-6)
