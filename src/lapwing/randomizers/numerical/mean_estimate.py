"""The mean of an attribute with its deviation, from reports that stand for points of a line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import Between, checked
from lapwing.errors import DomainError, MismatchError, TallyError
from lapwing.linear.arrays import Vector
from lapwing.privacy.guarantee import Standing
from lapwing.protocol.domains.domain import Domain, check_no_overflow
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.tally import CountTally


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
