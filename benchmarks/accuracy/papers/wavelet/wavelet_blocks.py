"""The wavelet paper's figure 5: densities of narrow blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.papers.figure_columns import blocks
from benchmarks.accuracy.papers.figure_runs import kept_figures
from benchmarks.accuracy.papers.wavelet import wavelet_tables as tables
from benchmarks.accuracy.papers.wavelet.wavelet_methods import (
    EMS,
    JUDGES,
    paper_methods,
    repeated,
)
from benchmarks.verdicts import Claim
from lapwing.local.numerical.wavelet import best_levels, paper_levels

TITLE = "Figure 5: the smoothness of the distribution"
FULL: dict[str, Any] = {
    "repeats": 100,
    "seed": 0,
    "bins": 1024,
    "levels": 12,
    "epsilons": [0.5, 1, 2, 3, 4],
    "parts": [2, 4, 8, 16],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "seed": 0,
    "bins": 64,
    "levels": 6,
    "epsilons": [1, 4],
    "parts": [2, 16],
}

LEFT_OUT = EMS[512]
"""Blocks are whole bins of every grid, so one number of buckets is enough."""


def measure(
    *,
    repeats: int,
    seed: int,
    bins: int,
    levels: int,
    epsilons: Sequence[float],
    parts: Sequence[int],
) -> dict[str, Any]:
    """Return W1 by width of the blocks and epsilon; people are known to ``2^levels`` bins."""
    chosen = [blocks(number) for number in parts]
    rows = []
    for one in chosen:
        methods = [m for m in paper_methods(one.people, bins) if m.name != LEFT_OUT]
        for epsilon in epsilons:
            samples = repeated(
                methods,
                one,
                {"w1": JUDGES["w1"]},
                bins=2**levels,
                epsilon=epsilon,
                repeats=repeats,
                seed=seed,
            )
            rows.append(
                {
                    "column": one.name,
                    "epsilon": epsilon,
                    "bound's J": best_levels(one.people, epsilon, most=levels) - 1,
                    "methods": kept_figures(samples),
                }
            )
    return {
        "columns": {
            one.name: {
                "people": one.people,
                "rule": one.rule,
                "J": min(paper_levels(one.people), levels) - 1,
            }
            for one in chosen
        },
        "rows": rows,
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return every sentence of section 6.4 that can be judged."""
    return []


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table of figure 5, and what it says of the paper's sentences."""
    return tables.wide(measured["rows"], "w1")
