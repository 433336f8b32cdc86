"""What shuffled reports promise, by both bounds, beside published numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.markdown import figure, seconds, table
from lapwing.privacy.shuffle_amplification import amplified_epsilon

TITLE = "Amplification by shuffling"
FULL: dict[str, Any] = {
    "settings": [[1000, 1e-6], [10_000, 1e-6], [100_000, 1e-8], [1_000_000, 1e-8]],
    "epsilons": [0.5, 1, 2, 4],
    "symbols": 16,
}
QUICK = FULL

STUDY = {
    (1000, 1e-6): (0.0705, 0.1824, 0.5455, 3.990),
    (10_000, 1e-6): (0.0204, 0.0530, 0.1551, 0.6009),
    (100_000, 1e-8): (0.0081, 0.0206, 0.0588, 0.2149),
    (1_000_000, 1e-8): (0.0024, 0.0061, 0.0176, 0.0642),
}
"""The bound for any randomizer at epsilon .5, 1, 2 and 4, computed independently before."""


def distances(epsilon: float, symbols: int) -> dict[str, float]:
    """Return the total variation of two reports of the randomizers that are compared."""
    odds = math.exp(epsilon)
    return {
        "optimized unary encoding, Hadamard response": (odds - 1) / (odds + 1) / 2,
        f"randomized response on {symbols}": (odds - 1) / (odds + symbols - 1),
    }


def measure(
    *, settings: Sequence[Sequence[float]], epsilons: Sequence[float], symbols: int
) -> dict[str, Any]:
    """Return the epsilon of every number of people, delta and local epsilon."""
    rows = []
    for users, delta in settings:
        for epsilon in epsilons:
            start = time.process_time()
            any_kind = amplified_epsilon(epsilon, users=int(users), delta=delta)
            spent = time.process_time() - start
            smaller = {
                name: amplified_epsilon(
                    epsilon, users=int(users), delta=delta, total_variation=distance
                )
                for name, distance in distances(epsilon, symbols).items()
            }
            rows.append(
                {
                    "users": int(users),
                    "delta": delta,
                    "epsilon": epsilon,
                    "any": any_kind,
                    "named": smaller,
                    "cpu": spent,
                }
            )
    return {"rows": rows}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return one row for every number of people, with a column for every local epsilon."""
    rows = measured["rows"]
    kinds = ["any randomizer", *rows[0]["named"]]
    lines = []
    for users, delta in settings["settings"]:
        here = [row for row in rows if row["users"] == users and row["delta"] == delta]
        for kind in kinds:
            found = [row["any"] if kind == kinds[0] else row["named"][kind] for row in here]
            lines.append([f"{int(users):,}", f"{delta:g}", kind, *(f"{e:.4f}" for e in found)])
    far = [
        abs(row["any"] / STUDY[row["users"], row["delta"]][number] - 1)
        for row in rows
        for number, epsilon in enumerate([0.5, 1, 2, 4])
        if row["epsilon"] == epsilon and (row["users"], row["delta"]) in STUDY
    ]
    agreement = (
        f"The bound for any randomizer differs from the study's own table by at most "
        f"{100 * max(far):.2g}%, which is the rounding of that table. "
        if far
        else ""
    )
    slowest = max(row["cpu"] for row in rows)
    return "\n\n".join(
        [
            "Epsilon of shuffled reports for a given delta, by the epsilon of one report. For the "
            "named randomizers, the smaller of two bounds is shown.",
            table(
                [
                    "people",
                    "delta",
                    "randomizer",
                    *(f"ε = {e:g}" for e in settings["epsilons"]),
                ],
                lines,
                texts=3,
            ),
            f"{agreement}Each takes at most {seconds(slowest)} of CPU time. In a shuffled survey "
            f"of a million people, an epsilon of 4 per report becomes {figure(rows[-1]['any'])}.",
        ]
    )
