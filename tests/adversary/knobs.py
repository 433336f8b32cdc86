"""Instances of a class that nothing is known about: its public knobs, read off its fields."""

from __future__ import annotations

import random
import types
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from itertools import product
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lapwing.errors import LapwingError

WHOLE = (1, 2, 3, 4)
"""Small, and as many as the symbols of the small domains, one fewer and one more."""

MOST_TRIED = 3000
"""Combinations of knobs, of which most may be refused."""


def values_of(kind: Any) -> list[Any]:
    """Return what a knob of this type is tried with, beside its default."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if get_origin(kind) is Sequence:
        return [pair for pair in product(*[values_of(get_args(kind)[0])[-2:]] * 2) if any(pair)]
    if get_origin(kind) in (Union, types.UnionType):
        return [value for part in get_args(kind) for value in values_of(part)]
    return {bool: [False, True], int: list(WHOLE), float: [0.3, 0.6], type(None): [None]}.get(
        kind, []
    )


def instances(made: type[Any], *given: Any, most: int) -> Iterator[Any]:
    """Yield the default, it with each one whole number, and `most` combinations of all knobs.

    Parameters
    ----------
    made : type
        A frozen dataclass.
    given : object
        What its first fields are: nothing is tried for them.
    most : int
    """
    hints = get_type_hints(made)
    free = [field for field in fields(made) if field.init][len(given) :]
    tried = []
    for field in free:
        known = [] if field.default is MISSING else [field.default]
        tried.append([*known, *(v for v in values_of(hints[field.name]) if v not in known)])
    needed = {
        field.name: values[0]
        for field, values in zip(free, tried, strict=True)
        if field.default is MISSING and field.default_factory is MISSING and values
    }
    wholes = [{f.name: v} for f in free for v in WHOLE if v in values_of(hints[f.name])]
    first = [needed, *({**needed, **one} for one in wholes)]
    others = [dict(zip((f.name for f in free), c, strict=True)) for c in product(*tried)]
    random.Random(1).shuffle(others)
    yielded = 0
    for number, knobs in enumerate([*first, *others[:MOST_TRIED]]):
        try:
            found = made(*given, **knobs)
        except LapwingError:
            assert number or given, f"{made.__name__} has no default"
            continue
        yield found
        yielded += number >= len(first)
        if yielded == most:
            return
