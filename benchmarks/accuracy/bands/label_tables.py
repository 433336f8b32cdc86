"""Tables of the largest of many labels: how often the truth lies in a row's interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import KOSARAK_ITEMS, load
from benchmarks.markdown import table
from lapwing.planning.recommendation import recommend
from lapwing.planning.simulation import simulate
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import Kind
from lapwing.survey.curator_release import release

TITLE = "Tables of the largest of many labels"
FULL: dict[str, Any] = {
    "repeats": 100,
    "column": "kosarak",
    "size": KOSARAK_ITEMS,
    "thinned": 20,
    "epsilons": [1],
    "rows": 20,
}
QUICK: dict[str, Any] = FULL | {"repeats": 2, "column": None, "size": 64, "epsilons": [2]}

ASKED = 0.95
KINDS: dict[str, Kind | None] = {"table": None, "pointwise": "pointwise"}

Counts = NDArray[np.int64]


def measure(
    *,
    repeats: int,
    column: str | None,
    size: int,
    thinned: int,
    epsilons: Sequence[float],
    rows: int,
) -> dict[str, Any]:
    """Return the shares of rows whose interval holds the truth, and of tables whose rows all do.

    Without a column the counts are a Zipf law's. They are divided by `thinned`, rounded down.
    """
    counts = np.round(1e4 / np.arange(1, size + 1)).astype(np.int64)
    if column is not None:
        known = load(column).padded(size).counts
        assert known is not None
        counts = known
    people, cells = counts // thinned, []
    for epsilon in epsilons:
        sources: tuple[tuple[str, Callable[..., Distribution]], ...] = (
            ("reports", _reported(people, epsilon)),
            ("release", _released(people, epsilon)),
        )
        for name, decoded in sources:
            found: dict[str, list[float]] = {}
            for repeat in range(repeats):
                one, two = (decoded([repeat, part]) for part in (1, 2))
                truth = np.zeros(one.domain.size)
                truth[:size] = people / people.sum()
                # The same people twice, so every difference of these very people is zero.
                gap = one.difference(two, target="empirical")
                for result, known_shares, what in ((one, truth, name), (gap, 0 * truth, "gap")):
                    for kind, asked in KINDS.items():
                        columns = result.to_dict(kind=asked)
                        low, high, share = (
                            np.array(columns[each], dtype=float)
                            for each in ("low", "high", "share")
                        )
                        inside = (low <= known_shares) & (known_shares <= high)
                        largest = np.argsort(-np.abs(share), kind="stable")[:rows]
                        hits = inside[largest]
                        found.setdefault(f"{what}, {kind}, rows", []).append(float(hits.mean()))
                        found.setdefault(f"{what}, {kind}, tables", []).append(float(hits.all()))
            for what, of in ((name, name), ("gap", f"difference, {name}")):
                inside_shares = {
                    f"{kind}, {unit}": float(np.mean(found[f"{what}, {kind}, {unit}"]))
                    for kind in KINDS
                    for unit in ("rows", "tables")
                }
                cells.append({"table": of, "epsilon": epsilon, "inside": inside_shares})
    return {"cells": cells}


def _reported(counts: Counts, epsilon: float) -> Callable[..., Distribution]:
    """Return what decodes simulated reports of the recommended pair, given a seed."""
    pair = recommend(Categories(counts.size), epsilon=epsilon, users=int(counts.sum()))
    channel = pair.randomizer.channel

    def decoded(seed: list[int]) -> Distribution:
        found = pair.decoder.decode(channel, simulate(pair.randomizer, counts, rng=seed))
        assert isinstance(found, Distribution)
        return found

    return decoded


def _released(counts: Counts, epsilon: float) -> Callable[..., Distribution]:
    """Return what makes and decodes a release of the counts, given a seed."""
    exact = ExactCounts(Categories(counts.size).for_curator(), np.append(counts, 0))

    def decoded(seed: list[int]) -> Distribution:
        rng = seeded(1000 * seed[0] + seed[1])
        return release(exact, neighbors="replace-one", epsilon=epsilon, rng=rng).distribution

    return decoded


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the shares of rows and tables next to what is asked."""
    cells = measured["cells"]
    names = list(cells[0]["inside"])
    rows = [
        [one["table"], f"{one['epsilon']:g}"]
        + [f"{100 * one['inside'][name]:.1f}" for name in names]
        for one in cells
    ]
    least = min(one["inside"][f"table, {unit}"] for one in cells for unit in ("rows", "tables"))
    return "\n\n".join(
        [
            f"The {settings['rows']} largest of {settings['size']:,} labels "
            f"({settings['column'] or 'Zipf'}) by `to_dict()`, in {settings['repeats']} repeats. "
            f"The counts are divided by {settings['thinned']}. Reports are of the recommended "
            "randomizer, releases have neighbors replace-one. Differences are of the same people "
            'twice, with `target="empirical"`, so the truth is zero. Percent of the rows whose '
            "interval holds the truth, and of the tables in which all intervals do; nominal 95%. "
            'Table: the default. Pointwise: `kind="pointwise"`, the default before.',
            table(["", "ε", *names], rows),
            f"Target for tables: {100 * ASKED:.0f}% of the rows and of the tables: "
            f"{'reached' if least >= ASKED else 'missed'}.",
        ]
    )
