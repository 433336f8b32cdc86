"""The square-wave paper's figure 6: widths of the square wave, with the rule's marked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import lapwing as lw
from benchmarks.accuracy.local.methods import EMS, Method
from benchmarks.accuracy.papers.figure_runs import compare, kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.square_wave.square_wave_claims import Row, near_best
from benchmarks.accuracy.papers.square_wave.square_wave_figures import (
    BINS,
    columns_told,
    population,
    repeats_told,
)
from benchmarks.accuracy.papers.square_wave.square_wave_shapes import w1_table
from benchmarks.markdown import listed
from benchmarks.verdicts import Claim
from lapwing.randomizers.numerical.square_wave import mutual_information_width

TITLE = "The square-wave paper: figure 6"
FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 100,
    "bins": None,
    "steps": [0.5, 0.75, 1, 1.25, 1.5],
    "epsilons": [0.5, 1, 2],
    "columns": ["beta52", "taxi", "acs_income", "sf_retirement"],
}
QUICK: dict[str, Any] = {
    **FULL,
    "repeats": 2,
    "bins": 64,
    "steps": [0.5, 1],
    "epsilons": [1],
    "columns": ["beta52"],
}

RULE = "1"
"""The rule's own width among the multiples of it."""

NEAR_BEST = 1.2
"""What is called among the best has less than so many times the error of each other width."""

HEADING = "Figure 6, width of the square wave"
INDEX = (Entry("figure 6", HEADING, "figure-6"),)
W1 = {"w1": lw.distances.wasserstein}


def methods(epsilon: float, steps: Sequence[float]) -> list[Method]:
    """Return square waves of several widths, as multiples of the rule's, all decoded by EMS."""
    rule = mutual_information_width(epsilon)
    return [
        Method(f"{step:g}", partial(lw.SquareWave, width=min(step * rule, 1.0)), EMS)
        for step in steps
    ]


def measure(
    *,
    seed: int,
    repeats: int,
    bins: int | None,
    steps: Sequence[float],
    epsilons: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return W1 by column, epsilon and width."""
    chosen = [population(name) for name in columns]
    sizes = {one.name: bins or BINS.get(one.name, 1024) for one in chosen}
    for one in chosen:
        one.law(sizes[one.name])  # without the data folder nothing is measured in vain
    return {
        "columns": {
            one.name: {"people": one.people, "bins": sizes[one.name], "rule": one.rule}
            for one in chosen
        },
        "rules": {f"{epsilon:g}": mutual_information_width(epsilon) for epsilon in epsilons},
        "rows": [
            {
                "column": one.name,
                "epsilon": epsilon,
                "methods": kept_figures(
                    compare(
                        methods(epsilon, steps),
                        one,
                        W1,
                        bins=sizes[one.name],
                        epsilon=epsilon,
                        repeats=repeats,
                        seed=seed,
                        factors=("figure 6",),
                    )
                ),
            }
            for one in chosen
            for epsilon in epsilons
        ],
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what section 6.4 says of figure 6, and section 5.3 of the rule."""
    rows = measured["rows"]
    losses = [_loss(row) for row in rows]
    best = [_best(row) for row in rows]
    smaller = sum(one < float(RULE) for one in best)
    larger = sum(one > float(RULE) for one in best)
    return [
        Claim(
            "Our choice of b is among the ones that provide best utility.",
            [near_best(row, "w1", RULE, row["methods"], factor=NEAR_BEST) for row in rows],
            f"The rule's W1 is {min(losses):.2f} to {max(losses):.2f} times the least of a cell; "
            f"among the best: less than {NEAR_BEST:g} times that of every other. The least is at a "
            f"smaller b in {smaller} of {len(rows)} cells and at a larger one in {larger}.",
            where="figure 6",
        ),
    ]


def _best(row: Row) -> float:
    return float(min(row["methods"], key=lambda name: float(row["methods"][name]["w1"]["mean"])))


def _loss(row: Row) -> float:
    means = [one["w1"]["mean"] for one in row["methods"].values()]
    return float(row["methods"][RULE]["w1"]["mean"]) / min(means)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table of figure 6 and what it says."""
    sizes = {name: one["bins"] for name, one in measured["columns"].items()}
    rules = [f"{rule:.4f} at ε = {e}" for e, rule in sorted(measured["rules"].items())]
    return "\n\n".join(
        [
            f"### {HEADING}",
            f"Li et al. 2020, section 6.4, {repeats_told(settings)}; "
            f"{listed([f'{bins} bins for {name}' for name, bins in sizes.items()])}. The columns "
            f"of the table are widths b as multiples of the rule's of section 5.3: "
            f"{listed(rules)}. Values are put into bins first, all decoded by EMS; W1 ×10⁴ ± "
            "standard error. The paper prints no numbers, only curves.",
            columns_told(measured["columns"]),
            "\n".join(claim.line() for claim in claims(measured)),
            w1_table(measured["rows"], list(measured["rows"][0]["methods"]), "epsilon", "ε"),
            "![Figure 6: W1 of the square wave against b](figures/figure-6.png)",
        ]
    )
