"""The default asked at 256, 1024 and 4096 bins, read at the 256 common edges, beside EMS."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local import paired_errors as paired
from benchmarks.accuracy.local.methods import EMS, Method
from benchmarks.accuracy.local.paired_errors import OURS, Crowd
from benchmarks.accuracy.papers.figure_columns import coarser
from benchmarks.markdown import table
from benchmarks.summaries import ratio_of_means
from lapwing.errors import LapwingWarning

TITLE = "The same people at any number of bins"

FULL: dict[str, Any] = {
    "repeats": 30,
    "bins": [256, 1024, 4096],
    "epsilons": [0.5, 1, 2, 4],
    "groups": {
        "six columns": [
            "taxi",
            "acs_income",
            "sf_base_pay",
            "sf_benefits",
            "kitti_yaw",
            "airbnb_nyc",
        ],
        "twelve fresh columns": [
            "sf_retirement",
            "airbnb_us",
            "taxi_2020",
            "flights_departure",
            "flights_distance",
            "flights_delay",
            "adult_age",
            "adult_hours",
            "adult_weight",
            "adult_capital_gain",
            "house_price",
            "house_area",
        ],
    },
}
QUICK: dict[str, Any] = FULL | {
    "repeats": 2,
    "epsilons": [2],
    "bins": [256, 1024],
    "groups": {"one column": ["sf_base_pay"]},
}

ASKED = {
    "beside fewest": (1.02, 1.03),
    256: (0.55, 0.24),
    1024: (0.70, 0.34),
    4096: (0.68, 0.42),
}
"""W1 and KS asked: of any number of bins beside the fewest, and beside EMS on the six columns."""

WAVE = Method("square wave, EMS", lw.SquareWave, EMS)

FIGURES = ("w1", "ks", "ks_own")
"""At the edges of the fewest bins, and KS at the edges of those that people were asked about."""

Errors = dict[str, list[float]]


def measure(
    *,
    repeats: int,
    bins: Sequence[int],
    epsilons: Sequence[float],
    groups: dict[str, Sequence[str]],
) -> dict[str, Any]:
    """Return the ratios of every column and epsilon, for every number of bins.

    The people stay; reports are drawn anew for every repeat and number of bins.
    """
    found = []
    for group, names in groups.items():
        for name in names:
            crowd = paired.real(name, bins=max(bins))
            for epsilon in epsilons:
                ratios = _cell(crowd, epsilon, bins=bins, repeats=repeats)
                found.append({"group": group, "column": name, "epsilon": epsilon, **ratios})
    return {"cells": found}


def _cell(crowd: Crowd, epsilon: float, *, bins: Sequence[int], repeats: int) -> dict[str, Any]:
    """Return the errors at every number of bins beside those at the fewest, and beside EMS's."""
    fewest = min(bins)
    made = {
        number: [
            _errors(method, crowd, epsilon, bins=number, edges=fewest, repeats=repeats)
            for method in (OURS, WAVE)
        ]
        for number in bins
    }
    few = made[fewest][0]
    beside_fewest, beside_ems = {}, {}
    for number, (ours, ems) in made.items():
        if number != fewest:
            beside_fewest[str(number)] = {
                key: ratio_of_means(ours[key], few[key]) for key in ("w1", "ks")
            }
        beside_ems[str(number)] = {key: ratio_of_means(ours[key], ems[key]) for key in FIGURES}
    return {"beside_fewest": beside_fewest, "beside_ems": beside_ems}


def _errors(
    method: Method, crowd: Crowd, epsilon: float, *, bins: int, edges: int, repeats: int
) -> Errors:
    """Return figure -> an error per repeat."""
    held = coarser(crowd.counts, bins)
    plain = lw.Interval(0, 1, bins=bins, outside="clip")
    truth = lw.Distribution.of_counts(held, plain).cumulative
    turns = crowd.circular and method is OURS
    randomizer = method.randomizer(
        lw.Interval(0, 1, bins=bins, circular=turns, outside="clip"), epsilon
    )
    found: Errors = {figure: [] for figure in FIGURES}
    for repeat in range(repeats):
        # Every cell has randomness of its own, so that errors of different cells are independent.
        cell = [crc32(crowd.name.encode()), round(1000 * epsilon), bins, int(method is OURS)]
        rng = np.random.default_rng([repeat, *cell])
        tally = lw.simulate(randomizer, held, rng=rng)
        with warnings.catch_warnings():
            # Weak answers are part of the comparison.
            warnings.simplefilter("ignore", LapwingWarning)
            answer = method.decoder.decode(randomizer.channel, tally)
        found["w1"].append(lw.distances.wasserstein(answer, truth, grid=edges))
        found["ks"].append(lw.distances.kolmogorov_smirnov(answer, truth, grid=edges))
        found["ks_own"].append(lw.distances.kolmogorov_smirnov(answer, truth, grid=bins))
    return found


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the means over all cells, by group and number of bins."""
    fewest = min(settings["bins"])
    lines = []
    for group in settings["groups"]:
        cells = [cell for cell in measured["cells"] if cell["group"] == group]
        for number in settings["bins"]:
            row = [group, str(number)]
            for key in ("w1", "ks"):
                few = [c["beside_fewest"].get(str(number), {}).get(key) for c in cells]
                row.append("" if number == fewest else paired.told(paired.mean_ratio(few)))
            for key in FIGURES:
                row.append(
                    paired.told(
                        paired.mean_ratio([c["beside_ems"][str(number)][key] for c in cells])
                    )
                )
            lines.append(row)
    asked = "; ".join(
        f"{number} bins {w1:g} and {ks:g}"
        for number, (w1, ks) in ASKED.items()
        if isinstance(number, int)
    )
    w1, ks = ASKED["beside fewest"]
    head = ["columns", "bins", f"W1 beside {fewest}", f"KS beside {fewest}"]
    return "\n\n".join(
        [
            f"The default asked at several numbers of bins, {settings['repeats']} repeats, ε "
            f"{', '.join(f'{epsilon:g}' for epsilon in settings['epsilons'])}: its errors at the "
            f"{fewest} common edges as parts of those of the same people asked at {fewest} bins, "
            "and as parts of EMS's on one square wave at the same bins; KS also at all edges of "
            "the bins asked about. Geometric means.",
            table([*head, "W1 to EMS", "KS to EMS", "KS to EMS, own edges"], lines, texts=1),
            f"Target: at most {w1:g} and {ks:g} beside {fewest} bins; W1 and KS beside EMS on the "
            f"six columns {asked}.",
        ]
    )
