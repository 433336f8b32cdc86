"""Coverage of the bands that a curator gets who chooses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.accuracy.central.central_default import covered_parts
from benchmarks.accuracy.papers.functional_approximation.central_methods import SYMBOLS, laws
from benchmarks.markdown import table
from lapwing.decoders.releases.spectral_pursuit import SpectralPursuit
from lapwing.planning.release_defaults import recommended_mechanism
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.uncertainty import Target

TITLE = "Bands of the curator's default"
FULL: dict[str, Any] = {"repeats": 200, "people": 10_000, "bins": 256, "epsilons": [0.1, 0.5, 1]}
QUICK: dict[str, Any] = {"repeats": 2, "people": 500, "bins": 64, "epsilons": [1]}

MEAN = (0.94, 0.965)
LEAST = 0.93

TARGETS: tuple[Target, ...] = ("empirical", "population")


def measure(*, repeats: int, people: int, bins: int, epsilons: Sequence[float]) -> dict[str, Any]:
    """Return the covered share of the edges with 0.02 < F < 0.98, and of whole curves.

    Every cell draws people and noise of its own, so that the cells err independently.
    """
    domain = Interval(-1, 1, bins=bins, outside="clip").for_curator()
    delta = Fraction(str(people**-1.5))
    cells: list[dict[str, Any]] = []
    for name, law in laws().items():
        population = law.cdf[SYMBOLS // bins - 1 :: SYMBOLS // bins]
        for epsilon in epsilons:
            promise = Promise("replace-one", epsilon=Fraction(str(epsilon)), delta=delta)
            mechanism = recommended_mechanism(domain, promise)
            decoder = SpectralPursuit()
            covered: dict[str, list[float]] = {}
            for repeat in range(repeats):
                rng = np.random.default_rng([repeat, len(cells), 13])
                summary = ExactCounts.of_values(law.draw(people, rng), domain)
                noise = seeded(repeat + repeats * len(cells))
                release = mechanism.release(summary, promise, rng=noise)
                answer = decoder.decode(release.channel, release)
                truths = np.cumsum(summary.counts[:bins]) / people, population
                for target, truth in zip(TARGETS, truths, strict=True):
                    for kind, share in covered_parts(answer, target, truth).items():
                        covered.setdefault(f"{target} {kind}", []).append(share)
            cells.append({"law": name, "epsilon": epsilon, "covered": covered})
    return {"cells": cells}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage of every cell beside what is asked of the mean and of the lowest."""
    cells = measured["cells"]
    kinds = list(cells[0]["covered"])
    rows, said = [], []
    for cell in cells:
        shares = [f"{100 * np.mean(cell['covered'][kind]):.1f}" for kind in kinds]
        rows.append([cell["law"], f"{cell['epsilon']:g}", *shares])
    for kind in kinds:
        means = [float(np.mean(cell["covered"][kind])) for cell in cells]
        lowest = cells[int(np.argmin(means))]["covered"][kind]
        allowed = 2 * float(np.std(lowest)) / len(lowest) ** 0.5
        good = MEAN[0] <= np.mean(means) <= MEAN[1] and min(means) >= LEAST - allowed
        said.append(
            f"{kind} {100 * np.mean(means):.1f} (lowest {100 * min(means):.1f}): "
            f"{'reached' if good else 'missed'}"
        )
    return "\n\n".join(
        [
            f"Percent covered by the nominal 95% band, {settings['people']:,} people, "
            f"{settings['bins']} bins, {settings['repeats']} releases of the default with its own "
            "decoder, edges with 0.02 < F < 0.98; about the people themselves (empirical) and "
            "those they were drawn from (population).",
            table(["law", "ε", *kinds], rows),
            f"Target: a mean of {100 * MEAN[0]:g} to {100 * MEAN[1]:g}%, no cell below "
            f"{100 * LEAST:g} less two standard errors. {'; '.join(said)}.",
        ]
    )
