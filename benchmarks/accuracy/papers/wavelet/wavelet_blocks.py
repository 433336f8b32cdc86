"""The wavelet paper's figure 5: densities of narrow blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.papers.figure_columns import Population, blocks
from benchmarks.accuracy.papers.figure_runs import kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.wavelet import wavelet_tables as tables
from benchmarks.accuracy.papers.wavelet.wavelet_claims import (
    below,
    by_column,
    gains,
    left_told,
    measured_forms,
    stays,
    wins,
)
from benchmarks.accuracy.papers.wavelet.wavelet_methods import (
    BINNED,
    CATEGORICAL,
    EMS,
    JUDGES,
    OTHERS,
    WAVELET,
    paper_methods,
    repeated,
)
from benchmarks.verdicts import Claim
from lapwing.papers.wavelet.wavelet import best_levels, paper_levels

TITLE = "Figure 5: densities of narrow blocks"
HEADING = "Figure 5: W1 by width of the blocks"
INDEX = (Entry("figure 5", HEADING, "figure-5"),)
NARROWEST = "h = 1/16"
FULL: dict[str, Any] = {
    "repeats": 100,
    "repeats_between": 10,
    "seed": 0,
    "bins": 1024,
    "levels": 12,
    "epsilons": [0.5, 1, 2, 3, 4],
    "between": [0.75, 1.25, 1.5, 2.5, 3.5],
    "parts": [2, 4, 8, 16],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "repeats_between": 2,
    "seed": 0,
    "bins": 64,
    "levels": 6,
    "epsilons": [1, 4],
    "between": [2],
    "parts": [2, 16],
}

LEFT_OUT = EMS[512]
"""Blocks are whole bins of every grid, so one number of buckets is enough."""


def measure(
    *,
    repeats: int,
    repeats_between: int,
    seed: int,
    bins: int,
    levels: int,
    epsilons: Sequence[float],
    between: Sequence[float],
    parts: Sequence[int],
) -> dict[str, Any]:
    """Return W1 by width of the blocks and epsilon; people are known to ``2^levels`` bins.

    The epsilons between have fewer repeats: they are drawn, and no sentence is judged by them.
    """
    chosen = [blocks(number) for number in parts]
    shape = {"seed": seed, "bins": bins, "levels": levels}
    return {
        "columns": {
            one.name: {
                "people": one.people,
                "rule": one.rule,
                "J": min(paper_levels(one.people), levels) - 1,
            }
            for one in chosen
        },
        "rows": [_row(one, epsilon, repeats, **shape) for one in chosen for epsilon in epsilons],
        "rows, between": [
            _row(one, epsilon, repeats_between, **shape) for one in chosen for epsilon in between
        ],
    }


def _row(
    one: Population, epsilon: float, repeats: int, *, seed: int, bins: int, levels: int
) -> dict[str, Any]:
    samples = repeated(
        [m for m in paper_methods(one.people, bins) if m.name != LEFT_OUT],
        one,
        {"w1": JUDGES["w1"]},
        bins=2**levels,
        epsilon=epsilon,
        repeats=repeats,
        seed=seed,
    )
    return {
        "column": one.name,
        "epsilon": epsilon,
        "bound's J": best_levels(one.people, epsilon, most=levels) - 1,
        "methods": kept_figures(samples),
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return every sentence of section 6.4 that can be judged."""
    rows = measured["rows"]
    columns = list(dict.fromkeys(row["column"] for row in rows))
    narrow = [row for row in rows if row["column"] == NARROWEST]
    found = [
        Claim(
            "Binning does not yield a good performance in general.",
            [below(row, "w1", WAVELET, [name]) for row in rows for name in CATEGORICAL],
            "Counted where the wavelet has less W1, a cell for each number of bins. Blocks down to "
            "h = 1/8 are whole bins of 8, and of 16 at 1/16, so few bins lose nothing.",
            most=True,
            where="figure 5",
        ),
        Claim(
            "With h = 1/16 and 8 bins W1 does not converge to zero.",
            [stays(rows, NARROWEST, "w1", BINNED[8])] if narrow else [],
            left_told(rows, [NARROWEST], "w1", (BINNED[8], WAVELET), scale=1e4) if narrow else "",
            where="figure 5",
        ),
    ]
    for form in measured_forms(rows):
        found += [
            Claim(
                "SW-EM improves on bins.",
                [below(row, "w1", form, CATEGORICAL) for row in rows],
                "Against each number of bins.",
                where="figure 5",
                form=form,
            ),
            Claim(
                "The wavelet is better than SW-EM at every h.",
                [below(row, "w1", WAVELET, [form]) for row in rows],
                by_column(rows, "w1", WAVELET, form),
                where="figure 5",
                form=form,
            ),
            Claim(
                "With h = 1/16 it significantly outperforms existing methods.",
                [below(row, "w1", WAVELET, [form, *OTHERS]) for row in narrow],
                wins(narrow, "w1", form) if narrow else "",
                where="figure 5",
                form=form,
            ),
            Claim(
                "The narrower the blocks, the greater its relative advantage.",
                [gains(rows, a, b, WAVELET, form) for a, b in itertools.pairwise(columns)],
                "From each h to the next, by those ratios.",
                where="figure 5",
                form=form,
            ),
        ]
    return found


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table of figure 5, and what it says of the paper's sentences."""
    rows = measured["rows"]
    return "\n\n".join(
        [
            "Zhao et al. 2026, section 6.4 and equation 92: a density of .5 and 1.5 in turn on "
            "blocks of width h. The paper does not say how many people; 100,000, as in its other "
            "made-up column.",
            f"### {HEADING}",
            "![Figure 5](figures/figure-5.png)",
            tables.head(measured["columns"], settings, "W1 ×10⁴ on the 256 points"),
            tables.wide(rows, "w1"),
            tables.said(claims(measured), "figure 5"),
            tables.over_forms(rows, ["w1"]),
            "### The clip on the blocks",
            tables.clips(rows),
            tables.own(rows),
        ]
    )
