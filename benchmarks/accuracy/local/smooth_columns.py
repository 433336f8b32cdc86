"""Smooth columns at large epsilon: the default and an adaptive survey beside EMS on one wave."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.local import paired_errors as paired
from benchmarks.accuracy.local.fresh_columns import DENSITIES, drawn
from benchmarks.accuracy.local.methods import EMS
from benchmarks.accuracy.local.paired_errors import FIGURES, Crowd
from benchmarks.markdown import table
from lapwing.errors import LapwingWarning
from lapwing.planning.planned_parts import next_randomizer
from lapwing.survey.joint_decoding import joined

TITLE = "Smooth columns at large epsilon, and an adaptive survey"

SMOOTH = ["taxi", "vonmises", "gamma", "two_hills"]
SPIKY = ["acs_income", "sf_base_pay"]

FULL: dict[str, Any] = {
    "epsilons": [2, 4],
    "first": 0.25,
    "cases": [
        {"group": "smooth", "bins": 256, "repeats": 48, "columns": SMOOTH},
        {"group": "spiky", "bins": 256, "repeats": 24, "columns": SPIKY},
        {"group": "smooth", "bins": 1024, "repeats": 5, "columns": SMOOTH},
    ],
}
QUICK: dict[str, Any] = FULL | {
    "cases": [
        {"group": "smooth", "bins": 256, "repeats": 3, "columns": ["vonmises"]},
        {"group": "spiky", "bins": 256, "repeats": 3, "columns": ["sf_base_pay"]},
    ],
}

ASKED = 1.05
"""The lower 95% bound of the worst W1 beside EMS on smooth columns, at most."""

_BOUND = 1.645

PEOPLE = 200_000
"""Of a made-up column."""

Vector = NDArray[np.float64]
Errors = dict[str, dict[str, list[float]]]


def _gamma(x: Vector) -> Vector:
    return x**2 * np.exp(-9 * x)


def _two_hills(x: Vector) -> Vector:
    hills = 0.6 * np.exp(-0.5 * ((x - 0.3) / 0.11) ** 2) / 0.11
    return hills + 0.4 * np.exp(-0.5 * ((x - 0.72) / 0.09) ** 2) / 0.09


MADE_UP: dict[str, Callable[[Vector], Vector]] = {"gamma": _gamma, "two_hills": _two_hills}
"""Densities that no table or constant was chosen on."""


@dataclass(frozen=True)
class _Asked:
    """How one cell is asked.

    Parameters
    ----------
    bins : int
    epsilon : float
    first : float
        Part of the people who answer in the first epoch.
    repeats : int
    """

    bins: int
    epsilon: float
    first: float
    repeats: int


def measure(
    *, epsilons: Sequence[float], first: float, cases: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the ratios of default and adaptive survey to EMS, and of one to the other.

    The people stay; reports, and who answers first, are drawn anew for every repeat.
    """
    found = []
    for case in cases:
        bins = case["bins"]
        for name in case["columns"]:
            crowd = _crowd(name, bins)
            for epsilon in epsilons:
                asked = _Asked(bins, epsilon, first, case["repeats"])
                cell = {"group": case["group"], "column": name, "bins": bins, "epsilon": epsilon}
                found.append(cell | {"people": crowd.people} | _ratios(_errors(crowd, asked)))
    return {"cells": found}


def _crowd(name: str, bins: int) -> Crowd:
    if name in DENSITIES:
        return drawn(name, bins=bins)
    if name not in MADE_UP:
        return paired.real(name, bins=bins)
    density = MADE_UP[name]((np.arange(bins) + 0.5) / bins)
    rng = np.random.default_rng(list(name.encode()))
    counts = rng.multinomial(PEOPLE, density / density.sum())
    return Crowd(name, counts, False, "drawn once from a made-up density")


def _ratios(errors: Errors) -> dict[str, Any]:
    pairs = {"default": ("default", "ems"), "adaptive": ("adaptive", "ems")}
    pairs["adaptive_to_default"] = ("adaptive", "default")
    return {key: paired.compared(errors, one, other) for key, (one, other) in pairs.items()}


def _errors(crowd: Crowd, asked: _Asked) -> Errors:
    """Return method -> figure -> an error per repeat."""
    plain = lw.Interval(0, 1, bins=asked.bins, outside="clip")
    domain = lw.Interval(0, 1, bins=asked.bins, circular=crowd.circular, outside="clip")
    truth = lw.Distribution.of_counts(crowd.counts, plain).cumulative
    wave = lw.SquareWave(plain, asked.epsilon)
    ladder = lw.MultiscaleWave(domain, asked.epsilon)
    ours = lw.SpectralPrior(band=False)
    found: Errors = {
        name: {figure: [] for figure in FIGURES} for name in ("ems", "default", "adaptive")
    }

    def keep(name: str, answer: lw.Distribution) -> None:
        found[name]["w1"].append(lw.distances.wasserstein(answer, truth, grid=256))
        found[name]["ks"].append(lw.distances.kolmogorov_smirnov(answer, truth, grid=256))

    for repeat in range(asked.repeats):
        cell = [crc32(crowd.name.encode()), round(1000 * asked.epsilon), asked.bins]
        rng = np.random.default_rng([repeat, *cell])
        with warnings.catch_warnings():
            # Weak answers are part of the comparison.
            warnings.simplefilter("ignore", LapwingWarning)
            keep("ems", EMS.decode(wave.channel, lw.simulate(wave, crowd.counts, rng=rng)))
            tally = lw.simulate(ladder, crowd.counts, rng=rng)
            keep("default", ours.decode(ladder.channel, tally))
            keep("adaptive", _adaptive(ladder, crowd, asked, rng))
    return found


def _adaptive(
    ladder: lw.MultiscaleWave, crowd: Crowd, asked: _Asked, rng: np.random.Generator
) -> lw.Distribution:
    """Return the answer of two epochs, the second of which the first one's answer chose."""
    ours = lw.SpectralPrior(band=False)
    number = round(asked.first * crowd.people)
    early = rng.multivariate_hypergeometric(crowd.counts, number, method="marginals")
    first = lw.simulate(ladder, early, rng=rng)
    answer = ours.decode(ladder.channel, first)
    chosen = next_randomizer(ladder, answer, users=crowd.people - number)
    second = lw.simulate(chosen, crowd.counts - early, rng=rng)
    return ours.decode(*joined([(ladder.channel, first), (chosen.channel, second)]))


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return a row for every column, number of bins and epsilon, and the worst smooth ones."""
    lines = []
    for cell in measured["cells"]:
        row = [cell["column"], str(cell["bins"]), f"{cell['epsilon']:g}", f"{cell['people']:,}"]
        for key in ("default", "adaptive", "adaptive_to_default"):
            row += [paired.told(cell[key][figure]) for figure in FIGURES]
        lines.append(row)
    head = ["column", "bins", "ε", "people"]
    for name in ("default to EMS", "adaptive to EMS", "adaptive to default"):
        head += [f"W1, {name}", f"KS, {name}"]
    said = []
    for case in settings["cases"]:
        for key in ("default", "adaptive"):
            said.append(_said(measured["cells"], key, case["group"], case["bins"]))
    number = ", ".join(
        f"{case['repeats']} of {case['group']} columns at {case['bins']} bins"
        for case in settings["cases"]
    )
    return "\n\n".join(
        [
            f"Repeats: {number}. EMS decodes one square wave at the same bins. In the adaptive "
            f"survey {settings['first']:.0%} of the people answer by the default; their answer "
            "chooses the parts by which the others do, and both are decoded together. Errors at "
            "the 256 common edges; ratios of means with standard errors.",
            table(head, lines, texts=3),
            f"W1 beside EMS, and the worst cell by its lower 95% bound (one side; asked of smooth "
            f"columns: at most {ASKED:g}): " + "; ".join(said) + ".",
            "Adaptive beside default, geometric means: "
            + "; ".join(_gained(measured["cells"], case) for case in settings["cases"])
            + ".",
        ]
    )


def _said(cells: Sequence[dict[str, Any]], key: str, group: str, bins: int) -> str:
    """Return mean and worst cell of one way at one number of bins."""
    some = [cell for cell in cells if (cell["group"], cell["bins"]) == (group, bins)]
    worst = max(some, key=lambda cell: _lower(cell[key]["w1"]))
    return (
        f"{key} on {group} ones at {bins} bins: mean "
        f"{paired.told(paired.mean_ratio([cell[key]['w1'] for cell in some]))}, worst "
        f"{worst['column']} at ε {worst['epsilon']:g} with {_lower(worst[key]['w1']):.3f}"
    )


def _gained(cells: Sequence[dict[str, Any]], case: dict[str, Any]) -> str:
    """Return what two epochs have of the default's W1 and largest gap, over the cells of a case."""
    some = [one for one in cells if (one["group"], one["bins"]) == (case["group"], case["bins"])]
    means = (
        paired.mean_ratio([one["adaptive_to_default"][key] for one in some]) for key in FIGURES
    )
    w1, gap = (paired.told(mean) for mean in means)
    return f"W1 {w1} and KS {gap} on {case['group']} ones at {case['bins']} bins"


def _lower(ratio: dict[str, float]) -> float:
    return ratio["ratio"] - _BOUND * ratio["standard_error"]
