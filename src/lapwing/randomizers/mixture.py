"""Groups: a public coin draws one of several randomizers, then the value is randomized in it.

The coin does not depend on the value, and each part is epsilon-private by itself, so the whole
is. A report is the number of the group, then the part's report, padded to the widest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, DomainError, ReportError
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.regridding import Coarsened, cell_of
from lapwing.privacy.exact_numbers import exact_epsilon
from lapwing.privacy.guarantee import Certificate, Guarantee
from lapwing.privacy.sampling.randomness import RandomSource, source_of
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally, Tally
from lapwing.protocol.randomizer import (
    Randomizer,
    channel_of_counts,
    check_batch,
    check_symbol,
    randomizer_document,
    randomizer_fingerprint,
    randomizer_guarantee,
    refuse_reports,
)

COIN = 2**32
"""Shares of the groups are whole parts of this, so that the coin is exact."""

MOST_GROUPS = 255
"""A report names its group in one byte."""


@dataclass(frozen=True)
class Part:
    """One group.

    Parameters
    ----------
    randomizer : Randomizer
        Over the numbers ``0..cells-1``; `cells` is the size of its domain.
    share : int
        In 1..2^32: the group is drawn with probability share / 2^32.
    """

    randomizer: Randomizer
    share: int


def whole_shares(shares: list[float]) -> list[int]:
    """Return positive shares as whole parts of 2^32 that sum to it exactly.

    Raises
    ------
    ArgumentError
        When a share is not positive, or they do not sum to one.
    """
    if not shares or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
        raise ArgumentError(
            f"the shares of the groups must be positive and sum to 1, they sum to {sum(shares):g}"
        )
    whole = [max(1, int(share * COIN)) for share in shares]
    whole[whole.index(max(whole))] += COIN - sum(whole)
    return whole


@dataclass(frozen=True)
class Mixture(ABC):
    """What the mixtures share; not used by itself. A concrete one says what its parts are.

    Parameters
    ----------
    domain : Domain
    epsilon : int, float, str or Fraction
        In (0, 24], nats.

    Privacy
    -------
    ``P(g, y | x) = share_g P_g(y | x)`` with shares that do not depend on x, so the ratio is that
    of the part, and the worst ratio is the worst part's. Checked by :meth:`certificate` and by
    the contract tests on the dense channel of the whole mixture.
    """

    domain: Domain
    epsilon: Fraction

    name: ClassVar[str]
    simulation: ClassVar[Literal["exact", "users"]] = "exact"
    channel_for = channel_of_counts
    to_document = randomizer_document

    def __post_init__(self) -> None:
        """Make epsilon exact and check the parts."""
        require_domain(self.domain)
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))
        parts = self.groups
        if not 1 <= len(parts) <= MOST_GROUPS or sum(part.share for part in parts) != COIN:
            raise ArgumentError(
                f"there must be 1..{MOST_GROUPS} groups whose shares sum to 1, got {len(parts)}"
            )
        for part in parts:
            if part.randomizer.domain.size > self.domain.size:
                raise DomainError(
                    f"a group cannot have more cells than the domain's {self.domain.size} symbols"
                )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of its canonical document, with all that derives from it."""
        return randomizer_fingerprint(self)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Pure epsilon, in the local model."""
        return randomizer_guarantee(self)

    @property
    @abstractmethod
    def groups(self) -> tuple[Part, ...]:
        """The parts, in the order of their numbers."""

    @property
    def derived(self) -> dict[str, Any]:
        """What clients need beside the fields; JSON values only."""
        return {
            "report_width": self.report_width,
            "groups": [
                {
                    "share": part.share,
                    "randomizer": part.randomizer.name,
                    "cells": part.randomizer.domain.size,
                    "derived": part.randomizer.derived,
                }
                for part in self.groups
            ],
        }

    @property
    def thresholds(self) -> dict[str, int]:
        """The thresholds of every part, by group."""
        return {
            f"{number}.{name}": threshold
            for number, part in enumerate(self.groups)
            for name, threshold in part.randomizer.thresholds.items()
        }

    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio: that of the worst part."""
        return Certificate(
            self.epsilon, max(part.randomizer.certificate().ratio for part in self.groups)
        )

    @property
    def report_width(self) -> int:
        """Bytes per report: one for the group, then the widest part's."""
        return 1 + max(part.randomizer.report_width for part in self.groups)

    @cached_property
    def channel(self) -> Channel:
        """The blocks of all parts, on the symbols of the domain."""
        blocks = []
        for part in self.groups:
            for block in part.randomizer.channel.blocks:
                operator = block.operator
                if operator.shape[1] != self.domain.size:
                    operator = Coarsened(operator, size=self.domain.size)
                blocks.append(Block(operator, block.law, block.share * part.share / COIN))
        return Channel(self.domain, blocks, self.fingerprint, self.guarantee)

    @cached_property
    def _limits(self) -> NDArray[np.uint64]:
        """Upper ends of the groups on the coin's scale: uint64 [groups]."""
        return np.cumsum([part.share for part in self.groups], dtype=np.uint64)

    def _cells(self, part: Part, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
        return cell_of(self.domain.size, part.randomizer.domain.size)[symbols]

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value."""
        return self.randomize_symbols(self.domain.index(values), rng=rng)

    def randomize_symbols(
        self, symbols: NDArray[np.int64], *, rng: RandomSource | None = None
    ) -> Reports:
        """Return one report per symbol of the domain."""
        source = source_of(rng)
        coins = source.words(symbols.size) >> np.uint64(32)
        group = np.searchsorted(self._limits, coins, side="right")
        data = np.zeros((symbols.size, self.report_width), dtype=np.uint8)
        data[:, 0] = group
        for number, part in enumerate(self.groups):
            (members,) = np.nonzero(group == number)
            if members.size:
                cells = self._cells(part, symbols[members])
                reports = part.randomizer.randomize(cells, rng=source)
                data[members, 1 : 1 + reports.width] = reports.data
        return Reports(data, self.fingerprint)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one symbol.

        The high 32 bits of the first word choose the group: the first whose cumulated shares
        exceed them. The part then takes its own words, for the cell ``value * cells // size``.

        Parameters
        ----------
        value : int
            Symbol, in 0..size-1.
        words : iterator of int
            Each in 0..2^64-1.
        """
        check_symbol(value, self.domain.size)
        coin = next(words) >> 32
        number = int(np.searchsorted(self._limits, np.uint64(coin), side="right"))
        part = self.groups[number]
        cell = int(self._cells(part, np.array([value]))[0])
        report = bytes([number]) + part.randomizer.from_words(cell, words)
        return report.ljust(self.report_width, b"\0")

    def tally(self, reports: Reports) -> CountTally:
        """Return the exact counts of a batch by group, entirely or not at all.

        Raises
        ------
        MismatchError
            When another randomizer made the reports.
        ReportError
            With the position of the first report of a group that does not exist, or that its
            group cannot have sent.
        """
        data = check_batch(reports, width=self.report_width, fingerprint=self.fingerprint)
        parts = self._tallies(data)
        counted = [part for part in parts if isinstance(part, CountTally)]
        assert len(counted) == len(parts), "a group counts its reports"
        return CountTally(
            [counts for part in counted for counts in part.blocks],
            [number for part in counted for number in part.reports],
            self.fingerprint,
        )

    def _tallies(self, data: NDArray[np.uint8]) -> list[Tally]:
        """Return the tally of each group's reports; ReportError as of :meth:`tally`."""
        refuse_reports(
            data[:, 0] >= len(self.groups),
            f"be of a group in 0..{len(self.groups) - 1}",
            fails="is not",
        )
        tallies: list[Tally] = []
        for number, part in enumerate(self.groups):
            (members,) = np.nonzero(data[:, 0] == number)
            width = part.randomizer.report_width
            payload = data[members, 1:]
            padded = payload[:, width:].any(axis=1)
            if padded.any():
                position = int(members[np.argmax(padded)])
                raise ReportError(
                    f"every report must be padded with zeros, the one at position {position} is "
                    "not; the batch was not counted",
                    position=position,
                )
            batch = Reports(np.ascontiguousarray(payload[:, :width]), part.randomizer.fingerprint)
            try:
                tallies.append(part.randomizer.tally(batch))
            except ReportError as error:
                position = int(members[error.position or 0])
                raise ReportError(
                    f"the report at position {position} cannot come from its group {number}; "
                    "the batch was not counted",
                    position=position,
                ) from None
        return tallies
