"""Coverage of the central model's bands, on the four distributions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    SYMBOLS,
    empirical,
    laws,
    summarized,
)
from benchmarks.markdown import table
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.results.uncertainty import Kind, Target

TITLE = "Bands of the central model"
FULL: dict[str, Any] = {"repeats": 200, "people": 10_000, "epsilons": [0.1, 1]}
QUICK: dict[str, Any] = {"repeats": 2, "people": 500, "epsilons": [1]}

POINTWISE = (0.93, 0.97)
SIMULTANEOUS = 0.94


def measure(*, repeats: int, people: int, epsilons: Sequence[float]) -> dict[str, Any]:
    """Return the covered share of the bins with 0.02 < F < 0.98, and of whole curves.

    Every cell draws people and noise of its own, so that the cells err independently.
    """
    delta = Fraction(str(people**-1.5))
    cells = []
    for name, law in laws().items():
        for epsilon in epsilons:
            promise = Promise("replace-one", epsilon=Fraction(str(epsilon)), delta=delta)
            covered: dict[str, list[float]] = {}
            for repeat in range(repeats):
                summary = summarized(law, people, seed=[repeat, len(cells), 11])
                noise = seeded(repeat + repeats * len(cells))
                release = PrefixSums().release(summary, promise, rng=noise)
                result = StepPursuit().decode(release.channel, release)
                truths: dict[Target, Any] = {
                    "empirical": empirical(summary),
                    "population": law.cdf,
                }
                for target, truth in truths.items():
                    used = (truth > 0.02) & (truth < 0.98)
                    kinds: tuple[Kind, ...] = ("pointwise", "simultaneous")
                    for kind in kinds:
                        band = result.confidence_band(0.95, kind=kind, target=target)
                        assert band is not None
                        low, high = band.low[:SYMBOLS] - 1e-12, band.high[:SYMBOLS] + 1e-12
                        inside = ((low <= truth) & (truth <= high))[used]
                        share = inside.mean() if kind == "pointwise" else inside.all()
                        covered.setdefault(f"{target} {kind}", []).append(float(share))
            cells.append(
                {
                    "law": name,
                    "epsilon": epsilon,
                    "covered": {key: float(np.mean(value)) for key, value in covered.items()},
                }
            )
    return {"cells": cells}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage of every cell beside what is asked."""
    cells = measured["cells"]
    names = list(cells[0]["covered"])
    rows = [
        [one["law"], f"{one['epsilon']:g}", *(f"{100 * one['covered'][key]:.1f}" for key in names)]
        for one in cells
    ]
    pointwise = [one["covered"][key] for one in cells for key in names if "pointwise" in key]
    whole = [one["covered"][key] for one in cells for key in names if "simultaneous" in key]
    good = POINTWISE[0] <= min(pointwise) and max(pointwise) <= POINTWISE[1]
    good = good and min(whole) >= SIMULTANEOUS
    return "\n\n".join(
        [
            f"Percent covered by the nominal 95% band, {settings['people']:,} people, "
            f"{settings['repeats']} releases of prefix sums, step pursuit, bins with "
            "0.02 < F < 0.98; about the people themselves (empirical) and those they were drawn "
            "from (population).",
            table(["law", "ε", *names], rows, texts=1),
            f"Pointwise {100 * min(pointwise):.1f} to {100 * max(pointwise):.1f}% (target: "
            f"{100 * POINTWISE[0]:.0f} to {100 * POINTWISE[1]:.0f}), whole curves at least "
            f"{100 * min(whole):.1f}% (target: {100 * SIMULTANEOUS:.0f}; one standard error is "
            f"{100 * (0.05 * 0.95 / settings['repeats']) ** 0.5:.1f}): "
            f"{'reached' if good else 'missed in some cell'}.",
        ]
    )
