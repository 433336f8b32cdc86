"""Writes the table that the package ships: ``python -m benchmarks.make_risk_table``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from benchmarks import results
from lapwing.planning.recommendation import DISTANCES, FORMAT, VERSION
from lapwing.planning.simulation import KINDS

PATH = Path(__file__).resolve().parents[1] / "src" / "lapwing" / "planning" / "risk_table.json"


def falling(nodes: list[list[float]]) -> list[list[float]]:
    """Return errors that do not rise with the people, as true ones cannot: noise is pooled.

    Where a node is above the one before it, both become their geometric mean (isotonic regression
    of the logarithms); nodes that fall stay as they were simulated.
    """
    rows = [isotonic_regression(np.log(row), increasing=False).x for row in nodes]
    return [[float(f"{math.exp(value):.4g}") for value in row] for row in rows]


def shipped(result: dict[str, Any]) -> dict[str, Any]:
    """Return the package's table: the sheets, and where and when they were measured."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "made": {key: result[key] for key in ("name", "date", "commit", "machine", "versions")},
        "kinds": list(KINDS),
        "sheets": [
            {key: sheet[key] for key in ("pair", "size", "repeats", "epsilon", "users")}
            | {
                distance: {kind: falling(nodes) for kind, nodes in sheet[distance].items()}
                for distance in DISTANCES
            }
            for sheet in result["measured"]["sheets"]
        ],
    }


def text(result: dict[str, Any]) -> str:
    """Return the file's text: one sheet a line, so that changes can be read."""
    document = shipped(result)
    sheets = ",\n".join(json.dumps(sheet) for sheet in document.pop("sheets"))
    return json.dumps(document)[:-1] + f', "sheets": [\n{sheets}\n]}}\n'


def main() -> None:
    """Write the table, or say that nothing was measured."""
    result = results.read("accuracy/risk_table")
    if result is None:
        raise SystemExit("measure first: python -m benchmarks accuracy/risk_table")
    PATH.write_text(text(result), encoding="utf-8")


if __name__ == "__main__":
    main()
