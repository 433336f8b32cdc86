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
}
QUICK: dict[str, Any] = {
    "columns": ["lognormal"],
    "relations": ["replace-one"],
    "settings": [[300, "1", 256]],
    "asked": ["mean", "quantile 0.5"],
    "draws": 8,
}

LENGTH = 100
MEDIAN = "quantile 0.5"

AT_ONCE = 2
"""Processes. No time is measured."""

TABLES = 20
"""Tables of people: each has as many draws as the others."""


def measure(
    *,
    columns: Sequence[str],
    relations: Sequence[str],
    settings: Sequence[tuple[int, str, int]],
    asked: Sequence[str],
    draws: int,
) -> dict[str, Any]:
    """Return errors of answers and of the textbook mechanism, and how often intervals hold.

    settings: Numbers of people, epsilons, and bins: more where errors are smaller.
    """
    places = [*product(relations, settings, columns)]
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn")) as pool:
        cells = [
            pool.submit(_cell, relation, setting, column, question, draws)
            for question in asked
            for relation, setting, column in places
        ]
        return {"cells": [cell.result() for cell in cells]}


def place_of(relation: str, setting: tuple[int, str, int], column: str) -> dict[str, Any]:
    people, epsilon, bins = setting
    return {
        "relation": relation,
        "people": people,
        "epsilon": epsilon,
        "bins": bins,
        "column": column,
    }


def people_values(column: str, people: int, bins: int, seed: int) -> NDArray[np.float64]:
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
    tables = [people_values(column, people, bins, seed + number) for number in range(TABLES)]
    each = -(-draws // TABLES)
    found = place_of(relation, setting, column) | {"question": question}
    found |= drawn_answers(tables, bins, Promise(relation, epsilon=epsilon), question, each, seed)
    rng = np.random.default_rng(seed + 1)
    others = [
        textbook(values, bins, question, relation, float(epsilon), rng)
        - true_answer(values, question)
        for values in tables
        for _ in range(each)
    ]
    found["textbook"] = float(np.sqrt(np.mean(np.square(others))))
    return found


def drawn_answers(
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
    planned = QuestionDraws(domain, promise, budget_shares([read(question)], [1]))
    known = [
        (ExactCounts.of_values(values, planned.counted), true_answer(values, question))
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


def true_answer(values: NDArray[np.float64], question: str) -> NDArray[np.float64]:
    kind, _, rest = question.partition(" ")
    if kind == "mean":
        return np.array([values.mean()])
    if kind == "quantile":
        return np.quantile(values, [*map(float, rest.split())], method="inverted_cdf")
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
    truth = true_answer(values, question)
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
        row: list[str] = [*setting_texts(setting), question]
        for relation in settings["relations"]:
            row += _texts(
                [cell for cell in cells_at(cells, relation, setting) if _asks(cell, question)]
            )
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
        ]
    )


def setting_texts(setting: Sequence[Any]) -> list[str]:
    people, epsilon, bins = setting
    return [f"{people:,}", epsilon, f"{bins:,}"]


def cells_at(cells: Sequence[Any], relation: str, setting: Sequence[Any]) -> list[Any]:
    keys, place = ("relation", "people", "epsilon", "bins"), [relation, *setting]
    return [cell for cell in cells if [cell[key] for key in keys] == place]


def _asks(cell: Mapping[str, Any], question: str) -> bool:
    return bool(cell["question"] == question)


ABSENT = "no point"


def _texts(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    told = [cell for cell in cells if cell["without a point"] <= 0.5]
    kind = cells[0]["question"].partition(" ")[0]
    logs = [np.log(cell["error"] / cell["textbook"]) for cell in told]
    ratio = f"{np.exp(np.mean(logs)):.2f}" if len(told) == len(cells) else ABSENT
    covered = [cell["coverage"] for cell in cells]
    unit = LENGTH if kind in ("mean", "quantile") else 1
    width = np.mean([cell["width"] for cell in cells]) / unit
    return [ratio, f"{np.mean(covered):.1%}, {min(covered):.1%}", f"{width:.2g}"]
