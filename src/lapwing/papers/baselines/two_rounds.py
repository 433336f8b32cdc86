"""The variance of an attribute in two rounds: the mean first, then squared deviations from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne, Declared
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Values
from lapwing.papers.baselines.stochastic_rounding import StochasticRounding
from lapwing.privacy.sampling.randomness import RandomSource, source_of
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.randomizers.numerical.piecewise import MeanEstimate, Piecewise, grid_points

MeanRandomizer = StochasticRounding | Piecewise


@dataclass(frozen=True)
class SquaredDeviation(Declared):
    """Question of the second round: the squared deviation of a value from the mean.

    Its range is public, because it follows from the domain and the mean that was sent back.

    domain: Domain of the first round.
    center: Mean that was sent back, in the unit of the domain. It is moved to the nearest point of
        the domain.
    bins: Bins of the grid of squared deviations. Rounding to the middle of a bin moves the variance
        by at most half a bin. Default: 4096.

    Examples
    --------
    >>> question = SquaredDeviation(Integers(0, 10), 4.0)
    >>> question.grid.high, question.of([4, 10]).tolist()
    (36.0, [0.0, 36.0])
    """

    domain: Interval | Integers
    center: float
    bins: AtLeastOne = 4096

    def _settle(self) -> None:
        """Check the domain and move the center into it."""
        first, step = grid_points(self.domain)
        last = first + step * (self.domain.size - 1)
        object.__setattr__(self, "center", min(max(self.center, first), last))

    @property
    def grid(self) -> Interval:
        """The domain of the second round: from 0 to the largest squared deviation there can be."""
        first, step = grid_points(self.domain)
        last = first + step * (self.domain.size - 1)
        largest = max(self.center - first, last - self.center) ** 2
        return Interval(0.0, largest, bins=self.bins, outside="clip")

    def of(self, values: Values) -> NDArray[np.float64]:
        """Return the squared deviation of each value, after it was put on the domain's grid."""
        first, step = grid_points(self.domain)
        points = first + step * self.domain.index(values).astype(np.float64)
        return (points - self.center) ** 2


def mean_and_variance(
    values: Values, first: MeanRandomizer, *, rng: RandomSource | None = None
) -> tuple[MeanEstimate, MeanEstimate]:
    """Run both rounds in one process and return the mean and the variance.

    A random half of the people reports the value. Their mean is sent back, and everybody else
    reports the squared deviation from it. Each person reports once, so each spends epsilon once.

    values: Values of the first randomizer's domain, at least 4.
    first: Randomizer of the first round. The second round uses the same kind and epsilon.
    rng: Source of random numbers. Default: the secure source of the operating system.

    **Accuracy.** The mean has half of the reports. The variance is unbiased up to two terms. These
    are the squared error of the mean that was sent back, and half a bin of the second grid.

    The method is that of section 6.3 of [1]_. The text leaves open how squared deviations are
    brought into the range of the mechanism. Here the public bounds of :class:`SquaredDeviation` do
    it.

    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    """
    source = source_of(rng)
    column = np.asarray(values)
    if column.ndim != 1 or column.size < 4:
        raise ArgumentError(
            f"two rounds need a column of at least 4 values, got shape {column.shape}"
        )
    order = np.argsort(source.words(column.size), kind="stable")
    asked, later = column[order[: column.size // 2]], column[order[column.size // 2 :]]
    mean = first.mean(first.tally(first.randomize(asked, rng=source)))
    question = SquaredDeviation(first.domain, mean.value)
    make: Callable[..., MeanRandomizer] = type(first)
    second = make(question.grid, first.epsilon)
    variance = second.mean(second.tally(second.randomize(question.of(later), rng=source)))
    return mean, variance
