"""The default mechanism compared with every single choice: cells, trees and prefix sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.bands.default_release_bands import masses
from benchmarks.markdown import table
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.mechanisms.linear_mechanism import LinearMechanism
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.planning.release_defaults import quick_release_decoder, recommended_mechanism
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts

TITLE = "The choice of the mechanism"
FULL: dict[str, Any] = {
    "columns": ["lognormal", "multimodal", "whole numbers, combs", "zeros and a tail"],
    "bins": [64, 256, 1024],
    "people": [100, 3_000, 100_000, 1_000_000],
    "epsilons": ["0.1", "1", "4"],
    "deltas": ["0", "1e-6"],
    "repeats": 2,
}
QUICK: dict[str, Any] = FULL | {
    "columns": ["lognormal"],
    "bins": [64],
    "people": [1_000],
    "epsilons": ["1"],
    "repeats": 2,
}

EXPECTED, DEFAULT = "default, people expected", "default"
METRICS = ("W1", "KS")
MEAN, WORST = 1.05, 1.5


def singles(domain: Domain, promise: Promise) -> dict[str, LinearMechanism]:
    """Return the mechanisms that one could choose for all settings."""
    found: dict[str, LinearMechanism] = {
        f"{cells} cells": HistogramQuery(cells)
        for cells in (16, 32, 64, 256)
        if cells <= domain.left.size
    }
    found |= {f"tree {branching}": SumTree(branching) for branching in (16, 32)}
    if not promise.pure:
        found["prefix sums"] = PrefixSums()
        found["smooth prefix sums"] = PrefixSums(smooth=40)
    return found


def measure(
    *,
    columns: Sequence[str],
    bins: Sequence[int],
    people: Sequence[int],
    epsilons: Sequence[str],
    deltas: Sequence[str],
    repeats: int,
) -> dict[str, Any]:
    """Return distances to the people at the ends of bins. Each release has noise of its own."""
    cells = []
    for size, rows, epsilon, delta in product(bins, people, epsilons, deltas):
        domain = Interval(0, 100, bins=size, outside="clip").for_curator()
        promise = Promise("replace-one", epsilon=epsilon, delta=delta)
        defaults = {
            EXPECTED: recommended_mechanism(domain, promise, expected=rows),
            DEFAULT: recommended_mechanism(domain, promise),
        }
        used = {str(one): one for one in (*singles(domain, promise).values(), *defaults.values())}
        found: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in used}
        for column in columns:
            for name, mechanism in used.items():
                found[name].append(
                    [
                        _distances(mechanism, domain, promise, column, rows, repeat)
                        for repeat in range(repeats)
                    ]
                )
        scores = {name: found[str(one)] for name, one in singles(domain, promise).items()}
        scores |= {name: found[str(one)] for name, one in defaults.items()}
        cells.append(
            {
                "bins": size,
                "people": rows,
                "epsilon": epsilon,
                "delta": delta,
                "chosen": {name: one.to_document() for name, one in defaults.items()},
                "scores": scores,
            }
        )
    return {"cells": cells}


def _distances(
    mechanism: Any, domain: Domain, promise: Promise, column: str, rows: int, repeat: int
) -> tuple[float, float]:
    """Return the mean and the largest distance of a released curve to that of its people."""
    size = domain.left.size
    who = crc32(repr((size, rows, column, repeat)).encode())
    counts = np.zeros(domain.size, dtype=np.int64)
    counts[:size] = np.random.default_rng(who).multinomial(rows, masses(column, size))
    noise = crc32(repr((who, str(promise), str(mechanism))).encode())
    release = mechanism.release(ExactCounts(domain, counts), promise, rng=seeded(noise))
    mass = quick_release_decoder(mechanism).decode(release.channel, release).mass
    gaps = np.abs(np.cumsum(mass - counts / rows))
    return float(gaps.mean()), float(gaps.max())


def regrets(cell: Mapping[str, Any], name: str) -> NDArray[np.float64]:
    """Return logarithms of a default's error over that of the best single choice: W1 and KS.

    The best is chosen on one half of the repeats and scored on the other, both ways, so that luck
    with the noise does not count.
    """
    logs = {key: np.log(np.maximum(each, 1e-12)) for key, each in cell["scores"].items()}
    own = [key for key in logs if key not in (EXPECTED, DEFAULT)]
    found = []
    for half in (0, 1):
        means = {key: logs[key][:, half::2].mean(axis=(0, 1)) for key in own}
        for metric in range(2):
            best = min(own, key=lambda key: float(means[key][metric]))
            other = slice(1 - half, None, 2)
            found.append((logs[name] - logs[best])[:, other, metric].mean())
    both: NDArray[np.float64] = np.reshape(found, (2, 2)).mean(axis=0)
    return both


def worst_columns(cells: Iterable[Mapping[str, Any]], name: str) -> NDArray[np.float64]:
    """Return of each column its mean error over that of its own best choice: [columns, 2]."""
    logs: list[NDArray[np.float64]] = []
    for cell in cells:
        each = {
            key: np.log(np.maximum(of, 1e-12)).mean(axis=1) for key, of in cell["scores"].items()
        }
        own = [one for key, one in each.items() if key not in (EXPECTED, DEFAULT)]
        logs.append(each[name] - np.min(own, axis=0))
    return np.asarray(np.exp(np.mean(logs, axis=0)))


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the ratios to the best single choice, and those asked."""
    cells = measured["cells"]
    rows = []
    for size, delta in product(settings["bins"], settings["deltas"]):
        here = [cell for cell in cells if (cell["bins"], cell["delta"]) == (size, delta)]
        ratios = [
            f"{value:.2f}"
            for name in (EXPECTED, DEFAULT)
            for value in np.exp(np.mean([regrets(cell, name) for cell in here], axis=0))
        ]
        rows.append([f"{size:,}", delta, *ratios])
    whole = {
        name: np.exp(np.mean([regrets(cell, name) for cell in cells], axis=0))
        for name in (EXPECTED, DEFAULT)
    }
    columns = worst_columns(cells, EXPECTED)
    people = ", ".join(f"{number:,}" for number in settings["people"])
    head = [
        "bins",
        "δ",
        *(f"{name}, {metric}" for name in (EXPECTED, DEFAULT) for metric in METRICS),
    ]
    few = [cell for cell in cells if cell["people"] * float(cell["epsilon"]) <= 100]
    rest = [cell for cell in cells if cell not in few]
    parts = [
        (text, np.exp(np.mean([regrets(cell, EXPECTED) for cell in those], axis=0)))
        for text, those in (("at most 100", few), ("above 100", rest))
        if those
    ]
    return "\n\n".join(
        [
            "Error of the default over that of the best single choice of a setting: 16, 32, 64 or "
            "256 cells, a tree of branching 16 or 32, prefix sums with and without smooth rows. "
            "Geometric means over columns, numbers of people and ε. The best is chosen on one half "
            "of the repeats and scored on the other. Decoded without band, on 96 cells.",
            f"{len(settings['columns'])} columns, {people} people, "
            f"ε {', '.join(settings['epsilons'])}, replaced rows, {settings['repeats']} "
            "repeats. *People expected*: `expected=` is their number.",
            table(head, rows, texts=2),
            "Over all settings: "
            + ", ".join(
                f"{name} {values[0]:.3f} in W1 and {values[1]:.3f} in KS"
                for name, values in whole.items()
            )
            + f" (asked with people expected: {MEAN:g}). With people times ε "
            + ", ".join(f"{text}: {of[0]:.2f} and {of[1]:.2f}" for text, of in parts)
            + ".",
            "Over its own best choice of each setting, which is also chosen by luck, the mean of a "
            f"column is at most {columns[:, 0].max():.2f} in W1 and {columns[:, 1].max():.2f} in "
            f"KS (asked: {WORST:g}).",
        ]
    )
