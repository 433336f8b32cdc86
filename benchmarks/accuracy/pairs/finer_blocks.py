"""Blocks of pairs by the number of people: those for many compared with those for few."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks import results
from benchmarks.accuracy.pairs.columns import BINS, PAIRS, domain_of, shares
from benchmarks.accuracy.pairs.league import FAMILIES, FIGURES
from benchmarks.accuracy.pairs.rectangles import scores
from benchmarks.markdown import table
from benchmarks.summaries import geometric, ratio_of_means
from lapwing.errors import LapwingWarning
from lapwing.planning.defaults import decoder_without_band
from lapwing.planning.pair_recommendation import boxes_for
from lapwing.randomizers.joint.multiscale_boxes import MANY, default_boxes

TITLE = "Blocks by the number of people"
FULL: dict[str, Any] = {
    "cases": [
        {"epsilon": 1, "people": 200_000, "repeats": 8},
        {"epsilon": 1, "people": 100_000, "repeats": 2},
        {"epsilon": 1, "people": 50_000, "repeats": 2},
        {"epsilon": 1, "people": 20_000, "repeats": 2},
        {"epsilon": 0.25, "people": 200_000, "repeats": 2},
    ],
    "bins": BINS,
    "pairs": list(PAIRS),
    "seed": 0,
}
QUICK: dict[str, Any] = FULL | {
    "cases": [{"epsilon": 1, "people": 200_000, "repeats": 2}],
    "bins": 16,
    "pairs": ["made up"],
}


def measure(
    *, cases: Sequence[dict[str, Any]], bins: int, pairs: Sequence[str], seed: int
) -> dict[str, Any]:
    """Return the errors per repeat of both mixtures on the same people."""
    return {
        "cells": [
            {**case, "pair": pair, "errors": _errors(pair, bins=bins, seed=seed, **case)}
            for case in cases
            for pair in pairs
        ]
    }


def _errors(
    pair: str, *, bins: int, seed: int, epsilon: float, people: int, repeats: int
) -> dict[str, dict[str, list[float]]]:
    """Return figure -> mixture -> an error per repeat. People and seeds are those of the league."""
    domain = domain_of(pair, bins)
    made = {
        "few": lw.randomizers.MultiscaleBoxes(
            domain, epsilon, components=default_boxes(domain, max(epsilon, 1))
        ),
        "other": boxes_for(domain, epsilon, MANY if epsilon >= 1 else people),
    }
    found: dict[str, dict[str, list[float]]] = {
        figure: {name: [] for name in made} for figure in FIGURES
    }
    for repeat in range(repeats):
        place = [seed, *pair.encode(), people, repeat]
        counts = np.random.default_rng(place).multinomial(people, shares(pair, bins).ravel())
        for name, randomizer in made.items():
            rng = np.random.default_rng([*place, round(1000 * epsilon)])
            decoder: Any = decoder_without_band(randomizer)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LapwingWarning)
                answer = decoder.decode(
                    randomizer.channel, lw.simulate(randomizer, counts, rng=rng)
                )
            one = scores(answer.table, counts.reshape(bins, bins) / people)
            for figure in FIGURES:
                found[figure][name].append(float(f"{one[figure]:.4g}"))
    return found


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return a row for every case, and the best other method of the league over ours."""
    lines = []
    for case in settings["cases"]:
        here = [one for one in measured["cells"] if case.items() <= one.items()]
        lowered = case["epsilon"] < 1
        taken = lowered or case["people"] * case["epsilon"] ** 2 >= MANY
        row = [f"{case['epsilon']:g}", f"{case['people']:,}", str(case["repeats"])]
        row.append("those of ε = 0.25" if lowered else "finer")
        row.append("yes" if taken else "no")
        for figure in FIGURES:
            ratios = [
                ratio_of_means(one["errors"][figure]["other"], one["errors"][figure]["few"])
                for one in here
            ]
            log = np.log([one["ratio"] for one in ratios])
            error = log.std(ddof=1) / np.sqrt(log.size) if log.size > 1 else 0.0
            row.append(f"{np.exp(log.mean()):.2f} ± {np.exp(log.mean()) * error:.2f}")
        lines.append(row)
    return "\n\n".join(
        [
            f"{settings['bins']} x {settings['bins']} cells, {len(settings['pairs'])} pairs, with "
            "the people and seeds of the league. A ratio is the error of these blocks over that "
            "of the row of ε = 1 for few people. Shown is the geometric mean over the pairs, with "
            "its standard error. *Finer* has blocks of 8 x 8 in place of 8 x 32. `recommend` "
            f"takes them from {MANY:,} / ε² people on.",
            table(
                ["ε", "people", "repeats", "blocks", "recommended", "rectangles", "CDF"],
                lines,
                texts=0,
            ),
            _beside_others(measured, settings),
        ]
    )


def _beside_others(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the best of the league's other methods over ours, in the same repeats."""
    league = results.read("accuracy/league")
    case = settings["cases"][0]
    if league is None or settings["bins"] != BINS:
        return ""
    keys = ("pair", "people", "epsilon")
    theirs = {tuple(one[key] for key in keys): one for one in league["measured"]["cells"]}
    said = []
    for figure, name in FIGURES.items():
        told = []
        for mixture in ("other", "few"):
            ratios = []
            for one in measured["cells"]:
                cell = theirs.get(tuple(one[key] for key in keys))
                if cell is None or not case.items() <= one.items():
                    continue
                means = [
                    np.mean(cell["errors"][figure][family]["errors"][: case["repeats"]])
                    for family in FAMILIES
                ]
                ratios.append(float(min(means) / np.mean(one["errors"][figure][mixture])))
            if not ratios:
                return ""
            told.append(geometric(ratios))
        said.append(
            f"For {name} it is {told[0]:.2f}, and {told[1]:.2f} with the blocks for few people."
        )
    return (
        f"The last comparison is of the same repeats at ε = {case['epsilon']:g} and "
        f"{case['people']:,} people: the best of the league's other methods over ours. "
        + " ".join(said)
    )
