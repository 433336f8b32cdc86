"""The names of weeks, and that those which are dates stand in the order of time."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
