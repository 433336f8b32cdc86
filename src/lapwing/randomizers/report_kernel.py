"""Loops over reports, compiled: bits that are counted, sets that are filled, groups that are split.

Importing this module imports numba, so it is imported when needed. The kernels have their NumPy
references in :mod:`lapwing.randomizers.bit_reports`, in :mod:`lapwing.randomizers.mixture` and in
the tests.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.compiled_kernel import compiled

_GROUP = 15
"""Rows that a carry-save adder takes at once: their count fits four bits."""

_PLANES = 16
"""Bits of the vertical counters. They are flushed before they can overflow."""


@compiled(inline="always")
def _add(a, b, c):  # pragma: no cover
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@compiled()
def _count_groups(rows, groups, planes):  # pragma: no cover
    """Add groups of 15 rows of words into vertical counters, plane p holding bit p."""
    width = rows.shape[1]
    for group in range(groups):
        r = rows[group * 15 : group * 15 + 15]
        for j in range(width):
            s1, c1 = _add(r[0, j], r[1, j], r[2, j])
            s2, c2 = _add(r[3, j], r[4, j], r[5, j])
            s3, c3 = _add(r[6, j], r[7, j], r[8, j])
            s4, c4 = _add(r[9, j], r[10, j], r[11, j])
            s5, c5 = _add(r[12, j], r[13, j], r[14, j])
            s6, c6 = _add(s1, s2, s3)
            ones, c7 = _add(s4, s5, s6)
            t1, d1 = _add(c1, c2, c3)
            t2, d2 = _add(c4, c5, c6)
            twos, d3 = _add(t1, t2, c7)
            fours, eights = _add(d1, d2, d3)
            # Ripple the four bits into the counter of each of the 64 positions.
            carry = planes[0, j] & ones
            planes[0, j] ^= ones
            planes[1, j], carry = _add(planes[1, j], twos, carry)
            planes[2, j], carry = _add(planes[2, j], fours, carry)
            planes[3, j], carry = _add(planes[3, j], eights, carry)
            for p in range(4, 16):
                following = planes[p, j] & carry
                planes[p, j] ^= carry
                carry = following


@compiled()
def _flush(planes, counts):  # pragma: no cover
    for j in range(planes.shape[1]):
        for bit in range(64):
            total = 0
            for p in range(planes.shape[0]):
                total += ((planes[p, j] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(p)
            counts[64 * j + bit] += np.int64(total)


def positional_popcount(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many rows have each bit set.

    rows: uint64 [rows, words].
    returns: int64 [64 * words]. Bit b of word j is entry ``64 j + b``.

    Carry-save adders compress 15 rows into four bit planes, which ripple into vertical 16-bit
    counters. This takes about six logical operations for a word instead of 64 additions. The method
    is Harley's, as in [1]_.

    .. [1] W. Muła, N. Kurz, D. Lemire, "Faster population counts using AVX2 instructions", The
       Computer Journal 61(1), 2018.
    """
    words = rows.shape[1]
    counts = np.zeros(64 * words, dtype=np.int64)
    batch = (2**_PLANES - 1) // _GROUP * _GROUP
    for start in range(0, rows.shape[0], batch):
        part = rows[start : start + batch]
        groups = part.shape[0] // _GROUP
        planes = np.zeros((_PLANES, words), dtype=np.uint64)
        _count_groups(part, groups, planes)
        _flush(planes, counts)
        rest = part[groups * _GROUP :]
        if rest.size:
            bits = np.unpackbits(rest.view(np.uint8), axis=1, bitorder="little")
            counts += bits.sum(axis=0, dtype=np.int64)
    return counts


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


@compiled()
def order_by_group(groups):  # pragma: no cover
    """Return the positions by group, in order within a group, and where each of 256 groups ends.

    groups: Any bytes, so no report of somebody else can make this write where it must not.
    """
    place = np.zeros(257, dtype=np.int64)
    for group in groups:
        place[group + 1] += 1
    for group in range(256):
        place[group + 1] += place[group]
    order = np.empty(groups.size, dtype=np.int64)
    for i in range(groups.size):
        order[place[groups[i]]] = i
        place[groups[i]] += 1
    return order, place[:256]


@compiled()
def place_reports(data, members, reports):  # pragma: no cover
    """Write reports behind the first byte of the rows of these members."""
    for i in range(members.size):
        for byte in range(reports.shape[1]):
            data[members[i], 1 + byte] = reports[i, byte]
