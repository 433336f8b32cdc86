"""What the papers' figures rest on: laws, verdicts, split budgets, exact variances."""

import itertools
import math

import numpy as np
import pytest

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers import figure_columns, figure_runs
from benchmarks.accuracy.papers.convolution import convolution_columns
from benchmarks.accuracy.papers.square_wave import square_wave_choices
from benchmarks.accuracy.papers.wavelet import signed_sets


class TestLaws:
    @pytest.mark.parametrize("population", [figure_columns.beta52(), figure_columns.blocks(4)])
    def test_a_law_of_fewer_bins_is_that_of_more_added_up(self, population):
        fine, coarse = population.law(256), population.law(32)
        np.testing.assert_allclose(fine.reshape(32, 8).sum(axis=1), coarse, atol=1e-15)
        assert coarse.sum() == pytest.approx(1)

    def test_blocks_are_half_and_one_and_a_half_in_turn(self):
        density = 64 * figure_columns.blocks(4).law(64)
        np.testing.assert_allclose(density[[0, 15, 16, 31, 32, 48]], [0.5, 0.5, 1.5, 1.5, 0.5, 1.5])
        with pytest.raises(ValueError, match="multiple of the 16 parts"):
            figure_columns.blocks(16).law(24)

    def test_permuted_masses_are_the_same_in_another_order(self):
        whole = figure_columns.beta52()
        mixed = figure_columns.permuted(whole, seed=1).law(64)
        np.testing.assert_array_equal(np.sort(mixed), np.sort(whole.law(64)))
        assert not np.array_equal(mixed, whole.law(64))

    def test_each_repeat_of_a_permuted_column_has_an_order_of_its_own(self):
        large = figure_columns.permuted(figure_columns.beta52(10**7), seed=1)
        tops = {large.draw(64, np.random.default_rng(n)).argmax() for n in range(8)}
        assert len(tops) > 4
        assert len({large.law(64).argmax() for _ in range(8)}) == 1

    def test_the_truth_of_drawn_people_is_their_own(self):
        counts = figure_columns.beta52(1000).draw(16, np.random.default_rng(1))
        assert counts.sum() == 1000
        np.testing.assert_allclose(
            figure_columns.truth(counts).at(np.arange(1, 17) / 16), np.cumsum(counts) / 1000
        )
        assert figure_columns.coarser(counts, 4)[0] == counts[:4].sum()


class TestCompare:
    def test_methods_of_one_randomizer_get_the_same_reports(self):
        plain = lw.LeastSquares()
        methods = [Method("a", lw.SquareWave, plain), Method("b", lw.SquareWave, plain)]
        found = figure_runs.compare(
            methods,
            figure_columns.beta52(),
            {"w1": lw.distances.wasserstein},
            bins=16,
            epsilon=2,
            repeats=3,
        )
        assert found["a"]["w1"] == found["b"]["w1"]
        assert len(set(found["a"]["w1"])) == 3  # and each repeat new ones

    def test_a_method_is_judged_only_by_what_it_is_allowed(self):
        found = figure_runs.compare(
            [Method("a", lw.SquareWave, lw.LeastSquares())],
            figure_columns.beta52(),
            {"w1": lw.distances.wasserstein, "ks": lw.distances.kolmogorov_smirnov},
            bins=16,
            epsilon=2,
            repeats=1,
            allowed={"a": ["ks"]},
        )
        assert set(found["a"]) == {"ks"}


class TestSplits:
    @pytest.mark.parametrize("members", [1, 2, 3])
    def test_the_variance_of_plain_sets_against_all_of_them(self, members):
        coordinates, epsilon = 2, 1.0
        sets = list(itertools.combinations(range(2 * coordinates), members))
        weight = np.array([math.exp(epsilon) if 0 in one else 1.0 for one in sets])
        law = weight / weight.sum()
        signed = np.array(
            [[(2 * k in s) - (2 * k + 1 in s) for k in range(coordinates)] for s in sets], float
        )
        mean = law @ signed
        variance = (law @ signed**2 - mean**2).sum() / mean[0] ** 2
        found = signed_sets.plain_variance(coordinates, members, epsilon)
        assert found == pytest.approx(variance, rel=1e-9)
        assert found != pytest.approx(
            signed_sets.plain_variance(coordinates, members, 1.01), rel=1e-3
        )

    def test_everybody_reports_in_every_group(self):
        tree = lw.papers.square_wave.Hierarchical(figure_columns.interval(16), 1)
        counts = np.full(16, 100)
        tally = square_wave_choices.everybody(tree, counts, np.random.default_rng(1))
        assert tally.reports == (1600,) * len(tree.groups)


@pytest.mark.parametrize(("oracle", "stated", "plain"), [("OUE", 1806, 763), ("KRR", 3965, 1676)])
def test_significance_thresholds_with_and_without_the_division(oracle, stated, plain):
    found = [
        convolution_columns.significance(oracle, 4, bins=1000, people=2_834_264, divided=divided)
        for divided in (True, False)
    ]
    assert found == pytest.approx([stated, plain], abs=1)
    assert convolution_columns.PRINTED[oracle] == plain
