"""The tables of the wavelet paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.figure_runs import best, cell, ratios
from benchmarks.accuracy.papers.wavelet.wavelet_claims import (
    below,
    mean_ratio,
    measured_forms,
    values,
)
from benchmarks.accuracy.papers.wavelet.wavelet_methods import (
    BEST,
    CATEGORICAL,
    DW,
    EM,
    EMS,
    HH,
    IIW,
    LITERAL,
    OWN,
    PURE,
    WAVELET,
)
from benchmarks.markdown import table
from benchmarks.summaries import geometric
from benchmarks.verdicts import Claim, less

GROUPS = {
    WAVELET: (WAVELET,),
    PURE: (PURE,),
    OWN: (OWN,),
    BEST: (BEST,),
    EM: (EM,),
    **{name: (name,) for name in EMS.values()},
    HH: (HH,),
    "DW or IIW": (DW, IIW),
    "best bins": CATEGORICAL,
}
"""Columns of the tables; where several methods share one, the better in the cell is shown."""

SCALES = {"ks": 1e3}
"""Of figures in the tables; 1e4 for all others."""


def shown(found: Mapping[str, Any], name: str, figure: str) -> str:
    """Return the method of a group that is shown: the one of least mean in this cell."""
    return min(GROUPS[name], key=lambda method: float(found[method][figure]["mean"]))


def wide(
    rows: Sequence[Mapping[str, Any]], figure: str, among: Sequence[str] = tuple(GROUPS)
) -> str:
    """Return a figure of groups, a line for each column and epsilon, the least in bold."""
    groups = [name for name in among if GROUPS[name][0] in rows[0]["methods"]]
    lines = []
    for row in rows:
        chosen = [shown(row["methods"], name, figure) for name in groups]
        cells = []
        for name, method in zip(groups, chosen, strict=True):
            text = cell(row["methods"][method][figure], scale=SCALES.get(figure, 1e4))
            told = f" ({method.removeprefix('bins ')})" if len(GROUPS[name]) > 1 else ""
            told = f" ({row[BEST][figure]})" if name == BEST else told
            cells.append(text + told)
        least = chosen.index(best({name: row["methods"][name] for name in chosen}, figure))
        cells[least] = f"**{cells[least]}**"
        lines.append([row["column"], f"{row['epsilon']:g}", *cells])
    return table(["column", "ε", *groups], lines, texts=2)


def columns(described: Mapping[str, Any]) -> str:
    """Return the columns: how many people, the rule's J, and where they come from."""
    lines = [
        [name, f"{one['people']:,}", str(one["J"]), one["rule"]] for name, one in described.items()
    ]
    return table(["column", "n", "J of the rule", "people"], lines, texts=1)


def head(described: Mapping[str, Any], settings: Mapping[str, Any], unit: str) -> str:
    """Return what stands above a table: the columns with their n, the repeats, the unit."""
    told = [
        f"{name} ({_kind(str(one['rule']))}, n = {one['people']:,})"
        for name, one in described.items()
    ]
    return (
        f"{', '.join(told)}. {settings['repeats']} repeats, with new people and reports in each "
        f"(with a file of your own, the people stay the same). {unit}, ± standard error, the "
        "smallest of a row in bold."
    )


def _kind(rule: str) -> str:
    """Return what a column is in a few words; the table of columns has all of it."""
    for start in ("the paper's own file", "a stand-in"):
        if rule.startswith(start):
            return start
    return rule


def methods_told(bins: int) -> str:
    """Return which methods the columns of the tables are."""
    return (
        "*wavelet*: the paper's randomizer, its rule J = ⌈(log2 n) / 2⌉ and its clip, the right "
        "end of a cell read as its own. *bound's J*: the same with the J that minimizes the "
        "paper's bound (lemmas 5 and 6); *sums*: with the sums of masses that this library also "
        "reads from the reports, which the paper does not. *best J*: that of least error in the "
        "cell, in brackets. *SW-EM*: EM without smoothing, as in "
        f"Li et al. 2020, algorithm 1. *B-R*: values are put into {bins:,} bins, then randomized. "
        "*R-B*: values are randomized first and the reports put into as many buckets as there "
        "are bins, 256 or 512, which Li's experiments do (section 5.4 there). The paper says "
        f"neither which form it ran nor with how many bins. *HH*: on {bins:,} bins. *DW or IIW* on "
        "256 bins and *best bins* (8, 16, 32 or 64, GRR or OUE by variance, with Norm-Sub): the "
        "one of least mean in the cell, named."
    )


def said(claims: Sequence[Claim], where: str) -> str:
    """Return the claims about a place, one a line."""
    return "\n".join(claim.line() for claim in claims if claim.where.startswith(where))


def over_forms(rows: Sequence[Mapping[str, Any]], figures: Sequence[str]) -> str:
    """Return the wavelet over each form of SW-EM, by column, with the rule's J and the bound's."""
    lines = []
    for figure in figures:
        for name in dict.fromkeys(row["column"] for row in rows):
            own = [row for row in rows if row["column"] == name]
            cells = [
                f"{mean_ratio(own, figure, ours, form):.2f} ({_wins(own, figure, ours, form)})"
                for form in measured_forms(rows)
                for ours in (WAVELET, PURE, OWN)
            ]
            lines.append([figure, name, *cells])
    names = [f"{ours} / {form}" for form in measured_forms(rows) for ours in (WAVELET, PURE, OWN)]
    return "\n\n".join(
        [
            "The wavelet's error over SW-EM's, geometric mean over ε; in brackets in how many "
            "cells it is less and in how many more, each beyond two standard errors.",
            table(["figure", "column", *names], lines, texts=2),
        ]
    )


def beside_the_wave(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return W1 of SW-EM's forms beside the wavelet with each J, and where the best J is ahead."""
    if BEST not in rows[0]["methods"]:
        return []
    forms = measured_forms(rows)
    ahead = []
    for form in forms:
        cells = {
            (row["column"], f"{row['epsilon']:g}"): below(row, "w1", BEST, [form]) for row in rows
        }
        met = [f"{column} at {epsilon}" for (column, epsilon), one in cells.items() if one.met]
        lost = sum(one.failed for one in cells.values())
        ahead.append(
            f"than {form} in {len(met)} of {len(rows)} cells "
            f"({', '.join(met) if met else 'none'}), and more in {lost}"
        )
    return [
        "### SW-EM beside the wavelet's J",
        "Section 6 does not say which J it ran. *bound's J* is the theory's (lemmas 5 and 6), "
        "*sums* the same with the sums of masses, *best J* that of least W1 in its cell, in "
        "brackets, of all from 1 on; nobody knows it beforehand. W1 ×10⁴ on the 256 points.",
        wide(rows, "w1", (PURE, OWN, BEST, *forms)),
        f"With the best J the wavelet has less W1 {'; '.join(ahead)}, each beyond two standard "
        "errors.",
    ]


def where_better(rows: Sequence[Mapping[str, Any]], figures: Sequence[str]) -> str:
    """Return by form of SW-EM where the wavelet has less of a figure, beyond two errors."""
    lines = []
    for figure in figures:
        for form in measured_forms(rows):
            cells: dict[str, list[str]] = {}
            for row in rows:
                if below(row, figure, WAVELET, [form]).met:
                    cells.setdefault(row["column"], []).append(f"{row['epsilon']:g}")
            told = "; ".join(f"{name} at ε = {', '.join(at)}" for name, at in cells.items())
            lines.append(f"- {figure} less than {form}: {told or 'nowhere'}.")
    return "\n".join(["Where the wavelet is better than SW-EM:", "", *lines])


def _wins(rows: Sequence[Mapping[str, Any]], figure: str, ours: str, theirs: str) -> str:
    cells = [below(row, figure, ours, [theirs]) for row in rows]
    return f"{sum(one.met for one in cells)}, {sum(one.failed for one in cells)}"


def clips(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what reading the next cell in equation 69 costs."""
    by_name: dict[str, list[float]] = {}
    for row, ratio in zip(rows, ratios(list(rows), "w1", LITERAL, WAVELET), strict=True):
        by_name.setdefault(row["column"], []).append(ratio)
    told = "; ".join(f"{min(r):.2f} to {max(r):.2f} on {name}" for name, r in by_name.items())
    compared = [less(values(row, WAVELET, "w1"), [values(row, LITERAL, "w1")]) for row in rows]
    worse, better = sum(one.met for one in compared), sum(one.failed for one in compared)
    return (
        "Equation 69 limits a coefficient by the density at both ends of its cell, which is "
        "constant there. With the right end read as the cell's own that is exact, and used in "
        "all tables. Read from the right, as equation 11 closes its halves, it is the next cell's: "
        "sign and total are kept all the same, but no mass enters a cell beside an empty one. On "
        f"the same reports its W1 is {told} times that of the first, by ε; worse beyond two "
        f"standard errors in {worse} of {len(rows)} cells, better in {better}."
    )


def own(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what the bound's J and the sums of masses change of the wavelet's W1."""
    pure, sums = ratios(list(rows), "w1", PURE, WAVELET), ratios(list(rows), "w1", OWN, PURE)
    return (
        f"With the bound's J for the rule's, W1 is {geometric(pure):.2f} times as large in the "
        f"geometric mean of {len(rows)} cells ({min(pure):.2f} to {max(pure):.2f}); the sums of "
        f"masses make it {geometric(sums):.2f} times that ({min(sums):.2f} to {max(sums):.2f})."
    )
