"""How often the intervals of pairs hold the truth, by kind of answer."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.pairs.columns import BINS, PAIRS, domain_of, shares
from benchmarks.accuracy.pairs.pair_coverage import LEVEL, asked_of, covered
from benchmarks.accuracy.pairs.rectangles import rectangles
from benchmarks.markdown import table
from lapwing.decoders import LogDensityPrior
from lapwing.errors import LapwingWarning
from lapwing.results.joint_distribution import JointDistribution

TITLE = "Intervals of pairs"
FULL: dict[str, Any] = {
    "repeats": 10,
    "people": 200_000,
    "bins": BINS,
    "epsilons": [1, 2, 4],
    "pairs": list(PAIRS),
    "seed": 0,
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "people": 20_000,
    "bins": 16,
    "epsilons": [4],
    "pairs": ["made up"],
    "seed": 0,
}

MEASURES = ("Pearson correlation", "Spearman correlation", "mutual information")
HEADS = {"mutual information": "lower end of mutual information"}
"""Reports say nothing about its upper end, so there is no two-sided coverage."""

KINDS = ("rectangles", "marginal CDFs", "conditional quantiles")
"""What else is asked of each answer, as :func:`covered` names it."""

DIFFERENCES = "differences"
ASKED = {
    "rectangles": (93, 97, 88),
    "marginal CDFs": (93, 97, 88),
    "conditional quantiles": (92, 97, None),
    DIFFERENCES: (92, None, None),
}
"""Asked in %: least and most of the mean over pairs, and least of a pair."""

NUMBER = 100
"""Rectangles whose differences are asked."""


def measure(
    *,
    repeats: int,
    people: int,
    bins: int,
    epsilons: Sequence[float],
    pairs: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """Return estimates, true values and shares of intervals that hold them, by pair and epsilon.

    Each repeat asks two groups of other people from the same rows, so differences are of two
    estimates of one population.
    """
    return {
        "cells": [
            _cell(pair, epsilon, people=people, bins=bins, repeats=repeats, seed=seed)
            for epsilon in epsilons
            for pair in pairs
        ]
    }


def _cell(
    pair: str, epsilon: float, *, people: int, bins: int, repeats: int, seed: int
) -> dict[str, Any]:
    domain = domain_of(pair, bins)
    boxes = lw.randomizers.MultiscaleBoxes(domain, epsilon)
    population = shares(pair, bins)
    of_population = values_of(JointDistribution(domain, population.ravel()))
    found: dict[str, dict[str, list[float]]] = {
        what: {name: [] for name in ("estimate", "people", "population", "reach")}
        for what in MEASURES
    }
    held: dict[str, list[float]] = {"people": [], "population": []}
    kinds: dict[str, dict[str, list[float]]] = {
        what: {name: [] for name in ("people", "population", "reach")} for what in KINDS
    }
    truths: dict[str, list[float]] = {what: [] for what in MEASURES}
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, *pair.encode(), people, repeat, round(1000 * epsilon)])
        both = [rng.multinomial(people, population.ravel()) for _ in range(2)]
        answers = [_answer(boxes, counts, rng) for counts in both]
        for answer, counts in zip(answers, both, strict=True):
            of_people = values_of(JointDistribution.of_counts(counts.reshape(bins, bins), domain))
            estimates = values_of(answer)
            for what, (low, high) in intervals_of(answer).items():
                one = found[what]
                one["estimate"].append(estimates[what])
                one["people"].append(float(low <= of_people[what] <= high))
                one["population"].append(float(low <= of_population[what] <= high))
                one["reach"].append((high - low) / 2)
                truths[what].append(of_people[what])
            for what, shares_held in covered(
                answer, counts.reshape(bins, bins), population
            ).items():
                for name, share in shares_held.items():
                    kinds[what][name].append(share)
        first, second = (counts.reshape(bins, bins) / people for counts in both)
        for name, truth in (("people", first - second), ("population", np.zeros((bins, bins)))):
            held[name].append(differences_held(answers[0], answers[1], truth))
    coverage = {
        what: {
            **{name: float(f"{fmean(values):.4g}") for name, values in found[what].items()},
            "of people": float(f"{fmean(truths[what]):.4g}"),
            "of population": float(f"{of_population[what]:.4g}"),
        }
        for what in MEASURES
    }
    for what, figures in (*kinds.items(), (DIFFERENCES, held)):
        coverage[what] = {name: float(f"{fmean(some):.4g}") for name, some in figures.items()}
    told = ", ".join(f"{what} {one['population']:.2f}" for what, one in coverage.items())
    print(f"{pair}, epsilon {epsilon:g}: {told}", file=sys.stderr, flush=True)
    return {"pair": pair, "epsilon": epsilon, "coverage": coverage}


def _answer(boxes: Any, counts: NDArray[np.int64], rng: np.random.Generator) -> JointDistribution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)  # weak answers are counted, too
        return LogDensityPrior().decode(boxes.channel, lw.simulate(boxes, counts, rng=rng))


def values_of(joint: JointDistribution) -> dict[str, float]:
    """Return the measures of a dependence."""
    return dict(
        zip(
            MEASURES,
            (joint.correlation(), joint.correlation("spearman"), joint.mutual_information()),
            strict=True,
        )
    )


def intervals_of(joint: JointDistribution) -> dict[str, tuple[float, float]]:
    """Return the intervals of the measures of a dependence."""
    found = {}
    for what, interval in zip(
        MEASURES,
        (
            joint.correlation_interval(level=LEVEL),
            joint.correlation_interval("spearman", level=LEVEL),
            joint.mutual_information_interval(level=LEVEL),
        ),
        strict=True,
    ):
        assert interval is not None  # the default decoder gives draws
        found[what] = interval
    return found


def differences_held(
    first: JointDistribution, second: JointDistribution, truth: NDArray[np.float64]
) -> float:
    """Return the share of rectangles whose interval of the difference holds the true one."""
    difference = first.difference(second)
    held = []
    for low, high, left, right in rectangles(truth.shape[0], NUMBER):
        interval = difference.probability_interval(
            level=LEVEL, **asked_of(first.domain, low, high, left, right)
        )
        assert interval is not None
        true = float(truth[low:high, left:right].sum())
        held.append(interval[0] <= true <= interval[1])
    return fmean(held)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return coverage, estimates and true values by pair and epsilon, and what is asked."""
    cells = measured["cells"]
    runs = f", joined of {settings['runs']} runs at one commit" if "runs" in settings else ""
    return "\n\n".join(
        [
            f"{settings['people']:,} people, {settings['bins']} x {settings['bins']} cells, "
            f"{settings['repeats']} repeats of two groups{runs}. Coverage of 95% intervals in "
            "percent, of the people's own value / of the value of the rows from which they were "
            "drawn. Asked are 200 rectangles, both marginal CDFs at the edges with "
            "0.02 < F < 0.98 (pointwise), quartiles of each attribute in slices of at least 5% of "
            f"the people along the other one, and the differences of {NUMBER} rectangles between "
            "the two groups.",
            _kinds_table(cells),
            "Against the people's own table:",
            _kinds_reading(cells),
            _dependence_table(cells),
        ]
    )


def _kinds_table(cells: Sequence[dict[str, Any]]) -> str:
    lines = [
        [
            cell["pair"],
            f"{cell['epsilon']:g}",
            *(_held(cell["coverage"][what]) for what in ASKED),
            *(f"{cell['coverage'][what]['reach']:.4f}" for what in KINDS[:2]),
        ]
        for cell in cells
    ]
    header = ["pair", "ε", *(f"{what}, %" for what in ASKED)]
    return table([*header, *(f"half-width, {what}" for what in KINDS[:2])], lines, texts=2)


def _held(one: dict[str, float]) -> str:
    return f"{100 * one['people']:.1f} / {100 * one['population']:.1f}"


def _kinds_reading(cells: Sequence[dict[str, Any]]) -> str:
    said = []
    for epsilon in dict.fromkeys(cell["epsilon"] for cell in cells):
        here = [cell for cell in cells if cell["epsilon"] == epsilon]
        for what, (low, high, least) in ASKED.items():
            shares_held = [100 * one["coverage"][what]["people"] for one in here]
            mean, worst = fmean(shares_held), min(shares_held)
            met = low <= mean <= (high or 100) and worst >= (least or 0)
            asked = f"asked {low}" + (f" to {high}" if high else " or more")
            asked += f", no pair below {least}" if least else ""
            pair = here[shares_held.index(worst)]["pair"]
            said.append(
                f"- ε = {epsilon:g}, {what}: {mean:.1f}% on average, lowest {worst:.1f} ({pair}); "
                f"{asked}: {'met' if met else '**not met**'}."
            )
    return "\n".join(said)


def _dependence_table(cells: Sequence[dict[str, Any]]) -> str:
    lines = []
    for cell in cells:
        of = cell["coverage"]
        lines.append(
            [
                cell["pair"],
                f"{cell['epsilon']:g}",
                *(
                    f"{100 * of[what]['people']:.0f} / {100 * of[what]['population']:.0f}"
                    for what in MEASURES
                ),
                *(
                    f"{of[what]['estimate']:.3f}"
                    + ("" if what in HEADS else f" ± {of[what]['reach']:.3f}")
                    + f" ({of[what]['of people']:.3f}, {of[what]['of population']:.3f})"
                    for what in MEASURES
                ),
            ]
        )
    return "\n\n".join(
        [
            "The same of the measures of a dependence. Then mean estimates ± mean half-widths, "
            "and in brackets the mean value of the people and the value of the rows. Of mutual "
            "information the coverage is that of the lower end alone, so 97.5% is nominal.",
            table(
                ["pair", "ε", *(f"{HEADS.get(what, what)}, %" for what in MEASURES), *MEASURES],
                lines,
                texts=2,
            ),
        ]
    )
