"""Which symbols of a domain touch, and one step of smoothing between them.

Atoms and the missing symbol have no neighbors: what is declared to stand apart is not smeared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.product import Product


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Pairs of symbols that touch.

    joined: int64: the symbols that touch, in order.
    first, second: int64 [pairs].
    width: float64 [size]: width of every symbol relative to the widest, and 1 for whole numbers.
    even: Whether all symbols touch in a row and have one width.
    circular: Whether the last touches the first.
    """

    joined: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    width: Vector
    even: bool
    circular: bool

    @classmethod
    def of(cls, domain: Domain) -> Neighbors:
        """Return the pairs of a domain, or raise UnsupportedChannelError when it has no order."""
        if not domain.ordered:
            raise UnsupportedChannelError(
                "smoothing needs an ordered domain, but labels have no neighbors. Use "
                "LeastSquares, or ExpectationMaximization without smoothing"
            )
        extent = domain.right - domain.left
        if not extent.any():
            joined = np.arange(extent.size)
            width = np.ones(domain.size)
        else:
            joined = np.flatnonzero(extent > 0)
            width = np.ones(domain.size)
            # On a logarithmic scale bins are meant to be equal, so only parts of a split bin are
            # narrow; they are recognized by the mean of their two neighbors.
            width[joined] = _relative_widths(domain, joined)
        first, second = joined[:-1], joined[1:]
        if domain.circular:
            first, second = np.append(first, joined[-1]), np.append(second, joined[0])
        even = joined.size == domain.size and bool(np.allclose(width, 1.0))
        return cls(joined, first, second, width, even, domain.circular)

    def smooth(self, mass: Vector) -> Vector:
        """Return masses after a quarter of each has moved to each neighbor, along the first axis.

        With equal widths this is the (1, 2, 1) / 4 average, with 3/4 kept at an end: mass is
        preserved and the uniform distribution stays. Between bins of unequal width w the flow is
        ``min(w, w') (density' - density) / 4``, which keeps both properties.
        """
        if self.even and not self.circular:
            moved: Vector = mass / 2
            moved[1:] += mass[:-1] / 4
            moved[:-1] += mass[1:] / 4
            moved[0] += mass[0] / 4
            moved[-1] += mass[-1] / 4
            return moved
        width = self.width.reshape(-1, *[1] * (mass.ndim - 1))
        density = mass / width
        flow = np.minimum(width[self.first], width[self.second]) / 4
        flow = flow * (density[self.second] - density[self.first])
        moved = mass.copy()
        # A symbol is the first of at most one pair, and the second of at most one.
        moved[self.first] += flow
        moved[self.second] -= flow
        return moved


def smoother(domain: Domain) -> Callable[[Vector], Vector]:
    """Return one step of smoothing: of a pair along both axes.

    Raises UnsupportedChannelError when the domain has no order.
    """
    if not isinstance(domain, Product):
        return Neighbors.of(domain).smooth
    first, second = (Neighbors.of(axis) for axis in domain.domains)

    def smooth(mass: Vector) -> Vector:
        table = first.smooth(mass.reshape(domain.shape))
        smoothed: Vector = second.smooth(np.ascontiguousarray(table.T)).T.ravel()
        return smoothed

    return smooth


def _relative_widths(domain: Domain, joined: NDArray[np.int64]) -> Vector:
    left, right = domain.left[joined], domain.right[joined]
    logarithmic = getattr(domain, "scale", "linear") == "log"
    extent = np.log(right) - np.log(left) if logarithmic else right - left
    widths: Vector = extent / extent.max()
    return np.where(np.isclose(widths, 1.0, rtol=1e-6), 1.0, widths)
