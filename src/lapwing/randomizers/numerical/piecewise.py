"""The piecewise mechanism for the mean of an attribute: a report near the value, or elsewhere.

A square wave or a mixture estimates the mean about as well, together with the whole distribution.
Use this one for comparison. For the variance see :mod:`lapwing.papers.baselines.two_rounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.linear.arrays import Vector, cached_property
from lapwing.linear.operators.banded import SlidingWindow
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.domains.domain import domain_of
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
    """Piecewise mechanism for the mean of a number (Wang et al., 2019).

    A report is a point of a longer grid. It is more likely to lie in a window at the value: the
    outputs ``x .. x + near - 1`` of ``points + near - 1``. This is a square wave, but narrower
    (about ``e^(-epsilon/2)`` of the domain). So the mean of the reports, shifted and scaled, has
    little variance.

    Parameters
    ----------
    domain : Interval or Integers
        Domain of the values, evenly spaced, with at least 2 bins. An interval's bins are
        represented by their middles.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.

    See Also
    --------
    lapwing.recommend : Recommends a randomizer that also estimates the distribution.

    Notes
    -----
    **Privacy.** A report satisfies pure epsilon-local differential privacy. :meth:`certificate`
    states the exact worst-case likelihood ratio.

    **Accuracy.** The mean is unbiased. On a fine grid, with values v in [-1, 1] and
    ``c = e^(epsilon/2)``, one report has variance ``v^2 / (c - 1) + (c + 3) / (3 (c - 1)^2)``.
    This is less than that of stochastic rounding for large epsilon, and more for small epsilon.

    **Cost.** A report takes ``ceil(log2(outputs) / 8)`` bytes. Randomizing or tallying one takes
    O(1) time.

    The method is that of [1]_, as section 2.2 of [2]_ describes it. Unlike there, it works on a
    grid, with the window rounded to whole points. The rescaling uses the true probabilities, so it
    is unbiased for any window.

    References
    ----------
    .. [1] N. Wang, X. Xiao, Y. Yang, J. Zhao, S. C. Hui, H. Shin, J. Shin, G. Yu, "Collecting and
       analyzing multidimensional data with local differential privacy", ICDE, 2019.
       doi:10.1109/ICDE.2019.00063
    .. [2] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    Examples
    --------
    >>> import lapwing as lw
    >>> age = lw.randomizers.Piecewise(lw.Integers(0, 100, outside="clip"), epsilon=2)
    >>> reports = age.randomize([20] * 50_000 + [60] * 50_000, rng=lw.seeded(1))
    >>> mean = age.mean(age.tally(reports))
    >>> round(mean.value, 1), round(mean.deviation, 2)
    (40.1, 0.15)
    """

    domain: Annotated[Interval | Integers, domain_of(None, grid_points)]

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, domain: Interval | Integers, epsilon: ExactNumber) -> None: ...

    name: ClassVar[str] = "piecewise"
    decoder: ClassVar[str] = "spectral-prior"

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
        """Return the unbiased mean of the reported values.

        Parameters
        ----------
        tally : CountTally
            Tally of at least 2 reports of this randomizer.

        Returns
        -------
        MeanEstimate
            Unbiased estimate of the mean, with its standard deviation.

        Raises
        ------
        MismatchError
            When another randomizer made the tally.
        TallyError
            When the tally has fewer than 2 reports.

        Notes
        -----
        Measured from the middles of both grids, the report of a value x is ``near (p - q) x`` on
        average. All outputs sum to zero, so those outside the window sum to minus the sum of the
        window.
        """
        first, step = grid_points(self.domain)
        inside, outside = self._probabilities
        shrink = self._near * (inside - outside)
        offset = np.arange(self._outputs, dtype=np.float64) - (self._outputs - 1) / 2
        values: Vector = first + step * ((self._points - 1) / 2 + offset / shrink)
        return mean_of(own_counts(tally, self.fingerprint), values, tally.standing)
