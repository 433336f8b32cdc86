"""The convolution paper's figures 6, 7 and 10: squared errors over the whole domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import EMS, Method
from benchmarks.accuracy.papers.convolution.convolution_columns import (
    ITEMS,
    MAIN,
    ON_ROUGH,
    ON_SMOOTH,
    ORACLES,
    PERMUTED,
    ROUGH,
    SMOOTH,
    Known,
    drawn_from,
    grid_table,
    head,
    mean_of,
    methods,
    mse,
    on_rows,
    populations,
    run,
    squared_cell,
)
from benchmarks.accuracy.papers.convolution.error_claims import STUCK, claims
from benchmarks.accuracy.papers.figure_columns import Population
from benchmarks.accuracy.papers.figure_runs import cell
from benchmarks.accuracy.papers.index import Entry
from benchmarks.markdown import table
from benchmarks.signed_decoder import SignedDecoder
from benchmarks.summaries import geometric
from lapwing.decoders.decoder import Decoder

__all__ = ["FULL", "INDEX", "QUICK", "TITLE", "claims", "measure", "section"]

TITLE = "The convolution paper: figures 6, 7 and 10"
INDEX = (
    Entry("figure 6", "Figure 6, errors by ε", "figure-6"),
    Entry("abstract", "Figure 6, errors by ε", "figure-6"),
    Entry("figure 7", "Figure 7, errors by number of values", "figure-7"),
    Entry("figure 10", "Figure 10, wider smoothing", "figure-10"),
)

FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 40,
    "repeats_of_items": 10,
    "repeats_between": 10,
    "bins": 1000,
    "sizes": [100, 200, 400, 600, 800, 1000],
    "sizes_between": [300, 500, 700, 900],
    "column": "taxi",
    "labels": "kosarak",
    "items": 41_270,
    "epsilons": [1, 2, 3, 4, 5],
    "between": [1.5, 2.5, 3.5, 4.5],
}
QUICK: dict[str, Any] = {
    "seed": 0,
    "repeats": 2,
    "repeats_of_items": 2,
    "repeats_between": 2,
    "bins": 100,
    "sizes": [100],
    "sizes_between": [50],
    "column": "beta52",
    "labels": "beta52",
    "items": 1_000,
    "epsilons": [4],
    "between": [3.5],
}

ITERATIONS = (10, 20, 30, 50, 100, 200)
"""Of KRR-IIW-G: section V-B says about 10."""

BEYOND: dict[str, tuple[str, Decoder]] = {
    "KRR, Norm-Sub": ("KRR", lw.LeastSquares()),
    "OUE, Norm-Sub": ("OUE", lw.LeastSquares()),
    "OUE-IIW, Norm-Sub": ("OUE", lw.papers.convolution.Wiener(band=False)),
    "OUE-GF3-DW, Norm-Sub": ("OUE", lw.papers.convolution.GaussianSmoothing(sigma=3, wiener=True)),
    "KRR, EMS": ("KRR", EMS),
}
"""What the paper leaves out: projections, and the decoder of the square-wave paper."""


def beyond() -> list[Method]:
    """Return what is compared beyond the paper."""
    return [
        *(Method(name, ORACLES[oracle], decoder) for name, (oracle, decoder) in BEYOND.items()),
        Method("SW-EMS", lw.SquareWave, EMS),
    ]


def started(iterations: int) -> Method:
    """Return KRR-IIW-G with so many iterations."""
    decoder = lw.papers.convolution.Wiener(
        method="iterative-from-reports", iterations=iterations, band=False
    )
    return Method(str(iterations), ORACLES["KRR"], SignedDecoder(decoder))


def measure(
    *,
    seed: int,
    repeats: int,
    repeats_of_items: int,
    repeats_between: int,
    bins: int,
    sizes: Sequence[int],
    sizes_between: Sequence[int],
    column: str,
    labels: str,
    items: int,
    epsilons: Sequence[float],
    between: Sequence[float],
) -> dict[str, Any]:
    """Return errors by epsilon, by number of values, and of what the paper leaves out.

    What is between has fewer repeats: it is drawn, and no sentence is judged by it.
    """
    columns = populations(column, labels, items, seed)

    def cells(
        figure: str, name: str, one: Population, epsilon: float, size: int, most: int = repeats
    ) -> Any:
        return run(
            *(name, one, methods(ON_ROUGH if name in (PERMUTED, ITEMS) else ON_SMOOTH)),
            {"mse": mse},
            figure=figure,
            bins=size,
            epsilon=epsilon,
            repeats=min(most, repeats_of_items) if name == ITEMS else most,
            seed=seed,
        )

    shape = {name: items if name == ITEMS else bins for name in columns}
    return {
        "columns": {name: drawn_from(one, shape[name]) for name, one in columns.items()},
        **{
            part: [
                {
                    "column": name,
                    "epsilon": epsilon,
                    "uniform": float(((one.law(shape[name]) - 1 / shape[name]) ** 2).mean()),
                    "methods": cells("figure 6", name, one, epsilon, shape[name], most),
                }
                for name, one in columns.items()
                for epsilon in at
                if name != ITEMS or most == repeats  # 41,270 values take their time
            ]
            for part, at, most in (
                ("by_epsilon", epsilons, repeats),
                ("by_epsilon, between", between, repeats_between),
            )
        },
        # Of the same reports as figure 6.
        "by_iterations": [
            {
                "column": name,
                "epsilon": epsilon,
                "methods": run(
                    *(name, one, [started(number) for number in ITERATIONS], {"mse": mse}),
                    figure="figure 6",
                    bins=bins,
                    epsilon=epsilon,
                    repeats=repeats,
                    seed=seed,
                ),
            }
            for name, one in on_rows(columns)
            for epsilon in epsilons
            if epsilon > STUCK
        ],
        **{
            part: [
                {
                    "column": name,
                    "bins": size,
                    "methods": cells("figure 7", name, one, MAIN, size, most),
                }
                for name, one in columns.items()
                for size in at
                if name != ITEMS  # its number of values is what it is
            ]
            for part, at, most in (
                ("by_size", sizes, repeats),
                ("by_size, between", sizes_between, repeats_between),
            )
        },
        "beyond": [
            {
                "epsilon": epsilon,
                "methods": run(
                    *(SMOOTH, columns[SMOOTH], [*methods(ON_SMOOTH), *beyond()]),
                    {"mse": mse, "w1": w1},
                    figure="beyond",
                    bins=bins,
                    epsilon=epsilon,
                    repeats=repeats,
                    seed=seed,
                ),
            }
            for epsilon in epsilons
        ],
    }


def w1(answer: Any, known: Known) -> float:
    """Return the Wasserstein distance in parts of the domain, both known to the bins alone."""
    gaps = np.cumsum(answer.mass - known.shares)
    return float(np.abs(gaps).mean())


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of figures 6, 7 and 10 and what they say."""
    said: dict[str, list[str]] = {}
    for one in claims(measured):
        said.setdefault(one.where, []).append(one.line())
    names = list(measured["columns"])
    by_epsilon = {n: [r for r in measured["by_epsilon"] if r["column"] == n] for n in names}
    by_size = {n: [r for r in measured["by_size"] if r["column"] == n] for n in names if n != ITEMS}
    parts = [
        head(measured["columns"], settings),
        "### Figure 6, errors by ε",
        "![Figure 6: errors by ε](figures/figure-6.png)",
        f"{settings['bins']:,} values ({measured['columns'][ITEMS]['bins']:,} on {ITEMS}); methods "
        "with GF are those of figure 10.",
        *(_errors(rows, "epsilon", "ε") for rows in by_epsilon.values()),
        "\n".join([*said["figure 6"], *said["abstract"]]),
        *_iterations(measured),
        "### Figure 7, errors by number of values",
        "![Figure 7: errors by number of values](figures/figure-7.png)",
        f"ε = {MAIN:g}.",
        *(_errors(rows, "bins", "d") for rows in by_size.values()),
        "\n".join(said["figure 7"]),
        "### Figure 10, wider smoothing",
        "![Figure 10: wider smoothing](figures/figure-10.png)",
        "By ε and by number of values: in the tables above. Of the most frequent values: in those "
        "of figure 8.",
        "\n".join(said["figure 10"]),
        "### Beyond the paper",
        f"On {SMOOTH}: squared error ×10⁹, and W1 ×10⁴.",
        grid_table(
            measured["beyond"],
            [*BEYOND, "SW-EMS"],
            lambda row, name: (
                f"{squared_cell(row['methods'][name], 'mse')}; "
                f"{cell(row['methods'][name]['w1'], scale=1e4)}"
            ),
            lambda row: f"ε = {row['epsilon']:g}",
            "method",
        ),
        _beyond_says(measured["beyond"]),
    ]
    if ROUGH in names:
        parts.insert(
            1,
            "Where a sentence is about the smooth column, its verdict on the rows as "
            "they are follows it.",
        )
    return "\n\n".join(parts)


def _iterations(measured: Mapping[str, Any]) -> list[str]:
    """Return the errors of KRR-IIW-G by its iterations beside those of OUE-IIW."""
    rows = measured.get("by_iterations", [])
    if not rows:
        return []
    beside = {(row["column"], row["epsilon"]): row["methods"] for row in measured["by_epsilon"]}
    lines = []
    for row in rows:
        names = list(row["methods"])
        cells = [squared_cell(row["methods"][name], "mse") for name in names]
        least = min(range(len(names)), key=lambda i, row=row: mean_of(row, names[i]))
        cells[least] = f"**{cells[least]}**"
        other = squared_cell(beside[row["column"], row["epsilon"]]["OUE-IIW"], "mse")
        lines.append([row["column"], f"{row['epsilon']:g}", *cells, other])
    return [
        "KRR-IIW-G by its number of iterations, on the same reports; the paper takes about 10:",
        table(["column", "ε", *rows[0]["methods"], "OUE-IIW"], lines, texts=2),
    ]


def _errors(rows: Sequence[Mapping[str, Any]], key: str, letter: str) -> str:
    return grid_table(
        rows,
        list(rows[0]["methods"]),
        lambda row, name: squared_cell(row["methods"][name], "mse"),
        lambda row: f"{letter} = {row[key]:g}",
        rows[0]["column"],
    )


def _beyond_says(rows: Sequence[Mapping[str, Any]]) -> str:
    def over(key: str) -> list[float]:
        return [
            mean_of(row, "SW-EMS", key)
            / min(mean_of(row, name, key) for name in row["methods"] if name not in _OURS)
            for row in rows
        ]

    by_mse, by_w1 = over("mse"), over("w1")
    return (
        "EMS on a square wave, over the best of all of the paper's methods in each cell: squared "
        f"error {geometric(by_mse):.2f} in the geometric mean ({min(by_mse):.2f} to "
        f"{max(by_mse):.2f}); W1 {geometric(by_w1):.2f} ({min(by_w1):.2f} to {max(by_w1):.2f})."
    )


_OURS = {*BEYOND, "SW-EMS"}
