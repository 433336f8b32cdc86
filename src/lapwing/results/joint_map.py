"""Shares of blocks of cells as maps show them, and their differences with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lapwing.linear.arrays import Matrix
from lapwing.results.joint_documents import MapDocument
from lapwing.results.joint_plotting import BLOCKS, MAP_BLOCKS, PANELS, ShownAxis, largest
from lapwing.results.rounding import percent
from lapwing.results.uncertainty import normal_critical_value


def map_document(joint: Any, less: Any = None, *, level: float = 0.95) -> MapDocument:
    """Return the shares of blocks of cells, or the differences to those of another distribution.

    level: Of the intervals of differences, whose blocks are larger.
    """
    both = [each for each in (joint, less) if each is not None]
    sides = [
        _side([each.marginal(name).mass for each in both], name, axis, 1 + (less is not None))
        for name, axis in joint.domain.axes.items()
    ]
    (rows, x, first), (columns, y, second) = sides

    def of(table: Matrix) -> Matrix:
        found: Matrix = rows @ table[..., : rows.shape[1], : columns.shape[1]] @ columns.T
        return found

    told: MapDocument = {
        "x": x,
        "y": y,
        "shares": of(joint.table).tolist(),
        "not_shown": [each for each in (first, second) if each],
    }
    if less is None:
        return told
    gap = of(joint.table) - of(less.table)
    told["shares"] = gap.tolist()
    laws = [each.uncertainty for each in both if each.uncertainty is not None]
    if len(laws) == 2:
        spread = np.sqrt(
            sum(
                (of(law.draws.reshape(-1, *joint.domain.shape).astype(float)) ** 2).mean(axis=0)
                for law in laws
            )
        )
        reach = normal_critical_value(level) * spread
        told |= {"low": (gap - reach).tolist(), "high": (gap + reach).tolist()}
    return told


def _side(
    masses: Sequence[Any], name: str, axis: Any, times: int
) -> tuple[Matrix, list[Any], str | None]:
    """Return which symbols each block of an axis holds, its edges or labels, and who is in none."""
    if axis.ordered:
        shown = ShownAxis.of(name, axis, masses)
        held, edges = shown.blocks(MAP_BLOCKS if times == 1 else BLOCKS)
        return held, edges.tolist(), shown.not_shown
    kept = largest(sum(masses)[: len(axis.listed)], PANELS)
    held = np.zeros((kept.size, axis.size))
    held[np.arange(kept.size), kept] = 1.0
    rest = max(1.0 - float(mass[kept].sum()) for mass in masses)
    told = f"not shown: {percent(rest)} with another {name} or none" if rest >= 0.0005 else None
    return held, [axis.listed[symbol] for symbol in kept], told
