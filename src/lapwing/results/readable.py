"""What results share: tables as data frames and CSV, and equality."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from lapwing.errors import MissingExtraError

Columns = dict[str, list[Any]]
"""Names to columns of one length, of plain Python values."""


def frame_of(columns: Columns) -> Any:
    """Return a table as a pandas DataFrame; MissingExtraError without pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", extra="pandas") from None
    return pandas.DataFrame(columns)


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table that is a dict of columns."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that a spreadsheet may take for a formula."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def spreadsheet_cell(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: text that begins as a formula gets an apostrophe.

    Numbers stay numbers, also in text.

    Examples
    --------
    >>> [spreadsheet_cell(cell) for cell in ("=1+1", "-3", -3, "-3+A1", "snipe")]
    ["'=1+1", '-3', -3, "'-3+A1", 'snipe']
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


class SpreadsheetWriter:
    """Writes rows as CSV whose cells no spreadsheet runs; lines end in a line feed.

    Parameters
    ----------
    stream : text stream
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # Of the characters of a line's end, csv quotes those that it writes itself: both here.
        self._rows = csv.writer(self, lineterminator="\r\n")

    def write(self, line: str) -> int:
        """Write a line of csv's."""
        return self._stream.write(line.removesuffix("\r\n") + "\n")

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        """Write rows of cells."""
        self._rows.writerows(map(spreadsheet_cell, row) for row in rows)


def csv_of(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV; their keys are the names of the columns, None is an empty cell.

    Text that a spreadsheet would run as a formula begins with an apostrophe.
    """
    text = io.StringIO()
    if rows:
        names = dict.fromkeys(name for row in rows for name in row)
        writer = SpreadsheetWriter(text)
        writer.rows([names])
        writer.rows([row.get(name) for name in names] for row in rows)
    return text.getvalue()


def interval_columns(band: Any, rows: int) -> Columns:
    """Return the columns of the intervals of a table, and of which kind they are.

    Parameters
    ----------
    band : Band or DifferenceBand or None
        None: there are no intervals.
    rows : int
        Of the table; the last are without an interval where the band has fewer.
    """
    known = 0 if band is None else band.low.size
    rest = [None] * (rows - known)
    low, high = ([], []) if band is None else (band.low.tolist(), band.high.tolist())
    kinds = [] if band is None else [band.kind] * known
    return {"low": low + rest, "high": high + rest, "interval": kinds + rest}


def equal_results(one: Any, other: object) -> bool:
    """Return whether two results say the same: also after pickling, and after JSON."""
    # Not NotImplemented, so that a comparison with an array gives one answer, too.
    if not isinstance(other, type(one)):
        return False
    names = [field.name for field in dataclasses.fields(one)]
    return all(_same(getattr(one, name), getattr(other, name)) for name in names)


def hash_of_result(result: Any) -> int:
    """Return a number that is equal for equal results: that of its arrays."""
    fields = [getattr(result, field.name) for field in dataclasses.fields(result)]
    return hash(tuple(each.tobytes() for each in fields if isinstance(each, np.ndarray)))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if type(one) is type(other) and hasattr(one, "to_document"):
        # An error law is compared as it is stored, and a file does not hold all its digits.
        return bool(one.to_document() == other.to_document())
    return bool(one == other)
