"""The share of one label: the designs that ask for it, compared with that for all labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.markdown import table
from benchmarks.summaries import geometric
from lapwing.planning.defaults import recommended_decoder
from lapwing.planning.question_design import label_errors
from lapwing.protocol.randomizer import Randomizer
from lapwing.questions import Question, Share
from lapwing.randomizers import AffineSubsetSelection, AskedLabels

TITLE = "Asked labels"

FULL: dict[str, Any] = {
    "labels": [5, 50, 1000],
    "people": [2000, 20_000, 200_000],
    "epsilons": [0.5, 1, 2, 4],
    "shares": [0.01, 0.2],
    "answers": {"5": [400, 400], "50": [400, 30], "1000": [400, 30]},
    "most": 20_000_000,
    "seed": 2026,
}
QUICK: dict[str, Any] = {
    **FULL,
    "labels": [5, 50],
    "people": [2000],
    "epsilons": [1],
    "answers": {"5": [4, 4], "50": [4, 2]},
}

ALONE, WITH_ALL, USUAL = "asked alone", "asked, and all labels", "all labels"

MANY = 400
"""Answers of a cell whose coverage is read on its own."""

ASKED = 0.93
"""Least coverage in the mean over cells."""


def _design(name: str, size: int, epsilon: float) -> Randomizer:
    domain = lw.Categories(size)
    if name == USUAL:
        return AffineSubsetSelection(domain, epsilon)
    return AskedLabels(domain, epsilon, labels=[0], share=1 if name == ALONE else 0.5)


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
    most: int,
    seed: int,
) -> dict[str, Any]:
    """Return errors, widths and covered answers of each design, and the expected error.

    answers: By labels: how many are asked alone, and of the slower designs.
    most: Labels times people up to which all labels are simulated.
    """
    cells = []
    for size in labels:
        for users in people:
            for epsilon in epsilons:
                for share in shares:
                    state = [seed, size, users, int(10 * epsilon), int(100 * share)]
                    named = {"labels": size, "people": users, "epsilon": epsilon, "share": share}
                    alone, slow = answers[str(size)]
                    counts = {ALONE: alone, WITH_ALL: slow, USUAL: slow}
                    found = {
                        name: _answers(_design(name, size, epsilon), users, share, count, state)
                        for name, count in counts.items()
                        if name == ALONE or size * users <= most
                    }
                    cells.append(named | {"designs": found})
    return {"cells": cells}


def _answers(
    randomizer: Randomizer, users: int, share: float, count: int, state: list[int]
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
    found = {
        "answers": count,
        "error": float(np.sqrt(np.mean(np.square(errors)))),
        "width": float(np.mean(widths)),
        "covered": covered,
    }
    if isinstance(randomizer, AskedLabels):
        columns = {"like": law(size, share)}
        found["expected"] = label_errors(randomizer, [question], columns, users=users)[
            str(question)
        ]["like"]
    return found


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return errors and widths over those of the design for all labels, and the coverage."""
    rows = []
    for size in settings["labels"]:
        for share in settings["shares"]:
            for name in (ALONE, WITH_ALL):
                row = [f"{size:,}", f"{share:.0%}", name]
                for epsilon in settings["epsilons"]:
                    cells = [
                        cell["designs"]
                        for cell in measured["cells"]
                        if (cell["labels"], cell["share"]) == (size, share)
                        and cell["epsilon"] == epsilon
                        and USUAL in cell["designs"]
                    ]
                    error, width = (
                        geometric([one[name][what] / one[USUAL][what] for one in cells])
                        for what in ("error", "width")
                    )
                    row.append(f"{error:.2f} ({width:.2f})")
                rows.append(row)
    said = []
    for name in (ALONE, WITH_ALL, USUAL):
        found = [cell["designs"][name] for cell in measured["cells"] if name in cell["designs"]]
        parts = [one["covered"] / one["answers"] for one in found]
        line = (
            f"{name}: {np.mean(parts):.1%} of {sum(one['answers'] for one in found):,} intervals "
            f"hold the share of the people in the data ({min(parts):.1%} in the worst of "
            f"{len(found)} cells"
        )
        many = [part for part, one in zip(parts, found, strict=True) if one["answers"] >= MANY]
        line += f", {min(many):.1%} in that of {MANY} answers)" if many else ")"
        if name != USUAL:
            ratios = [one["error"] / one["expected"] for one in found]
            line += (
                f". Error over the expected one: {geometric(ratios):.2f} "
                f"({min(ratios):.2f} to {max(ratios):.2f})"
            )
        said.append(f"- {line}.")
    return "\n\n".join(
        [
            "The share of one label on made-up columns: it has 1% or 20%, and the others a Zipf "
            f"distribution. {_listed(settings['people'])} people. Root mean square error of the "
            "answer (and width of its 95% interval) over that with subset selection of all labels "
            "and its recommended decoder, geometric mean over the numbers of people. The mixture "
            "prior moves shares that are below the noise to zero, and one of 1% may be one.",
            table(
                ["labels", "share", "design", *[f"ε = {each}" for each in settings["epsilons"]]],
                rows,
            ),
            f"At least {ASKED:.0%} are to hold in the mean over cells.",
            "\n".join(said),
        ]
    )


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(f"{number:,}" for number in numbers)
