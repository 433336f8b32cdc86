"""What results share that people and other programs read: tables, summaries, equality.

A table is a dict of columns, a summary a dict of facts in words; a result says which, and these
functions do the rest.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping
from typing import Any

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


def lines_of(facts: Mapping[str, str]) -> str:
    """Return facts for a terminal, one a line.

    Examples
    --------
    >>> print(lines_of({"reports": "1,000", "median": "40 (38 to 41)"}))
    reports  1,000
    median   40 (38 to 41)
    """
    width = max(map(len, facts))
    return "\n".join(f"{name:<{width}}  {fact}" for name, fact in facts.items())


def html_of(facts: Mapping[str, str]) -> str:
    """Return facts as a table of HTML, for a notebook; labels cannot break out of it."""
    cell = "style='text-align:left'"
    rows = (
        f"<tr><th {cell}>{html.escape(name)}</th><td {cell}>{html.escape(fact)}</td></tr>"
        for name, fact in facts.items()
    )
    return f"<table>{''.join(rows)}</table>"


def percent(share: float) -> str:
    """Return a share in per cent, with three digits that count."""
    return f"{100 * share:.3g} %"


def with_interval(text: str, ends: tuple[str, str] | None) -> str:
    """Return an answer with its interval where there is one.

    Examples
    --------
    >>> with_interval("40", ("38", "41")), with_interval("40", None)
    ('40 (38 to 41)', '40')
    """
    return text if ends is None else f"{text} ({ends[0]} to {ends[1]})"


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
    if type(one) is type(other) and hasattr(one, "to_document"):
        # An error law is compared as it is stored, and a file does not hold all its digits.
        return bool(one.to_document() == other.to_document())
    return bool(one == other)
