"""How often intervals of correlations, of mutual information and of differences hold the truth."""

from __future__ import annotations

import sys
import warnings
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.pairs.columns import SMALL, by_pair, domain_of, full, shares
from benchmarks.accuracy.pairs.pair_coverage import LEVEL, asked_of
from benchmarks.accuracy.pairs.rectangles import rectangles
from benchmarks.markdown import table
from lapwing.decoders import LogDensityPrior
from lapwing.errors import LapwingWarning
from lapwing.results.joint_distribution import JointDistribution

TITLE = "Intervals of the dependence, and of differences"
FULL = full(10)
QUICK = SMALL

MEASURES = ("Pearson correlation", "Spearman correlation", "mutual information")
HEADS = {"mutual information": "lower end of mutual information"}
"""Reports say nothing about its upper end, so there is no two-sided coverage."""

DIFFERENCES = "differences"
NUMBER = 100
"""Rectangles whose differences are asked."""


def measure(**settings: Any) -> dict[str, Any]:
    """Return estimates, true values and shares of intervals that hold them, by pair and epsilon.

    Each repeat asks two groups of other people from the same rows, so differences are of two
    estimates of one population.
    """
    return by_pair(_cell, **settings)


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
    coverage[DIFFERENCES] = {name: float(f"{fmean(some):.4g}") for name, some in held.items()}
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
    """Return coverage, estimates and true values by pair and epsilon."""
    lines = []
    for cell in measured["cells"]:
        of = cell["coverage"]
        lines.append(
            [
                cell["pair"],
                f"{cell['epsilon']:g}",
                *(
                    f"{100 * of[what]['people']:.0f} / {100 * of[what]['population']:.0f}"
                    for what in (*MEASURES, DIFFERENCES)
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
            "Coverage of 95% intervals in percent, of the people's own value / of the value of "
            "the rows from which they were drawn. Then mean estimates ± mean half-widths, and in "
            "brackets the mean value of the people and the value of the rows. Of mutual "
            "information the coverage is that of the lower end alone, so 97.5% is nominal. "
            f"{settings['people']:,} people, {settings['bins']} x {settings['bins']} cells, "
            f"{settings['repeats']} repeats of two groups. Differences are those of "
            f"{NUMBER} rectangles between the two groups.",
            table(
                [
                    "pair",
                    "ε",
                    *(f"{HEADS.get(what, what)}, %" for what in (*MEASURES, DIFFERENCES)),
                    *MEASURES,
                ],
                lines,
                texts=2,
            ),
        ]
    )
