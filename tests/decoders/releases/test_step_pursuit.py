"""Step pursuit and cell counts: exact without noise, honest bands, refusals."""

from functools import cache

import numpy as np
import pytest

from lapwing.decoders.empirical_bayes.spectral_prior import SpectralPrior
from lapwing.decoders.releases.prefix_estimate import CellCounts, prefix_estimate
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.distances import kolmogorov_smirnov
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.planning.simulation import simulate
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.randomizers.numerical.square_wave import SquareWave
from lapwing.results.distribution import Distribution
from lapwing.results.symbols import missing_share
from tests.false_alarms import COVERAGE_DRAWS, COVERAGE_WINDOW, LEAST_SIMULTANEOUS

DOMAIN = Interval(0, 1, bins=24)
APPROXIMATE = Promise("replace-one", epsilon=1, delta="1e-6")
HIDDEN = Promise("add-or-remove-one", epsilon=1, delta="1e-6")
LINEAR = [PrefixSums(), SumTree(4), SumTree(strategy="haar")]


def summary(people=20_000, seed=0, missing=0):
    values = np.random.default_rng(seed).beta(5, 2, people)
    values[:missing] = np.nan
    return ExactCounts.of_values(values, DOMAIN)


def without_noise(mechanism, held, promise=APPROXIMATE):
    """Return the release with its noise taken out again: for tests of decoders only."""
    found = mechanism.release(held, promise, rng=seeded(1))
    exact = np.rint(dense(found.channel.blocks[0].operator) @ held.counts).astype(np.int64)
    return Release(mechanism, found.domain, exact, found.parts)


@pytest.mark.parametrize("mechanism", LINEAR, ids=repr)
class TestEstimate:
    @pytest.mark.parametrize("promise", [APPROXIMATE, HIDDEN], ids=["public", "hidden"])
    def test_without_noise_the_prefix_sums_are_the_truth(self, mechanism, promise):
        held = summary(missing=1000)
        found = without_noise(mechanism, held, promise)
        estimate = prefix_estimate(found.channel, found)
        assert np.allclose(estimate.sums, np.cumsum(held.counts), atol=1e-4)

    def test_the_covariance_is_that_of_least_squares(self, mechanism):
        found = mechanism.release(summary(), APPROXIMATE, rng=seeded(1))
        matrix = dense(found.channel.blocks[0].operator)
        sums = np.tril(np.ones((25, 25)))
        expected = sums @ np.linalg.inv(matrix.T @ matrix) @ sums.T
        estimate = prefix_estimate(found.channel, found)
        columns = np.column_stack([estimate.column(i) for i in range(25)])
        assert np.allclose(columns, expected, rtol=1e-4, atol=1e-5 * expected.max())
        # What is known takes its part out: the formula of a conditional normal law.
        given = estimate.condition(-1, 20_000).condition(10, 5_000)
        assert given.sums[24] == 20_000 and given.sums[10] == pytest.approx(5_000)
        known = [24, 10]
        inner = np.linalg.inv(expected[np.ix_(known, known)])
        reduced = expected - expected[:, known] @ inner @ expected[known]
        columns = np.column_stack([given.column(i) for i in range(25)])
        assert np.allclose(columns, reduced, atol=2e-4 * expected.max())

    def test_decoded_it_is_near_the_truth(self, mechanism):
        held = summary()
        found = mechanism.release(held, APPROXIMATE, rng=seeded(2))
        result = StepPursuit().decode(found.channel, found)
        truth = Distribution.of_counts(held.counts, held.domain)
        assert kolmogorov_smirnov(result, truth) < 0.01
        assert result.guarantee == found.guarantee and result.reports == 20_000


class TestDecoding:
    def test_smoothing_helps_and_isotonic_alone_is_on_request(self):
        better = []
        for seed in range(40):
            held = summary(people=5_000, seed=seed)
            found = PrefixSums().release(
                held, Promise("replace-one", epsilon="0.1", delta="1e-6"), rng=seeded(seed)
            )
            truth = Distribution.of_counts(held.counts, held.domain)
            smooth = StepPursuit(band=False).decode(found.channel, found)
            rough = StepPursuit(smooth=False, band=False).decode(found.channel, found)
            better.append(kolmogorov_smirnov(smooth, truth) < kolmogorov_smirnov(rough, truth))
        # By chance alone 33 of 40 has probability 2e-5.
        assert sum(better) >= 33

    def test_atoms_of_whole_numbers_are_kept(self):
        values = np.repeat([3, 30, 31, 77], [4000, 3000, 2000, 1000])
        held = ExactCounts.of_values(values, Integers(0, 99, outside="clip"))
        found = PrefixSums().release(held, APPROXIMATE, rng=seeded(1))
        result = StepPursuit().decode(found.channel, found)
        assert set(result.provenance["jumps"]) >= {3, 30, 31, 77}
        assert result.share(3) == pytest.approx(0.4, abs=0.02)

    @pytest.mark.parametrize("missing", [0, 4000])
    def test_missing_values_have_their_share(self, missing):
        found = PrefixSums().release(summary(missing=missing), APPROXIMATE, rng=seeded(1))
        result = StepPursuit().decode(found.channel, found)
        assert missing_share(result) == pytest.approx(missing / 20_000, abs=0.005)
        assert missing or missing_share(result) == 0

    def test_the_spectral_prior_reads_releases_too(self):
        held = summary()
        found = PrefixSums().release(held, APPROXIMATE, rng=seeded(2))
        result = SpectralPrior(band=False).decode(found.channel, found)
        truth = Distribution.of_counts(held.counts, held.domain)
        assert kolmogorov_smirnov(result, truth) < 0.02

    def test_nobody_at_all_is_answered(self):
        empty = ExactCounts(DOMAIN, np.zeros(25, dtype=np.int64))
        found = PrefixSums().release(empty, HIDDEN, rng=seeded(1))
        result = StepPursuit().decode(found.channel, found)
        assert np.isfinite(result.mass).all()

    def test_reports_of_people_are_refused(self):
        wave = SquareWave(Interval(0, 1, bins=25), 1)
        tally = simulate(wave, np.full(25, 100), rng=np.random.default_rng(1))
        for decoder in (StepPursuit(), CellCounts()):
            with pytest.raises(UnsupportedChannelError):
                decoder.decode(wave.channel, tally)

    def test_a_coarse_histogram_does_not_determine_symbols(self):
        found = HistogramQuery(5).release(summary(), APPROXIMATE, rng=seeded(1))
        with pytest.raises(UnsupportedChannelError, match="does not determine"):
            StepPursuit().decode(found.channel, found)


class TestCellCounts:
    @pytest.mark.parametrize("interpolate", [True, False])
    def test_without_noise_the_cells_are_exact(self, interpolate):
        held = summary(missing=500)
        found = without_noise(HistogramQuery(6), held)
        result = CellCounts(interpolate=interpolate).decode(found.channel, found)
        shares = np.add.reduceat(held.counts, [0, 4, 8, 12, 16, 20, 24]) / 20_000
        assert np.allclose(np.add.reduceat(result.mass, [0, 4, 8, 12, 16, 20, 24]), shares)
        if interpolate:
            assert result.mass[5] == result.mass[4]
        else:
            assert result.mass[4] == 0 < result.mass[7]

    @pytest.mark.parametrize("interpolate", [True, False])
    def test_a_noisy_count_of_nobody_missing_is_none(self, interpolate):
        # Twice the noise's deviation says nothing; ten times it is people.
        found = without_noise(HistogramQuery(6), summary())
        for many, kept in ((2, False), (10, True)):
            answers = found.answers.copy()
            answers[-1] = round(many * found.variance**0.5)
            noisy = Release(found.mechanism, found.domain, answers, found.parts)
            mass = CellCounts(interpolate=interpolate).decode(noisy.channel, noisy).mass
            assert (mass[-1] > 0) == kept
            assert (np.cumsum(mass)[-2] > 1 - 1e-12) != kept

    def test_negative_counts_become_zero(self):
        found = without_noise(HistogramQuery(6), summary())
        shifted = Release(found.mechanism, found.domain, found.answers - 1000, found.parts)
        result = CellCounts().decode(shifted.channel, shifted)
        assert result.mass.min() == 0

    def test_all_negative_is_no_information(self):
        found = without_noise(HistogramQuery(6), summary())
        negative = Release(found.mechanism, found.domain, -abs(found.answers), found.parts)
        result = CellCounts().decode(negative.channel, negative)
        assert np.isfinite(result.mass).all()


DENSITY = np.diff(np.linspace(0, 1, 25) ** 2)


@cache
def decodes(mechanism, promise, draws):
    """Return the counts of each draw, and what its release was decoded to."""
    rng, found = np.random.default_rng(9), []
    for seed in range(draws):
        counts = np.append(rng.multinomial(3_000, DENSITY), 0)
        made = mechanism.release(ExactCounts(DOMAIN, counts), promise, rng=seeded(seed))
        found.append((counts, StepPursuit(smooth=False).decode(made.channel, made)))
    return found


def coverage(mechanism, promise, draws, *, kind, target, shrink=1.0):
    """Return the covered share of the bins with 0.02 < F < 0.98, and of whole curves."""
    inside, whole = [], []
    for counts, result in decodes(mechanism, promise, draws):
        band = result.confidence_band(0.95, kind=kind, target=target)
        truth = np.cumsum(DENSITY if target == "population" else counts[:24] / 3_000)
        middle = (band.low + band.high) / 2
        low, high = middle + shrink * (band.low - middle), middle + shrink * (band.high - middle)
        covered = (low <= truth) & (truth <= high)
        used = (truth > 0.02) & (truth < 0.98)
        inside.append(covered[used].mean())
        whole.append(covered[used].all())
    return float(np.mean(inside)), float(np.mean(whole))


@pytest.mark.parametrize("target", ["empirical", "population"])
class TestBands:
    def test_they_cover_what_they_say(self, target):
        pointwise, _ = coverage(
            PrefixSums(), APPROXIMATE, COVERAGE_DRAWS, kind="pointwise", target=target
        )
        assert COVERAGE_WINDOW[0] <= pointwise <= COVERAGE_WINDOW[1]

    def test_half_of_one_does_not(self, target):
        pointwise, _ = coverage(
            PrefixSums(),
            APPROXIMATE,
            COVERAGE_DRAWS,
            kind="pointwise",
            target=target,
            shrink=0.5,
        )
        assert pointwise < COVERAGE_WINDOW[0] - 0.1

    def test_whole_curves_are_covered(self, target):
        _, simultaneous = coverage(SumTree(4), HIDDEN, 300, kind="simultaneous", target=target)
        assert simultaneous >= LEAST_SIMULTANEOUS
