"""Changes in a series: which week, by how much, and where in the domain.

Weeks have names, an order, and gaps where weeks are missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
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

_DATED = re.compile(r"(|.*[^0-9A-Za-z])(\d{4}(-W\d{2}|-Q[1-4]|-\d{2}(-\d{2})?)?)", re.IGNORECASE)
"""Names that end with when: 2026, 2026-q3, 2026-03, tallies-2026-w09, t-2026-03-01."""


@dataclass(frozen=True)
class _Dated:
    """A name that ends with a date.

    before: What stands before the date.
    date: As a string it sorts by time: its week or quarter has a capital letter.
    small: Whether that letter was a small one.
    """

    before: str
    date: str
    small: bool

    @classmethod
    def of(cls, name: str) -> _Dated | None:
        """Return what a name says of when. None where it does not end with a date."""
        found = _DATED.fullmatch(name)
        return (
            None if found is None else cls(found[1], found[2].upper(), found[2] != found[2].upper())
        )

    @property
    def form(self) -> tuple[str, int, str]:
        """Common form of two names whose dates can be compared."""
        return self.before, len(self.date), self.date[5:6].strip("0123456789")

    def named(self, place: int) -> str:
        """Return the name of another place, in the form of this one."""
        date = _named(place, self.date)
        return self.before + (date.lower() if self.small else date)


def check_name(name: object) -> None:
    """Raise ArgumentError unless it can be the name of a week."""
    if not isinstance(name, str) or not 1 <= len(name) <= 100 or not name.isprintable():
        raise ArgumentError("the name of a week must be a string of 1 to 100 printable characters")


def check_names(names: Sequence[str]) -> None:
    """Raise ArgumentError unless these are names of weeks, all different and in order."""
    for name in names:
        check_name(name)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ArgumentError(f"two weeks are named {twice!r}. Name each once")
    check_order(names)


def check_order(names: Sequence[str]) -> None:
    """Raise ArgumentError when names that end with dates of one form are not in order.

    Other names, as those of gaps, stand anywhere between them.
    """
    last: dict[tuple[str, int, str], tuple[str, str]] = {}
    for name in names:
        when = _Dated.of(name)
        if when is None:
            continue
        date, before = last.get(when.form, ("", ""))
        if when.date <= date:
            raise ArgumentError("names", f"must be in order, but {name} comes after {before}")
        last[when.form] = when.date, name


def are_dates(names: Sequence[str]) -> bool:
    """Return whether all names end with dates of one form."""
    forms = {when and when.form for when in map(_Dated.of, names)}
    return len(forms) == 1 and None not in forms


def by_date(names: Sequence[str]) -> list[str]:
    """Return names in the order of their dates if all have one form, else as strings."""
    if are_dates(names):
        return sorted(names, key=lambda name: name.upper())
    return sorted(names)


def with_missing(names: Sequence[str]) -> list[str]:
    """Return names of weeks in order, and between them those of dates that are missing.

    names: In order.

    Where all end with dates of one form and lie as far apart as the two nearest, or a multiple of
    that: weeks that are asked every second week miss none. Of other names nobody can tell.
    """
    dated = [when for when in map(_Dated.of, names) if when is not None]
    if len(names) < 2 or not are_dates(names):
        return list(names)
    try:
        places = [_place(when.date) for when in dated]
    except ValueError:  # of no calendar: 2026-W60, 2026-02-30
        return list(names)
    steps = [after - before for before, after in pairwise(places)]
    step = min(steps)
    if step < 1 or any(each % step for each in steps):
        return list(names)
    known = dict(zip(places, names, strict=True))
    every = range(places[0], places[-1] + 1, step)
    return [known.get(place) or dated[0].named(place) for place in every]


def _place(name: str) -> int:
    """Return a date as a number: of years, quarters, months, weeks or days."""
    if len(name) == 4:
        return int(name)
    if "W" in name:
        return date.fromisocalendar(int(name[:4]), int(name[-2:]), 1).toordinal() // 7
    if "Q" in name:
        return 4 * int(name[:4]) + int(name[-1]) - 1
    if len(name) == 7:
        return 12 * int(name[:4]) + date(int(name[:4]), int(name[-2:]), 1).month - 1
    return date.fromisoformat(name).toordinal()


def _named(place: int, like: str) -> str:
    """Return the name of a place, in the form of another name."""
    if len(like) == 4:
        return f"{place:04d}"
    if "W" in like:
        year, week, _ = date.fromordinal(7 * place + 1).isocalendar()
        return f"{year:04d}-W{week:02d}"
    if "Q" in like:
        return f"{place // 4:04d}-Q{place % 4 + 1}"
    if len(like) == 7:
        return f"{place // 12:04d}-{place % 12 + 1:02d}"
    return date.fromordinal(place).isoformat()


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
