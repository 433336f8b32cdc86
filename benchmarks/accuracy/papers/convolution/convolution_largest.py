"""The convolution paper's figures 8, 9 and 10 (c, f): the most frequent values, and positives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.convolution.convolution_columns import (
    ITEMS,
    MAIN,
    ON_ROUGH,
    ON_SMOOTH,
    ORACLES,
    PERMUTED,
    SMOOTH,
    THRESHOLDS,
    TOPS,
    drawn_from,
    grid_table,
    head,
    judges_of,
    methods,
    populations,
    run,
    significance,
    squared_cell,
)
from benchmarks.accuracy.papers.convolution.largest_claims import claims
from benchmarks.accuracy.papers.figure_runs import cell
from benchmarks.accuracy.papers.index import Entry

__all__ = ["FULL", "INDEX", "QUICK", "TITLE", "claims", "measure", "section"]

TITLE = "The convolution paper: figures 8 and 9, and the most frequent values of figure 10"
INDEX = (
    Entry("figure 8", "Figure 8, the most frequent values", "figure-8"),
    Entry("figure 9", "Figure 9, true and false positives", "figure-9"),
)

FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 200,
    "repeats_of_items": 20,
    "bins": 1000,
    "column": "taxi",
    "labels": "kosarak",
    "items": 41_270,
}
QUICK: dict[str, Any] = {
    "seed": 0,
    "repeats": 2,
    "repeats_of_items": 2,
    "bins": 200,
    "column": "beta52",
    "labels": "beta52",
    "items": 1_000,
}


def measure(
    *,
    seed: int,
    repeats: int,
    repeats_of_items: int,
    bins: int,
    column: str,
    labels: str,
    items: int,
) -> dict[str, Any]:
    """Return errors of the most frequent values and counts of positives, and the thresholds."""
    columns = populations(column, labels, items, seed)
    shape = {name: items if name == ITEMS else bins for name in columns}
    return {
        "columns": {name: drawn_from(one, shape[name]) for name, one in columns.items()},
        "by_column": {
            name: {
                "column": name,
                "methods": run(
                    *(name, one, methods(ON_ROUGH if name in (PERMUTED, ITEMS) else ON_SMOOTH)),
                    judges_of(name),
                    figure="figures 8 and 9",
                    bins=shape[name],
                    epsilon=MAIN,
                    repeats=repeats_of_items if name == ITEMS else repeats,
                    seed=seed,
                ),
            }
            for name, one in columns.items()
        },
        "thresholds": {
            f"{oracle} {kind}": significance(
                oracle, MAIN, bins=bins, people=columns[SMOOTH].people, divided=kind == "stated"
            )
            for oracle in ORACLES
            for kind in ("undivided", "stated")
        },
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of figures 8 and 9 and what they say."""
    said: dict[str, list[str]] = {}
    for one in claims(measured):
        said.setdefault(one.where, []).append(one.line())
    rows = measured["by_column"]
    return "\n\n".join(
        [
            head(measured["columns"], settings),
            f"ε = {MAIN:g}.",
            "### Figure 8, the most frequent values",
            "![Figure 8: errors of the most frequent values](figures/figure-8.png)",
            *(_tops(row) for row in rows.values()),
            "\n".join(said["figure 8"]),
            "Figure 10 (c, f): wider smoothing, in the same tables.",
            "![Figure 10: the most frequent values](figures/figure-10-largest.png)",
            "### Figure 9, true and false positives",
            "![Figure 9: true and false positives](figures/figure-9.png)",
            "Values estimated above a count of people that truly are above it, and those that are "
            "not.",
            *(_positives(row) for row in rows.values()),
            "\n".join(said["figure 9"]),
        ]
    )


def _tops(row: Mapping[str, Any]) -> str:
    return grid_table(
        TOPS,
        list(row["methods"]),
        lambda top, name: squared_cell(row["methods"][name], f"top {top}"),
        lambda top: f"k = {top}",
        row["column"],
    )


def _positives(row: Mapping[str, Any]) -> str:
    thresholds: Sequence[int] = THRESHOLDS[ITEMS if row["column"] == ITEMS else SMOOTH]
    return grid_table(
        thresholds,
        list(row["methods"]),
        lambda count, name: " / ".join(
            cell(row["methods"][name][f"{kind} {count}"], scale=1) for kind in ("true", "false")
        ),
        lambda count: f"{count:,}",
        row["column"],
    )
