"""How many rows of a column are missing, cannot be read, or lie outside the range.

Exact counts of raw data, for the eyes of their holder only. They go to a screen, and nothing that
is stored or published depends on them. They are taken from the numbers and symbols that a reader
makes anyway, so no row is read twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import RowsWarning
from lapwing.linear.arrays import Values
from lapwing.protocol.domains.units import is_missing, one_dimensional, to_numbers, to_text

LEAST_ROWS = 100
"""Rows from which on they are counted for somebody: a device has one."""

MOST_LINE_ENDS = 3
"""Line ends in a cell of a column of numbers that need no explanation."""

_UNREADABLE_SHARE = 0.01
"""More unreadable rows than this share give a warning: fewer move no share by a point."""

_FORMS = {
    "number": "Write numbers as 1234.5. In tables, --thousands reads thousands separators and "
    "currency and percent signs, and --decimal , reads decimal commas. Truth values are "
    "not numbers. Durations need unit='duration' (lapwing new --unit duration)",
    "date": "Write dates as 2026-11-21. Other orders of day, month and year are not read",
    "datetime": "Write timestamps as 2026-11-21T09:30. Other orders of day, month and year are not "
    "read",
    "duration": "Write durations as 1:30:00 (hours, minutes, seconds), because 1:30 could be hours "
    "or minutes. Strings of seconds need texts='seconds' (--texts seconds)",
    "time-of-day": "Write times as 09:30. Strings of seconds since midnight need texts='seconds' "
    "(--texts seconds)",
}
"""What to do about rows that cannot be read, for each unit."""


@dataclass
class RowCounts:
    """How many rows of a column have no value in the range, and why.

    rows: All of them.
    absent: Without a value: missing and unreadable ones.
    unreadable: With something that is no value of the domain.
    outside: With a value below or above the range.
    clipped: Of those outside, the ones that are moved to the nearest end.
    left_out: That name no unit, where rows belong to units: they are not counted.
    beyond: That are more than `most` of their unit: they are not counted.
    first: Rows before the first unreadable one, in its file.
    label: Name of the file that is read, empty for values in memory. Of several files, of that with
        the first unreadable row.
    start: Rows of the file before those at hand.
    folded: Unreadable cells of a column of numbers with more than three line ends. Each may hold
        the rows between two quotation marks.
    lines: Line ends in these cells.
    marked: Rows whose number has a decimal comma.
    threes: Those of them with exactly three digits after it, as thousands have.
    elsewhere: Rows in none of the segments, where a table is counted by segment.
    unlisted: Rows whose label is not listed, where they count as another label.
    alike: Whether the label or segment of a row is not listed, and equals one that is but for zeros
        before it, case, spaces or ".0".

    >>> from lapwing.protocol.domains.integers import Integers
    >>> counts = RowCounts(1000, absent=30, unreadable=20, outside=3, first=6, label="a.csv")
    >>> counts.text(Integers(0, 9))
    'of 1,000 rows: 10 missing, 20 unreadable (the first in row 7 of a.csv), 3 outside 0 to 9'
    """

    rows: int = 0
    absent: int = 0
    unreadable: int = 0
    outside: int = 0
    clipped: int = 0
    left_out: int = 0
    beyond: int = 0
    first: int | None = None
    label: str = ""
    start: int = 0
    folded: int = 0
    lines: int = 0
    marked: int = 0
    threes: int = 0
    elsewhere: int = 0
    unlisted: int = 0
    alike: bool = False

    @classmethod
    def of_numbers(cls, numbers: Sequence[int]) -> RowCounts:
        """Return the counts of which these are the numbers."""
        *added, alike = map(int, numbers)
        held: dict[str, Any] = dict(zip(_ADDED, added, strict=True))
        return cls(**held, alike=alike > 0)

    @property
    def numbers(self) -> list[int]:
        """All that adds up over parts of a column: without the place of an unreadable row."""
        return [int(getattr(self, name)) for name in (*_ADDED, "alike")]

    @property
    def missing(self) -> int:
        """Rows that say that there is no value."""
        return max(0, self.absent - self.unreadable)

    @property
    def without_value(self) -> int:
        """Rows that are missing, unreadable or outside."""
        return self.absent + self.outside

    @property
    def enough(self) -> bool:
        """Whether there are as many rows as somebody is told of."""
        return self.rows + self.lines >= LEAST_ROWS

    @property
    def mostly_without(self) -> bool:
        """Whether more than half of enough rows have no value in the range, or no segment."""
        return self.mostly_valueless or self._mostly_elsewhere

    @property
    def mostly_valueless(self) -> bool:
        """Whether more than half of enough rows have no value in the range."""
        return self.enough and 2 * self.without_value > self.rows

    @property
    def _mostly_elsewhere(self) -> bool:
        return self.enough and 2 * self.elsewhere > self.rows

    @property
    def notable(self) -> bool:
        """Whether there is anything to say of enough rows."""
        some = self.without_value or self.left_out or self.beyond
        some = some or self.elsewhere or self.unlisted
        return self.enough and bool(some or self.alike or self._only_threes)

    @property
    def doubtful(self) -> bool:
        """Whether a warning is due: more than half, or more than 1% not read or left out.

        Also where a label that is not listed looks like one that is, or a cell holds many lines.
        """
        return self.mostly_without or (
            self.enough
            and (
                self._many_unreadable
                or self._many_left_out
                or self._mostly_beyond
                or self.folded > 0
                or self.alike
                or self._mostly_unlisted
                or self._only_threes
            )
        )

    @property
    def _only_threes(self) -> bool:
        return 0 < self.marked == self.threes

    @property
    def _mostly_unlisted(self) -> bool:
        return 2 * self.unlisted > self.rows

    @property
    def _mostly_beyond(self) -> bool:
        return 2 * self.beyond > self.rows

    @property
    def _many_left_out(self) -> bool:
        return self.left_out > _UNREADABLE_SHARE * self.rows

    @property
    def _many_unreadable(self) -> bool:
        return self.unreadable > _UNREADABLE_SHARE * self.rows

    def text(self, domain: Any) -> str:
        """Return the counts in words, those that are not zero."""
        unreadable = (
            f"{self.unreadable:,} unreadable"
            if domain.ordered
            else (f"{self.unreadable:,} not among the labels")
        )
        if self.first is not None:
            where = f"in row {self.first + 1} of {self.label}"
            unreadable += f" (the first {where if self.label else f'at position {self.first}'})"
        said = [f"{self.missing:,} missing"] * (self.missing > 0)
        said += [unreadable] * (self.unreadable > 0)
        if self.outside:
            ends = (to_text(float(end), unit=domain.unit) for end in (domain.low, domain.high))
            clipped = ", moved to the nearest end" if self.clipped else ""
            said.append(f"{self.outside:,} outside {' to '.join(ends)}{clipped}")
        if self.left_out:
            said.append(f"{self.left_out:,} without a unit, left out")
        if self.beyond:
            said.append(f"{self.beyond:,} not counted, because their unit has more rows than count")
        if self.folded:
            said.append(f"{self.folded:,} with more than {MOST_LINE_ENDS} line ends in a cell")
        if self._only_threes:
            said.append(f"all {self.marked:,} decimal commas before exactly three digits")
        if self.elsewhere:
            said.append(f"{self.elsewhere:,} in no listed segment")
        if self.unlisted:
            said.append(f"{self.unlisted:,} counted as {domain.other!r}")
        if self.alike:
            said.append(
                "some values differ from a label only by leading zeros, case, spaces or '.0'"
            )
        return f"of {self.rows:,} rows: {', '.join(said) or 'none without a value in the range'}"

    def advice(self, domain: Any) -> str:
        """Return what to do where :attr:`doubtful`."""
        if self.folded:
            return "An unclosed quotation mark swallows the rows after it. Correct the file"
        if self._only_threes:
            return "If the comma separates thousands, use --thousands , and leave out --decimal"
        if self.alike:
            return "List the labels exactly as in the column, or change the column"
        if self._mostly_elsewhere:
            return "Check the column of segments (by=, --by), and list the segments it contains"
        if self._many_unreadable and domain.ordered:
            return _FORMS[domain.unit]
        if self._many_unreadable:
            return "Check the column, or declare a label for all other values (--other)"
        if self._many_left_out:
            return "Check the column of units (unit=, --unit)"
        if self._mostly_beyond:
            return "Check the column of units (unit=, --unit), or count more rows (most=, --most)"
        if self.outside > self.missing:
            return (
                "Check the column and its unit (seconds or minutes?), look for codes such as 99, "
                "or choose another range"
            )
        return "Check the column"

    def __iadd__(self, other: RowCounts) -> RowCounts:
        """Add the counts of rows that come after these."""
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.alike = self.alike or other.alike
        if self.first is None:
            self.first, self.label = other.first, other.label
        return self

    def number_at(self, positions: Sequence[int] | NDArray[Any]) -> int:
        """Return how many rows those at these positions are."""
        return len(positions)

    def add_unreadable(self, positions: Sequence[int] | NDArray[Any]) -> None:
        """Count rows that hold no value of the domain, by their positions in increasing order."""
        if len(positions):
            self.unreadable += self.number_at(positions)
            place = self.start + int(positions[0])
            self.first = place if self.first is None else min(place, self.first)

    def add_marks(self, marked: int, threes: int) -> None:
        """Count numbers with a decimal comma, and those with exactly three digits after it."""
        self.marked += marked
        self.threes += threes

    def add_line_ends(self, line_ends: NDArray[np.int64]) -> None:
        """Count the line ends in each unreadable cell of a column of numbers."""
        many = line_ends > MOST_LINE_ENDS
        self.folded += int(np.count_nonzero(many))
        self.lines += int(line_ends[many].sum())

    def add_numbers(self, numbers: NDArray[np.float64], domain: Any) -> None:
        """Count the rows of a column of numbers: those missing, and those outside."""
        self.rows += numbers.size
        if not _all_within(numbers, domain):
            absent = ~np.isfinite(numbers) if domain.circular else np.isnan(numbers)
            self.absent += int(np.count_nonzero(absent))
            self.add_clipped(numbers, domain)

    def add_clipped(self, numbers: NDArray[np.float64], domain: Any) -> None:
        """Count numbers outside that have no symbol of their own.

        On a circle values wrap, so there are none. But infinity has no place there.
        """
        if _all_within(numbers, domain):
            return
        if domain.circular:
            self.add_unreadable(np.flatnonzero(np.isinf(numbers)))
        else:
            outside = int(np.count_nonzero(numbers < domain.low))
            outside += int(np.count_nonzero(numbers > domain.high))
            self.outside += outside
            self.clipped += outside if domain.outside == "clip" else 0

    def add_symbols(self, counts: NDArray[np.int64], domain: Any) -> None:
        """Count the rows of a curator's column by how many hold each symbol."""
        self.rows += int(counts.sum())
        self.absent += int(counts[domain.missing_index])
        self.outside += int(counts[domain.outside_indices].sum())


_ADDED = tuple(one.name for one in fields(RowCounts) if one.type == "int" and one.name != "start")
"""Counts that add up."""


def are_many(values: Any) -> bool:
    """Return whether there are as many values as somebody is told of."""
    listed = hasattr(values, "__len__") and getattr(values, "ndim", 1) > 0
    return listed and len(values) >= LEAST_ROWS


def counted_values(values: Values, domain: Any, rows: RowCounts) -> Values:
    """Return values as a randomizer reads them, and count those that are missing or outside.

    A value that a domain refuses is not counted. It is an error with its position.
    """
    refuse = domain.missing_index is None
    if not domain.ordered:
        labels: Any = values
        rows.rows += len(labels)
        rows.absent += 0 if refuse else _missing_labels(labels)
        return values
    faults: list[int] = []
    unreadable: Any = "refuse" if refuse else "missing"
    numbers = to_numbers(values, unit=domain.unit, unreadable=unreadable, faults=faults)
    rows.add_unreadable(faults)
    rows.add_numbers(numbers, domain)
    return numbers


def _missing_labels(values: Any) -> int:
    """Return how many labels are missing."""
    codes = getattr(values, "codes", None)  # of labels by their numbers
    if isinstance(codes, np.ndarray):
        return int(np.count_nonzero(codes < 0))
    array = one_dimensional(values)
    if array.dtype.kind in "iuUS":
        return 0
    return sum(is_missing(cell) for cell in array.tolist() if type(cell) not in (str, int))


def _all_within(numbers: NDArray[np.float64], domain: Any) -> bool:
    """Return whether all are in the range, in two passes without a temporary array."""
    return not numbers.size or bool(domain.low <= numbers.min() and numbers.max() <= domain.high)


Examine = Callable[[RowCounts, Any], None]
"""Given the counts of a column and its domain, before anything is paid or written."""


def warn_of_rows(counts: RowCounts, domain: Any, *, stacklevel: int = 3) -> None:
    """Give a RowsWarning where most rows have no value in the range, or many cannot be read."""
    if counts.doubtful:
        said = f"{counts.text(domain)}. {counts.advice(domain)}."
        warnings.warn(said, RowsWarning, stacklevel=stacklevel)
