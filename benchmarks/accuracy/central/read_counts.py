"""Noisy counts of another library, read and decoded, beside clipped and normalized ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.bands.default_release_bands import masses
from benchmarks.markdown import table
from benchmarks.summaries import geometric, mean_and_error
from lapwing.errors import WeakAnswerWarning
from lapwing.survey.noisy_counts import StatedNoise, read_counts

TITLE = "Noisy counts of another library"
FULL: dict[str, Any] = {
    "columns": [
        *("lognormal", "normal", "uniform", "two atoms", "zeros and a tail", "multimodal"),
        *("whole numbers, combs", "dates"),
    ],
    "noises": ["laplace", "gaussian", "discrete-laplace", "discrete-gaussian"],
    "cases": [[1_000, 2.0], [10_000, 2.0], [10_000, 10.0], [100_000, 10.0], [1_000_000, 10.0]],
    "repeats": 2,
    "bins": 256,
}
QUICK: dict[str, Any] = FULL | {"columns": ["normal", "two atoms"], "cases": [[10_000, 2.0]]}

MOST, LOW, HIGH = 0.7, 0.94, 0.97
"""Asked of the W1 distance over that of clipped counts, and of the pointwise coverage."""

_EDGE = 0.02
"""Heights of the CDF nearer to 0 or 1 than this do not count for the coverage."""


def noise(kind: StatedNoise, scale: float, size: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return noise by its textbook law, not by this library's samplers: float64 [size]."""
    if kind == "laplace":
        return rng.laplace(0, scale, size)
    if kind == "gaussian":
        return rng.normal(0, scale, size)
    numbers = np.arange(-int(60 * scale), int(60 * scale) + 1)
    power = 1 if kind == "discrete-laplace" else 2
    weights = np.exp(-((np.abs(numbers) / scale) ** power) / power)
    return rng.choice(numbers, size, p=weights / weights.sum()).astype(np.float64)


def measure(
    *,
    columns: Sequence[str],
    noises: Sequence[StatedNoise],
    cases: Sequence[tuple[int, float]],
    repeats: int,
    bins: int,
) -> dict[str, Any]:
    """Return ratios of distances and the coverage of each column and case, all noises together."""
    rows = []
    for column, (people, scale) in product(columns, cases):
        draws = [
            _draw(column, people, kind, scale, repeat, bins)
            for kind, repeat in product(noises, range(repeats))
        ]
        rows.append(
            {
                "column": column,
                "people": people,
                "scale": scale,
                "W1": [draw[0] for draw in draws],
                "KS": [draw[1] for draw in draws],
                "covered": [draw[2] for draw in draws],
            }
        )
    return {"rows": rows}


def _draw(
    column: str, people: int, kind: StatedNoise, scale: float, repeat: int, bins: int
) -> tuple[float, float, float]:
    """Return ratios of W1 and KS to those of clipped counts, and the part of edges covered."""
    rng = np.random.default_rng(crc32(repr((column, people, kind, scale, repeat)).encode()))
    counts = rng.multinomial(people, masses(column, bins))
    noisy = counts + noise(kind, scale, bins, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakAnswerWarning)
        edges = np.linspace(0, 100, bins + 1)
        found = read_counts(edges, noisy, noise=kind, scale=scale).distribution
    clipped = np.maximum(noisy, 0) / np.maximum(noisy, 0).sum()
    truth = np.cumsum(counts) / people
    ours, theirs = (np.abs(np.cumsum(mass) - truth) for mass in (found.mass, clipped))
    band = found.confidence_band(0.95)
    assert band is not None
    heights = np.interp(band.points, edges, np.append(0.0, truth))
    inner = (heights > _EDGE) & (heights < 1 - _EDGE)
    inside = (band.low <= heights + 1e-12) & (heights <= band.high + 1e-12)
    covered = float(inside[inner].mean()) if inner.any() else 1.0
    ratios = (ours.mean() / theirs.mean(), ours.max() / theirs.max())
    return float(f"{ratios[0]:.4g}"), float(f"{ratios[1]:.4g}"), covered


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    rows = measured["rows"]
    body = [
        [
            row["column"],
            f"{row['people']:,}",
            f"{row['scale']:g}",
            *(f"{geometric(row[metric]):.2f}" for metric in ("W1", "KS")),
            f"{100 * mean_and_error(row['covered'])['mean']:.1f}",
        ]
        for row in rows
    ]
    first, largest = (
        geometric([one for row in rows for one in row[metric]]) for metric in ("W1", "KS")
    )
    covered = mean_and_error([one for row in rows for one in row["covered"]])
    reached = first <= MOST and LOW <= covered["mean"] <= HIGH
    draws = settings["repeats"] * len(settings["noises"])
    return "\n\n".join(
        [
            f"Made-up columns on {settings['bins']} bins. The noise is drawn by NumPy, not by "
            "Lapwing. *W1* and *KS*: distance of the decoded curve to that of the people, over "
            f"that of clipped and normalized counts. Geometric means of {draws} draws, with "
            f"{', '.join(settings['noises'])} noise alike. *Covered*: percent of the edges with "
            f"{_EDGE} < F < {1 - _EDGE} in the pointwise 95% band.",
            table(["column", "people", "scale", "W1", "KS", "covered"], body, texts=1),
            f"All together: W1 {first:.2f} (target: at most {MOST}), KS {largest:.2f}, covered "
            f"{100 * covered['mean']:.1f} ± {100 * covered['standard_error']:.1f}% (target: "
            f"{100 * LOW:.0f} to {100 * HIGH:.0f}): {'reached' if reached else 'missed'}.",
        ]
    )
