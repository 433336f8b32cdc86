"""What each randomizer of labels costs: noise of a share, bytes of a report, time of the server."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing.decoders.logs.exhaustive_scan import TILE_BITS
from lapwing.errors import DomainError
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.channels.hashed_channel import LISTED
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.categorical.compressive_privatization import CompressivePrivatization
from lapwing.randomizers.categorical.hadamard_response import HadamardResponse
from lapwing.randomizers.categorical.linear_hashing import LinearHashing
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.categorical.subset_selection import (
    LARGEST_REPORT,
    SubsetSelection,
    optimal_size,
)
from lapwing.randomizers.two_level import LARGEST_TABLE

ONE_BYTE = 256
"""Outputs of compressive privatization, which is an option where nothing else fits in a byte."""

COMPRESSED = 2**14
"""Most labels that are compressed: their decoder takes as long as labels and outputs multiplied."""


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
    seconds : tuple of float
        About how long a server takes, CPU seconds: for each report, and once. Rough measurements
        of this version on one machine; a third or three times that is possible.
    crosstalk : float
        What the other labels add to the variance of a share, however many people report: where
        reports have fewer outputs than labels. Of a Zipf law; 0 elsewhere.
    """

    randomizer: Randomizer
    empty: float
    slope: float
    fixed_total: bool
    seconds: tuple[float, float]
    crosstalk: float = 0.0

    def deviation(self, users: int) -> float:
        """Return the standard deviation of a share of zero, times the root of the people."""
        return math.sqrt(self.empty + users * self.crosstalk)

    @property
    def report_bytes(self) -> int:
        """Bytes of a report."""
        return self.randomizer.report_width

    def server_seconds(self, users: int) -> float:
        """Return about how long a server tallies and decodes, CPU seconds."""
        each, once = self.seconds
        return each * users + once


def options(domain: Domain, epsilon: Any) -> list[Option]:
    """Return the options of a domain, as far as it is not too large for them."""
    size = domain.size
    found = []
    if size <= LARGEST_TABLE:
        found.append(_randomized_response(RandomizedResponse(domain, epsilon)))
    if 2 < size <= LARGEST_REPORT and optimal_size(size, epsilon) > 1:
        found.append(_subset_selection(SubsetSelection(domain, epsilon)))
    if size <= LARGEST_TABLE // 2:
        # Some have more outputs than can be counted.
        with suppress(DomainError):
            found.append(_hadamard_response(HadamardResponse(domain, epsilon)))
    if ONE_BYTE < size <= COMPRESSED:
        found.append(_compressed(CompressivePrivatization(domain, epsilon, outputs=ONE_BYTE)))
    if size > 2:
        found.append(_linear_hashing(LinearHashing(domain, epsilon)))
    return found


def _randomized_response(made: RandomizedResponse) -> Option:
    noise = _pure(*made._probabilities)
    return Option(made, *noise, fixed_total=True, seconds=(1e-8, _decoding(made)))


def _subset_selection(made: SubsetSelection) -> Option:
    own = float(Fraction(made._threshold, WORD))
    noise = _pure(own, (made._members - own) / (made.domain.size - 1))
    each = 6e-10 * made.report_width
    return Option(made, *noise, fixed_total=True, seconds=(each, _decoding(made)))


def _hadamard_response(made: HadamardResponse) -> Option:
    inside, outside = made._probabilities
    gain = (inside - outside) * made._length / 2
    # A share of 1 / blocks of the reports names a block when all are equally popular.
    empty = 1 / (made._block_count * gain**2)
    once = 4e-7 * made.domain.size + _decoding(made)
    return Option(made, empty, -1.0, fixed_total=False, seconds=(1e-8, once))


def _linear_hashing(made: LinearHashing) -> Option:
    size, points = made.domain.size, 2**made._bits - 1
    noise = _pure(made.log_channel.inside, made.log_channel.outside)
    if size <= LISTED:
        seconds = 5e-8 + 6e-9 * points, _decoding(made)
    else:
        tiles = -(-size >> TILE_BITS)
        seconds = 5e-8 + (5e-8 + tiles * 1.3e-9) * points, tiles * 0.012
    return Option(made, *noise, fixed_total=False, seconds=seconds)


def _compressed(made: CompressivePrivatization) -> Option:
    size = made.domain.size
    own = float(Fraction(made._threshold, WORD))
    noise = _pure(own, made._near / made.outputs)
    zipf = 1 / np.arange(1, size + 1)
    squares = float((zipf**2).sum() / zipf.sum() ** 2)
    once = 0.02 + 3e-8 * size * made.outputs
    return Option(
        made,
        *noise,
        fixed_total=True,
        seconds=(1e-8, once),
        crosstalk=squares / (made.outputs - 1),
    )


def _decoding(made: Randomizer) -> float:
    """Return about how long the counts of a domain are decoded, CPU seconds."""
    return 0.02 + 2e-7 * min(made.domain.size, LISTED)


def _pure(own: float, other: float) -> tuple[float, float]:
    """Return variance and slope when a value supports itself and others so often."""
    gap = own - other
    return other * (1 - other) / gap**2, (1 - own - other) / gap
