"""Features that results share: tables as data frames and CSV, summaries, and equality."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, TextIO

import numpy as np

from lapwing.docstrings import inherits
from lapwing.errors import MissingExtraError
from lapwing.facts import html_of, lines_of
from lapwing.results.exact_values import EXACT
from lapwing.results.uncertainty import Kind

Columns = dict[str, list[Any]]
"""Names to columns of one length, of plain Python values."""


def frame_of(columns: Columns) -> Any:
    """Return a table as a pandas DataFrame. MissingExtraError without pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", extra="pandas") from None
    return pandas.DataFrame(columns)


class SummarizedResult:
    """Result with a summary in a few lines of text."""

    def summary(self, *, level: float = 0.95) -> str:
        """Return a few lines of text: the privacy guarantee, and the main answers.

        If there are more than 20 labels, the largest are listed. The intervals of labels are
        simultaneous.

        Parameters
        ----------
        level : float
            Level of the intervals, in (0, 1). Default: 0.95.

        Returns
        -------
        str
            Lines, each with a name and a value.

        Examples
        --------
        >>> import lapwing as lw
        >>> answers, rng = ["no"] * 400 + ["yes"] * 600, lw.seeded(1)  # for this example only
        >>> labels = lw.Categories(["no", "yes"])
        >>> published = lw.release(answers, labels, epsilon=1, neighbors="replace-one", rng=rng)
        >>> for line in published.distribution.summary().splitlines()[3:5]:
        ...     print(line)
        share of yes        59.8% (59.1% to 60.5%)
        share of no         40.1% (39.4% to 40.8%)
        """
        return lines_of(self._facts(level))

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        return html_of(self._facts(0.95))

    def _facts(self, level: float) -> dict[str, str]:
        """Return the lines of the summary, by their names."""
        raise NotImplementedError


class TabularResult(SummarizedResult):
    """Result with a table and a summary: a :class:`Distribution` or a :class:`Difference`."""

    def to_dict(self, *, level: float = 0.95, kind: Kind | None = None) -> Columns:
        """Return a table as a dict of columns, one row for each bin or category.

        Parameters
        ----------
        level : float
            Level of the intervals, in (0, 1). Default: 0.95.
        kind : {"pointwise", "simultaneous"}, optional
            Whether the level holds for each row alone, or for all rows at once. Default:
            "simultaneous" for labels and "pointwise" for numbers.

        Returns
        -------
        dict of str to list
            Columns.
        """
        raise NotImplementedError

    @inherits(to_dict)
    def to_pandas(self, *, level: float = 0.95, kind: Kind | None = None) -> Any:
        """Return the table of :meth:`to_dict` as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row for each bin or category.

        Raises
        ------
        MissingExtraError
            When pandas is not installed.

        Examples
        --------
        >>> import lapwing as lw
        >>> ages = lw.Distribution.of_values([23, 35, 35, 58], lw.Interval(0, 60, bins=3))
        >>> ages.to_pandas()["share"].tolist()
        [0.0, 0.75, 0.25]
        """
        return frame_of(self.to_dict(level=level, kind=kind))


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
    """Write rows as CSV whose cells no spreadsheet runs. Lines end in a line feed."""
    for row in rows:
        # Readers skip an empty line.
        stream.write((",".join(map(spreadsheet_cell, row)) or '""') + "\n")


def csv_of(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV. Their keys are the names of the columns, and None is an empty field.

    Its fields are those of :func:`spreadsheet_cell`.
    """
    text = io.StringIO()
    if rows:
        names = dict.fromkeys(name for row in rows for name in row)
        write_rows(text, [names])
        write_rows(text, ([row.get(name) for name in names] for row in rows))
    return text.getvalue()


def about_column(kinds: Iterable[Any], about: str) -> list[str | None]:
    """Return whom each interval of a table is about. Exact values say in each row what they are."""
    return [about if kind or about == EXACT else None for kind in kinds]


def interval_columns(band: Any, rows: int, about: str) -> Columns:
    """Return the columns of the intervals of a table, of which kind they are, and about whom.

    band: None: there are no intervals.
    rows: Rows of the table. The last are without an interval where the band has fewer.
    about: Whom they are about (:func:`lapwing.results.counted.whom`).
    """
    known = 0 if band is None else band.low.size
    rest = [None] * (rows - known)
    low, high = ([], []) if band is None else (band.low.tolist(), band.high.tolist())
    kinds = [] if band is None else [band.kind] * known
    named = {"interval": kinds + rest, "about": about_column(kinds + rest, about)}
    return {"low": low + rest, "high": high + rest, **named}


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


def plain(value: Any) -> Any:
    """Return a number or text of NumPy as Python's."""
    return value.item() if isinstance(value, np.ndarray | np.generic) else value
