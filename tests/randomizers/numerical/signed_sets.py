"""Signed subset selection by hand: its reports read, its sets listed, its law enumerated."""

import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.papers.wavelet.signed_subset_selection import (
    SignedSubsetSelection,
)
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.integers import Integers
from lapwing.testing.randomizer_contract import exact_law


def signed(coordinates: int, epsilon: float, size: int | None = None) -> SignedSubsetSelection:
    return SignedSubsetSelection(
        Integers(0, 2 * coordinates - 1, outside="clip"), epsilon, size=size
    )


def vector(randomizer: SignedSubsetSelection, report: bytes) -> tuple[int, ...]:
    """Read a report by hand: -1, 0 or +1 for each coordinate."""
    d = randomizer._coordinates
    plane = (d + 7) // 8
    minus = [report[len(report) - plane + k // 8] >> k % 8 & 1 for k in range(d)]
    present = [1] * d if len(report) == plane else [report[k // 8] >> k % 8 & 1 for k in range(d)]
    return tuple(p * (1 - 2 * m) for p, m in zip(present, minus, strict=True))


def vectors_law(randomizer: SignedSubsetSelection, value: int) -> dict[tuple[int, ...], Fraction]:
    law = exact_law(randomizer, value)
    assert len({vector(randomizer, report) for report in law}) == len(law)
    return {vector(randomizer, report): chance for report, chance in law.items()}


def all_vectors(d: int, m: int) -> list[tuple[int, ...]]:
    return [y for y in itertools.product((-1, 0, 1), repeat=d) if sum(map(abs, y)) == m]


def memberships(y: tuple[int, ...]) -> list[int]:
    """Which of the 2d signed coordinates a vector holds, in the tally's order."""
    return [int(entry == sign) for entry in y for sign in (1, -1)]


SMALL = [(d, m) for d in (1, 2, 3, 4) for m in range(1, d + 1)]


def sent(randomizer: SignedSubsetSelection, values: np.ndarray, seed: int) -> NDArray[np.int8]:
    """Randomize values and read the reports in bulk: int8 [n, d], -1, 0 or +1."""
    data = randomizer.randomize(values, rng=seeded(seed)).data
    d, plane = randomizer._coordinates, (randomizer._coordinates + 7) // 8
    minus = np.unpackbits(data[:, -plane:], axis=1, bitorder="little")[:, :d].view(np.int8)
    if data.shape[1] == plane:
        return 1 - 2 * minus
    present = np.unpackbits(data[:, :plane], axis=1, bitorder="little")[:, :d].view(np.int8)
    return present * (1 - 2 * minus)
