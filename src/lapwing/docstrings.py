"""Completes docstrings of methods that override or forward another one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from inspect import CO_VARARGS, CO_VARKEYWORDS, cleandoc, unwrap
from types import FunctionType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_HEADING = re.compile(r"\n\n(\w[\w ]*)\n-{3,}\n")


def inherits(source: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Return a decorator that completes a docstring by the sections of another function's.

    A function documents what it does in its own way, and inherits the rest: its parameters, what it
    returns, errors and warnings. A parameter of another name is the one at the same place. Notes
    and examples belong to one function alone.
    """

    def complete(function: _Function) -> _Function:
        _complete(function, source)
        return function

    return complete


class Documented:
    """Base class that completes the docstrings of methods that its subclasses override."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Complete the docstring of every method by that of the method it overrides."""
        super().__init_subclass__(**options)
        for name, member in vars(cls).items():
            bases = [vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)]
            pair = [getattr(each, "__func__", each) for each in (member, *bases[:1])]
            if len(pair) == 2 and all(isinstance(each, FunctionType) for each in pair):
                _complete(*pair)


def _complete(function: Callable[..., Any], source: Callable[..., Any]) -> None:
    _, inherited = _sections(source.__doc__ or "")
    if not function.__doc__ or not inherited:  # no docstrings: as by python -OO
        return
    summary, own = _sections(function.__doc__)
    sections = {
        "Parameters": _parameters(own, inherited, _names(function), _names(source)),
        "Returns": own.get("Returns") or inherited.get("Returns", ""),
        **{title: _merged(own, inherited, title) for title in ("Raises", "Warns")},
    }
    sections |= {title: body for title, body in own.items() if title not in sections}
    texts = [f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections.items() if body]
    function.__doc__ = "\n\n".join([summary, *texts]) + "\n" * bool(texts)


@cache
def _sections(doc: str) -> tuple[str, dict[str, str]]:
    """Return what is before the sections of a docstring, and the text of each by its title."""
    summary, *parts = _HEADING.split(cleandoc(doc))
    return summary, dict(zip(parts[::2], parts[1::2], strict=True))


def _names(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters, in their order."""
    code = unwrap(function).__code__
    number = code.co_argcount + code.co_kwonlyargcount
    number += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return list(code.co_varnames[:number])


def _parameters(
    own: dict[str, str], inherited: dict[str, str], names: list[str], others: list[str]
) -> str:
    """Return the entries of the parameters that a function has, in its order."""
    entries = _entries(own.get("Parameters", ""))
    documented = {name for each in entries for name in each}
    renamed = {old: old if old in names else new for old, new in zip(others, names)}  # noqa: B905
    for old, text in _entries(inherited.get("Parameters", "")).items():
        new = tuple(renamed.get(name, name) for name in old)
        if documented.isdisjoint(new) and {*new} <= {*names}:
            entries[new] = text if new == old else text.replace(", ".join(old), ", ".join(new), 1)
    return "\n".join(entries[each] for each in sorted(entries, key=lambda e: names.index(e[0])))


def _merged(own: dict[str, str], inherited: dict[str, str], title: str) -> str:
    """Return the errors or warnings of a function, and those that only its source names."""
    entries = _entries(own.get(title, ""))
    known = {name for each in entries for name in each}
    more = _entries(inherited.get(title, ""))
    return "\n".join([*entries.values(), *(more[each] for each in more if known.isdisjoint(each))])


def _entries(body: str) -> dict[tuple[str, ...], str]:
    """Return the entries of a section by what their first lines name."""
    parts = re.split(r"\n(?=\S)", body.rstrip()) if body else ()
    return {
        tuple(
            name.strip("* ") for name in re.split(r" : |\n", part, maxsplit=1)[0].split(",")
        ): part
        for part in parts
    }
