"""What `recommend` predicts for labels, beside the errors of simulated reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import figure, table
from benchmarks.summaries import mean_and_error
from lapwing.planning.defaults import decoder_without_band
from lapwing.planning.label_recommendation import options, populations, predicted_errors
from lapwing.privacy.exact_numbers import exact_epsilon

TITLE = "Predicted errors of labels"
FULL: dict[str, Any] = {
    "repeats": 24,
    "cells": [
        [12, 1, 20_000],
        [64, 1, 20_000],
        [64, 4, 20_000],
        [200, 2, 20_000],
        [600, 1, 20_000],
    ],
    "needed": [[8, 1, 0.05], [8, 3, 0.02], [64, 2, 0.1], [64, 4, 0.05], [200, 2, 0.15]],
}
QUICK: dict[str, Any] = {**FULL, "repeats": 4, "cells": [[12, 1, 20_000]], "needed": [[8, 1, 0.05]]}

_SLOW = "linear-hashing"
"""Its reports are made person by person; it predicts as the others do."""


def _simulated(randomizer: Any, size: int, users: int, repeats: int) -> dict[str, list[float]]:
    """Return the l1 errors of every repeat by population."""
    decoder = decoder_without_band(randomizer)
    found: dict[str, list[float]] = {}
    for kind, law in populations(size).items():
        rng = np.random.default_rng([size, users, 3])
        found[kind] = []
        for _ in range(repeats):
            counts = rng.multinomial(users, law)
            tally: Any = lw.simulate(randomizer, counts, rng=rng)
            mass = decoder.decode(randomizer.channel, tally).mass
            found[kind].append(float(np.abs(mass - counts / users).sum()))
    return found


def measure(
    *, repeats: int, cells: Sequence[Sequence[float]], needed: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """Return predicted and simulated l1 errors, and what the number of people asked for gives."""
    rows, people = [], []
    for size, epsilon, users in cells:
        laws = populations(int(size))
        for option in options(lw.Categories(int(size)), exact_epsilon(epsilon)):
            if option.randomizer.name == _SLOW:
                continue
            told = predicted_errors(option, int(users), laws=laws)["l1"]
            real = _simulated(option.randomizer, int(size), int(users), repeats)
            rows.append(
                {
                    "size": int(size),
                    "epsilon": epsilon,
                    "users": int(users),
                    "randomizer": option.randomizer.name,
                    "told": dict(told.by_kind),
                    "real": {kind: mean_and_error(errors) for kind, errors in real.items()},
                }
            )
    for size, epsilon, error in needed:
        asked = lw.recommend(lw.Categories(int(size)), epsilon=epsilon, error=error)
        real = _simulated(asked.randomizer, int(size), asked.users, repeats)
        each = [float(np.mean(errors)) for errors in zip(*real.values(), strict=True)]
        people.append(
            {
                "size": int(size),
                "epsilon": epsilon,
                "error": error,
                "randomizer": asked.randomizer.name,
                "users": asked.users,
                "real": mean_and_error(each),
            }
        )
    return {"rows": rows, "people": people}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return both tables, and how far the predictions are off."""
    lines, off = [], []
    for row in measured["rows"]:
        cells = [row["randomizer"], f"{row['size']}", f"{row['epsilon']:g}"]
        for kind, real in row["real"].items():
            told = row["told"][kind]
            cells.append(
                f"{figure(told)}; {figure(real['mean'])} ± {figure(real['standard_error'])}"
            )
        typical = np.mean(list(row["told"].values()))
        simulated = np.mean([real["mean"] for real in row["real"].values()])
        off.append(abs(float(typical / simulated) - 1))
        lines.append([*cells, f"{typical / simulated:.2f}"])
    kinds = list(measured["rows"][0]["real"])
    best: dict[tuple[int, float], list[tuple[float, float]]] = {}
    for row in measured["rows"]:
        key = (row["size"], row["epsilon"])
        told = float(np.mean(list(row["told"].values())))
        real = float(np.mean([one["mean"] for one in row["real"].values()]))
        best.setdefault(key, []).append((told, real))
    wins = sum(min(pairs)[1] <= 1.05 * min(real for _, real in pairs) for pairs in best.values())
    missed = [abs(one["real"]["mean"] / one["error"] - 1) for one in measured["people"]]
    return "\n\n".join(
        [
            f"L1 error of the recommended decoder: predicted; simulated, {settings['repeats']} "
            f"repeats, {measured['rows'][0]['users']:,} people. The last column is the ratio of "
            "the means over the populations.",
            table(["randomizer", "labels", "ε", *kinds, "ratio"], lines),
            f"The mean over the populations is predicted within {100 * max(off):.0f}% in all of "
            f"{len(off)} cells, within {100 * float(np.median(off)):.0f}% in half of them. The "
            f"randomizer with the least predicted error has the least simulated one, or at most "
            f"5% more, in {wins} of {len(best)} settings.",
            "How many people an error needs, and the error that so many people then have:",
            table(
                ["randomizer", "labels", "ε", "people", "target", "simulated"],
                [
                    [
                        one["randomizer"],
                        f"{one['size']}",
                        f"{one['epsilon']:g}",
                        f"{one['users']:,}",
                        f"{one['error']:g}",
                        f"{figure(one['real']['mean'])} ± {figure(one['real']['standard_error'])}",
                    ]
                    for one in measured["people"]
                ],
            ),
            f"The error is reached within {100 * max(missed):.0f}% in all of "
            f"{len(missed)} settings.",
        ]
    )
