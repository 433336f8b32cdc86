"""The wavelet's decoder: exact expansion, unbiased coefficients, the clip and its printed form."""

import math

import numpy as np
import pytest
from scipy import stats

from lapwing.errors import (
    MismatchError,
    TallyError,
    UnsupportedChannelError,
)
from lapwing.papers.wavelet.signed_subset_selection import SignedSubsetSelection
from lapwing.papers.wavelet.wavelet import Wavelet, coefficient_variance
from lapwing.papers.wavelet.wavelet_clip import (
    WaveletClip,
    differences_of,
    estimated_differences,
    expand,
)
from lapwing.planning.simulation import simulate
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers.numerical.square_wave import SquareWave
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate
from tests.false_alarms import COVERAGE_WINDOW, DECODES, accepts
from tests.signed_decoder import signed_estimate

UNIT = Interval(0, 1, bins=64, outside="clip")
SPIKY = np.r_[[300, 0, 0, 50, 5000, 0, 7, 0] * 3, [0] * 24, [20, 2000] + [1] * 14]


def uneven(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(size, 0.3))


def levels_of(wavelet: Wavelet, tally: CountTally) -> list:
    return [
        (block.law, counts, reports)
        for block, counts, reports in zip(
            wavelet.channel.blocks, tally.blocks, tally.reports, strict=True
        )
    ]


def noiseless(wavelet: Wavelet, mass: np.ndarray, people: int = 10**13) -> CountTally:
    """A tally whose counts are their means, as well as whole numbers can be."""
    blocks, reports = [], []
    for block in wavelet.channel.blocks:
        number = round(people * block.share)
        counts = np.rint(number * block.mean(mass)).astype(np.int64)
        # Rounding must not break the fixed size of the sets.
        short = number * block.law.members - counts.sum()
        seen = counts.reshape(-1, 2).sum(axis=1)
        if block.law.members == block.law.coordinates:
            counts[0::2] += number - seen
        else:
            counts[int(np.argmin(seen)) * 2] += short
        blocks.append(counts)
        reports.append(number)
    return CountTally(blocks, reports, wavelet.fingerprint)


def test_the_noiseless_expansion_meets_the_cdf_at_every_knot() -> None:
    rng = np.random.default_rng(1)
    # Values anywhere, on knots and at the upper end.
    values = np.r_[rng.random(500), rng.integers(0, 65, 300) / 64, np.ones(40), np.zeros(10)]
    for j in (0, 3, 5):
        cells = 2 ** (j + 1)
        knots = np.arange(cells + 1) / cells
        differences = []
        for level in range(j + 1):
            k = np.minimum((values * 2**level).astype(int), 2**level - 1)
            right = values * 2**level - k >= 0.5
            # Equation 37, as a difference of masses: 2^(-j/2) a_jk.
            differences.append(np.bincount(k, 1 - 2 * right, 2**level) / values.size)
        cdf = np.r_[0, np.cumsum(expand(differences))]
        # A value on a knot is in the cell that begins there, one at 1 in the last.
        below = np.array([(values < knot).mean() for knot in knots[:-1]] + [1.0])
        assert np.abs(cdf - below).max() < 1e-12
        for one, two in zip(differences, differences_of(np.diff(cdf)), strict=True):
            assert np.abs(one - two).max() < 1e-12


def test_the_expansion_is_the_haar_series() -> None:
    mass = uneven(8, 2)
    points = (np.arange(8) + 0.5) / 8
    density = np.ones(8)
    for j, level in enumerate(differences_of(mass)):
        for k, difference in enumerate(level):
            position = points * 2**j - k
            psi = 2 ** (j / 2) * (
                1.0 * ((position >= 0) & (position < 0.5)) - ((position >= 0.5) & (position < 1))
            )
            density += 2 ** (j / 2) * difference * psi
    assert np.abs(density / 8 - mass).max() < 1e-14
    assert np.abs(expand(differences_of(mass)) - mass).max() < 1e-15


@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
@pytest.mark.parametrize("mass_sums", [True, False])
def test_a_noiseless_tally_gives_the_truth(epsilon: float, mass_sums: bool) -> None:
    wavelet = Wavelet(UNIT, epsilon)
    mass = uneven(64, 3)
    tally = noiseless(wavelet, mass)
    result = WaveletClip(signed=True, mass_sums=mass_sums).decode(wavelet.channel, tally)
    assert result.signed is not None
    for answer in (result, result.signed):
        assert np.abs(answer.mass - mass).max() < 1e-9
        assert answer.reports == tally.total and answer.guarantee == wavelet.guarantee


@pytest.mark.parametrize(
    ("epsilon", "mass_sums"),
    [
        (1, False),
        *(pytest.param(*one, marks=pytest.mark.soak) for one in ((1, True), (3, False), (3, True))),
    ],
)
def test_coefficients_are_unbiased(epsilon: float, mass_sums: bool) -> None:
    domain = Interval(0, 1, bins=16)
    wavelet = Wavelet(domain, epsilon)
    people = np.random.default_rng(4).multinomial(4000, uneven(16, 5))
    rng = np.random.default_rng(6)
    draws = []
    for _ in range(DECODES):
        tally = simulate(wavelet, people, rng=rng)
        found = estimated_differences(levels_of(wavelet, tally), mass_sums=mass_sums)
        draws.append(np.concatenate(found))
    draws = np.array(draws)
    truth = np.concatenate(differences_of(people / people.sum()))
    errors = np.abs(draws.mean(axis=0) - truth) / (draws.std(axis=0) / math.sqrt(DECODES))
    assert accepts(2 * truth.size * stats.norm.sf(errors.max()))
    # Divided by a gain that is a tenth too large, they would be found out.
    wrong = np.abs(draws.mean(axis=0) / 1.1 - truth) / (draws.std(axis=0) / math.sqrt(DECODES))
    assert not accepts(2 * truth.size * stats.norm.sf(wrong.max()))
    if mass_sums:
        return
    start = 0
    for j, level in enumerate(differences_of(people / people.sum())):
        part = draws[:, start : start + 2**j]
        start += 2**j
        share = wavelet.channel.blocks[j].share
        # Given the people of the level V_j / 2^j - 1, and who they are: drawn without replacement.
        right = coefficient_variance(j, epsilon) / 2**j - 1 + (1 - share) * (1 - level @ level)
        assert part.var(axis=0).sum() * share * people.sum() == pytest.approx(right, rel=0.15)


def test_the_raw_expansion_sums_to_one_with_negative_cells() -> None:
    wavelet = Wavelet(UNIT, 0.5)
    tally = simulate(wavelet, SPIKY, rng=1)
    answer = signed_estimate(WaveletClip(), wavelet.channel, tally)
    assert isinstance(answer, SignedEstimate)
    assert answer.mass.min() < -0.01 and abs(answer.mass.sum() - 1) < 1e-12
    assert answer.probability(0.25, 0.75) == pytest.approx(answer.mass[16:48].sum())


def test_clipped_masses_are_never_negative() -> None:
    rng = np.random.default_rng(9)
    domain = Interval(0, 1, bins=32, outside="clip")
    wavelets = [Wavelet(domain, epsilon, levels=5) for epsilon in (0.1, 1, 2, 6)]
    for trial in range(300):
        wavelet = wavelets[trial % 4]
        people = rng.multinomial(int(rng.integers(1, 3000)), rng.dirichlet(np.full(32, 0.05)))
        tally = simulate(wavelet, people, rng=rng)
        decoder = WaveletClip(literal=trial % 3 == 0, mass_sums=trial % 2 == 0, band=False)
        answer = decoder.decode(wavelet.channel, tally)
        assert isinstance(answer, Distribution)
        assert answer.mass.min() >= 0 and abs(answer.mass.sum() - 1) < 1e-12


def test_the_clip_by_hand() -> None:
    differences = [np.array([1.5]), np.array([-2.0, 0.3]), np.array([0.1, 0.2, -0.3, 0.4])]
    # All mass goes left, then right within it; level 2 splits the only cell that has any.
    assert expand(differences, clip=True).tolist() == [0, 0, 0.6, 0.4, 0, 0, 0, 0]
    # With the next cell read: a cell whose right neighbor is empty can only be split evenly.
    printed = expand(differences, literal=True)
    assert printed.tolist() == [0.3, 0.2, 0.25, 0.25, 0, 0, 0, 0]
    # No limit is needed where nothing would go negative.
    mass = uneven(32, 7)
    assert np.abs(expand(differences_of(mass), clip=True) - mass).max() < 1e-15


def kolmogorov_smirnov(mass: np.ndarray, people: np.ndarray) -> float:
    return float(np.abs(np.cumsum(mass) - np.cumsum(people) / people.sum()).max())


def test_the_literal_clip_fails_beside_empty_regions() -> None:
    empty = np.zeros(64, dtype=np.int64)
    empty[20:32] = 8000
    full = np.round(3000 * (1 + 0.5 * np.sin(np.arange(64) / 8))).astype(np.int64)
    for epsilon in (1, 4):
        wavelet = Wavelet(UNIT, epsilon)
        tally = simulate(wavelet, empty, rng=2)
        right = WaveletClip(band=False).decode(wavelet.channel, tally)
        printed = WaveletClip(literal=True, band=False).decode(wavelet.channel, tally)
        assert printed.mass.min() >= 0 and printed.mass.sum() == pytest.approx(1)
        assert kolmogorov_smirnov(printed.mass, empty) > 0.3
        assert kolmogorov_smirnov(right.mass, empty) < 0.06
        assert printed.provenance["literal"] is True
        # Without empty regions the two are much alike: so can the reading hide.
        tally = simulate(wavelet, full, rng=3)
        right = WaveletClip(band=False).decode(wavelet.channel, tally)
        printed = WaveletClip(literal=True, band=False).decode(wavelet.channel, tally)
        assert kolmogorov_smirnov(printed.mass, full) < 1.5 * kolmogorov_smirnov(right.mass, full)


def test_mass_sums_are_least_squares_over_the_tree() -> None:
    """Against a dense solution with the same variances and the known total."""
    wavelet = Wavelet(Interval(0, 1, bins=16), 3)
    tally = simulate(wavelet, SPIKY[:16] * 10, rng=5)
    levels = levels_of(wavelet, tally)
    rows, targets, weights = [], [], []
    for law, counts, reports in levels:
        cells = np.kron(np.eye(law.coordinates), np.ones(16 // law.coordinates))
        sides = np.repeat(np.tile([1.0, -1.0], law.coordinates), 8 // law.coordinates)
        rows.append(cells * sides)
        targets.append(law.differences(counts, reports))
        weights.append(np.full(law.coordinates, 1 / law.difference_variance(reports)))
        if np.isfinite(law.mass_variance(reports)):
            rows.append(cells)
            targets.append(law.masses(counts, reports))
            weights.append(np.full(law.coordinates, 1 / law.mass_variance(reports)))
    assert len(rows) > 4
    matrix, target, weight = np.vstack(rows), np.concatenate(targets), np.concatenate(weights)
    normal = matrix.T @ (weight[:, None] * matrix)
    system = np.block([[normal, np.ones((16, 1))], [np.ones((1, 16)), np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.r_[matrix.T @ (weight * target), 1.0])[:16]
    found = expand(estimated_differences(levels, mass_sums=True))
    assert np.abs(found - expected).max() < 1e-12


def test_mass_sums_lower_the_error_at_large_epsilon_and_do_nothing_at_small() -> None:
    people = SPIKY
    for epsilon, least, most in ((1, 1, 1), (2, 0.7, 0.95), (4, 0.5, 0.8)):
        wavelet = Wavelet(UNIT, epsilon)
        errors = {True: 0.0, False: 0.0}
        for seed in range(60):
            tally = simulate(wavelet, people, rng=seed)
            for mass_sums in errors:
                decoder = WaveletClip(mass_sums=mass_sums, band=False)
                mass = decoder.decode(wavelet.channel, tally).mass
                errors[mass_sums] += np.abs(np.cumsum(mass - people / people.sum())).mean()
        assert least <= errors[True] / errors[False] <= most


def test_the_band_covers() -> None:
    domain = Interval(0, 1, bins=32, outside="clip")
    wavelet = Wavelet(domain, 2)
    people = np.random.default_rng(1).multinomial(60_000, uneven(32, 8))
    cdf = np.cumsum(people) / people.sum()
    inner = (cdf > 0.02) & (cdf < 0.98)
    covered = []
    for seed in range(100):
        answer = WaveletClip().decode(wavelet.channel, simulate(wavelet, people, rng=seed))
        band = answer.confidence_band(0.95)
        assert band is not None
        heights = np.interp(domain.right[inner], band.points, band.low)
        tops = np.interp(domain.right[inner], band.points, band.high)
        covered.append(((heights <= cdf[inner]) & (cdf[inner] <= tops)).mean())
    low, high = COVERAGE_WINDOW
    assert low < np.mean(covered) < high


def test_cells_coarser_than_the_symbols_are_spread_evenly_without_a_band() -> None:
    for domain in (Interval(0, 1, bins=100, outside="clip"), Integers(0, 99, outside="clip"), UNIT):
        wavelet = Wavelet(domain, 3, levels=4)
        people = np.ones(domain.size, dtype=np.int64) * 1000
        answer = WaveletClip().decode(wavelet.channel, simulate(wavelet, people, rng=1))
        assert answer.confidence_band() is None
        cell = np.arange(domain.size) * 16 // domain.size
        for number in range(16):
            inside = answer.mass[cell == number]
            assert np.ptp(inside) < 1e-15
        assert np.abs(np.cumsum(answer.mass)[-1] - 1) < 1e-12


def test_a_level_without_reports_has_even_halves() -> None:
    wavelet = Wavelet(Interval(0, 1, bins=8), 2)
    full = simulate(wavelet, np.array([100, 5000, 0, 0, 900, 0, 3000, 1000]), rng=1)
    for mass_sums in (True, False):
        blocks, reports = list(full.blocks), list(full.reports)
        blocks[2], reports[2] = np.zeros_like(blocks[2]), 0
        tally = CountTally(blocks, reports, full.fingerprint)
        answer = WaveletClip(mass_sums=mass_sums).decode(wavelet.channel, tally)
        assert np.isfinite(answer.mass).all() and answer.mass.min() >= 0
        assert np.abs(answer.mass[0::2] - answer.mass[1::2]).max() < 1e-15
        assert answer.mass[:2].sum() > 0.3 and answer.confidence_band() is None
        only_first = [blocks[0], *(np.zeros_like(counts) for counts in blocks[1:])]
        alone = CountTally(only_first, [reports[0], 0, 0], full.fingerprint)
        coarse = WaveletClip(mass_sums=mass_sums).decode(wavelet.channel, alone)
        assert np.ptp(coarse.mass[:4]) < 1e-15
    nobody = CountTally([np.zeros_like(counts) for counts in blocks], [0, 0, 0], full.fingerprint)
    with pytest.raises(TallyError, match="no reports"):
        WaveletClip().decode(wavelet.channel, nobody)


def test_other_channels_are_refused() -> None:
    wave = SquareWave(UNIT, 1)
    counts = simulate(wave, SPIKY, rng=1)
    with pytest.raises(UnsupportedChannelError, match="signed subsets"):
        WaveletClip().decode(wave.channel, counts)
    one = SignedSubsetSelection(Integers(0, 7), 1)
    alone = simulate(one, np.arange(8) * 100, rng=1)
    with pytest.raises(UnsupportedChannelError, match=r"got \[4\]"):
        WaveletClip().decode(one.channel, alone)
    with pytest.raises(MismatchError):
        WaveletClip().decode(Wavelet(UNIT, 1).channel, counts)
