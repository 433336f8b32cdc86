"""The same people asked at more bins: what that costs at the edges of the 256 that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import lapwing as lw
from benchmarks.accuracy.local import paired_errors as paired
from benchmarks.accuracy.local.fresh_columns import FULL as FRESH
from benchmarks.accuracy.local.paired_errors import FIGURES, OURS, Crowd
from benchmarks.accuracy.papers.figure_columns import coarser
from benchmarks.markdown import table
from benchmarks.summaries import mean_and_error, ratio_of_means

TITLE = "The same people asked at more bins"
FULL: dict[str, Any] = {
    "repeats": 30,
    "coarse": 256,
    "bins": [1024, 4096],
    "epsilons": [0.5, 1, 2, 4],
    "columns": [
        *("taxi", "acs_income", "sf_base_pay", "sf_benefits", "kitti_yaw", "airbnb_nyc"),
        *FRESH["columns"],
    ],
}
QUICK: dict[str, Any] = FULL | {
    "repeats": 2,
    "bins": [512],
    "epsilons": [2],
    "columns": ["acs_income"],
}

ASKED = {"w1": 1.02, "ks": 1.03}
"""Asked: the geometric mean of the errors as parts of those of the same people asked at 256."""


def measure(
    *,
    repeats: int,
    coarse: int,
    bins: Sequence[int],
    epsilons: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return errors at the shared edges by the number of bins, and their ratios."""
    crowds = [paired.real(name, bins=max(coarse, *bins)) for name in columns]
    return {
        "cells": [
            _cell(crowd, epsilon, [coarse, *bins], repeats)
            for crowd in crowds
            for epsilon in epsilons
        ]
    }


def _cell(crowd: Crowd, epsilon: float, bins: Sequence[int], repeats: int) -> dict[str, Any]:
    found = {}
    for number in bins:
        here = replace(crowd, counts=coarser(crowd.counts, number))
        found[number] = paired.errors([OURS], here, epsilon=epsilon, repeats=repeats)[OURS.name]
    base = found[bins[0]]
    return {
        "column": crowd.name,
        "people": crowd.people,
        "epsilon": epsilon,
        "bytes": {
            str(number): lw.MultiscaleWave(lw.Interval(0, 1, bins=number), epsilon).report_width
            for number in bins
        },
        "errors": {
            str(number): {figure: mean_and_error(kept[figure]) for figure in FIGURES}
            for number, kept in found.items()
        },
        "ratios": {
            str(number): {
                figure: ratio_of_means(found[number][figure], base[figure]) for figure in FIGURES
            }
            for number in bins[1:]
        },
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the ratios of every cell, and the geometric means beside what is asked."""
    cells, bins = measured["cells"], [str(number) for number in settings["bins"]]
    rows = []
    for cell in cells:
        row = [cell["column"], f"{cell['people']:,}", f"{cell['epsilon']:g}"]
        row += [
            f"{one['ratio']:.2f} ± {one['standard_error']:.2f}"
            for number in bins
            for one in (cell["ratios"][number][figure] for figure in FIGURES)
        ]
        rows.append(row)
    said = []
    for number in bins:
        means = {
            figure: paired.mean_ratio([cell["ratios"][number][figure] for cell in cells])
            for figure in FIGURES
        }
        width = max(cell["bytes"][number] for cell in cells)
        said.append(
            f"{number} bins, reports of {width} bytes: W1 {paired.told(means['w1'])}, "
            f"KS {paired.told(means['ks'])}"
        )
    header = ["column", "people", "ε"]
    header += [f"{name}, {number}" for number in bins for name in ("W1", "KS")]
    return "\n\n".join(
        [
            f"Errors over the edges of {settings['coarse']} bins when the default asks at more, as "
            f"parts of those when it asks at {settings['coarse']}; {settings['repeats']} repeats.",
            table(header, rows, texts=2),
            f"Geometric means: {'; '.join(said)}. Asked at most {ASKED['w1']} and {ASKED['ks']}.",
        ]
    )
