"""Every decoder on the same kind of reports, and other randomizers, on Beta(5, 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import datasets
from benchmarks.accuracy.local.methods import METHODS, cells, run
from benchmarks.accuracy.local.scores import FIGURES, gathered
from benchmarks.markdown import listed, table

TITLE = "Decoders and randomizers on Beta(5, 2)"
FULL: dict[str, Any] = {"repeats": 50, "bins": 256, "epsilons": [0.5, 1, 2, 4]}
QUICK: dict[str, Any] = {"repeats": 2, "bins": 256, "epsilons": [1]}

STUDY = {
    "square wave, EM": {0.5: (107.0, 41.5), 1: (69.7, 29.3), 2: (39.0, 18.2), 4: (14.9, 6.7)},
    "square wave, EMS": {0.5: (102.0, 24.7), 1: (50.9, 15.9), 2: (25.4, 8.4), 4: (10.4, 3.1)},
}
"""W1 ×10⁴ and KS ×10³ on the 256 points in the study that preceded the library (20 repeats): EM
there on the continuous wave, EMS on the discrete one."""

PUBLIC_CATEGORICAL = {
    "GRR, LeastSquares": {0.5: 2095.3, 1: 1711.0, 2: 1022.1, 4: 130.9},
    "OUE, LeastSquares": {0.5: 1160.9, 1: 706.4, 2: 378.4, 4: 92.8},
    "OUE, unbiased": {0.5: 1186.7, 1: 570.4, 2: 239.2, 4: 75.3},
}
"""W1 ×10⁴ of pure-ldp, projected on the simplex or raw, measured in that study (10 repeats)."""


def measure(*, repeats: int, bins: int, epsilons: Sequence[float]) -> dict[str, Any]:
    """Return the scores of every method; people draw new values in every repeat."""
    rows = []
    for epsilon in epsilons:
        found = run(
            METHODS,
            lambda repeat: datasets.load("beta52", seed=repeat),
            epsilon=epsilon,
            repeats=repeats,
            bins=bins,
        )
        rows += [
            {"epsilon": epsilon, "method": one["method"], "scores": gathered(one["scores"])}
            for one in found
        ]
    return {"rows": rows}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    rows = measured["rows"]
    return "\n\n".join(
        [
            f"100,000 people, {settings['bins']} bins, {settings['repeats']} repeats; W1 ×10⁴, KS "
            "×10³. Decoders with their default knobs. Within an ε all meet the same people, "
            "and all decoders of the square wave the same reports. Stated: the study that preceded "
            "the library, W1 and KS on the 256 points.",
            table(
                ["ε", "method", *FIGURES.values(), "stated"],
                [
                    [
                        f"{row['epsilon']:g}",
                        row["method"],
                        *cells(row["scores"]),
                        stated(row["method"], row["epsilon"]),
                    ]
                    for row in rows
                ],
                texts=2,
            ),
            *_reading(rows, settings["epsilons"]),
        ]
    )


def stated(method: str, epsilon: float) -> str:
    """Return what was known before, or a dash."""
    if epsilon in STUDY.get(method, {}):
        w1, ks = STUDY[method][epsilon]
        return f"{w1:g}; {ks:g}"
    if epsilon in PUBLIC_CATEGORICAL.get(method, {}):
        return f"{PUBLIC_CATEGORICAL[method][epsilon]:g} (pure-ldp)"
    return "–"


def _reading(rows: list[dict[str, Any]], epsilons: Sequence[float]) -> list[str]:
    by_cell = {(row["method"], row["epsilon"]): row["scores"]["w1_256"] for row in rows}
    far = []
    for (method, epsilon), found in by_cell.items():
        known = STUDY.get(method, {}).get(epsilon)
        if known is None:
            continue
        # The study's own error is not stated: that of its 20 repeats with the spread found here.
        error = 1e4 * found["standard_error"] * (1 + found["repeats"] / 20) ** 0.5
        if abs(1e4 * found["mean"] - known[0]) > 2 * error:
            far.append(f"{method} at ε = {epsilon:g} ({1e4 * found['mean']:.1f} for {known[0]:g})")
    agree = f"but for {listed(far)}" if far else "in every cell"
    return [
        f"W1 of EM and EMS agrees with the study within two standard errors {agree}. EM there had "
        "the continuous wave; the first section has EM on both.",
        _ranking(rows, epsilons),
        projection(rows, epsilons),
        _known_total(rows),
    ]


def _ranking(rows: list[dict[str, Any]], epsilons: Sequence[float]) -> str:
    parts = []
    for epsilon in epsilons:
        here = [row for row in rows if row["epsilon"] == epsilon]
        best = min(here, key=lambda row: row["scores"]["w1"]["mean"])
        worst = max(here, key=lambda row: row["scores"]["w1"]["mean"])
        times = worst["scores"]["w1"]["mean"] / best["scores"]["w1"]["mean"]
        parts.append(
            f"at ε = {epsilon:g} {best['method']} (the worst, {worst['method']}, {times:.0f} times)"
        )
    return f"Least exact W1: {'; '.join(parts)}."


def projection(rows: list[dict[str, Any]], epsilons: Sequence[float]) -> str:
    """Return what the projection on the simplex does to the CDF of an unbiased estimate."""
    by_cell = {(row["method"], row["epsilon"]): row["scores"]["w1"]["mean"] for row in rows}
    parts = []
    for randomizer in ("GRR", "OUE"):
        factors = [
            by_cell[f"{randomizer}, LeastSquares", epsilon]
            / by_cell[f"{randomizer}, unbiased", epsilon]
            for epsilon in epsilons
        ]
        parts.append(f"{listed([f'{factor:.2f}' for factor in factors])} for {randomizer}")
    shown = listed([f"{epsilon:g}" for epsilon in epsilons])
    return (
        f"The projection on the simplex changes exact W1 of the unbiased estimate by factors of "
        f"{'; '.join(parts)} at ε = {shown}. Above 1 it does harm: what it takes from negative "
        "bins it takes from all others alike, which helps single bins and bends the CDF."
    )


def _known_total(rows: list[dict[str, Any]]) -> str:
    factors = [
        1e4 * row["scores"]["w1_256"]["mean"] / PUBLIC_CATEGORICAL[row["method"]][row["epsilon"]]
        for row in rows
        if row["method"] == "OUE, unbiased" and row["epsilon"] in PUBLIC_CATEGORICAL[row["method"]]
    ]
    if not factors:
        return "No unbiased figure is stated for these ε."
    return (
        f"W1 of the unbiased estimate of OUE is {listed([f'{f:.2f}' for f in factors])} times that "
        "of pure-ldp's raw one: the known total of 1 is imposed here, which makes the error of the "
        "CDF a bridge instead of a walk (0.59 times, if errors of bins are alike)."
    )
