"""Tables and figures as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """Return a Markdown table: so many columns of text, then columns of figures."""
    lines = [
        _line(header),
        _line(["---"] * texts + ["---:"] * (len(header) - texts)),
        *(_line(row) for row in rows),
    ]
    if any(line.count("|") != lines[0].count("|") for line in lines):
        raise ValueError("every row must have as many cells as the header, and no bars in them")
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def figure(number: float, *, digits: int = 3) -> str:
    """Return a number with so many significant digits, without an exponent.

    Examples
    --------
    >>> figure(0.0012345), figure(12.345), figure(12345.6), figure(0)
    ('0.00123', '12.3', '12,346', '0')
    """
    if number == 0:
        return "0"
    size = f"{abs(number):.{digits - 1}e}"
    places = digits - 1 - int(size.split("e")[1])
    return f"{number:,.{max(places, 0)}f}"


def seconds(number: float) -> str:
    """Return a time in the unit that suits it.

    Examples
    --------
    >>> seconds(0.0000139), seconds(0.0311), seconds(5.25)
    ('13.9 µs', '31.1 ms', '5.25 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if number >= size:
            return f"{figure(number / size)} {unit}"
    return f"{figure(number / 1e-6)} µs"


def timed(summary: dict[str, Any]) -> str:
    """Return a summary of times: median [min, max] ± standard error of the mean."""
    low, high = seconds(summary["min"]), seconds(summary["max"])
    error = seconds(summary["standard_error"])
    return f"{seconds(summary['median'])} [{low}, {high}] ± {error}"


def uncertain(mean: float, error: float, *, scale: float = 1.0, places: int = 1) -> str:
    """Return a figure with its standard error, both times a scale.

    Examples
    --------
    >>> uncertain(0.00512, 0.00012, scale=1e4)
    '51.2 ± 1.2'
    """
    return f"{mean * scale:.{places}f} ± {error * scale:.{places}f}"


def listed(items: Sequence[str]) -> str:
    """Return items as a phrase.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
