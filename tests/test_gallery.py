"""Every example of the gallery runs, draws one picture, and its title is still true."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "gallery"
MOST_LINES = 59
EXAMPLES = {path.name[5:7]: path for path in sorted(FOLDER.glob("plot_*.py"))}

Names = dict[str, Any]


def by_hour(g: Names) -> bool:
    """Return whether the busiest hour is in the evening, and a smaller epsilon is less certain."""
    hours = [int(g["shares"](one).argmax()) for one in (g["truth"], *g["results"].values())]
    ends = [one.probability_interval(0, 12 * 3600) for one in g["results"].values()]
    widths = [high - low for low, high in ends]
    return all(17 <= hour <= 21 for hour in hours) and widths[0] > widths[1]


def pays(g: Names) -> bool:
    """Return whether numerical composition pays for most releases, and none for more."""
    paid = g["paid"]
    order = [paid["basic composition"], paid["Gaussian"], paid["numerical"]]
    return order == sorted(order) and order == [6, 11, 13] and len(g["entries"]) == 13


def later(g: Names) -> bool:
    """Return whether estimate and truth give the same shares of late flights in their intervals."""
    shares = [*g["late"].values()], [*g["known"].values()]
    near = all(0.28 < evening < 0.33 and morning < 0.1 for evening, morning in shares)
    return near and all(
        low <= share <= high for share, (low, high) in zip(shares[1], g["ends"], strict=True)
    )


def shorter(g: Names) -> bool:
    """Return whether the lower quartile of hours is 40 in the middle, and at most 20 elsewhere."""
    estimate, truth = (g["quartiles"]["lower", name] for name in ("estimate", "truth"))
    middle = {one[age] for one in (estimate, truth) for age in range(25, 60, 5)}
    ends = [one[age] for one in (estimate, truth) for age in (15, 65)]
    return middle == {40} and max(ends) <= 20 and list(estimate) == list(truth)


def sharper(g: Names) -> bool:
    """Return whether the error is about a third, and the interval about a fifth."""
    error, width = (one["default"] / one["asked"] for one in (g["errors"], g["widths"]))
    return 2.2 < error < 4.5 and 4 < width < 6 and 5 < g["times"] < 20


FINDINGS: dict[str, Callable[[Names], bool]] = {
    "01": by_hour,
    "02": lambda g: bool(np.all((1 / g["bound"] < g["factor"]) & (g["factor"] < g["bound"]))),
    "03": lambda g: g["low"] < g["truth"][0] < g["high"] and g["least"] < 0.02 < 0.1 < g["most"],
    "04": lambda g: g["place"][g["at"]] == 40 and 0.4 < g["low"][g["at"]] < 0.5,
    "05": lambda g: g["misplaced"][4] < 0.5 * g["misplaced"][1],
    "06": lambda g: g["name"] == "2020-04" and g["size"].low > 0,
    "07": lambda g: g["noticed"][0] in (41, 42) and len(g["noticed"]) == 1 and g["false"] > 10,
    "08": lambda g: 5 < g["needed"][1] / g["needed"][2] < 10,
    "09": lambda g: all(
        low < value < high and high < 1.5 * low
        for value, (low, high) in zip(g["truth"], g["intervals"], strict=True)
    ),
    "10": lambda g: g["best"] < 0.9 * g["errors"]["thresholded"] < 0.9 * g["errors"]["raw"],
    "11": lambda g: len(g["scan"]) == 4 and set(g["named"].values) == set(g["common"]),
    "12": lambda g: g["widths"][0] > 3 * g["widths"][1],
    "13": lambda g: g["error"] < min(g["expected"].high, 0.005) and g["low"] <= 30_000,
    "14": lambda g: g["cost"] == 1 and bool(np.all(np.abs(g["share"] - g["truth"]) < 0.02)),
    "15": lambda g: g["error"] < 0.01 and g["total"].people == 23_000,
    "16": pays,
    "17": lambda g: bool(
        np.all(g["means"]["square wave, EMS"] < g["means"]["square wave, EM"])
        and np.all(g["means"]["multiscale wave, default"][2:] < g["means"]["square wave, EMS"][2:])
    ),
    "18": lambda g: g["moved"]["optimized unary encoding"] > 2 * g["moved"]["square wave"],
    "19": lambda g: abs(g["line"] - 12) < 7 and g["circle"][:2] in ("23", "00"),
    "20": lambda g: np.abs(g["result"].mass - g["truth"]).max() < 0.03,
    "21": later,
    "22": shorter,
    "23": sharper,
}
"""What must hold of the names of an example, so that its title stays true."""


@pytest.mark.soak  # `make docs-check` runs every example, too
@pytest.mark.usefixtures("registered_before")
@pytest.mark.parametrize("number", EXAMPLES)
def test_an_example(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = EXAMPLES[number]
    text = path.read_text("utf-8")
    title, line, *_ = (ast.get_docstring(ast.parse(text)) or "").split("\n")
    assert re.fullmatch(r"[A-Z0-9].* .* .*[^.:,]", title) and set(line) == {"="}
    assert len(line) == len(title) <= 100
    assert len(text.splitlines()) <= MOST_LINES and "# %%" in text
    made_up = "default_rng" in text or "made-up" in text
    assert not made_up or title.startswith("Made-up ")

    monkeypatch.setenv("MPLBACKEND", "Agg")
    from matplotlib import pyplot, rc_context

    printed = io.StringIO()
    pyplot.close("all")
    with rc_context(), contextlib.redirect_stdout(printed):
        names = runpy.run_path(str(path))
    try:
        assert len(pyplot.get_fignums()) == 1
        figure = pyplot.gcf()
        assert figure.get_size_inches()[0] == 7.2 and figure.dpi == 100
        assert figure.get_suptitle()  # the alternative text
        assert 1 <= len(figure.axes) <= 2
        titles = [figure.get_suptitle(), *(ax.get_title() for ax in figure.axes)]
        assert not made_up or any("made-up" in one.lower() for one in titles)
        assert all(ax.get_xlabel() for ax in figure.axes[-1:])
        figure.savefig(io.BytesIO())
    finally:
        pyplot.close("all")
    (sentence,) = printed.getvalue().splitlines()
    assert re.fullmatch(r"[A-Z0-9].*\.", sentence)
    assert FINDINGS[number](names), f"the title is no longer true: {title}"


def test_each_example_has_its_finding() -> None:
    assert set(EXAMPLES) == set(FINDINGS)
