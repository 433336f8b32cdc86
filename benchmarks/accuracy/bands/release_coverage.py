"""Coverage of a release's band among those present, from few bins to many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.markdown import table
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts

TITLE = "Bands of the central model at few bins and many"
FULL: dict[str, Any] = {"repeats": 2_000, "people": 10_000, "bins": [64, 256, 1024, 4096]}
QUICK: dict[str, Any] = {"repeats": 5, "people": 500, "bins": [64]}

ASKED = (0.945, 0.96)


def measure(*, repeats: int, people: int, bins: Sequence[int]) -> dict[str, Any]:
    """Return the covered share of the bins with 0.02 < F < 0.98; one person in five is missing."""
    values = np.random.default_rng(7).beta(5, 2, people)
    values[: people // 5] = np.nan
    promise = Promise("replace-one", epsilon=1, delta="1e-6")
    decoder, cells = StepPursuit(smooth=False), []
    for size in bins:
        held = ExactCounts.of_values(
            values, Interval(0, 1, bins=size, missing="bin", outside="clip")
        )
        truth = np.cumsum(held.counts[:size]) / held.counts[:size].sum()
        used = (truth > 0.02) & (truth < 0.98)
        covered = []
        for repeat in range(repeats):
            release = PrefixSums().release(held, promise, rng=seeded(repeat))
            law = decoder.decode(release.channel, release)._present_uncertainty
            assert law is not None
            low, high = law.curves(0.95, "pointwise", cumulative=True, least=0.0)
            covered.append(float(((low <= truth) & (truth <= high))[used].mean()))
        error = float(np.std(covered) / np.sqrt(repeats))
        cells.append({"bins": size, "covered": float(np.mean(covered)), "error": error})
    return {"cells": cells}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage at every number of bins beside what is asked."""
    cells = measured["cells"]
    rows = [
        [f"{one['bins']}", f"{100 * one['covered']:.1f}", f"{100 * one['error']:.2f}"]
        for one in cells
    ]
    good = all(ASKED[0] <= one["covered"] <= ASKED[1] for one in cells)
    return "\n\n".join(
        [
            f"Percent covered by the nominal 95% pointwise band, {settings['people']:,} people, a "
            f"fifth of whom have no value, {settings['repeats']:,} releases of prefix sums at "
            "epsilon 1; bins with 0.02 < F < 0.98.",
            table(["bins", "covered", "standard error"], rows),
            f"Target: {100 * ASKED[0]:.1f} to {100 * ASKED[1]:.0f}%: "
            f"{'reached' if good else 'missed at some number of bins'}.",
        ]
    )
