"""Neighboring inputs: all pairs of counts of a small domain that differ in one row."""

from __future__ import annotations

from itertools import combinations

import numpy as np

import lapwing as lw

RELATIONS = ("replace-one", "add-or-remove-one")
DOMAINS = [
    lw.Interval(0, 1, bins=2, outside="overflow"),
    lw.Interval(0, 1, bins=2),
    lw.Interval(0, 1, bins=4),
]

Pair = tuple[np.ndarray, np.ndarray]


def neighbors(symbols: int, relation: str, *, most_rest: int = 1) -> list[Pair]:
    """Return every pair of tables that differ in one row, the last symbol (missing) too.

    The other rows: none, and for each number up to `most_rest` a table with so many rows of every
    symbol but the first.
    """
    rests = [np.zeros(symbols, dtype=np.int64)]
    rests += [np.where(np.arange(symbols) > 0, rows, 0) for rows in range(1, most_rest + 1)]
    units = np.eye(symbols, dtype=np.int64)
    pairs: list[Pair] = []
    for rest in rests:
        if relation == "replace-one":
            pairs += [(rest + a, rest + b) for a, b in combinations(units, 2)]
        else:
            pairs += [(rest + a, rest) for a in units]
    return pairs
