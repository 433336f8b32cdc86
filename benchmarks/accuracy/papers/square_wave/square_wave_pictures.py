"""The square-wave paper's seven figures as pictures, and those of what it decides in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy.papers.drawing import (
    COLORS,
    Picture,
    along,
    curves,
    legend,
    panels,
    with_between,
)
from benchmarks.accuracy.papers.square_wave.square_wave_choices import (
    ADMM,
    ASKED,
    FIRST,
    HH,
    LAST,
    ORDERED,
    PRIOR,
)
from benchmarks.accuracy.papers.square_wave.square_wave_shapes import SHAPES
from benchmarks.summaries import ratio_of_means

Measured = Mapping[str, Any]
LABELS = {
    "w1": "W1 ×10⁴",
    "ks": "KS ×10³",
    "range .1": "range, α = .1, ×10⁴",
    "range .4": "range, α = .4, ×10⁴",
    "mean": "mean ×10⁴",
    "variance": "variance ×10⁴",
    "quantiles": "deciles ×10⁴",
}
APART = 0.012
"""Of epsilon, between curves that are next to each other in a legend: none hides another."""


def data(measured: Measured) -> Any:
    """Return figure 1: the share of each bin."""
    columns = measured["columns"]
    figure, axes = _grid("Figure 1: shares of the columns", 2, (len(columns) + 1) // 2)
    for ax, (name, one) in zip(axes.flat, columns.items(), strict=False):
        mass = np.array(one["shares"])
        bins = mass.size
        ax.fill_between(np.arange(bins) / bins, mass, step="post", color=COLORS[0], linewidth=0)
        ax.set_title(f"{name}, {bins} bins", fontsize=10)
        ax.set_xlim(0, 1)
        second, first = np.sort(mass)[-2:]
        ax.set_ylim(0, 1.2 * second if first > 3 * second else None)
        if first > 3 * second:  # an atom would flatten all that stands beside it
            place = (int(np.argmax(mass)) + 0.5) / bins
            ax.text(place + 0.03, 1.1 * second, f"to {first:.3f}", fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes.flat[len(columns) :]:
        ax.set_visible(False)
    return figure


def against_epsilon(title: str, keys: Sequence[str]) -> Callable[[Measured], Any]:
    """Return what draws some errors of figures 2 to 4 against epsilon, a column of panels each."""

    def draw(measured: Measured) -> Any:
        columns = list(measured["columns"])
        first = measured["rows"][0]["methods"]
        known = [name for name in first if any(key in first[name] for key in keys)]
        figure, axes = _grid(title, len(keys), len(columns))
        for place, column in enumerate(columns):
            rows = [row for row in with_between(measured) if row["column"] == column]
            for line, key in enumerate(keys):
                _errors(axes[line, place], rows, "epsilon", known, key)
                axes[line, 0].set_ylabel(LABELS[key])
            axes[0, place].set_title(column, fontsize=10)
            axes[-1, place].set_xlabel("ε")
        legend(figure, columns=min(len(known), 8))
        return figure

    return draw


def _errors(
    ax: Any,
    rows: Sequence[Mapping[str, Any]],
    key: str,
    known: Sequence[str],
    figure: str,
    *,
    apart: float = APART,
) -> None:
    """Draw one error of the methods that are judged by it, in the unit of the tables."""
    scale = 1e3 if figure == "ks" else 1e4
    names = [name for name in known if figure in rows[0]["methods"][name]]
    found = {
        name: [(x + apart * place, scale * y, scale * error) for x, y, error in points]
        for place, (name, points) in enumerate(along(rows, key, names, figure).items())
    }
    _curves(ax, found, known)


def _curves(ax: Any, found: Mapping[str, Any], known: Sequence[str]) -> None:
    """Draw curves on a logarithmic scale with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import LogLocator, NullLocator

    curves(ax, found, known)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter("{x:g}")
    ax.tick_params(labelsize=8)


def shapes(measured: Measured) -> Any:
    """Return figure 5: W1 of every shape against b."""
    columns = list(measured["columns"])
    figure, axes = _grid("Figure 5: shapes of the wave, ε = 1", 1, len(columns))
    for ax, column in zip(axes[0], columns, strict=True):
        rows = [row for row in measured["rows"] if row["column"] == column]
        _errors(ax, rows, "width", SHAPES, "w1", apart=0.002)
        ax.set_title(column, fontsize=10)
        ax.set_xlabel("b")
    axes[0, 0].set_ylabel(LABELS["w1"])
    legend(figure, columns=6)
    return figure


def widths(measured: Measured) -> Any:
    """Return figure 6: W1 against b, with the rule's b as a dotted line."""
    columns, rules = list(measured["columns"]), measured["rules"]
    figure, axes = _grid("Figure 6: width b of the square wave", 1, len(columns))
    known = [f"ε = {epsilon}" for epsilon in rules]
    for ax, column in zip(axes[0], columns, strict=True):
        for number, (epsilon, rule) in enumerate(rules.items()):
            row = next(
                row
                for row in measured["rows"]
                if row["column"] == column and f"{row['epsilon']:g}" == epsilon
            )
            points = [
                (float(step) * rule, 1e4 * one["mean"], 1e4 * one["standard_error"])
                for step, found in row["methods"].items()
                for one in [found["w1"]]
            ]
            _curves(ax, {known[number]: points}, known)
            ax.axvline(rule, color=COLORS[number], linestyle=":", linewidth=1)
        ax.set_title(column, fontsize=10)
        ax.set_xlabel("b (dotted: the rule's)")
    axes[0, 0].set_ylabel(LABELS["w1"])
    legend(figure, columns=3)
    return figure


def granularities(measured: Measured) -> Any:
    """Return figure 7: W1 against epsilon by number of bins."""
    columns = list(measured["columns"])
    figure, axes = _grid("Figure 7: numbers of bins", 1, len(columns))
    names = list(measured["rows"][0]["methods"])
    for ax, column in zip(axes[0], columns, strict=True):
        rows = [row for row in measured["rows"] if row["column"] == column]
        _errors(ax, rows, "epsilon", names, "w1")
        ax.set_title(column, fontsize=10)
        ax.set_xlabel("ε")
    axes[0, 0].set_ylabel(LABELS["w1"])
    legend(figure, columns=4)
    return figure


def branching(measured: Measured) -> Any:
    """Return errors of HH and of HH-ADMM by branching."""
    rows = measured["branchings"]
    columns = list(dict.fromkeys(row["column"] for row in rows))
    figure, axes = _grid("Section 4.2: branching of trees", 2, len(columns))
    for line, name in enumerate((HH, ADMM)):
        numbers = [one.split()[-1] for one in rows[0]["methods"] if one.startswith(f"{name} ")]
        for ax, column in zip(axes[line], columns, strict=True):
            own = [row for row in rows if row["column"] == column]
            known = [f"ε = {row['epsilon']:g}" for row in own]
            for row, label in zip(own, known, strict=True):
                found = [row["methods"][f"{name} {number}"][ASKED[name]] for number in numbers]
                points = [
                    (float(number), 1e4 * one["mean"], 1e4 * one["standard_error"])
                    for number, one in zip(numbers, found, strict=True)
                ]
                _curves(ax, {label: points}, known)
            ax.set_xscale("log", base=2)
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_title(column, fontsize=10)
            axes[-1, 0].set_xlabel("branching")
        asked = "range queries" if ASKED[name] == "range" else "W1"
        axes[line, 0].set_ylabel(f"{name}: {asked} ×10⁴")
    legend(figure, columns=3)
    return figure


def budgets(measured: Measured) -> Any:
    """Return the error of a split budget over that of split people, against epsilon."""
    rows = measured["budgets"]
    ratios = {
        name: [(row, _ratio(row, f"{name}, budget", f"{name}, people", figure)) for row in rows]
        for name, figure in ASKED.items()
    }
    return _over("Section 4.2: a split budget over split people", rows, ratios)


def orders(measured: Measured) -> Any:
    """Return the errors of R-B over those of B-R, against epsilon."""
    ratios = {
        f"{key.upper()}, {name}": [
            (row, _ratio(row, FIRST, LAST, key))
            for row in measured["orders"]
            if row["decoder"] == name
        ]
        for key in ("w1", "ks")
        for name in ORDERED
        if name != PRIOR
    }
    return _over("Section 5.4: R-B over B-R", measured["orders"], ratios)


def _over(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    ratios: Mapping[str, Sequence[tuple[Mapping[str, Any], Mapping[str, float]]]],
) -> Any:
    columns = list(dict.fromkeys(row["column"] for row in rows))
    figure, axes = _grid(title, 1, len(columns))
    for ax, column in zip(axes[0], columns, strict=True):
        for name, found in ratios.items():
            points = [
                (row["epsilon"], one["ratio"], one["standard_error"])
                for row, one in found
                if row["column"] == column
            ]
            _curves(ax, {name: points}, list(ratios))
        ax.axhline(1, color="#8a8a8a", linestyle=":", linewidth=1)
        _plain_ticks(ax)
        ax.set_title(column, fontsize=10)
        ax.set_xlabel("ε")
    for ax in axes[0]:
        ax.set_ylabel("ratio of errors")
    legend(figure, columns=4)
    return figure


def _plain_ticks(ax: Any) -> None:
    """Set ticks with plain numbers on a logarithmic scale that spans less than ten."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _ratio(row: Mapping[str, Any], ours: str, theirs: str, figure: str) -> Mapping[str, float]:
    return ratio_of_means(*(row["methods"][name][figure]["values"] for name in (ours, theirs)))


def _grid(title: str, rows: int, columns: int) -> tuple[Any, Any]:
    figure, axes = panels(rows, columns, wide=2.6, high=2.1 + 0.4 / rows)
    figure.suptitle(f"Li et al. 2020, {title[0].lower()}{title[1:]}", fontsize=11)
    return figure, axes


_CURVES = "accuracy/square_wave_figures"
_CHOICES = "accuracy/square_wave_choices"
PICTURES = {
    "figure-1": Picture(_CURVES, data),
    "figure-2": Picture(
        _CURVES, against_epsilon("Figure 2: distances of distributions", ["w1", "ks"])
    ),
    "figure-3": Picture(
        _CURVES, against_epsilon("Figure 3: range queries", ["range .1", "range .4"])
    ),
    "figure-4": Picture(
        _CURVES,
        against_epsilon("Figure 4: mean, variance, quantiles", ["mean", "variance", "quantiles"]),
    ),
    "figure-5": Picture("accuracy/square_wave_shapes", shapes),
    "figure-6": Picture("accuracy/square_wave_widths", widths),
    "figure-7": Picture("accuracy/square_wave_bins", granularities),
    "branching": Picture(_CHOICES, branching),
    "budgets": Picture(_CHOICES, budgets),
    "orders": Picture(_CHOICES, orders),
}
