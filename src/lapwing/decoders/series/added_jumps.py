"""Jumps and odd weeks added one by one to a walk, each where it makes the reports most probable.

The score of a variance and the variance of that score, both from one backward pass, give what the
evidence gains when the variance of one step alone grows from nothing: exactly, for any level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.decoders.series.walk import Walk
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.random_walk import PseudoMeasurement, filtered, smoothed

LEVELS = np.geomspace(0.003, 0.6, 8)
"""Levels that are tried for one jump."""

ADDED = 2.0
"""Log-evidence that a jump or an odd week must win beside the logarithm of the weeks, before it is
taken for more than a large step of a walk or of what flickers."""

_LOOKED_AT = 6
"""Weeks, those whose score is largest beside its noise, that are tried at a time."""

_SPARSE, _MOST = 12, 8
"""One jump or odd week is added for so many weeks, one in any case; and this many at most."""


def with_added_jumps(walk: Walk, looks: Sequence[PseudoMeasurement | None]) -> Walk:
    """Return the walk with the jumps and odd weeks that pay for themselves, added one by one.

    Parameters
    ----------
    walk : Walk
        Without jumps and odd weeks.
    looks : sequence of PseudoMeasurement or None

    Notes
    -----
    Each must gain more log-evidence than its price. One pass of the smoother for
    each that is added.
    """
    price = ADDED + float(np.log(max(2, len(looks))))
    for _ in range(min(max(1, len(looks) // _SPARSE), _MOST)):
        jump, odd = walk.jump.copy(), walk.odd.copy()
        found = max(_gains(walk, looks), default=(0.0, 0, 0.0, False))
        if found[0] <= price:
            break
        (odd if found[3] else jump)[found[1]] = found[2]
        walk = replace(walk, jump=jump, odd=odd)
    return walk


def _gains(
    walk: Walk, looks: Sequence[PseudoMeasurement | None]
) -> list[tuple[float, int, float, bool]]:
    """Return what one more gains at most, its week, its level, and whether it is an odd week."""
    parts, _ = walk.without_own(looks)
    after = smoothed(filtered(parts, walk.first, walk.steps))
    shape = walk.shape
    tried: list[tuple[float, int, bool, Vector, Matrix]] = []
    for week, part in enumerate(parts):
        if week and not walk.jump[week]:
            score, usual = after.score[week], after.precision[week]
            tried.append((_ratio(score, usual, shape), week, False, score, usual))
        if part is not None and not walk.odd[week]:
            score = part.score - part.information @ after.mean[week]
            usual = part.information - part.information @ after.covariance[week] @ part.information
            tried.append((_ratio(score, usual, shape), week, True, score, usual))
    tried.sort(key=lambda one: -one[0])
    found = []
    root = np.sqrt(shape)
    for _, week, odd, score, usual in tried[:_LOOKED_AT]:
        values, vectors = np.linalg.eigh(root[:, None] * usual * root)
        values = np.maximum(values, 0.0)
        squares = (vectors.T @ (root * score)) ** 2
        grown = 1 + np.outer(LEVELS, values)
        gains = (LEVELS[:, None] * squares / grown - np.log(grown)).sum(axis=1) / 2
        best = int(np.argmax(gains))
        found.append((float(gains[best]), week, float(LEVELS[best]), odd))
    return found


def _ratio(score: Vector, usual: Matrix, shape: Vector) -> float:
    """Return the squared score of a variance over what is usual."""
    return float(score**2 @ shape) / max(float(np.diag(usual) @ shape), 1e-300)
