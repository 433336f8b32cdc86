"""Random rows of each unit: what is counted where a person may have several rows."""

from __future__ import annotations

import datetime
import math
import re
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Values
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.guarantee import MOST_ROWS, PrivacyUnit
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.protocol.domains.label_columns import CodedLabels, coded_labels
from lapwing.protocol.domains.label_text import compared_text, or_none
from lapwing.protocol.domains.units import is_missing, one_dimensional

_LONG = 300
"""Digits of a number, or zeros after its point."""
_MOST = 10**_LONG

_WHOLE = re.compile(r"(0|-0|-?[1-9][0-9]*)\.0", re.ASCII)
"""Texts of whole numbers that were floats."""

_TICKS = {"W": Fraction(604_800), "D": Fraction(86_400), "h": Fraction(3600), "m": Fraction(60)} | {
    kind: Fraction(1, 1000**power) for power, kind in enumerate(("s", "ms", "us", "ns", "ps", "fs"))
}
"""Seconds in a tick."""

_OF_NUMPY = (np.generic, np.ndarray)
_OF_TICKS = (np.datetime64, np.timedelta64, datetime.datetime, datetime.timedelta)

_SPARE = 2**16
"""Rows alongside those that were kept that are held before the next selection."""


def require_column(column: Any, *, name: str, what: str) -> None:
    """Raise ArgumentError for the name of a column in place of the column."""
    if isinstance(column, str):
        raise ArgumentError(
            name,
            f"must say {what}, in an array as long as the values",
            "a str, pass the column itself",
        )


def unit_named(column: Any, most: int | None) -> PrivacyUnit | None:
    """Return the unit of a column in memory, None without a column.

    It is named as a pandas or polars column is, else "unit".

    Raises ArgumentError when only one of both is given, or `most` is out of range.
    """
    if (column is None) != (most is None):
        raise ArgumentError(
            "unit",
            "and most belong together: the unit of each row, and the maximum number of rows "
            "per unit",
            others=("most",),
        )
    if most is None:
        return None
    require_column(column, name="unit", what="the unit of each row")
    name = getattr(column, "name", None)
    most = check_whole("most", most, low=1, high=MOST_ROWS)
    return PrivacyUnit(name if isinstance(name, str) and name else "unit", most)


@or_none
def unit_text(cell: Any) -> str | None:
    """Return the name of a unit as text: the whole number 7, 7.0, "7" and "7.0" are one unit.

    A program that holds whole numbers as floats writes 7 as "7.0". So ".0" after a whole number is
    dropped, but "07" is another name. To take two units for one is the safe error here: they have
    fewer rows together. To take one for two would halve its protection. Labels of segments are
    compared as they are, because two of them that are taken for one are a wrong result.

    Blanks around a string do not matter, as in a label. A timestamp with a zone is its instant. The
    name is None for a value that names nobody: a missing value, an empty string, or infinity. It is
    also None for an object that is no string, number, truth value, date, time, duration, UUID or
    bytes, or that cannot be read.

    >>> [unit_text(cell) for cell in (7, 7.0, "7", "7.0", "07", 2.5, None, "")]
    ['7', '7', '7', '7', '07', '5/2', None, None]
    """
    if type(cell) is int and -_MOST < cell < _MOST:  # most columns
        return str(cell)
    if isinstance(cell, str):
        text = compared_text(str.__str__(cell).strip())
        if text.endswith(".0") and _WHOLE.fullmatch(text):
            text = text.removesuffix(".0") if text != "-0.0" else "0"
        return None if text in ("", "NaT") else text
    if isinstance(cell, _OF_NUMPY) and cell.ndim == 0 and not isinstance(cell, _OF_TICKS):
        return None if isinstance(cell, np.longdouble) else unit_text(cell.item())
    if is_missing(cell):
        return None
    if isinstance(cell, _OF_TICKS):
        return _ticks_text(cell)
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, int | float | Decimal | Fraction):
        return _number_text(cell)
    if isinstance(cell, datetime.date):
        return datetime.date.isoformat(cell)
    if isinstance(cell, datetime.time):
        return datetime.time.isoformat(cell)
    if isinstance(cell, bytes):
        return f"0x{bytes.hex(cell)}"
    return uuid.UUID.__str__(cell) if isinstance(cell, uuid.UUID) else None


def _number_text(cell: int | float | Decimal | Fraction) -> str | None:
    """Return a number in digits, or a fraction. In another form what has very many digits.

    Python writes no whole number so long, and would take long over such an exponent.
    """
    if cell in (math.inf, -math.inf):
        return None
    if isinstance(cell, Decimal):
        sign, digits, power = cell.as_tuple()
        places = len(digits) + int(power)
        if max(len(digits), abs(places), abs(int(power))) > _LONG:
            written = "".join(map(str, digits)).rstrip("0")
            return f"{'-' * sign}0.{written}e{places}" if written else "0"
    elif isinstance(cell, Fraction | int) and max(abs(cell.numerator), cell.denominator) >= _MOST:
        written = hex(cell.numerator)
        return written if cell.denominator == 1 else f"{written}/{hex(cell.denominator)}"
    elif isinstance(cell, float) and not (cell == 0 or 1 / _MOST < abs(cell) < _MOST):
        return float.__repr__(cell)
    return str(int(cell)) if cell == int(cell) else str(Fraction(str(cell)))


def _ticks_text(cell: Any) -> str:
    """Return a timestamp or a duration as text, the same from whichever library it is."""
    if hasattr(cell, "to_numpy"):  # of pandas: its own precision, and the instant of a zone
        cell = cell.to_numpy()
    elif isinstance(cell, datetime.datetime):
        zoned = cell.tzinfo is not None
        start = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if zoned else None)
        cell = np.datetime64(0, "us") + np.timedelta64(cell - start)
    elif isinstance(cell, datetime.timedelta):
        cell = np.timedelta64(cell)
    kind, count = np.datetime_data(cell.dtype)
    if isinstance(cell, np.timedelta64):
        ticks = int(cell.view(np.int64)) * count
        return f"{ticks} {kind}" if kind in ("Y", "M") else f"{ticks * _TICKS[kind]} s"
    text = str(cell)
    if kind in ("h", "m"):
        text += ":00:00" if kind == "h" else ":00"
    return text.rstrip("0").removesuffix(".") if "." in text else text


@dataclass
class UnitRows:
    """Rows that come in batches, of which at most `most` of each unit are kept, at random.

    source: Secure, but in tests and simulation.

    **Privacy.** Each row draws a number of its own, and of each unit the rows with the least are
    kept. So the kept rows of one unit depend on no other unit. A unit that comes, goes or changes
    moves the counts by its own kept rows, at most `most` before and after. A row that names no unit
    belongs to nobody who could be protected, and is left out. The tests go through all tables of
    three units with up to two rows.

    **Cost.** O(n log n) time. Memory for the units and for `most` rows of each, alongside one
    batch.
    """

    most: int
    source: RandomSource
    left_out: int = 0
    beyond: int = 0
    _codes: dict[str, int] = field(default_factory=dict)
    _held: list[tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]] = field(
        default_factory=list
    )
    _rows: int = 0
    _room: int = _SPARE

    def add(self, units: Values, symbols: NDArray[np.int64]) -> None:
        """Add rows: whose each is, and its symbol."""
        codes = self._coded(units)
        if codes.size != symbols.size:
            raise ArgumentError(
                f"there must be a unit for each value, got {codes.size} and {symbols.size}"
            )
        named = codes >= 0
        self.left_out += int(codes.size - np.count_nonzero(named))
        draws = self.source.words(codes.size)
        self._held.append((codes[named], draws[named], symbols[named].astype(np.int64)))
        self._rows += self._held[-1][0].size
        if self._rows > self._room:
            self._select()
            self._room = 2 * self._rows + _SPARE

    def counts(self, size: int) -> NDArray[np.int64]:
        """Return how many of the kept rows hold each symbol: int64 [size]."""
        self._select()
        return np.bincount(self._held[0][2], minlength=size)

    def _select(self) -> None:
        columns = [np.concatenate(parts) for parts in zip(*self._held, strict=True)] or [
            np.empty(0, dtype=kind) for kind in (np.int64, np.uint64, np.int64)
        ]
        units, draws, symbols = columns
        order = np.lexsort((draws, units))
        units = units[order]
        # The place of a row among those of its unit.
        starts = np.flatnonzero(np.diff(units, prepend=-1))
        place = np.arange(units.size) - np.repeat(starts, np.diff(starts, append=units.size))
        order = order[place < self.most]
        self.beyond += units.size - order.size
        self._held = [(columns[0][order], draws[order], symbols[order])]
        self._rows = order.size

    def _coded(self, units: Values) -> NDArray[np.int64]:
        """Return a number for the unit of each row, the same in all batches, or -1 for none."""
        coded = coded_labels(units, [])
        if coded is None:
            cells = one_dimensional(units)
            if cells.dtype.kind in "iufUSMm":
                distinct, codes = np.unique(cells, return_inverse=True)
                # Not tolist() of nanoseconds, which are whole numbers then.
                listed = list(distinct) if cells.dtype.kind in "Mm" else distinct.tolist()
                coded = CodedLabels(codes.astype(np.int64).reshape(-1), listed)
        if coded is None:
            listed = cells.tolist() if cells.dtype.kind != "O" else list(cells)
            return np.fromiter(map(self._code, listed), dtype=np.int64, count=cells.size)
        # The last one stands for a code of -1.
        numbers = np.array([*map(self._code, coded.distinct), -1], dtype=np.int64)
        found: NDArray[np.int64] = numbers[coded.codes]
        return found

    def _code(self, cell: Any) -> int:
        name = unit_text(cell)
        return -1 if name is None else self._codes.setdefault(name, len(self._codes))
