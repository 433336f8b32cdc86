"""When EM stops (section 5.5), and the branching of trees of a curator (section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.figure_columns import Population, coarser, truth
from benchmarks.accuracy.papers.figure_runs import Samples, compare
from benchmarks.accuracy.papers.square_wave.randomize_first import FINER, InBuckets
from benchmarks.accuracy.papers.square_wave.square_wave_claims import (
    SPIKY,
    Row,
    below,
    over,
    values,
)
from benchmarks.markdown import listed
from benchmarks.verdicts import Cell, Claim, certain, resampled, some

SMALLEST = 1e-3
"""The paper's tau: of EMS as it is, of EM times e^epsilon."""

FIXED = (1e-3, 1e-2, 1e-1, 1.0)
SCALED = (1e-3, 1e-2, 1e-1)
"""Values of tau, and of tau over e^epsilon."""

PAPERS = f"τ = {SMALLEST:g} e^ε"
NEAR_BEST = 1.2

CELLS = 4096
"""Of the curator's trees: a power of every branching below."""

BRANCHINGS = (2, 4, 8, 16, 64)
RANGES = 20_000


def tolerances(epsilon: float) -> dict[str, float]:
    """Return the values of tau by name."""
    fixed = {f"τ = {tau:g}": tau for tau in FIXED}
    return fixed | {f"τ = {tau:g} e^ε": tau * math.exp(epsilon) for tau in SCALED}


def stopping(one: Population, bins: int, epsilon: float, repeats: int, seed: int) -> Samples:
    """Return W1 of EM by tau, on the same reports."""
    return compare(
        [
            Method(
                name,
                lw.SquareWave,
                InBuckets(bins, lw.ExpectationMaximization(tolerance=tau, band=False)),
            )
            for name, tau in tolerances(epsilon).items()
        ],
        one,
        {"w1": lw.distances.wasserstein},
        bins=FINER * bins,
        epsilon=epsilon,
        repeats=repeats,
        known=lambda counts: truth(coarser(counts, bins)),
        seed=seed,
        factors=("stopping",),
    )


def stopping_claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what section 5.5 says of tau."""
    where = "section 5.5"
    smooth = [row for row in rows if row["column"] not in SPIKY]
    epsilons = sorted({row["epsilon"] for row in rows})
    columns = list(dict.fromkeys(row["column"] for row in rows))
    by = {(row["column"], row["epsilon"]): row for row in rows}
    pairs = [
        (by[first, e], by[second, e])
        for e in epsilons
        for first in columns
        for second in columns
        if first not in SPIKY and second in SPIKY
    ]
    ends = [(by[c, epsilons[0]], by[c, epsilons[-1]]) for c in columns if len(epsilons) > 1]
    told = "; ".join(f"{_least(row)} on {row['column']} at ε = {row['epsilon']:g}" for row in rows)
    later = [(row, name) for row in smooth for name in _larger(row)]
    return [
        Claim(
            "The choice of τ depends on many factors, including the smoothness of the distribution "
            "and the amount of noise.",
            [some([_differ(*pair) for pair in group]) for group in (pairs, ends) if group],
            "A cell for each of both: the τ of least error differs between a smooth and a spiky "
            "column of one ε, and between the smallest and the largest ε of one column, in at "
            f"least one of them. Least: {told}.",
            where=where,
        ),
        *(
            Claim(
                "With τ proportional to e^ε EM generally performs better than with a fixed τ.",
                [below(row, "w1", PAPERS, [fixed]) for row in rows],
                f"{PAPERS} over {fixed}: {over(rows, 'w1', PAPERS, fixed)}.",
                most=True,
                where=where,
                form=f"fixed: {fixed}",
            )
            for fixed in (f"τ = {tau:g}" for tau in FIXED)
        ),
        Claim(
            "On some data sets that have a smoother distribution the result still over-fits the "
            "noise.",
            [some([below(row, "w1", name, [PAPERS]) for row, name in later])] if later else [],
            "Counted where, on a column that is not spiky, EM has less error if it stops earlier "
            f"than {PAPERS}.",
            where=where,
        ),
    ]


def _larger(row: Row) -> list[str]:
    found = tolerances(row["epsilon"])
    return [name for name, tau in found.items() if tau > found[PAPERS] and name in row["methods"]]


def _least(row: Row) -> str:
    return min(row["methods"], key=lambda name: float(row["methods"][name]["w1"]["mean"]))


def _differ(first: Row, second: Row) -> Cell:
    """Return whether the tau of least mean error is another one in the second row."""
    series = {
        (row, name): values(one, "w1", name)
        for row, one in enumerate((first, second))
        for name in one["methods"]
    }
    size = [tolerances(row["epsilon"]) for row in (first, second)]

    def differ(mean: Mapping[Any, float]) -> bool:
        least = [
            size[row][min(size[row], key=lambda name, row=row: mean[row, name])] for row in (0, 1)
        ]
        return not math.isclose(*least, rel_tol=1e-9)

    return resampled(differ, series)


def curators_trees(*, seed: int = 0) -> dict[str, dict[str, float]]:
    """Return the variance of range queries of a tree of counts by branching, exactly.

    With the total known and equal weights. *Budget*: every level has epsilon / levels, Laplace
    noise, as a curator does. *People*: every level has its share of the people, as devices do;
    both in units of the noise of one level alone with everything.

    Notes
    -----
    The least-squares estimate has a variance of its own for each level's differences between
    siblings: that of a node over the number of cells below, summed over the levels from there
    down. The mean is over ranges drawn evenly from all there are.
    """
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, CELLS, (2, RANGES)), axis=0)
    low, high = ends[0], ends[1] + 1
    found: dict[str, dict[str, float]] = {"budget": {}, "people": {}}
    for branching in BRANCHINGS:
        levels = round(math.log(CELLS, branching))
        sizes = [CELLS // branching**depth for depth in range(levels + 1)]
        shares = [_projected(low, high, size) for size in sizes]
        spread = sum(
            float((shares[depth] - shares[depth - 1]).mean()) / sum(sizes[depth:])
            for depth in range(1, levels + 1)
        )
        found["budget"][str(branching)] = spread * levels**2
        found["people"][str(branching)] = spread * levels
    return found


def _projected(low: Any, high: Any, size: int) -> NDArray[np.float64]:
    """Return the squared length of ranges after each block of cells was made even."""
    first, last = low // size, (high - 1) // size
    start = np.where(first == last, high - low, (first + 1) * size - low)
    end = np.where(first == last, 0, high - last * size)
    length: NDArray[np.float64] = (start**2 + end**2) / size + np.maximum(
        last - first - 1, 0
    ) * size
    return length


def tree_claims(found: Mapping[str, Mapping[str, float]]) -> list[Claim]:
    """Return what section 4.2 says of the best branching, of a curator and of devices."""
    claims = []
    for text, kind, wanted in (
        ("In the centralized setting the optimal branching of HH is around 16.", "budget", "16"),
        ("In the local model the optimal branching of HH is around 5.", "people", "4"),
    ):
        least = min(found[kind].values())
        told = listed([f"{value / least:.2f} at {name}" for name, value in found[kind].items()])
        claims.append(
            Claim(
                text,
                [certain(found[kind][wanted] < NEAR_BEST * least)],
                f"Exact variance of ranges of {CELLS:,} cells over the least: {told}. Counted "
                f"where {wanted} has less than {NEAR_BEST:g} times it.",
                where="section 4.2, branching",
            )
        )
    return claims
