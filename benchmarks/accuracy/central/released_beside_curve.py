"""Released answers against the whole curve that is released with all of the same budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from typing import Any
from zlib import crc32

import numpy as np

import lapwing as lw
from benchmarks.accuracy.central.release_questions import (
    COLUMNS,
    LENGTH,
    MEDIAN,
    TABLES,
    cells_at,
    drawn_answers,
    people_values,
    place_of,
    setting_texts,
    true_answer,
)
from benchmarks.markdown import table
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval

TITLE = "Released answers beside the curve"
FULL: dict[str, Any] = {
    "columns": COLUMNS,
    "relations": ["replace-one", "add-or-remove-one"],
    "settings": [[300, "1", 256], [3000, "1", 1024], [20000, "1", 1024]],
    "draws": 200,
    "releases": 20,
}
QUICK: dict[str, Any] = FULL | {
    "columns": ["lognormal"],
    "relations": ["replace-one"],
    "settings": [[300, "1", 256]],
    "draws": 20,
    "releases": 1,
}

AT_ONCE = 2
"""Processes. No time is measured."""

THREE = "quantile 0.25 0.5 0.75"

ALONE = 20_000
"""From so many people on, only the median is measured, without delta."""


def measure(
    *,
    columns: Sequence[str],
    relations: Sequence[str],
    settings: Sequence[tuple[int, str, int]],
    draws: int,
    releases: int,
) -> dict[str, Any]:
    """Return errors of answers and of the curve, with and without delta.

    settings: Numbers of people, epsilons, and bins.
    draws: Of each answer, in equal parts of twenty tables of people.
    releases: Of the curve, each of another table.
    """
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn")) as pool:
        cells = [
            pool.submit(_cell, relation, setting, column, draws, releases)
            for relation, setting, column in product(relations, settings, columns)
        ]
        return {"cells": [cell.result() for cell in cells]}


def _cell(
    relation: Any, setting: tuple[int, str, int], column: str, draws: int, releases: int
) -> dict[str, Any]:
    """Return root mean square errors. Those of the curve are the largest of its CDF."""
    people, epsilon, bins = setting
    seed = crc32(repr((relation, people, epsilon, column)).encode())
    found: dict[str, Any] = place_of(relation, setting, column)
    tables = [people_values(column, people, bins, seed + number) for number in range(TABLES)]
    for question, delta in product((MEDIAN, "mean", THREE), ("0", "1e-6")):
        if people < ALONE or (question, delta) == (MEDIAN, "0"):
            promise = Promise(relation, epsilon=epsilon, delta=delta)
            made = drawn_answers(tables, bins, promise, question, -(-draws // TABLES), seed)
            found[f"{question}, {delta}"] = made["error"] if made["without a point"] < 0.5 else None
            found[f"width of {question}, {delta}"] = made["width"]
    errors: dict[str, list[float]] = {}
    for repeat in range(releases):
        for name, error in _curve_errors(relation, setting, column, seed + repeat):
            errors.setdefault(name, []).append(error)
    return found | {
        name: float(np.mean(e) if ", held" in name else np.sqrt(np.mean(np.square(e))))
        for name, e in errors.items()
    }


def _curve_errors(
    relation: Any, setting: tuple[int, str, int], column: str, seed: int
) -> list[tuple[str, float]]:
    """Return errors of one table's curve, of it with half of the budget, and with delta."""
    people, epsilon, bins = setting
    values, found = people_values(column, people, bins, seed), []
    domain = Interval(0, LENGTH, bins=bins, outside="clip")
    edges = domain.bin_edges[1:]
    curve = np.searchsorted(np.sort(values), edges, side="right") / people
    truths = {question: true_answer(values, question)[0] for question in (MEDIAN, "mean")}
    quartiles = true_answer(values, THREE)
    given: dict[str, Any] = {"epsilon": epsilon, "neighbors": relation, "rng": seeded(seed)}
    for delta in ("0", "1e-6")[: 1 + (people < ALONE)]:
        result = lw.release(values, domain, delta=delta, **given).distribution
        for question, truth in truths.items():
            answer = result.answer(question)
            if answer.value is not None:
                found.append((f"curve's {question}, {delta}", float(answer.value) - truth))
        three = result.answer(THREE)
        lengths = np.minimum(three.high, LENGTH) - np.maximum(three.low, 0)
        found.append((f"width of the curve's {THREE}, {delta}", float(lengths.mean())))
        if three.note is None:
            found += [(f"curve's {THREE}, {delta}", each) for each in three.value - quartiles]
        if delta == "0":
            median = result.answer(MEDIAN)
            width = min(float(median.high), LENGTH) - max(float(median.low), 0)
            found.append(("width of the curve's median", width))
            found.append(("curve, KS", np.abs(result.cdf(edges) - curve).max()))
    if people < ALONE:
        both: Any = lw.release(values, domain, questions=["mean", "curve"], **given)
        found.append(("mean with half", float(both.answer("mean").value) - truths["mean"]))
        found.append(("half, KS", np.abs(both.distribution.cdf(edges) - curve).max()))
        alone = lw.survey.Publication(both.release.curve).distribution
        for name, one in (("half", both.distribution), ("half alone", alone)):
            band, whole = (one.confidence_band(kind=kind) for kind in ("pointwise", "simultaneous"))
            held = np.searchsorted(np.sort(values), band.points, side="right") / people
            found.append((f"{name}, width of the band", float(np.mean(band.high - band.low))))
            for kind, each in (("pointwise", band), ("at once", whole)):
                inside = (each.low <= held + 1e-9) & (held <= each.high + 1e-9)
                share = inside.mean() if kind == "pointwise" else float(inside.all())
                found.append((f"{name}, held {kind}", share))
        found.append(("half alone, KS", np.abs(alone.cdf(edges) - curve).max()))
    return found


RATIOS = {
    "median": (f"{MEDIAN}, 0", f"curve's {MEDIAN}, 0"),
    "interval of the median": (f"width of {MEDIAN}, 0", "width of the curve's median"),
    "median, δ = 1e-6": (f"{MEDIAN}, 1e-6", f"curve's {MEDIAN}, 1e-6"),
    "mean": ("mean, 0", "curve's mean, 0"),
    "mean, δ = 1e-6": ("mean, 1e-6", "curve's mean, 1e-6"),
    "three drawn quartiles": (f"{THREE}, 0", f"curve's {THREE}, 0"),
    "intervals of these": (f"width of {THREE}, 0", f"width of the curve's {THREE}, 0"),
    "three drawn quartiles, δ = 1e-6": (f"{THREE}, 1e-6", f"curve's {THREE}, 1e-6"),
    "intervals of these, δ = 1e-6": (
        f"width of {THREE}, 1e-6",
        f"width of the curve's {THREE}, 1e-6",
    ),
    "mean with half of the budget": ("mean with half", "curve's mean, 0"),
    "KS of the curve with the other half": ("half, KS", "curve, KS"),
    "the same, decoded without the mean": ("half alone, KS", "curve, KS"),
}
"""Errors of answers, each with that of the whole curve with all of the budget."""


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return ratios to the whole curve with all of the budget."""
    rows = []
    for setting, name in product(settings["settings"], RATIOS):
        texts = []
        for relation in settings["relations"]:
            cells = cells_at(measured["cells"], relation, setting)
            found = [ratio for cell in cells if (ratio := _ratio(cell, name)) is not None]
            texts.append(_text(found))
        if any(texts):
            rows.append([*setting_texts(setting), name, *texts])
    head = [
        "people",
        "ε",
        "bins",
        "answer",
        *(f"{each}: mean, most" for each in settings["relations"]),
    ]
    return "\n\n".join(
        [
            f"Root mean square error, or width, of a released answer ({settings['draws']} draws in "
            f"{TABLES} tables of people) over that of the default release of the whole curve with "
            f"all of the same budget ({settings['releases']} releases, each of another table). "
            f"Geometric mean over {len(settings['columns'])} columns, and the worst of them. There "
            "is no δ unless it is given. Values lie anywhere in their bins. Medians and quartiles "
            "are compared where the error or the interval of the curve is more than half a bin, "
            "and where most answers have a point. The number of these columns is in brackets.",
            table(head, rows, texts=4),
            "The curve with half of the budget, decoded with the mean that has the other half, and "
            "alone. Widths are those of pointwise 95% bands, on average along the curve. Coverage "
            "in percent of the people's CDF at its points, and of the whole CDF at once: mean over "
            "columns, least of a column.",
            table(
                [
                    "people",
                    "ε",
                    "bins",
                    "neighbors",
                    "width",
                    "held: points",
                    "at once",
                    "alone: points",
                    "at once",
                ],
                [line for line in _bands(measured["cells"], settings)],
                texts=4,
            ),
        ]
    )


def _bands(cells: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[list[str]]:
    """Return the width and the coverage of the bands of curves with half of the budget."""
    lines = []
    for setting, relation in product(settings["settings"], settings["relations"]):
        here = cells_at(cells, relation, setting)
        if setting[0] >= ALONE:
            continue
        ratios = [
            cell["half, width of the band"] / cell["half alone, width of the band"] for cell in here
        ]
        lines.append(
            [
                *setting_texts(setting),
                relation,
                f"{np.exp(np.mean(np.log(ratios))):.2f}, {max(ratios):.2f}",
                *(
                    _held([cell[f"{name}, held {kind}"] for cell in here])
                    for name in ("half", "half alone")
                    for kind in ("pointwise", "at once")
                ),
            ]
        )
    return lines


def _held(shares: Sequence[float]) -> str:
    return f"{100 * np.mean(shares):.1f}, {100 * min(shares):.0f}"


def _ratio(cell: Mapping[str, Any], name: str) -> float | None:
    """Return the ratio in one column. None where there is nothing to compare."""
    ours, theirs = (cell.get(each) for each in RATIOS[name])
    if ours is None or theirs is None:
        return None
    fine = ("median" in name or "quartiles" in name) and theirs <= LENGTH / cell["bins"] / 2
    return None if fine else float(ours / theirs)


def _text(ratios: Sequence[float]) -> str:
    if not ratios:
        return ""
    return f"{np.exp(np.mean(np.log(ratios))):.2f}, {max(ratios):.2f} ({len(ratios)})"
