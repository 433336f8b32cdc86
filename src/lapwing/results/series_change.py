"""What changed in a series: which week, by how much, and where in the domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from lapwing.documents import require
from lapwing.errors import FormatError
from lapwing.linear.arrays import Vector, short_repr
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.units import to_text
from lapwing.results.band import to_zero
from lapwing.results.rounding import gap, interval_text, number_text, with_interval
from lapwing.results.symbols import values_of
from lapwing.results.uncertainty import Uncertainty

ChangeKind = Literal["jump", "odd week"]


@dataclass(frozen=True)
class Shift:
    """How far two distributions are apart, and where.

    size: The largest gap between the two CDFs (Kolmogorov and Smirnov), of labels between the two
        shares. In 0..1.
    low, high: Its interval of 95 %: whatever the band of the whole difference allows.
    more, fewer: Symbols whose CDF (of labels: share) has certainly risen, and fallen: where the
        band of the whole difference leaves zero.
    """

    size: float
    low: float
    high: float
    more: tuple[int, ...]
    fewer: tuple[int, ...]

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

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "size": self.size,
            "low": self.low,
            "high": self.high,
            "more": [*self.more],
            "fewer": [*self.fewer],
        }

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Return the shift that :meth:`to_document` wrote. FormatError when it is none."""
        require(document, {"size", "low", "high", "more", "fewer"}, name="a shift")
        numbers = [document[key] for key in ("size", "low", "high")]
        lists = [document[key] for key in ("more", "fewer")]
        if any(type(number) not in (int, float) or not 0 <= number <= 1 for number in numbers):
            raise FormatError(
                "the size of a shift and its interval must be in 0..1. Do not use this document"
            )
        if any(type(each) is not list for each in lists) or any(
            type(symbol) is not int or symbol < 0 for each in lists for symbol in each
        ):
            raise FormatError("a shift must hold lists of symbols. Do not use this document")
        size, low, high = map(float, numbers)
        return cls(size, low, high, *map(tuple, lists))


@dataclass(frozen=True)
class SeriesChange:
    """A jump, or an odd week that the next did not follow.

    week: The position of the first week that is different.
    since: The week it is compared with: the last before it that had reports.
    evidence: Logarithm of how much more probable the reports are with the change than without.
    shift: The week less the one it is compared with.
    """

    week: int
    since: int
    kind: ChangeKind
    evidence: float
    shift: Shift

    def in_words(self, domain: Domain) -> str:
        """Return what changed, in a sentence without its week."""
        return self.shift.in_words(domain)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "week": self.week,
            "since": self.since,
            "kind": self.kind,
            "evidence": self.evidence,
            "shift": self.shift.to_document(),
        }

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Return the change that :meth:`to_document` wrote. FormatError when it is none."""
        require(document, {"week", "since", "kind", "evidence", "shift"}, name="a change")
        week, since, evidence = (document[key] for key in ("week", "since", "evidence"))
        whole = type(week) is int and type(since) is int and 0 <= since < week
        if not whole or document["kind"] not in get_args(ChangeKind):
            raise FormatError(
                "a change must be a jump or an odd week, after another week. "
                "Do not use this document"
            )
        if type(evidence) not in (int, float) or not np.isfinite(evidence):
            raise FormatError("the evidence of a change must be a number. Do not use this document")
        shift = Shift.from_document(document["shift"])
        return cls(week, since, document["kind"], float(evidence), shift)


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
