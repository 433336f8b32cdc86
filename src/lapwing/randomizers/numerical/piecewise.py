"""The piecewise mechanism for the mean of an attribute: a report near the value, or elsewhere.

The mean is estimated with its deviation, from reports that stand for points of a line. A square
wave or a mixture estimates the mean about as well, together with the whole distribution. Use this
one for comparison. For the variance see :mod:`lapwing.papers.baselines.stochastic_rounding`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.declared import Between, checked
from lapwing.errors import DomainError, MismatchError, TallyError
from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.banded import SlidingWindow
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.guarantee import Standing
from lapwing.protocol.domains.domain import Domain, check_no_overflow, domain_of
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers.two_level import TwoLevel
from lapwing.randomizers.window_counts import spread_in_windows


@dataclass(frozen=True)
class MeanEstimate:
    """Unbiased estimate of a mean with its standard deviation.

    value: Estimate in the unit of the domain. Noise may carry it beyond the domain.
    deviation: Standard deviation of `value`, in the unit of the domain. It is about the mean of all
        people of whom those who reported are a random sample. It comes from the spread of the
        reports, so it holds whatever the values are.
    reports: Number of people who reported.
    standing: {"seeded", "simulated"}. Why the reports are not private: they were drawn from a seed,
        or people are simulated. Default: None.
    """

    value: float
    deviation: float
    reports: int
    standing: Standing | None = None

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the mean, if its error is Gaussian.

        level: Confidence level, in (0, 1). Default: 0.95.
        returns: Lower and upper end, in the unit of the domain.
        """
        level = checked(level, Between, name="level")
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.deviation
        return self.value - reach, self.value + reach


def grid_points(domain: Domain) -> tuple[float, float]:
    """Return the first point and the step of the evenly spaced values for which bins stand.

    They are the middles of the bins of an interval, or the whole numbers themselves.

    Raises DomainError when they are not evenly spaced on a line: labels, atoms, a missing bin, a
    circle or a logarithmic scale.
    """
    check_no_overflow(domain, name="a randomizer for means")
    if isinstance(domain, Integers) and domain.missing_index is None:
        return float(domain.low), 1.0
    regular = isinstance(domain, Interval) and domain.regular and not domain.circular
    regular = regular and not domain.whole  # of which the first bin has a number more
    if isinstance(domain, Interval) and regular and domain.scale == "linear":
        step = (domain.high - domain.low) / domain.bins
        return domain.low + step / 2, step
    raise DomainError(
        "a mean needs symbols that are evenly spaced on a line: Integers, or an Interval that is "
        "not circular, logarithmic or of whole numbers, without atoms and without a missing bin"
    )


def mean_of(counts: NDArray[np.int64], values: Vector, standing: Standing | None) -> MeanEstimate:
    """Return the mean of reports of this standing that stand for these values."""
    reports = int(counts.sum())
    if reports < 2:
        raise TallyError(
            f"a mean with its standard deviation needs at least 2 reports, got {reports}"
        )
    mean = float(counts @ values) / reports
    spread = float(counts @ (values - mean) ** 2) / (reports - 1)
    return MeanEstimate(mean, math.sqrt(spread / reports), reports, standing)


def own_counts(tally: CountTally, fingerprint: str) -> NDArray[np.int64]:
    """Return the counts of a tally, or raise MismatchError when another randomizer made it."""
    if tally.fingerprint != fingerprint:
        raise MismatchError(
            f"the tally was made by randomizer {tally.fingerprint[:12]}, but this one is "
            f"{fingerprint[:12]}. Use the randomizer that made the reports"
        )
    return tally.blocks[0]


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
