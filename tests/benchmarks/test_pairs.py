"""Methods for pairs that the default is compared with, their errors, ratios and coverage."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import lapwing as lw
from benchmarks.accuracy.pairs import (
    baselines,
    columns,
    dependence_coverage,
    kinds_coverage,
    label_league,
    league,
    marginal_cost,
)
from benchmarks.accuracy.pairs.pair_coverage import covered
from benchmarks.accuracy.pairs.rectangles import rectangles, scores
from lapwing.results.joint_distribution import JointDistribution, JointUncertainty

MANY = 4_000_000
SHARES = columns.shares(columns.MADE_UP, 16)
COUNTS = np.random.default_rng(1).multinomial(MANY, SHARES.ravel()).reshape(16, 16)


def generator() -> np.random.Generator:
    return np.random.default_rng(5)


class TestMethods:
    @pytest.mark.parametrize(
        "method",
        [
            partial(baselines.grid, side=16),
            baselines.hdg,
            baselines.ahead,
            partial(baselines.box, side=1, smoothed=False),
        ],
    )
    def test_a_huge_epsilon_gives_the_table(self, method):
        found = method(COUNTS, 14, generator())
        assert found.sum() == pytest.approx(1)
        assert found.min() >= 0
        assert max(scores(found, COUNTS / MANY).values()) < 1e-3
        # Of other people it is not the table.
        assert min(scores(found, COUNTS.T / MANY).values()) > 0.02

    @pytest.mark.parametrize("method", [baselines.product_of_halves, baselines.product_of_both])
    def test_a_product_is_right_where_the_attributes_are_independent_only(self, method):
        independent = np.outer(SHARES.sum(axis=1), SHARES.sum(axis=0))
        people = np.random.default_rng(1).multinomial(MANY, independent.ravel()).reshape(16, 16)
        assert max(scores(method(people, 14, generator()), people / MANY).values()) < 2e-3
        assert min(scores(method(COUNTS, 14, generator()), COUNTS / MANY).values()) > 0.02

    def test_a_coarse_grid_spreads_people_evenly(self):
        found = baselines.grid(COUNTS, 14, generator(), side=3)
        assert np.ptp(found[:5, :5]) == pytest.approx(0)
        assert found[:5, :5].sum() == pytest.approx(COUNTS[:5, :5].sum() / MANY, abs=1e-3)
        assert found[0, 0] != pytest.approx(found[5, 5])

    def test_smoothing_moves_the_estimate_of_a_box(self):
        plain, smooth = (
            baselines.box(COUNTS, 4, generator(), side=3, smoothed=smoothed)
            for smoothed in (False, True)
        )
        assert np.abs(np.diff(smooth, axis=0)).sum() < np.abs(np.diff(plain, axis=0)).sum()

    @pytest.mark.parametrize(("cells", "epsilon"), [(4, 2.0), (200, 1.0)])
    def test_shares_have_the_variance_of_the_better_oracle(self, cells, epsilon):
        people = np.full(cells, 200)
        rng = generator()
        found = np.array([baselines.frequencies(people, epsilon, rng) for _ in range(400)])
        odds = np.exp(epsilon)
        # Of an empty cell; one of many has hardly more.
        more = min(cells - 2 + odds, 4 * odds) / (odds - 1) ** 2
        assert found.mean() == pytest.approx(1 / cells, rel=0.05)
        assert found.var(axis=0).mean() * people.sum() == pytest.approx(more, rel=0.35)

    def test_groups_are_of_equal_size_and_hold_everybody(self):
        groups = baselines.divided(COUNTS, 3, generator())
        assert (sum(groups) == COUNTS).all()
        assert max(group.sum() for group in groups) - min(group.sum() for group in groups) <= 1


class TestScores:
    def test_a_share_moved_by_one_cell_is_seen_where_it_is(self):
        truth = np.full((4, 4), 1 / 16)
        moved = truth.copy()
        moved[0, 0] += 0.1
        moved[0, 1] -= 0.1
        # Of 25 corners four lie to the right of the first column and not of the second one.
        assert scores(moved, truth)["cdf"] == pytest.approx(0.1 * np.sqrt(4 / 25))
        low, _, left, right = rectangles(4).T
        seen = (low == 0) & ((left == 0) != ((left <= 1) & (right > 1)))
        assert scores(moved, truth)["rectangles"] == pytest.approx(0.1 * np.sqrt(seen.mean()))

    def test_the_best_of_others_is_the_least_of_them(self):
        cells = [
            {"errors": {"cdf": {name: {"errors": errors} for name, errors in found.items()}}}
            for found in (
                {"ours": [1.0, 1.0], "HDG": [2.0, 2.0], "AHEAD": [4.0, 4.0]}
                | {name: [8.0, 8.0] for name in ("grid", "product", "box")},
                {"ours": [1.0, 1.0], "HDG": [8.0, 8.0], "AHEAD": [0.5, 0.5]}
                | {name: [8.0, 8.0] for name in ("grid", "product", "box")},
            )
        ]
        means = league.mean_ratios(cells, "cdf")
        assert means["HDG"] == pytest.approx({"ratio": 4, "low": 4, "high": 4})
        assert means["best"]["ratio"] == pytest.approx(1)

    def test_the_interval_is_as_wide_as_the_repeats_differ(self):
        rng = np.random.default_rng(0)
        cell = {name: {"errors": rng.uniform(1, 2, 20).tolist()} for name in league.FAMILIES}
        cell["ours"] = {"errors": rng.uniform(1, 2, 20).tolist()}
        one = league.mean_ratios([{"errors": {"cdf": cell}}], "cdf")["HDG"]
        many = league.mean_ratios([{"errors": {"cdf": cell}}] * 16, "cdf")["HDG"]
        assert one["low"] < one["ratio"] < one["high"]
        assert (many["high"] - many["low"]) * 2 < one["high"] - one["low"]


class TestCoverage:
    def answer(self, shares, spread):
        domain = columns.domain_of(columns.MADE_UP, 16)
        draws = np.random.default_rng(0).normal(0, spread, (48, 256)).astype(np.float32)
        draws -= draws.mean(axis=1, keepdims=True)
        center = shares.ravel()
        return JointDistribution(
            domain,
            center,
            reports=MANY,
            uncertainty=JointUncertainty(center, draws, "made up"),
        )

    def test_wide_intervals_hold_the_truth(self):
        found = covered(self.answer(SHARES, 0.01), COUNTS, SHARES)
        assert {name for one in found.values() for name in one} == {"people", "population", "reach"}
        assert min(one["people"] for one in found.values()) == 1

    def test_narrow_intervals_of_another_table_do_not(self):
        found = covered(self.answer(SHARES.T, 1e-7), COUNTS, SHARES)
        assert max(one["people"] for one in found.values()) < 0.3


class TestWithinLabels:
    shares = label_league.shares("made up", 16)
    counts = np.random.default_rng(1).multinomial(MANY, shares.ravel()).reshape(shares.shape)

    def test_a_huge_epsilon_gives_the_grid_and_independence_stays_wrong(self):
        found = label_league.grid(self.counts, 14, generator(), 16)
        assert label_league.error(found, self.counts / MANY) < 1e-3
        found = label_league.halves(self.counts, 14, generator())
        assert label_league.error(found, self.counts / MANY) > 0.05

    def test_an_error_is_the_mean_of_its_labels(self):
        truth = np.zeros((2, 4))
        truth[0, 0], truth[1, 0] = 0.75, 0.25
        moved = truth[:, [1, 0, 2, 3]]
        assert label_league.error(moved, truth) == pytest.approx(1 / 4)
        moved[0] = truth[0]
        assert label_league.error(moved, truth) == pytest.approx(1 / 16)
        # A label to which nobody is estimated takes the distribution of all.
        assert label_league.error(truth * [[0], [1]], truth) == 0


def test_the_cost_of_a_joint_question_is_that_of_its_marginals():
    first = {"pairs": [0.3, 0.1], "all": [0.1, 0.1], "half": [0.2, 0.2]}
    cell = {"errors": {"first": first, "second": {**first, "pairs": [0.1, 0.1]}}}
    assert marginal_cost.ratios(cell, "all") == pytest.approx([2, 1])
    assert marginal_cost.ratios(cell, "half") == pytest.approx([1, 0.5])
    assert marginal_cost._w1(np.array([0.5, 0, 0.5, 0]), np.array([0, 2, 2, 0])) == 0.125
    found = marginal_cost.measure(**{**marginal_cost.QUICK, "repeats": 1})
    (measured,) = found["cells"]
    # Two surveys of the same people and the same errors would have the ratio 1.
    assert 1 < np.exp(np.log(marginal_cost.ratios(measured, "all")).mean()) < 6


def test_rows_with_a_missing_value_are_left_out_and_values_beyond_a_range_are_clipped(
    tmp_path, monkeypatch
):
    rows = {
        "distance_miles": pa.array([100, 100, 5_000, None], pa.int16()),
        "arrival_delay_minutes": pa.array([0.0, None, 900.0, 0.0], pa.float32()),
    }
    pyarrow.parquet.write_table(pa.table(rows), tmp_path / "flights_houston2011.parquet")
    monkeypatch.setenv("LAPWING_DATA", str(tmp_path))
    found = columns.shares.__wrapped__("distance x delay", 64)
    assert np.argwhere(found).tolist() == [[1, 15], [63, 63]]
    assert found.max() == 0.5


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("LAPWING_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="adult_numeric"):
        columns.shares.__wrapped__("age x capital gain", 64)


def test_every_pair_has_a_domain_of_its_own_cells():
    for name in (*columns.PAIRS, columns.MADE_UP):
        assert columns.domain_of(name).shape == (64, 64)
        lw.randomizers.MultiscaleBoxes(columns.domain_of(name), 1)


def test_a_kind_whose_intervals_miss_is_said():
    found = kinds_coverage.measure(**{**kinds_coverage.QUICK, "repeats": 1})
    (cell,) = found["cells"]
    assert all(0.8 < cell["held"][what] <= 1 for what in kinds_coverage.KINDS)
    held = dict.fromkeys(kinds_coverage.KINDS, 0.95)
    cells = [{"pair": pair, "epsilon": e, "held": held} for pair in "ab" for e in (1, 4)]
    cells[0] = {**cells[0], "held": {**held, "differences": 0.88}}
    said = kinds_coverage.section({"cells": cells}, {**kinds_coverage.QUICK, "runs": 2})
    assert "| **mean, missed** | 1 | 95.0 | 95.0 | 95.0 | 91.5 |" in said
    assert "| **mean, met** | 4 |" in said and "joined of 2 runs" in said


def test_the_coverage_of_a_dependence_counts_what_intervals_hold():
    found = dependence_coverage.measure(**{**dependence_coverage.QUICK, "repeats": 1})
    (cell,) = found["cells"]
    for what in dependence_coverage.MEASURES:
        one = cell["coverage"][what]
        assert 0.5 <= one["people"] <= 1 and one["reach"] > 0
    assert cell["coverage"]["differences"]["population"] > 0.8
    domain = columns.domain_of("made up", 16)
    table = columns.shares("made up", 16)
    exact = JointDistribution(domain, table.ravel())
    tight = replace(
        exact, uncertainty=JointUncertainty(exact.mass, np.zeros((2, 256), np.float32), "")
    )
    moved = np.zeros((16, 16))
    assert dependence_coverage.differences_held(tight, tight, moved) == 1
    moved[8, 8] = 0.1
    assert dependence_coverage.differences_held(tight, tight, moved) < 0.9
