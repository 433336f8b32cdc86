"""Near sets of different sizes: how likely "near" may be for each, and what that promises.

Equation 2 of compressive privatization gives a near output ``e^epsilon`` times the probability
of a far one *of the same value*. When near sets differ in size, the normalizations of two values
differ too, and the ratio of two values' probabilities is larger than ``e^epsilon``. Here are the
equation as published and two repairs that keep the promise, as integer thresholds for each size.

All three take ``bound``, a rational number at most ``e^epsilon``. With equal sizes they agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.privacy.exact_numbers import square_root_below
from lapwing.privacy.sampling.randomness import WORD

Thresholds = dict[int, int]
"""For each size of near sets the T with which "near" has probability T / 2^64."""


def published(sizes: Iterable[int], outputs: int, odds: Fraction) -> Thresholds:
    """Return equation 2: a near output is `odds` times as likely as a far one of the same value."""
    return {
        size: int(WORD * odds * size / (odds * size + outputs - size))
        for size in sorted(set(sizes))
    }


def scaled_odds(sizes: Iterable[int], outputs: int, bound: Fraction) -> Fraction:
    """Return the largest odds with which equation 2 keeps the promise.

    Notes
    -----
    With n and N the smallest and the largest size, the worst ratio of equation 2 is at most
    ``r (N r + m - N) / (n r + m - n)``, which grows with r. It equals the bound at the positive
    root of ``N r^2 + (m - N - bound n) r - bound (m - n) = 0``, taken from below.
    """
    smallest, largest = min(sizes), max(sizes)
    middle = outputs - largest - bound * smallest
    discriminant = middle**2 + 4 * largest * bound * (outputs - smallest)
    return (square_root_below(discriminant) - middle) / (2 * largest)


def banded(sizes: NDArray[np.int64], outputs: int, bound: Fraction) -> Thresholds:
    """Return thresholds with which all probabilities lie in one band from L to ``bound L``.

    Parameters
    ----------
    sizes : numpy.ndarray
        int64 [values]: the size of every near set.
    outputs : int
    bound : Fraction

    Notes
    -----
    L is what a near set of the mean size would give. A value with a smaller set has its near
    outputs at the top of the band and spreads the rest over the far ones; a value with a larger set
    has its far outputs at the bottom. Rounding goes inwards, so the ratio of any two probabilities
    is at most the bound.
    """
    mean = Fraction(int(sizes.sum()), sizes.size)
    low = 1 / (mean * bound + outputs - mean)
    thresholds = {}
    for size in np.unique(sizes).tolist():
        if (size * bound + outputs - size) * low <= 1:
            thresholds[size] = int(WORD * size * bound * low)
        else:
            bottom = WORD * (outputs - size) * low
            thresholds[size] = WORD - -(-bottom // 1)
    return thresholds


def probabilities(thresholds: Thresholds, outputs: int) -> dict[int, tuple[Fraction, Fraction]]:
    """Return the probability of one near and of one far output, for each size of near sets.

    A set that is empty, or holds every output, leaves one of them without meaning; it is then the
    other one.
    """
    found = {}
    for size, threshold in thresholds.items():
        near = Fraction(threshold, WORD * size) if size else Fraction(1, outputs)
        far = Fraction(WORD - threshold, WORD * (outputs - size)) if size < outputs else near
        found[size] = near, far
    return found


def worst_ratio(packed: NDArray[np.uint8], outputs: int, thresholds: Thresholds) -> Fraction:
    """Return the largest ratio of two values' probabilities of one output, exactly.

    Parameters
    ----------
    packed : numpy.ndarray
        uint8 [values, ceil(outputs / 8)]: the near set of every value as bits.
    outputs : int
    thresholds : dict
        By the size of near sets.

    Notes
    -----
    For every output the likeliest and the least likely value are found among the sizes for which
    it is near to some value, and far from some: O(values outputs / 8).
    """
    sizes = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
    chances = probabilities(thresholds, outputs)
    levels = sorted({chance for pair in chances.values() for chance in pair})
    rank = {chance: place for place, chance in enumerate(levels)}
    highest = np.full(outputs, -1)
    lowest = np.full(outputs, len(levels))
    for size in np.unique(sizes).tolist():
        group = packed[sizes == size]
        near, far = chances[size]
        some_near = np.bitwise_or.reduce(group, axis=0)
        some_far = ~np.bitwise_and.reduce(group, axis=0)
        for bits, chance in ((some_near, near), (some_far, far)):
            here = np.unpackbits(bits, count=outputs, bitorder="little").astype(np.bool_)
            highest[here] = np.maximum(highest[here], rank[chance])
            lowest[here] = np.minimum(lowest[here], rank[chance])
    pairs = {(int(top), int(bottom)) for top, bottom in zip(highest, lowest, strict=True)}
    return max(levels[top] / levels[bottom] for top, bottom in pairs)
