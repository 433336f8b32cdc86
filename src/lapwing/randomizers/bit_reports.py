"""Reports of one bit per symbol, and bits in bulk: drawn from random words, checked, counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.linear.memoized import cached_property
from lapwing.privacy.sampling.randomness import WORD, RandomSource, half_words_below, scalar_below
from lapwing.protocol.randomizer import Fault, Fill, fault_of, fill_reports, refuse

_LANES = 4096
"""Words worked on together: 32 KiB, which stay in a core's L1 cache."""

_ROUNDS = 8
"""Bits of the threshold that are compared before the undecided words are gathered."""

_SMALL = 2**20
"""Bytes up to which NumPy counts, in some 5 ms."""
# Loading the kernel takes half a second, and compiling it, the first time, seconds.

_MANY_SETS = 4096
"""Sets from which on the compiled loop is loaded. A device makes one at a time."""

_BIT = np.left_shift(1, np.arange(8)).astype(np.uint8)
"""Mask of each bit of a byte."""

_BITS_OF_BYTES = np.arange(256)[:, None] >> np.arange(8) & 1
"""Bits of each byte: int64 [256, 8]."""

_AT_ONCE = 2**22
"""Bytes of reports that are made at a time, so that temporary arrays stay small."""


@dataclass(frozen=True)
class BitReports:
    """Reports of a bit for each symbol s, bit ``s % 8`` of byte ``s // 8``. Spare bits are 0.

    symbols: Bits of a report.
    members: How many of them are 1, when that is the same in every report.
    """

    symbols: int
    members: int | None = None

    @cached_property
    def width(self) -> int:
        """Bytes per report."""
        return (self.symbols + 7) // 8

    @cached_property
    def last(self) -> int:
        """Mask of the bits of the last byte that stand for a symbol."""
        return 0xFF >> (8 * self.width - self.symbols)

    def report(self, ones: Iterable[int]) -> bytes:
        """Return the report in which these symbols are 1."""
        report = bytearray(self.width)
        for symbol in ones:
            report[symbol // 8] |= 1 << symbol % 8
        return bytes(report)

    def make(self, symbols: NDArray[np.int64], fill: Fill) -> NDArray[np.uint8]:
        """Return one report per person by :func:`lapwing.protocol.randomizer.fill_reports`."""
        return fill_reports(symbols, fill, width=self.width, rows=rows_at_once(self.width))

    def draw(self, source: RandomSource, *, threshold: int, count: int) -> NDArray[np.uint8]:
        """Return reports whose bits are 1 with probability threshold / 2^64: uint8 [n, width]."""
        bits = random_bits(source, threshold=threshold, size=count * self.width)
        bits = bits.reshape(count, self.width)
        bits[:, -1] &= self.last
        return bits

    def impossible(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which reports have a spare bit set or another number of ones: bool [n]."""
        invalid: NDArray[np.bool_] = np.zeros(len(data), dtype=bool)
        if self.last != 0xFF:  # else there is no spare bit, and a look at each row costs as much
            invalid = (data[:, -1] & ~np.uint8(self.last)) != 0  # as counting it
        if self.members is not None:
            invalid |= bits_set(data) != self.members
        return invalid

    def count(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return how often every bit is set in a batch, with the errors of `Randomizer.tally`."""
        refuse(self.faults(data))
        return count_bits(data)[: self.symbols]

    def faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        """Yield which reports of a batch cannot occur."""
        requirement = "leave its spare bits 0"
        if self.members is not None:
            requirement = f"contain {self.members} symbols and no spare bits"
        return fault_of(self.impossible(data), requirement)


def rows_at_once(width: int) -> int:
    """Return how many reports of so many bytes are made or checked at a time."""
    return max(1, _AT_ONCE // width)


def random_bits(source: RandomSource, *, threshold: int, size: int) -> NDArray[np.uint8]:
    """Return bytes whose bits are 1 with probability threshold / 2^64 each, exactly: uint8 [size].

    threshold: In 0..2^64.
    size: Bytes.

    Bit-sliced comparison: 64 lanes each compare a random number with the threshold bit by bit, the
    most significant first. A lane is decided at the first bit that differs, so about eight random
    words serve 64 lanes. A lane that is undecided after all 64 bits equals the threshold, and is
    not below it. Bits after the threshold's last 1 cannot decide for "below" any more.
    """
    words = (size + 7) // 8
    if threshold >= WORD:
        return np.full(size, 0xFF, dtype=np.uint8)
    result = np.zeros(words, dtype=np.uint64)
    last = 64 - ((threshold & -threshold).bit_length() - 1) if threshold else 0
    pattern = [bool(threshold >> (63 - position) & 1) for position in range(last)]
    for start in range(0, words, _LANES):
        part = result[start : start + _LANES]
        _compare(source, pattern, part)
    return result.view(np.uint8)[:size]


def _compare(source: RandomSource, pattern: list[bool], below: NDArray[np.uint64]) -> None:
    """Set the bits of `below` whose lanes draw a number below the pattern."""
    open_lanes = np.full(below.size, np.uint64(2**64 - 1))
    scratch = np.empty_like(open_lanes)
    where: NDArray[np.int64] | None = None
    found = below
    for first in range(0, len(pattern), _ROUNDS):
        part = pattern[first : first + _ROUNDS]
        drawn = source.words(len(part) * open_lanes.size).reshape(len(part), open_lanes.size)
        for bit, words in zip(part, drawn, strict=True):
            if bit:
                # A drawn 0 under a threshold's 1 decides for below, a 1 leaves the lane open.
                np.bitwise_and(open_lanes, words, out=scratch)
                open_lanes ^= scratch
                found |= open_lanes
                open_lanes, scratch = scratch, open_lanes
            else:
                # A drawn 1 over a threshold's 0 decides against.
                np.bitwise_and(open_lanes, words, out=scratch)
                open_lanes ^= scratch
        if where is not None:
            below[where] = found
        left = np.flatnonzero(open_lanes)
        if left.size == 0 or first + _ROUNDS >= len(pattern):
            return
        where = left if where is None else where[left]
        open_lanes, found = open_lanes[left], below[where]
        scratch = np.empty_like(open_lanes)


def bits_set(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how many bits of each row are set: int64 [rows]."""
    if data.shape[1] > 8:
        total: NDArray[np.int64] = np.bitwise_count(data).sum(axis=1, dtype=np.int64)
        return total
    found = np.zeros(len(data), dtype=np.int64)
    for column in data.T:  # a sum over rows of a few bytes takes some times as long
        found += np.bitwise_count(column)
    return found


def write_bits(
    plane: NDArray[np.uint8], position: NDArray[np.int64], bit: NDArray[np.bool_]
) -> None:
    """Set one bit of every row to a given value."""
    row, byte = np.arange(position.size), position >> 3
    mask = np.left_shift(1, position & 7).astype(np.uint8)
    plane[row, byte] = (plane[row, byte] & ~mask) | (mask * bit)


def random_sets(
    source: RandomSource,
    own: NDArray[np.int64],
    inside: NDArray[np.bool_],
    *,
    items: int,
    members: int,
) -> NDArray[np.uint8]:
    """Return sets of a fixed size, each uniform among those that hold the own item or do not.

    own: int64 [rows]: the item of each row, in 0..items-1.
    inside: bool [rows]: whether it is in.
    items, members: 2 or more items, of which 1..items-1 are in.
    returns: uint8 [rows, ceil(items / 8)]. Item i is bit ``i % 8`` of byte ``i // 8``.

    Every item is first drawn independently with about the right probability, and the own one set.
    Then uniformly random others are added or taken away until the size is right. Each step treats
    all others alike, so the set is exactly uniform whatever the first probability.
    """
    threshold = WORD * members // items
    sets = BitReports(items).draw(source, threshold=threshold, count=own.size)
    flat, width = sets.reshape(-1), sets.shape[1]
    bound, change_items = np.uint64(items - 1), None
    if own.size >= _MANY_SETS:
        from lapwing.randomizers.report_kernel import begin_sets, change_items

        ones = bits_set(sets)
        start, short, item = np.empty((3, own.size), dtype=np.int64)
        left = begin_sets(flat, width, own, inside, ones, members, start, short, item)
    else:
        write_bits(sets, own, inside)
        start, short, item = np.arange(own.size) * width, members - bits_set(sets), own
        start, short, item, left = _incomplete(start, short, item)
    while left:
        # Any item but the own one; it changes only in the wanted direction.
        words = source.words((left + 1) // 2).view("<u4")
        if change_items is not None:
            kept = change_items(words, left, bound, flat, start, short, item)
            if kept >= 0:
                left = kept
                continue
            start, short, item = start[:left], short[:left], item[:left]
        chosen = half_words_below(source, words[:left].astype(np.uint64), np.asarray(bound))
        chosen += chosen >= item
        place, bit = start + (chosen >> 3), _BIT[chosen & 7]
        byte, many = flat[place], short < 0
        change = ((byte & bit) != 0) == many
        flat[place] = byte ^ bit * change
        start, short, item, left = _incomplete(start, short + (2 * many - 1) * change, item)
    return sets


def _incomplete(
    start: NDArray[np.int64], short: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Return what is known of the sets that have not their size, and how many they are."""
    left = np.flatnonzero(short)
    return start[left], short[left], own[left], left.size


def drawn_in_order(
    words: Iterator[int], items: int, *, own: int, places: int, kinds: int
) -> Iterator[tuple[int, int]]:
    """Yield which items but the own one are in a uniformly random set, each of a random kind.

    Every other item, in order, draws a uniform number below `kinds` times the number of others not
    yet seen. It is in when that is below `kinds` times the number of places left. The number modulo
    `kinds` is its kind.
    """
    unseen = items - 1
    for item in range(items):
        if item == own:
            continue
        drawn = scalar_below(words, kinds * unseen)
        if drawn < kinds * places:
            yield item, drawn % kinds
            places -= 1
        unseen -= 1


def count_bits(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how many rows have each bit set.

    data: uint8 [rows, width].
    returns: int64 [8 * width]. Bit b of byte i is entry ``8 i + b``.
    """
    if data.size <= _SMALL:
        total: NDArray[np.int64]
        if len(data) > 256:  # many rows have one byte, whose bits are unpacked once
            often = [np.bincount(column, minlength=256) for column in data.T]
            total = np.dot(often, _BITS_OF_BYTES).ravel()
        else:
            total = np.unpackbits(data, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        return total
    from lapwing.randomizers.report_kernel import positional_popcount

    width = data.shape[1]
    if width % 8 == 0 and data.flags.c_contiguous:
        return positional_popcount(data.view(np.uint64))
    padded_width = -(-width // 8) * 8
    counts = np.zeros(8 * padded_width, dtype=np.int64)
    rows = max(1, 2**22 // padded_width)
    padded = np.zeros((rows, padded_width), dtype=np.uint8)
    for start in range(0, data.shape[0], rows):
        part = data[start : start + rows]
        padded[: part.shape[0], :width] = part
        counts += positional_popcount(padded[: part.shape[0]].view(np.uint64))
    return counts[: 8 * width]
