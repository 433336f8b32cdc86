"""EMS and EM of the library beside a textbook implementation, on the same reports.

In every repeat people draw their values from Beta(5, 2) and randomize them, each on their own. The
same counts are decoded by the library and by `textbook`. A second reference decodes reports of
the continuous square wave, which it draws itself for the same people: that is what public code
does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks import datasets
from benchmarks.accuracy.local import textbook
from benchmarks.accuracy.local.scores import FIGURES, gathered, scores
from benchmarks.markdown import listed, table, uncertain
from benchmarks.summaries import ratio_of_means

TITLE = "EMS and EM against a textbook reference"
FULL: dict[str, Any] = {
    "repeats": 100,
    "repeats_of_em": 50,
    "bins": 256,
    "epsilons": [0.5, 1, 2, 4],
}
QUICK: dict[str, Any] = {"repeats": 3, "repeats_of_em": 2, "bins": 256, "epsilons": [1, 4]}

ASKED = 0.02
"""Target: W1 and KS within 2% of the reference."""

PUBLIC = {0.5: (0.0092, 0.0007), 1: (0.0049, 0.0004), 2: (0.0023, 0.0002), 4: (0.0011, 0.0001)}
"""W1 of the best public code that is known, and the standard error of its 10 repeats."""


def measure(
    *, repeats: int, repeats_of_em: int, bins: int, epsilons: Sequence[float]
) -> dict[str, Any]:
    """Return figures of the library and both references for every epsilon."""
    return {
        "EMS": [_compare(epsilon, repeats, bins, smoothed=True) for epsilon in epsilons],
        "EM": [_compare(epsilon, repeats_of_em, bins, smoothed=False) for epsilon in epsilons],
    }


def _compare(epsilon: float, repeats: int, bins: int, *, smoothed: bool) -> dict[str, Any]:
    wave = lw.SquareWave(lw.Interval(0, 1, bins=bins, outside="clip"), epsilon)
    decoder = lw.ExpectationMaximization(smoothed=smoothed, band=False)
    # The paper's stopping rules.
    rule = {"tolerance": 1e-3 if smoothed else 1e-3 * math.exp(epsilon), "smooth": smoothed}
    discrete = textbook.discrete_matrix(epsilon, bins)
    continuous = textbook.continuous_matrix(epsilon, bins)
    ours, reference, public = [], [], []
    same_iterations, furthest = 0, 0.0
    for repeat in range(repeats):
        values = datasets.load("beta52", seed=repeat).values
        assert values is not None  # beta52 is a column of values
        truth = lw.results.Cumulative.of_values(values)
        tally = wave.tally(wave.randomize(values, rng=lw.seeded(repeat)))
        answer = decoder.decode(wave.channel, tally)
        counts = tally.blocks[0].astype(np.float64)
        mass, iterations = textbook.maximize(discrete, counts, **rule)
        ours.append(scores(answer, truth))
        reference.append(scores(_curve(mass), truth))
        same_iterations += iterations == answer.provenance["iterations"]
        furthest = max(furthest, float(np.abs(mass - answer.mass).max() / mass.max()))
        drawn = textbook.continuous_reports(values, epsilon, np.random.default_rng(repeat))
        counts = textbook.continuous_counts(drawn, epsilon, bins)
        mass, _ = textbook.maximize(continuous, counts, **rule)
        public.append(scores(_curve(mass), truth))
    return {
        "epsilon": epsilon,
        "lapwing": gathered(ours),
        "textbook": gathered(reference),
        "continuous": gathered(public),
        "ratio": _ratios(ours, reference),
        "ratio_to_continuous": _ratios(ours, public),
        "same_iterations": same_iterations,
        "largest_difference": furthest,
    }


def _curve(mass: textbook.Vector) -> lw.results.Cumulative:
    edges = np.arange(mass.size + 1) / mass.size
    return lw.results.Cumulative(edges[:-1], edges[1:], mass)


def _ratios(ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> dict[str, Any]:
    return {
        key: ratio_of_means([one[key] for one in ours], [one[key] for one in theirs])
        for key in FIGURES
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables and what they say."""
    smoothed, plain = measured["EMS"], measured["EM"]
    return "\n\n".join(
        [
            f"Beta(5, 2), 100,000 people, {settings['bins']} bins, {settings['repeats']} paired "
            "repeats; W1 ×10⁴, KS ×10³. *Textbook*: dense matrix, the paper's loop and stopping "
            "rule, on the same reports. *Continuous*: the same loop on the continuous square "
            "wave's own float reports, in as many output as input buckets, as public code does; "
            "not the same reports, so its ratio has a wide error. First EMS.",
            _table(smoothed, asked="0.98 to 1.02"),
            _against_textbook(smoothed),
            *_against_public(smoothed),
            f"EM, {settings['repeats_of_em']} repeats.",
            _table(plain, asked="–"),
            _against_textbook(plain),
            _against_continuous(plain),
        ]
    )


def _table(rows: list[dict[str, Any]], *, asked: str) -> str:
    return table(
        ["ε", "figure", "lapwing", "textbook", "ratio", "target", "continuous", "ratio"],
        [line for row in rows for line in _lines(row, asked)],
        texts=2,
    )


def _lines(row: dict[str, Any], asked: str) -> list[list[str]]:
    lines = []
    for key, label in FIGURES.items():
        scale = 1e4 if key.startswith("w1") else 1e3
        cells = [
            uncertain(row[who][key]["mean"], row[who][key]["standard_error"], scale=scale)
            for who in ("lapwing", "textbook", "continuous")
        ]
        near, far = row["ratio"][key], row["ratio_to_continuous"][key]
        lines.append(
            [
                *(f"{row['epsilon']:g}", label, cells[0], cells[1]),
                uncertain(near["ratio"], near["standard_error"], places=4),
                asked,
                cells[2],
                uncertain(far["ratio"], far["standard_error"], places=2),
            ]
        )
    return lines


def _against_textbook(rows: list[dict[str, Any]]) -> str:
    ratios = [row["ratio"][key]["ratio"] for row in rows for key in FIGURES]
    worst = max(abs(ratio - 1) for ratio in ratios)
    decodes = rows[0]["lapwing"]["w1"]["repeats"] * len(rows)
    same = sum(row["same_iterations"] for row in rows)
    furthest = max(row["largest_difference"] for row in rows)
    reached = "so within the target of 2%" if worst <= ASKED else "**more than the target of 2%**"
    return (
        f"Against the textbook every ratio is within {100 * worst:.2g}% of 1, {reached}. Both "
        f"stop at the same iteration in {same} of {decodes} decodes, and no mass differs by more "
        f"than {furthest:.1e} of the largest."
    )


def _against_public(rows: list[dict[str, Any]]) -> list[str]:
    known = [row for row in rows if row["epsilon"] in PUBLIC]
    if not known:
        return []
    stated = listed([f"{PUBLIC[row['epsilon']][0]:g}" for row in known])
    ours = listed([f"{row['lapwing']['w1_256']['mean']:.4f}" for row in known])
    theirs = listed([f"{row['continuous']['w1_256']['mean']:.4f}" for row in known])
    far = []
    for row in known:
        w1, error = PUBLIC[row["epsilon"]]
        found = row["lapwing"]["w1_256"]
        if abs(found["mean"] - w1) > 2 * (error**2 + found["standard_error"] ** 2) ** 0.5:
            far.append(f"ε = {row['epsilon']:g}")
    return [
        f"The best public code is stated at W1 of about {stated} for ε = "
        f"{listed([format(row['epsilon'], 'g') for row in known])} (10 repeats, so ± 7 to 12%); "
        f"the library has {ours}, the continuous form {theirs} (256 points).",
        f"The library is more than two standard errors off the stated figure at {listed(far)}."
        if far
        else "The library agrees with the stated figures within two standard errors.",
        _against_continuous(rows),
    ]


def _against_continuous(rows: list[dict[str, Any]]) -> str:
    gaps = [(row["epsilon"], row["ratio_to_continuous"]["w1_256"]) for row in rows]
    clear = [
        f"{gap['ratio']:.2f} at ε = {epsilon:g}"
        for epsilon, gap in gaps
        if abs(gap["ratio"] - 1) > 2 * gap["standard_error"]
    ]
    if clear:
        return (
            "W1 on the discrete wave differs from that on the continuous one beyond two "
            f"standard errors, by factors of {listed(clear)}."
        )
    return "W1 on the discrete and on the continuous wave nowhere differ by two standard errors."
