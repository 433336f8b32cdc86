"""Pictures of the papers' main figures, from the kept results.

    python -m benchmarks.accuracy.papers.pictures

Writes `figures/*.png` beside the results; the sections of the page show them. The picture of the
columns needs the data folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from benchmarks.accuracy.papers import convolution_errors, square_wave_figures
from benchmarks.accuracy.papers.convolution_columns import ITEMS, PERMUTED, SMOOTH, populations
from benchmarks.accuracy.papers.figure_columns import Population
from benchmarks.datasets import DataFolderError

FOLDER = Path(__file__).resolve().parent.parent / "figures"

COLOURS = (
    *("#1f4e5f", "#c8553d", "#2f9e8f", "#e0a030", "#7a5195"),
    *("#8a8a8a", "#5b8c2a", "#d67ab1", "#4477cc"),
)
MARKS = "osD^vPX*<"


def _panels(rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * columns, 2.6 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _curves(
    ax: Any, curves: Mapping[str, Sequence[tuple[float, float]]], known: Sequence[str]
) -> None:
    """Draw named curves on a logarithmic axis, each in the colour and mark of its known name."""
    for name, points in curves.items():
        number = known.index(name)
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=COLOURS[number % len(COLOURS)],
            marker=MARKS[number % len(MARKS)],
            markersize=3.5,
            linewidth=1.2,
            label=name,
        )
    ax.set_yscale("log")
    ax.spines[["top", "right"]].set_visible(False)


def _by(
    rows: Sequence[Mapping[str, Any]], key: str, names: Sequence[str], figure: str
) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(row[key], row["methods"][name][figure]["mean"]) for row in rows] for name in names
    }


def _legend(figure: Any, ax: Any, *, columns: int) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8
    )


def square_wave(measured: Mapping[str, Any]) -> Any:
    """Return figure 2 of the square-wave paper: W1 and KS against epsilon."""
    columns = list(measured["columns"])
    figure, axes = _panels(2, len(columns))
    for place, column in enumerate(columns):
        rows = [row for row in measured["rows"] if row["column"] == column]
        names = [name for name, found in rows[0]["methods"].items() if "w1" in found]
        for line, key, title in ((0, "w1", "W1"), (1, "ks", "KS")):
            _curves(axes[line, place], _by(rows, "epsilon", names, key), names)
            axes[line, 0].set_ylabel(title)
        axes[0, place].set_title(column, fontsize=10)
        axes[1, place].set_xlabel("ε")
    _legend(figure, axes[0, 0], columns=6)
    return figure


WAVELET = ("wavelet", "literal clip", "bound's J", "SW-EM", "SW-EMS", "HH", "IIW", "bins 32")


def wavelet(measured: Mapping[str, Any]) -> Any:
    """Return figures 2 and 4 of the wavelet paper: W1 against epsilon, and J with the bound."""
    columns = [row["column"] for row in measured["orders"]]
    figure, axes = _panels(2, len(columns))
    for place, (column, order) in enumerate(zip(columns, measured["orders"], strict=True)):
        rows = [row for row in measured["rows"] if row["column"] == column]
        _curves(axes[0, place], _by(rows, "epsilon", WAVELET, "w1"), WAVELET)
        axes[0, place].set_title(column, fontsize=10)
        axes[0, place].set_xlabel("ε")
        below = axes[1, place]
        for curve, style, label in (
            ({name: found["w1"]["mean"] for name, found in order["methods"].items()}, "-", "W1"),
            (order["bounds"], "--", "bound"),
        ):
            least = min(curve, key=lambda name: float(curve[name]))
            levels = [int(name) for name in curve]
            below.plot(levels, list(curve.values()), style, color=COLOURS[0], label=label)
            below.plot([int(least)], [curve[least]], "o", color=COLOURS[1])
        below.set_yscale("log")
        below.set_xlabel("J (ε = 1)")
        below.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("W1 (256 points)")
    axes[1, 0].set_ylabel("W1")
    axes[1, 0].legend(frameon=False, fontsize=8)
    _legend(figure, axes[0, 0], columns=8)
    return figure


FILTERS = ("", "smoothing", "DW", "IIW", "IIW-G", "GF3", "GF3-DW", "DW-AMRP", "DW, 100 kept")
"""Decoders of the convolution paper that are drawn; the first is none."""


def convolution(measured: Mapping[str, Any]) -> Any:
    """Return figures 6 and 7 of the convolution paper: squared error against epsilon and d."""
    columns = [name for name in measured["columns"] if "rows" not in name]
    figure, axes = _panels(2, len(columns) + 1)
    for line, oracle in enumerate(("KRR", "OUE")):
        axes[line, 0].set_ylabel("squared error")
        for place, column in enumerate([*columns, columns[0]]):
            last = place == len(columns)
            rows = [
                row
                for row in measured["by_size" if last else "by_epsilon"]
                if row["column"] == column
            ]
            ax = axes[line, place]
            _filters(ax, rows, "bins" if last else "epsilon", oracle)
            ax.set_title(f"{column}, {oracle}", fontsize=10)
            ax.set_xlabel("values, at ε = 4" if last else "ε")
    shown: dict[str, Any] = {}
    for ax in axes.flat:
        shown |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    figure.legend(
        shown.values(), shown, loc="outside lower center", ncols=9, frameon=False, fontsize=8
    )
    return figure


def _filters(ax: Any, rows: Sequence[Mapping[str, Any]], key: str, oracle: str) -> None:
    curves = {}
    for short in FILTERS:
        name = "-".join(filter(None, (oracle, short)))
        if name in rows[0]["methods"]:
            curves[short or "none"] = _by(rows, key, [name], "mse")[name]
    _curves(ax, curves, ["none", *FILTERS[1:]])


def columns(numerical: Sequence[tuple[Population, int]], labels: tuple[Population, int]) -> Any:
    """Return the papers' columns: mass per bin, and the labelled one by falling share."""
    figure, axes = _panels(2, (len(numerical) + 2) // 2)
    for ax, (one, bins) in zip(axes.flat, numerical, strict=False):
        mass = one.law(bins)
        ax.fill_between(np.arange(bins) / bins, mass, step="post", color=COLOURS[0], linewidth=0)
        ax.set_title(f"{one.name}, {bins} bins", fontsize=10)
        ax.set_xlim(0, 1)
        second, first = np.sort(mass)[-2:]
        ax.set_ylim(0, 1.2 * second if first > 3 * second else None)
        if first > 3 * second:  # an atom would flatten all that stands beside it
            place = (int(np.argmax(mass)) + 0.5) / bins
            ax.text(place + 0.03, 1.1 * second, f"to {first:.3f}", fontsize=8)
    one, size = labels
    last = axes.flat[len(numerical)]
    shares = np.sort(one.law(size))[::-1]
    last.loglog(np.arange(1, size + 1), np.where(shares > 0, shares, np.nan), color=COLOURS[1])
    last.set_title(f"{one.name}, {size:,} labels by rank", fontsize=10)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes.flat[len(numerical) + 1 :]:
        ax.set_visible(False)
    return figure


def _papers_columns() -> Any:
    square = square_wave_figures
    drawn = [
        (square.population(name), square.BINS.get(name, 1024)) for name in square.FULL["columns"]
    ]
    settings = convolution_errors.FULL
    size = settings["items"]
    others = populations(settings["column"], settings["labels"], size)
    drawn += [(others[name], settings["bins"]) for name in (SMOOTH, PERMUTED)]
    return columns(drawn, (others[ITEMS], size))


PICTURES: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    "square-wave": ("accuracy/square_wave_figures", square_wave),
    "wavelet": ("accuracy/wavelet_figures", wavelet),
    "convolution": ("accuracy/convolution_errors", convolution),
}
"""Every picture: the result it is made from, and what draws it."""


def main() -> None:
    """Draw every picture whose result is kept."""
    FOLDER.mkdir(exist_ok=True)
    for name, (benchmark, draw) in PICTURES.items():
        document = results.read(benchmark)
        if document is None:
            print(f"SKIPPED {name}: {benchmark} was never measured", file=sys.stderr)
            continue
        draw(document["measured"]).savefig(FOLDER / f"{name}.png", dpi=80)
    try:
        _papers_columns().savefig(FOLDER / "columns.png", dpi=80)
    except DataFolderError as error:
        print(f"SKIPPED columns: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
