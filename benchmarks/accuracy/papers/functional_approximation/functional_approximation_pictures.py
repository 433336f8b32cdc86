"""The functional-approximation paper's figures 1 to 27 as pictures, each by its number.

Curves of distances are drawn from the kept results, with bars of two standard errors; example
curves are drawn anew with fixed seeds. Those of real columns need the data folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy.papers.drawing import (
    COLORS,
    Picture,
    curves,
    legend,
    panels,
    plain_logarithmic,
    with_between,
)
from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    REAL,
    People,
    people_of,
    without_noise,
)
from benchmarks.accuracy.papers.functional_approximation.central_dictionaries import (
    DICTIONARIES,
    THREE,
)
from benchmarks.accuracy.papers.functional_approximation.central_judging import AQ, HQ
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    DEFAULT,
    METHODS,
    Method,
    Vector,
    empirical,
)
from benchmarks.accuracy.papers.functional_approximation.central_projection import (
    BASES,
    COUNTS,
    centered,
    projected,
)
from benchmarks.accuracy.papers.functional_approximation.central_pursuit import forms
from benchmarks.accuracy.papers.functional_approximation.central_real import examples
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import KEYS, NONE, number
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection
from lapwing.results.distribution import Distribution

NORMAL, TWO = ("normal",), ("lognormal", "beta")
PEOPLE = 10_000
TRUE = "#9a9a9a"


def _grid(rows: int, columns: int, title: str) -> tuple[Any, Any]:
    """Return small panels that share their scales, with a title over all."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.4 * columns, 1.9 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=7)
    figure.suptitle(title, fontsize=10)
    return figure, axes


def _draw(ax: Any, curve: Vector, **style: Any) -> None:
    """Draw a distribution function, given at the right ends of its symbols, over [-1, 1]."""
    ends = 2 * np.arange(curve.size + 1) / curve.size - 1
    ax.plot(ends, np.concatenate([[0.0], curve]), linewidth=1.2, **style)


def _curve(result: Distribution, held: int) -> Vector:
    return np.asarray(np.cumsum(result.mass)[:held])


def stages(column: People, *, people: int = PEOPLE, epsilon: float = 0.1) -> Any:
    """Return figure 1: the people's curve, its projection, with noise, and made monotone."""
    summary = column.summarized(people, seed=[number("figure 1")])
    method = Method(PolynomialProjection(6, shape="algorithm-1", noise="normal"))
    release = method.release(summary, epsilon, people**-1.5, seed=number("figure 1", "noise"))
    operator: Any = release.channel.blocks[0].operator
    exact = without_noise(release, summary).answers
    projection, noisy = (
        operator.start + operator.curve @ (answers / people) for answers in (exact, release.answers)
    )
    own = empirical(summary)
    monotone = _curve(method.decode(release), own.size)
    figure, axes = _grid(1, 4, f"Figure 1: the stages, {column.name}, K = 6, ε = {epsilon:g}")
    for ax, curve, title in zip(
        axes.flat,
        (own, projection, noisy, monotone),
        ("the people", "projected", "with noise", "isotonic, clipped"),
        strict=True,
    ):
        _draw(ax, own, color=TRUE, label="the people")
        ends = 2 * np.arange(1, curve.size + 1) / curve.size - 1
        ax.plot(ends, curve, color=COLORS[0], linewidth=1.2, label="the stage")
        ax.set_title(title, fontsize=9)
    legend(figure, columns=2)
    return figure


def releases(
    columns: Sequence[People], title: str, *, people: int = PEOPLE, epsilon: float = 0.1
) -> Any:
    """Return figures 4, 16 and 17: one release of every method beside its run without noise."""
    figure, axes = _grid(len(columns), 5, f"{title}, ε = {epsilon:g}")
    for line, column in zip(axes, columns, strict=True):
        size = column.kept or people
        summary = column.summarized(size, seed=[number(title, column.name)])
        truth = column.cdf(summary)
        shown = {**examples(column), DEFAULT: METHODS[DEFAULT]}
        for ax, (name, method) in zip(line, shown.items(), strict=True):
            one = number(title, column.name, name)
            release = method.release(summary, epsilon, size**-1.5, seed=one)
            _draw(ax, truth, color=TRUE, label="true")
            if name != DEFAULT:
                exact = method.decode(without_noise(release, summary))
                _draw(
                    ax,
                    _curve(exact, truth.size),
                    color=COLORS[0],
                    alpha=0.7,
                    label="no noise, no privacy",
                )
            private = _curve(method.decode(release), truth.size)
            _draw(ax, private, color=COLORS[1], linestyle="--", label="released")
            ax.set_title(f"{column.name}, n = {size:,}: {name}", fontsize=7)
    legend(figure, columns=3)
    return figure


def dictionaries(
    columns: Sequence[People],
    title: str,
    *,
    people: int = PEOPLE,
    epsilon: float = 0.5,
    terms: int = 30,
) -> Any:
    """Return figures 8, 24 and 25: thirty terms of three dictionaries."""
    figure, axes = _grid(len(columns), len(THREE), f"{title}, s = {terms}, ε = {epsilon:g}")
    for line, column in zip(axes, columns, strict=True):
        size = column.kept or people
        summary = column.summarized(size, seed=[number(title, column.name)])
        truth = column.cdf(summary)
        for ax, name in zip(line, THREE, strict=True):
            methods = forms(terms, **DICTIONARIES[name])
            _draw(ax, truth, color=TRUE, label="true")
            for place, form in enumerate(("as printed*", "repaired")):
                one = number(title, column.name, name, form)
                release = methods[form].release(summary, epsilon, size**-1.5, seed=one)
                _draw(
                    ax,
                    _curve(methods[form].decode(release), truth.size),
                    color=COLORS[1 - place],
                    linestyle="--",
                    label=form,
                )
            exact = methods[form].decode(without_noise(release, summary))
            _draw(ax, _curve(exact, truth.size), color=COLORS[2], alpha=0.7, label="without noise")
            ax.set_title(f"{column.name}: {name}", fontsize=8)
    legend(figure, columns=4)
    return figure


def bases(column: People, *, people: int = PEOPLE) -> Any:
    """Return figure 10: the people's curve projected on four bases, without privacy."""
    summary = column.summarized(people, seed=[number("figure 10")])
    cdf = centered(summary)
    points = (2 * np.arange(cdf.size) + 1) / cdf.size - 1
    title = f"Figure 10: four bases, {column.name}, no privacy"
    figure, axes = _grid(len(BASES), len(COUNTS), title)
    for row, name in enumerate(BASES):
        for place, count in enumerate(COUNTS):
            ax = axes[row, place]
            ax.plot(points, cdf, color=TRUE, linewidth=1.2, label="the people")
            ax.plot(
                points,
                projected(name, count, cdf),
                color=COLORS[1],
                linewidth=1.0,
                label="projected",
            )
            ax.set_title(f"{name}, {count}", fontsize=8)
    legend(figure, columns=2)
    return figure


Part = tuple[str, str, str]
"""A sweep by its name in the measured part, what varies, and the law."""


def sweeps(measured: Mapping[str, Any], parts: Sequence[Part], title: str) -> Any:
    """Return a line of panels for every part, KS, W1 and energy beside each other."""
    figure, axes = panels(len(parts), len(KEYS), wide=2.9, high=2.2)
    forms_ = [name for sweep, _, law in parts for name in measured[sweep][0]["columns"][law]]
    # What has no noise is the last, so that a form has one color in all lines.
    known = sorted(dict.fromkeys(forms_), key=lambda name: name == NONE)
    for line, (sweep, short, law) in zip(axes, parts, strict=True):
        points = measured[sweep]
        names = list(points[0]["columns"][law])
        for ax, (key, shown) in zip(line, KEYS.items(), strict=True):
            found = {
                name: [
                    (point["at"], one["mean"], one["standard_error"])
                    for point in points
                    for one in [point["columns"][law][name][key]]
                ]
                for name in names
            }
            curves(ax, found, known)
            plain_logarithmic(ax)
            if points[-1]["at"] >= 10 * points[0]["at"]:
                ax.set_xscale("log")
            places = [point["at"] for point in points]
            if places[-1] < 1000:
                ax.set_xticks(places, [str(place) for place in places])
                ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            ax.set_title(law, fontsize=9)
            ax.set(xlabel=short, ylabel=shown)
            ax.tick_params(axis="y", which="both", labelsize=7)
            ax.tick_params(axis="x", labelsize=7)
    figure.suptitle(title, fontsize=10)
    legend(figure, columns=4)
    return figure


MARKED = (0.1, 0.2, 0.3, 0.5, 0.7, 1)
"""Epsilons with a number below them: ten of them would overlap."""

DODGE = 1.01
"""By which curves of methods stand beside each other along epsilon, so that none hides another."""


def by_epsilon(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], names: Sequence[str], title: str
) -> Any:
    """Return a line of panels for every column, KS, W1 and energy beside each other."""
    figure, axes = panels(len(columns), len(KEYS), wide=2.9, high=2.4)
    for line, column in zip(axes, columns, strict=True):
        own = [row for row in rows if row["column"] == column]
        for ax, (key, shown) in zip(line, KEYS.items(), strict=True):
            found = {
                name: [
                    (
                        row["epsilon"] * DODGE ** (place - len(names) / 2),
                        row["methods"][name][key]["mean"],
                        row["methods"][name][key]["standard_error"],
                    )
                    for row in own
                ]
                for place, name in enumerate(names)
            }
            curves(ax, found, names)
            plain_logarithmic(ax)
            ax.set_xscale("log")
            marked = [row["epsilon"] for row in own if row["epsilon"] in MARKED] or [
                row["epsilon"] for row in own
            ]
            ax.set_xticks(marked, [f"{epsilon:g}" for epsilon in marked])
            ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            ax.set_title(column, fontsize=9)
            ax.set(xlabel="ε", ylabel=shown)
            ax.tick_params(axis="y", which="both", labelsize=7)
            ax.tick_params(axis="x", labelsize=7)
    figure.suptitle(title, fontsize=10)
    legend(figure, columns=4)
    return figure


OF_LAWS = (HQ, *AQ.values(), "PP 6, algorithm 1", "MP 6, as printed*", "MP 6, its true cost")
OF_COLUMNS = (HQ, *AQ.values(), "PP, algorithm 1", "MP, as printed*", "MP, its true cost")
OF_DICTIONARIES = tuple(f"{name}, as printed*" for name in THREE)


def _sweep_picture(benchmark: str, title: str, *parts: Part) -> Picture:
    return Picture(f"accuracy/{benchmark}", lambda measured: sweeps(measured, parts, title))


def _epsilon_picture(
    benchmark: str, rows: str, columns: Sequence[str], names: Sequence[str], title: str
) -> Picture:
    return Picture(
        f"accuracy/{benchmark}",
        lambda measured: by_epsilon(with_between(measured, rows), columns, names, title),
    )


def _releases(number_: int, columns: Sequence[str]) -> Picture:
    title = f"Figure {number_}: one release of each method"
    return Picture("accuracy/central_real", lambda _: releases(people_of(columns), title))


def _reconstructions(number_: int, columns: Sequence[str]) -> Picture:
    title = f"Figure {number_}: reconstructions"
    return Picture(
        "accuracy/central_dictionaries", lambda _: dictionaries(people_of(columns, bins=512), title)
    )


def _both(sweep: str, short: str) -> tuple[Part, ...]:
    return tuple((sweep, short, law) for law in TWO)


PICTURES = {
    "figure-1": Picture("accuracy/central_projection", lambda _: stages(people_of(NORMAL)[0])),
    "figure-2": _sweep_picture(
        "central_projection",
        "Figure 2: projection, normal",
        ("by_functions", "K functions", "normal"),
        ("by_people", "n", "normal"),
    ),
    "figure-3": _sweep_picture(
        "central_pursuit",
        "Figure 3: matching pursuit, normal",
        ("terms", "s terms", "normal"),
        ("atoms", "m atoms", "normal"),
        ("people", "n", "normal"),
    ),
    "figure-4": _releases(4, NORMAL),
    "figure-5": _epsilon_picture(
        "central_figures", "cells", NORMAL, (*OF_LAWS, DEFAULT), "Figure 5: four methods, normal"
    ),
    "figure-8": _reconstructions(8, NORMAL),
    "figure-10": Picture("accuracy/central_projection", lambda _: bases(people_of(NORMAL)[0])),
    "figure-11": _sweep_picture(
        "central_projection",
        "Figure 11: projection against K",
        *_both("by_functions", "K functions"),
    ),
    "figure-12": _sweep_picture(
        "central_projection", "Figure 12: projection against n", *_both("by_people", "n")
    ),
    "figure-13": _sweep_picture(
        "central_pursuit", "Figure 13: matching pursuit against s", *_both("terms", "s terms")
    ),
    "figure-14": _sweep_picture(
        "central_pursuit", "Figure 14: matching pursuit against m", *_both("atoms", "m atoms")
    ),
    "figure-15": _sweep_picture(
        "central_pursuit", "Figure 15: matching pursuit against n", *_both("people", "n")
    ),
    "figure-16": _releases(16, TWO),
    "figure-17": _releases(17, REAL),
    "figure-18": _epsilon_picture(
        "central_figures", "cells", TWO, (*OF_LAWS, DEFAULT), "Figure 18: four methods"
    ),
    "figure-19": _epsilon_picture(
        "central_real", "cells", REAL, (*OF_COLUMNS, DEFAULT), "Figure 19: four methods"
    ),
    "figure-24": _reconstructions(24, TWO),
    "figure-25": _reconstructions(25, REAL),
    **{
        f"figure-{number_}": _epsilon_picture(
            "central_sites",
            rows,
            columns,
            (*OF_COLUMNS, DEFAULT),
            f"Figure {number_}: ten {rows}",
        )
        for rows, numbers in (("sites", (6, 20, 21)), ("rounds", (7, 22, 23)))
        for number_, columns in zip(numbers, (NORMAL, TWO, REAL), strict=True)
    },
    **{
        f"figure-{number_}": _epsilon_picture(
            "central_dictionaries",
            "cells",
            columns,
            OF_DICTIONARIES,
            f"Figure {number_}: dictionaries, s = 30",
        )
        for number_, columns in zip((9, 26, 27), (NORMAL, TWO, REAL), strict=True)
    },
}
