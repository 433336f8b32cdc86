"""The square-wave paper's figure 5: shapes of the wave against its width."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import lapwing as lw
from benchmarks.accuracy.local.methods import EMS, Method
from benchmarks.accuracy.papers.figure_runs import cell, compare, kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.square_wave.square_wave_claims import Row, below
from benchmarks.accuracy.papers.square_wave.square_wave_figures import (
    BINS,
    columns_told,
    population,
    repeats_told,
)
from benchmarks.accuracy.papers.square_wave.trapezoid_channel import ByCorners
from benchmarks.markdown import listed, table
from benchmarks.verdicts import Claim

TITLE = "The square-wave paper: figure 5"
FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 100,
    "bins": None,
    "widths": [0.1, 0.2, 0.3],
    "columns": ["beta52", "taxi", "acs_income", "sf_retirement"],
}
QUICK: dict[str, Any] = {
    **FULL,
    "repeats": 2,
    "bins": 64,
    "widths": [0.2, 0.3],
    "columns": ["beta52"],
}

AT = 1
"""Epsilon of the figure."""

SQUARE, TRIANGLE = "square", "triangle"
TRAPEZOIDS = {f"trapezoid {ratio:g}": ratio for ratio in (0.8, 0.6, 0.4, 0.2)}
"""Top side over bottom side."""

SHAPES = [SQUARE, *TRAPEZOIDS, TRIANGLE]
"""From the widest top to the narrowest."""

HEADING = "Figure 5, shapes of the wave"
INDEX = (Entry("figure 5", HEADING, "figure-5"),)
W1 = {"w1": lw.distances.wasserstein}


def methods(width: float) -> list[Method]:
    """Return a wave of every shape with one bottom side, all decoded by EMS."""
    ratios = {**TRAPEZOIDS, TRIANGLE: 0.0}
    return [
        Method(SQUARE, partial(lw.SquareWave, width=width), EMS),
        *(
            Method(
                name,
                partial(lw.papers.square_wave.GeneralWave, ratio=ratio, width=width),
                ByCorners(EMS),
            )
            for name, ratio in ratios.items()
        ),
    ]


def measure(
    *,
    seed: int,
    repeats: int,
    bins: int | None,
    widths: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return W1 by column, width and shape."""
    chosen = [population(name) for name in columns]
    sizes = {one.name: bins or BINS.get(one.name, 1024) for one in chosen}
    for one in chosen:
        one.law(sizes[one.name])  # without the data folder nothing is measured in vain
    return {
        "columns": {
            one.name: {"people": one.people, "bins": sizes[one.name], "rule": one.rule}
            for one in chosen
        },
        "rows": [
            {
                "column": one.name,
                # As far as epsilon goes there is one row for each width.
                "epsilon": AT,
                "width": width,
                "methods": kept_figures(
                    compare(
                        methods(width),
                        one,
                        W1,
                        bins=sizes[one.name],
                        epsilon=AT,
                        repeats=repeats,
                        seed=seed,
                        factors=("width", f"{width:g}"),
                    )
                ),
            }
            for one in chosen
            for width in widths
        ],
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what section 6.4 says of figure 5."""
    rows = measured["rows"]
    others = SHAPES[1:]
    worst = max(ratio for row in rows for ratio in _over(row, SQUARE))
    return [
        Claim(
            "SW gives the best estimated distributions in terms of Wasserstein distance, no matter "
            "how b is changed.",
            [below(row, "w1", SQUARE, others) for row in rows],
            f"The square has at most {worst:.2f} times the least W1 of a cell. At the best b of "
            f"each it has the least in {_first(rows)}.",
            where="figure 5",
        ),
        Claim(
            "As the ratio decreases, the recovery accuracy also degrades in general.",
            [
                below(row, "w1", wide, [narrow])
                for row in rows
                for wide, narrow in itertools.pairwise(SHAPES)
            ],
            "From each shape to the next narrower one at the same b. "
            f"The triangle has {_range(rows, TRIANGLE, SQUARE)} times the W1 of the square.",
            most=True,
            where="figure 5",
        ),
    ]


def _over(row: Row, name: str) -> list[float]:
    means = {one: row["methods"][one]["w1"]["mean"] for one in SHAPES}
    return [means[name] / mean for mean in means.values()]


def _first(rows: Sequence[Row]) -> str:
    """Return in how many columns the square at its best b is before each shape at its own."""
    lowest: dict[str, dict[str, float]] = {}
    for row in rows:
        found = lowest.setdefault(row["column"], {})
        for name in SHAPES:
            mean = float(row["methods"][name]["w1"]["mean"])
            found[name] = min(mean, found.get(name, mean))
    ahead = sum(min(one, key=lambda name, o=one: o[name]) == SQUARE for one in lowest.values())
    return f"{ahead} of {len(lowest)} columns"


def _range(rows: Sequence[Row], ours: str, theirs: str) -> str:
    found = [
        row["methods"][ours]["w1"]["mean"] / row["methods"][theirs]["w1"]["mean"] for row in rows
    ]
    return f"{min(found):.2f} to {max(found):.2f}"


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table of figure 5 and what it says."""
    sizes = {name: one["bins"] for name, one in measured["columns"].items()}
    return "\n\n".join(
        [
            f"### {HEADING}",
            f"Li et al. 2020, section 6.4, ε = {AT}, {repeats_told(settings)}; "
            f"{listed([f'{bins} bins for {name}' for name, bins in sizes.items()])}. b is "
            "half of the wave's bottom side; the numbers of the trapezoids are top side over "
            "bottom side. Values are put into bins first, all decoded by EMS; W1 ×10⁴ ± standard "
            "error. The paper prints no numbers, only curves.",
            columns_told(measured["columns"]),
            "\n".join(claim.line() for claim in claims(measured)),
            w1_table(measured["rows"], SHAPES, "width", "b"),
            "![Figure 5: W1 of six shapes against b](figures/figure-5.png)",
        ]
    )


def w1_table(rows: Sequence[Row], names: Sequence[str], key: str, title: str) -> str:
    """Return W1 of methods by column and a parameter; the least of a row in bold."""
    lines = []
    for row in rows:
        found = [row["methods"][name]["w1"] for name in names]
        cells = [cell(one, scale=1e4) for one in found]
        least = min(range(len(names)), key=lambda place: float(found[place]["mean"]))
        cells[least] = f"**{cells[least]}**"
        lines.append([row["column"], f"{row[key]:g}", *cells])
    return table(["column", title, *names], lines, texts=2)
