"""The wavelet paper's figures as pictures: all seven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.accuracy.papers.drawing import COLORS, MARKS, Picture, legend, panels, with_between
from benchmarks.accuracy.papers.wavelet import wavelet_levels
from benchmarks.accuracy.papers.wavelet.wavelet_methods import (
    CATEGORICAL,
    DW,
    EM,
    EMS,
    HH,
    IIW,
    OWN,
    PURE,
    WAVELET,
)
from benchmarks.accuracy.papers.wavelet.wavelet_tables import SCALES

WIENER = "DW or IIW"
ROWS = (
    (WAVELET, PURE, OWN, HH, WIENER),
    (WAVELET, EM, *EMS.values()),
    (WAVELET, *CATEGORICAL),
)
KNOWN = tuple(dict.fromkeys(name for names in ROWS for name in names))
COLOR = dict(zip(KNOWN, COLORS, strict=True))
MARK = dict(zip(KNOWN, MARKS, strict=True))
DODGE = 0.035
"""By so much curves stand apart along epsilon, so that none hides another's bars."""


def along_epsilon(measured: Mapping[str, Any], *, number: int, figure: str, label: str) -> Any:
    """Return a figure against epsilon, a column of panels for each column of the data.

    Above the wavelet with HH and Wiener, in the middle with SW-EM, below with bins.
    """
    every = with_between(measured)
    columns = list(dict.fromkeys(row["column"] for row in every))
    drawing, axes = panels(len(ROWS), len(columns), wide=2.5, high=1.8)
    for place, column in enumerate(columns):
        rows = [row for row in every if row["column"] == column]
        for ax, names in zip(axes[:, place], ROWS, strict=True):
            _curves(ax, rows, figure, [name for name in names if _has(rows, name)])
        axes[0, place].set_title(f"{column}, n = {measured['columns'][column]['people']:,}")
        axes[0, place].title.set_fontsize(9)
        axes[-1, place].set_xlabel("ε")
    for ax in axes[:, 0]:
        ax.set_ylabel(label)
    _title(drawing, f"Figure {number} of the wavelet paper: {label}, bars of two standard errors")
    legend(drawing, columns=6)
    return drawing


def _has(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return name == WIENER or name in rows[0]["methods"]


def _found(row: Mapping[str, Any], name: str, figure: str) -> Mapping[str, float]:
    """Return a method's figure; of the two Wiener methods that of the better one."""
    names = (DW, IIW) if name == WIENER else (name,)
    both: list[Mapping[str, float]] = [row["methods"][one][figure] for one in names]
    return min(both, key=lambda one: one["mean"])


def _curves(ax: Any, rows: Sequence[Mapping[str, Any]], figure: str, names: Sequence[str]) -> None:
    scale = SCALES.get(figure, 1e4)
    for place, name in enumerate(names):
        found = [_found(row, name, figure) for row in rows]
        shift = DODGE * (place - (len(names) - 1) / 2)
        ax.errorbar(
            [row["epsilon"] + shift for row in rows],
            [scale * one["mean"] for one in found],
            yerr=[2 * scale * one["standard_error"] for one in found],
            color=COLOR[name],
            marker=MARK[name],
            linestyle="--" if name in (PURE, OWN, EMS[512]) else "-",
            markersize=3.5,
            linewidth=1.1,
            elinewidth=0.8,
            label=name,
        )
    _logarithmic(ax)
    ax.set_xticks([1, 2, 3, 4])


def _logarithmic(ax: Any) -> None:
    """Set a logarithmic scale with plain numbers at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def _title(drawing: Any, text: str) -> None:
    drawing.suptitle(text, fontsize=10)


def by_level(measured: Mapping[str, Any]) -> Any:
    """Return figure 4: W1 and both bounds against J, a row for each epsilon, least points ringed.

    The printed J of the taxi column are lines: 4 of the experiments, 8 of the bound.
    """
    orders = measured["orders"]
    columns = list(dict.fromkeys(row["column"] for row in orders))
    epsilons = list(dict.fromkeys(row["epsilon"] for row in orders))
    drawing, axes = panels(len(epsilons), len(columns), wide=2.4, high=1.75)
    for row in orders:
        ax = axes[epsilons.index(row["epsilon"]), columns.index(row["column"])]
        found = {int(order): one["w1"] for order, one in row["methods"].items()}
        ax.errorbar(
            list(found),
            [1e4 * one["mean"] for one in found.values()],
            yerr=[2e4 * one["standard_error"] for one in found.values()],
            color=COLORS[0],
            marker="o",
            markersize=3,
            linewidth=1.2,
            label="W1",
        )
        curve = {order: one["mean"] for order, one in found.items()}
        least = [(curve, COLORS[0])]
        for place, (name, bounds) in enumerate(row["bounds"].items()):
            drawn = {order: float(bounds[str(order)]) for order in found}
            color = COLORS[1 + place]
            values = [1e4 * one for one in drawn.values()]
            style = ("--", ":")[place % 2]
            ax.plot(list(drawn), values, style, color=color, linewidth=1.3, label=name)
            least.append((drawn, color))
        for one, color in least:
            best = min(one, key=lambda j, one=one: float(one[j]))
            ax.plot([best], [1e4 * one[best]], "o", markersize=9, mfc="none", color=color)
        if row["column"] == "taxi":
            for name, color in (("experiment", COLORS[0]), ("theory", COLORS[4])):
                label = f"printed, {name}"
                ax.axvline(
                    wavelet_levels.PRINTED[name],
                    color=color,
                    linewidth=0.8,
                    alpha=0.6,
                    label=label,
                )
        _logarithmic(ax)
        ax.set_title(f"{row['column']}, ε = {row['epsilon']:g}", fontsize=9)
        ax.set_xticks(list(found))
    for ax in axes[-1]:
        ax.set_xlabel("J")
    for ax in axes[:, 0]:
        ax.set_ylabel("W1 ×10⁴")
    _title(drawing, "Figure 4 of the wavelet paper: W1 and its bound by J, least points ringed")
    legend(drawing, columns=5)
    return drawing


def two_estimates(measured: Mapping[str, Any]) -> Any:
    """Return figure 1: two densities with the same l1 distance to the uniform one, their CDFs."""
    import numpy as np

    drawing, axes = panels(1, 3, wide=3.1, high=2.6)
    for place, (name, one) in enumerate(measured["example"].items()):
        density = np.asarray(one["density"])
        edges = np.arange(density.size + 1) / density.size
        color = COLORS[place]
        axes[0, place].stairs(density, edges, color=color, linewidth=1.3, label=name)
        axes[0, place].set_title(f"{name} estimate: l1 {one['l1']:.2g}, W1 {one['w1']:.3g}")
        axes[0, place].axhline(1, color="black", linewidth=0.8, linestyle=":")
        axes[0, place].set_ylim(0, 2)
        sums = np.concatenate([[0], np.cumsum(density) / density.size])
        axes[0, 2].plot(edges, sums, color=color, linewidth=1.3, label=name)
    axes[0, 2].plot([0, 1], [0, 1], ":", color="black", linewidth=0.8, label="truth")
    axes[0, 2].set_title("both CDFs")
    for ax in axes[0]:
        ax.title.set_fontsize(9)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("density")
    _title(drawing, "Figure 1 of the wavelet paper: two estimates of a uniform density (exact)")
    legend(drawing, columns=3)
    return drawing


LABELS = {
    2: ("w1", "W1 ×10⁴"),
    3: ("ks", "KS ×10³"),
    6: ("range .2", "MAE ×10⁴"),
    7: ("range .4", "MAE ×10⁴"),
}

PICTURES = {
    "figure-1": Picture("accuracy/wavelet_levels", two_estimates),
    **{
        f"figure-{number}": Picture(
            "accuracy/wavelet_figures",
            partial(along_epsilon, number=number, figure=figure, label=label),
        )
        for number, (figure, label) in LABELS.items()
    },
    "figure-4": Picture("accuracy/wavelet_levels", by_level),
    "figure-5": Picture(
        "accuracy/wavelet_blocks",
        partial(along_epsilon, number=5, figure="w1", label="W1 ×10⁴"),
    ),
}
