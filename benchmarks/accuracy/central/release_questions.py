"""Released answers against the textbook mechanism of each question, at the same pure epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.bands.default_release_bands import masses
from benchmarks.markdown import table
from lapwing.mechanisms.question_draws import QuestionDraws, budget_shares
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.questions import read
from lapwing.results.released_answers import answer_released

TITLE = "Answers to questions, released"
COLUMNS = [
    *("lognormal", "multimodal", "whole numbers, combs", "zeros and a tail"),
    "two atoms",
]
ASKED = ["mean", "quantile 0.5", "quantile 0.9", "share above 50", "histogram bins 8"]
FULL: dict[str, Any] = {
    "columns": COLUMNS,
    "relations": ["replace-one", "add-or-remove-one"],
    "settings": [[300, "0.1"], [300, "1"], [3000, "1"], [20000, "1"]],
    "asked": ASKED,
    "draws": 60,
    "releases": 2,
}
QUICK: dict[str, Any] = {
    "columns": ["lognormal"],
    "relations": ["replace-one"],
    "settings": [[300, "1"]],
    "asked": ["mean", "quantile 0.5"],
    "draws": 8,
    "releases": 1,
}

BINS = 256
LENGTH = 100

AT_ONCE = 6
"""Processes. No time is measured."""


def measure(
    *,
    columns: Sequence[str],
    relations: Sequence[str],
    settings: Sequence[tuple[int, str]],
    asked: Sequence[str],
    draws: int,
    releases: int,
) -> dict[str, Any]:
    """Return errors of answers and of the textbook mechanism, and how often intervals hold.

    releases: Releases of the curve, with which answers are compared.
    """
    places = [*product(relations, settings, columns)]
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn")) as pool:
        cells = [
            pool.submit(_cell, relation, people, epsilon, column, question, draws)
            for question in asked
            for relation, (people, epsilon), column in places
        ]
        beside = [
            pool.submit(_beside, relation, people, epsilon, column, releases, draws)
            for relation, (people, epsilon), column in places
        ]
        return {
            "cells": [cell.result() for cell in cells],
            "beside the curve": [cell.result() for cell in beside],
        }


def _beside(
    relation: Any, people: int, epsilon: str, column: str, releases: int, draws: int
) -> dict[str, Any]:
    """Return errors of the curve, of the curve with a mean, and of one question, with delta also.

    Errors are root mean squares. Those of the curve are the largest of its CDF.
    """
    seed = crc32(repr((relation, people, epsilon, column)).encode())
    values = _values(column, people, seed)
    cell = {"relation": relation, "people": people, "epsilon": epsilon, "column": column}
    domain = Interval(0, LENGTH, bins=BINS, outside="clip")
    edges = domain.bin_edges[1:]
    curve = np.searchsorted(np.sort(values), edges, side="right") / values.size
    medians, means = _truth(values, "quantile 0.5")[0], _truth(values, "mean")[0]
    found: dict[str, list[float]] = {}

    def add(name: str, value: Any, truth: float) -> None:
        if value is not None:
            found.setdefault(name, []).append(float(value) - truth)

    for repeat in range(releases):
        for delta in ("0", "1e-6")[: 1 + (repeat == 0)]:
            given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbors": relation}
            alone = lw.release(values, domain, **given, rng=seeded(seed + repeat))
            result, word = alone.distribution, "delta, " if delta != "0" else ""
            median = result.answer("quantile 0.5")
            add(f"{word}curve, median", median.value, medians)
            add(f"{word}curve, mean", result.answer("mean").value, means)
            if delta != "0":
                continue
            ends = max(0.0, float(median.low)), min(float(median.high), LENGTH)
            add("curve, width of the median", ends[1] - ends[0], 0)
            add("curve, KS", np.abs(result.cdf(edges) - curve).max(), 0)
            asked = ["mean", "curve"]
            both: Any = lw.release(
                values, domain, **given, questions=asked, rng=seeded(seed + repeat)
            )
            add("half, mean", both.answer("mean").value, means)
            add("half, KS", np.abs(both.distribution.cdf(edges) - curve).max(), 0)
    promise = Promise(relation, epsilon=epsilon, delta="1e-6")
    for question, truth in (("quantile 0.5", medians), ("mean", means)):
        planned = QuestionDraws(
            domain.for_curator(), promise, budget_shares([read(question)], None)
        )
        counts, source = ExactCounts.of_values(values, planned.counted), seeded(seed)
        for _ in range(draws // 2):
            answer = answer_released(planned.draw(counts, source), question)
            name = "delta, median" if question.startswith("quantile") else "delta, mean"
            add(name, answer.value, truth)
    return cell | {
        name: float(np.sqrt(np.mean(np.square(errors)))) for name, errors in found.items()
    }


def _values(column: str, people: int, seed: int) -> NDArray[np.float64]:
    """Return values in the middles of bins, so that no mechanism gains by a finer grid."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(people, masses(column, BINS))
    middles = (np.arange(BINS) + 0.5) * LENGTH / BINS
    found: NDArray[np.float64] = np.repeat(middles, counts)
    return found


def _cell(
    relation: Any, people: int, epsilon: str, column: str, question: str, draws: int
) -> dict[str, Any]:
    seed = crc32(repr((relation, people, epsilon, question, column)).encode())
    values = _values(column, people, seed)
    domain = Interval(0, LENGTH, bins=BINS, outside="clip").for_curator()
    promise = Promise(relation, epsilon=epsilon)
    planned = QuestionDraws(domain, promise, budget_shares([read(question)], None))
    counts = ExactCounts.of_values(values, planned.counted)
    truth = _truth(values, question)
    source, rng = seeded(seed), np.random.default_rng(seed + 1)
    squares, widths, held, absent, others = [], [], [], 0, []
    for _ in range(draws):
        answer = answer_released(planned.draw(counts, source), question)
        low, high = np.atleast_1d(answer.low), np.atleast_1d(answer.high)
        held.append(np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)))
        widths.append(float(np.mean(np.minimum(high, LENGTH) - np.maximum(low, 0))))
        point = None if answer.value is None else np.atleast_1d(answer.value)
        if point is None or np.isnan(point).any():
            absent += 1
        else:
            squares.append(float(np.mean((point - truth) ** 2)))
        other = textbook(values, question, relation, float(epsilon), rng)
        others.append(float(np.mean((other - truth) ** 2)))
    error = float(np.sqrt(np.mean(squares))) if squares else None
    return {
        "relation": relation,
        "people": people,
        "epsilon": epsilon,
        "question": question,
        "column": column,
        "error": error,
        "textbook": float(np.sqrt(np.mean(others))),
        "coverage": float(np.mean(held)),
        "width": float(np.mean(widths)),
        "without a point": absent / draws,
    }


def _truth(values: NDArray[np.float64], question: str) -> NDArray[np.float64]:
    kind, _, rest = question.partition(" ")
    if kind == "mean":
        return np.array([values.mean()])
    if kind == "quantile":
        return np.array([np.quantile(values, float(rest), method="inverted_cdf")])
    if kind == "share":
        return np.array([np.mean(values > LENGTH / 2)])
    cells: NDArray[np.float64] = np.histogram(values, 8, (0, LENGTH))[0] / values.size
    return cells


def textbook(
    values: NDArray[np.float64], question: str, relation: str, epsilon: float, rng: Any
) -> NDArray[np.float64]:
    """Return what the simplest mechanism gives with all of epsilon, for known people.

    Laplace noise on the clipped sum or on counts, and the exponential mechanism on the bins.
    """
    people, replaced = values.size, 2 if relation == "replace-one" else 1
    if question == "mean":
        return np.array([values.mean() + rng.laplace(0, LENGTH / epsilon) / people])
    truth = _truth(values, question)
    if question.startswith("share"):
        return np.asarray(truth + rng.laplace(0, 1 / epsilon) / people)
    if question.startswith("histogram"):
        return np.asarray(truth + rng.laplace(0, replaced / epsilon, truth.size) / people)
    probability = float(question.partition(" ")[2])
    counts = np.histogram(values, BINS, (0, LENGTH))[0]
    upto = np.cumsum(np.append(0, counts))
    rank = probability * people
    distance = np.maximum(0, np.maximum(upto[:-1] - rank, rank - upto[1:]))
    moved = 1.0 if replaced == 2 else max(probability, 1 - probability)
    chosen = np.argmax(rng.gumbel(size=BINS) - epsilon * distance / (2 * moved))
    return np.array([(chosen + 0.5) * LENGTH / BINS])


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return ratios to the textbook mechanism, and the coverage of intervals."""
    cells, rows = measured["cells"], []
    for (people, epsilon), question in product(settings["settings"], settings["asked"]):
        row: list[str] = [f"{people:,}", epsilon, question]
        for relation in settings["relations"]:
            here = [
                cell
                for cell in cells
                if (cell["people"], cell["epsilon"], cell["question"], cell["relation"])
                == (people, epsilon, question, relation)
            ]
            row += _texts(here)
        rows.append(row)
    head = ["people", "ε", "question"]
    for relation in settings["relations"]:
        head += [f"{relation}: error", "coverage, least", "width"]
    return "\n\n".join(
        [
            "Root mean square error of a released answer over that of the textbook mechanism with "
            "all of the same pure ε: Laplace noise on the clipped sum and on counts of known "
            "people, and the exponential mechanism on 256 bins for quantiles. Geometric mean over "
            f"{len(settings['columns'])} columns, {settings['draws']} draws each. Coverage of the "
            "95% intervals in the mean over columns, and in the worst of them. Width as a share "
            "of the range. Where more than half of the answers of a column have no point, because "
            "there are too few people, the error is left out. Errors of quantiles are counted "
            "as a quarter of a bin at least.",
            table(head, rows, texts=3),
            *_section_beside(measured, settings),
        ]
    )


RATIOS = {
    "median, pure": ("quantile 0.5", "curve, median"),
    "interval of the median, pure": ("width", "curve, width of the median"),
    "median, δ = 1e-6": ("delta, median", "delta, curve, median"),
    "mean, δ = 1e-6": ("delta, mean", "delta, curve, mean"),
    "mean with half of a pure budget": ("half, mean", "curve, mean"),
    "KS of the curve with the other half": ("half, KS", "curve, KS"),
}
"""Errors of answers, each with that of the whole curve with all of the budget."""


def _section_beside(measured: dict[str, Any], settings: dict[str, Any]) -> list[str]:
    """Return ratios to the whole curve with all of the budget."""
    rows = []
    for (people, epsilon), name in product(settings["settings"], RATIOS):
        row = [f"{people:,}", epsilon, name]
        for relation in settings["relations"]:
            ratios = [
                ratio
                for cell in measured["beside the curve"]
                if (cell["people"], cell["epsilon"], cell["relation"])
                == (people, epsilon, relation)
                and (ratio := _ratio(measured, cell, name)) is not None
            ]
            few = len(ratios) < len(settings["columns"])
            mean = np.exp(np.mean(np.log(ratios))) if ratios else 0
            row.append("no point" if few else f"{mean:.2f}, {max(ratios):.2f}")
        rows.append(row)
    head = ["people", "ε", "answer", *(f"{each}: mean, most" for each in settings["relations"])]
    return [
        "Over the whole curve with all of the same budget: geometric mean over columns, and the "
        f"worst of them. {settings['releases']} releases of the curve a column. Values and widths "
        "below a quarter of a bin count as this.",
        table(head, rows, texts=3),
    ]


def _ratio(measured: dict[str, Any], cell: dict[str, Any], name: str) -> float | None:
    ours, theirs = RATIOS[name]
    of_cell = ("relation", "people", "epsilon", "column")
    median = next(
        other
        for other in measured["cells"]
        if other["question"] == "quantile 0.5" and all(other[k] == cell[k] for k in of_cell)
    )
    known = cell | {"quantile 0.5": median["error"], "width": median["width"]}
    least = 1e-9 if "KS" in name else LENGTH / BINS / 4
    if known.get(ours) is None or known.get(theirs) is None:
        return None
    return float(max(known[ours], least) / max(known[theirs], least))


def _texts(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    told = [cell for cell in cells if cell["without a point"] <= 0.5]
    kind = cells[0]["question"].partition(" ")[0]
    least = LENGTH / BINS / 4 if kind == "quantile" else 1e-9
    logs = [np.log(max(cell["error"], least) / max(cell["textbook"], least)) for cell in told]
    ratio = f"{np.exp(np.mean(logs)):.2f}" if len(told) == len(cells) else "no point"
    covered = [cell["coverage"] for cell in cells]
    unit = LENGTH if kind in ("mean", "quantile") else 1
    width = np.mean([cell["width"] for cell in cells]) / unit
    return [ratio, f"{np.mean(covered):.0%}, {min(covered):.0%}", f"{width:.2g}"]
