"""The functional-approximation paper's figures: method lists, seeds, judges, page, pictures.

Each test fails on an error planted in the scripts.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.accuracy.papers.functional_approximation import (
    central_columns,
    central_dictionaries,
    central_figures,
    central_projection,
    central_protocols,
    central_pursuit,
    central_real,
    central_sites,
    central_sweeps,
)
from benchmarks.accuracy.papers.functional_approximation.central_columns import People, people_of
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    METHODS,
    distances,
    of_gap,
)
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection

SCRIPTS = ("figures", "projection", "pursuit", "real", "sites", "dictionaries")


def column_named(name: str) -> People:
    """Return a column of this name and its parameters, without its rows."""
    return People(name, None, None)


class TestMethods:
    """What the paper runs, as it prints it (captions of figures 4, 5, 16 to 23)."""

    @pytest.mark.parametrize(
        ("name", "functions", "terms", "atoms"), [("normal", 6, 6, 40), ("yaw", 10, 20, 80)]
    )
    def test_of_figures_5_to_7_and_18_to_23(self, name, functions, terms, atoms):
        made = central_protocols.methods_of(column_named(name))
        four = {one: made[one].mechanism for one in central_sites.VALID}
        assert four == {
            "HQ 40, steps": HistogramQuery(40, interpolate=False),
            "AQ 80": AdaptiveQuantiles(80, noise="normal", guarded=False),
            "AQ 80, Laplace": AdaptiveQuantiles(80, noise="laplace", guarded=False),
            "PP, algorithm 1": PolynomialProjection(functions, shape="algorithm-1", noise="normal"),
            "MP, its true cost": MatchingPursuit(terms, atoms=atoms, form="published"),
        }
        printed = made[central_protocols.PRINTED]
        assert printed.mechanism == four["MP, its true cost"]
        assert printed.pure and not printed.valid and made["MP, its true cost"].valid
        assert made["HQ 40, steps"].pure and made["AQ 80, Laplace"].pure
        assert not made["AQ 80"].pure and not made["PP, algorithm 1"].pure
        few = central_protocols.as_many_messages(column_named(name)).mechanism
        assert few.steps == 2 * terms

    def test_of_the_laws_are_the_same(self):
        made = central_protocols.methods_of(column_named("normal"))
        for one, other in zip(central_figures.VALID, central_sites.VALID, strict=True):
            assert METHODS[one].mechanism == made[other].mechanism
        assert METHODS[central_figures.MP].valid is False

    def test_of_the_example_curves(self):
        made = [one.mechanism for one in central_real.examples(column_named("yaw")).values()]
        assert made == [
            HistogramQuery(30, interpolate=False),
            AdaptiveQuantiles(50, noise="laplace", guarded=False),
            PolynomialProjection(10, shape="algorithm-1", noise="normal"),
            MatchingPursuit(20, atoms=80, form="published"),
        ]

    def test_of_the_sweeps(self):
        forms = central_projection.forms(9)
        assert forms["algorithm 1"].mechanism.shape == "algorithm-1"
        assert forms["repaired"].mechanism.shape == "a-optimal"
        assert {one.mechanism.functions for one in forms.values()} == {9}
        pursuit = central_pursuit.forms(7, atoms=40)
        assert {one.mechanism.terms for one in pursuit.values()} == {7}
        assert [one.mechanism.form for one in pursuit.values()] == [
            "published",
            "published",
            "repaired",
        ]
        assert [one.valid for one in pursuit.values()] == [False, True, True]

    def test_the_papers_dictionaries(self):
        sizes = []
        for name in central_dictionaries.THREE:
            knobs = central_dictionaries.DICTIONARIES[name]
            sizes.append(MatchingPursuit(30, **knobs).atoms)
        assert sizes == [200, 109, 400]


class TestColumns:
    def test_the_papers_own_file_comes_before_what_stands_in(self, monkeypatch):
        own = SimpleNamespace(name="own")
        monkeypatch.setattr(
            central_columns, "load_own", lambda name: own if name == "lyft_yaw" else None
        )
        monkeypatch.setattr(central_columns, "load", lambda name: SimpleNamespace(name=name))
        yaw, airbnb = people_of(["yaw", "airbnb"])
        assert yaw.column is own and airbnb.column.name == "airbnb_nyc"

    def test_the_head_says_which_it_is(self):
        values = np.linspace(0, 0.9, 50_000)
        for instead, said in ((True, "a stand-in"), (False, "the paper's own file")):
            column = datasets.Column(
                name="x",
                values=values,
                low=0.0,
                high=1.0,
                kept=50_000,
                dropped=0,
                rule="yaw in [0, 1)",
                source="file.csv",
                is_stand_in=instead,
            )
            told = People("yaw", None, column).told
            assert said in told and "31,909 of its 50,000 rows" in told and "file.csv" in told


class TestSeeds:
    @staticmethod
    def seeds(monkeypatch, **changed):
        """Return the seeds of people and of noise that a cell uses."""
        column = people_of(["normal"], bins=8)[0]
        people, noise = [], []
        monkeypatch.setattr(
            People,
            "summarized",
            lambda self, n, *, seed: people.append(tuple(seed)) or SimpleNamespace(),
        )
        monkeypatch.setattr(People, "cdf", lambda self, summary: np.ones(8))
        result = SimpleNamespace(mass=np.full(8, 1 / 8))
        methods = {
            name: SimpleNamespace(
                release=lambda summary, epsilon, delta, *, seed: noise.append(seed),
                decode=lambda release: result,
            )
            for name in ("one", "two")
        }
        cell = {"epsilon": 1, "people": 100, "seed": 0, "sweep": "s", "repeats": 3} | changed
        name = cell.pop("column", "normal")
        column = People(name, column.law, None, 8)
        central_sweeps.side_by_side(column, methods, **cell)
        return people, noise

    def test_no_two_cells_share_random_numbers(self, monkeypatch):
        changes = [
            {},
            {"epsilon": 0.5},
            {"people": 200},
            {"seed": 1},
            {"sweep": "t"},
            {"column": "beta"},
        ]
        found = [self.seeds(monkeypatch, **change) for change in changes]
        people = [one for drawn, _ in found for one in drawn]
        noise = [one for _, drawn in found for one in drawn]
        assert len(people) == len(set(people)) == 6 * 3  # one draw of people for both methods
        assert len(noise) == len(set(noise)) == 6 * 3 * 2
        assert not {one for (one,) in people} & set(noise)
        assert self.seeds(monkeypatch) == found[0]

    def test_so_it_is_of_sites_and_rounds(self, monkeypatch):
        used = []
        monkeypatch.setattr(
            central_protocols, "seeded", lambda seed: used.append(seed) or SimpleNamespace()
        )
        for seed in (1, 2):
            central_protocols._sources([None] * 10, seed)
        assert len(set(used)) == 20


class TestJudges:
    def test_distances_of_a_known_gap(self):
        gap = np.array([0.0, 0.5, -0.25, 0.0])
        assert of_gap(gap) == {
            "ks": 0.5,
            "w1": pytest.approx(0.375),
            "energy": pytest.approx((2 * 0.3125 * 0.5) ** 0.5),
        }

    def test_a_histogram_with_a_count_of_nobody_ends_at_one(self):
        result = SimpleNamespace(mass=np.array([0.25, 0.25, 0.25, 0.25, 0.25]) / 1.25)
        assert distances(result, np.array([0.25, 0.5, 0.75, 1.0]))["ks"] < 1e-12
