"""Changes in a series: which week, by how much, and where in the domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from lapwing.declared import Declared, Share, Whole
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, short_repr
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.units import to_text
from lapwing.results.rounding import gap, interval_text, number_text, with_interval
from lapwing.results.symbols import values_of
from lapwing.results.uncertainty import Uncertainty, to_zero
from lapwing.stored_fields import FromFields

ChangeKind = Literal["jump", "odd week"]


@dataclass(frozen=True)
class Shift(Declared, FromFields):
    """How far two distributions are apart, and where.

    size: The largest gap between the two CDFs (Kolmogorov and Smirnov), of labels between the two
        shares. In 0..1.
    low, high: Its interval of 95%: whatever the band of the whole difference allows.
    more, fewer: Bins whose CDF, or labels whose share, has certainly risen or fallen: the band of
        the whole difference excludes zero there.
    """

    size: Share
    low: Share
    high: Share
    more: tuple[Whole, ...]
    fewer: tuple[Whole, ...]

    _name: ClassVar = "a shift"

    __repr__ = short_repr

    @classmethod
    def of(cls, law: Uncertainty, *, ordered: bool, level: float = 0.95) -> Shift:
        """Return the shift that an error distribution of a difference tells."""
        gaps = np.cumsum(law.center)[:-1] if ordered else law.center
        low, high = to_zero(*law.curves(level, "simultaneous", cumulative=ordered, least=-1.0))
        low, high = (low[:-1], high[:-1]) if ordered else (low, high)
        least = np.maximum(np.maximum(low, -high), 0.0)
        most = np.maximum(np.abs(low), np.abs(high))
        return cls(
            float(min(1.0, np.abs(gaps).max())),
            float(least.max()),
            float(min(1.0, most.max())),
            tuple(np.flatnonzero(low > 0).tolist()),
            tuple(np.flatnonzero(high < 0).tolist()),
        )

    @property
    def is_significant(self) -> bool:
        """Whether the band of the whole difference leaves zero."""
        return self.low > 0

    def beyond(self, domain: Domain | None) -> bool:
        """Return whether it names a symbol that a domain has not."""
        size = 0 if domain is None else domain.size
        return any(symbol >= size for symbol in (*self.more, *self.fewer))

    def in_words(self, domain: Domain) -> str:
        """Return how far apart, and where."""
        row = {"size": self.size, "low": self.low, "high": self.high}
        far = with_interval(number_text(row, gap, name="size"), interval_text(row, gap))
        if not domain.ordered:
            told = [
                f"{word.split()[0]} {_labels(domain, symbols)}" for word, symbols in self._parts()
            ]
            return f"largest difference of a share {far}" + "".join(f"; {part}" for part in told)
        told = [f"{word} {_ranges(domain, symbols)}" for word, symbols in self._parts()]
        return f"largest gap of the curves {far}" + "".join(f"; {part}" for part in told)

    def _parts(self) -> list[tuple[str, tuple[int, ...]]]:
        words = (("more up to", self.more), ("fewer up to", self.fewer))
        return [(word, symbols) for word, symbols in words if symbols]


@dataclass(frozen=True)
class SeriesChange(Declared, FromFields):
    """A change point, or an outlier that the next week did not follow.

    week: The position of the first week that is different.
    since: The week it is compared with: the last before it that had reports.
    evidence: Logarithm of how much more probable the reports are with the change than without.
    shift: The week minus the one it is compared with.
    """

    week: Whole
    since: Whole
    kind: ChangeKind
    evidence: float
    shift: Shift

    _name: ClassVar = "a change"

    def __post_init__(self) -> None:
        """Check the fields, and that the week is after the other one."""
        super().__post_init__()
        if self.since >= self.week:
            raise ArgumentError("week", "must come after the week it is compared with")

    def in_words(self, domain: Domain) -> str:
        """Return what changed, in a sentence without its week."""
        return self.shift.in_words(domain)


def _ranges(domain: Domain, symbols: tuple[int, ...]) -> str:
    """Return the values at which a CDF is certainly different: runs of right ends."""
    right: Vector = domain.right
    runs: list[list[int]] = []
    for symbol in symbols:
        if runs and symbol == runs[-1][1] + 1:
            runs[-1][1] = symbol
        else:
            runs.append([symbol, symbol])
    texts = []
    for first, last in runs[:3]:
        ends = [to_text(float(right[each]), unit=domain.unit) for each in (first, last)]
        texts.append(ends[0] if first == last else f"{ends[0]}..{ends[1]}")
    return ", ".join(texts) + (" and elsewhere" if len(runs) > 3 else "")


def _labels(domain: Domain, symbols: tuple[int, ...]) -> str:
    shown = values_of(domain, np.array(symbols[:4]))
    names = ["(missing)" if value is None else str(value) for value in shown]
    return ", ".join(names) + (" and others" if len(symbols) > 4 else "")
