"""How often a watch ever reports a change where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import table
from lapwing.survey.watch import needed

TITLE = "A watch over weeks without a change"

SETTINGS: list[list[Any]] = [
    ["multiscale-wave", 16, 0.5, 1_000],
    ["multiscale-wave", 16, 1, 1_000],
    ["multiscale-wave", 32, 1, 10_000],
    ["multiscale-wave", 64, 2, 10_000],
    ["square-wave", 32, 1, 2_000],
    ["square-wave", 32, 4, 2_000],
    ["labels", 8, 1, 2_000],
    ["epsilon 1 and 4 in turn", 32, 1, 2_000],
]
"""Randomizer, bins or labels, epsilon and people a week."""

FULL: dict[str, Any] = {"repeats": 150, "weeks": 16, "settings": SETTINGS}
QUICK: dict[str, Any] = {"repeats": 2, "weeks": 4, "settings": SETTINGS[1::5]}

ALPHAS = (0.05, 0.2, 0.5)

_NEVER = 1e-12
"""An alpha at which nothing is reported, so that one series shows the evidence for any alpha."""


def measure(*, repeats: int, weeks: int, settings: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return in how many still series the evidence ever reaches what a first report needs."""
    found = []
    for number, (way, size, epsilon, people) in enumerate(settings):
        largest = [
            _largest_evidence(way, size, epsilon, people, weeks=weeks, seed=[number, repeat])
            for repeat in range(repeats)
        ]
        reported = [sum(each >= needed(alpha, 1) for each in largest) for alpha in ALPHAS]
        found.append({"largest": max(largest), "reported": reported})
    return {"settings": found}


def _largest_evidence(
    way: str, size: int, epsilon: float, people: int, *, weeks: int, seed: list[int]
) -> float:
    """Return the largest evidence of one still series: its weeks are drawn from one density."""
    rng = np.random.default_rng([*seed, 5])
    surveys = [_survey(way, size, epsilon)]
    if way.endswith("in turn"):
        surveys.append(_survey("square-wave", size, 4 * epsilon))
    mass = rng.dirichlet(np.ones(size))
    if way != "labels":
        place = (np.arange(size) + 0.5) / size
        mass = place ** rng.uniform(0, 4) * (1 - place) ** rng.uniform(0, 4)
    mass = mass / mass.sum()
    watch, largest = lw.Watch(alpha=_NEVER), 0.0
    for week in range(weeks):
        survey = surveys[week % len(surveys)]
        counts = rng.multinomial(people, mass)
        tally = lw.simulate(survey.randomizer, counts, rng=int(rng.integers(2**62)))
        watch, noticed = watch.look((survey, tally))
        largest = max(largest, noticed.evidence)
    return largest


def _survey(way: str, size: int, epsilon: float) -> lw.Survey:
    if way == "labels":
        return lw.Survey(
            "still", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(size), epsilon)
        )
    domain = lw.Interval(0, 1, bins=size, outside="clip")
    kind = lw.MultiscaleWave if way == "multiscale-wave" else lw.SquareWave
    return lw.Survey("still", kind(domain, epsilon))


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return how many series were reported, beside how many may be."""
    repeats = settings["repeats"]
    rows = []
    for (way, size, epsilon, people), one in zip(
        settings["settings"], measured["settings"], strict=True
    ):
        shares = [f"{100 * count / repeats:.1f}" for count in one["reported"]]
        rows.append([way, str(size), f"{epsilon:g}", f"{people:,}", *shares])
    every = np.sum([one["reported"] for one in measured["settings"]], axis=0)
    series = repeats * len(rows)
    rows.append(["all", "", "", "", *(f"{100 * count / series:.1f}" for count in every)])
    header = ["randomizer", "bins or labels", "epsilon", "people a week"]
    header += [f"% at alpha {alpha:g}" for alpha in ALPHAS]
    return "\n\n".join(
        [
            f"{repeats} series of {settings['weeks']} weeks without any change. The table has the "
            "percentage of series in which a watch reported a change in any week. The probability "
            "that the first report is false may be alpha / 2, and that any one is false alpha.",
            table(header, rows, texts=1),
        ]
    )
