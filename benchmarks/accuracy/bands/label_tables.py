"""Tables of the largest of many labels: how often the truth lies in a row's interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.datasets import KOSARAK_ITEMS, load
from benchmarks.markdown import table
from lapwing.planning.recommendation import recommend
from lapwing.planning.simulation import simulate
from lapwing.protocol.domains.categories import Categories
from lapwing.results.uncertainty import Kind

TITLE = "Tables of the largest of many labels"
FULL: dict[str, Any] = {
    "repeats": 10,
    "column": "kosarak",
    "size": KOSARAK_ITEMS,
    "epsilons": [1, 2, 4],
    "rows": 20,
}
QUICK: dict[str, Any] = FULL | {"repeats": 2, "column": None, "size": 64, "epsilons": [2]}

ASKED = 0.93


def measure(
    *, repeats: int, column: str | None, size: int, epsilons: Sequence[float], rows: int
) -> dict[str, Any]:
    """Return the shares of rows whose interval holds the truth, the estimate, no difference.

    Without a column the counts are a Zipf law's.
    """
    counts = np.round(1e4 / np.arange(1, size + 1)).astype(np.int64)
    if column is not None:
        known = load(column).padded(size).counts
        assert known is not None
        counts = known
    truth, domain, cells = counts / counts.sum(), Categories(size), []
    for epsilon in epsilons:
        pair = recommend(domain, epsilon=epsilon, users=int(counts.sum()))
        channel = pair.randomizer.channel
        found: dict[str, list[float]] = {}
        for repeat in range(repeats):
            one, two = (
                pair.decoder.decode(channel, simulate(pair.randomizer, counts, rng=[repeat, part]))
                for part in (1, 2)
            )
            gap = one.difference(two)
            gaps = one.mass - two.mass
            largest = np.argsort(-one.mass, kind="stable")[:rows]
            widest = np.argsort(-np.abs(gaps), kind="stable")[:rows]
            kinds: dict[str, Kind] = {"shown": "simultaneous", "pointwise": "pointwise"}
            for name, kind in kinds.items():
                band = one.confidence_band(0.95, kind=kind)
                between = gap.confidence_band(0.95, kind=kind)
                if name == "shown":
                    band, between = one._shown_band(0.95, rows), gap._shown_band(0.95, rows)
                assert band is not None and between is not None
                for what, rows_of, heights, curve in (
                    ("truth", largest, truth, band),
                    ("estimate", largest, one.mass, band),
                    ("no difference", widest, np.zeros(size), between),
                ):
                    inside = (curve.low <= heights) & (heights <= curve.high)
                    found.setdefault(f"{what}, {name}", []).append(float(inside[rows_of].mean()))
        share = {name: float(np.mean(every)) for name, every in found.items()}
        cells.append({"epsilon": epsilon, "inside": share})
    return {"cells": cells}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the shares of rows beside what is asked."""
    cells = measured["cells"]
    names = list(cells[0]["inside"])
    rows = [
        [f"{one['epsilon']:g}", *(f"{100 * one['inside'][name]:.1f}" for name in names)]
        for one in cells
    ]
    shown = [one["inside"][name] for one in cells for name in names if name.endswith("shown")]
    return "\n\n".join(
        [
            f"Percent of the {settings['rows']} largest of {settings['size']:,} labels "
            f"({settings['column'] or 'Zipf'}) whose interval holds the truth and the estimate, "
            f"and of the {settings['rows']} largest differences of two polls of the same people "
            f"whose interval holds zero; {settings['repeats']} repeats, nominal 95 %. Shown: the "
            "intervals of a table, of all labels at once. Pointwise: what tables had before.",
            table(["ε", *names], rows),
            f"Asked of what is shown: {100 * ASKED:.0f} %: "
            f"{'reached' if min(shown) >= ASKED else 'missed'}.",
        ]
    )
