"""What matching pursuit chooses from: dictionaries of 40 to 400 atoms (figures 9, 26, 27)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.functional_approximation import central_index
from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    REAL,
    SMOOTH,
    People,
    people_of,
    without_noise,
)
from benchmarks.accuracy.papers.functional_approximation.central_judging import at, below
from benchmarks.accuracy.papers.functional_approximation.central_methods import distances
from benchmarks.accuracy.papers.functional_approximation.central_pursuit import forms
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import (
    NONE,
    PEOPLE,
    Distances,
    cell_tables,
    figures,
    number,
)
from benchmarks.summaries import geometric
from benchmarks.verdicts import Cell, Claim, less, loosely

TITLE = "The functional-approximation paper: dictionaries (figures 8, 9, 24-27)"
FULL: dict[str, Any] = {
    "repeats": 50,
    "repeats_between": 10,
    "columns": [*SMOOTH, *REAL],
    "epsilons": [0.1, 0.5, 1],
    "between": [0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9],
    "terms": 30,
    "bins": 512,
    "dictionaries": ["Legendre 200", "splines, nested", "normal CDFs"],
    "seed": 0,
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "repeats_between": 2,
    "columns": ["normal", "spiky"],
    "epsilons": [0.5],
    "between": [0.8],
    "terms": 10,
    "bins": 128,
    "dictionaries": ["Legendre 200", "splines, nested", "normal CDFs"],
    "seed": 0,
}

NESTED = "splines, nested"
THREE = ("Legendre 200", NESTED, "normal CDFs")
"""The paper's dictionaries, as far as it says how they are made."""


DICTIONARIES: Mapping[str, Mapping[str, Any]] = {
    "Legendre 200": {"dictionary": "legendre", "atoms": 200},
    NESTED: {"dictionary": "splines", "atoms": 109},
    "normal CDFs": {"dictionary": "normal-curves", "atoms": 400},
}
SHOWN = ("as printed*", "repaired")
WELL = 0.05
"""KS up to which a curve is "well approximated"."""


def measure(
    *,
    repeats: int,
    repeats_between: int,
    columns: Sequence[str],
    epsilons: Sequence[float],
    between: Sequence[float],
    terms: int,
    bins: int,
    dictionaries: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """Return distances by dictionary and form, for every column and epsilon.

    The epsilons between have fewer repeats: they are drawn, and no sentence is judged by them.
    """
    drawn = people_of(columns, bins=bins)
    return {
        **{
            part: [
                {
                    "column": column.name,
                    "epsilon": epsilon,
                    "methods": figures(_cell(column, dictionaries, terms, epsilon, times, seed)),
                }
                for column in drawn
                for epsilon in wanted
            ]
            for part, wanted, times in (
                ("cells", epsilons, repeats),
                ("cells, between", between, repeats_between),
            )
        },
        "columns": {column.name: column.told for column in drawn},
    }


def _cell(
    column: People,
    dictionaries: Sequence[str],
    terms: int,
    epsilon: float,
    repeats: int,
    seed: int,
) -> Distances:
    """Return the distances of all dictionaries in every repeat, on the same people."""
    people = column.kept or PEOPLE
    made = {name: forms(terms, **DICTIONARIES[name]) for name in dictionaries}
    kept: Distances = {}
    for repeat in range(repeats):
        cell = ("dictionaries", seed, column.name, people, epsilon, repeat)
        summary = column.summarized(people, seed=[number("people", *cell)])
        cdf = column.cdf(summary)
        for name, methods in made.items():
            for form in SHOWN if epsilon == EXACT else SHOWN[:1]:
                method = methods[form]
                drawn = number("noise", name, form, *cell)
                release = method.release(summary, epsilon, people**-1.5, seed=drawn)
                score = distances(method.decode(release), cdf)
                kept.setdefault(f"{name}, {form}", []).append(score)
                if epsilon == EXACT and form == SHOWN[0]:
                    exact = method.decode(without_noise(release, summary))
                    kept.setdefault(f"{name}, {NONE}", []).append(distances(exact, cdf))
    return kept


EXACT = 0.5
"""The epsilon of figure 8, in whose cells our own form and curves without noise stand as well."""


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what section VI-C says of figures 8 and 9, 24 to 27."""
    rows = measured["cells"]
    complex_ = [row for row in rows if row["column"] not in SMOOTH]
    exact = at(rows, EXACT)
    printed = {name: f"{name}, {SHOWN[0]}" for name in THREE}
    return [
        Claim(
            "As long as the dictionary is rich the distribution function is well approximated.",
            [
                max((near_zero(row, name) for name in THREE), key=lambda cell: cell.toward)
                for row in exact
            ],
            f"Without noise, by one of the three at least; well: a KS of at most {WELL:g}.",
            where="figures 8, 24 and 25",
        ),
        Claim(
            "B-splines are closer than the other two for complex distributions.",
            below(complex_, printed[NESTED], [printed["Legendre 200"], printed["normal CDFs"]]),
            "As printed.",
            where="figures 9, 26 and 27",
        ),
        Claim(
            "Normal distribution functions are less effective for complex distributions than "
            "B-splines.",
            below(complex_, printed[NESTED], [printed["normal CDFs"]]),
            "As printed.",
            where="figures 9, 26 and 27",
        ),
    ]


def near_zero(row: Mapping[str, Any], dictionary: str) -> Cell:
    """Return whether a dictionary without noise approximates a column well."""
    values = row["methods"][f"{dictionary}, {NONE}"]["ks"]["values"]
    return loosely(lambda beyond: less(values, [[beyond] * len(values)]), beyond=WELL)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the distances, and which dictionary is closest where."""
    rows = measured["cells"]
    judged = claims(measured)

    def chosen(form: str) -> list[dict[str, Any]]:
        return [
            {
                **row,
                "methods": {
                    name.removesuffix(f", {form}"): found
                    for name, found in row["methods"].items()
                    if name.endswith(f", {form}")
                },
            }
            for row in (rows if form == SHOWN[0] else at(rows, EXACT))
        ]

    def said(figure: str) -> str:
        return "\n".join(claim.line() for claim in judged if claim.where.startswith(figure))

    return "\n\n".join(
        [
            f"Replace-one neighbors, δ = n^-1.5, s = {settings['terms']} terms, "
            f"{settings['repeats']} repeats as in the paper, {settings['bins']} symbols (366 days "
            f"of a year), distances on [-1, 1], ± standard error; n = {PEOPLE:,} of a law. Of a "
            "real column different rows, with distances to themselves. *Nested*: 109 B-splines of "
            "degree 0 and 1 of several widths, because the paper does not say how its 109 are "
            "made (30 of one width cannot be added up to a curve); 400 normal CDFs on a grid of "
            "means and widths. "
            "*As printed*, starred: with the budget of theorem 4, which is not what it costs, and "
            "a function may be chosen again.",
            central_index.real_columns(measured["columns"]),
            said("figures 8"),
            *central_index.shown("figure-8", "figure-24", "figure-25"),
            *cell_tables(chosen(NONE), "without noise and privacy")[:1],
            said("figures 9"),
            *central_index.shown("figure-9", "figure-26", "figure-27"),
            *cell_tables(chosen(SHOWN[0]), SHOWN[0]),
            *cell_tables(chosen(SHOWN[1]), SHOWN[1])[:1],
            _said(rows),
        ]
    )


def _said(rows: Sequence[dict[str, Any]]) -> str:
    pairs = [
        (found["ks"]["mean"], row["methods"][name.replace(SHOWN[0], SHOWN[1])]["ks"]["mean"])
        for row in at(rows, EXACT)
        for name, found in row["methods"].items()
        if name.endswith(SHOWN[0])
    ]
    gains = [printed / repaired for printed, repaired in pairs]
    return (
        f"The repaired form has a KS {geometric(gains):.1f} times lower than the printed one "
        f"at ε = {EXACT:g} (geometric mean of all cells, {min(gains):.1f} to {max(gains):.1f})."
    )
