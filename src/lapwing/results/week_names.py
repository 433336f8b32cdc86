"""The names of the weeks of a series: legal ones, their order, and those that are missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from lapwing.errors import ArgumentError

_DATED = re.compile(r"\d{4}(-W\d{2}|-\d{2}(-\d{2})?)?")
"""Names that say when: 2026, 2026-03, 2026-W09, 2026-03-01. As texts they sort by time."""


def check_name(name: object) -> None:
    """Raise ArgumentError unless it can be the name of a week."""
    if not isinstance(name, str) or not 1 <= len(name) <= 100 or not name.isprintable():
        raise ArgumentError("the name of a week must be a text of 1 to 100 printable letters")


def check_names(names: Sequence[str]) -> None:
    """Raise ArgumentError unless these are names of weeks, all different and in order."""
    for name in names:
        check_name(name)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ArgumentError(f"two weeks are named {twice!r}; name each once")
    check_order(names)


def check_order(names: Sequence[str]) -> None:
    """Raise ArgumentError when names that are dates of one form are not in order.

    Other names, as those of gaps, stand anywhere between them.
    """
    last: dict[tuple[int, bool], str] = {}
    for name in names:
        if _DATED.fullmatch(name):
            form = len(name), "W" in name
            before = last.get(form)
            if before is not None and name <= before:
                raise ArgumentError(f"weeks must be in order, and {name} comes after {before}")
            last[form] = name


def with_missing(names: Sequence[str]) -> list[str]:
    """Return names of weeks in order, and between them those of dates that are missing.

    Parameters
    ----------
    names : sequence of str
        In order.

    Notes
    -----
    Where all are dates of one form and lie as far apart as the two nearest, or a multiple of that:
    weeks that are asked every second week miss none. Of other names nobody can tell.
    """
    if len(names) < 2 or not all(_DATED.fullmatch(name) for name in names):
        return list(names)
    if len({(len(name), "W" in name) for name in names}) > 1:
        return list(names)
    try:
        places = [_place(name) for name in names]
    except ValueError:  # of no calendar: 2026-W60, 2026-02-30
        return list(names)
    steps = [after - before for before, after in pairwise(places)]
    step = min(steps)
    if step < 1 or any(each % step for each in steps):
        return list(names)
    return [_named(place, names[0]) for place in range(places[0], places[-1] + 1, step)]


def _place(name: str) -> int:
    """Return a date as a number: of years, months, weeks or days."""
    if len(name) == 4:
        return int(name)
    if "W" in name:
        return date.fromisocalendar(int(name[:4]), int(name[-2:]), 1).toordinal() // 7
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
    if len(like) == 7:
        return f"{place // 12:04d}-{place % 12 + 1:02d}"
    return date.fromordinal(place).isoformat()
