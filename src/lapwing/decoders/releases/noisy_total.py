"""Shares of people whose number is known from a noisy count only.

Shares are counts divided by the noisy number of people. Intervals are given only where that number
passes a threshold. A group just below the threshold passes it when its noise is high, and then all
shares are off in one direction. So the number of people has an interval that holds for groups that
passed. The error distribution of the shares allows for the whole of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.linear.covariance import Covariance
from lapwing.results.spread_law import SpreadLaw
from lapwing.results.uncertainty import Uncertainty, Variants, as_stored, normal_critical_value

KNOWN_WELL = 8.0
"""Standard deviations that a noisy number of people must be above zero to be divided by."""

_RARE = 3.0
"""Groups more standard deviations below the threshold are not considered: one of 740 passes."""

_LEVEL = 0.95


@dataclass(frozen=True)
class NoisyTotal:
    """Number of people with Gaussian noise.

    people: Noisy number.
    deviation: Standard deviation of its noise.
    """

    people: float
    deviation: float

    @property
    def is_known(self) -> bool:
        """Whether it passes the threshold, so that shares can be divided by it."""
        return self.people >= KNOWN_WELL * self.deviation

    @property
    def is_positive(self) -> bool:
        """Whether the 95% interval of the true number excludes zero."""
        return self.people > normal_critical_value(_LEVEL) * self.deviation

    @property
    def ends(self) -> tuple[float, float]:
        """An interval for the true number, given that the noisy one passed the threshold."""
        above = self.people / self.deviation - KNOWN_WELL
        down = max(normal_critical_value(_LEVEL), min(_reach(above), above + _RARE))
        up = normal_critical_value(_LEVEL)
        return self.people - down * self.deviation, self.people + up * self.deviation

    def allowed(self, law: Uncertainty, along: Vector) -> Uncertainty:
        """Return an error distribution of shares that allows for the interval of the number.

        law: Of the counts divided by the noisy number, to first order in its noise.
        along: float64 [symbols]: the part of the number's noise that is in each count, on average.

        The distances of the counts from ``number * along`` have errors that do not depend on the
        number's noise. So only the number by which they are divided is unknown.
        """
        if not self.deviation > 0:
            return law
        low, high = self.ends
        middle = (self.people / low + self.people / high) / 2
        usual = normal_critical_value(_LEVEL)
        # A group that passed by chance is always near the lower end. So this end, unlike that of
        # a normal error, must leave room for the other errors of a share.
        room = (self.people - low) / self.deviation / usual
        spread = (self.people / low - self.people / high) / 2 / usual * room
        more = max(spread**2 - (middle * self.deviation / self.people) ** 2, 0.0)

        def one(each: Uncertainty) -> Uncertainty:
            apart = each.center - along
            center, column = along + middle * apart, np.sqrt(more) * apart[:, None]
            changed = replace(
                each,
                center=center,
                remainder=as_stored(each.remainder * middle**2),
                reports=max(1, round(each.reports / middle)),
                laplace=None if each.laplace is None else each.laplace * middle**2,
                of_cells=None,
            )
            if each.of_cells is None:
                added = Covariance(np.zeros(center.size), column, np.ones(1))
                return replace(changed, noise=each.noise.scaled(middle**2) + added)
            cells = each.of_cells
            column = np.add.reduceat(column, cells.spread.start, axis=0)
            factor = as_stored(np.hstack([cells.factor * middle, column]))
            law = SpreadLaw(cells.spread, center, factor)
            spread_law = Uncertainty.spread(
                law, changed.remainder, each.plug_in, changed.reports, each.method
            )
            return replace(spread_law, tails=each.tails, whole=each.whole)

        variants = {name: one(each) for name, each in law.variants.listed().items()}
        return replace(one(law), variants=Variants(**variants))


def _reach(above: float) -> float:
    """Return how far below a noisy number, in deviations, the least true one is.

    Of noise that passes the threshold, which is `above` deviations below the number, a twentieth is
    larger.
    """
    tail = NormalDist().cdf
    low, high = 0.0, above + _RARE
    for _ in range(50):
        middle = (low + high) / 2
        if tail(-middle) > (1 - _LEVEL) * tail(above - middle):
            low = middle
        else:
            high = middle
    return high
