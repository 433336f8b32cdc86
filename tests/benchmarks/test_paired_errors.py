"""Errors of methods on the same people: what is paired, what is drawn anew, what a mean is."""

import math

import numpy as np
import pytest

import lapwing as lw
from benchmarks.accuracy.local import best_of_own, fresh_columns
from benchmarks.accuracy.local.methods import EMS, Method
from benchmarks.accuracy.local.paired_errors import OURS, Crowd, compared, errors, mean_ratio

CROWD = Crowd("steep", np.arange(16, 0, -1) * 500, False, "made up")
WAVE = Method("wave, EMS", lw.SquareWave, EMS)
SAME = Method("the same reports", lw.SquareWave, EMS)
OTHER = Method("other reports", lambda d, e: lw.SquareWave(d, e, width=0.2), EMS)


def test_one_randomizer_gets_the_same_reports_and_another_one_others() -> None:
    found = errors([WAVE, SAME, OTHER], CROWD, epsilon=1, repeats=3)
    assert found[WAVE.name] == found[SAME.name]
    assert found[WAVE.name] != found[OTHER.name]
    assert len(set(found[WAVE.name]["w1"])) == 3
    assert found == errors([WAVE, SAME, OTHER], CROWD, epsilon=1, repeats=3)
    ratio = compared(found, WAVE.name, SAME.name)["w1"]
    assert (ratio["ratio"], ratio["standard_error"]) == (1, 0)


def test_many_reports_at_a_large_epsilon_leave_no_error() -> None:
    many = Crowd("many", CROWD.counts * 1_000_000, False, "made up")
    method = Method("GRR", lw.RandomizedResponse, lw.LeastSquares())
    found = errors([method], many, epsilon=12, repeats=1)
    assert max(found["GRR"]["w1"][0], found["GRR"]["ks"][0]) < 1e-4


def test_the_mean_ratio_is_geometric_and_its_error_falls_with_the_cells() -> None:
    cells = [{"ratio": 0.5, "standard_error": 0.05}, {"ratio": 2.0, "standard_error": 0.2}]
    mean = mean_ratio(cells)
    assert mean["ratio"] == pytest.approx(1)
    assert mean["standard_error"] == pytest.approx(0.1 / math.sqrt(2))


def test_the_best_is_judged_on_repeats_that_did_not_choose_it() -> None:
    # "even" looks best on the even repeats and is not on the odd ones; the other way round "odd".
    found = {
        OURS.name: {"w1": [2.0, 2.0, 2.0, 2.0]},
        "even": {"w1": [1.0, 4.0, 1.0, 4.0]},
        "odd": {"w1": [8.0, 1.5, 8.0, 1.5]},
        "worse": {"w1": [9.0, 9.0, 9.0, 9.0]},
    }
    against = best_of_own.against_best(found, "w1")
    assert against["best"] == ["even", "odd"]
    assert against["ratio"] == pytest.approx((2 / 4 + 2 / 8) / 2)


@pytest.mark.parametrize("name", list(fresh_columns.DENSITIES))
@pytest.mark.parametrize("bins", [64, 256])
def test_fresh_densities_are_distributions_and_their_people_stay_the_same(
    name: str, bins: int
) -> None:
    law, people = fresh_columns.DENSITIES[name]
    masses = law((np.arange(bins) + 0.5) / bins)
    assert masses.min() >= 0
    assert masses.sum() == pytest.approx(1)
    crowd = fresh_columns.drawn(name, bins=bins)
    assert crowd.people == people
    assert np.array_equal(crowd.counts, fresh_columns.drawn(name, bins=bins).counts)
