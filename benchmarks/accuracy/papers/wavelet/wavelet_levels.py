"""The wavelet paper's figures 1 and 4: why distances matter, and the level J with its bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.figure_columns import Population, interval
from benchmarks.accuracy.papers.figure_runs import cell, kept_figures
from benchmarks.accuracy.papers.wavelet.wavelet_methods import (
    JUDGES,
    PURE_CLIP,
    population,
    repeated,
)
from benchmarks.markdown import table
from benchmarks.verdicts import Claim
from lapwing.local.numerical.wavelet import error_bound, paper_levels

TITLE = "Figures 1 and 4: the example, and the level J"
FULL: dict[str, Any] = {
    "repeats": 100,
    "seed": 0,
    "levels": 13,
    "epsilons": [0.2, 0.5, 1],
    "columns": ["beta52", "taxi", "acs_income", "sf_benefits"],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "seed": 0,
    "levels": 6,
    "epsilons": [0.5, 1],
    "columns": ["beta52"],
}

ORDERS = range(1, 11)
"""J of figure 4."""

FURTHER = range(1, 15)
"""J of the bounds, so that their least is not cut off."""

SCANNED = [round(0.05 * k, 2) for k in range(1, 41)]
"""Epsilons at which the bounds' least is looked for: figure 4 does not give its own."""

PIECES = 16
"""Of the example of figure 1."""


def measure(
    *, repeats: int, seed: int, levels: int, epsilons: Sequence[float], columns: Sequence[str]
) -> dict[str, Any]:
    """Return the example, W1 by J, and both forms of the bound."""
    chosen = [population(name) for name in columns]
    for one in chosen:
        one.law(2**levels)  # without the data folder nothing is measured in vain
    orders = [order for order in ORDERS if order < levels]
    return {
        "example": example(),
        "columns": {
            one.name: {
                "people": one.people,
                "rule": one.rule,
                "own_file": one.own_file,
                "J": paper_levels(one.people) - 1,
                "scan": {
                    name: [least(bound, one.people, epsilon) for epsilon in SCANNED]
                    for name, bound in BOUNDS.items()
                },
            }
            for one in chosen
        },
        "orders": [
            _swept(one, orders, epsilon, levels, repeats, seed)
            for one in chosen
            for epsilon in epsilons
        ],
    }


def _swept(
    one: Population, orders: list[int], epsilon: float, levels: int, repeats: int, seed: int
) -> dict[str, Any]:
    methods = [
        Method(str(order), partial(lw.Wavelet, levels=order + 1), PURE_CLIP) for order in orders
    ]
    samples = repeated(
        methods,
        one,
        {"w1": JUDGES["w1"], "exact": lw.wasserstein},
        bins=2**levels,
        epsilon=epsilon,
        repeats=repeats,
        seed=seed,
    )
    return {
        "column": one.name,
        "epsilon": epsilon,
        "bounds": {
            name: {str(order): bound(order, one.people, epsilon) for order in FURTHER}
            for name, bound in BOUNDS.items()
        },
        "methods": kept_figures(samples),
    }


def lemmas(order: int, people: int, epsilon: float) -> float:
    """Return the bound of lemmas 5 and 6 with the allocation (83)."""
    return error_bound(order + 1, people, epsilon)


def equation_88(order: int, people: int, epsilon: float) -> float:
    """Return theorem 1 as it is printed, with a one for every constant that it leaves open."""
    root = math.sqrt(people)
    if epsilon < 1:
        spread = order / (epsilon * root)
    elif epsilon <= math.log(order):
        spread = 1 / root + order / (root * math.exp(epsilon))
    else:
        spread = 1 / root
    return spread + 2.0 ** -(order + 1)


BOUNDS = {"lemmas 5 and 6": lemmas, "equation 88": equation_88}
"""The theoretical curve, in two readings: the paper draws (88), which has no constants."""


def least(bound: Any, people: int, epsilon: float) -> int:
    """Return the J at which a bound is least."""
    return min(FURTHER, key=lambda order: float(bound(order, people, epsilon)))


def example() -> dict[str, Any]:
    """Return figure 1 in numbers: two densities about the uniform one, and what tells them apart.

    The figure has no numbers; here the first goes up and down by a half from piece to piece, the
    second is half lower on the left half and half higher on the right.
    """
    even = np.full(PIECES, 1 / PIECES)
    lift = np.full(PIECES // 2, 0.5)
    shapes = {
        "first": np.tile([-0.5, 0.5], PIECES // 2),
        "second": np.concatenate([-lift, lift]),
    }
    domain = interval(PIECES)
    truth = lw.Distribution(domain, even)
    found = {}
    for name, shape in shapes.items():
        answer = lw.Distribution(domain, even * (1 + shape))
        found[name] = {
            "density": (1 + shape).tolist(),
            "l1": float(lw.l1(answer, truth)),
            "kullback_leibler": float(lw.kullback_leibler(answer, truth)),
            "w1": float(lw.wasserstein(answer, truth)),
            "ks": float(lw.kolmogorov_smirnov(answer, truth)),
            "range .2": float(lw.range_query_error(answer, truth, width=0.2)),
        }
    return found


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return every sentence of section 1 and 6.3 that can be judged."""
    return []


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the example, the tables of figure 4, and what they say."""
    return _orders_table(measured["orders"])


def _orders_table(orders: list[dict[str, Any]]) -> str:
    """Return W1 by J with both bounds under it, the least of each line in bold."""
    lines = []
    for row in orders:
        names = list(row["methods"])
        start = [row["column"], f"{row['epsilon']:g}"]
        means = [row["methods"][name]["w1"]["mean"] for name in names]
        shown = [cell(row["methods"][name]["w1"], scale=1e4) for name in names]
        lines.append([*start, "measured", *_least_in_bold(means, shown)])
        for kind, bounds in row["bounds"].items():
            bound = [bounds[name] for name in names]
            shown = [f"{1e4 * one:.0f}" for one in bound]
            lines.append([*start, kind, *_least_in_bold(bound, shown)])
    head = [f"J = {name}" for name in orders[0]["methods"]]
    return table(["column", "ε", "W1", *head], lines, texts=3)


def _least_in_bold(numbers: Sequence[float], shown: Sequence[str]) -> list[str]:
    place = min(range(len(numbers)), key=lambda i: numbers[i])
    return [f"**{text}**" if i == place else text for i, text in enumerate(shown)]
