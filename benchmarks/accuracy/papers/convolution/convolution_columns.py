"""The convolution paper's columns, decoders and squared errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import UNBIASED, Method
from benchmarks.accuracy.papers.figure_columns import (
    Counts,
    Population,
    Vector,
    beta52,
    items,
    permuted,
    smoothed,
    stand_in,
)
from benchmarks.accuracy.papers.figure_runs import Judge
from benchmarks.markdown import figure as digits
from benchmarks.markdown import table
from lapwing.decoders.decoder import Decoder
from lapwing.protocol.randomizer import Randomizer

TRIPS, CLICKS = 2_834_264, 8_019_015
"""Values in the paper's taxi and Kosarak columns."""

SMOOTH, ROUGH, PERMUTED, ITEMS = "taxi", "taxi, rows as they are", "taxi, permuted", "kosarak"
MINUTES = 5
"""Standard deviation of the Gaussian that smooths the taxi histogram."""

MAIN = 4.0
"""Epsilon of figures 7 to 9."""

TOPS = (10, 20, 30, 50, 100)
THRESHOLDS = {SMOOTH: (500, 1000, 1500, 2000), ITEMS: (5_000, 10_000, 15_000, 20_000)}
"""Counts of people in figure 9; the permuted column has those of the smooth one."""

ALPHA = 0.05
PRINTED = {"OUE": 763, "KRR": 1676}
"""Significance thresholds as section V-E prints them."""

ORACLES: dict[str, Callable[..., Randomizer]] = {
    "KRR": lw.GeneralizedRandomizedResponse,
    "OUE": lw.OptimizedUnaryEncoding,
}


@dataclass(frozen=True)
class Known:
    """Shares of the people by value, the values by falling share, and how many people there are."""

    shares: Vector
    order: Counts
    people: int

    @classmethod
    def of(cls, counts: Counts) -> Known:
        """Return what is known from counts."""
        people = int(counts.sum())
        return cls(counts / people, np.argsort(-counts, kind="stable"), people)


def mse(answer: Any, known: Known) -> float:
    """Return the mean squared error over the whole domain."""
    return lw.mean_squared_error(answer.mass, known.shares)


def top_mse(top: int, answer: Any, known: Known) -> float:
    """Return the mean squared error over the most frequent values."""
    first = known.order[:top]
    return float(((answer.mass[first] - known.shares[first]) ** 2).mean())


def positives(threshold: float, right: bool, answer: Any, known: Known) -> float:
    """Return how many values are estimated above a count, and truly are, or truly are not."""
    found = answer.mass * known.people > threshold
    above = known.shares * known.people > threshold
    return float(np.count_nonzero(found & (above == right)))


def populations(column: str, labels: str, size: int) -> dict[str, Population]:
    """Return the paper's columns, or their stand-ins, by name.

    Parameters
    ----------
    column : str
        A circular column of the data folder; or "beta52", which needs no folder.
    labels : str
        A count table of the data folder, or "beta52" again.
    size : int
        Labels of the last.
    """
    if column == "beta52":
        smooth = rough = beta52(TRIPS)
    else:
        smooth = smoothed(column, TRIPS, width=MINUTES / 1440)
        rough = stand_in(column, TRIPS)
    return {
        SMOOTH: smooth,
        PERMUTED: permuted(smooth, seed=0),
        ITEMS: beta52(CLICKS) if labels == "beta52" else items(labels, CLICKS, size=size),
        ROUGH: rough,
    }


def _wiener(**knobs: Any) -> lw.Wiener:
    return lw.Wiener(simplex=False, band=False, **knobs)


def _gaussian(sigma: float, *, wiener: bool = False) -> lw.GaussianSmoothing:
    return lw.GaussianSmoothing(sigma=sigma, wiener=wiener, simplex=False)


ON_SMOOTH: dict[str, Decoder] = {
    "": UNBIASED,
    "smoothing": lw.BinomialSmoothing(simplex=False),
    "DW": _wiener(method="direct"),
    "IIW": _wiener(method="iterative"),
    "IIW-G": _wiener(method="iterative-from-reports"),
    "GF1": _gaussian(1),
    "GF3": _gaussian(3),
    "GF1-DW": _gaussian(1, wiener=True),
    "GF3-DW": _gaussian(3, wiener=True),
}
ON_ROUGH: dict[str, Decoder] = {
    "": UNBIASED,
    "DW": _wiener(method="direct"),
    "DW-AMRP": _wiener(method="permuted"),
    "DW, 100 kept": _wiener(method="direct", keep_largest=100),
}
"""Decoders by the paper's names; the last is its advice for extremely large values."""


def methods(decoders: Mapping[str, Decoder]) -> list[Method]:
    """Return both oracles with every decoder; IIW-G is for KRR only."""
    return [
        Method("-".join(filter(None, (name, short))), oracle, decoder)
        for name, oracle in ORACLES.items()
        for short, decoder in decoders.items()
        if (name, short) != ("OUE", "IIW-G")
    ]


def judges_of(name: str) -> dict[str, Judge]:
    """Return what is asked of a column at the main epsilon."""
    wanted: dict[str, Judge] = {"mse": mse}
    wanted |= {f"top {top}": partial(top_mse, top) for top in TOPS}
    for threshold in THRESHOLDS[ITEMS if name == ITEMS else SMOOTH]:
        wanted[f"true {threshold}"] = partial(positives, threshold, True)
        wanted[f"false {threshold}"] = partial(positives, threshold, False)
    return wanted


def significance(oracle: str, epsilon: float, *, bins: int, people: int, divided: bool) -> float:
    """Return the count above which an unbiased estimate is significant: equation 6 times people.

    With ``divided=False`` alpha is not divided by the number of values, as in the numbers that
    section V-E prints.
    """
    from scipy.stats import norm

    e = math.exp(epsilon)
    own, other = (e / (e + bins - 1), 1 / (e + bins - 1)) if oracle == "KRR" else (0.5, 1 / (e + 1))
    deviation = math.sqrt(people * other * (1 - other)) / (own - other)
    return float(norm.isf(ALPHA / bins if divided else ALPHA)) * deviation


def squared_cell(found: Mapping[str, Any], key: str) -> str:
    """Return a squared error times 10^9, with its standard error."""
    mean, error = 1e9 * found[key]["mean"], 1e9 * found[key]["standard_error"]
    return f"{digits(mean)} ± {digits(error, digits=2)}"


def grid_table(
    rows: Sequence[Any],
    names: Sequence[str],
    text: Callable[[Any, str], str],
    head: Callable[[Any], str],
    corner: str,
) -> str:
    """Return a table with methods in rows: there are more of them than of anything else."""
    lines = [[name, *(text(row, name) for row in rows)] for name in names]
    return table([corner, *map(head, rows)], lines)
