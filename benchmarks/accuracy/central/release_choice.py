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
from lapwing.mechanisms.prefix_sums import SMOOTH_RANGE, PrefixSums
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.planning.release_defaults import quick_release_decoder, recommended_mechanism
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts

TITLE = "The choice of the mechanism"
FULL: dict[str, Any] = {
    "columns": [
        *("lognormal", "multimodal", "whole numbers, combs", "zeros and a tail"),
        *("two atoms", "dates"),
    ],
    "new": ["two atoms", "dates"],
    "grids": [
        {
            "bins": [64, 256, 1024],
            "epsilons": ["0.1", "1", "4"],
            "deltas": ["0", "1e-6"],
            "repeats": {"100": 8, "3000": 4, "100000": 2, "1000000": 2},
        },
        {
            "bins": [64, 256, 1024],
            "epsilons": ["0.1", "1"],
            "deltas": ["1e-9"],
            "repeats": {"3000": 4, "100000": 2},
        },
        {
            "bins": [4096],
            "epsilons": ["0.1", "1"],
            "deltas": ["0", "1e-6"],
            "repeats": {"3000": 4, "1000000": 2},
        },
        {
            "bins": [16384],
            "epsilons": ["1"],
            "deltas": ["0", "1e-6"],
            "repeats": {"3000": 2, "1000000": 2},
        },
    ],
}
QUICK: dict[str, Any] = {
    "columns": ["lognormal"],
    "new": [],
    "grids": [{"bins": [64], "epsilons": ["1"], "deltas": ["0", "1e-6"], "repeats": {"1000": 2}}],
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
        if domain.left.size <= SMOOTH_RANGE[1]:
            found["smooth prefix sums"] = PrefixSums(smooth=40)
    return found


def measure(
    *, columns: Sequence[str], new: Sequence[str], grids: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return distances to the people at the ends of bins. Each release has noise of its own."""
    cells = []
    for size, epsilon, delta, (people, repeats) in (
        cell
        for grid in grids
        for cell in product(grid["bins"], grid["epsilons"], grid["deltas"], grid["repeats"].items())
    ):
        rows = int(people)
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
    mass = quick_release_decoder(mechanism, release.domain).decode(release.channel, release).mass
    gaps = np.abs(np.cumsum(mass - counts / rows))
    return float(f"{gaps.mean():.4g}"), float(f"{gaps.max():.4g}")


def regrets(
    cell: Mapping[str, Any], name: str, *, columns: slice = slice(None)
) -> NDArray[np.float64]:
    """Return logarithms of a default's error over that of the best single choice: W1 and KS.

    The best is chosen on one half of the repeats and scored on the other, both ways, so that luck
    with the noise does not count.
    """
    logs = _logarithms(cell, columns)
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


def deviations(
    cell: Mapping[str, Any], name: str, *, columns: slice = slice(None)
) -> NDArray[np.float64]:
    """Return the standard errors of :func:`regrets`, from how the repeats of a column differ."""
    logs = _logarithms(cell, columns)
    own = [key for key in logs if key not in (EXPECTED, DEFAULT)]
    found = []
    for metric in range(2):
        best = min(own, key=lambda key: float(logs[key][:, :, metric].mean()))
        ratios = (logs[name] - logs[best])[:, :, metric]
        of_columns = ratios.var(axis=1, ddof=1) / ratios.shape[1]
        found.append(np.sqrt(of_columns.sum()) / of_columns.size)
    return np.array(found)


def _logarithms(cell: Mapping[str, Any], columns: slice) -> dict[str, NDArray[np.float64]]:
    return {
        key: np.log(np.maximum(np.asarray(each)[columns], 1e-12))
        for key, each in cell["scores"].items()
    }


def worst_columns(cells: Iterable[Mapping[str, Any]], name: str) -> NDArray[np.float64]:
    """Return of each column its mean error over that of its own best choice: [columns, 2]."""
    logs = []
    for cell in cells:
        columns = range(len(cell["scores"][name]))
        logs.append([regrets(cell, name, columns=slice(one, one + 1)) for one in columns])
    return np.asarray(np.exp(np.mean(logs, axis=0)))


def systematic(
    cells: Iterable[Mapping[str, Any]], name: str, most: float, *, each: bool = False
) -> list[str]:
    """Return the cells whose ratio is above a limit by two standard errors, in either distance.

    Parameters
    ----------
    each : bool
        Whether the ratio is that of a column to its own best choice.
    """
    found = []
    for cell in cells:
        count = len(cell["scores"][name])
        slices = [slice(one, one + 1) for one in range(count)] if each else [slice(None)]
        for columns in slices:
            ratios, errors = (of(cell, name, columns=columns) for of in (regrets, deviations))
            if (ratios - 2 * errors > np.log(most)).any():
                found.append(
                    f"{cell['bins']:,} bins, {cell['people']:,} people, ε {cell['epsilon']}, "
                    f"δ {cell['delta']}: "
                    + " and ".join(
                        f"{np.exp(ratio):.2f} ± {np.exp(ratio) * error:.2f}"
                        for ratio, error in zip(ratios, errors, strict=True)
                    )
                )
    return found


def _mean_text(cells: Sequence[Mapping[str, Any]], name: str, columns: slice = slice(None)) -> str:
    """Return the mean ratios over cells, with their standard errors."""
    ratios = np.exp(np.mean([regrets(cell, name, columns=columns) for cell in cells], axis=0))
    squares = [deviations(cell, name, columns=columns) ** 2 for cell in cells]
    errors = ratios * np.sqrt(np.sum(squares, axis=0)) / len(cells)
    return " and ".join(
        f"{ratio:.2f} ± {error:.2f} in {metric}"
        for ratio, error, metric in zip(ratios, errors, METRICS, strict=True)
    )


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the ratios to the best single choice, and those asked."""
    cells = measured["cells"]
    rows = []
    for size, delta in dict.fromkeys((cell["bins"], cell["delta"]) for cell in cells):
        here = [cell for cell in cells if (cell["bins"], cell["delta"]) == (size, delta)]
        people = sorted({cell["people"] for cell in here})
        epsilons = dict.fromkeys(cell["epsilon"] for cell in here)
        ratios = []
        for name in (EXPECTED, DEFAULT):
            values = np.exp(np.mean([regrets(cell, name) for cell in here], axis=0))
            squares = np.mean([deviations(cell, name) ** 2 for cell in here], axis=0) / len(here)
            ratios += [
                f"{value:.2f} ± {value * error:.2f}"
                for value, error in zip(values, np.sqrt(squares), strict=True)
            ]
        many = f"{people[0]:,} to {people[-1]:,}" if len(people) > 1 else f"{people[0]:,}"
        rows.append([f"{size:,}", delta, many, ", ".join(epsilons), *ratios])
    columns = worst_columns(cells, EXPECTED)
    head = [
        *("bins", "δ", "people", "ε"),
        *(f"{name}, {metric}" for name in (EXPECTED, DEFAULT) for metric in METRICS),
    ]
    few = [cell for cell in cells if cell["people"] * float(cell["epsilon"]) <= 100]
    rest = [cell for cell in cells if cell not in few]
    parts = [
        f"With people times ε {text}: {_mean_text(those, EXPECTED)}."
        for text, those in (("at most 100", few), ("above 100", rest))
        if those
    ]
    new = len(settings.get("new", ()))
    if new:
        parts.append(
            f"The columns that no choice was tuned on ({', '.join(settings['new'])}) alone: "
            f"{_mean_text(cells, EXPECTED, slice(-new, None))}."
        )
    counted = [len(cell["scores"][DEFAULT][0]) for cell in cells]
    repeats = [str(number) for number in dict.fromkeys((min(counted), max(counted)))]
    above = systematic(cells, EXPECTED, MEAN)
    of_columns = systematic(cells, EXPECTED, WORST, each=True)
    return "\n\n".join(
        [
            "Error of the default over that of the best single choice of a setting: 16, 32, 64 or "
            "256 cells, a tree of branching 16 or 32, prefix sums with and without smooth rows. "
            "Geometric means over columns, numbers of people and ε, with standard errors. The best "
            "is chosen on one half of the repeats and scored on the other. Decoded without band, "
            "on 96 cells.",
            f"{len(settings['columns'])} columns, replaced rows, {' to '.join(repeats)} "
            "repeats, most of few people. *People expected*: `expected=` is their number.",
            table(head, rows, texts=4),
            f"Over all settings: {EXPECTED} {_mean_text(cells, EXPECTED)}, {DEFAULT} "
            f"{_mean_text(cells, DEFAULT)} (target with people expected: {MEAN:g}). "
            + " ".join(parts),
            f"Settings above {MEAN:g} by two standard errors, with people expected: {len(above)} "
            f"of {len(cells)}{': ' if above else ''}{'; '.join(above)}. Over its own best choice "
            "of each setting, the mean of a column is at most "
            f"{columns[:, 0].max():.2f} in W1 and {columns[:, 1].max():.2f} in KS (target: "
            f"{WORST:g}). A column in one setting is above that by two standard errors in "
            f"{len(of_columns)} of {len(cells) * len(settings['columns'])} cases. Standard errors "
            "of two repeats are rough.",
        ]
    )
