"""The wavelet paper's scripts: methods, judges, both forms of SW-EM, and random numbers."""

import math

import numpy as np
import pytest

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.figure_columns import beta52, blocks, interval
from benchmarks.accuracy.papers.wavelet import (
    wave_buckets,
)
from benchmarks.accuracy.papers.wavelet import wavelet_methods as methods
from benchmarks.signed_decoder import SignedDecoder
from lapwing.decoders.likelihood.expectation_maximization import ExpectationMaximization
from lapwing.papers.wavelet.wavelet import best_levels

PEOPLE = 100_000


def made(epsilon: float, bins: int = 1024) -> dict[str, tuple]:
    """Return name -> (randomizer, decoder) of the figures' methods on 2048 bins."""
    domain = interval(2048)
    return {
        one.name: (one.randomizer(domain, epsilon), one.decoder)
        for one in methods.paper_methods(PEOPLE, bins)
    }


class TestMethods:
    def test_the_wavelets_differ_by_level_clip_and_sums_only(self):
        found = made(1)
        decoders = {name: found[name][1] for name in (methods.WAVELET, methods.LITERAL)}
        assert found[methods.WAVELET][0].levels == 10  # J = ceil(log2(100,000) / 2) = 9
        assert found[methods.LITERAL][0] == found[methods.WAVELET][0]
        assert [one.literal for one in decoders.values()] == [False, True]
        for name in (methods.PURE, methods.OWN):
            assert found[name][0].levels == best_levels(PEOPLE, 1) == 8
        used = {name for name, pair in found.items() if getattr(pair[1], "mass_sums", False)}
        assert used == {methods.OWN}

    def test_where_both_rules_agree_there_is_one_randomizer(self):
        found = made(4)
        assert found[methods.PURE][0].fingerprint == found[methods.WAVELET][0].fingerprint

    def test_the_forms_of_sw_em(self):
        found = made(2)
        wave, decoder = found[methods.EM]
        assert isinstance(wave, lw.SquareWave) and wave.domain.size == 1024
        assert isinstance(decoder, ExpectationMaximization) and not decoder.smoothed
        for bins in (256, 512):
            fine, put = found[methods.EMS[bins]]
            assert fine.domain.size == 2048 and put.bins == bins
            assert put.decoder == decoder

    @pytest.mark.parametrize("epsilon", [1, 2, 3])
    def test_the_competitors(self, epsilon):
        found = made(epsilon)
        tree, hh = found[methods.HH]
        assert tree.domain.size == 1024
        assert (hh.decoder.method, hh.decoder.weighted) == ("weighted-average", False)
        assert found[methods.DW][1].method == "direct" and found[methods.IIW][1].method != "direct"
        assert found[methods.DW][0] == found[methods.IIW][0]
        assert found[methods.DW][0].domain.size == 256
        for bins, name in methods.BINNED.items():
            randomizer, decoder = found[name]
            # Section 6.1: kRR if d < 3 e^epsilon + 2, else OUE; then Norm-Sub.
            response = lw.RandomizedResponse
            wanted = (
                response
                if bins < 3 * math.exp(epsilon) + 2
                else lw.randomizers.OptimizedUnaryEncoding
            )
            assert type(randomizer) is wanted and randomizer.domain.size == bins
            assert isinstance(decoder, lw.LeastSquares) and not decoder.signed

    def test_a_paper_s_own_file_is_asked_for_before_the_stand_in(self, monkeypatch):
        asked = []

        def own(name, file, instead):
            asked.append((name, file, instead.args))
            return beta52(7)

        monkeypatch.setattr(methods, "paper_column", own)
        for name in methods.PEOPLE:
            assert methods.population(name).people == 7
        assert asked == [
            ("taxi", "taxi_2018_01", ("taxi", 8_760_687)),
            ("acs_income", "acs_income_2017", ("acs_income", 2_308_374)),
            ("sf_benefits", "sf_retirement_city", ("sf_benefits", 682_410)),
        ]

    def test_the_league_has_the_library_s_own_sums_under_the_kept_name(self):
        kept = {one.name: one for one in methods.league(PEOPLE, 256)}
        assert kept["bound's J"].decoder.mass_sums and not kept["wavelet"].decoder.mass_sums
        assert {"SW-EM", "SW-EMS", "HH-ADMM", "DW", "bins 64"} <= set(kept)


class TestJudges:
    truth = lw.Distribution(interval(8), np.full(8, 1 / 8)).cumulative
    answer = lw.Distribution(interval(8), np.array([0, 0, 2, 0, 2, 4, 0, 0]) / 8)

    def test_they_are_the_papers_figures(self):
        points = np.arange(1, 257) / 256
        gap = np.abs(self.answer.cdf(points) - points)
        assert methods.JUDGES["w1"](self.answer, self.truth) == pytest.approx(gap.mean(), rel=1e-9)
        assert methods.JUDGES["ks"](self.answer, self.truth) == pytest.approx(gap.max(), rel=1e-9)
        assert gap.max() > 1.5 * gap.mean()

    @pytest.mark.parametrize("width", [0.2, 0.4])
    def test_ranges_have_their_width(self, width):
        starts = np.linspace(0, 1 - width, 4001)
        inside = self.answer.cdf(starts + width) - self.answer.cdf(starts)
        wanted = np.abs(inside - width).mean()
        found = methods.JUDGES[f"range {width:.1g}".replace("0.", ".")](self.answer, self.truth)
        assert found == pytest.approx(wanted, rel=2e-3)
        other = np.abs(self.answer.cdf(starts + 0.3 * (1 - width)) - self.answer.cdf(starts))
        assert found != pytest.approx(np.abs(other - 0.3).mean(), rel=2e-2)


class TestBuckets:
    wave = lw.SquareWave(interval(512), 1)

    def test_the_matrix_is_li_s_integral(self):
        """Section 5.5: mean over a bin of the share of the wave that falls into a bucket."""
        bins = 8
        half = self.wave._half_window / 512 + 1 / 1024  # of a point's own width, too
        p, q = math.e, 1.0
        low, width = -half + 1 / 1024, (1 + 2 * half - 1 / 512) / bins
        places = (np.arange(1600) + 0.5) / 1600
        wanted = np.empty((bins, bins))
        for row in range(bins):
            start, end = low + row * width, low + (row + 1) * width
            over = np.minimum(end, places + half) - np.maximum(start, places - half)
            law = q * (end - start) + (p - q) * np.maximum(over, 0)
            wanted[row] = law.reshape(bins, -1).mean(axis=1)
        wanted /= wanted.sum(axis=0)
        channel = wave_buckets.bucketed(self.wave.channel, bins)
        found = channel.blocks[0].operator.matmat(np.eye(bins))
        np.testing.assert_allclose(found, wanted, atol=2e-3)
        np.testing.assert_allclose(found.sum(axis=0), 1, atol=1e-12)
        # A wave that is not cut into buckets of its own length would miss it by far.
        assert np.abs(np.roll(found, 1, axis=0) - wanted).max() > 0.02

    def test_products_and_decoding_are_those_of_the_dense_matrix(self):
        from lapwing.protocol.channels.channel import Block, Channel, Multinomial

        bins, rng = 16, np.random.default_rng(3)
        channel = wave_buckets.bucketed(self.wave.channel, bins)
        operator = channel.blocks[0].operator
        fine = self.wave._channel_at(bins).blocks[0].operator.matmat(np.eye(bins))
        dense = np.zeros((bins, bins))
        np.add.at(dense, wave_buckets.bucket_of(fine.shape[0], bins), fine)
        x = rng.random(bins)
        np.testing.assert_allclose(operator.matvec(x), dense @ x, atol=1e-14)
        np.testing.assert_allclose(operator.rmatvec(x), dense.T @ x, atol=1e-14)
        counts = beta52(20_000).draw(512, rng)
        tally = lw.simulate(self.wave, counts, rng=rng)
        em = ExpectationMaximization(band=False)
        ours = wave_buckets.InBuckets(bins, em).decode(self.wave.channel, tally)
        inside = np.zeros(bins, dtype=np.int64)
        np.add.at(inside, wave_buckets.bucket_of(tally.blocks[0].size, bins), tally.blocks[0])
        slow = Channel(
            channel.domain, [Block(dense, Multinomial())], channel.fingerprint, channel.guarantee
        )
        theirs = em.decode(slow, lw.tallies.CountTally([inside], tally.reports, tally.fingerprint))
        np.testing.assert_allclose(ours.mass, theirs.mass, atol=1e-9)

    def test_it_finds_the_people(self):
        counts = np.repeat([100, 6000, 2000, 300], 128)
        wave = lw.SquareWave(interval(512), 8)
        decoder = wave_buckets.InBuckets(8, ExpectationMaximization(band=False))
        answer = decoder.decode(wave.channel, lw.simulate(wave, counts, rng=1))
        wanted = counts.reshape(8, -1).sum(axis=1) / counts.sum()
        np.testing.assert_allclose(answer.mass, wanted, atol=0.01)
        # Another epsilon's wave is not read with the matrix of the first.
        again = lw.SquareWave(interval(512), 4)
        answer = decoder.decode(again.channel, lw.simulate(again, counts, rng=1))
        np.testing.assert_allclose(answer.mass, wanted, atol=0.04)


class TestRepeats:
    def test_every_factor_enters_the_random_numbers(self):
        base = (0, "taxi", 8, 16, "1", 0)
        first = methods.generator(*base).random()
        assert methods.generator(*base).random() == first
        others = [(*base[:i], f"{base[i]}x", *base[i + 1 :]) for i in range(len(base))]
        assert len({methods.generator(*one).random() for one in [base, *others]}) == 7

    def test_cells_share_no_people_and_one_randomizer_s_methods_share_reports(self):
        plain = SignedDecoder(lw.LeastSquares())
        same = [Method("a", lw.SquareWave, plain), Method("b", lw.SquareWave, plain)]
        other = Method("c", lw.RandomizedResponse, plain)
        seen = []

        def judge(answer, truth):
            seen.append(tuple(truth.at(np.arange(1, 17) / 16)))
            return float(answer.mass[0])

        found = []
        for column, epsilon, seed in (
            (beta52(500), 2, 0),
            (beta52(500), 1, 0),
            (beta52(500), 2, 1),
        ):
            found.append(
                methods.repeated(
                    [*same, other],
                    column,
                    {"it": judge},
                    bins=16,
                    epsilon=epsilon,
                    repeats=3,
                    seed=seed,
                )
            )
        assert all(one["a"]["it"] == one["b"]["it"] != one["c"]["it"] for one in found)
        assert len(set(seen)) == 9  # three cells of three repeats, all of other people
        whole = methods.repeated(
            same, blocks(4, 500), {"it": judge}, bins=16, epsilon=2, repeats=1, seed=0
        )
        assert set(whole) == {"a", "b"}
