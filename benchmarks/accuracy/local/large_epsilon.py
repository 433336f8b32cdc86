"""The default mixture above epsilon 4, compared with the one of epsilon 4 used before."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local import paired_errors as paired
from benchmarks.accuracy.local.fresh_columns import DENSITIES, drawn
from benchmarks.accuracy.local.paired_errors import FIGURES, Crowd
from benchmarks.markdown import table
from lapwing.errors import LapwingWarning
from lapwing.randomizers.numerical.multiscale_wave import default_mixture, fitted

TITLE = "The default above epsilon 4"

COLUMNS = [
    "taxi",
    "acs_income",
    "sf_base_pay",
    "sf_benefits",
    "kitti_yaw",
    "airbnb_nyc",
    *DENSITIES,
]
"""Chosen before the row of epsilon 8, which was tuned on the made-up columns of
`lapwing.planning.simulation` and on the real ones of `fresh_columns`."""

FULL: dict[str, Any] = {
    "cases": [
        {"epsilon": 8, "people": 200_000, "bins": 256, "repeats": 8},
        {"epsilon": 8, "people": 20_000, "bins": 256, "repeats": 8},
        {"epsilon": 8, "people": 200_000, "bins": 1024, "repeats": 2},
        {"epsilon": 7, "people": 200_000, "bins": 256, "repeats": 3},
    ],
    "columns": COLUMNS,
}
QUICK: dict[str, Any] = {
    "cases": [{"epsilon": 8, "people": 20_000, "bins": 256, "repeats": 2}],
    "columns": ["ramp"],
}

ASKED = {(8, 200_000, 256): (0.75, 0.95), (8, 20_000, 256): (0.90, 1.10)}
"""Geometric means of W1 and KS, at most, by epsilon, people and bins."""

BEFORE = 4.0
"""The last epsilon with a row of its own before."""


def measure(*, cases: Sequence[dict[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    """Return the ratios of W1 and KS of both mixtures on the same people, by case and column."""
    return {
        "cells": [
            {**case, "column": name}
            | _ratios(_crowd(name, case["people"], case["bins"]), case["epsilon"], case["repeats"])
            for case in cases
            for name in columns
        ]
    }


def _crowd(name: str, people: int, bins: int) -> Crowd:
    """Return a column of so many people, drawn once with replacement."""
    whole = drawn(name, bins=bins) if name in DENSITIES else paired.real(name, bins=bins)
    rng = np.random.default_rng([crc32(name.encode()), people])
    counts = rng.multinomial(people, whole.counts / whole.people)
    return Crowd(name, counts, whole.circular, whole.rule)


def _ratios(crowd: Crowd, epsilon: float, repeats: int) -> dict[str, Any]:
    """Return the ratios of the means, with standard errors. Every cell has a seed of its own."""
    bins = crowd.counts.size
    domain = lw.Interval(0, 1, bins=bins, circular=crowd.circular, outside="clip")
    plain = lw.Interval(0, 1, bins=bins, outside="clip")
    truth = lw.Distribution.of_counts(crowd.counts, plain).cumulative
    earlier = fitted(default_mixture(BEFORE), domain)
    made = {
        "before": lw.MultiscaleWave(domain, epsilon, components=earlier),
        "default": lw.MultiscaleWave(domain, epsilon),
    }
    found: paired.Errors = {name: {figure: [] for figure in FIGURES} for name in made}
    for repeat in range(repeats):
        cell = [crc32(crowd.name.encode()), crowd.people, round(1000 * epsilon), bins]
        rng = np.random.default_rng([repeat, *cell])
        for name, randomizer in made.items():
            tally = lw.simulate(randomizer, crowd.counts, rng=rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LapwingWarning)  # weak answers are compared, too
                answer = lw.SpectralPrior(band=False).decode(randomizer.channel, tally)
            kept = found[name]
            kept["w1"].append(lw.distances.wasserstein(answer, truth, grid=256))
            kept["ks"].append(lw.distances.kolmogorov_smirnov(answer, truth, grid=256))
    return paired.compared(found, "default", "before")


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return a row for every case: geometric means over the columns, and the worst column."""
    lines, said = [], []
    for case in settings["cases"]:
        here = [one for one in measured["cells"] if case.items() <= one.items()]
        means = {figure: paired.mean_ratio([one[figure] for one in here]) for figure in FIGURES}
        row = [f"{case['epsilon']:g}", f"{case['people']:,}", f"{case['bins']:,}"]
        row.append(str(case["repeats"]))
        for figure in FIGURES:
            worst = max(here, key=lambda one: float(one[figure]["ratio"]))
            told = f"{worst[figure]['ratio']:.2f} ± {worst[figure]['standard_error']:.2f}"
            row += [paired.told(means[figure]), f"{told} ({worst['column']})"]
        lines.append(row)
        said.append(_said(case, means))
    return "\n\n".join(
        [
            f"{len(settings['columns'])} columns ({', '.join(settings['columns'])}). They were "
            "chosen before the mixture of ε = 8 was tuned, on other columns. People are drawn "
            "once from each column. Errors are to these people, at the 256 common edges. A ratio "
            "is the default's error over that of the mixture of ε = 4, which was the default at "
            "ε = 8 before. Shown are the geometric mean over the columns, with its standard "
            "error, and the worst column. Up to ε = 6 the default is the mixture of ε = 4.",
            table(["ε", "people", "bins", "repeats", "W1", "worst", "KS", "worst"], lines, texts=0),
            *(one for one in said if one),
        ]
    )


def _said(case: dict[str, Any], means: dict[str, dict[str, float]]) -> str:
    """Return a sentence on what is asked of a case."""
    asked = ASKED.get((case["epsilon"], case["people"], case["bins"]))
    if asked is None:
        return ""
    met = all(means[figure]["ratio"] <= most for figure, most in zip(FIGURES, asked, strict=True))
    return (
        f"At ε = {case['epsilon']:g} and {case['people']:,} people at most {asked[0]:g} and "
        f"{asked[1]:g} are asked: {'met' if met else '**not met**'}."
    )
