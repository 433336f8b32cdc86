"""The square-wave paper's figures 5 to 7, and the branching of trees, which it takes as given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import lapwing as lw
from benchmarks.accuracy.local.methods import EMS, Method
from benchmarks.accuracy.papers.figure_columns import Population
from benchmarks.accuracy.papers.figure_runs import Judge, apart, cell, claim, compare, figures, less
from benchmarks.accuracy.papers.square_wave.square_wave_figures import population
from benchmarks.markdown import listed, table
from lapwing.local.numerical.square_wave import mutual_information_width

TITLE = "The square-wave paper: figures 5 to 7, and branching"
FULL: dict[str, Any] = {
    "repeats": 24,
    "bins": 256,
    "granularities": [256, 512, 1024, 2048],
    "widths": [0.05, 0.1, 0.15, 0.2, 0.25, 0.35],
    "branchings": [2, 4, 8, 16],
    "epsilons": [0.5, 1, 2],
    "columns": ["beta52", "taxi", "acs_income", "sf_retirement"],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "bins": 64,
    "granularities": [32, 64],
    "widths": [0.2, 0.3],
    "branchings": [2, 4],
    "epsilons": [1],
    "columns": ["beta52"],
}

RATIOS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""Top side over bottom side of the wave: the square, the paper's four trapezoids, the triangle."""

SHAPES_AT = 1.0
"""Epsilon of figure 5."""

STEPS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""Widths of figure 6, as multiples of the mutual-information rule's."""

NEAR_BEST = 1.2
"""What is called near the best has at most so many times the least error."""

W1 = {"w1": lw.wasserstein}
TREE_JUDGES: dict[str, Judge] = {**W1, "range": partial(lw.range_query_error, width=0.1)}
"""Of HH the range queries are shown, of HH-ADMM W1."""


def measure(
    *,
    repeats: int,
    bins: int,
    granularities: Sequence[int],
    widths: Sequence[float],
    branchings: Sequence[int],
    epsilons: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return W1 by shape and width, by width, by bins, and errors of trees by branching."""
    chosen = [population(name) for name in columns]
    for one in chosen:
        one.law(bins)  # without the data folder nothing is measured in vain
    return {
        "people": {one.name: one.people for one in chosen},
        "rules": {f"{e:g}": mutual_information_width(e) for e in {*epsilons, SHAPES_AT}},
        "shapes": [
            {
                "column": one.name,
                "width": width,
                "methods": _w1(one, _shapes(width), bins, SHAPES_AT, repeats),
            }
            for one in chosen
            for width in widths
        ],
        "widths": [
            {
                "column": one.name,
                "epsilon": epsilon,
                "methods": _w1(one, _steps(epsilon), bins, epsilon, repeats),
            }
            for one in chosen
            for epsilon in epsilons
        ],
        "granularities": [
            {
                "column": one.name,
                "epsilon": epsilon,
                "methods": _w1(
                    one, _sizes(granularities), 2 * max(granularities), epsilon, repeats
                ),
            }
            for one in chosen
            for epsilon in epsilons
        ],
        "branchings": [
            {
                "column": one.name,
                "epsilon": epsilon,
                "methods": figures(
                    compare(
                        _trees(branchings),
                        one,
                        TREE_JUDGES,
                        bins=bins,
                        epsilon=epsilon,
                        repeats=repeats,
                    )
                ),
            }
            for one in chosen
            for epsilon in epsilons
        ],
    }


def _w1(
    one: Population, methods: list[Method], bins: int, epsilon: float, repeats: int
) -> dict[str, Any]:
    samples = compare(methods, one, W1, bins=bins, epsilon=epsilon, repeats=repeats)
    return figures(samples)


def _shapes(width: float) -> list[Method]:
    return [
        Method(f"{ratio:g}", partial(lw.GeneralWave, ratio=ratio, width=width), EMS)
        for ratio in RATIOS
    ]


def _steps(epsilon: float) -> list[Method]:
    rule = mutual_information_width(epsilon)
    return [
        Method(f"{step:g}", partial(lw.SquareWave, width=min(step * rule, 1.0)), EMS)
        for step in STEPS
    ]


def _wave_on(bins: int, domain: lw.Interval, epsilon: Any) -> lw.SquareWave:
    return lw.SquareWave(domain.refined(bins), epsilon)


def _sizes(granularities: Sequence[int]) -> list[Method]:
    return [Method(str(bins), partial(_wave_on, bins), EMS) for bins in granularities]


def _trees(branchings: Sequence[int]) -> list[Method]:
    return [
        Method(f"{name}{branching}", partial(lw.Hierarchical, branching=branching), decoder)
        for name, decoder in (
            ("", lw.TreeConsistency(weighted=False, band=False)),
            ("ADMM ", lw.TreeConsistency(method="admm", weighted=False, band=False)),
        )
        for branching in branchings
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of figures 5 to 7 and what they say."""
    people = listed([f"{n:,} for {name}" for name, n in measured["people"].items()])
    return "\n\n".join(
        [
            f"Li et al. 2020, section 6.4. Columns as above ({people}), {settings['repeats']} "
            "repeats; W1 ×10⁴ ± standard error; all decoded by EMS. Least of a row in bold.",
            "### Figure 5, shapes of the wave",
            f"ε = {SHAPES_AT:g}, {settings['bins']} bins (the paper has 1024 for all but Beta(5, "
            "2)). b is half of the wave's bottom side; the columns of the table are top side over "
            "bottom side: 1 is the square wave, 0 the triangle.",
            _table(measured["shapes"], "width", "b"),
            "\n".join(_shapes_say(measured["shapes"])),
            "### Figure 6, width of the square wave",
            f"{settings['bins']} bins. The columns of the table are widths as multiples of the "
            "mutual-information rule's, which is "
            + listed([f"{rule:.3f} at ε = {e}" for e, rule in sorted(measured["rules"].items())])
            + ".",
            _table(measured["widths"], "epsilon", "ε"),
            "\n".join(_widths_say(measured["widths"])),
            "### Figure 7, numbers of bins",
            f"The people are known to {2 * max(settings['granularities'])} bins, and every answer "
            "is compared with that CDF, so wide bins pay for what they cannot show.",
            _table(measured["granularities"], "epsilon", "ε"),
            "\n".join(_bins_say(measured["granularities"], measured["people"])),
            "### Branching of trees",
            f"{settings['bins']} bins, as published with equal weights. HH: mean absolute error of "
            "range queries of width .1; HH-ADMM: W1.",
            _trees_table(measured["branchings"]),
            _trees_say(measured["branchings"]),
        ]
    )


def _table(rows: list[dict[str, Any]], key: str, name: str) -> str:
    methods = list(rows[0]["methods"])
    lines = []
    for row in rows:
        cells = [cell(row["methods"][method]["w1"], scale=1e4) for method in methods]
        least = methods.index(_least(row))
        cells[least] = f"**{cells[least]}**"
        lines.append([row["column"], f"{row[key]:g}", *cells])
    return table(["column", name, *methods], lines, texts=2)


def _least(row: dict[str, Any]) -> str:
    found = row["methods"]
    return min(map(str, found), key=lambda name: float(found[name]["w1"]["mean"]))


def _shapes_say(rows: list[dict[str, Any]]) -> list[str]:
    names = [f"{ratio:g}" for ratio in RATIOS]
    columns = list(dict.fromkeys(row["column"] for row in rows))
    lowest = {
        (column, name): min(
            (row["methods"][name]["w1"] for row in rows if row["column"] == column),
            key=lambda figure: float(figure["mean"]),
        )
        for column in columns
        for name in names
    }
    at_best = [
        (
            lowest[column, "1"]["mean"] <= lowest[column, name]["mean"],
            apart(lowest[column, "1"], lowest[column, name]),
        )
        for column in columns
        for name in names[1:]
    ]
    steps = [
        (
            row["methods"][wide]["w1"]["mean"] <= row["methods"][narrow]["w1"]["mean"],
            apart(row["methods"][wide]["w1"], row["methods"][narrow]["w1"]),
        )
        for row in rows
        for wide, narrow in itertools.pairwise(names)
    ]
    return [
        claim(
            "The square wave gives the best estimate no matter how b is changed.",
            [less(row, "w1", "1", names) for row in rows],
            "Every column and b.",
        ),
        claim(
            "The same with the best b of each shape.",
            at_best,
            "The square wave against each other shape, by column.",
        ),
        claim(
            "As the ratio decreases, the accuracy degrades in general.",
            steps,
            "From each shape to the next narrower one at the same b.",
            most=True,
        ),
    ]


def _widths_say(rows: list[dict[str, Any]]) -> list[str]:
    losses = [
        row["methods"]["1"]["w1"]["mean"] / row["methods"][_least(row)]["w1"]["mean"]
        for row in rows
    ]
    cells = [
        (loss <= NEAR_BEST, apart(row["methods"]["1"]["w1"], row["methods"][_least(row)]["w1"]))
        for loss, row in zip(losses, rows, strict=True)
    ]
    below = sum(float(_least(row)) < 1 for row in rows)
    above = sum(float(_least(row)) > 1 for row in rows)
    return [
        claim(
            "The rule's b is among those of best utility.",
            cells,
            f"Counted where its W1 is at most {NEAR_BEST:g} times the least of the row; the "
            f"largest factor is {max(losses):.2f}. The least is at a smaller b in {below} rows and "
            f"at a larger one in {above}.",
        )
    ]


def _bins_say(rows: list[dict[str, Any]], people: dict[str, int]) -> list[str]:
    found = []
    smallest = min(rows[0]["methods"], key=int)
    for text, own, wanted in (
        (
            "Beta(5, 2) is best at 256 bins.",
            [row for row in rows if row["column"] == "beta52"],
            "256",
        ),
        (
            "The others are best at 1024 bins in most cases.",
            [row for row in rows if row["column"] != "beta52"],
            "1024",
        ),
    ):
        if own and wanted in own[0]["methods"]:
            cells = [less(row, "w1", wanted, row["methods"]) for row in own]
            spread = [
                max(one["w1"]["mean"] for one in row["methods"].values())
                / row["methods"][_least(row)]["w1"]["mean"]
                for row in own
            ]
            found.append(
                claim(
                    text,
                    cells,
                    f"The worst of the numbers of bins has at most {max(spread):.2f} times the "
                    "least W1 of its row.",
                    most="most" in text,
                )
            )
    near = []
    for row in rows:
        root = math.sqrt(people[row["column"]])
        size = min(row["methods"], key=lambda bins: abs(math.log(int(bins) / root)))
        own, least = row["methods"][size]["w1"], row["methods"][_least(row)]["w1"]
        near.append((own["mean"] <= 1.1 * least["mean"], apart(own, least)))
    found.append(
        claim(
            "About √n bins are enough.",
            near,
            f"Counted where W1 at the number nearest to √n (of those from {smallest} on) is at "
            "most 1.1 times the least of its row.",
        )
    )
    return found


def _trees_table(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0]["methods"])
    lines = []
    for row in rows:
        cells = [cell(row["methods"][name][_asked(name)], scale=1e4) for name in names]
        for kind in _kinds(names):
            least = names.index(_least_tree(row, kind))
            cells[least] = f"**{cells[least]}**"
        lines.append([row["column"], f"{row['epsilon']:g}", *cells])
    head = [name if name.startswith("ADMM") else f"HH {name}" for name in names]
    return table(["column", "ε", *head], lines, texts=2)


def _asked(name: str) -> str:
    return "w1" if name.startswith("ADMM") else "range"


def _kinds(names: Sequence[str]) -> list[list[str]]:
    admm = [name for name in names if name.startswith("ADMM")]
    return [[name for name in names if name not in admm], admm]


def _least_tree(row: dict[str, Any], names: Sequence[str]) -> str:
    return min(names, key=lambda name: float(row["methods"][name][_asked(name)]["mean"]))


def _trees_say(rows: list[dict[str, Any]]) -> str:
    kinds = _kinds(list(rows[0]["methods"]))
    cells, told, losses = [], [], []
    for kind in kinds:
        best = [_least_tree(row, kind) for row in rows]
        told.append(listed([f"{name} {best.count(name)}" for name in kind]))
        four = next((name for name in kind if name.endswith("4")), None)
        if four is None:
            continue
        for row, name in zip(rows, best, strict=True):
            own, least = (row["methods"][one][_asked(one)] for one in (four, name))
            losses.append(own["mean"] / least["mean"])
            cells.append((losses[-1] <= NEAR_BEST, apart(own, least)))
    worst = f" The largest factor is {max(losses):.2f}." if losses else ""
    return claim(
        "Branching 4 is near the best (the optimum is close to 5).",
        cells,
        f"Counted where it has at most {NEAR_BEST:g} times the least error of its four.{worst} "
        f"Cells in which each is best: HH {told[0]}; {told[1]}.",
    )
