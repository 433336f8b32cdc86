"""The convolution paper's figures as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.convolution.convolution_columns import (
    DRAWN_TOPS,
    ITEMS,
    ORACLES,
    PERMUTED,
    ROUGH,
    SMOOTH,
    THRESHOLDS,
)
from benchmarks.accuracy.papers.drawing import (
    Picture,
    along,
    curves,
    legend,
    panels,
    plain_logarithmic,
    uncovered,
    with_between,
)

PAPERS = ("", "smoothing", "DW", "IIW", "DW-AMRP")
"""Decoders of figures 6 to 9 that both oracles have; the first is none."""

OURS = "KRR-IIW-G"
"""Drawn in the panels of both oracles, as in the paper."""

WIDER = ("", "IIW", "GF1", "GF3", "GF1-DW", "GF3-DW")
"""Decoders of figure 10."""

Measured = Mapping[str, Any]


def framework(_: Measured) -> Any:
    """Return figure 1: existing protocols above, the framework below."""
    figure, axes = panels(1, 1, wide=11, high=3)
    ax = axes[0, 0]
    rows = {
        0.78: ("values v", "encode", "perturb", "counts of supports", "equation 1", "shares"),
        0.28: ("shares f", "∗ [p*, q*, ..., q*]", "+ noise n", "counts g", "Wiener", "shares"),
    }
    for y, words in rows.items():
        for place, word in enumerate(words):
            x = 0.09 + place * 0.165
            box = {"boxstyle": "round,pad=0.4", "facecolor": "#e8eef0", "edgecolor": "#1f4e5f"}
            if place in (0, 3, 5):
                box["facecolor"] = "white"
            ax.text(x, y, word, ha="center", va="center", fontsize=9, bbox=box)
            if place:
                ax.annotate(
                    "",
                    (x - 0.075, y),
                    (x - 0.098, y),
                    arrowprops={"arrowstyle": "->", "color": "#1f4e5f"},
                )
    ax.text(0.0, 0.97, "an existing protocol", fontsize=10)
    ax.text(0.0, 0.48, "the same as a convolution, theorem 1", fontsize=10)
    ax.annotate(
        "", (0.585, 0.37), (0.585, 0.69), arrowprops={"arrowstyle": "<->", "color": "#c8553d"}
    )
    ax.set(xlim=(0, 1), ylim=(0.1, 1.05), title="Figure 1: the convolution framework")
    ax.axis("off")
    return figure


def columns(measured: Measured) -> Any:
    """Return figure 2: the columns."""
    data = measured["data"]
    figure, axes = panels(1, len(data))
    for ax, (name, one) in zip(axes[0], data.items(), strict=True):
        places = [one["step"] * place for place in range(len(one["shares"]))]
        if name == ITEMS:
            ax.vlines(places, 1e-8, one["shares"], color="#1f4e5f", linewidth=0.8)
            ax.set_yscale("log")
            ax.set_ylim(1e-7, 0.2)
        else:
            style = {"marker": ".", "linestyle": ""} if name == PERMUTED else {}
            ax.plot(places, one["shares"], color="#1f4e5f", linewidth=1, markersize=2, **style)
            ax.set_ylim(0)
        ax.set_title(f"Figure 2: {name}", fontsize=10)
        ax.set_xlabel(f"value (largest of each {one['step']})" if one["step"] > 1 else "value")
        ax.set_ylabel("share")
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def spectra(measured: Measured) -> Any:
    """Return figure 3: the noise's power at each frequency, of one run, of ten, and analytic."""
    names = list(measured["columns"])
    figure, axes = panels(2, len(names), high=2.4)
    for row in measured["spectra"]:
        line, place = list(ORACLES).index(row["oracle"]), names.index(row["column"])
        ax, drawn = axes[line, place], row["drawn"]
        x = drawn["frequencies"]
        ax.plot(x, drawn["one"], ".", color="#e0a030", markersize=2, label="one run")
        ax.plot(x, drawn["ten"], ".", color="#2f9e8f", markersize=3, label="mean of ten")
        ax.plot(x, drawn["analytic"], color="#c8553d", linewidth=1.5, label="analytic")
        ax.set_yscale("log")
        # A single run's power comes as near to zero as chance has it.
        ax.set_ylim(drawn["analytic"][0] / 100, drawn["analytic"][0] * 10)
        ax.set_title(f"Figure 3: {row['oracle']}, {row['column']}", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
        if line:
            ax.set_xlabel("frequency")
        if not place:
            ax.set_ylabel("noise power")
    legend(figure, columns=3)
    return figure


SCALE = 1e9
"""Of squared errors, as in the tables."""

ERROR = "squared error ×10⁹"


def _by_iteration(row: Measured) -> list[tuple[float, float, float]]:
    """Return a curve by iteration, of which the first is DW, as the paper counts."""
    return [
        (int(name) + 1, SCALE * found["mse"]["mean"], SCALE * found["mse"]["standard_error"])
        for name, found in row["methods"].items()
    ]


def convergence(measured: Measured) -> Any:
    """Return figure 4: errors by iteration of IIW, each panel on its own scale."""
    names = list(measured["columns"])
    figure, axes = panels(2, len(names), high=2.2)
    for row in measured["by_column"]:
        line = list(ORACLES).index(row["oracle"])
        ax = axes[line, names.index(row["column"])]
        curves(ax, {row["oracle"]: _by_iteration(row)}, list(ORACLES), scale="linear")
        ax.set_xscale("log")
        ax.set_xticks([1, 10, 100], ["1", "10", "100"])
        ax.set_ylim(0)
        ax.set_title(f"Figure 4: {row['oracle']}, {row['column']}", fontsize=9)
        if line:
            ax.set_xlabel("iteration (the first is DW)")
    for ax in axes[:, 0]:
        ax.set_ylabel(ERROR)
    return figure


def started(measured: Measured) -> Any:
    """Return figure 5: errors by iteration of IIW and IIW-G, by epsilon."""
    rows = measured["by_epsilon"]
    names = list(dict.fromkeys(row["column"] for row in rows))
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    figure, axes = panels(len(names), len(epsilons), wide=3, high=2.4)
    for row in rows:
        ax = axes[names.index(row["column"]), epsilons.index(row["epsilon"])]
        curves(ax, {row["method"]: _by_iteration(row)}, ["KRR-IIW", "KRR-IIW-G", "OUE-IIW"])
        ax.set_xscale("log")
        ax.set_xticks([1, 10, 100], ["1", "10", "100"])
        ax.set_title(f"Figure 5: {row['column']}, ε = {row['epsilon']:g}", fontsize=8)
        plain_logarithmic(ax)
        if row["column"] == names[-1]:
            ax.set_xlabel("iteration")
    for ax in axes[:, 0]:
        ax.set_ylabel(ERROR)
    legend(figure, columns=3)
    return figure


def _drawn(
    ax: Any, rows: Sequence[Measured], key: str, oracle: str, shorts: Sequence[str], what: str
) -> None:
    named = {}
    known = [*(short or "none" for short in shorts), OURS]
    for short in shorts:
        name = "-".join(filter(None, (oracle, short)))
        if name in rows[0]["methods"]:
            named[short or "none"] = along(rows, key, [name], what)[name]
    if OURS in rows[0]["methods"]:
        named[OURS] = along(rows, key, [OURS], what)[OURS]
    curves(ax, {name: _scaled(points) for name, points in named.items()}, known)
    plain_logarithmic(ax)
    uncovered(ax)


def _scaled(points: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    return [(x, SCALE * mean, SCALE * error) for x, mean, error in points]


def _errors(
    measured: Measured, part: str, key: str, figure_number: int, shorts: Sequence[str]
) -> Any:
    names = list(dict.fromkeys(row["column"] for row in measured[part]))
    figure, axes = panels(2, len(names), wide=2.8, high=2.4)
    for line, oracle in enumerate(ORACLES):
        for place, name in enumerate(names):
            ax = axes[line, place]
            rows = [row for row in with_between(measured, part, key) if row["column"] == name]
            _drawn(ax, rows, key, oracle, shorts, "mse")
            ax.set_title(f"Figure {figure_number}: {oracle}, {name}", fontsize=9)
            if line:
                ax.set_xlabel("ε" if key == "epsilon" else "values, d")
        axes[line, 0].set_ylabel(ERROR)
    legend(figure, columns=len(shorts) + 1)
    return figure


def by_epsilon(measured: Measured) -> Any:
    """Return figure 6: errors by epsilon."""
    return _errors(measured, "by_epsilon", "epsilon", 6, PAPERS)


def by_size(measured: Measured) -> Any:
    """Return figure 7: errors by number of values."""
    return _errors(measured, "by_size", "bins", 7, PAPERS)


def wider(measured: Measured) -> Any:
    """Return figure 10, but for the most frequent values: wider smoothing."""
    parts = (("by_epsilon", "epsilon"), ("by_size", "bins"))
    names = [name for name in (SMOOTH, ROUGH) if name in measured["columns"]]
    figure, axes = panels(2, 2 * len(names), wide=2.6, high=2)
    for line, oracle in enumerate(ORACLES):
        for place, (name, (part, key)) in enumerate((n, p) for n in names for p in parts):
            rows = [row for row in with_between(measured, part, key) if row["column"] == name]
            ax = axes[line, place]
            _drawn(ax, rows, key, oracle, WIDER, "mse")
            ax.set_title(f"Figure 10: {oracle}, {name}", fontsize=7)
            if line:
                ax.set_xlabel("ε, d = 1000" if key == "epsilon" else "values, d; ε = 4")
        axes[line, 0].set_ylabel(ERROR)
    legend(figure, columns=7)
    return figure


def _along_tops(row: Measured, name: str, keys: Sequence[int], kind: str) -> list[Any]:
    return [
        (key, found["mean"], found["standard_error"])
        for key in keys
        if f"{kind} {key}" in row["methods"][name]
        for found in [row["methods"][name][f"{kind} {key}"]]
    ]


def _of_oracle(row: Measured, oracle: str, shorts: Sequence[str]) -> dict[str, str]:
    names = {short or "none": "-".join(filter(None, (oracle, short))) for short in shorts}
    return {label: name for label, name in (names | {OURS: OURS}).items() if name in row["methods"]}


def _tops(measured: Measured, number: int, names: Sequence[str], shorts: Sequence[str]) -> Any:
    rows = measured["by_column"]
    figure, axes = panels(2, len(names), wide=3, high=2.5)
    known = [*(short or "none" for short in shorts), OURS]
    for line, oracle in enumerate(ORACLES):
        for place, name in enumerate(names):
            ax, row = axes[line, place], rows[name]
            named = {
                label: _along_tops(row, method, DRAWN_TOPS, "top")
                for label, method in _of_oracle(row, oracle, shorts).items()
            }
            curves(ax, {label: _scaled(points) for label, points in named.items()}, known)
            plain_logarithmic(ax)
            uncovered(ax)
            ax.set_title(f"Figure {number}: {oracle}, {name}", fontsize=9)
            if line:
                ax.set_xlabel("most frequent values, k")
        axes[line, 0].set_ylabel(ERROR)
    legend(figure, columns=min(len(known), 2 * len(names)))
    return figure


def tops(measured: Measured) -> Any:
    """Return figure 8: errors of the most frequent values."""
    return _tops(measured, 8, list(measured["by_column"]), PAPERS)


def wider_tops(measured: Measured) -> Any:
    """Return the panels of figure 10 with the most frequent values."""
    return _tops(measured, 10, [n for n in (SMOOTH, ROUGH) if n in measured["by_column"]], WIDER)


def positives(measured: Measured) -> Any:
    """Return figure 9: true and false positives of the paper's columns, in rows by oracle."""
    rows = {name: row for name, row in measured["by_column"].items() if name != ROUGH}
    figure, axes = panels(4, len(rows), wide=2.4, high=1.5)
    known = [*(short or "none" for short in PAPERS), OURS]
    lines = [(oracle, kind) for oracle in ORACLES for kind in ("true", "false")]
    for line, (oracle, kind) in enumerate(lines):
        for place, (name, row) in enumerate(rows.items()):
            ax, counts = axes[line, place], THRESHOLDS[ITEMS if name == ITEMS else SMOOTH]
            named = {
                label: _along_tops(row, method, counts, kind)
                for label, method in _of_oracle(row, oracle, PAPERS).items()
            }
            # Counts of none at all have no logarithm.
            few = kind == "false" and name == ITEMS
            curves(ax, named, known, scale="symlog" if few else "linear")
            uncovered(ax)
            if few:
                ax.yaxis.set_major_formatter("{x:,.0f}")
            ax.set_title(f"Figure 9: {oracle}, {name}", fontsize=8)
            ax.set_xticks(counts, [f"{count / 1000:g}" for count in counts])
        axes[line, 0].set_ylabel(f"{kind} positives")
    for ax in axes[-1]:
        ax.set_xlabel("threshold, thousands of people")
    legend(figure, columns=len(known))
    return figure


PICTURES = {
    "figure-1": Picture("accuracy/convolution_figures", framework),
    "figure-2": Picture("accuracy/convolution_figures", columns),
    "figure-3": Picture("accuracy/convolution_figures", spectra),
    "figure-4": Picture("accuracy/convolution_figures", convergence),
    "figure-5": Picture("accuracy/convolution_figures", started),
    "figure-6": Picture("accuracy/convolution_errors", by_epsilon),
    "figure-7": Picture("accuracy/convolution_errors", by_size),
    "figure-8": Picture("accuracy/convolution_largest", tops),
    "figure-9": Picture("accuracy/convolution_largest", positives),
    "figure-10": Picture("accuracy/convolution_errors", wider),
    "figure-10-largest": Picture("accuracy/convolution_largest", wider_tops),
}
