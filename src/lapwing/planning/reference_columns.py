"""Made-up columns of three kinds, from smooth to spiky: what a predicted error is an error on.

They are drawn, not taken from data, so planning a survey needs no data and nothing was tuned on
somebody's. A kind is a family; a number picks its member, always the same one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector

KINDS: Mapping[str, str] = {
    "smooth": "one or two bumps, each a twelfth to a quarter of the range wide, on a low floor",
    "multimodal": "three to six bumps, each a hundredth to a sixteenth of the range wide, on a "
    "floor",
    "spiky": "a smooth column of which 20 to 60 % sit on 4 to 24 single points, a few of them "
    "heavy",
}
"""The kinds, and what their members look like."""

_SEED = 5021


def reference_column(kind: str, *, size: int, number: int, circular: bool = False) -> Vector:
    """Return the masses of one made-up column.

    Parameters
    ----------
    kind : {"smooth", "multimodal", "spiky"}
        See :data:`KINDS`.
    size : int
        Symbols; taken as equal steps of the range. A member is the same shape at every size.
    number : int
        At least 0: which member of the family.
    circular : bool
        Whether bumps go on beyond the end at the start.

    Returns
    -------
    numpy.ndarray
        float64 [size], not negative, summing to one.

    Examples
    --------
    >>> column = reference_column("spiky", size=64, number=0)
    >>> column.size, round(float(column.sum()), 12), bool(column.max() > 10 / 64)
    (64, 1.0, True)
    """
    if kind not in KINDS:
        raise ArgumentError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    rng = np.random.default_rng([_SEED, list(KINDS).index(kind), number])
    edges = np.arange(size + 1) / size
    if kind == "multimodal":
        bumps = int(rng.integers(3, 7))
        widths = np.exp(rng.uniform(math.log(0.01), math.log(0.06), bumps))
        centers = rng.uniform(0.05, 0.95, bumps)
        return _bumps(edges, centers, widths, rng.dirichlet(np.full(bumps, 2.0)), 0.1, circular)
    bumps = int(rng.integers(1, 3))
    widths = rng.uniform(0.08, 0.25, bumps)
    centers = rng.uniform(0.15, 0.85, bumps)
    smooth = _bumps(edges, centers, widths, rng.dirichlet(np.full(bumps, 2.0)), 0.05, circular)
    if kind == "smooth":
        return smooth
    share, points = rng.uniform(0.2, 0.6), int(rng.integers(4, 25))
    symbols = (rng.random(points) * size).astype(np.int64)
    heights = rng.dirichlet(np.full(points, 0.5))
    mass: Vector = (1 - share) * smooth + np.bincount(symbols, share * heights, size)
    return mass


def _bumps(
    edges: Vector, centers: Vector, widths: Vector, weights: Vector, floor: float, circular: bool
) -> Vector:
    """Return the masses between the edges of normal bumps, cut at the ends, on a floor."""
    from scipy.special import ndtr  # not needed to import lapwing

    mass = np.zeros(edges.size - 1)
    for center, width, weight in zip(centers, widths, weights, strict=True):
        turns = (-1, 0, 1) if circular else (0,)
        bump = sum(np.diff(ndtr((edges + turn - center) / width)) for turn in turns)
        mass += weight * bump / bump.sum()
    return (1 - floor) * mass + floor / mass.size
