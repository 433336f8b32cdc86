"""What each randomizer of labels costs: noise of a share, bytes of a report, time of the server."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing.errors import DomainError
from lapwing.local.categorical.hadamard_response import HadamardResponse
from lapwing.local.categorical.linear_hashing import LinearHashing
from lapwing.local.categorical.randomized_response import GeneralizedRandomizedResponse
from lapwing.local.categorical.subset_selection import LARGEST_REPORT, SubsetSelection, optimal_size
from lapwing.local.two_level import LARGEST_TABLE
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.channels.hashed_channel import LISTED
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.randomizer import Randomizer

TILE = 2**22
"""Values that are scored at a time where a domain is too large to list."""


@dataclass(frozen=True)
class Option:
    """A randomizer of labels and what it costs.

    Parameters
    ----------
    randomizer : Randomizer
    empty : float
        Variance of an unbiased share of zero, times the people.
    slope : float
        What a share of one adds to it.
    fixed_total : bool
        Whether the unbiased shares always sum to one.
    """

    randomizer: Randomizer
    empty: float
    slope: float
    fixed_total: bool

    @property
    def deviation(self) -> float:
        """Standard deviation of an unbiased share of zero, times the root of the people."""
        return math.sqrt(self.empty)

    @property
    def report_bytes(self) -> int:
        """Bytes of a report."""
        return self.randomizer.report_width

    def server_seconds(self, users: int) -> float:
        """Return about how long a server tallies and decodes, CPU seconds.

        Constants are rough measurements of this version on one machine; a third or three times
        that is possible.
        """
        size, made = self.randomizer.domain.size, self.randomizer
        decode = 0.02 + 2e-7 * min(size, LISTED)
        if isinstance(made, SubsetSelection):
            return 6e-10 * users * self.report_bytes + decode
        if isinstance(made, HadamardResponse):
            return 1e-8 * users + 4e-7 * size + decode
        if not isinstance(made, LinearHashing):
            return 1e-8 * users + decode
        points = float(users * (2**made.bits - 1))
        if size <= LISTED:
            return 5e-8 * users + 6e-9 * points + decode
        tiles = -(-size // TILE)
        return 5e-8 * users + 5e-8 * points + tiles * (0.012 + 1.3e-9 * points)


def options(domain: Domain, epsilon: Any) -> list[Option]:
    """Return the options of a domain, as far as it is not too large for them."""
    return [
        Option(randomizer, empty, slope, fixed_total)
        for randomizer in _candidates(domain, epsilon)
        for empty, slope, fixed_total in [_noise(randomizer)]
    ]


def _candidates(domain: Domain, epsilon: Any) -> Iterator[Randomizer]:
    size = domain.size
    if size <= LARGEST_TABLE:
        yield GeneralizedRandomizedResponse(domain, epsilon)
    if 2 < size <= LARGEST_REPORT and optimal_size(size, epsilon) > 1:
        yield SubsetSelection(domain, epsilon)
    if size <= LARGEST_TABLE // 2:
        # Some have more outputs than can be counted.
        with suppress(DomainError):
            yield HadamardResponse(domain, epsilon)
    if size > 2:
        yield LinearHashing(domain, epsilon)


def _noise(randomizer: Randomizer) -> tuple[float, float, bool]:
    """Return the variance of a share of zero, the slope, and whether shares sum to one."""
    if isinstance(randomizer, HadamardResponse):
        inside, outside = randomizer.probabilities
        gain = (inside - outside) * randomizer.length / 2
        # A share of 1 / blocks of the reports names a block when all are equally popular.
        return 1 / (randomizer.block_count * gain**2), -1.0, False
    size = randomizer.domain.size
    if isinstance(randomizer, LinearHashing):
        known = randomizer.linear_channel
        return *_pure(known.inside, known.outside), False
    if isinstance(randomizer, SubsetSelection):
        own = float(Fraction(randomizer.threshold, WORD))
        return *_pure(own, (randomizer.members - own) / (size - 1)), True
    assert isinstance(randomizer, GeneralizedRandomizedResponse)
    return *_pure(*randomizer.probabilities), True


def _pure(own: float, other: float) -> tuple[float, float]:
    """Return variance and slope when a value supports itself and others so often."""
    gap = own - other
    return other * (1 - other) / gap**2, (1 - own - other) / gap
