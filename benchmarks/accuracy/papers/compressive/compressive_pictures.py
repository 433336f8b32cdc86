"""The compressive-privatization paper's figures as pictures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.compressive.compressive_claims import (
    BASELINES,
    NORMALIZED,
    PUBLISHED,
    SAME,
)
from benchmarks.accuracy.papers.compressive.theorem_claims import BOUNDS
from benchmarks.accuracy.papers.drawing import (
    Picture,
    along,
    curves,
    legend,
    panels,
    plain_logarithmic,
    uncovered,
)

Measured = Mapping[str, Any]

KNOWN = [*BASELINES, PUBLISHED, NORMALIZED, SAME[0]]
"""A method has one color, whatever the last step of its panel is."""


def structure(_: Measured) -> Any:
    """Return figure 1: what the person does, what is sent, what the server does."""
    figure, axes = panels(1, 1, wide=11, high=3.4)
    ax = axes[0, 0]
    steps = [
        (0.07, 0.62, "value x ∈ [k]", "white"),
        (0.26, 0.62, "privatization\ny ∈ [m] by Q(y | x),\nin C_x e^ε times as likely", "#e8eef0"),
        (0.46, 0.62, "report y\nlog₂ m bits", "white"),
        (0.63, 0.62, "estimation\nq̂ = counts / n\nof m outputs", "#e8eef0"),
        (0.8, 0.62, "recovery\ny = B D′p + e,\nsparse p", "#e8eef0"),
        (0.95, 0.62, "p̂, k shares\non the simplex", "white"),
    ]
    boxes = []
    for x, y, text, color in steps:
        box = {"boxstyle": "round,pad=0.5", "facecolor": color, "edgecolor": "#1f4e5f"}
        words = ax.text(x, y, text, ha="center", va="center", fontsize=8.5, bbox=box)
        boxes.append((x, y, words.get_bbox_patch()))
    for (left, y, start), (right, _, end) in itertools.pairwise(boxes):
        arrow = {"arrowstyle": "->", "patchA": start, "patchB": end}
        ax.annotate("", (right, y), (left, y), arrowprops=arrow)
    box = {"boxstyle": "round,pad=0.5", "facecolor": "#f7ecd2", "edgecolor": "#e0a030"}
    public = "public: ε and the signs A (m × k), column x is the set C_x, from a seed"
    ax.text(0.53, 0.16, public, ha="center", va="center", fontsize=8.5, bbox=box)
    for x in (0.26, 0.63, 0.8):
        ax.annotate("", (x, 0.45), (x, 0.24), arrowprops={"arrowstyle": "->", "color": "#e0a030"})
    for x, text in ((0.165, "each user"), (0.46, "sent"), (0.79, "central server")):
        ax.text(x, 0.93, text, ha="center", fontsize=9, color="#c8553d")
    for x in (0.39, 0.53):
        ax.plot([x, x], [0.36, 0.98], linestyle=":", color="#c8553d")
    ax.set(xlim=(0, 1.02), ylim=(0.05, 1.02), title="Figure 1: compressive privatization")
    ax.axis("off")
    return figure


def _panels(rows: Sequence[Measured], key: str, number: int, label: str) -> Any:
    names = list(dict.fromkeys(row["population"] for row in rows))
    figure, axes = panels(2, len(names), wide=2.5, high=2.4)
    for line, step in enumerate(("norm", "proj")):
        for place, name in enumerate(names):
            ax = axes[line, place]
            here = [_l1(row) for row in rows if row["population"] == name]
            found = {
                key_: along(here, key, [f"{key_} {step}"], "l1")[f"{key_} {step}"]
                for key_ in BASELINES
            }
            # CP with its own two last steps stands in both rows, as in the paper.
            found |= along(here, key, [PUBLISHED, NORMALIZED], "l1")
            having = [row for row in here if SAME[0] in row["methods"]]
            if line:
                found |= along(having, key, [SAME[0]], "l1")
            curves(ax, found, KNOWN)
            uncovered(ax)
            ax.set_title(f"Figure {number}: {name}, {step}", fontsize=8)
            ax.set_ylim(0.008, 3)
            plain_logarithmic(ax)
            ax.tick_params(labelsize=7)
            if line:
                ax.set_xlabel(label)
        axes[line, 0].set_ylabel("L1 error")
    legend(figure, columns=7)
    return figure


def _l1(row: Measured) -> dict[str, Any]:
    return {**row, "people": row["people"] / 1e6}


def by_people(measured: Measured) -> Any:
    """Return figure 2: L1 errors by number of people, for baselines normalized and projected."""
    return _panels(measured["figure_2"], "people", 2, "people, millions")


def by_epsilon(measured: Measured) -> Any:
    """Return figure 3: L1 errors by epsilon, with both last steps of CP."""
    return _panels(measured["figure_3"], "epsilon", 3, "ε")


def theorem(measured: Measured) -> Any:
    """Return L1 errors along every letter of theorem 1.1, with its order through the first."""
    sweeps = measured["sweeps"]
    figure, axes = panels(1, len(sweeps), wide=2.5, high=2.6)
    for ax, (name, rows) in zip(axes[0], sweeps.items(), strict=True):
        methods = list(rows[0]["methods"])
        curves(ax, along(rows, name, methods, "l1"), methods)
        x = [row[name] for row in rows]
        order = [BOUNDS[name].l1(row) for row in rows]
        start = rows[0]["methods"][methods[0]]["l1"]["mean"] / order[0]
        ax.plot(x, [start * one for one in order], "k--", linewidth=1, label="the theorem's order")
        plain_logarithmic(ax)
        ax.set_xscale("log")
        ax.set_xticks(x, [_short(one) for one in x], fontsize=7)
        ax.minorticks_off()
        ax.set_title(f"Theorem 1.1: {BOUNDS[name].printed.split(' (')[0]}", fontsize=8)
        ax.set_xlabel("ε" if name == "epsilon" else name)
    axes[0, 0].set_ylabel("L1 error")
    legend(figure, columns=4)
    return figure


def _short(number: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}" if math.isfinite(number) else ""


PICTURES = {
    "figure-1": Picture("accuracy/compressive_figures", structure),
    "figure-2": Picture("accuracy/compressive_figures", by_people),
    "figure-3": Picture("accuracy/compressive_figures", by_epsilon),
    "theorem-1-1": Picture("accuracy/compressive_theorem", theorem),
}
