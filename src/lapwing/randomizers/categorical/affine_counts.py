"""Affine sets: what is in how many of them, and how many people have each, by tables.

A set is named by a pair (a, b) of elements of a field of 2^k, a not 0: it holds the x for which
``a x + b``, read as a number, is below its size. Addition is an exclusive or, so the numbers
below a size are a few aligned blocks, of lengths that are the bits of the size; sums over such
blocks, for every b at once, take as long as the table is large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from lapwing.linear.binary_field import BinaryField, binary_field

Whole = NDArray[np.int64]

_AT_ONCE = 2**18
"""Numbers worked on together, which stay in a core's cache."""

_PEOPLE_PER_PAIR = 16
"""People for each pair (a, b) above which pairs are drawn instead of people."""


@dataclass(frozen=True)
class AffineSets:
    """The sets of one size.

    Parameters
    ----------
    bits : int
        k, in 1..16; there are 2^k elements.
    members : int
        Elements in a set, in 1..2^k - 1.
    """

    bits: int
    members: int

    @property
    def field(self) -> BinaryField:
        """The field of the elements."""
        return binary_field(self.bits)

    @property
    def sets(self) -> int:
        """How many there are: code ``(a - 1) 2^k + b`` for each pair."""
        return (self.field.size - 1) << self.bits

    def count(self, codes: Whole) -> Whole:
        """Return in how many of the sets with these codes each element is: int64 [2^k].

        Notes
        -----
        O(codes * members) by listing the members, or O(4^k) for all sets at once: what is less.
        """
        size = self.field.size
        if codes.size * self.members < 2 * size * size:
            return self._listed(codes)
        total = np.zeros(size, dtype=np.int64)
        rows = codes >> self.bits
        if self.sets <= 4 * _AT_ONCE:
            table = np.bincount(codes, minlength=self.sets).reshape(size - 1, size)
            for first, last in self._rounds():
                places = self.field.powers[first:last] - 1
                self._add(table[places], first, total)
            return total
        # By the logarithm of a, so that the rows of a round lie together.
        codes = self.field.logarithms[rows + 1] << self.bits | codes & (size - 1)
        codes.sort()
        for first, last in self._rounds():
            part = codes[slice(*np.searchsorted(codes, [first << self.bits, last << self.bits]))]
            if part.size:
                length = (last - first) << self.bits
                table = np.bincount(part - (first << self.bits), minlength=length)
                self._add(table.reshape(last - first, size), first, total)
        return total

    def draw(self, people: Whole, rng: np.random.Generator) -> Whole:
        """Return the counts when everybody's set is uniform among those that hold their own.

        Exactly the joint law of drawing every person, who are drawn while they are few; for more
        the time is O(4^k), whatever their number.

        Parameters
        ----------
        people : numpy.ndarray
            int64, of at most 2^k entries: how many people have each element.
        rng : numpy.random.Generator
        """
        total = int(people.sum())
        if total <= _PEOPLE_PER_PAIR * self.sets:
            return self._draw_people(np.repeat(np.arange(people.size), people), rng)
        counts = np.zeros(self.field.size, dtype=np.int64)
        left = people
        for first, last in self._rounds():
            rows = last - first
            here = rng.binomial(left, rows / (self.field.size - 1 - first))
            left = left - here
            chosen = rng.multinomial(here, np.full(rows, 1 / rows)).T
            self._add(self._drawn_pairs(chosen, first, rng), first, counts)
        return counts

    def draw_anywhere(self, people: int, rng: np.random.Generator) -> Whole:
        """Return the counts when so many people have uniformly random sets: int64 [2^k]."""
        counts = np.zeros(self.field.size, dtype=np.int64)
        if people <= _PEOPLE_PER_PAIR * self.sets:
            for part in _parts(people):
                counts += self.count(rng.integers(self.sets, size=part))
            return counts
        for first, last in self._rounds():
            rows = last - first
            here = int(rng.binomial(people, rows / (self.field.size - 1 - first)))
            people -= here
            length = rows << self.bits
            table = rng.multinomial(here, np.full(length, 1 / length))
            self._add(table.reshape(rows, self.field.size), first, counts)
        return counts

    def _rounds(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of logarithms of a, of which the tables are worked on together."""
        rows = max(1, _AT_ONCE >> self.bits)
        for first in range(0, self.field.size - 1, rows):
            yield first, min(first + rows, self.field.size - 1)

    def _listed(self, codes: Whole) -> Whole:
        field, counts = self.field, np.zeros(self.field.size, dtype=np.int64)
        below = np.arange(self.members)
        step = max(1, _AT_ONCE // self.members)
        for start in range(0, codes.size, step):
            part = codes[start : start + step, None]
            values = below ^ (part & (field.size - 1))
            held = field.quotients(values, (part >> self.bits) + 1)
            counts += np.bincount(held.ravel(), minlength=field.size)
        return counts

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (level, position): the numbers below the size are these 2^level long blocks."""
        for level in reversed(range(self.bits)):
            if self.members >> level & 1:
                yield level, self.members >> (level + 1) << 1

    def _add(self, table: Whole, first: int, counts: Whole) -> None:
        """Add what is in the sets of a table to the counts.

        `table` is int64 [rows, 2^k]: row i has the sets whose a is power ``first + i`` of 2, by b.
        """
        rows, size = table.shape
        levels = [table]
        for _ in range(self.bits - 1):
            levels.append(levels[-1][:, 0::2] + levels[-1][:, 1::2])
        blocks = dict(self._blocks())
        # Column u: how many of the row's sets have u + b below the size.
        held = np.zeros((rows, 1), dtype=np.int64)
        for level in reversed(range(self.bits)):
            held = np.repeat(held, 2, axis=1)
            if level in blocks:
                held += levels[level][:, np.arange(size >> level) ^ blocks[level]]
        counts[0] += held[:, 0].sum()
        # An x is in if u = a x is, and logarithms of products are sums: in the order of the
        # logarithms of u, an x other than 0 goes down a diagonal.
        order = self.field.powers[(first + np.arange(rows + size - 2)) % (size - 1)]
        shifted = np.ascontiguousarray(held[:, order])
        step, item = shifted.strides
        diagonals = as_strided(shifted, (rows, size - 1), (step + item, item), writeable=False)
        counts[self.field.powers[: size - 1]] += diagonals.sum(axis=0)

    def _draw_people(self, own: Whole, rng: np.random.Generator) -> Whole:
        counts = np.zeros(self.field.size, dtype=np.int64)
        start = 0
        for part in _parts(own.size):
            values = rng.integers(self.members, size=part)
            a = rng.integers(1, self.field.size, size=part)
            b = values ^ self.field.products(a, own[start : start + part])
            counts += self.count((a - 1) << self.bits | b)
            start += part
        return counts

    def _drawn_pairs(self, chosen: Whole, first: int, rng: np.random.Generator) -> Whole:
        """Return by b how many people of each row have the set: int64 [rows, 2^k].

        `chosen` is int64 [rows, elements]: how many with each element have the row's a. Their
        ``a x + b`` is uniform below the size: a block by its length, then halves by fair coins.
        """
        rows, size = chosen.shape[0], self.field.size
        shift = self.field.powers[first + np.arange(rows)]
        waiting = np.zeros((rows, size), dtype=np.int64)
        place = self.field.products(shift[:, None], np.arange(chosen.shape[1]))
        np.put_along_axis(waiting, place, chosen, axis=1)
        nodes = [np.zeros((rows, size >> level), dtype=np.int64) for level in range(self.bits)]
        left = self.members
        for level, position in self._blocks():
            here = rng.binomial(waiting, (1 << level) / left)
            waiting -= here
            left -= 1 << level
            sums = here.reshape(rows, size >> level, 1 << level).sum(axis=2)
            nodes[level] += sums[:, np.arange(size >> level) ^ position]
        for level in range(self.bits - 1, 0, -1):
            half = rng.binomial(nodes[level], 0.5)
            nodes[level - 1][:, 0::2] += half
            nodes[level - 1][:, 1::2] += nodes[level] - half
        return nodes[0]


def _parts(people: int) -> Iterator[int]:
    """Yield sizes of parts of so many people, each small enough to be drawn at once."""
    most = 2**20
    for start in range(0, people, most):
        yield min(most, people - start)
