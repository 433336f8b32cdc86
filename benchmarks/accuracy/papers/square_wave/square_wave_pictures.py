"""The square-wave paper's figures as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy.papers.convolution import convolution_errors
from benchmarks.accuracy.papers.convolution.convolution_columns import (
    ITEMS,
    PERMUTED,
    SMOOTH,
    populations,
)
from benchmarks.accuracy.papers.drawing import COLOURS, Picture, along, curves, legend, panels
from benchmarks.accuracy.papers.figure_columns import Population
from benchmarks.accuracy.papers.square_wave import square_wave_figures


def square_wave(measured: Mapping[str, Any]) -> Any:
    """Return figure 2 of the square-wave paper: W1 and KS against epsilon."""
    columns = list(measured["columns"])
    figure, axes = panels(2, len(columns))
    for place, column in enumerate(columns):
        rows = [row for row in measured["rows"] if row["column"] == column]
        names = [name for name, found in rows[0]["methods"].items() if "w1" in found]
        for line, key, title in ((0, "w1", "W1"), (1, "ks", "KS")):
            curves(axes[line, place], along(rows, "epsilon", names, key), names)
            axes[line, 0].set_ylabel(title)
        axes[0, place].set_title(column, fontsize=10)
        axes[1, place].set_xlabel("ε")
    legend(figure, columns=6)
    return figure


def columns(numerical: Sequence[tuple[Population, int]], labels: tuple[Population, int]) -> Any:
    """Return the papers' columns: mass per bin, and the labelled one by falling share."""
    figure, axes = panels(2, (len(numerical) + 2) // 2)
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


def _papers_columns(_measured: Mapping[str, Any]) -> Any:
    square = square_wave_figures
    drawn = [
        (square.population(name), square.BINS.get(name, 1024)) for name in square.FULL["columns"]
    ]
    settings = convolution_errors.FULL
    size = settings["items"]
    others = populations(settings["column"], settings["labels"], size)
    drawn += [(others[name], settings["bins"]) for name in (SMOOTH, PERMUTED)]
    return columns(drawn, (others[ITEMS], size))


PICTURES = {
    "columns": Picture("accuracy/square_wave_figures", _papers_columns),
    "figure-2": Picture("accuracy/square_wave_figures", square_wave),
}
