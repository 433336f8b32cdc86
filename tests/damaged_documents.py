"""Documents with something deleted, changed or added, for tests of strict reading."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import operator
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import rfc8785
from hypothesis import strategies as st

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**53, -(2**70), 10**400, 1, 0, -1])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["", "\ud800", "nan", "1e999999999", "interval", "categories"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
"""Any JSON value."""


# Every place, systematically.

NASTY: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    7,
    1.0,
    0.5,
    -0.0,
    1e308,
    5e-324,
    2**24,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    10**400,
    10**5000,
    math.nan,
    math.inf,
    -math.inf,
    "",
    "0",
    "1",
    "-1",
    "2/2",
    "0/5",
    "1/0",
    "nan",
    "1e999999999",
    "1000000",
    "9" * 400,
    "1/" + "9" * 150,
    "1" * 3000,
    "\ud800",
    "\uff11",
    "interval",
    "0" * 64,
    b"1",
    (1,),
    [],
    [[]],
    [0],
    [1, 1],
    ["a", "a"],
    {},
    {"class": "interval"},
    {1: 2},
)
"""Values that no reader expects, some of which are no JSON."""

FOLLOWED = 3
"""Entries of a long list that are damaged: its first, its last, and one between."""


def _deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


DEEP = (_deep(90), _deep(5000))
"""Lists in lists in lists."""


def spellings(value: Any) -> list[Any]:
    """Return other ways to write a value, and values beside it."""
    if isinstance(value, bool) or value is None:
        return [int(bool(value)), str(value).lower(), [value]]
    if isinstance(value, int | float):
        beside = [value + 1, -value, value * 2, str(value), bool(value), [value], {"value": value}]
        return [*beside, float(value) if isinstance(value, int) else int(value)]
    if isinstance(value, str):
        ways = [f" {value} ", f"+{value}", f"0{value}", f"{value}0", f"{value}.0", f"{value}e0"]
        ways += [value.upper(), value[:-1], value + "\n", "_".join(value[:5]) + value[5:], [value]]
        ways += [
            value.translate({48 + digit: start + digit for digit in range(10)})
            for start in (0xFF10, 0x660)
        ]
        ways += [f"{value}/1", f"2*{value}", value.replace("/", "0/") + "0"]
        if value.isascii() and value.isdigit():
            ways += [int(value), float(value[:300]), f"{2 * int(value)}/2"]
        return ways
    if isinstance(value, list):
        return [
            value[:-1],
            value[1:],
            value[::-1],
            value + value,
            value * 9,
            [value],
            {"list": value},
        ]
    return [[value], list(value), [*value.items()], {**value, "": 1}, {**value, "class": None}]


def places(document: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every key and entry; of long lists only a few."""
    keys: list[Any] = []
    if isinstance(document, dict):
        keys = list(document)
    elif isinstance(document, list):
        size = len(document)
        keys = sorted({0, size // 2, size - 1}) if size > FOLLOWED else list(range(size))
    for key in keys:
        yield (*above, key)
        yield from places(document[key], (*above, key))


def with_change(document: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """Return a copy in which a change was made to what holds the last key of a path."""
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    change(place, path[-1])
    return changed


def changes(value: Any, *, in_list: bool) -> list[Callable[[Any, Any], None]]:
    """Return everything that is done to one place."""

    def put(new: Any) -> Callable[[Any, Any], None]:
        return lambda holder, key: operator.setitem(holder, key, new)

    def rename(new: Any) -> Callable[[Any, Any], None]:
        return lambda holder, key: operator.setitem(holder, new, holder.pop(key))

    done = [put(new) for new in (*NASTY, *DEEP, *spellings(value))]
    done.append(operator.delitem)
    if in_list:
        done.append(lambda holder, key: holder.insert(key, value))
        done.append(lambda holder, key: holder.extend([value] * 200))
    else:
        done += [rename(new) for new in ("", "\ud800", "class", 3, None)]
        done.append(lambda holder, key: operator.setitem(holder, f"{key} ", value))
        done.append(lambda holder, key: operator.setitem(holder, key.upper(), value))
    return done


def held(document: Any, path: tuple[Any, ...]) -> Any:
    """Return what stands at a path."""
    for key in path:
        document = document[key]
    return document


def mutants(document: dict[str, Any], *, most: int | None, seed: int) -> Iterator[Any]:
    """Yield damaged copies of a document: all of them, or so many that a seed picks."""
    todo = [
        (path, change)
        for path in places(document)
        for change in changes(held(document, path), in_list=isinstance(path[-1], int))
    ]
    if most is not None:
        todo = random.Random(seed).sample(todo, min(most, len(todo)))
    for path, change in todo:
        yield with_change(document, path, change)


def spelled(document: Any) -> str:
    """Return the one text of a document: keys sorted, and 16.0 as 16.

    As canonical JSON, which has no whole numbers beyond 2^53. NaN is not refused.
    """

    def normal(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: normal(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [normal(inner) for inner in value]
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value

    return json.dumps(normal(document), sort_keys=True)


def forged(document: Any) -> Any:
    """Return the document with the fingerprint that it should have, where it has one."""
    if not isinstance(document, dict) or not isinstance(document.get("fingerprint"), str):
        return document
    agreed = {key: value for key, value in document.items() if key != "fingerprint"}
    with contextlib.suppress(Exception):
        return {**agreed, "fingerprint": hashlib.sha256(rfc8785.dumps(agreed)).hexdigest()}
    return document


def damaged_bytes(data: bytes, *, most: int | None, seed: int) -> Iterator[bytes]:
    """Yield damaged copies of a file: cut, with bits flipped, and with bytes put in or out."""
    drawn = random.Random(seed)
    positions: Sequence[int] = range(len(data) + 1)
    if most is not None:
        positions = drawn.sample(positions, min(most, len(positions)))
    for at in positions:
        byte = data[at : at + 1]
        yield data[:at]
        yield data[at:]
        yield data[:at] + bytes([drawn.randrange(256)]) + data[at:]
        yield data[:at] + data[at + 1 :]
        if byte:
            for flipped in (byte[0] ^ 1 << drawn.randrange(8), 0, 255):
                yield data[:at] + bytes([flipped]) + data[at + 1 :]
        yield data + data[at:]


class TooManySteps(BaseException):
    """Code that was still running after as many lines as were allowed."""


@contextlib.contextmanager
def at_most(lines: int) -> Iterator[None]:
    """Stop the block with an error when it runs more lines of Python than this.

    Not a time: the same on every machine. What hangs inside one operation of numbers with a
    million digits is not seen, but the loops that lead there are.
    """
    count = 0

    def step(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        if count > lines:
            raise TooManySteps(f"more than {lines} lines were run")
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        yield
    finally:
        sys.settrace(before)
