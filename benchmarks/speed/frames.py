"""Columns of labels in frames: their symbols through Arrow, beside the loop over Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import figure, table, timed
from benchmarks.timing import alternate

TITLE = "Columns of labels in frames"
FULL: dict[str, Any] = {"rows": 2_000_000, "labels": 1000, "rounds": 5}
QUICK: dict[str, Any] = {"rows": 200_000, "labels": 100, "rounds": 2}

_KINDS = {
    "loop": "a list of texts (a loop over Python objects)",
    "polars": "polars String",
    "categorical": "polars Categorical",
    "pandas": "pandas string",
    "category": "pandas category",
    "chunked": "pyarrow, in chunks",
    "engine": "`arrow.summarize` of a table in memory",
}


def measure(*, rows: int, labels: int, rounds: int) -> dict[str, Any]:
    """Return the CPU of finding each row's symbol, which must be the same for all."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from lapwing.engines import arrow

    listed = [f"label {number}" for number in range(labels)]
    domain = lw.Categories(listed, missing="category")
    numbers = np.random.default_rng(1).zipf(1.3, rows) % labels
    cells = [listed[number] if number else None for number in numbers.tolist()]
    series = pl.Series(cells, dtype=pl.String)
    whole = pa.array(cells, pa.string())
    size = -(-rows // 30)
    chunked = pa.chunked_array([whole[start : start + size] for start in range(0, rows, size)])
    held = pa.table({"v": chunked})
    columns = {
        "loop": cells,
        "polars": series,
        "categorical": series.cast(pl.Categorical),
        "pandas": pd.Series(cells, dtype="string"),
        "category": pd.Series(cells, dtype="category"),
        "chunked": chunked,
    }
    found = {name: domain.index(column) for name, column in columns.items()}
    if any((one != found["loop"]).any() for one in found.values()):
        raise RuntimeError("the symbols of equal columns differ")
    works: dict[str, Any] = {
        name: (lambda column=column: domain.index(column)) for name, column in columns.items()
    }
    works["engine"] = lambda: arrow.summarize(held, domain, column="v", threads=1)
    times = alternate(works, rounds=rounds)
    return {"times": {name: one.summaries() for name, one in times.items()}}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    cpu = {name: found["cpu"] for name, found in measured["times"].items()}
    lines = [
        [
            what,
            timed(cpu[name]),
            f"{figure(settings['rows'] / cpu[name]['median'] / 1e6)} million",
            f"{figure(cpu['loop']['median'] / cpu[name]['median'])}",
        ]
        for name, what in _KINDS.items()
    ]
    return "\n\n".join(
        [
            f"The symbols of {settings['rows']:,} rows, some of them missing, among "
            f"{settings['labels']:,} labels: `Categories.index`, and the Arrow engine. One thread.",
            table(["column", "CPU", "rows in a CPU second", "times the loop"], lines),
        ]
    )
