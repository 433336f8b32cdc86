"""The functional-approximation paper's example curves as pictures (figures 1, 4, 8, 10).

Seeds are fixed. The real columns need the data folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.accuracy.papers.drawing import COLOURS, Picture
from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    People,
    people_of,
    without_noise,
)
from benchmarks.accuracy.papers.functional_approximation.central_dictionaries import (
    DICTIONARIES,
    NESTED,
)
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
    centred,
    projected,
)
from benchmarks.accuracy.papers.functional_approximation.central_pursuit import forms
from lapwing.central.adaptive_quantiles import AdaptiveQuantiles
from lapwing.central.histogram_query import HistogramQuery
from lapwing.central.matching_pursuit import MatchingPursuit
from lapwing.central.polynomial_projection import PolynomialProjection
from lapwing.results.distribution import Distribution

LAWS = ("normal", "lognormal", "beta")
COLUMNS = ("airbnb_nyc",)
PEOPLE = 10_000
TRUE = "#9a9a9a"


def _panels(
    rows: int, columns: int, *, wide: float = 2.2, high: float = 1.7, shared: bool = True
) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide * columns, high * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=7)
    return figure, axes


def _draw(ax: Any, curve: Vector, **style: Any) -> None:
    """Draw a distribution function, given at the right ends of its symbols, over [-1, 1]."""
    ends = 2 * np.arange(curve.size + 1) / curve.size - 1
    ax.plot(ends, np.concatenate([[0.0], curve]), linewidth=1.2, **style)


def _curve(result: Distribution, held: int) -> Vector:
    return np.asarray(np.cumsum(result.mass)[:held])


def _legend(figure: Any, ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8
    )


def stages(column: People, *, people: int = PEOPLE, epsilon: float = 0.1) -> Any:
    """Return figure 1: the people's curve, its projection, with noise, and made monotone."""
    from scipy.optimize import isotonic_regression

    summary = column.summarized(people, seed=[2, 7])
    method = Method(PolynomialProjection(6, shape="moments", noise="normal"))
    release = method.release(summary, epsilon, people**-1.5, seed=4)
    operator: Any = release.channel.blocks[0].operator
    exact = without_noise(release, summary).answers
    projection, noisy = (
        operator.start + operator.curve @ (answers / people) for answers in (exact, release.answers)
    )
    monotone = np.clip(isotonic_regression(noisy).x, 0, 1)
    figure, axes = _panels(1, 4)
    own = empirical(summary)
    for ax, curve, title in zip(
        axes.flat,
        (own, projection, noisy, monotone),
        ("the people", "projected", "with noise", "isotonic, clipped"),
        strict=True,
    ):
        _draw(ax, own, color=TRUE)
        ends = 2 * np.arange(1, curve.size + 1) / curve.size - 1
        ax.plot(ends, curve, color=COLOURS[0], linewidth=1.2)
        ax.set_title(title, fontsize=9)
    return figure


def curves(columns: Sequence[People], *, people: int = PEOPLE, epsilon: float = 0.1) -> Any:
    """Return figures 4, 16 and 17: one release of every method beside its run without noise."""
    figure, axes = _panels(len(columns), 5)
    for line, column in zip(axes, columns, strict=True):
        functions, terms, atoms = column.sizes
        published = MatchingPursuit(terms, atoms=atoms, form="published")
        shown = {
            "HQ, 30 bins": Method(HistogramQuery(30, interpolate=False), pure=True),
            "AQ, 50 steps": Method(
                AdaptiveQuantiles(50, noise="laplace", guarded=False), pure=True
            ),
            f"PP, {functions}": Method(
                PolynomialProjection(functions, shape="moments", noise="normal")
            ),
            f"MP, {terms} of {atoms}": Method(published, pure=True),
            DEFAULT: METHODS[DEFAULT],
        }
        size = column.kept or people
        summary = column.summarized(size, seed=[2, 7])
        truth = column.cdf(summary)
        for place, (ax, (name, method)) in enumerate(zip(line, shown.items(), strict=True)):
            release = method.release(summary, epsilon, size**-1.5, seed=place)
            _draw(ax, truth, color=TRUE, label="true")
            colour = COLOURS[place]
            if name != DEFAULT:
                exact = method.decode(without_noise(release, summary))
                _draw(ax, _curve(exact, truth.size), color=colour, alpha=0.6)
            private = _curve(method.decode(release), truth.size)
            _draw(ax, private, color=colour, linestyle="--")
            ax.set_title(name, fontsize=9)
        line[0].set_ylabel(column.name, fontsize=9)
    ax = axes[0, 0]
    ax.plot([], [], color=COLOURS[0], alpha=0.6, label="no noise, no privacy")
    ax.plot([], [], color=COLOURS[0], linestyle="--", label=f"released, ε = {epsilon:g}")
    _legend(figure, ax)
    return figure


def dictionaries(
    columns: Sequence[People], *, people: int = PEOPLE, epsilon: float = 0.5, terms: int = 30
) -> Any:
    """Return figures 8, 24 and 25: thirty terms of three dictionaries."""
    names = ("Legendre 200", NESTED, "normal CDFs")
    figure, axes = _panels(len(columns), len(names), wide=2.7)
    for line, column in zip(axes, columns, strict=True):
        size = column.kept or people
        summary = column.summarized(size, seed=[2, 7])
        truth = column.cdf(summary)
        for ax, name in zip(line, names, strict=True):
            methods = forms(terms, **DICTIONARIES[name](column.domain.left.size))
            _draw(ax, truth, color=TRUE, label="true")
            for place, form in enumerate(("as printed*", "repaired")):
                method = methods[form]
                release = method.release(summary, epsilon, size**-1.5, seed=place)
                _draw(
                    ax,
                    _curve(method.decode(release), truth.size),
                    color=COLOURS[1 - place],
                    linestyle="--",
                    label=f"{form.rstrip('*')}, ε = {epsilon:g}",
                )
            exact = method.decode(without_noise(release, summary))
            _draw(ax, _curve(exact, truth.size), color=COLOURS[2], alpha=0.7, label="no noise")
            ax.set_title(name, fontsize=9)
        line[0].set_ylabel(column.name, fontsize=9)
    _legend(figure, axes[0, 0])
    return figure


def bases(column: People, *, people: int = PEOPLE) -> Any:
    """Return figure 10: the people's curve projected on four bases, without privacy."""
    summary = column.summarized(people, seed=[0, 7])
    cdf = centred(summary)
    points = (2 * np.arange(cdf.size) + 1) / cdf.size - 1
    figure, axes = _panels(len(BASES), len(COUNTS))
    for row, name in enumerate(BASES):
        for place, count in enumerate(COUNTS):
            ax = axes[row, place]
            ax.plot(points, cdf, color=TRUE, linewidth=1.2)
            ax.plot(points, projected(name, count, cdf), color=COLOURS[row], linewidth=1.0)
            ax.set_title(f"{name}, {count}", fontsize=9)
    return figure


SWEEPS = (
    ("by_functions", "K", {"published": 0, "repaired": 1, "none": 2}),
    ("terms", "s", {"as printed*": 3, "its true cost": 0, "repaired": 1, "none": 2}),
)


def sweeps(projection: Mapping[str, Any], pursuit: Mapping[str, Any]) -> Any:
    """Return figures 2, 3, 11 and 13: KS against the functions of PP and the terms of MP."""
    laws = list(projection["by_functions"][0]["columns"])
    figure, axes = _panels(2, len(laws), shared=False)
    for line, measured, (sweep, short, forms_) in zip(
        axes, (projection, pursuit), SWEEPS, strict=True
    ):
        points = measured[sweep]
        for ax, law in zip(line, laws, strict=True):
            for form, colour in forms_.items():
                curve = [point["columns"][law][form]["ks"]["mean"] for point in points]
                places = [point["at"] for point in points]
                ax.plot(places, curve, color=COLOURS[colour], linewidth=1.2, label=form)
            ax.set_yscale("log")
            ax.set_xlabel(f"{short} ({law})", fontsize=8)
            ax.tick_params(which="both", labelsize=7)
    for line, name in zip(axes, ("PP, KS", "MP, KS"), strict=True):
        line[0].set_ylabel(name, fontsize=9)
    shown: dict[str, Any] = {}
    for line in axes:
        handles, labels = line[0].get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    figure.legend(
        shown.values(), shown, loc="outside lower center", ncols=5, frameon=False, fontsize=8
    )
    return figure


def _shown(columns: Sequence[str] = COLUMNS, **sizes: int) -> list[People]:
    return [*people_of(LAWS, **sizes), *people_of(columns, **sizes)]


def _sweeps(projection: Mapping[str, Any]) -> Any:
    pursuit = results.read("accuracy/central_pursuit")
    return sweeps(projection, (pursuit or {})["measured"])


PICTURES = {
    "central-stages": Picture("accuracy/central_projection", lambda _: stages(people_of(LAWS)[0])),
    "central-curves": Picture("accuracy/central_real", lambda _: curves(_shown())),
    "central-dictionaries": Picture(
        "accuracy/central_dictionaries", lambda _: dictionaries(_shown(bins=512))
    ),
    "central-bases": Picture("accuracy/central_projection", lambda _: bases(people_of(LAWS)[0])),
    "central-sweeps": Picture("accuracy/central_projection", _sweeps),
}
