"""Outputs of a report for one axis of a pair: a window of bins, a set of labels, or nothing.

Every symbol of an axis is seen by the same number of outputs of that axis. So every pair is seen by
the product of both numbers, and the two-level design needs nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix
from lapwing.linear.memoized import cached_property, memoized
from lapwing.protocol.domains.domain import Domain, bin_range, bins_of, place_apart
from lapwing.randomizers.window_counts import spread_in_circular_windows, spread_in_windows

MOST_SETS = 5000
"""Sets of labels that a report may name."""

MOST_PLACES = 2**20
"""Labels times sets of several labels: a device has a table of so many numbers of 8 bytes."""

LARGEST_SET = 4
"""Most labels in a set by default: larger ones gain nothing and are many."""


class AxisWindows(ABC):
    """Which outputs of an axis see each of its symbols: `near` of `outputs`, for every symbol."""

    outputs: int
    """Outputs of the axis."""

    near: int
    """Outputs that see a symbol: as many for each."""

    @abstractmethod
    def locate(self, symbols: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the outputs at these places in the order of each symbol, near ones first."""

    @abstractmethod
    def spread(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts of outputs, when everybody is uniform in what sees their symbol.

        people: int64 [symbols].
        returns: int64 [outputs].
        """

    @cached_property
    def indicator(self) -> Matrix:
        """Which outputs see which symbols, as zeros and ones: [outputs, symbols]."""
        matrix = np.zeros((self.outputs, self._symbols))
        symbols = np.arange(self._symbols)
        for place in range(self.near):
            matrix[self.locate(symbols, np.full(symbols.size, place)), symbols] = 1.0
        return matrix

    _symbols: int


@dataclass(frozen=True)
class NotAsked(AxisWindows):
    """An axis that a report says nothing about: one output sees all symbols."""

    domain: Domain

    outputs = 1
    near = 1

    @property
    def _symbols(self) -> int:  # type: ignore[override]
        return self.domain.size

    def locate(self, symbols: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the one output."""
        return np.zeros_like(symbols)

    def spread(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the number of people."""
        return np.array([people.sum()])


@dataclass(frozen=True)
class BinWindows(AxisWindows):
    """Windows of neighboring bins, which reach over both ends of a line, and wrap on a circle.

    Values outside the range and missing ones are no neighbors of any bin. Each has as many outputs
    of its own as a bin has in its window.

    domain: Interval or Integers.
    near: Bins in a window.
    """

    domain: Domain
    near: int

    @cached_property
    def _bins(self) -> range:
        """The symbols that are bins: all but those outside and the missing one."""
        return bin_range(self.domain)

    @property
    def _symbols(self) -> int:  # type: ignore[override]
        return self.domain.size

    @cached_property
    def _grid(self) -> int:
        """Outputs of the windows."""
        return len(self._bins) + (0 if self.domain.circular else self.near - 1)

    @cached_property
    def outputs(self) -> int:  # type: ignore[override]
        """Outputs of the windows, and those of the symbols that stand apart."""
        return self._grid + self.near * (self.domain.size - len(self._bins))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The first output that sees each symbol of the axis."""
        return self._start(np.arange(self.domain.size))

    def _start(self, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first output that sees each symbol."""
        if symbols.size > self.domain.size:
            return self._starts[symbols]
        bins = self._bins
        inside = (bins.start <= symbols) & (symbols < bins.stop)
        apart = self._grid + self.near * place_apart(symbols, bins)
        return np.where(inside, symbols - bins.start, apart)

    def locate(self, symbols: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the outputs at these places, counted from the window's start and around."""
        start = self._start(symbols)
        if not self.domain.circular or self._grid == self.outputs:
            found = start + places  # less than twice the outputs
            return found - np.where(found < self.outputs, 0, self.outputs)
        # A window that wraps within the circle; symbols apart are passed after the whole of it.
        on_circle = start < self._grid
        turned = np.where(places < self._grid, (start + places) % self._grid, places)
        return np.where(on_circle, turned, (start + places) % self.outputs)

    def spread(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts of outputs, drawn for all people at once."""
        inside = people[self._bins.start : self._bins.stop]
        if self.domain.circular:
            grid = spread_in_circular_windows(inside, width=self.near, rng=rng)
        else:
            grid = spread_in_windows(inside, width=self.near, points=self._grid, rng=rng)
        apart = np.delete(people, bins_of(self.domain))
        chances = np.full(self.near, 1 / self.near)
        own = [rng.multinomial(number, chances) for number in apart]
        return np.concatenate([grid, *own]).astype(np.int64)


@dataclass(frozen=True)
class LabelSets(AxisWindows):
    """All sets of so many labels. A set sees the labels that it holds.

    members: Labels in a set, fewer than there are.
    """

    domain: Domain
    members: int

    @property
    def _symbols(self) -> int:  # type: ignore[override]
        return self.domain.size

    @cached_property
    def outputs(self) -> int:  # type: ignore[override]
        """Number of sets."""
        return comb(self.domain.size, self.members)

    @cached_property
    def near(self) -> int:  # type: ignore[override]
        """Sets that hold a given label."""
        return comb(self.domain.size - 1, self.members - 1)

    def locate(self, symbols: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sets at these places of each label's order."""
        if self.members == 1:  # the set of the label, then the others
            return np.where(places == 0, symbols, places - (places <= symbols))
        return _order_of_sets(self.domain.size, self.members)[symbols, places]

    def spread(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts of sets: for each label a multinomial draw of those that hold it."""
        if self.members == 1:
            return people.astype(np.int64)
        counts = np.zeros(self.outputs, dtype=np.int64)
        order = _order_of_sets(self.domain.size, self.members)
        chances = np.full(self.near, 1 / self.near)
        for label, number in enumerate(people):
            if number:
                counts[order[label, : self.near]] += rng.multinomial(number, chances)
        return counts


@memoized(most=16)
def _order_of_sets(labels: int, members: int) -> NDArray[np.int64]:
    """For each label the sets that hold it, then the others: int64 [labels, sets]."""
    sets = np.array(list(combinations(range(labels), members)))
    holds = np.zeros((labels, len(sets)), dtype=bool)
    holds[sets.T, np.arange(len(sets))] = True
    return np.argsort(~holds, axis=1, kind="stable").astype(np.int64)


def too_many_sets(labels: int, members: int) -> bool:
    """Return whether a report may not name the sets of so many labels."""
    sets = comb(labels, members)
    return sets > MOST_SETS or (members > 1 and labels * sets > MOST_PLACES)


def axis_windows(domain: Domain, width: int | None, *, name: str) -> AxisWindows:
    """Return the windows of one axis.

    domain: Of the axis.
    width: Bins of a window, or labels of a set. None where the axis is left out.
    name: Of the axis, for messages.

    Raises ArgumentError when the width is not from 1 to the bins of the axis, or below the number
    of its labels. Also when there are too many sets of labels.
    """
    if width is None:
        return NotAsked(domain)
    whole = isinstance(width, int | np.integer) and not isinstance(width, bool)
    bins = len(bin_range(domain))
    most = bins if domain.ordered else domain.size - 1
    if not whole or not 1 <= width <= most:
        what = "bins of a window" if domain.ordered else "labels of a set"
        raise ArgumentError(
            f"the {what} of axis {name} must be a whole number from 1 to {most}, got {width!r}. "
            "Pass None for an axis that is not asked about"
        )
    if domain.ordered:
        return BinWindows(domain, int(width))
    if too_many_sets(domain.size, int(width)):
        raise ArgumentError(
            f"axis {name} must have at most {MOST_SETS:,} sets of labels. For sets of several "
            f"labels, sets times labels must be at most {MOST_PLACES:,}. Got "
            f"{comb(domain.size, int(width)):,} sets of {width} of {domain.size:,} labels. Use "
            f"{'smaller sets' if width > 1 else 'fewer labels'}"
        )
    return LabelSets(domain, int(width))
