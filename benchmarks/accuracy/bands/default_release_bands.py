"""Coverage of the default release's intervals in sixty settings, from 1,000 to ten million rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import cycle, islice
from operator import add
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.markdown import table
from lapwing.decoders.releases.segment_curves import segment_distributions
from lapwing.planning.chosen_bins import recommended_bins
from lapwing.planning.release_defaults import recommended_mechanism, release_decoder
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.distribution import Distribution

TITLE = "Intervals of the default release"
FULL: dict[str, Any] = {
    "columns": [
        *("lognormal", "lognormal, rounded", "normal", "uniform", "two atoms", "80% on one value"),
        *("zeros and a tail", "multimodal", "whole numbers, combs", "dates"),
    ],
    "bins": [0, 383, 512, 1024, 2048, 4096],
    "repeats": {"0": 20, "383": 20, "512": 20, "1024": 20, "2048": 6, "4096": 2},
    "ranges": 40,
}
QUICK: dict[str, Any] = FULL | {
    "columns": ["two atoms"],
    "bins": [0, 383],
    "repeats": {"0": 2, "383": 2},
}

EPSILONS = (0.1, 1, 4, 0.5, 2, 8, 16)
PEOPLE = (100_000, 1_000, 1_000_000, 10_000, 10_000_000)
NEIGHBORS: tuple[Neighbors, ...] = ("replace-one", "add-or-remove-one")
PLAIN, SITES, SEGMENTS = "", "3 sites", "3 segments"
HOW = (PLAIN, PLAIN, SITES, PLAIN, PLAIN, PLAIN, SEGMENTS)

POOLED, LEAST = 0.93, 50 / 60
"""What is asked of the settings of a column together, and of each setting."""

KINDS = ("pointwise", "simultaneous", "single bins", "ranges")


@dataclass(frozen=True)
class Setting:
    """One of the sixty: a column of so many bins, and how it is released."""

    column: str
    bins: int
    epsilon: float
    pure: bool
    neighbors: Neighbors
    people: int
    how: str

    @property
    def promise(self) -> Promise:
        """The privacy guarantee."""
        delta = 0 if self.pure else "1e-6"
        return Promise(self.neighbors, epsilon=str(self.epsilon), delta=delta)

    @property
    def name(self) -> str:
        """The setting in words."""
        delta = "" if self.pure else ", δ 1e-6"
        how = f", {self.how}" if self.how else ""
        return (
            f"{self.bins:,} bins, {self.people:,} people, ε {self.epsilon:g}{delta}, "
            f"{self.neighbors}{how}"
        )


def settings(columns: Sequence[str], bins: Sequence[int]) -> list[Setting]:
    """Return those of each column. Zero bins are the default of the epsilon."""
    found = []
    for number, column in enumerate(columns):
        epsilons = islice(cycle(EPSILONS), number, None)
        people = islice(cycle(PEOPLE), 2 * number, None)
        how = islice(cycle(HOW), 2 * number, None)
        for place, (size, epsilon, rows, kind) in enumerate(
            zip(bins, epsilons, people, how, strict=False)
        ):
            # A table of three segments is left at 1,024 bins, for memory.
            found.append(
                Setting(
                    column,
                    size or recommended_bins(epsilon),
                    epsilon,
                    pure=(number + place) % 3 == 2,
                    neighbors=NEIGHBORS[(number + place) // 2 % 2],
                    people=rows,
                    how=PLAIN if kind == SEGMENTS and size > 1024 else kind,
                )
            )
    return found


def masses(column: str, bins: int) -> NDArray[np.float64]:
    """Return the distribution of a column on equal bins of [0, 100]: float64 [bins]."""
    edges = np.linspace(0, 100, bins + 1)

    def of(law: Any) -> NDArray[np.float64]:
        parts = np.diff(law.cdf(edges))
        return np.asarray(parts / parts.sum())

    def of_values(values: Any, weights: Any, *, most: int) -> NDArray[np.float64]:
        parts = np.zeros(bins)
        np.add.at(parts, np.minimum(values * bins // most, bins - 1), weights)
        return np.asarray(parts / parts.sum())

    tail, whole, day = stats.lognorm(1, scale=np.exp(2)), np.arange(101), np.arange(730)
    frequent = 1 + 2 * (whole % 5 == 0) + 4 * (whole % 10 == 0)
    spike = np.zeros(bins)
    if column == "lognormal":
        return of(tail)
    if column == "lognormal, rounded":
        return of_values(whole, tail.pdf(np.maximum(whole, 0.3)), most=100)
    if column == "normal":
        return of(stats.norm(50, 12))
    if column == "uniform":
        return np.full(bins, 1 / bins)
    if column == "two atoms":
        spike[[int(0.2 * bins), int(0.7013 * bins)]] = 0.3, 0.7
        return spike
    if column == "80% on one value":
        spike[int(0.4 * bins)] = 0.8
        return spike + 0.2 * of(stats.norm(50, 20))
    if column == "zeros and a tail":
        spike[0] = 0.4
        return spike + 0.6 * of(tail)
    if column == "multimodal":
        parts = (0.5, stats.norm(20, 2)), (0.3, stats.norm(50, 0.7)), (0.2, stats.norm(80, 5))
        return np.asarray(np.sum([share * of(law) for share, law in parts], axis=0))
    if column == "whole numbers, combs":
        return of_values(whole, stats.norm(45, 18).pdf(whole) * frequent, most=100)
    weekly = np.where(day % 7 < 5, 1.0, 0.25)
    return of_values(day, weekly * (1 + 0.4 * np.sin(day / 58)), most=730)


def decoded(
    setting: Setting, domain: Domain, rng: np.random.Generator, seed: int
) -> tuple[Distribution, NDArray[np.int64]]:
    """Return a decoded release, and the exact counts of the symbols it is about."""
    drawn = np.zeros(domain.size, dtype=np.int64)
    drawn[1 : setting.bins + 1] = rng.multinomial(
        setting.people, masses(setting.column, setting.bins)
    )
    if setting.how == SEGMENTS:
        segmented = Segmented(domain, ["a", "b", "c"])
        others = [drawn // 2, drawn // 5, np.zeros_like(drawn)]
        held = ExactCounts(segmented, np.concatenate([drawn, *others]))
        mechanism = recommended_mechanism(segmented, setting.promise)
        release = mechanism.release(held, setting.promise, rng=seeded(seed))
        return segment_distributions(release)["a"], drawn
    mechanism = recommended_mechanism(domain, setting.promise)
    sites = 3 if setting.how == SITES else 1
    each = [drawn // sites] * (sites - 1)
    each.append(drawn - sum(each))
    releases = [
        mechanism.release(ExactCounts(domain, one), setting.promise, rng=seeded(10 * seed + site))
        for site, one in enumerate(each)
    ]
    release = reduce(add, releases)
    return release_decoder(mechanism, release.domain).decode(release.channel, release), drawn


def covered(
    found: Distribution, counts: NDArray[np.int64], ranges: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return which part of each kind of interval holds the truth about the people."""
    domain = found.domain
    curve = np.cumsum(counts)[: domain.left.size] / counts.sum()
    inside = {}
    for kind in ("pointwise", "simultaneous"):
        band = found.confidence_band(0.95, kind=kind)
        assert band is not None
        inside[kind] = (band.low <= curve + 1e-12) & (curve <= band.high + 1e-12)
        if kind == "pointwise":
            width = float((band.high - band.low).mean()) / 2
    used = (curve > 0.02) & (curve < 0.98)
    bins = domain.left.size - 2
    edges = np.append(domain.left[1], domain.right[1:-1])
    lengths = np.exp(rng.uniform(0, np.log(0.6 * bins), ranges)).astype(np.int64)
    hits: dict[str, list[bool]] = {"single bins": [], "ranges": []}
    for kind, spans in (("single bins", np.ones(ranges, np.int64)), ("ranges", lengths)):
        for length in spans:
            first = int(rng.integers(0, bins - length))
            truth = counts[1 + first : 1 + first + length].sum() / counts.sum()
            ends = found.probability_interval(edges[first], edges[first + length])
            assert ends is not None
            hits[kind].append(bool(ends[0] <= truth + 1e-9 and truth <= ends[1] + 1e-9))
    return {
        "pointwise": float(inside["pointwise"][used].mean()),
        "simultaneous": float(inside["simultaneous"].all()),
        **{kind: float(np.mean(each)) for kind, each in hits.items()},
        "half width": width * float(counts.sum()),
    }


def measure(
    *, columns: Sequence[str], bins: Sequence[int], repeats: dict[str, int], ranges: int
) -> dict[str, Any]:
    """Return the covered shares of each setting, about the people, with its median CPU seconds."""
    cells = []
    listed = settings(columns, bins)
    for number, setting in enumerate(listed):
        inner = Interval(0, 100, bins=setting.bins)
        domain = ExactCounts.of_values([1.0], inner).domain
        answers, seconds, silent = [], [], 0
        for repeat in range(repeats[str(bins[number % len(bins)])]):
            rng = np.random.default_rng([repeat, number, 42])
            start = process_time()
            found, counts = decoded(setting, domain, rng, 1000 * number + repeat)
            if found.uncertainty is None:
                silent += 1
                continue
            answers.append(covered(found, counts, ranges, rng))
            seconds.append(process_time() - start)
        cells.append(
            {
                "column": setting.column,
                "setting": setting.name,
                "repeats": len(answers),
                "silent": silent,
                "seconds": float(np.median(seconds)) if seconds else None,
                **{
                    key: float(np.mean([one[key] for one in answers])) if answers else None
                    for key in (*KINDS, "half width")
                },
            }
        )
    return {"cells": cells}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage of every setting, and of those of each column together."""
    cells = [one for one in measured["cells"] if one["repeats"]]
    columns = list(dict.fromkeys(one["column"] for one in cells))
    pooled = {
        column: {
            kind: float(
                np.average(
                    [one[kind] for one in cells if one["column"] == column],
                    weights=[one["repeats"] for one in cells if one["column"] == column],
                )
            )
            for kind in KINDS
        }
        for column in columns
    }
    below = [
        f"{one['column']}, {one['setting']} ({kind} {100 * one[kind]:.0f})"
        for one in cells
        for kind in KINDS
        if one[kind] < LEAST
    ]
    short = [
        f"{column} ({kind} {100 * each[kind]:.1f})"
        for column, each in pooled.items()
        for kind in KINDS
        if each[kind] < POOLED
    ]
    rows = [
        [
            one["column"],
            one["setting"],
            f"{one['repeats']}",
            *(f"{100 * one[kind]:.0f}" for kind in KINDS),
            f"{one['half width']:.1f}",
            f"{one['seconds']:.1f}",
        ]
        for one in cells
    ]
    none = sum(one["silent"] for one in measured["cells"])
    return "\n\n".join(
        [
            "Percent covered by nominal 95% intervals about the people in the data, of the default "
            "release with its own estimator. Pointwise: edges with 0.02 < F < 0.98. Simultaneous: "
            f"all edges at once. {settings['ranges']} single bins and ranges of each release, of "
            "random place and width. Half width: mean of the pointwise band, in people. At the "
            "lowest edge the band holds the whole first bin, so the mean is large where many "
            "people are in that bin. Seconds: "
            "CPU time of release, decoding and all these intervals, median. Of three "
            f"segments the first is judged. {none} releases had no band, because a segment was too "
            "small.",
            table(
                ["column", *KINDS],
                [
                    [name, *(f"{100 * each[kind]:.1f}" for kind in KINDS)]
                    for name, each in pooled.items()
                ],
                texts=1,
            ),
            table(
                ["column", "setting", "releases", *KINDS, "half width", "seconds"], rows, texts=2
            ),
            f"Target: {100 * POOLED:.0f} over the settings of each column, "
            f"{'reached' if not short else 'missed: ' + ', '.join(short)}. No setting below "
            f"{100 * LEAST:.0f}: {'reached' if not below else 'missed: ' + ', '.join(below)}.",
        ]
    )
