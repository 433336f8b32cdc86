"""Sets of a fixed size, brought to it one item at a time. Compiled.

Importing this module imports numba, so it is imported when needed. The kernel has its NumPy
reference in :mod:`lapwing.randomizers.bit_reports`.
"""

from __future__ import annotations

import numpy as np

from lapwing.linear.compiled_kernel import compiled


@compiled()
def change_items(words, bound, flat, start, short, own):  # pragma: no cover
    """Add or remove one random item of each set that has not its size, if that is wanted.

    Return how many sets have not their size yet: they come first in `start`, `short` and `own`. Or
    return -1, and change nothing, where a word must be drawn again for an exact number.

    words: Uniform words below 2^32, as uint64.
    bound: Items of a set but the own one.
    flat: Bytes of all sets, of which each begins at `start`.
    short: Items that a set lacks. Negative where it has too many.
    """
    half = np.uint64(32)
    low = np.uint64(2**32 - 1)
    excess = np.uint64(2**32) % bound
    for i in range(words.size):
        if (words[i] * bound) & low < excess:
            return -1
    left = 0
    for i in range(words.size):
        item = np.int64((words[i] * bound) >> half)
        if item >= own[i]:
            item += 1
        place, bit = start[i] + (item >> 3), np.uint8(1 << (item & 7))
        many = short[i] < 0
        if ((flat[place] & bit) != 0) == many:
            flat[place] ^= bit
            short[i] += 1 if many else -1
        if short[i] != 0:
            start[left], short[left], own[left] = start[i], short[i], own[i]
            left += 1
    return left
