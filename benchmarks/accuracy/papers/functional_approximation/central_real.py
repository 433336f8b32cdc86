"""Example curves (figures 4, 16, 17), and real columns: Airbnb and a yaw angle (figure 19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.functional_approximation import central_index
from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    REAL,
    SMOOTH,
    People,
    both_mappings,
    people_of,
    without_noise,
)
from benchmarks.accuracy.papers.functional_approximation.central_judging import (
    AQ,
    HQ,
    below,
    values,
    worst,
)
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    DEFAULT,
    HALVES,
    METHODS,
    Method,
    distances,
)
from benchmarks.accuracy.papers.functional_approximation.central_protocols import (
    PRINTED,
    methods_of,
)
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import (
    KEYS,
    PEOPLE,
    Distances,
    Found,
    cell_tables,
    figures,
    number,
    shown,
    side_by_side,
)
from benchmarks.markdown import table
from benchmarks.summaries import ratio_of_means
from benchmarks.verdicts import Claim, less
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection

TITLE = "The functional-approximation paper: curves and real columns (figures 4, 16, 17, 19)"
FULL: dict[str, Any] = {
    "repeats": 50,
    "repeats_between": 10,
    "columns": list(REAL),
    "curves": [*SMOOTH, *REAL],
    "draws": 20,
    "epsilons": [0.1, 0.5, 1],
    "between": [0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9],
    "seed": 0,
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "repeats_between": 2,
    "columns": list(REAL),
    "curves": ["normal", *REAL],
    "draws": 3,
    "epsilons": [1],
    "between": [0.5],
    "seed": 0,
}

PP = "PP, algorithm 1"
VALID = (HQ, *AQ.values(), PP, "MP, its true cost")
TOLD = (
    "W1, KS and mean square (in which MP is never worse before the isotonic step, by lemma 1) to "
    "the people themselves, each draw of other people; days in both mappings."
)
LAW_PEOPLE = 1000
"""Of a law instead of a real column, for a trial."""


def measure(
    *,
    repeats: int,
    repeats_between: int,
    columns: Sequence[str],
    curves: Sequence[str],
    draws: int,
    epsilons: Sequence[float],
    between: Sequence[float],
    seed: int,
) -> dict[str, Any]:
    """Return the distances of every method to the people's own distribution function.

    The epsilons between have fewer repeats: they are drawn, and no sentence is judged by them.
    """
    drawn = people_of(columns)
    return {
        "columns": {column.name: column.told for column in drawn},
        "curves": [
            {"column": column.name, "methods": _exact(column, draws, seed)}
            for column in both_mappings(people_of(curves))
        ],
        "cells": [
            _cell(column, epsilon, repeats, seed) for column in drawn for epsilon in epsilons
        ],
        "cells, between": [
            _cell(column, epsilon, repeats_between, seed) for column in drawn for epsilon in between
        ],
    }


def examples(column: People) -> dict[str, Method]:
    """Return the methods of figures 4, 16 and 17 with their parameters there."""
    functions, terms, atoms = column.sizes
    return {
        "HQ, 30 bins": Method(HistogramQuery(30, interpolate=False), pure=True),
        "AQ, 50 steps": Method(AdaptiveQuantiles(50, noise="laplace", guarded=False), pure=True),
        f"PP, {functions}": Method(
            PolynomialProjection(functions, shape="algorithm-1", noise="normal")
        ),
        f"MP, {terms} of {atoms}": Method(
            MatchingPursuit(terms, atoms=atoms, form="published"), pure=True
        ),
    }


def _exact(column: People, draws: int, seed: int) -> Found:
    """Return the distances of the example methods without noise, to the people themselves."""
    people = column.kept or PEOPLE
    kept: Distances = {}
    for draw in range(draws):
        summary = column.summarized(people, seed=[number("curves", seed, column.name, draw)])
        own = column.own_cdf(summary)
        for name, method in examples(column).items():
            release = method.release(summary, 1.0, people**-1.5, seed=1)
            exact = method.decode(without_noise(release, summary))
            kept.setdefault(name.split(",")[0], []).append(distances(exact, own))
    return figures(kept)


def _cell(column: People, epsilon: float, repeats: int, seed: int) -> dict[str, Any]:
    people = column.kept or LAW_PEOPLE
    _, terms, atoms = column.sizes
    methods = {
        **methods_of(column),
        **{name: METHODS[name] for name in (HALVES, "PP 12, repaired", "AQ 80, repaired")},
        "MP, repaired": Method(MatchingPursuit(terms, atoms=atoms)),
    }
    kept = side_by_side(column, methods, people, epsilon, repeats, seed=seed, sweep="real columns")
    return {"column": column.name, "epsilon": epsilon, "methods": figures(kept)}


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what section VI-B says of figures 4, 16, 17 and 19."""
    rows, exact = measured["cells"], measured["curves"]
    found = [
        Claim(
            "Without noise adaptive quantiles are the most accurate of the four.",
            below(exact, "AQ", ["HQ", "PP", "MP"]),
            TOLD,
            where="figures 4, 16 and 17",
        ),
        Claim(
            "Histograms with few bins differ noticeably from the truth also without noise.",
            [less([0.05] * len(one), [one]) for one in (values(row, "HQ", "ks") for row in exact)],
            "Noticeably: a KS above 0.05.",
            where="figures 4, 16 and 17",
        ),
        Claim(
            "Without noise as many functions from a larger dictionary (MP) are closer than PP.",
            below(exact, "MP", ["PP"]),
            TOLD,
            where="figures 4, 16 and 17",
        ),
    ]
    for kind, aq in AQ.items():
        form = f"AQ with {kind} noise"
        found += [
            Claim(
                "Histogram queries consistently perform worst.",
                worst(rows, HQ, [aq, PP, PRINTED]),
                where="figure 19",
                form=form,
            ),
            Claim(
                "Where the distribution jumps AQ is closer than histograms and PP.",
                below(rows, aq, [HQ, PP]),
                where="figure 19",
                form=form,
            ),
        ]
    return [
        *found,
        Claim("MP is closer than PP.", below(rows, PRINTED, [PP]), where="figure 19"),
    ]


def exact_tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of the curves without noise for every distance."""
    return [
        f"{name} ×10³, ± standard error:\n\n"
        + table(
            ["", "HQ", "AQ", "PP", "MP"],
            [
                [row["column"], *(shown(row["methods"][m][key]) for m in ("HQ", "AQ", "PP", "MP"))]
                for row in rows
            ],
            texts=1,
        )
        for key, name in KEYS.items()
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the columns, the distances, the claims and the example curves."""
    rows = []
    for cell in measured["cells"]:
        kept = cell["methods"]
        best = min(VALID, key=lambda name: float(kept[name]["ks"]["mean"]))
        gains = [
            ratio_of_means(kept[name]["ks"]["values"], kept[DEFAULT]["ks"]["values"])
            for name in (best, HALVES)
        ]
        told = [f"{gain['ratio']:.2f} ± {gain['standard_error']:.2f}" for gain in gains]
        rows.append([cell["column"], f"{cell['epsilon']:g}", best, *told])
    judged = claims(measured)
    few = "figures 4, 16 and 17"
    return "\n\n".join(
        [
            "One release of each method, ε = 0.1, AQ with Laplace noise, MP at its true cost, the "
            "default as a fifth; n = 10,000 of a law. Full: without noise and without privacy; "
            "broken: released.",
            "\n".join(claim.line() for claim in judged if claim.where == few),
            "Without noise, to the people themselves (30 bins, 50 steps, the paper's functions "
            f"and terms), {settings['draws']} draws. A day of a year is in the middle of its part "
            "of [-1, 1], or the first day is -1 and the last 1: the paper does not say which.",
            *exact_tables(measured["curves"]),
            *central_index.shown("figure-4", "figure-16", "figure-17"),
            f"Figure 19: replace-one neighbors, δ = n^-1.5, {settings['repeats']} repeats as in "
            "the paper, each of other rows; distances to the people themselves, the domain taken "
            "as [-1, 1]. The starred method spends the budget of theorem 4, which is not what it "
            "costs.",
            central_index.real_columns(measured["columns"]),
            "\n".join(claim.line() for claim in judged if claim.where != few),
            *central_index.shown("figure-19"),
            *cell_tables(measured["cells"], "± standard error"),
            "Best valid one of the paper's four in each cell, and interpolated bins, in KS over "
            "that of prefix sums with step pursuit:",
            table(
                ["", "ε", "best of the paper", "over prefix sums", "40 bins over prefix sums"],
                rows,
                texts=1,
            ),
        ]
    )
