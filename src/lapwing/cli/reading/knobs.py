"""Names from a table, and the knobs that a class has: what was typed against what exists."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lapwing.documents import nearest
from lapwing.errors import ArgumentError, LapwingError


def pick(table: Mapping[str, type[Any]], name: str, *, what: str) -> type[Any]:
    """Return the class of a name; ArgumentError lists the names and suggests the nearest."""
    if name in table:
        return table[name]
    raise ArgumentError(
        f"{what} must be one of {', '.join(table)}, got {name!r}{nearest(name, table)}"
    )


def knobs_of(made: type[Any]) -> list[str]:
    """Return the names of the knobs of a randomizer or decoder."""
    fields = [field.name for field in dataclasses.fields(made) if field.init]
    return [name for name in fields if name not in ("domain", "epsilon")]


def make_with_knobs(made: type[Any], *arguments: Any, settings: Sequence[str]) -> Any:
    """Return a randomizer or decoder with the knobs that were typed.

    Parameters
    ----------
    made : class
    arguments : Any
        Before the knobs: domain and epsilon of a randomizer.
    settings : sequence of str
        "name=value", so that a new class needs no new option; a list is JSON.

    Raises
    ------
    ArgumentError
        When the class has no such knob, a knob is given twice or its value is of a wrong type.
    """
    given: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ArgumentError(f"--set must be NAME=VALUE, got {setting!r}")
        if name in given:
            raise ArgumentError(f"{name!r} is given twice; once is enough")
        given[name] = _value(text.strip(), name)
    known = knobs_of(made)
    for name in given:
        if name not in known:
            option = name.replace("_", "-")
            has = ", ".join(known) or "none"
            raise ArgumentError(
                f"{made.name} has no knob {option!r}{nearest(name, known)}; it has: {has}"
            )
    try:
        return made(*arguments, **given)
    except LapwingError:
        raise
    except TypeError:
        raise ArgumentError(f"a knob of {made.name} has a value of a wrong type") from None


def _value(text: str, name: str) -> Any:
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ArgumentError(
                f"the list of --set {name} must be JSON, for example [0.5, 1, 0.5]"
            ) from None
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
