"""Pairs: time of a decode by cells and epsilon, and of randomizing and tallying a million."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import figure, table, timed
from benchmarks.summaries import summary
from benchmarks.timing import alternate
from lapwing.decoders import LogDensityPrior

TITLE = "Pairs of two attributes"
FULL: dict[str, Any] = {
    "decodes": [[64, 1], [64, 2], [64, 4], [128, 1], [256, 1]],
    "people": 200_000,
    "repeats": 3,
    "reported": 1_000_000,
    "rounds": 9,
}
QUICK: dict[str, Any] = {
    "decodes": [[16, 1]],
    "people": 20_000,
    "repeats": 1,
    "reported": 20_000,
    "rounds": 2,
}

ASKED = {(64, 1): 2.0, (64, 4): 8.0, (256, 1): 30.0}
"""Target: CPU seconds of a decode by bins of an axis and epsilon."""
ASKED_RATIO = 1.5
"""Target: randomizing and tallying pairs over the same of one attribute of as many people."""

SHAPES = ("two bumps", "thin ridge")


def shape(name: str, bins: int) -> np.ndarray:
    """Return shares of cells: an easy table, and one whose fit takes long."""
    at = (np.arange(bins) + 0.5) / bins
    x, y = at[:, None], at
    if name == "two bumps":
        found = 0.6 * np.exp(-((x - 0.3) ** 2 + (y - 0.35) ** 2) / 0.02)
        found = found + 0.3 * np.exp(-((x - 0.7) ** 2 + (y - 0.6) ** 2) / 0.045)
    else:
        found = np.exp(-((x - 0.35) ** 2) / 0.03 - (y - x - 0.1) ** 2 / 0.00125)
    shares: np.ndarray = found / found.sum()
    return shares


def square(bins: int) -> lw.Product:
    """Return two axes of equal bins."""
    axis = lw.Interval(0, 1, bins=bins, outside="clip")
    return lw.Product(x=axis, y=axis)


def measure(
    *,
    decodes: Sequence[Sequence[int]],
    people: int,
    repeats: int,
    reported: int,
    rounds: int,
) -> dict[str, Any]:
    """Return CPU seconds of decodes with and without intervals, and of reports."""
    return {
        "decodes": [
            _decode(name, bins, epsilon, people=people, repeats=repeats)
            for bins, epsilon in decodes
            for name in SHAPES
        ],
        "reports": _reports(reported, rounds),
    }


def _decode(name: str, bins: int, epsilon: int, *, people: int, repeats: int) -> dict[str, Any]:
    randomizer = lw.randomizers.MultiscaleBoxes(square(bins), epsilon)
    held = np.random.default_rng([bins, epsilon]).multinomial(people, shape(name, bins).ravel())
    tally = lw.simulate(randomizer, held, rng=1)
    spent: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(repeats):
        for band, times in spent.items():
            start = time.process_time()
            LogDensityPrior(band=band).decode(randomizer.channel, tally)
            times.append(time.process_time() - start)
    return {
        "shape": name,
        "bins": bins,
        "epsilon": epsilon,
        "with_intervals": summary(spent[True]),
        "without": summary(spent[False]),
    }


def _reports(people: int, rounds: int) -> dict[str, Any]:
    """Return times of reports of pairs and of one attribute, one after the other."""
    rng = np.random.default_rng(1)
    first, second = rng.beta(5, 2, people), rng.beta(2, 2, people)
    pairs = lw.randomizers.MultiscaleBoxes(square(64), 1)
    wave = lw.MultiscaleWave(lw.Interval(0, 1, bins=64, outside="clip"), 1)
    columns = {"x": first, "y": second}
    works: dict[str, Callable[[], object]] = {
        "pairs": lambda: pairs.tally(pairs.randomize(columns)),
        "one attribute": lambda: wave.tally(wave.randomize(first)),
    }
    return {name: spent.summaries() for name, spent in alternate(works, rounds=rounds).items()}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the times beside what is asked."""
    lines = [
        [
            f"{one['bins']} x {one['bins']}",
            f"{one['epsilon']:g}",
            one["shape"],
            timed(one["with_intervals"]),
            timed(one["without"]),
            f"{ASKED[key]:g}" if (key := (one["bins"], one["epsilon"])) in ASKED else "",
        ]
        for one in measured["decodes"]
    ]
    reports = measured["reports"]
    cpu = {name: one["cpu"]["median"] for name, one in reports.items()}
    return "\n\n".join(
        [
            f"CPU seconds of `LogDensityPrior` after {settings['people']:,} people's reports, on "
            "one core.",
            table(
                ["cells", "ε", "people", "with intervals", "without", "target: at most"],
                lines,
                texts=3,
            ),
            f"Randomizing and tallying {settings['reported']:,} people at ε = 1, paired: a pair "
            "of 64 x 64 cells with `MultiscaleBoxes`, and the first attribute alone with "
            f"`MultiscaleWave`. Target: at most {ASKED_RATIO:g} times.",
            table(
                ["pairs", "one attribute", "times"],
                [
                    [
                        timed(reports["pairs"]["cpu"]),
                        timed(reports["one attribute"]["cpu"]),
                        figure(cpu["pairs"] / cpu["one attribute"]),
                    ]
                ],
                texts=0,
            ),
        ]
    )
