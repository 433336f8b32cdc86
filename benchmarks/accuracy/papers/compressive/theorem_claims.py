"""What the compressive paper's theorems and table 1 say of the error's order, judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import verdicts
from benchmarks.verdicts import Cell, Claim

Row = Mapping[str, Any]

ALONG = ("k", "s", "m", "n", "epsilon")
BALANCED, PRINTED, HADAMARD = "balanced, s known", "as printed", "HR unbiased"

STEP = 0.1
"""An exponent so much above the theorem's still counts as its order: logarithms are in it."""


@dataclass(frozen=True)
class Bound:
    """An order of the error: as printed, and as functions of a row."""

    printed: str
    l1: Callable[[Row], float]
    l2: Callable[[Row], float]


def _by_outputs(row: Row) -> float:
    return math.sqrt(row["m"] / row["n"]) / float(row["epsilon"])


def _by_sparsity(row: Row) -> float:
    return math.sqrt(row["s"] * math.log(row["k"] / row["s"]) / row["n"]) / float(row["epsilon"])


_OUTPUTS = Bound(
    "√(s m / n) / ε (theorem 3.6)", lambda row: math.sqrt(row["s"]) * _by_outputs(row), _by_outputs
)
_SPARSITY = Bound(
    "s √(log(k/s) / n) / ε (theorem 1.1)",
    lambda row: math.sqrt(row["s"]) * _by_sparsity(row),
    _by_sparsity,
)

BOUNDS = {"n": _OUTPUTS, "epsilon": _OUTPUTS, "s": _SPARSITY, "m": _OUTPUTS, "k": _SPARSITY}
"""Which bound each sweep is held to: m by the one that names it, s and k by that of theorem 1.1."""


def claims(measured: Mapping[str, Any]) -> list[Claim]:
    """Return what is said of the order of the error, and of the bits of a report."""
    sweeps, bits = measured["sweeps"], measured["bits"]
    orders = {
        "l1": "s² log(k/s) / (ε² α²) for L1, s m / (ε² α²) with m outputs",
        "l2": "s log(k/s) / (ε² α²) for L2, m / (ε² α²) with m outputs",
    }
    found = [
        Claim(
            f"The sample complexity is O({order}).",
            [grows_less(rows, name, BALANCED, norm) for name, rows in sweeps.items()],
            "One cell for each of n, 1/ε, s, m and k: the error over the bound grows with none of "
            f"them, by an exponent of at most {STEP}. Balanced columns.",
            where="theorem 1.1",
        )
        for norm, order in orders.items()
    ]
    k = sweeps["k"]
    first, last = ((row["k"], _mean(row, BALANCED)) for row in (k[0], k[-1]))
    return [
        *found,
        Claim(
            "The sample complexity only weakly depends on the size of the universe.",
            [verdicts.less(slopes(k, "k", BALANCED, "l1"), [[0.25] * _repeats(k)])],
            f"From {first[0]:,} to {last[0]:,} symbols the error is {last[1] / first[1]:.2f} "
            "times as large; counted where its exponent in k is below 1/4.",
            where="theorem 1.1",
        ),
        Claim(
            "The sample complexity of HR is of the order k² (for L1).",
            [verdicts.near(slopes(k, "k", HADAMARD, "l1"), 1, tolerance=STEP)],
            "Of its unbiased estimate: an error that grows like k, within an exponent of "
            f"{STEP}; projections on the simplex take most of it away.",
            where="table 1",
        ),
        Claim(
            "The communication is log k bits for HR and log m for compressive privatization.",
            [
                verdicts.certain(abs(bits["CP"] - bits["log m"]) < 1e-9),
                verdicts.certain(bits["log k"] <= bits["HR"] < bits["log k"] + 1),
            ],
            "HR rounds k up to a power of two.",
            where="table 1",
        ),
    ]


def _repeats(rows: Sequence[Row]) -> int:
    return len(next(iter(rows[0]["methods"].values()))["l1"]["values"])


def _mean(row: Row, method: str, norm: str = "l1") -> float:
    return float(row["methods"][method][norm]["mean"])


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def exponent(rows: Sequence[Row], letter: str, what: str | Callable[[Row], float]) -> float:
    """Return the exponent along a letter of a method's mean L1 error, or of a bound."""
    ys = [_mean(row, what) if isinstance(what, str) else what(row) for row in rows]
    return _slope([float(row[letter]) for row in rows], ys)


def slopes(
    rows: Sequence[Row],
    letter: str,
    method: str,
    norm: str,
    bound: Callable[[Row], float] | None = None,
) -> list[float]:
    """Return the exponent along a letter of the error, over a bound if given, for each repeat."""
    x = [float(row[letter]) for row in rows]
    found = []
    for repeat in range(_repeats(rows)):
        y = [row["methods"][method][norm]["values"][repeat] for row in rows]
        found.append(
            _slope(x, [a / bound(r) if bound else a for a, r in zip(y, rows, strict=True)])
        )
    return found


def grows_less(rows: Sequence[Row], letter: str, method: str, norm: str) -> Cell:
    """Return whether an error grows no faster than its bound where that is an upper one.

    The bound must hold for many people, for small epsilon, and for large s, m and k.
    """
    along = slopes(rows, letter, method, norm, getattr(BOUNDS[letter], norm))
    if letter == "epsilon":
        along = [-one for one in along]
    return verdicts.less(along, [[STEP] * len(along)])
