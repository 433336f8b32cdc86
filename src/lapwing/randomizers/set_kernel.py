"""Sets of a fixed size, brought to it one item at a time. Compiled.

Importing this module imports numba, so it is imported when needed. The kernel has its NumPy
reference in :mod:`lapwing.randomizers.bit_reports`.
"""

from __future__ import annotations

import numpy as np

from lapwing.linear.compiled_kernel import compiled


@compiled()
def begin_sets(flat, width, own, inside, ones, members, start, short, item):  # pragma: no cover
    """Write the own item of each set. List the sets that have another size, and return how many.

    flat: Bytes of all sets, `width` each.
    inside: Whether the own item is in.
    ones: Items of each set so far.
    start, short, item: Get the first byte, the items that are lacking, and the own item.
    """
    left = 0
    for i in range(own.size):
        place, bit = i * width + (own[i] >> 3), np.uint8(1 << (own[i] & 7))
        held = (flat[place] & bit) != 0
        flat[place] ^= bit * np.uint8(held != inside[i])
        start[left], item[left] = i * width, own[i]
        short[left] = members - ones[i] + held - inside[i]
        left += short[left] != 0
    return left


@compiled()
def change_items(words, left, bound, flat, start, short, own):  # pragma: no cover
    """Add or remove one random item of each set that has not its size, if that is wanted.

    Return how many sets have not their size yet: they come first in `start`, `short` and `own`. Or
    return -1, and change nothing, where a word must be drawn again for an exact number.

    words: Uniform words below 2^32, as uint32: as many as sets, or one more.
    left: Sets that have not their size.
    bound: Items of a set but the own one.
    flat: Bytes of all sets, of which each begins at `start`.
    short: Items that a set lacks. Negative where it has too many.
    """
    half = np.uint64(32)
    low = np.uint64(2**32 - 1)
    excess = np.uint64(2**32) % bound
    for i in range(left):
        if (words[i] * bound) & low < excess:
            return -1
    kept = 0
    for i in range(left):
        # Nothing here branches: what is chosen is random, and a processor guesses half of it wrong.
        item = np.int64((words[i] * bound) >> half)
        item += item >= own[i]
        place, bit = start[i] + (item >> 3), np.uint8(1 << (item & 7))
        many = short[i] < 0
        change = ((flat[place] & bit) != 0) == many
        flat[place] ^= bit * np.uint8(change)
        start[kept], own[kept] = start[i], own[i]
        short[kept] = short[i] + change * (2 * many - 1)
        kept += short[kept] != 0
    return kept
