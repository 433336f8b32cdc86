"""Which weeks of a series are jumps or odd ones: by how much each makes the reports more probable.

A variance that was learned for one week is not yet a finding: with many weeks some show a little
by chance. Each is taken away again, and only what the evidence misses by enough is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.decoders.series.walk import Walk
from lapwing.linear.random_walk import PseudoMeasurement
from lapwing.results.series_change import ChangeKind

PRICE = 2.0
"""Log-evidence that a change must win, beside the logarithm of the number of weeks: a change into
any of them might have been found. In one of 44 made-up series that stand still noise won more, 5.8
in all, before jumps that are added had a price of their own."""

_TRIED = 1e-5
"""Level from which a jump is tried; its square root is the step of a density 1 high."""


@dataclass(frozen=True)
class FoundChange:
    """A change that the reports show: its week, its kind, and the log-evidence for it."""

    week: int
    kind: ChangeKind
    evidence: float


def found_changes(walk: Walk, looks: Sequence[PseudoMeasurement | None]) -> list[FoundChange]:
    """Return the jumps and odd weeks that the reports show, in order.

    Parameters
    ----------
    walk : Walk
        As learned.
    looks : sequence of PseudoMeasurement or None

    Notes
    -----
    One run of the filter for each week that is tried. The first week has nothing before it, and a
    last one that is odd cannot be told from a jump: it is called a jump.
    """
    seen = np.flatnonzero([look is not None for look in looks])
    whole = walk.evidence(looks)
    price = PRICE + float(np.log(max(2, seen.size)))
    found = []
    for week in seen[1:].tolist():
        if max(walk.jump[week], walk.odd[week]) < _TRIED:
            continue
        without = walk.jump.copy(), walk.odd.copy()
        for levels in without:
            levels[week] = 0.0
        gained = whole - replace(walk, jump=without[0], odd=without[1]).evidence(looks)
        if gained > price:
            kind: ChangeKind = "jump" if walk.jump[week] >= walk.odd[week] else "odd week"
            last = week == seen[-1]
            found.append(FoundChange(week, "jump" if last else kind, gained))
    return found
