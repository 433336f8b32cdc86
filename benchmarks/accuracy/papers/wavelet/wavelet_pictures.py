"""The wavelet paper's figures as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.accuracy.papers.drawing import COLOURS, Picture, along, curves, legend, panels

WAVELET = ("wavelet", "literal clip", "bound's J", "SW-EM", "SW-EMS", "HH", "IIW", "bins 32")


def wavelet(measured: Mapping[str, Any]) -> Any:
    """Return figures 2 and 4 of the wavelet paper: W1 against epsilon, and J with the bound."""
    columns = [row["column"] for row in measured["orders"]]
    figure, axes = panels(2, len(columns))
    for place, (column, order) in enumerate(zip(columns, measured["orders"], strict=True)):
        rows = [row for row in measured["rows"] if row["column"] == column]
        curves(axes[0, place], along(rows, "epsilon", WAVELET, "w1"), WAVELET)
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
    legend(figure, columns=8)
    return figure


PICTURES = {"figures-2-and-4": Picture("accuracy/wavelet_figures", wavelet)}
