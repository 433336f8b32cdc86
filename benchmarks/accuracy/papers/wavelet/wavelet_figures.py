"""The wavelet paper's figures 2, 3, 6 and 7: distances and range queries against epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.papers.figure_runs import kept_figures
from benchmarks.accuracy.papers.wavelet import wavelet_tables as tables
from benchmarks.accuracy.papers.wavelet.wavelet_methods import (
    JUDGES,
    paper_methods,
    population,
    repeated,
)
from benchmarks.verdicts import Claim
from lapwing.local.numerical.wavelet import best_levels, paper_levels

TITLE = "Figures 2, 3, 6 and 7: distances and range queries"
FULL: dict[str, Any] = {
    "repeats": 100,
    "seed": 0,
    "bins": 1024,
    "levels": 13,
    "epsilons": [0.5, 1, 2, 3, 4],
    "columns": ["beta52", "taxi", "acs_income", "sf_benefits"],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "seed": 0,
    "bins": 64,
    "levels": 6,
    "epsilons": [1, 4],
    "columns": ["beta52"],
}


def measure(
    *,
    repeats: int,
    seed: int,
    bins: int,
    levels: int,
    epsilons: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return the figures; people are known to ``2^levels`` bins, which cap the paper's J."""
    chosen = [population(name) for name in columns]
    finest = 2**levels
    for one in chosen:
        one.law(finest)  # without the data folder nothing is measured in vain
    rows = []
    for one in chosen:
        for epsilon in epsilons:
            samples = repeated(
                paper_methods(one.people, bins),
                one,
                JUDGES,
                bins=finest,
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
                "own_file": one.own_file,
                "J": min(paper_levels(one.people), levels) - 1,
            }
            for one in chosen
        },
        "rows": rows,
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return every sentence of sections 6.2 and 6.5 that can be judged."""
    return []


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of the figures, and what they say of the paper's sentences."""
    return "\n\n".join(tables.wide(measured["rows"], figure) for figure in JUDGES)
