"""The tables of the wavelet paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.figure_runs import best, cell
from benchmarks.accuracy.papers.wavelet.wavelet_methods import (
    CATEGORICAL,
    DW,
    EM,
    EMS,
    HH,
    IIW,
    OWN,
    PURE,
    WAVELET,
)
from benchmarks.markdown import table

GROUPS = {
    WAVELET: (WAVELET,),
    PURE: (PURE,),
    OWN: (OWN,),
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


def wide(rows: Sequence[Mapping[str, Any]], figure: str) -> str:
    """Return a figure of all groups, a line for each column and epsilon, the least in bold."""
    groups = [name for name in GROUPS if GROUPS[name][0] in rows[0]["methods"]]
    lines = []
    for row in rows:
        chosen = [shown(row["methods"], name, figure) for name in groups]
        cells = []
        for name, method in zip(groups, chosen, strict=True):
            text = cell(row["methods"][method][figure], scale=SCALES.get(figure, 1e4))
            told = f" ({method.removeprefix('bins ')})" if len(GROUPS[name]) > 1 else ""
            cells.append(text + told)
        least = chosen.index(best({name: row["methods"][name] for name in chosen}, figure))
        cells[least] = f"**{cells[least]}**"
        lines.append([row["column"], f"{row['epsilon']:g}", *cells])
    return table(["column", "ε", *groups], lines, texts=2)
