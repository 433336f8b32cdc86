"""Many people, each uniform in a window: how often every point is hit, without drawing people.

A window is cut into dyadic nodes, and people choose a node by its size. The counts of a node are
split over its two halves by fair binomials, level by level. The joint distribution is exactly that
of drawing every person, the time O(points log points) for any number of people.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spread_evenly(people: int, points: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each point is hit when all people choose uniformly: int64 [points]."""
    return rng.multinomial(people, np.full(points, 1 / points)).astype(np.int64)


def spread_in_windows(
    people: NDArray[np.int64], *, width: int, points: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return how often each point is hit when person i is uniform in i..i+width-1: int64 [points].

    people: int64 [starts]: how many people have each window, with ``starts + width - 1 <= points``.
    width: Points in a window, at least 1.
    points: Length of the line.

    Walking up the levels as in an iterative segment tree, a window gives away at most one node at
    each end and level. The number of people in a node, given that they are in none of the earlier
    ones, is binomial. Its probability is the node's share of the rest.
    """
    depth = max(int(points - 1).bit_length(), 0)
    nodes = [np.zeros(2 ** (depth - level), dtype=np.int64) for level in range(depth + 1)]
    start = np.arange(people.size, dtype=np.int64)
    stop = start + width
    waiting = people.astype(np.int64, copy=True)
    left_over = np.full(people.size, width, dtype=np.int64)
    for level in range(depth + 1):
        size = 1 << level
        for at_start in (True, False):
            # Inside the window, the node at this end is not the left (right) half of its parent.
            takes = (start < stop) & ((start if at_start else stop) % 2 == 1)
            if not takes.any():
                continue
            here = np.zeros_like(waiting)
            share = np.minimum(size / np.maximum(left_over[takes], 1), 1.0)
            here[takes] = rng.binomial(waiting[takes], share)
            waiting -= here
            left_over[takes] -= size
            if at_start:
                np.add.at(nodes[level], start[takes], here[takes])
                start = start + takes
            else:
                np.add.at(nodes[level], stop[takes] - 1, here[takes])
                stop = stop - takes
        start, stop = start // 2, stop // 2
    for level in range(depth, 0, -1):
        lower = nodes[level - 1]
        first = rng.binomial(nodes[level], 0.5)
        lower[0::2] += first
        lower[1::2] += nodes[level] - first
    return nodes[0][:points]


def spread_in_circular_windows(
    people: NDArray[np.int64], *, width: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the same on a circle of as many points: int64 [people.size].

    people: int64 [points]: how many have the window that starts at each point.
    width: Points in a window, in 1..points.

    Windows on a line of twice the length, folded over.
    """
    points = people.size
    line = spread_in_windows(people, width=width, points=points + width - 1, rng=rng)
    folded = line[:points].copy()
    folded[: width - 1] += line[points:]
    return folded
