"""The four figures by which an answer is judged, and their means over repeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lapwing as lw
from benchmarks.summaries import summary
from lapwing.distances import CurveOf

FIGURES = {
    "w1": "W1 exact",
    "ks": "KS exact",
    "w1_256": "W1 256",
    "ks_256": "KS 256",
}
"""Every figure by its key; `_256` is the mean or maximum over the papers' 256 points."""

PAPER_GRID = 256


ON_A_CIRCLE = "w1_circular"
"""Exact W1 at the best rotation, for circular columns only."""


def scores(
    answer: CurveOf, truth: CurveOf, *, length: float = 1.0, circular: bool = False
) -> dict[str, float]:
    """Return the figures of one answer; `length` of the domain makes W1 a part of it."""
    found = {
        "w1": lw.distances.wasserstein(answer, truth) / length,
        "ks": lw.distances.kolmogorov_smirnov(answer, truth),
        "w1_256": lw.distances.wasserstein(answer, truth, grid=PAPER_GRID),
        "ks_256": lw.distances.kolmogorov_smirnov(answer, truth, grid=PAPER_GRID),
    }
    if circular:
        found[ON_A_CIRCLE] = lw.distances.wasserstein(answer, truth, circular=True) / length
    return found


def gathered(repeats: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Return the summary of each figure over repeats."""
    return {key: summary([one[key] for one in repeats]) for key in repeats[0]}
