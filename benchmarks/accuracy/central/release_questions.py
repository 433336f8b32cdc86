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
    "settings": [[300, "0.1", 256], [300, "1", 256], [3000, "1", 1024], [20000, "1", 1024]],
    "asked": ASKED,
    "draws": 200,
    "releases": 20,
}
QUICK: dict[str, Any] = {
    "columns": ["lognormal"],
    "relations": ["replace-one"],
    "settings": [[300, "1", 256]],
    "asked": ["mean", "quantile 0.5"],
    "draws": 8,
    "releases": 1,
}

LENGTH = 100
MEDIAN = "quantile 0.5"

AT_ONCE = 2
"""Processes. No time is measured."""

BESIDE = "1"
"""The epsilon at which answers are compared with the curve."""

WITH_DELTA = [300, "1"], [3000, "1"]
"""People and epsilons for which answers are measured with delta also."""

TABLES = 20
"""Tables of people: each has as many draws as the others."""


def measure(
    *,
    columns: Sequence[str],
    relations: Sequence[str],
    settings: Sequence[tuple[int, str, int]],
    asked: Sequence[str],
    draws: int,
    releases: int,
) -> dict[str, Any]:
    """Return errors of answers and of the textbook mechanism, and how often intervals hold.

    settings: Numbers of people, epsilons, and bins: more where errors are smaller.
    releases: Releases of the curve, with which answers are compared.
    """
    places = [*product(relations, settings, columns)]
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn")) as pool:
        beside = [
            pool.submit(_beside, relation, setting, column, releases)
            for relation, setting, column in places
            if setting[1] == BESIDE
        ]
        cells = [
            pool.submit(_cell, relation, setting, column, question, draws)
            for question in asked
            for relation, setting, column in places
        ]
        return {
            "cells": [cell.result() for cell in cells],
            "beside the curve": [cell.result() for cell in beside],
        }


def _beside(
    relation: Any, setting: tuple[int, str, int], column: str, releases: int
) -> dict[str, Any]:
    """Return errors of the curve, of the curve with a mean, and of one question with delta.

    Errors are root mean squares. Those of the curve are the largest of its CDF.
    """
    people, epsilon, bins = setting
    seed = crc32(repr((relation, people, epsilon, column)).encode())
    domain = Interval(0, LENGTH, bins=bins, outside="clip")
    edges = domain.bin_edges[1:]
    found: dict[str, list[float]] = {}

    def add(name: str, value: Any, truth: float) -> None:
        if value is not None:
            found.setdefault(name, []).append(float(value) - truth)

    for repeat, delta in product(range(releases), ("0", "1e-6")):
        if delta != "0" and [people, epsilon] not in WITH_DELTA:
            continue
        values = _values(column, people, bins, seed + repeat)
        curve = np.searchsorted(np.sort(values), edges, side="right") / people
        medians, means = _truth(values, MEDIAN)[0], _truth(values, "mean")[0]
        given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbors": relation}
        alone = lw.release(values, domain, **given, rng=seeded(seed + repeat))
        result, word = alone.distribution, "delta, " if delta != "0" else ""
        median = result.answer(MEDIAN)
        add(f"{word}curve, median", median.value, medians)
        add(f"{word}curve, mean", result.answer("mean").value, means)
        if delta != "0":
            continue
        ends = max(0.0, float(median.low)), min(float(median.high), LENGTH)
        add("curve, width of the median", ends[1] - ends[0], 0)
        add("curve, KS", np.abs(result.cdf(edges) - curve).max(), 0)
        both: Any = lw.release(
            values, domain, **given, questions=["mean", "curve"], rng=seeded(seed + repeat)
        )
        add("half, mean", both.answer("mean").value, means)
        add("half, KS", np.abs(both.distribution.cdf(edges) - curve).max(), 0)
    return _place(relation, setting, column) | {
        name: float(np.sqrt(np.mean(np.square(errors)))) for name, errors in found.items()
    }


def _place(relation: str, setting: tuple[int, str, int], column: str) -> dict[str, Any]:
    people, epsilon, bins = setting
    return {
        "relation": relation,
        "people": people,
        "epsilon": epsilon,
        "bins": bins,
        "column": column,
    }


def _values(column: str, people: int, bins: int, seed: int) -> NDArray[np.float64]:
    """Return values anywhere in their bins, so that no answer is exact by chance."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(people, masses(column, bins))
    found: NDArray[np.float64] = (np.repeat(np.arange(bins), counts) + rng.random(people)) / bins
    return LENGTH * found


def _cell(
    relation: Any, setting: tuple[int, str, int], column: str, question: str, draws: int
) -> dict[str, Any]:
    people, epsilon, bins = setting
    seed = crc32(repr((relation, people, epsilon, column)).encode())
    tables = [_values(column, people, bins, seed + number) for number in range(TABLES)]
    each = -(-draws // TABLES)
    found = _place(relation, setting, column) | {"question": question}
    found |= _drawn(tables, bins, Promise(relation, epsilon=epsilon), question, each, seed)
    rng = np.random.default_rng(seed + 1)
    others = [
        textbook(values, bins, question, relation, float(epsilon), rng) - _truth(values, question)
        for values in tables
        for _ in range(each)
    ]
    found["textbook"] = float(np.sqrt(np.mean(np.square(others))))
    if question in (MEDIAN, "mean") and [people, epsilon] in WITH_DELTA:
        promise = Promise(relation, epsilon=epsilon, delta="1e-6")
        found["delta, error"] = _drawn(tables, bins, promise, question, each, seed)["error"]
    return found


def _drawn(
    tables: Sequence[NDArray[np.float64]],
    bins: int,
    promise: Promise,
    question: str,
    each: int,
    seed: int,
) -> dict[str, Any]:
    """Return the error of answers, and how wide their intervals are and how often they hold.

    each: Draws of each table.
    """
    domain = Interval(0, LENGTH, bins=bins, outside="clip").for_curator()
    planned = QuestionDraws(domain, promise, budget_shares([read(question)], None))
    known = [
        (ExactCounts.of_values(values, planned.counted), _truth(values, question))
        for values in tables
    ]
    source = seeded(seed)
    squares, widths, held, absent = [], [], [], 0
    for counts, truth in [one for one in known for _ in range(each)]:
        answer = answer_released(planned.draw(counts, source), question)
        low, high = np.atleast_1d(answer.low), np.atleast_1d(answer.high)
        held.append(np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)))
        widths.append(float(np.mean(np.minimum(high, LENGTH) - np.maximum(low, 0))))
        point = None if answer.value is None else np.atleast_1d(answer.value)
        if point is None or np.isnan(point).any():
            absent += 1
        else:
            squares.append(float(np.mean((point - truth) ** 2)))
    return {
        "error": float(np.sqrt(np.mean(squares))) if squares else None,
        "coverage": float(np.mean(held)),
        "width": float(np.sqrt(np.mean(np.square(widths)))),
        "without a point": absent / len(held),
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
    values: NDArray[np.float64],
    bins: int,
    question: str,
    relation: str,
    epsilon: float,
    rng: Any,
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
    counts = np.histogram(values, bins, (0, LENGTH))[0]
    upto = np.cumsum(np.append(0, counts))
    rank = probability * people
    distance = np.maximum(0, np.maximum(upto[:-1] - rank, rank - upto[1:]))
    moved = 1.0 if replaced == 2 else max(probability, 1 - probability)
    chosen = np.argmax(rng.gumbel(size=bins) - epsilon * distance / (2 * moved))
    return np.array([(chosen + 0.5) * LENGTH / bins])


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return ratios to the textbook mechanism, and the coverage of intervals."""
    cells, rows = measured["cells"], []
    for setting, question in product(settings["settings"], settings["asked"]):
        row: list[str] = [*_of_setting(setting), question]
        for relation in settings["relations"]:
            row += _texts([cell for cell in _at(cells, relation, setting) if _asks(cell, question)])
        rows.append(row)
    head = ["people", "ε", "bins", "question"]
    for relation in settings["relations"]:
        head += [f"{relation}: error", "coverage, least", "width"]
    return "\n\n".join(
        [
            "Root mean square error of a released answer over that of the textbook mechanism with "
            "all of the same pure ε: Laplace noise on the clipped sum and on counts of known "
            "people, and the exponential mechanism on the same bins for quantiles. Geometric mean "
            f"over {len(settings['columns'])} columns, {settings['draws']} draws each. Values lie "
            f"anywhere in their bins, and are drawn anew {TABLES} times. Coverage of the 95% "
            "intervals in the mean over columns, and in the worst of them. Width as a share of the "
            "range. Where more than half of the answers of a column have no point, because there "
            "are too few people, the error is left out.",
            table(head, rows, texts=4),
            *_section_beside(measured, settings),
        ]
    )


def _of_setting(setting: Sequence[Any]) -> list[str]:
    people, epsilon, bins = setting
    return [f"{people:,}", epsilon, f"{bins:,}"]


def _at(cells: Sequence[Any], relation: str, setting: Sequence[Any]) -> list[Any]:
    keys, place = ("relation", "people", "epsilon", "bins"), [relation, *setting]
    return [cell for cell in cells if [cell[key] for key in keys] == place]


def _asks(cell: Mapping[str, Any], question: str) -> bool:
    return bool(cell["question"] == question)


RATIOS = {
    "median, pure": ((MEDIAN, "error"), "curve, median"),
    "interval of the median, pure": ((MEDIAN, "width"), "curve, width of the median"),
    "median, δ = 1e-6": ((MEDIAN, "delta, error"), "delta, curve, median"),
    "mean, δ = 1e-6": (("mean", "delta, error"), "delta, curve, mean"),
    "mean with half of a pure budget": ((None, "half, mean"), "curve, mean"),
    "KS of the curve with the other half": ((None, "half, KS"), "curve, KS"),
}
"""Errors of answers, each with that of the whole curve with all of the budget."""


def _section_beside(measured: dict[str, Any], settings: dict[str, Any]) -> list[str]:
    """Return ratios to the whole curve with all of the budget."""
    rows = []
    for setting, name in product(settings["settings"], RATIOS):
        row = [*_of_setting(setting), name]
        for relation in settings["relations"]:
            curves = _at(measured["beside the curve"], relation, setting)
            pairs = [_pair(measured, cell, setting, name) for cell in curves]
            row.append(_ratio_text([pair for pair in pairs if pair is not None]))
        if any(text != ABSENT for text in row[-len(settings["relations"]) :]):
            rows.append(row)
    head = ["people", "ε", "bins", "answer"]
    head += [f"{each}: mean, most (columns)" for each in settings["relations"]]
    return [
        "Over the whole curve with all of the same budget: geometric mean over columns, and the "
        f"worst of them. {settings['releases']} releases of the curve a column. Medians are "
        "compared in the columns in which the error or the interval of the curve is more than half "
        "a bin, and where most answers have a point. The number of these columns is in brackets.",
        table(head, rows, texts=4),
    ]


ABSENT = "no point"


def _pair(
    measured: dict[str, Any], curve: dict[str, Any], setting: Sequence[Any], name: str
) -> float | None:
    """Return the ratio in one column. None where there is nothing to compare."""
    (question, ours), theirs = RATIOS[name]
    mine = curve
    if question is not None:
        cells = _at(measured["cells"], curve["relation"], setting)
        mine = next(
            cell for cell in cells if _asks(cell, question) and cell["column"] == curve["column"]
        )
        if ours != "width" and mine["without a point"] > 0.5:
            return None
    if mine.get(ours) is None or curve.get(theirs) is None:
        return None
    if question == MEDIAN and curve[theirs] <= LENGTH / curve["bins"] / 2:
        return None
    return float(mine[ours] / curve[theirs])


def _ratio_text(ratios: Sequence[float]) -> str:
    if not ratios:
        return ABSENT
    return f"{np.exp(np.mean(np.log(ratios))):.2f}, {max(ratios):.2f} ({len(ratios)})"


def _texts(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    told = [cell for cell in cells if cell["without a point"] <= 0.5]
    kind = cells[0]["question"].partition(" ")[0]
    logs = [np.log(cell["error"] / cell["textbook"]) for cell in told]
    ratio = f"{np.exp(np.mean(logs)):.2f}" if len(told) == len(cells) else ABSENT
    covered = [cell["coverage"] for cell in cells]
    unit = LENGTH if kind in ("mean", "quantile") else 1
    width = np.mean([cell["width"] for cell in cells]) / unit
    return [ratio, f"{np.mean(covered):.1%}, {min(covered):.1%}", f"{width:.2g}"]
