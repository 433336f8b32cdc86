"""Predicted errors over epsilon and people: simulated at nodes, interpolated between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.arrays import Vector

Errors = dict[str, dict[str, float]]
"""Mean error by distance and kind of column."""


@dataclass(frozen=True)
class Sheet:
    """The errors of one pair at one number of symbols.

    epsilon, users: The nodes, increasing.
    errors: By distance and kind: float64 [epsilon, users], positive.
    """

    epsilon: tuple[float, ...]
    users: tuple[float, ...]
    errors: Mapping[str, Mapping[str, NDArray[np.float64]]]

    def at(self, *, epsilon: float, users: float) -> Errors:
        """Return the errors at a point: linear in the logarithms of epsilon, people and error.

        Below the first epsilon a report's information decreases as ``(e^epsilon - 1)^2``. So fewer
        people at the first epsilon stand for these. Above the last epsilon, errors are those of the
        last. Beyond the people of the table the lines continue, up to an error of 1. Noise of the
        simulation, and lines that cross when they continue, would let an error rise with epsilon.
        There the nodes of epsilon are pooled.
        """
        if epsilon < self.epsilon[0]:
            users *= (math.expm1(epsilon) / math.expm1(self.epsilon[0])) ** 2
        row, along = between(self.epsilon, epsilon, beyond=False)
        column, across = between(self.users, users, beyond=True)
        found: Errors = {}
        for distance, kinds in self.errors.items():
            found[distance] = {}
            for kind, nodes in kinds.items():
                fewer, more = np.log(nodes[:, column : column + 2]).T
                low, high = falling(np.minimum(fewer + across * (more - fewer), 0.0))[row : row + 2]
                found[distance][kind] = math.exp(float(low + along * (high - low)))
        return found


def between(nodes: tuple[float, ...], point: float, *, beyond: bool) -> tuple[int, float]:
    """Return the node before a point, and how far on its way to the next it is, in logarithms."""
    if len(nodes) == 1:
        return 0, 0.0
    first = int(np.clip(np.searchsorted(nodes, point, side="right") - 1, 0, len(nodes) - 2))
    part = math.log(point / nodes[first]) / math.log(nodes[first + 1] / nodes[first])
    return first, part if beyond else min(max(part, 0.0), 1.0)


def falling(values: Vector) -> Vector:
    """Return the nearest values that nowhere rise: isotonic regression, by pooling neighbors.

    Values that are nowhere above others stay nowhere above them. So values that fall with the
    people also do so afterwards.

    >>> falling(np.array([5.0, 2.0, 4.0, 1.0])).tolist()
    [5.0, 3.0, 3.0, 1.0]
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while pools and pools[-1][0] < mean:
            other, more = pools.pop()
            mean, size = (mean * size + other * more) / (size + more), size + more
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools])
