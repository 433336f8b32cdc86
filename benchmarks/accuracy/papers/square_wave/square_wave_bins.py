"""The square-wave paper's figure 7: numbers of bins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import EMS, Method
from benchmarks.accuracy.papers.figure_columns import CountVector, coarser, truth
from benchmarks.accuracy.papers.figure_runs import Judge, cell, compare, kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.square_wave.randomize_first import InBuckets
from benchmarks.accuracy.papers.square_wave.square_wave_claims import Row, below, near_best
from benchmarks.accuracy.papers.square_wave.square_wave_figures import (
    columns_told,
    population,
    repeats_told,
)
from benchmarks.markdown import table
from benchmarks.verdicts import Claim

TITLE = "The square-wave paper: figure 7"
FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 100,
    "granularities": [256, 512, 1024, 2048],
    "grid": 16_384,
    "epsilons": [0.5, 1, 2],
    "columns": ["beta52", "taxi", "acs_income", "sf_retirement"],
}
QUICK: dict[str, Any] = {
    **FULL,
    "repeats": 2,
    "granularities": [32, 64],
    "grid": 512,
    "epsilons": [1],
    "columns": ["beta52"],
}

SMOOTHEST = "beta52"
"""The column of which the paper says that 256 bins are best."""

SIMILAR = 1.2
"""Section 5.4 calls results similar without a number; this factor is taken for it."""

FAR = 2
"""A number of buckets this many times as large or small as the root of n is not far from it."""

HEADING = "Figure 7, numbers of bins"
BUCKETS = "section 5.4, number of buckets"
INDEX = (Entry("figure 7", HEADING, "figure-7"), Entry(BUCKETS, HEADING, "figure-7"))


def _to_people(answer: Any, people: CountVector) -> float:
    """Return W1 to the people's CDF on the fine grid: wide bins pay for what they cannot show."""
    return lw.distances.wasserstein(answer, truth(people))


def _to_histogram(answer: Any, people: CountVector) -> float:
    """Return W1 to the people's histogram of as many bins as the answer has."""
    return lw.distances.wasserstein(answer, truth(coarser(people, answer.mass.size)))


JUDGES: dict[str, Judge] = {"w1": _to_people, "own": _to_histogram}
READINGS = {
    "w1": "W1 to the people themselves",
    "own": "W1 to their histogram of as many bins",
}
"""What "the true distribution" may mean where the numbers of bins differ."""


def methods(granularities: Sequence[int]) -> list[Method]:
    """Return one wave whose reports are decoded at several numbers of bins."""
    return [Method(str(bins), lw.SquareWave, InBuckets(bins, EMS)) for bins in granularities]


def measure(
    *,
    seed: int,
    repeats: int,
    granularities: Sequence[int],
    grid: int,
    epsilons: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return both readings of W1 by column, epsilon and number of bins."""
    chosen = [population(name) for name in columns]
    for one in chosen:
        one.law(grid)  # without the data folder nothing is measured in vain
    return {
        "columns": {
            one.name: {"people": one.people, "bins": grid, "rule": one.rule} for one in chosen
        },
        "rows": [
            {
                "column": one.name,
                "epsilon": epsilon,
                "people": one.people,
                "methods": kept_figures(
                    compare(
                        methods(granularities),
                        one,
                        JUDGES,
                        bins=grid,
                        epsilon=epsilon,
                        repeats=repeats,
                        known=np.asarray,
                        seed=seed,
                        factors=("figure 7",),
                    )
                ),
            }
            for one in chosen
            for epsilon in epsilons
        ],
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what section 6.4 says of figure 7, by both readings, and section 5.4 of sqrt(N)."""
    rows = measured["rows"]
    found = []
    for key, reading in READINGS.items():
        for text, own, wanted, most in (
            (
                "For Beta(5, 2) the result is best when the number of buckets is 256",
                [row for row in rows if row["column"] == SMOOTHEST],
                "256",
                False,
            ),
            (
                "For the other columns 1024 buckets give the best performance in most cases",
                [row for row in rows if row["column"] != SMOOTHEST],
                "1024",
                True,
            ),
        ):
            if own and wanted in own[0]["methods"]:
                found.append(
                    Claim(
                        f"{text}.",
                        [below(row, key, wanted, row["methods"]) for row in own],
                        f"Least at {_least_at(own, key)}. It has at most "
                        f"{max(_loss(row, key, wanted) for row in own):.2f} times the least.",
                        most=most,
                        where="figure 7",
                        form=reading,
                    )
                )
    near = {id(row): _near(row) for row in rows}
    found.append(
        Claim(
            "The results are similar so long as d̃ does not deviate far from √N.",
            [
                near_best(row, "w1", name, near[id(row)], factor=SIMILAR)
                for row in rows
                for name in near[id(row)]
                if len(near[id(row)]) > 1
            ],
            f"Among the numbers within a factor of {FAR} of √N each has less than {SIMILAR:g} "
            "times the W1 of each other; cells with one such number are not counted.",
            where=BUCKETS,
        )
    )
    return found


def _near(row: Row) -> list[str]:
    root = math.sqrt(row["people"])
    return [name for name in row["methods"] if 1 / FAR <= int(name) / root <= FAR]


def _loss(row: Row, key: str, name: str) -> float:
    methods: Mapping[str, Any] = row["methods"]
    least = min(float(one[key]["mean"]) for one in methods.values())
    return float(methods[name][key]["mean"]) / least


def _least_at(rows: Sequence[Row], key: str) -> str:
    found = [
        min(row["methods"], key=lambda name, row=row: float(row["methods"][name][key]["mean"]))
        for row in rows
    ]
    names = [name for name in rows[0]["methods"] if name in found]
    return ", ".join(f"{name} bins in {found.count(name)}" for name in names)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of figure 7 and what they say."""
    rows = measured["rows"]
    names = list(rows[0]["methods"])
    lines = []
    for row in rows:
        cells = []
        for key in READINGS:
            found = [row["methods"][name][key] for name in names]
            least = min(range(len(names)), key=lambda i, f=found: float(f[i]["mean"]))
            texts = [cell(one, scale=1e4) for one in found]
            texts[least] = f"**{texts[least]}**"
            cells += texts
        lines.append([row["column"], f"{row['epsilon']:g}", *cells])
    heads = [*names, *(f"{name}, own" for name in names)]
    return "\n\n".join(
        [
            f"### {HEADING}",
            f"Li et al. 2020, section 6.4, {repeats_told(settings)}. As "
            "there, the wave randomizes first, and its reports are put into as many buckets as the "
            f"estimate has bins; people are known to {settings['grid']:,} bins. W1 ×10⁴ ± standard "
            "error, first to the people themselves, so that wide bins pay for what they cannot "
            "show, then (own) to their histogram of as many bins: the paper does not say which. It "
            "prints no numbers, only curves.",
            columns_told(measured["columns"]),
            "\n".join(claim.line() for claim in claims(measured)),
            table(["column", "ε", *heads], lines, texts=2),
            "![Figure 7: W1 against ε by number of bins](figures/figure-7.png)",
        ]
    )
