"""Atoms found in releases: whether a share lies in its own interval, and whether the truth does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.datasets import load
from benchmarks.markdown import table
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.atoms import expected_mass

TITLE = "Detected atoms"
FULL: dict[str, Any] = {
    "repeats": 5,
    "bins": 1024,
    "columns": ["sf_base_pay", "sf_benefits", "acs_income"],
    "epsilons": [1, 2],
}
QUICK: dict[str, Any] = FULL | {"repeats": 1, "columns": ["uniform"], "bins": 64}

ASKED = 0.93


def measure(
    *, repeats: int, bins: int, columns: Sequence[str], epsilons: Sequence[float]
) -> dict[str, Any]:
    """Return how many atoms were found, and what their intervals hold."""
    cells = []
    for name in columns:
        column = load(name)
        values = column.values
        assert values is not None
        domain = Interval(
            float(values.min()), float(values.max()), bins=bins, missing="bin", outside="clip"
        )
        held = ExactCounts.of_values(values, domain)
        truth = held.counts[:bins] / held.counts[:bins].sum()
        for epsilon in epsilons:
            promise = Promise("replace-one", epsilon=epsilon, delta="1e-6")
            own, true = [], []
            for repeat in range(repeats):
                release = PrefixSums().release(held, promise, rng=seeded(repeat))
                atoms = StepPursuit().decode(release.channel, release).atoms
                places = np.searchsorted(domain.left, [atom.left for atom in atoms])
                usual = expected_mass(
                    truth, domain.left, domain.right, places.astype(np.int64), circular=False
                )
                for atom, excess in zip(atoms, truth[places] - usual, strict=True):
                    assert atom.low is not None and atom.high is not None
                    own.append(atom.low <= atom.share <= atom.high)
                    true.append(atom.low <= excess <= atom.high)
            cells.append(
                {
                    "column": name,
                    "epsilon": epsilon,
                    "found": len(own),
                    "own": int(sum(own)),
                    "true": int(sum(true)),
                }
            )
    return {"cells": cells}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the counts beside what is asked."""
    cells = measured["cells"]
    rows = [
        [one["column"], f"{one['epsilon']:g}", f"{one['found']}", f"{one['own']}", f"{one['true']}"]
        for one in cells
    ]
    found, own, true = (sum(one[key] for one in cells) for key in ("found", "own", "true"))
    good = own == found and true >= ASKED * found
    return "\n\n".join(
        [
            f"Atoms found in {settings['repeats']} releases of prefix sums at {settings['bins']:,} "
            "bins, how many of their shares lie in their own 95% interval, and how many intervals "
            "hold the true share. The true share here is what "
            "a bin holds beyond what the bins around it suggest. The figures are of intervals for "
            "that alone; those printed today contain them and reach to the whole bin.",
            table(["column", "ε", "found", "share inside", "truth inside"], rows, texts=1),
            f"Of {found} atoms {own} shares and {true} true shares. Target: all, and "
            f"{100 * ASKED:.0f}%: {'reached' if good else 'missed'}.",
        ]
    )
