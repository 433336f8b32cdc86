"""Designs for a share, a histogram and a mean, compared with the default on the same people."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local import paired_errors as paired
from benchmarks.accuracy.local.fresh_columns import DENSITIES, drawn
from benchmarks.markdown import table
from lapwing.errors import LapwingWarning
from lapwing.planning.question_design import FINE_EPSILON, question_design
from lapwing.privacy.exact_numbers import exact_epsilon
from lapwing.questions import Curve, Histogram, Mean, Question, Share

TITLE = "Designs for questions"

COLUMNS = [
    "acs_income",
    "sf_base_pay",
    "sf_benefits",
    "airbnb_nyc",
    *[*DENSITIES][:4],
]
"""Named before anything was measured. No design was tuned on them."""

FULL: dict[str, Any] = {
    "epsilons": [0.5, 1, 2, 4, 8],
    "people": [20_000, 200_000],
    "repeats": 20,
    "seeds": [0, 1],
    "columns": COLUMNS,
}
QUICK: dict[str, Any] = {
    "epsilons": [4],
    "people": [20_000],
    "repeats": 2,
    "seeds": [0],
    "columns": ["ramp"],
}

BINS = 256

GOALS: dict[str, str] = {
    "share": ".45 (.35), .45 (.30), .35 (.30), .40 (.25), .15 (.15)",
    "share and curve": ".75 (.6), .65 (.55), .6 (.5), .55 (.5), .5 (.4)",
    "histogram": ".85 (.65), .78 (.60), .62 (.48), .48 (.35), .30 (.30)",
    "histogram and curve": ".90, .86, .72, .58, .70",
    "mean": "1 (.8), 1 (.7), .97 (.6), .80 (.45), .60 (.2)",
}
"""Ratios of errors (of widths) to reach at epsilon 0.5, 1, 2, 4 and 8. Of shares, at 200,000."""

_FINE = 4096
"""Bins for a mean, as `recommend` chooses them from epsilon 8 on, and half of them below."""


def measure(
    *,
    epsilons: Sequence[float],
    people: Sequence[int],
    repeats: int,
    seeds: Sequence[int],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return errors and widths of each design and of the default, by question and cell."""
    return {
        "cells": [
            {"epsilon": epsilon, "people": number, "column": name}
            | joined([_cell(name, epsilon, number, repeats, seed) for seed in seeds])
            for epsilon in epsilons
            for number in people
            for name in columns
        ]
    }


def joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one cell from cells of other seeds, each of as many repeats."""
    return {
        "questions": {
            key: {
                which: {
                    figure: math.sqrt(np.mean(np.square(values)))
                    if figure == "rmse"
                    else float(np.mean(values))
                    for figure in parts[0]["questions"][key][which]
                    for values in [[part["questions"][key][which][figure] for part in parts]]
                }
                for which in ("own", "default")
            }
            for key in parts[0]["questions"]
        }
    }


def _counts(name: str, people: int) -> Any:
    """Return a column of so many people in fine bins, drawn once with replacement."""
    fine = drawn(name, bins=_FINE) if name in DENSITIES else paired.real(name, bins=_FINE)
    rng = np.random.default_rng([crc32(name.encode()), people])
    return rng.multinomial(people, fine.counts / fine.people)


def _cell(name: str, epsilon: float, people: int, repeats: int, seed: int) -> dict[str, Any]:
    fine = _counts(name, people)
    if epsilon < FINE_EPSILON:
        fine = fine.reshape(_FINE // 2, -1).sum(axis=1)
    coarse = fine.reshape(BINS, -1).sum(axis=1)
    below = np.cumsum(coarse) / people
    edges = [(int(np.argmax(below >= level)) + 1) / BINS for level in (0.5, 0.75)]
    shares = [Share(above=min(max(edge, 1 / BINS), 1 - 1 / BINS)) for edge in edges]
    sixteen = Histogram(bins=16)
    many = _FINE if epsilon >= FINE_EPSILON else _FINE // 2
    domain, wide = (lw.Interval(0, 1, bins=bins, outside="clip") for bins in (BINS, many))
    asked: dict[str, tuple[lw.Interval, list[Question], Sequence[Question]]] = {
        f"share {number}": (domain, [share], [share]) for number, share in enumerate(shares)
    }
    asked["share and curve"] = domain, [shares[0], Curve()], [shares[0]]
    asked["histogram"] = domain, [sixteen], [sixteen]
    asked["histogram and curve"] = domain, [sixteen, Curve()], [sixteen]
    asked["mean"] = wide, [Mean()], [Mean()]
    found: dict[str, Any] = {}
    rng = np.random.default_rng([crc32(name.encode()), people, round(1000 * epsilon), seed])
    usual = [_answers(lw.MultiscaleWave(domain, epsilon), coarse, rng) for _ in range(repeats)]
    for key, (laid, questions, measured) in asked.items():
        chosen = question_design(laid, exact_epsilon(epsilon), questions, users=people)
        design = lw.MultiscaleWave(laid, epsilon, components=chosen.components)
        counts = fine if laid is wide else coarse
        own = [_answers(design, counts, rng) for _ in range(repeats)]
        truth = lw.Distribution.of_counts(counts, laid)
        flat = lw.Distribution.of_counts(coarse, domain)
        (question,) = measured
        found[key] = {
            "own": _figures(own, truth, question),
            "default": _figures(usual, truth if question != Mean() else flat, question),
        }
    return {"questions": found}


def _answers(randomizer: Any, counts: Any, rng: np.random.Generator) -> lw.Distribution:
    tally = lw.simulate(randomizer, counts, rng=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        return lw.SpectralPrior().decode(randomizer.channel, tally)


def _figures(
    results: list[lw.Distribution], truth: lw.Distribution, question: Question
) -> dict[str, float]:
    """Return the RMSE of a question, the mean width and coverage of its intervals, and W1."""
    known = np.atleast_1d(truth.answer(question).value)
    errors, widths, inside, distances = [], [], [], []
    for result in results:
        answer = result.answer(question)
        low, high = np.atleast_1d(answer.low), np.atleast_1d(answer.high)
        errors.append(np.mean(np.square(np.atleast_1d(answer.value) - known)))
        widths.append(np.mean(high - low))
        inside.append(np.mean((low <= known) & (known <= high)))
        distances.append(lw.distances.wasserstein(result, truth, grid=BINS))
    return {
        "rmse": math.sqrt(np.mean(errors)),
        "width": float(np.mean(widths)),
        "coverage": float(np.mean(inside)),
        "w1": float(np.mean(distances)),
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return a row for each question, epsilon and number of people. Both shares are in one row."""
    lines = []
    for key, goals in GOALS.items():
        goal = dict(zip((0.5, 1, 2, 4, 8), goals.split(", "), strict=True))
        for epsilon in settings["epsilons"]:
            for people in settings["people"]:
                here = [
                    one
                    for cell in measured["cells"]
                    if (cell["epsilon"], cell["people"]) == (epsilon, people)
                    for name, one in cell["questions"].items()
                    if name.rstrip("01 ") == key
                ]
                if not here:
                    continue
                ratios = [_ratio(here, figure) for figure in ("rmse", "width", "w1")]
                coverage = [100 * one["own"]["coverage"] for one in here]
                shown = f"{np.mean(coverage):.0f}%, {min(coverage):.0f}%"
                reach = "" if key.startswith("share") and people < 200_000 else goal[epsilon]
                lines.append([key, f"{epsilon:g}", f"{people:,}", *ratios, reach, shown])
    heads = ["question", "ε", "people", "error", "width", "W1 of the curve", "goal", "coverage"]
    return "\n\n".join(
        [
            f"{len(settings['columns'])} columns ({', '.join(settings['columns'])}), "
            f"{settings['repeats'] * len(settings['seeds'])} repeats. "
            "Shares are above median and upper quartile, the histogram has 16 equal cells. "
            "A figure is that of the recommended design over that of the default on 256 bins. "
            "Shown is the geometric mean over the columns, with its standard error. The error is "
            "the root mean square about the people in the data. The width is that of the 95% "
            "interval. Coverage is of the design's own intervals, in the mean and on the worst "
            "column. A goal is for the error (for the width).",
            table(heads, lines, texts=1),
        ]
    )


def _ratio(cells: list[dict[str, Any]], figure: str) -> str:
    logs = np.log([cell["own"][figure] / cell["default"][figure] for cell in cells])
    mean = math.exp(logs.mean())
    if logs.size < 2:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {mean * logs.std(ddof=1) / math.sqrt(logs.size):.2f}"
