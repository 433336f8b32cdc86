"""The convolution paper's figures: every method and judge fails on a wrong one of its kind."""

import datetime
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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


class TestMethods:
    """The filters are checked against the paper's scripts in `tests/papers/convolution`."""

    @pytest.mark.parametrize("name", ["KRR", "OUE"])
    def test_no_filter_is_equation_1_for_each_value_alone(self, name):
        randomizer = convolution_columns.ORACLES[name](interval(48), 3.0)
        tally = lw.simulate(randomizer, 100 * np.arange(48), rng=5)
        own, other = randomizer.channel.blocks[0].operator.compound
        shares = (tally.blocks[0] / tally.total - other) / (own - other)
        for decoders in (ON_SMOOTH, ON_ROUGH):
            found = decoders[""].decode(randomizer.channel, tally).mass
            np.testing.assert_allclose(found, shares, atol=1e-12)
        # Only the reports of randomized response make the shares add up by themselves.
        assert (abs(shares.sum() - 1) < 1e-9) == (name == "KRR")

    def test_each_name_has_its_filter(self):
        paper = lw.papers.convolution
        for decoders, expected in (
            (ON_SMOOTH, {"DW": "direct", "IIW": "iterative", "IIW-G": "iterative-from-reports"}),
            (ON_ROUGH, {"DW": "direct", "DW-AMRP": "permuted"}),
        ):
            for name, method in expected.items():
                assert decoders[name].decoder == paper.Wiener(method=method, band=False)
        assert ON_SMOOTH["smoothing"].decoder == paper.BinomialSmoothing()
        for sigma in (1, 3):
            smoothing = paper.GaussianSmoothing(sigma=sigma)
            assert ON_SMOOTH[f"GF{sigma}"].decoder == smoothing
            assert ON_SMOOTH[f"GF{sigma}-DW"].decoder == replace(smoothing, wiener=True)
        kept = paper.Wiener(method="direct", keep_largest=100, band=False)
        assert ON_ROUGH["DW, 100 kept"].decoder == kept

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
