"""The default beside every method of the papers, and beside the best of them in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import lapwing as lw
from benchmarks.accuracy.local import paired_errors as paired
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.local.mixture import FULL as MIXTURE
from benchmarks.accuracy.local.paired_errors import FIGURES, OURS, Crowd
from benchmarks.accuracy.papers.square_wave import square_wave_figures
from benchmarks.accuracy.papers.wavelet import wavelet_methods
from benchmarks.markdown import listed, table, uncertain
from benchmarks.signed_decoder import SignedDecoder
from benchmarks.summaries import mean_and_error
from lapwing.papers.square_wave.hierarchical import least_variance_randomizer

TITLE = "The default against the best of the papers' methods"
FULL: dict[str, Any] = {
    "repeats": 12,
    "bins": 256,
    "epsilons": MIXTURE["epsilons"],
    "columns": MIXTURE["columns"],
}
QUICK: dict[str, Any] = {"repeats": 2, "bins": 64, "epsilons": [2], "columns": ["sf_base_pay"]}

ASKED = {"w1": 0.83, "ks": 0.85}
STUDY = {"w1": 0.855, "ks": 0.88}
"""Geometric means: what is asked of the default, and the study's own."""

GF3_DW = "GF3-DW"
SCALES = {"w1": 1e4, "ks": 1e3}
HEADER = ("column", "ε", "W1, best", "W1, default")


def papers_methods(people: int, bins: int) -> list[Method]:
    """Return the methods of the three papers on numerical domains; one adds our sums of masses."""
    haar = Method(
        square_wave_figures.HAAR,
        lw.papers.square_wave.HaarHadamard,
        SignedDecoder(lw.papers.square_wave.TreeConsistency(band=False)),
    )
    smooth = Method(
        GF3_DW,
        least_variance_randomizer,
        lw.papers.convolution.GaussianSmoothing(sigma=3, wiener=True),
    )
    return [*wavelet_methods.league(people, bins), haar, smooth]


def measure(
    *, repeats: int, bins: int, epsilons: Sequence[float], columns: Sequence[str]
) -> dict[str, Any]:
    """Return the errors of all methods in every cell, and our ratio to the best of the others."""
    crowds = [paired.real(name, bins=bins) for name in columns]
    return {"cells": [_cell(one, e, repeats) for one in crowds for e in epsilons]}


def _cell(crowd: Crowd, epsilon: float, repeats: int) -> dict[str, Any]:
    theirs = papers_methods(crowd.people, crowd.counts.size)
    found = paired.errors([*theirs, OURS], crowd, epsilon=epsilon, repeats=repeats)
    means = {
        name: {figure: mean_and_error(kept) for figure, kept in by_figure.items()}
        for name, by_figure in found.items()
    }
    best = {
        figure: min((one.name for one in theirs), key=partial(_mean, means, figure))
        for figure in FIGURES
    }
    return {
        "column": crowd.name,
        "people": crowd.people,
        "epsilon": epsilon,
        "methods": means,
        "best": best,
        "ratios": {
            figure: paired.compared(found, OURS.name, best[figure])[figure] for figure in FIGURES
        },
    }


def _mean(means: dict[str, Any], figure: str, name: str) -> float:
    return float(means[name][figure]["mean"])


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the cells, and what they say."""
    cells = measured["cells"]
    lines = []
    for cell in cells:
        row = [cell["column"], f"{cell['epsilon']:g}"]
        for figure in FIGURES:
            for name in (cell["best"][figure], OURS.name):
                one = cell["methods"][name][figure]
                text = uncertain(one["mean"], one["standard_error"], scale=SCALES[figure])
                row.append(text if name == OURS.name else f"{text} ({name})")
            ratio = cell["ratios"][figure]
            row.append(f"{ratio['ratio']:.2f} ± {ratio['standard_error']:.2f}")
        lines.append(row)
    names = list(cells[0]["methods"])
    shown = [
        f"{settings['bins']} bins, {settings['repeats']} repeats; W1 ×10⁴ and KS ×10³ on the 256 "
        f"points. The oracle sees the truth and takes, in every cell and for each distance, the "
        f"best of {listed([name for name in names if name != OURS.name])} (*wavelet*: the paper's "
        "J; *bound's J*: the one that minimizes its bound, and the sums of masses of this "
        "library).",
        table(
            [*HEADER, "ratio", "KS, best", "KS, default", "ratio"],
            lines,
            texts=2,
        ),
    ]
    return "\n\n".join([*shown, _summary(cells), _each(cells, names)])


def _summary(cells: list[dict[str, Any]]) -> str:
    said = []
    for figure in FIGURES:
        ratios = [cell["ratios"][figure] for cell in cells]
        worst = max(cells, key=lambda cell: float(cell["ratios"][figure]["ratio"]))
        said.append(
            f"{figure.upper()} {paired.told(paired.mean_ratio(ratios))} (target {ASKED[figure]}, "
            f"the study {STUDY[figure]}; worst cell {worst['column']} at ε = "
            f"{worst['epsilon']:g}, {worst['ratios'][figure]['ratio']:.2f})"
        )
    return (
        f"Geometric mean of the ratio to the oracle over {len(cells)} cells: {listed(said)}. The "
        "least of several noisy means is biased low, so these ratios are biased high."
    )


def _each(cells: list[dict[str, Any]], names: list[str]) -> str:
    """Say how the default does against every single method, which no oracle chooses."""
    lines = []
    for name in names:
        if name == OURS.name:
            continue
        row = [name]
        for figure in FIGURES:
            ratios = [
                {
                    "ratio": cell["methods"][OURS.name][figure]["mean"]
                    / cell["methods"][name][figure]["mean"],
                    "standard_error": 0.0,
                }
                for cell in cells
            ]
            wins = sum(one["ratio"] < 1 for one in ratios)
            row += [f"{paired.mean_ratio(ratios)['ratio']:.2f}", f"{wins} of {len(cells)}"]
        lines.append(row)
    return "\n\n".join(
        [
            "The default over each method, geometric mean over the cells, and cells it wins:",
            table(["method", "W1", "cells", "KS", "cells"], lines, texts=1),
        ]
    )
