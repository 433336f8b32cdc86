"""How often the intervals of pairs hold the truth, by kind of answer."""

from __future__ import annotations

import warnings
from statistics import fmean
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.pairs.columns import SMALL, by_pair, domain_of, full, shares
from benchmarks.accuracy.pairs.dependence_coverage import DIFFERENCES, NUMBER, differences_held
from benchmarks.accuracy.pairs.pair_coverage import covered
from benchmarks.markdown import table
from lapwing.decoders import LogDensityPrior
from lapwing.errors import LapwingWarning

TITLE = "Intervals by kind of answer"
FULL = full(6)
QUICK = SMALL

KINDS = ("rectangles", "marginal CDFs", "conditional quantiles", DIFFERENCES)
ASKED = 92
"""Asked of each kind in %: the mean over pairs, at least."""


def measure(**settings: Any) -> dict[str, Any]:
    """Return shares of intervals that hold the value of the people, by pair, epsilon and kind.

    Each repeat asks two groups of other people from the same rows, and compares them.
    """
    return by_pair(_cell, **settings)


def _cell(
    pair: str, epsilon: float, *, people: int, bins: int, repeats: int, seed: int
) -> dict[str, Any]:
    boxes = lw.randomizers.MultiscaleBoxes(domain_of(pair, bins), epsilon)
    population = shares(pair, bins)
    held: dict[str, list[float]] = {what: [] for what in KINDS}
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, *pair.encode(), people, repeat, round(1000 * epsilon)])
        both = [rng.multinomial(people, population.ravel()).reshape(bins, bins) for _ in range(2)]
        answers = []
        for counts in both:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LapwingWarning)  # weak answers are counted, too
                tally = lw.simulate(boxes, counts.ravel(), rng=rng)
                answers.append(LogDensityPrior().decode(boxes.channel, tally))
            for what, figures in covered(answers[-1], counts, population).items():
                held[what].append(figures["people"])
        gap = (both[0] - both[1]) / people
        held[DIFFERENCES].append(differences_held(answers[0], answers[1], gap))
    return {
        "pair": pair,
        "epsilon": epsilon,
        "held": {what: float(f"{fmean(some):.4g}") for what, some in held.items()},
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage by pair, and the mean over pairs beside what is asked."""
    cells = measured["cells"]
    lines = []
    for epsilon in dict.fromkeys(cell["epsilon"] for cell in cells):
        here = [cell for cell in cells if cell["epsilon"] == epsilon]
        lines += [[cell["pair"], f"{epsilon:g}", *_told(cell["held"])] for cell in here]
        means = {what: fmean(cell["held"][what] for cell in here) for what in KINDS}
        missed = [what for what in KINDS if 100 * means[what] < ASKED]
        name = f"**mean, {'missed' if missed else 'met'}**"
        lines.append([name, f"{epsilon:g}", *_told(means)])
    runs = f", joined of {settings['runs']} runs at one commit" if "runs" in settings else ""
    return "\n\n".join(
        [
            f"{settings['people']:,} people, {settings['bins']} x {settings['bins']} cells, "
            f"repeats of two groups: {settings['repeats']}{runs}. Coverage of 95% intervals of "
            "the people's own value, in percent: of 200 rectangles, of both marginal CDFs at the "
            "edges with 0.02 < F < 0.98 (pointwise), of quartiles of each attribute in slices of "
            "at least 5% of the people along the other one, and of the differences of "
            f"{NUMBER} rectangles between the two groups. Target: {ASKED}% in the mean over pairs.",
            table(["pair", "ε", *KINDS], lines, texts=2),
        ]
    )


def _told(held: dict[str, float]) -> list[str]:
    return [f"{100 * held[what]:.1f}" for what in KINDS]
