"""The square-wave paper's figures: methods, judges, claims and pictures are what they are called.

Each test fails on an error that was planted in a figure script: a width of .3 for .4, decoders
swapped, a claim turned round, random numbers shared by two methods, a picture of another column.
"""

from __future__ import annotations

import json
import re
from functools import partial

import numpy as np
import pytest

import lapwing as lw
from benchmarks import verdicts
from benchmarks.accuracy.papers import drawing
from benchmarks.accuracy.papers.figure_columns import Population, beta52, interval, truth
from benchmarks.accuracy.papers.index import anchor, index
from benchmarks.accuracy.papers.square_wave import (
    square_wave_bins,
    square_wave_choices,
    square_wave_claims,
    square_wave_figures,
    square_wave_shapes,
    square_wave_widths,
)
from benchmarks.accuracy.papers.square_wave.square_wave_claims import (
    ADMM,
    BINNED,
    EM,
    EMS,
    HAAR,
    HH,
)
from benchmarks.isolated import script
from lapwing.randomizers.numerical.square_wave import mutual_information_width
from tests.benchmarks.tiny_sizes import TINY

NAMES = [
    f"accuracy/square_wave_{part}" for part in ("figures", "shapes", "widths", "bins", "choices")
]


@pytest.fixture(scope="module")
def measured():
    """What each script measures at its tiny size, as it is read back from its file."""
    return {name: json.loads(json.dumps(script(name).measure(**TINY[name]))) for name in NAMES}


class TestMethods:
    def test_of_figures_2_to_4(self):
        found = {method.name: method for method in square_wave_figures.methods(64)}
        assert list(found) == [EMS, EM, ADMM, "bins 16", "bins 32", "bins 64", HH, HAAR]
        made = {name: one.randomizer(interval(1024), 1) for name, one in found.items()}
        for name, smoothed in ((EMS, True), (EM, False)):
            decoder = found[name].decoder
            assert isinstance(made[name], lw.SquareWave)
            assert (made[name]._points, made[name].width) == (1024, None)
            assert (decoder.bins, decoder.decoder.smoothed) == (64, smoothed)
        for name, method in ((ADMM, "admm"), (HH, "weighted-average")):
            assert (made[name].branching, made[name].domain.size) == (4, 64)
            decoder = getattr(found[name].decoder, "decoder", found[name].decoder)
            assert (decoder.method, decoder.weighted) == (method, False)
        assert isinstance(made[HAAR], lw.papers.square_wave.HaarHadamard)
        assert [made[f"bins {n}"].domain.size for n in (16, 32, 64)] == [16, 32, 64]

    def test_table_2_is_the_papers(self):
        every = ["w1", "ks", "range .1", "range .4", "mean", "variance", "quantiles"]
        assert {
            **{name: every for name in (EMS, EM, ADMM, *BINNED.values())},
            **{name: ["range .1", "range .4"] for name in (HH, HAAR)},
            **{name: ["mean", "variance"] for name in ("SR", "PM")},
        } == square_wave_figures.TABLE_2
        assert list(square_wave_figures.JUDGES) == every
        made = {
            name: make(interval(16), 1).name for name, make in square_wave_figures.MEANS.items()
        }
        assert made == {"SR": "stochastic-rounding", "PM": "piecewise"}

    def test_of_figure_5(self):
        found = [
            (one.name, one.randomizer(interval(100), 1)) for one in square_wave_shapes.methods(0.2)
        ]
        assert isinstance(found[0][1], lw.SquareWave)
        assert [name for name, _ in found] == square_wave_shapes.SHAPES
        assert [wave.ratio for _, wave in found[1:]] == [0.8, 0.6, 0.4, 0.2, 0.0]
        assert {wave.width for _, wave in found} == {0.2}

    def test_of_figures_6_and_7(self):
        rule = mutual_information_width(2)
        for method in square_wave_widths.methods(2, [0.5, 1, 1.5]):
            wave = method.randomizer(interval(64), 2)
            assert wave.width == pytest.approx(float(method.name) * rule)
        for method in square_wave_bins.methods([16, 32]):
            assert method.decoder.bins == int(method.name)
            assert method.decoder.decoder.smoothed

    def test_of_the_choices(self):
        for method in square_wave_choices.trees([2, 8]):
            name, number = method.name.split()
            assert method.randomizer(interval(64), 1).branching == int(number)
            decoder = getattr(method.decoder, "decoder", method.decoder)
            assert (decoder.method == "admm") == (name == ADMM)


class TestJudges:
    def test_by_hand(self):
        """Everybody in the first of ten bins, answered as even: all errors are simple sums."""
        people = truth(np.array([10, *[0] * 9]))
        answer = lw.Distribution(interval(10), np.full(10, 0.1))
        judges = {name: judge(answer, people) for name, judge in square_wave_figures.JUDGES.items()}
        assert judges["ks"] == pytest.approx(0.9)
        assert judges["w1"] == pytest.approx(0.45)
        assert judges["mean"] == pytest.approx(0.45)
        assert judges["variance"] == pytest.approx((1 - 0.01) / 12)
        assert judges["quantiles"] == pytest.approx(
            np.mean([0.09 * k * 10 for k in range(1, 10)]) / 10
        )

        def cdf(x):
            return np.minimum(10 * x, 1)

        for name, width in (("range .1", 0.1), ("range .4", 0.4)):
            left = (np.arange(200_000) + 0.5) / 200_000 * (1 - width)
            by_hand = np.abs(cdf(left + width) - cdf(left) - width).mean()
            assert judges[name] == pytest.approx(
                by_hand, rel=5e-3
            )  # the library's grid of queries is coarser

    def test_figure_7_has_two_readings_of_the_truth(self):
        people = np.zeros(64, dtype=np.int64)
        people[::8] = 5  # heaps: even at 8 bins, uneven within them
        answer = lw.Distribution(interval(8), np.full(8, 1 / 8))
        assert square_wave_bins.JUDGES["own"](answer, people) == pytest.approx(0, abs=1e-12)
        assert square_wave_bins.JUDGES["w1"](answer, people) > 0.03


class TestRandomNumbers:
    def test_no_two_methods_share_reports_and_all_have_the_same_people(self, monkeypatch):
        asked = []
        real = square_wave_figures.stream

        def noted(seed, *factors):
            asked.append((seed, *factors))
            return real(seed, *factors)

        monkeypatch.setattr(square_wave_figures, "stream", noted)
        one = beta52(1000)
        for epsilon in (1, 2):
            for name in ("SR", "PM"):
                square_wave_figures._means(name, one, 16, epsilon, 2, 5)
        kinds = ("SR", "PM", *square_wave_figures.WHOLE.values())
        people = [key for key in asked if key[-1] not in kinds]
        reports = [key for key in asked if key[-1] in kinds]
        assert len(set(reports)) == len(reports) == 16
        assert len(people) == 8
        assert {(5, "beta52", 256, f"{e}", r) for e in (1, 2) for r in (0, 1)} == set(people)

    def test_people_of_the_means_are_those_of_the_other_methods(self, monkeypatch):
        """The pairs of a claim that compares SR with EMS must be pairs."""
        drawn = []
        one = beta52(1000)
        noting = Population(one.name, one.people, one.rule, one.law)
        real = Population.draw

        def draw(self, bins, rng):
            drawn.append(real(self, bins, rng))
            return drawn[-1]

        monkeypatch.setattr(Population, "draw", draw)
        square_wave_figures._samples(noting, 16, 1, 1, 3)
        assert len(drawn) == 3
        assert drawn[0].tolist() == drawn[1].tolist() == drawn[2].tolist()

    @pytest.mark.parametrize("name", NAMES[1:4])
    def test_a_seed_decides_and_another_changes_every_cell(self, name, measured):
        module, settings = script(name), TINY[name]
        values = [_values(measured[name])]
        values += [
            _values(json.loads(json.dumps(module.measure(**{**settings, "seed": seed}))))
            for seed in (0, 1)
        ]
        assert values[0] == values[1]
        assert all(one != other for one, other in zip(values[0], values[2], strict=True))
        assert len({tuple(one) for one in values[0]}) == len(values[0])  # no cell has another's


def _values(found) -> list[list[float]]:
    return [
        figure["values"]
        for row in found["rows"]
        for method in row["methods"].values()
        for key, figure in method.items()
        if key == "w1"
    ]


# Numbers of the paper's world, in which all that it says of figures 2 to 4 is so. The first is of
# the smallest epsilon, the second of the largest.
SMOOTH = {EMS: (1, 0.5), EM: (2, 1), ADMM: (4, 2)}
BINS = {"bins 16": (10, 8), "bins 32": (20, 7.5), "bins 64": (40, 7)}
HEAPED = {ADMM: (1, 0.2), EM: (4, 3), EMS: (8, 6)}
WORLD = {
    "w1": SMOOTH | BINS,
    "ks": SMOOTH | BINS,
    "range .1": SMOOTH | BINS | {HH: (50, 50), HAAR: (60, 60)},
    "range .4": SMOOTH | BINS | {HH: (50, 50), HAAR: (60, 60)},
    "mean": SMOOTH | BINS | {"SR": (2, 2), "PM": (3, 1)},
    "variance": SMOOTH
    | BINS
    | {"SR": (6, 6), "PM": (5, 5), "SR, [0, 1]": (9, 9), "PM, [0, 1]": (8, 8)},
    "quantiles": SMOOTH | BINS,
}
ON_INCOME = WORLD | {
    "ks": BINS | HEAPED,
    "quantiles": HEAPED | {"bins 16": (200, 200), "bins 32": (60, 60), "bins 64": (50, 50)},
    **{
        name: WORLD[name] | {EMS: (1, 1), EM: (1, 1), ADMM: (4, 0.2)}
        for name in ("range .1", "range .4")
    },
}
ON_TAXI = WORLD | {
    "range .1": {name: (20, 20) for name in (*BINS, ADMM, HH, HAAR)}
    | {EMS: (4, 4), EM: (8, 8), "bins 64": (4.2, 4.2)}
}
SIMILAR = "At α = .1 on the taxi column it performs similar to binning with 64 bins."
ALTHOUGH = "It does so although its W1 there is higher."
BEST = "EMS (generally )?performs (the )?best|It is the best in most|EMS is the best of them"
SOMETIMES = "SW with EM sometimes performs better."


def rows(*, turned: bool | str = False, first: tuple[str, str] | None = None) -> list[dict]:
    """The paper's world, or with all errors, or those of a figure, turned into their inverse.

    `first` is a method and a figure, in which it is better than all others by far.
    """
    rng = np.random.default_rng(3)
    found = []
    for column, world in (("beta52", WORLD), ("taxi", ON_TAXI), ("acs_income", ON_INCOME)):
        for place, epsilon in enumerate((0.5, 2.5)):
            methods: dict = {}
            for figure, errors in world.items():
                for name, both in errors.items():
                    size = 1 / both[place] if turned in (True, figure) else both[place]
                    size *= 1e-3 if first == (name, figure) else 1
                    kept = (size * (1 + 0.01 * rng.standard_normal(10))).tolist()
                    methods.setdefault(name, {})[figure] = {"mean": size, "values": kept}
            found.append({"column": column, "epsilon": epsilon, "methods": methods})
    return found


def judged(found) -> dict[str, str]:
    return {f"{claim.where}: {claim.text}": claim.verdict for claim in found}


class TestClaims:
    @pytest.fixture(autouse=True)
    def few_draws(self, monkeypatch):
        """What is so in these worlds is so beyond all doubt: 200 draws say it as well."""
        monkeypatch.setattr(verdicts, "DRAWS", 200)

    def test_of_figures_2_to_4_in_the_papers_world_and_in_its_inverse(self):
        so = judged(square_wave_claims.claims(rows(turned=False)))
        assert {text for text, verdict in so.items() if verdict != verdicts.HOLDS} == set()
        not_so = judged(square_wave_claims.claims(rows(turned=True)))
        assert list(so) == list(not_so)
        assert len(so) == 35
        assert {text for text, verdict in not_so.items() if verdict == verdicts.HOLDS} == {
            f"figure 3: {SIMILAR}",
            f"figure 4, quantiles: {SOMETIMES}",  # there, on the smooth columns
        }

    @pytest.mark.parametrize("figure", list(WORLD))
    def test_a_claim_is_about_its_own_figure(self, figure):
        """With the errors of one figure turned, the claims about it fail and no other."""
        own = {"w1": "figure 2, W1", "ks": "figure 2, KS", "range .1": "figure 3"}
        where = own.get(figure, "figure 3" if figure == "range .4" else f"figure 4, {figure}")
        beside = {f"figure 2, KS: {ALTHOUGH}", f"figure 3: {SIMILAR}"}
        beside.add(f"figure 4, quantiles: {SOMETIMES}")
        so = judged(square_wave_claims.claims(rows(turned=figure)))
        failed = {text for text, verdict in so.items() if verdict != verdicts.HOLDS} - beside
        about = {text for text in so if text.startswith(f"{where}: ")} - beside
        narrow = {"figure 3: There it still outperforms all the hierarchy-based approaches."}
        assert failed == (about - narrow if figure == "range .4" else about)
        assert (so[f"figure 2, KS: {ALTHOUGH}"] == verdicts.HOLDS) == (figure != "w1")

    @pytest.mark.parametrize("figure", ["w1", "ks", "range .1", "variance", "quantiles"])
    def test_the_best_is_better_than_every_other(self, figure):
        for name in {ADMM, list(WORLD[figure])[-1]} - {"PM, [0, 1]"}:
            so = judged(square_wave_claims.claims(rows(first=(name, figure))))
            spoken = {text for text in so if re.search(BEST, text)}
            assert len(spoken) == 5
            broken = {text for text in spoken if so[text] != verdicts.HOLDS}
            number = {"w1": 0, "ks": 1, "range .1": 2, "variance": 3, "quantiles": 4}[figure]
            assert broken == {sorted(spoken, key=list(so).index)[number]}

    def test_sometimes_is_broken_by_never(self):
        found = rows(turned=False)
        for row in found:
            figure = row["methods"][EM]["quantiles"]
            figure["values"] = [2 * value for value in row["methods"][EMS]["quantiles"]["values"]]
        verdict = judged(square_wave_claims.claims(found))[f"figure 4, quantiles: {SOMETIMES}"]
        assert verdict == verdicts.CONTRADICTED

    def test_similar_is_broken_on_either_side(self):
        for factor in (0.5, 2):
            found = rows(turned=False)
            for row in found:
                figure = row["methods"]["bins 64"]["range .1"]
                figure["values"] = [factor * value for value in figure["values"]]
            verdict = judged(square_wave_claims.claims(found))[f"figure 3: {SIMILAR}"]
            assert verdict == verdicts.CONTRADICTED

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_figure_5(self, turned):
        sizes = {name: (1 + place) for place, name in enumerate(square_wave_shapes.SHAPES)}
        found = _world("width", (0.1, 0.3), {"w1": sizes}, turned=turned)
        assert _kinds(square_wave_shapes.claims(found)) == _expected(turned)

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_figure_6(self, turned):
        found = _world("epsilon", (1, 2), {"w1": {"0.5": 2, "1": 1, "1.5": 2}}, turned=turned)
        assert _kinds(square_wave_widths.claims(found)) == _expected(turned)
        if not turned:
            line = square_wave_widths.claims(found)[0].line()
            assert "smaller b in 0 of 2 cells and at a larger one in 0" in line

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_figure_7(self, turned):
        sizes = {"256": 1, "512": 2, "1024": 2, "2048": 3}
        found = _world("epsilon", (1, 2), {"w1": sizes, "own": sizes}, turned=turned)
        best = sizes | {"256": 3, "1024": 1}
        other = _world("epsilon", (1, 2), {"w1": best, "own": best}, turned=turned, column="taxi")
        found["rows"] += other["rows"]
        for row in found["rows"]:
            row["people"] = 10**6 if row["column"] == "taxi" else 10**5
        *of_figure, near = square_wave_bins.claims(found)
        assert [claim.most for claim in of_figure] == [False, True] * 2
        assert _kinds(of_figure) == _expected(turned)
        assert near.verdict == verdicts.CONTRADICTED  # 512 has twice the error of 1024
        # Of 316 and 1000 people's roots, within a factor of two: 256 and 512, 512 to 2048 less one.
        assert [len(cell) for cell in _near(found)] == [2, 2, 2, 2]

    def test_of_the_choices(self):
        split = {f"{n}, people": 1 for n in (HH, ADMM, HAAR)}
        split |= {f"{n}, budget": 2 for n in (HH, ADMM, HAAR)}
        trees = {f"{n} {b}": (1 if b == 4 else 2) for n in (HH, ADMM) for b in (2, 4, 8)}
        for turned in (False, True):
            found = {
                "branchings": _both(trees, turned),
                "budgets": _both(split, turned),
                "orders": [
                    row | {"decoder": name}
                    for name in square_wave_choices.ORDERED
                    for row in _both({"R-B": 1, "B-R": 2 if turned else 1}, False)
                ],
            }
            assert _kinds(square_wave_choices.claims(found)) == _expected(turned)


def _world(key, at, figures, *, turned, column="beta52") -> dict:
    rng = np.random.default_rng(4)
    found = []
    for value in at:
        methods: dict = {}
        for figure, sizes in figures.items():
            for name, size in sizes.items():
                mean = 1 / size if turned else size
                kept = (mean * (1 + 0.01 * rng.standard_normal(10))).tolist()
                methods.setdefault(name, {})[figure] = {"mean": mean, "values": kept}
        found.append({"column": column, "epsilon": 1, key: value, "methods": methods})
    return {"rows": found}


def _both(sizes, turned) -> list[dict]:
    figures = {"w1": sizes, "range": sizes, "ks": sizes}
    return _world("epsilon", (1, 2), figures, turned=turned)["rows"]


def _near(found) -> list[list[str]]:
    return [square_wave_bins._near(row) for row in found["rows"]]


def _kinds(claims) -> set[str]:
    return {claim.verdict for claim in claims}


def _expected(turned) -> set[str]:
    return {verdicts.CONTRADICTED if turned else verdicts.HOLDS}


class TestMeasured:
    def test_the_order_is_what_it_is_called(self):
        """Heaps at one place of each bin: only what takes values to be even within bins suffers.

        Over 20 seeds the smallest ratio was 28; the limit is 2.
        """
        law = partial(_heaps, 16)
        found = square_wave_choices.orders(
            EM.removeprefix("SW-"), Population("heaps", 200_000, "", law), 16, 4, 2, 0
        )
        mean = {order: np.mean(kept["ks"]) for order, kept in found.items()}
        assert mean["R-B"] > 2 * mean["B-R"]

    def test_a_split_budget_is_worse(self):
        """At epsilon .5 by a factor of 1.4 and more, with a standard error of .11 at most.

        With other seeds it would fail about once in 10,000 times; turned round it always does.
        """
        found = square_wave_choices.budgets(beta52(20_000), 16, 0.5, 30, 0)
        for name, figure in square_wave_choices.ASKED.items():
            mean = {k: np.mean(found[f"{name}, {k}"][figure]) for k in ("people", "budget")}
            assert mean["budget"] > mean["people"]

    def test_what_is_judged_by_what(self, measured):
        for row in measured[NAMES[0]]["rows"]:
            kept = {name: list(found) for name, found in row["methods"].items()}
            whole = {key: ["variance"] for key in square_wave_figures.WHOLE.values()}
            assert kept == square_wave_figures.TABLE_2 | whole
            for found in row["methods"].values():
                assert all(len(figure["values"]) == 2 for figure in found.values())

    @pytest.mark.parametrize("name", NAMES)
    def test_a_section_says_every_claim_and_has_what_the_index_leads_to(self, name, measured):
        module = script(name)
        text = module.section(measured[name], TINY[name])
        claims = module.claims(measured[name])
        assert all(claim.line() in text for claim in claims)
        assert {claim.where for claim in claims} <= {entry.where for entry in module.INDEX}
        headings = {anchor(one) for one in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
        links = re.findall(r"\]\(#([^)]*)\)", index(module.INDEX, claims))
        assert len(links) == len(module.INDEX)
        assert set(links) <= headings
        shown = set(re.findall(r"\(figures/([^)]*)\.png\)", text))
        assert shown == {entry.picture for entry in module.INDEX if entry.picture}


def _heaps(bins: int, fine: int):
    mass = np.zeros(fine)
    mass[:: fine // bins] = np.arange(bins) % 3 + 1
    return mass / mass.sum()


class TestPictures:
    def test_every_figure_of_the_paper_has_one(self):
        assert set(drawing.pictures("square_wave")) >= {f"figure-{n}" for n in range(1, 8)}

    @pytest.mark.parametrize("name", list(drawing.pictures("square_wave")))
    def test_is_drawn_with_the_papers_number(self, name, measured, tmp_path):
        picture = drawing.pictures("square_wave")[name]
        figure = picture.draw(measured[picture.benchmark])
        title = figure._suptitle.get_text()
        assert ("section" in title) if "-" not in name else (name.replace("-", " ") in title)
        drawing.save(figure, tmp_path / "one.png")
        assert (tmp_path / "one.png").stat().st_size < 120_000

    def test_figure_2_has_distances_in_their_rows(self, measured):
        found = measured[NAMES[0]]
        figure = drawing.pictures("square_wave")["figure-2"].draw(found)
        for ax, key, scale in zip(figure.axes, ("w1", "ks"), (1e4, 1e3), strict=True):
            line = ax.containers[1].lines[0]  # of the second name
            drawn = drawing.with_between(found)
            assert [row["epsilon"] for row in drawn] == [1, 2, 4]  # two judged, one between
            wanted = [scale * row["methods"][EM][key]["mean"] for row in drawn]
            assert ax.containers[1].get_label() == EM
            np.testing.assert_allclose(line.get_ydata(orig=False), wanted)
            assert ax.get_ylabel().startswith(key.upper())

    def test_figure_6_marks_the_rule(self, measured):
        found = measured["accuracy/square_wave_widths"]
        figure = drawing.pictures("square_wave")["figure-6"].draw(found)
        dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
        assert [line.get_xdata()[0] for line in dotted] == [mutual_information_width(4)]
        assert figure.axes[0].containers[0][0].get_xdata()[1] == mutual_information_width(4)
