"""Mixtures: public randomness draws one of several randomizers, which then randomizes the value.

The draw does not depend on the value, and each component is epsilon-private on its own, so the
mixture is too. A report is the number of the group, followed by the component's report, padded to
the widest one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, DomainError, ReportError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import Coarsened, OwnColumns
from lapwing.privacy.guarantee import Certificate
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.randomizer import (
    Collected,
    Fault,
    Randomizer,
    check_symbol,
    derived_values,
    fault_of,
    refuse,
    thresholds_of,
)

COIN = 2**32
"""Shares of the groups are whole multiples of 1 / COIN, so that the draw is exact."""

MOST_GROUPS = 255
"""A report names its group in one byte."""

_MANY = 50_000
"""Reports from which on the compiled loops are loaded, which takes half a second."""


@dataclass(frozen=True)
class Component:
    """A randomizer of a mixture, and the share of the people who use it.

    randomizer: Randomizer of the numbers ``0..cells-1``. The size of its domain is `cells`.
    share: Probability of the group times 2^32, in 1..2^32.
    starts: First symbol of each cell, increasing from 0. Default: cells that are as equal as can
        be.
    own: Symbols with a cell of their own, increasing. All others are the last cell. Default: none.
    """

    randomizer: Randomizer
    share: int
    starts: tuple[int, ...] | None = None
    own: tuple[int, ...] = ()


def whole_shares(shares: list[float]) -> list[int]:
    """Return positive shares as whole parts of 2^32 that sum to it exactly.

    Raises ArgumentError when a share is not positive, or the shares do not sum to one.
    """
    if not shares or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
        raise ArgumentError(
            "the shares of the groups must be positive and sum to 1, but they sum to "
            f"{sum(shares):g}"
        )
    whole = [max(1, int(share * COIN)) for share in shares]
    whole[whole.index(max(whole))] += COIN - sum(whole)
    return whole


def component_groups(
    table: Sequence[tuple[str, Any, float]], randomizer: Callable[[str, Any], Randomizer]
) -> tuple[Component, ...]:
    """Return the component of each group of people, by its kind, its size and its share."""
    total = math.fsum(share for _, _, share in table)
    shares = whole_shares([share / total for _, _, share in table])
    return tuple(
        Component(randomizer(kind, size), share, size if kind == "cells" else None)
        for (kind, size, _), share in zip(table, shares, strict=True)
    )


@dataclass(frozen=True)
class Mixture(Randomizer[Collected]):
    """Base class of the mixtures. A concrete one defines its components.

    domain: Domain of the values.
    epsilon: Privacy parameter of one report, in (0, 24], in nats. The field holds an exact
        Fraction.

    **Privacy.** The report of group g has ``P(g, y | x) = share_g P_g(y | x)``, with shares that do
    not depend on x. So the likelihood ratio of a report is that of its component, and the worst
    ratio is that of the worst component. :meth:`certificate` states it. The contract tests check
    it on the dense channel of the whole mixture.
    """

    def __post_init__(self) -> None:
        """Make epsilon exact and check the components."""
        super().__post_init__()
        groups = self.groups
        if not 1 <= len(groups) <= MOST_GROUPS or sum(group.share for group in groups) != COIN:
            raise ArgumentError(
                f"a mixture must have 1 to {MOST_GROUPS} groups with shares that sum to 1. "
                f"Number of groups: {len(groups)}"
            )
        for group in groups:
            if group.randomizer.domain.size > self.domain.size:
                raise DomainError(
                    f"a group cannot have more cells than the domain's {self.domain.size} symbols"
                )

    @property
    @abstractmethod
    def groups(self) -> tuple[Component, ...]:
        """Component of each group of people, in the order of the group numbers."""

    @property
    def _derived(self) -> dict[str, Any]:
        return {
            "report_width": self.report_width,
            "groups": [
                {
                    "share": component.share,
                    "randomizer": component.randomizer.name,
                    "cells": component.randomizer.domain.size,
                    "derived": derived_values(component.randomizer),
                }
                for component in self.groups
            ],
        }

    @property
    def _thresholds(self) -> dict[str, int]:
        """The thresholds of every component, by group."""
        return {
            f"{number}.{name}": threshold
            for number, component in enumerate(self.groups)
            for name, threshold in thresholds_of(component.randomizer).items()
        }

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio: that of the worst component."""
        ratios = [component.randomizer.certificate().ratio for component in self.groups]
        return Certificate(self.epsilon, max(ratios))

    @cached_property
    def report_width(self) -> int:
        """Bytes of one report: one for the group, plus those of the widest component."""
        return 1 + max(component.randomizer.report_width for component in self.groups)

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: the blocks of all components."""
        blocks = []
        for component in self.groups:
            for block in component.randomizer.channel.blocks:
                operator = block.operator
                if component.own:
                    operator = OwnColumns(operator, size=self.domain.size, own=component.own)
                elif operator.shape[1] != self.domain.size:
                    operator = Coarsened(operator, size=self.domain.size, starts=component.starts)
                blocks.append(Block(operator, block.law, block.share * component.share / COIN))
        return Channel(self.domain, blocks, self.fingerprint, self.guarantee)

    @cached_property
    def _limits(self) -> NDArray[np.uint64]:
        """Upper ends of the groups on the coin's scale: uint64 [groups]."""
        return np.cumsum([component.share for component in self.groups], dtype=np.uint64)

    @cached_property
    def _groups_of_high_bits(self) -> NDArray[np.uint8]:
        """For the high 16 of a coin's 32 bits, its group. `MOST_GROUPS` where that is not all."""
        lowest = np.arange(2**16, dtype=np.uint64) << np.uint64(16)
        groups = np.searchsorted(self._limits, lowest, side="right")
        same = groups == np.searchsorted(self._limits, lowest + np.uint64(2**16 - 1), side="right")
        found: NDArray[np.uint8] = np.where(same, groups, MOST_GROUPS).astype(np.uint8)
        return found

    def _groups_of(self, coins: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return the first group whose limit exceeds each coin of 32 bits."""
        groups: NDArray[np.uint8] = self._groups_of_high_bits[coins >> np.uint64(16)]
        (unsure,) = np.nonzero(groups == MOST_GROUPS)
        groups[unsure] = np.searchsorted(self._limits, coins[unsure], side="right")
        return groups

    @cached_property
    def _cell_numbers(self) -> tuple[int, ...]:
        """How many cells each group has."""
        return tuple(component.randomizer.domain.size for component in self.groups)

    def _cells(self, group: int, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell of each symbol: floor(symbol * cells / size), or by its first symbol.

        Where some symbols have a cell of their own, it is this or the last.
        """
        cells, size = self._cell_numbers[group], self._points
        starts, own = self.groups[group].starts, self.groups[group].own
        if own:
            place = np.searchsorted(own, symbols)
            apart = np.append(own, -1)[place] == symbols
            return np.where(apart, place, len(own))
        if starts is not None:
            return np.searchsorted(starts, symbols, side="right") - 1
        return symbols if cells == size else symbols * cells // size

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        groups = self._groups_of(source.words(points.size) >> np.uint64(32))
        data = np.zeros((points.size, self.report_width), dtype=np.uint8)
        data[:, 0] = groups
        order, ends = self._by_group(groups)
        for number, (start, stop) in enumerate(pairwise(ends)):
            if start < stop:
                members = order[start:stop]
                cells = self._cells(number, points[members])
                _place(data, members, self.groups[number].randomizer._reports_of(cells, source))
        return data

    def _by_group(self, groups: NDArray[np.uint8]) -> tuple[NDArray[np.int64], list[int]]:
        """Return the positions by group, increasing within a group, and where each group ends.

        The ends begin with 0. Positions of no group come after the last end.
        """
        if groups.size < _MANY:
            order = np.argsort(groups, kind="stable")
            ends = np.bincount(groups, minlength=len(self.groups)).cumsum()
        else:
            from lapwing.randomizers.report_kernel import order_by_group

            order, ends = order_by_group(np.ascontiguousarray(groups))
        return order, [0, *ends[: len(self.groups)].tolist()]

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one bin or category.

        The high 32 bits of the first word choose the group: the first whose cumulative share
        exceeds them. The component then uses further words, for the cell of the value. This is
        ``value * cells // size`` or, if the cells have given starts, the last cell that begins at
        or before the value.
        """
        check_symbol(value, self.domain.size)
        coin = next(words) >> 32
        number = int(np.searchsorted(self._limits, np.uint64(coin), side="right"))
        cell = int(self._cells(number, np.array([value]))[0])
        report = bytes([number]) + self.groups[number].randomizer.from_words(cell, words)
        return report.ljust(self.report_width, b"\0")

    def _count(self, data: NDArray[np.uint8]) -> list[tuple[NDArray[np.int64], int]]:
        blocks = []
        try:
            if int(data[:, 0].max(initial=0)) >= len(self.groups):
                raise ReportError("a report names a group that its randomizer does not have")
            for _, randomizer, _, payload, padding in self._parts(data):
                if padding.any():
                    raise ReportError("there is more than the report of the group")
                blocks += randomizer._count(payload)
        except ReportError:
            refuse(self._faults(data))
            raise
        return blocks

    def _faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        requirement = f"be of a group in 0..{len(self.groups) - 1}"
        yield from fault_of(data[:, 0] >= len(self.groups), requirement, failure="is not")
        for number, randomizer, members, payload, padding in self._parts(data, absent=False):
            faults = list(randomizer._faults(payload))
            if padding.any():
                more: NDArray[np.bool_] = np.any(padding, axis=1)
                faults += fault_of(more, "be padded with zeros", failure="is not")
            for fault in faults:
                positions = members[fault.positions]
                yield Fault(positions, f"{fault.requirement} in group {number}", fault.failure)

    def _parts(
        self, data: NDArray[np.uint8], *, absent: bool = True
    ) -> Iterator[tuple[int, Randomizer, NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]]:
        """Yield each group, its randomizer, which reports are of it, those, and bytes behind them.

        absent: Whether groups without a report are yielded.
        """
        order, ends = self._by_group(data[:, 0])
        rows = np.empty((order.size, self.report_width - 1), dtype=np.uint8)
        for byte in range(rows.shape[1]):  # a fraction of the time of whole rows
            rows[:, byte] = data[:, 1 + byte][order]
        for number, (start, stop) in enumerate(pairwise(ends)):
            if start < stop or absent:
                randomizer, part = self.groups[number].randomizer, rows[start:stop]
                width = randomizer.report_width
                yield number, randomizer, order[start:stop], part[:, :width], part[:, width:]


def _place(data: NDArray[np.uint8], members: NDArray[np.int64], reports: NDArray[np.uint8]) -> None:
    """Write the reports of some rows behind the byte of their group."""
    if len(data) >= _MANY:
        from lapwing.randomizers.report_kernel import place_reports

        place_reports(data, members, reports)
        return
    for byte in range(reports.shape[1]):  # some times as fast as all bytes at once
        data[:, 1 + byte][members] = reports[:, byte]
