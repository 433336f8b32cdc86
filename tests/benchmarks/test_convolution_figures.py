"""The convolution paper's figures: every method and judge fails on a wrong one of its kind."""

from __future__ import annotations

import datetime
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.ndimage import gaussian_filter1d

import lapwing as lw
from benchmarks.accuracy.papers.convolution import (
    convolution_columns,
    convolution_errors,
    convolution_figures,
)
from benchmarks.accuracy.papers.convolution.convolution_columns import (
    ITEMS,
    ON_ROUGH,
    ON_SMOOTH,
    PERMUTED,
    ROUGH,
    SMOOTH,
    THRESHOLDS,
    TOPS,
    Known,
    Shares,
)
from benchmarks.accuracy.papers.figure_columns import beta52, interval
from benchmarks.accuracy.papers.streams import stream
from benchmarks.signed_decoder import SignedDecoder
from tests.signed_decoder import unbiased

BINS, EPSILON = 48, 3.0
REPEATS = 12


# Methods, against the paper's formulas written anew.


def filtered(observed: np.ndarray, kernel: np.ndarray, power: np.ndarray | None, rounds: int):
    """Algorithm 1 on exact noise; `power` None starts at |G / H|^2."""
    size = observed.size
    seen, transfer = np.fft.fft(observed), np.fft.fft(kernel)
    own, other = kernel[0], kernel[1]
    noise = convolution_test_noise(own, other, size)
    signal = np.abs(seen / transfer) ** 2 if power is None else power
    for step in range(rounds + 1):
        filt = np.conj(transfer) / (np.abs(transfer) ** 2 + noise / signal)
        estimate = filt * seen
        if step < rounds:
            signal = np.abs(estimate) ** 2 + noise / (np.abs(transfer) ** 2 + noise / signal)
    estimate[0] = 1  # the known total
    return np.fft.ifft(estimate).real


PEOPLE = 200_000


def convolution_test_noise(own: float, other: float, size: int) -> float:
    """Theorem 3 off frequency 0; generalized response has size / (size - 1) times that."""
    printed = (size * other * (1 - other) + (own - other) * (1 - own - other)) / PEOPLE
    return printed * (size / (size - 1) if own + (size - 1) * other < 1.001 else 1)


@pytest.fixture(scope="module", params=["KRR", "OUE"])
def oracle(request) -> tuple[str, Any, Any, np.ndarray, np.ndarray]:
    """An oracle, its reports of a smooth column, their counts, and the transfer vector."""
    randomizer = convolution_columns.ORACLES[request.param](interval(BINS), EPSILON)
    law = 1 + 0.8 * np.sin(2 * np.pi * np.arange(BINS) / BINS) ** 3
    counts = np.random.default_rng(4).multinomial(PEOPLE, law / law.sum())
    tally = lw.simulate(randomizer, counts, rng=5)
    own, other = randomizer.channel.blocks[0].operator.compound
    kernel = np.full(BINS, other)
    kernel[0] = own
    return request.param, randomizer, tally, tally.blocks[0] / PEOPLE, kernel


def of(oracle: Any, decoders: Any, short: str) -> np.ndarray:
    return np.asarray(decoders[short].decode(oracle[1].channel, oracle[2]).mass)


class TestMethods:
    @pytest.mark.parametrize(
        ("short", "rounds", "from_reports"),
        [("DW", 0, False), ("IIW", 30, False), ("IIW-G", 10, True)],
    )
    def test_filters_against_algorithm_1(self, oracle, short, rounds, from_reports):
        _, _, _, observed, kernel = oracle
        power = np.abs(np.fft.fft(observed)) ** 2 if from_reports else None
        expected = filtered(observed, kernel, power, rounds)
        np.testing.assert_allclose(of(oracle, ON_SMOOTH, short), expected, atol=1e-9)
        other = filtered(observed, kernel, None if from_reports else power, rounds + 1)
        assert np.abs(other - expected).max() > 1e-6

    def test_no_filter_is_equation_1_for_each_value_alone(self, oracle):
        name, _, _, observed, kernel = oracle
        shares = (observed - kernel[1]) / (kernel[0] - kernel[1])
        for decoders in (ON_SMOOTH, ON_ROUGH):
            np.testing.assert_allclose(of(oracle, decoders, ""), shares, atol=1e-12)
        # Only the reports of randomized response make the shares add up by themselves.
        assert (abs(shares.sum() - 1) < 1e-9) == (name == "KRR")

    def test_kernels_of_smoothing(self, oracle):
        shares = np.asarray(unbiased(oracle[1].channel, oracle[2]).mass)
        inner = slice(16, 32)  # away from the ends, which the paper leaves open
        binomial = 0.5 * shares + 0.25 * (np.roll(shares, 1) + np.roll(shares, -1))
        np.testing.assert_allclose(of(oracle, ON_SMOOTH, "smoothing")[inner], binomial[inner])
        for name, sigma in (("GF1", 1), ("GF3", 3)):
            expected = gaussian_filter1d(shares, sigma)
            np.testing.assert_allclose(
                of(oracle, ON_SMOOTH, name)[inner], expected[inner], atol=1e-6
            )

    @pytest.mark.parametrize(("name", "sigma"), [("GF1-DW", 1), ("GF3-DW", 3)])
    def test_smoothing_then_wiener_takes_the_smoothed_spectrum(self, oracle, name, sigma):
        _, _, _, observed, kernel = oracle
        smooth = of(oracle, ON_SMOOTH, name.removesuffix("-DW"))
        expected = filtered(observed, kernel, np.abs(np.fft.fft(smooth)) ** 2, 0)
        np.testing.assert_allclose(of(oracle, ON_SMOOTH, name), expected, atol=1e-9)

    def test_amrp_is_the_mean_of_dw_over_orders(self, oracle):
        _, _, _, observed, kernel = oracle
        rng = np.random.default_rng(8)
        orders = [rng.permutation(BINS) for _ in range(300)]
        kept = np.zeros(BINS)
        for order in orders:
            kept[order] += filtered(observed[order], kernel, None, 0) / len(orders)
        direct = of(oracle, ON_ROUGH, "DW")
        found = of(oracle, ON_ROUGH, "DW-AMRP")
        # Two means over random orders differ by far less than one order differs from the mean.
        assert np.abs(found - kept).max() < 0.5 * np.abs(direct - kept).max()

    def test_the_largest_are_kept(self, oracle):
        kept = of(
            oracle,
            {"": SignedDecoder(lw.papers.convolution.Wiener(method="direct", keep_largest=3))},
            "",
        )
        assert ON_ROUGH["DW, 100 kept"].decoder.keep_largest == 100
        shares = np.asarray(unbiased(oracle[1].channel, oracle[2]).mass)
        top = np.argsort(-shares)[:3]
        np.testing.assert_allclose(kept[top], shares[top], atol=1e-9)

    def test_names_say_what_is_run(self):
        methods = {one.name: one for one in convolution_columns.methods(ON_SMOOTH)}
        assert "OUE-IIW-G" not in methods and len(methods) == 2 * len(ON_SMOOTH) - 1
        for name, one in methods.items():
            first, _, short = name.partition("-")
            assert one.randomizer is convolution_columns.ORACLES[first]
            assert one.decoder is ON_SMOOTH[short]
        assert convolution_columns.ORACLES["KRR"] is lw.RandomizedResponse
        assert convolution_columns.ORACLES["OUE"] is lw.randomizers.OptimizedUnaryEncoding


class TestJudges:
    known = Known.of(np.array([10, 40, 0, 30, 20]))
    answer = Shares(np.array([0.2, 0.4, -0.1, 0.25, 0.25]))

    def test_the_most_frequent_are_those_with_most_people(self):
        assert self.known.order.tolist() == [1, 3, 4, 0, 2]
        assert convolution_columns.top_mse(2, self.answer, self.known) == pytest.approx(0.05**2 / 2)
        assert convolution_columns.top_mse(1, self.answer, self.known) == pytest.approx(
            0, abs=1e-30
        )
        assert convolution_columns.mse(self.answer, self.known) == pytest.approx(
            (0.1**2 + 0 + 0.1**2 + 0.05**2 + 0.05**2) / 5
        )

    def test_true_and_false_positives(self):
        # Above 15 people: estimated 0, 1, 3 and 4; truly 1, 3 and 4.
        assert convolution_columns.positives(15, True, self.answer, self.known) == 3
        assert convolution_columns.positives(15, False, self.answer, self.known) == 1
        assert convolution_columns.positives(35, True, self.answer, self.known) == 1

    def test_a_column_is_asked_for_its_own_thresholds(self):
        for name in (SMOOTH, PERMUTED, ITEMS):
            judges = convolution_columns.judges_of(name)
            counts = THRESHOLDS[ITEMS if name == ITEMS else SMOOTH]
            for count in counts:
                assert judges[f"true {count}"].args == (count, True)
                assert judges[f"false {count}"].args == (count, False)
            assert [judges[f"top {top}"].args for top in TOPS] == [(top,) for top in TOPS]

    def test_the_distance_of_the_curves(self):
        gaps = np.cumsum(self.answer.mass - self.known.shares)
        assert convolution_errors.w1(self.answer, self.known) == pytest.approx(np.abs(gaps).mean())

    def test_how_far_a_spectrum_is(self):
        assert convolution_figures._far(np.array([9.0, 1.5, 0.5]), np.ones(3)) == pytest.approx(0.5)

    def test_equation_20_and_the_variance(self):
        # By hand for d = 4, e^epsilon = 3: KRR p = 1/2, q = 1/6; OUE p = 1/2, q = 1/4.
        epsilon = math.log(3)
        krr = (4 * 5 / 36 + 1 / 3 * 1 / 3) / 10
        assert convolution_figures._equation_20("KRR", epsilon, 4, 10) == pytest.approx(krr)
        oue = (4 * 3 / 16 + 1 / 4 * 1 / 4) / 10
        assert convolution_figures._equation_20("OUE", epsilon, 4, 10) == pytest.approx(oue)
        assert convolution_figures._variance("OUE", epsilon, 4, 10) == pytest.approx(3 / 10)


class TestStreams:
    def test_every_factor_gives_other_numbers(self):
        cell = ("figure 6", SMOOTH, "1000 values", "epsilon 4", 3)
        drawn = {stream(0, *cell).integers(2**62), stream(1, *cell).integers(2**62)}
        for place, other in enumerate(("figure 7", ROUGH, "100 values", "epsilon 1", 4)):
            changed = [*cell[:place], other, *cell[place + 1 :]]
            drawn.add(stream(0, *changed).integers(2**62))
        assert len(drawn) == 2 + len(cell)
        assert stream(0, *cell).integers(2**62) in drawn

    def test_a_cell_is_the_same_whatever_stands_beside_it(self):
        judges = {"mse": convolution_columns.mse}
        shape = {"figure": "x", "bins": 16, "epsilon": 2, "repeats": 3, "seed": 0}
        methods = convolution_columns.methods(ON_ROUGH)
        whole = convolution_columns.run("a", beta52(500), methods, judges, **shape)
        alone = convolution_columns.run("a", beta52(500), methods[4:6], judges, **shape)
        assert alone == {name: whole[name] for name in alone}
        other = convolution_columns.run("b", beta52(500), methods[4:6], judges, **shape)
        assert all(other[name] != alone[name] for name in alone)
        kept = whole["KRR"]["mse"]["values"]
        assert len(set(kept)) == 3
        assert np.mean(kept) == pytest.approx(whole["KRR"]["mse"]["mean"], rel=1e-4)


class TestOwnFiles:
    def test_the_papers_own_files_are_the_people_as_they_are(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LAPWING_DATA", str(tmp_path))
        shutil.copy(Path(__file__).parent / "fixtures" / "kosarak.dat", tmp_path)
        times = [datetime.datetime(2021, 6, 1, hour, 30) for hour in (1, 1, 8, 23)]
        column = pa.array(times, pa.timestamp("us"))
        trips = pa.table({"tpep_pickup_datetime": column})
        pq.write_table(trips, tmp_path / "yellow_tripdata_2021-06.parquet")
        found = convolution_columns.populations("taxi", "kosarak", 41_270, 3)
        assert list(found) == [SMOOTH, PERMUTED, ITEMS]  # nothing to smooth, so no rough column
        assert all(one.own_file for one in found.values())
        trips_by_hour = found[SMOOTH].draw(24, np.random.default_rng(1))
        assert np.flatnonzero(trips_by_hour).tolist() == [1, 8, 23]
        assert found[SMOOTH].people == trips_by_hour.sum() == 4
        assert sorted(found[PERMUTED].draw(24, np.random.default_rng(1))) == sorted(trips_by_hour)
        assert found[ITEMS].law(41_270).size == 41_270
        said = {name: convolution_columns.drawn_from(one, 24) for name, one in found.items()}
        head = convolution_columns.head(said, convolution_errors.FULL)
        assert "the paper's own file yellow_tripdata_2021-06.parquet" in head
        assert "stand-in" not in head
