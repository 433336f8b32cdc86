"""Pictures of the convolution and the compressive paper: what they hold is what was measured."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from benchmarks import results
from benchmarks.accuracy.papers import drawing
from benchmarks.accuracy.papers.convolution.convolution_columns import PERMUTED, SMOOTH
from benchmarks.isolated import script
from tests.benchmarks.tiny_sizes import TINY

PICTURES = [
    (paper, name) for paper in ("convolution", "compressive") for name in drawing.pictures(paper)
]


@lru_cache
def document(benchmark: str) -> dict[str, Any]:
    """Return the kept result, or one of the tiny size where nothing was measured yet."""
    found = results.read(benchmark)
    if found is None:
        measured = json.loads(json.dumps(script(benchmark).measure(**TINY[benchmark])))
        return {"measured": measured, "settings": TINY[benchmark]}
    return found


@lru_cache
def page(benchmark: str) -> str:
    kept = document(benchmark)
    text: str = script(benchmark).section(kept["measured"], kept["settings"])
    return text


@lru_cache
def drawn(paper: str, name: str) -> Any:
    picture = drawing.pictures(paper)[name]
    return picture.draw(document(picture.benchmark)["measured"])


def curves_of(ax: Any) -> dict[str, np.ndarray]:
    """Return the curves of a panel by their label: float64 [points, 2]."""
    return {
        container.get_label(): np.column_stack(container[0].get_data(orig=False))
        for container in ax.containers
    }


def panel(figure: Any, title: str) -> dict[str, np.ndarray]:
    """Return the curves of the panel of a title."""
    (ax,) = [one for one in figure.axes if one.get_title() == title]
    return curves_of(ax)


@pytest.mark.parametrize(("paper", "name"), PICTURES)
def test_a_picture_is_of_its_figure_and_on_its_page(paper, name):
    titles = [ax.get_title() for ax in drawn(paper, name).axes]
    number = name.replace("theorem-1-1", "Theorem 1.1").replace("figure-", "Figure ").split("-")[0]
    assert titles and all(title.startswith(f"{number}:") for title in titles)
    benchmark = drawing.pictures(paper)[name].benchmark
    assert f"(figures/{name}.png)" in page(benchmark)


def test_every_figure_of_both_papers_has_one():
    for paper, last in (("convolution", 10), ("compressive", 3)):
        assert {f"figure-{number}" for number in range(1, last + 1)} <= set(drawing.pictures(paper))


def means(
    rows: list[dict[str, Any]], method: str, key: str, figure: str = "mse", scale: float = 1
) -> np.ndarray:
    points = [[row[key], row["methods"][method][figure]["mean"] * scale] for row in rows]
    return np.array(sorted(points), float)


@pytest.mark.parametrize(
    ("name", "part", "key", "title", "curves"),
    [
        ("figure-6", "by_epsilon", "epsilon", f"Figure 6: OUE, {SMOOTH}", ("none", "DW", "IIW")),
        ("figure-7", "by_size", "bins", f"Figure 7: KRR, {PERMUTED}", ("none", "DW", "DW-AMRP")),
        ("figure-10", "by_epsilon", "epsilon", f"Figure 10: OUE, {SMOOTH}", ("GF1", "GF3-DW")),
    ],
)
def test_curves_of_errors_are_the_means_of_their_method(name, part, key, title, curves):
    measured = document("accuracy/convolution_errors")["measured"]
    oracle, column = title.split(": ")[1].split(", ", 1)
    drawn_too = measured[f"{part}, between"]  # points that are drawn and not judged
    rows = [row for row in [*measured[part], *drawn_too] if row["column"] == column]
    figure = drawn("convolution", name)
    found = {}
    for ax in figure.axes:  # figure 10 has two panels of this title, by epsilon and by d
        if ax.get_title() == title and ax.get_xlabel().startswith("ε") == (key == "epsilon"):
            found = {
                c.get_label(): np.column_stack(c[0].get_data(orig=False)) for c in ax.containers
            }
    found = found or panel(figure, title)
    for curve in curves:
        method = oracle if curve == "none" else f"{oracle}-{curve}"
        np.testing.assert_allclose(found[curve], means(rows, method, key, scale=1e9))


def test_curves_of_the_largest_and_of_positives():
    row = document("accuracy/convolution_largest")["measured"]["by_column"][PERMUTED]
    tops = panel(drawn("convolution", "figure-8"), f"Figure 8: OUE, {PERMUTED}")
    for curve, method in (("none", "OUE"), ("DW-AMRP", "OUE-DW-AMRP")):
        at = [[k, row["methods"][method][f"top {k}"]["mean"] * 1e9] for k in range(10, 101, 10)]
        np.testing.assert_allclose(tops[curve], at)
    ninth = drawn("convolution", "figure-9")
    for ax in ninth.axes:
        assert ax.get_title().startswith("Figure 9: ")
    lines = {  # rows: KRR true, KRR false, OUE true, OUE false
        kind: ninth.axes[place].containers[0][0].get_ydata(orig=False)
        for kind, place in (("true", 1), ("false", 4))
    }
    for kind, values in lines.items():
        at = [row["methods"]["KRR"][f"{kind} {n}"]["mean"] for n in (500, 1000, 1500, 2000)]
        np.testing.assert_allclose(values, at)


def test_curves_by_iteration():
    measured = document("accuracy/convolution_figures")["measured"]
    (row,) = [
        one for one in measured["by_column"] if (one["column"], one["oracle"]) == (SMOOTH, "OUE")
    ]
    found = panel(drawn("convolution", "figure-4"), f"Figure 4: OUE, {SMOOTH}")["OUE"]
    # The paper counts DW, our iteration 0, as the first; the scale is 10^-9.
    at = [[int(i) + 1, 1e9 * one["mse"]["mean"]] for i, one in row["methods"].items()]
    np.testing.assert_allclose(found, at)


@pytest.mark.parametrize(
    ("name", "part", "key", "scale"),
    [("figure-2", "figure_2", "people", 1e6), ("figure-3", "figure_3", "epsilon", 1)],
)
def test_curves_of_compressive_privatization(name, part, key, scale):
    measured = document("accuracy/compressive_figures")["measured"]
    rows = [row for row in measured[part] if row["population"] == "Unif(10)"]
    figure = drawn("compressive", name)
    for step in ("norm", "proj"):
        found = panel(figure, f"Figure {name[-1]}: Unif(10), {step}")
        wanted = {"CP as printed": "CP as printed", "SS": f"SS {step}", "RR": f"RR {step}"}
        for curve, method in wanted.items():
            at = means(rows, method, key, "l1") / [scale, 1]
            np.testing.assert_allclose(found[curve], at)
