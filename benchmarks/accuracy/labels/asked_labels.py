"""The share of one label: the designs that ask for it, compared with that for all labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.markdown import table
from benchmarks.summaries import geometric
from lapwing.decoders.unbiased.linear_estimate import asked_noise
from lapwing.planning.defaults import recommended_decoder
from lapwing.planning.question_design import question_errors
from lapwing.questions import Question, Share
from lapwing.randomizers import AffineSubsetSelection, AskedLabels

TITLE = "Asked labels"

FULL: dict[str, Any] = {
    "labels": [5, 50, 1000],
    "people": [2000, 20_000, 200_000],
    "epsilons": [0.5, 1, 2, 4],
    "shares": [0.01, 0.2],
    "answers": {"5": [400, 100], "50": [400, 0], "1000": [400, 0]},
    "seed": 2026,
}
QUICK: dict[str, Any] = {
    **FULL,
    "labels": [5, 50],
    "people": [2000],
    "epsilons": [1],
    "answers": {"5": [4, 4], "50": [4, 0]},
}

ALONE, WITH_ALL = "asked alone", "asked, and all labels"

ASKED = 0.93
"""Least coverage in the mean over cells."""


def _design(name: str, size: int, epsilon: float) -> AskedLabels:
    return AskedLabels(lw.Categories(size), epsilon, labels=[0], share=1 if name == ALONE else 0.5)


def law(size: int, share: float) -> NDArray[np.float64]:
    """Return shares: that of the asked label, and a Zipf distribution of the others."""
    others = 1 / np.arange(1, size)
    return np.r_[share, (1 - share) * others / others.sum()]


def measure(
    *,
    labels: Sequence[int],
    people: Sequence[int],
    epsilons: Sequence[float],
    shares: Sequence[float],
    answers: dict[str, list[int]],
    seed: int,
) -> dict[str, Any]:
    """Return errors, widths and covered answers of each design, and the expected error.

    answers: By labels: how many are asked alone, and of the slower designs.
    """
    cells = []
    for size in labels:
        for users in people:
            for epsilon in epsilons:
                for share in shares:
                    state = [seed, size, users, int(10 * epsilon), int(100 * share)]
                    named = {"labels": size, "people": users, "epsilon": epsilon, "share": share}
                    alone, slow = answers[str(size)]
                    counts = {ALONE: alone, WITH_ALL: slow}
                    found = {
                        name: _answers(_design(name, size, epsilon), users, share, count, state)
                        for name, count in counts.items()
                        if count
                    }
                    cells.append(named | {"designs": found})
    return {"cells": cells}


def _answers(
    randomizer: AskedLabels, users: int, share: float, count: int, state: list[int]
) -> dict[str, Any]:
    size = randomizer.domain.size
    decoder = recommended_decoder(randomizer)
    question: Question = Share(label=0)
    errors, widths, covered = [], [], 0
    for repeat in range(count):
        rng = np.random.default_rng([*state, repeat])
        held = rng.multinomial(users, law(size, share))
        tally = lw.simulate(randomizer, held, rng=rng)
        answer = decoder.decode(randomizer.channel, tally).answer(question)
        truth = float(held[0] / users)
        errors.append(answer.value - truth)
        widths.append(answer.high - answer.low)
        covered += answer.low <= truth <= answer.high
    columns = {"like": law(size, share)}
    expected = question_errors(randomizer, [question], columns, users=users)
    usual = AffineSubsetSelection(randomizer.domain, randomizer.epsilon)
    exact = asked_noise(usual.channel, law(size, share), people=users).variance()[0]
    return {
        "answers": count,
        "error": float(np.sqrt(np.mean(np.square(errors)))),
        "width": float(np.mean(widths)),
        "covered": int(covered),
        "expected": expected[str(question)]["like"],
        "usual": float(np.sqrt(exact)),
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return errors over those of the design for all labels, and the coverage."""
    designs: dict[str, list[dict[str, Any]]] = {ALONE: [], WITH_ALL: []}
    rows = []
    for size in settings["labels"]:
        for share in settings["shares"]:
            for name in designs:
                row = [f"{size:,}", f"{share:.0%}", name]
                for epsilon in settings["epsilons"]:
                    found = [
                        cell["designs"][name]
                        for cell in measured["cells"]
                        if (cell["labels"], cell["share"]) == (size, share)
                        and cell["epsilon"] == epsilon
                        and name in cell["designs"]
                    ]
                    designs[name] += found
                    if found:
                        row.append(
                            f"{geometric([one['error'] / one['usual'] for one in found]):.2f}"
                        )
                if len(row) > 3:
                    rows.append(row)
    said = []
    for name, found in designs.items():
        parts = [one["covered"] / one["answers"] for one in found]
        ratios = [one["error"] / one["expected"] for one in found]
        said.append(
            f"- {name}: {np.mean(parts):.1%} of {sum(one['answers'] for one in found):,} intervals "
            f"hold the share of the people in the data, {min(parts):.1%} in the worst of "
            f"{len(found)} cells. Error over the expected one: {geometric(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f})."
        )
    people = " and ".join(f"{number:,}" for number in settings["people"])
    return "\n\n".join(
        [
            "The share of one label on made-up columns: it has 1% or 20%, and the others a Zipf "
            f"distribution. {people} people. Root mean square error of the answer over the exact "
            "standard deviation of the unbiased share with subset selection of all labels, "
            "geometric mean over the numbers of people.",
            table(
                ["labels", "share", "design", *[f"ε = {each}" for each in settings["epsilons"]]],
                rows,
            ),
            f"At least {ASKED:.0%} of the intervals are to hold in the mean over cells.",
            "\n".join(said),
        ]
    )
