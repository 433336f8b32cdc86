"""What results share: tables as data frames and CSV, and equality."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
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


_FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""How a cell begins that a spreadsheet may take for a formula."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def spreadsheet_cell(cell: Any) -> str:
    """Return the field of a CSV that holds a cell, which no spreadsheet runs.

    Text is in quotes: where a spreadsheet divides cells at semicolons or tabs, no part of it
    becomes a cell. Text that begins as a formula gets an apostrophe, unless it is a number. Numbers
    have no quotes. None is an empty field.

    Examples
    --------
    >>> print(*map(spreadsheet_cell, ("=1+1", "-3", -3, "x;=1+1")))
    "'=1+1" "-3" -3 "x;=1+1"
    """
    if cell is None:
        return ""
    if isinstance(cell, Number):
        return str(cell)
    text = str(cell)
    formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return '"' + ("'" if formula else "") + text.replace('"', '""') + '"'


def write_rows(stream: TextIO, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows as CSV whose cells no spreadsheet runs; lines end in a line feed."""
    for row in rows:
        # Readers skip an empty line.
        stream.write((",".join(map(spreadsheet_cell, row)) or '""') + "\n")


def csv_of(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV; their keys are the names of the columns, None is an empty field.

    Its fields are those of :func:`spreadsheet_cell`.
    """
    text = io.StringIO()
    if rows:
        names = dict.fromkeys(name for row in rows for name in row)
        write_rows(text, [names])
        write_rows(text, ([row.get(name) for name in names] for row in rows))
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
