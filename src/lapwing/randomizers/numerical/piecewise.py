"""The piecewise mechanism: a report near the value, or anywhere; for the mean of an attribute.

A square wave or a mixture estimates the mean about as well together with the whole distribution;
this is here to be compared with. For the variance see
:mod:`lapwing.randomizers.numerical.two_rounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.banded import SlidingWindow
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.domains.domain import require_domain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers.numerical.mean_estimate import (
    MeanEstimate,
    grid_points,
    mean_of,
    own_counts,
)
from lapwing.randomizers.two_level import TwoLevel
from lapwing.randomizers.window_counts import spread_in_windows


@dataclass(frozen=True)
class Piecewise(TwoLevel):
    """Report a point of a longer grid: one near an image of the value, or any other.

    The near set of symbol x is ``x .. x + near - 1`` of ``points + near - 1`` outputs: a square
    wave, but narrower (about ``e^(-epsilon/2)`` of the domain), because what is asked of it is
    that the plain mean of the reports, shifted and stretched, has little variance.

    Parameters
    ----------
    domain : Interval or Integers
        Evenly spaced symbols, at least 2; an interval's stand for the middles of its bins.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.

    Notes
    -----
    **Accuracy.** Unbiased. On a fine grid and with values on [-1, 1] a report of v has variance
    ``v^2 / (c - 1) + (c + 3) / (3 (c - 1)^2)`` with ``c = e^(epsilon/2)``: less than stochastic
    rounding's for large epsilon, more for small.

    **Cost.** ceil(log2(outputs) / 8) bytes per report; O(1) to randomize and tally one.

    Source: Wang et al. 2019 (piecewise mechanism); Li et al. 2020, section 2.2. Differs: on a
    grid, with the window rounded to whole points; unbiased for any window, because the rescaling
    uses the true probabilities.

    Examples
    --------
    >>> from lapwing.privacy.sampling.randomness import seeded
    >>> age = Piecewise(Integers(0, 100), 2)
    >>> mean = age.mean(age.tally(age.randomize([20] * 50_000 + [60] * 50_000, rng=seeded(1))))
    >>> round(mean.value, 2), round(mean.deviation, 2)
    (40.1, 0.15)
    """

    domain: Interval | Integers

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Interval | Integers, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "piecewise"
    decoder: ClassVar[str] = "spectral-prior"

    def __post_init__(self) -> None:
        """Check the grid, then what all two-level randomizers check."""
        require_domain(self.domain)
        grid_points(self.domain)
        super().__post_init__()

    @cached_property
    def _near(self) -> int:
        """Points of the window: ``(points - 1) / e^(epsilon/2)``, rounded, at least 1."""
        return max(1, round((self._points - 1) * math.exp(-self.epsilon / 2)))

    @cached_property
    def _outputs(self) -> int:
        """Points of the output grid."""
        return self._points + self._near - 1

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return point `offset` of the window of a point, or of what the window leaves out."""
        return np.where(near, point + offset, offset + self._near * (offset >= point))

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the window of their point."""
        return spread_in_windows(people, width=self._near, points=self._outputs, rng=rng)

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the sliding window."""
        return SlidingWindow(self._points, width=self._near, inside=inside, outside=outside)

    def mean(self, tally: CountTally) -> MeanEstimate:
        """Return the unbiased mean of the values behind a tally.

        Parameters
        ----------
        tally : CountTally
            Tally of this randomizer's reports, at least 2.

        Returns
        -------
        MeanEstimate
            Unbiased estimate of the mean.

        Raises
        ------
        MismatchError
            When another randomizer made it.
        TallyError
            When it holds fewer than 2 reports.

        Notes
        -----
        Counted from the middles of both grids, a report of symbol x is ``near (p - q) x`` on
        average: the outputs together average to zero, so those outside the window to minus what
        the window has.
        """
        first, step = grid_points(self.domain)
        inside, outside = self._probabilities
        shrink = self._near * (inside - outside)
        offset = np.arange(self._outputs, dtype=np.float64) - (self._outputs - 1) / 2
        values: Vector = first + step * ((self._points - 1) / 2 + offset / shrink)
        return mean_of(own_counts(tally, self.fingerprint), values)
