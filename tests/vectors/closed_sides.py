"""Intervals whose bins are closed on the right, or whose edges are given one by one."""

from __future__ import annotations

import math
from typing import Any

from lapwing import Interval

AGES = (0, 18, 25, 35, 65, 120)

CLOSED: tuple[tuple[str, Interval], ...] = (
    ("round bins", Interval(0, 50_000, bins=10)),
    ("the lowest value lies in the first bin", Interval(-0.3, 0.7, bins=10)),
    ("values outside go to the ends", Interval(0, 0.7, bins=7)),
    ("an atom at an end and inside a bin", Interval(0, 60, bins=4, atoms=(0, 40), missing="bin")),
    (
        "a circle",
        Interval("00:00", "24:00", bins=6, unit="time-of-day", circular=True, closed="right"),
    ),
    ("edges of one's own", Interval(edges=AGES)),
    ("edges of one's own, closed on the left", Interval(edges=AGES, closed="left")),
    ("quarters", Interval(edges=["2026-01-01", "2026-04-01", "2026-07-01"], unit="date")),
    # Every edge a decimal: others depend on the machine's power in the last place.
    ("powers of ten", Interval(1, 1_000_000, bins=6, scale="log", atoms=(1000,))),
    ("powers of two", Interval(1, 1024, bins=10, scale="log")),
    ("atoms within edges of one's own", Interval(edges=AGES, atoms=(18, 30))),
    ("overflow", Interval(0, 50_000, bins=50, outside="overflow")),
    (
        "overflow, closed on the left",
        Interval(0, 50_000, bins=50, closed="left", outside="overflow"),
    ),
    (
        "overflow of a logarithmic scale",
        Interval(1, 1024, bins=10, scale="log", outside="overflow"),
    ),
    (
        "overflow of a year of dates",
        Interval("2026-01-01", "2027-01-01", bins=365, unit="date", outside="overflow"),
    ),
    (
        "overflow beside atoms at both ends",
        Interval(0, 60, bins=4, atoms=(0, 60), outside="overflow", closed="left", missing="bin"),
    ),
    ("overflow of edges of one's own", Interval(edges=AGES, outside="overflow", missing="bin")),
)


def closed_sides() -> list[dict[str, Any]]:
    """Values on the edges, just beside them, and outside, with their symbols."""
    found = []
    for why, domain in CLOSED:
        at = [*domain.bin_edges.tolist(), *domain.atoms]
        near = {math.nextafter(edge, way) for edge in at for way in (-math.inf, math.inf)}
        outside = {domain.low - 1, domain.high + 1}
        if domain.outside == "overflow":
            outside |= {-1e300, 1e300, 0.0}
        values = sorted({*at, *near, *outside})
        symbols = domain.index(values).tolist()
        inputs = [list(pair) for pair in zip(values, symbols, strict=True)]
        found.append({"why": why, "domain": domain.to_document(), "inputs": inputs})
    return found
