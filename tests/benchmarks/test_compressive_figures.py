"""The compressive paper's figures: a wrong method of each kind is found."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from benchmarks.accuracy.papers.compressive import (
    compressive_figures,
    compressive_theorem,
    theorem_claims,
)
from benchmarks.accuracy.papers.compressive.compressive_claims import (
    BASELINES,
    NORMALIZED,
    PUBLISHED,
    SAME,
    UNKNOWN,
)
from benchmarks.accuracy.papers.sparse_populations import POPULATIONS, drawn
from lapwing.randomizers.categorical.compressive_privatization import recommended_outputs

SYMBOLS, OUTPUTS, PEOPLE = 200, 60, 400_000


def tally_of(randomizer: Any, mass: Any, seed: int = 3) -> Any:
    rng = np.random.default_rng(seed)
    return drawn(randomizer, mass, rng.multinomial(PEOPLE, mass), rng)


class TestMethods:
    @pytest.mark.parametrize("epsilon", [0.5, 2])
    def test_both_last_steps_are_those_of_the_library(self, epsilon):
        made = compressive_figures.randomizers(SYMBOLS, OUTPUTS, epsilon, 5)["CP published"]
        assert made.matrix == ("rademacher" if epsilon <= 1 else "medium")
        tally = tally_of(made, POPULATIONS["Unif(10)"].make(SYMBOLS, np.random.default_rng(1)))
        found = compressive_figures.printed(10, epsilon)(made.channel, tally)
        regime = "high" if epsilon <= 1 else "medium"
        for name, step in ((PUBLISHED, "project"), (NORMALIZED, "normalize")):
            decoder = lw.decoders.CompressiveEstimate(sparsity=10, regime=regime, last_step=step)
            np.testing.assert_array_equal(
                found[name].mass, decoder.decode(made.channel, tally).mass
            )
        assert np.abs(found[PUBLISHED].mass - found[NORMALIZED].mass).max() > 1e-4

    def test_names_say_what_is_run(self):
        made = compressive_figures.randomizers(SYMBOLS, OUTPUTS, 1, 5)
        assert {key: one.name for key, one in made.items()} == {
            "RR": "randomized-response",
            "RAPPOR": "unary-encoding",
            "SS": "subset-selection",
            "HR": "hadamard-response",
            "CP published": "compressive-privatization",
            "CP balanced": "compressive-privatization",
        }
        assert made["CP balanced"].matrix == "balanced"
        assert made["CP balanced"].true_epsilon <= 1 < made["CP published"].true_epsilon
        for name, which, decode in compressive_figures.ours(7):
            assert name.split(",")[0].replace(" matrix", "") == which
            assert decode.__self__.sparsity == (None if "unknown" in name else 7)
        assert [name for name, *_ in compressive_figures.ours(7)] == [*SAME, *UNKNOWN]

    def test_how_far_columns_are_from_their_number_of_ones(self):
        signs = np.array([[1, 0], [1, 1], [1, 0], [0, 0]])  # 3 and 1 of 4
        made = lw.CompressivePrivatization(lw.Categories(2), 1, matrix=signs, accept_epsilon=9)
        assert compressive_figures.beta_of(made, 1) == pytest.approx(0.5)
        # Medium: from 4 / e^1.5 = .8925 of ones.
        assert compressive_figures.beta_of(made, 1.5) == pytest.approx(3 / (4 * math.exp(-1.5)) - 1)

    def test_a_cell_has_every_method_and_numbers_of_its_own(self):
        shape = {"symbols": 60, "outputs": 30, "epsilon": 1, "repeats": 2, "with_ours": False}
        first = compressive_figures.cell("Unif(10)", people=2000, seed=0, **shape)
        assert set(first["methods"]) == {
            *(f"{key} {step}" for key, step in itertools.product(BASELINES, ("norm", "proj"))),
            *(PUBLISHED, NORMALIZED),
        }
        again = compressive_figures.cell("Unif(10)", people=2000, seed=0, **shape)
        assert again == first
        other = compressive_figures.cell("Unif(10)", people=2000, seed=1, **shape)
        l1 = [one["methods"]["HR proj"]["l1"]["values"] for one in (first, other)]
        assert l1[0] != l1[1] and l1[0][0] != l1[0][1]
        # Shares that add up to one are at most 2 away from others.
        assert all(0 < value <= 2 for one in l1 for value in one)


class TestTheorem:
    def test_points_follow_the_rule_for_m(self):
        shape = {key: compressive_theorem.FULL[key] for key in ("n", "epsilon", "s", "m", "k")}
        sizes = {"symbols": 10_000, "sparsity": 10, "people": 1000, "people_of_s": 2000}
        found = compressive_theorem.points(**sizes, **shape)
        assert set(found) == set(theorem_claims.BOUNDS)
        for letter, points in found.items():
            assert [getattr(one, letter) for one in points] == shape[letter]
            changed = {
                name
                for name in ("k", "s", "m", "n", "epsilon")
                if len({getattr(one, name) for one in points}) > 1
            }
            assert changed == ({letter, "m"} if letter in "sk" else {letter})
        for one in (*found["s"], *found["k"]):
            assert one.m == recommended_outputs(one.k, one.s, 0.5)
