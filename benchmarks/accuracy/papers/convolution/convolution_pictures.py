"""The convolution paper's figures as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.drawing import Picture, along, curves, legend, panels

FILTERS = ("", "smoothing", "DW", "IIW", "IIW-G", "GF3", "GF3-DW", "DW-AMRP", "DW, 100 kept")
"""Decoders of the convolution paper that are drawn; the first is none."""


def convolution(measured: Mapping[str, Any]) -> Any:
    """Return figures 6 and 7 of the convolution paper: squared error against epsilon and d."""
    columns = [name for name in measured["columns"] if "rows" not in name]
    figure, axes = panels(2, len(columns) + 1)
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
    legend(figure, columns=9)
    return figure


def _filters(ax: Any, rows: Sequence[Mapping[str, Any]], key: str, oracle: str) -> None:
    named = {}
    for short in FILTERS:
        name = "-".join(filter(None, (oracle, short)))
        if name in rows[0]["methods"]:
            named[short or "none"] = along(rows, key, [name], "mse")[name]
    curves(ax, named, ["none", *FILTERS[1:]])


PICTURES = {"figures-6-and-7": Picture("accuracy/convolution_errors", convolution)}
