"""What becomes of values that are missing, outside or unreadable: in every domain, on every way.

The expected symbols are written by hand beside each domain. `make test` runs a covering array:
every domain with both its rules and every such cell, and each of these on every way. `make soak`
runs the whole grid.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from lapwing import Categories, HashedStrings, Integers, Interval, RandomizedResponse, Survey
from lapwing.engines import arrow
from lapwing.engines.arrow.arrow_values import values_of
from lapwing.errors import DomainError
from lapwing.privacy.sampling.randomness import seeded
from tests.contracts.covering import covering, idle, uncovered
from tests.rows import each


@dataclass(frozen=True)
class DomainKind:
    """A kind of domain, values in it, and values that it has no place for, with their symbols.

    `outside` is where a value outside goes that is clipped, or wraps. `infinite` says the same of
    infinities; None where these are missing. With overflow they go to *below* and *above*. Without
    `outside` such a value has no symbol.
    """

    make: Callable[..., Any]
    inside: tuple[tuple[Any, int], tuple[Any, int]]
    outside: dict[str, tuple[Any, int]] | None = None
    infinite: tuple[int, int] | None = None
    unreadable: Any = "?"
    other: int | None = None
    wraps: bool = False
    numbers: bool = True


def _ends(low: Any, high: Any, last: int) -> dict[str, tuple[Any, int]]:
    return {"below": (low, 0), "above": (high, last)}


def _day(day: int, *, year: int = 2026) -> dt.date:
    return dt.date(year, 1, day)


def _hashed(text: str) -> tuple[str, int]:
    return text, hashlib.sha256(text.encode()).digest()[0] >> 4


KINDS = {
    "linear": DomainKind(
        lambda **said: Interval(0, 10, bins=5, **said), ((1, 0), (9, 4)), _ends(-3, 99, 4), (0, 4)
    ),
    "own edges": DomainKind(
        lambda **said: Interval(edges=[1, 2, 10, 100], **said),
        ((1.5, 0), (50, 2)),
        _ends(-3, 999, 2),
        (0, 2),
    ),
    "log": DomainKind(
        lambda **said: Interval(1, 1000, bins=3, scale="log", **said),
        ((5, 0), (500, 2)),
        _ends(-3, 5000, 2),
        (0, 2),
    ),
    # An atom, the bin after it, another atom that cuts the bin, and what is left.
    "atoms": DomainKind(
        lambda **said: Interval(0, 100, bins=2, atoms=(0, 40), **said),
        ((20, 1), (70, 4)),
        _ends(-3, 999, 4),
        (0, 4),
    ),
    "circular": DomainKind(
        lambda **said: Interval(0, 24, bins=4, circular=True, **said),
        ((3, 0), (21, 3)),
        {"below": (-3, 3), "above": (27, 0)},
        wraps=True,
    ),
    "integers": DomainKind(
        lambda **said: Integers(3, 8, **said), ((3, 0), (8, 5)), _ends(-3, 99, 5), (0, 5)
    ),
    "dates": DomainKind(
        lambda **said: Interval("2026-01-01", "2026-01-11", bins=5, unit="date", **said),
        ((_day(2), 0), (_day(10), 4)),
        _ends(_day(1, year=2025), _day(1, year=2027), 4),
        numbers=False,
    ),
    "labels": DomainKind(
        lambda **said: Categories(["red", "green"], **said),
        (("red", 0), ("green", 1)),
        numbers=False,
    ),
    "labels with another": DomainKind(
        lambda **said: Categories(["red", "green", "another"], other="another", **said),
        (("red", 0), ("green", 1)),
        other=2,
        numbers=False,
    ),
    "numbered labels": DomainKind(
        lambda **said: Categories(4, **said), ((0, 0), (3, 3)), unreadable=7
    ),
    "hashed strings": DomainKind(
        lambda **said: HashedStrings(4, **said),
        (_hashed("red"), _hashed("green")),
        unreadable="\ud800",
        numbers=False,
    ),
}

CELLS = ("null", "NaN", "below", "above", "-infinity", "infinity", "unreadable")


class Case(NamedTuple):
    """A cell in a column, and what the domain says of such cells."""

    kind: str
    missing: str
    outside: str
    cell: str
    way: str

    @property
    def domain(self) -> Any:
        kind = KINDS[self.kind]
        said = {"missing": self.missing}
        if self.missing == "count":
            said["missing"] = "bin" if self._ordered else "category"
        if self._ordered:
            said["outside"] = self.outside
        return kind.make(**said)

    @property
    def _ordered(self) -> bool:
        return KINDS[self.kind].outside is not None

    @property
    def value(self) -> Any:
        kind = KINDS[self.kind]
        ends = {name: value for name, (value, _) in (kind.outside or {}).items()}
        odd = {"null": None, "NaN": math.nan, "-infinity": -math.inf, "infinity": math.inf}
        return {**odd, **ends, "unreadable": kind.unreadable}[self.cell]

    @property
    def possible(self) -> bool:
        """Whether a column of this way can hold the cell; labels have no outside to speak of."""
        hashed, typed = "hashed strings", ("array", "arrow", "summarize", "polars")
        if not self._ordered and (self.outside != "clip" or self.cell in CELLS[2:6]):
            return False
        if self.outside == "overflow" and self.kind in ("circular", "integers"):
            return False
        if self.kind == hashed and self.way in ("curator", "summarize", "texts"):
            return False
        if self.kind == hashed and self.cell == "unreadable":  # a text that no UTF-8 can hold
            return self.way in ("list", "array", "survey")
        if not self._ordered:
            return self.cell != "NaN" or self.way in ("list", "curator", "survey")
        if self.cell == "unreadable":
            return self.way not in typed
        if self.kind == "dates":
            return self.cell in ("null", "below", "above")
        return self.cell != "null" or self.way != "array"

    @property
    def _curated(self) -> bool:
        return self.way in ("curator", "summarize")

    @property
    def _overflows(self) -> bool:
        """Whether *below* and *above* are symbols; a curator has no values to send back."""
        if not self._ordered or self.kind in ("circular", "integers"):
            return False
        return self.outside == "overflow" or (self._curated and self.outside == "refuse")

    @property
    def wanted(self) -> int | None:
        """The symbol of the cell, by hand; None where it is refused."""
        kind, curator = KINDS[self.kind], self._curated
        last = self.domain.for_curator().size - 1 if curator else self.domain.size - 1
        missing = last if curator or self.missing == "count" else None
        if self.cell in ("null", "NaN"):
            return missing
        if self.cell == "unreadable":
            if self._ordered:
                return missing
            return last if kind.other is None and curator else kind.other
        if self._overflows:
            above = last - 1 if missing == last else last
            return 0 if self.cell in ("below", "-infinity") else above
        if kind.infinite is None and self.cell.endswith("infinity"):
            return missing
        ends = dict(zip(("-infinity", "infinity"), kind.infinite or (), strict=False))
        ends |= {name: symbol for name, (_, symbol) in (kind.outside or {}).items()}
        clipped = curator or kind.wraps or self.outside == "clip"
        return ends[self.cell] if clipped else None

    @property
    def column(self) -> list[Any]:
        first, second = (value for value, _ in KINDS[self.kind].inside)
        return [first, second, self.value, first]

    @property
    def symbols(self) -> list[int | None]:
        first, second = (symbol + self._overflows for _, symbol in KINDS[self.kind].inside)
        return [first, second, self.wanted, first]


def _arrow(case: Case) -> Any:
    return pa.array(case.column, from_pandas=False)


def _array(case: Case) -> Any:
    if case.kind == "dates":
        return np.array(case.column, dtype="datetime64[D]")
    return np.array(case.column, dtype=float if KINDS[case.kind].numbers else object)


def _texts(case: Case) -> Any:
    cells = ["" if one is None else str(one) for one in case.column]
    return values_of(pa.array(cells), case.domain, column="c", typed=False)


def _by_survey(case: Case) -> list[int]:
    """Randomize each row alone; at epsilon 24 all four reports are true but for 1 time in 10^8."""
    survey = Survey("odd", RandomizedResponse(case.domain, 24))
    reports = survey.randomize(case.column, rng=seeded(1))
    return [int(np.flatnonzero(survey.tally(reports[n : n + 1]).blocks[0])[0]) for n in range(4)]


def _summarized(case: Case) -> list[int]:
    """Count each row alone, as a curator does."""
    table = pa.table({"c": _arrow(case)})
    counts = [arrow.summarize(table.slice(n, 1), case.domain, column="c").counts for n in range(4)]
    assert all(one.sum() == 1 for one in counts)
    return [int(np.argmax(one)) for one in counts]


WAYS: dict[str, Callable[[Case], Any]] = {
    "list": lambda case: case.domain.index(case.column),
    "array": lambda case: case.domain.index(_array(case)),
    "arrow": lambda case: case.domain.index(
        values_of(_arrow(case), case.domain, column="c", typed=True)
    ),
    "polars": lambda case: case.domain.index(pl.Series(case.column, strict=False)),
    "texts": lambda case: case.domain.index(_texts(case)),
    "curator": lambda case: case.domain.for_curator().index_or_missing(case.column),
    "survey": _by_survey,
    "summarize": _summarized,
}

GRID = [
    case
    for kind in KINDS
    for missing in ("refuse", "count")
    for outside in ("clip", "refuse", "overflow")
    for cell in CELLS
    for way in WAYS
    if (case := Case(kind, missing, outside, cell, way)).possible
]


def covers(case: Case) -> Iterator[tuple[str, ...]]:
    """Yield a domain with its two rules and a cell; and each of these four with a way."""
    yield case[:4]
    for name, one in zip(case._fields[:4], case, strict=False):
        yield name, one, case.way


CHOSEN = covering(GRID, covers)


def check(case: Case) -> None:
    if case.wanted is not None:
        assert list(WAYS[case.way](case)) == case.symbols
        return
    with pytest.raises(DomainError) as caught:
        WAYS[case.way](case)
    assert caught.value.position == 2


@each("case", CHOSEN)
def test_every_pair(case: Case) -> None:
    check(case)


@pytest.mark.soak
@each("case", GRID)
def test_the_whole_grid(case: Case) -> None:
    check(case)


def test_what_is_covered() -> None:
    assert uncovered(CHOSEN, GRID, covers) == set() and idle(CHOSEN, covers) == []
    for name, kind in KINDS.items():
        outside = ["clip", *(["refuse"] if kind.outside else [])]
        outside += ["overflow"] if kind.outside and name not in ("circular", "integers") else []
        met = {(case.missing, case.outside) for case in CHOSEN if case.kind == name}
        assert met == {(missing, one) for missing in ("refuse", "count") for one in outside}
    assert len(CHOSEN) < len(GRID) / 4
