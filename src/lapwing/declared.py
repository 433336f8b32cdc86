"""Checks of a dataclass's fields by their annotations, whenever an object is created.

``limit: Annotated[int, From(1)] = 2000`` refuses 0, 2.5, True and "5" in one sentence. For a
Literal, the message lists the allowed words. NumPy scalars become Python's. A class checks in
`_settle`, after its fields, that several of them are consistent.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from lapwing.documents import quoted
from lapwing.errors import ArgumentError, LapwingError, kind_of

Reader = Callable[[Any], Any]


@dataclass(frozen=True)
class From:
    """Range of a number.

    least, most: Ends of the range. By default it has no upper end.
    without: {"", "least", "most", "both"}. Ends that do not belong to it. Default: "", for none.

    >>> str(From(1)), str(From(0, 64)), str(From(0, 1, without="both"))
    ('of at least 1', 'from 0 to 64', 'greater than 0 and less than 1')
    """

    least: float
    most: float = math.inf
    without: Literal["", "least", "most", "both"] = ""

    def holds(self, number: float) -> bool:
        """Return whether a number is in the range."""
        if self.without in ("least", "both") and number == self.least:
            return False
        if self.without in ("most", "both") and number == self.most:
            return False
        return self.least <= number <= self.most

    def __str__(self) -> str:
        least, most = shown_limit(self.least), shown_limit(self.most)
        low = (
            f"greater than {least}" if self.without in ("least", "both") else f"of at least {least}"
        )
        if self.most == math.inf:
            return low
        if not self.without:
            return f"from {least} to {most}"
        return f"{low} and {'at most' if self.without == 'least' else 'less than'} {most}"


@dataclass(frozen=True)
class Read:
    """A value that a function reads, and refuses in its own words.

    function: Takes the value and returns the one to be kept.
    words: Requirement, as the end of a sentence. Default: none.
    """

    function: Reader
    words: str = ""


def _anything(value: Any) -> Any:
    return value


Later = Read(_anything)
"""Checked in `_settle`, because it depends on other fields."""

Whole = Annotated[int, From(0)]
AtLeastOne = Annotated[int, From(1)]
Positive = Annotated[float, From(0, without="least")]
Share = Annotated[float, From(0, 1)]
Between = Annotated[float, From(0, 1, without="both")]
"""A number between 0 and 1, such as a level."""


class Declared:
    """Base class of dataclasses whose fields are checked by their annotations."""

    _refusal: ClassVar[type[LapwingError]] = ArgumentError
    """Class of the error."""

    def __post_init__(self) -> None:
        """Check each field by its annotation, and keep what that reads, then settle."""
        cls: Any = type(self)
        for name, read, hint in _readers(cls):
            value = getattr(self, name)
            kept = read(value)
            if kept is _REFUSED:
                raise refusal(value, hint, name=name, error=self._refusal)
            if kept is not value:
                object.__setattr__(self, name, kept)
        self._settle()

    def _settle(self) -> None:
        """Choose what was left out, and check several fields together, once each was checked."""


def checked(value: Any, hint: Any, *, name: str, error: type[LapwingError] = ArgumentError) -> Any:
    """Return a value as its annotation reads it, or raise the error."""
    kept = _reader(hint)(value)
    if kept is _REFUSED:
        raise refusal(value, hint, name=name, error=error)
    return kept


def refusal(value: Any, hint: Any, *, name: str, error: type[LapwingError]) -> LapwingError:
    """Return the error about a value that its annotation excludes."""
    unordered = isinstance(value, set | frozenset)
    advice = "Pass sorted(...) of it, because it has no order" if unordered else None
    return error(name, f"must be {requirement(hint)}", received(value, hint), advice)


def excludes(hint: Any, value: Any) -> bool:
    """Return whether an annotation excludes a value.

    >>> import numpy as np
    >>> excludes(AtLeastOne, 0), excludes(AtLeastOne, np.int64(1)), excludes(bool, "no")
    (True, False, True)
    """
    return _reader(hint)(value) is _REFUSED


def declared_fields(cls: type[Any]) -> dict[str, Any]:
    """Return the annotations of the fields that a dataclass takes.

    A name that only a type checker imports stands for any value. A field that is chosen later has
    the default None, which its annotation leaves out.
    """
    fields = (field for field in dataclasses.fields(cls) if field.init)
    hints = {field.name: (field, _annotation(cls, field.name)) for field in fields}
    return {
        name: hint if field.default is not None or hint is Any else hint | None
        for name, (field, hint) in hints.items()
    }


def _annotation(cls: type[Any], name: str) -> Any:
    owner = next(part for part in cls.__mro__ if name in inspect.get_annotations(part))
    said = SimpleNamespace(__annotations__={name: inspect.get_annotations(owner)[name]})
    known = getattr(sys.modules.get(owner.__module__), "__dict__", {})
    try:
        return get_type_hints(said, known, include_extras=True)[name]
    except NameError:
        return Any


@cache
def _readers(cls: Any) -> list[tuple[str, Reader, Any]]:
    readers = ((name, _reader(hint), hint) for name, hint in declared_fields(cls).items())
    return [each for each in readers if each[1] is not _anything]


_REFUSED: Any = object()


def says(hint: Any) -> bool:
    """Return whether an annotation says which values are excluded, or what reads the others."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return all(map(says, parts))
    if origin is Annotated:
        return any(isinstance(part, From | Read) for part in parts)
    return origin is Literal or _is_row(hint) or hint in (bool, str, types.NoneType)


@cache
def _reader(hint: Any) -> Reader:
    """Return what reads the values of an annotation."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        # What reads by a function refuses in its own words, so it comes last.
        readers = [_reader(part) for part in sorted(parts, key=_by_function)]
        return _anything if {*readers} <= {_anything, _none} else _any_of(readers)
    if origin is Annotated:
        for part in parts[1:]:
            if isinstance(part, Read):
                return part.function
            if isinstance(part, From):
                return _within(_reader(parts[0]), part)
        return _reader(parts[0])
    if origin is Literal:
        return _one_of({word: word for word in parts})
    if _is_row(hint):
        return _each(_reader(parts[0]))
    return _PLAIN.get(hint, _anything)


def _is_row(hint: Any) -> bool:
    """Return whether an annotation is that of a list or tuple of any length."""
    parts = get_args(hint)
    return get_origin(hint) is Sequence or (get_origin(hint) is tuple and parts[-1] is Ellipsis)


def _by_function(hint: Any) -> bool:
    return any(isinstance(part, Read) for part in get_args(hint)[1:])


def _any_of(readers: list[Reader]) -> Reader:
    def read(value: Any) -> Any:
        for reader in readers:
            kept = reader(value)
            if kept is not _REFUSED:
                return kept
        return _REFUSED

    return read


def _within(reader: Reader, limits: From) -> Reader:
    least, most, without = limits.least, limits.most, limits.without

    def read(value: Any) -> Any:
        kept = reader(value)
        # Constructors run in loops, so no method is called.
        if kept is _REFUSED or not least <= kept <= most or (without and not limits.holds(kept)):
            return _REFUSED
        return kept

    return read


def _one_of(words: dict[Any, Any]) -> Reader:
    return lambda value: words.get(value, _REFUSED) if isinstance(value, str) else _REFUSED


def _each(reader: Reader) -> Reader:
    def read(value: Any) -> Any:
        kept = tuple(map(reader, value)) if _is_list(value) else (_REFUSED,)
        return _REFUSED if any(entry is _REFUSED for entry in kept) else kept

    return read


def _is_list(value: Any) -> bool:
    """Return whether the entries of a value have an order."""
    unordered = (str, bytes, Mapping, set, frozenset)
    return isinstance(value, Iterable) and not isinstance(value, unordered)


def _bool(value: Any) -> Any:
    if value is True or value is False:
        return value
    numpy = sys.modules.get("numpy")  # whose values exist where it is loaded
    is_bool = numpy is not None and isinstance(value, numpy.bool_)
    return bool(value) if is_bool or isinstance(value, bool) else _REFUSED


def _none(value: Any) -> Any:
    return value if value is None else _REFUSED


def _int(value: Any) -> Any:
    if type(value) is int:
        return value
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return int(value) if whole else _REFUSED


def _float(value: Any) -> Any:
    if type(value) is not float:
        if not isinstance(value, Real) or isinstance(value, bool):
            return _REFUSED
        try:
            value = float(value)
        except OverflowError:
            return _REFUSED
    return value if math.isfinite(value) else _REFUSED


_PLAIN: dict[Any, Reader] = {
    bool: _bool,
    int: _int,
    float: _float,
    str: lambda value: str(value) if isinstance(value, str) else _REFUSED,
    types.NoneType: _none,
}


def requirement(hint: Any, *, typed: bool = False) -> str:
    """Return the requirement of an annotation, as the end of a sentence. It does not offer None.

    hint: Annotation of a field.
    typed: Whether the sentence is for a terminal, where words have no quotes. Default: False.

    >>> requirement(AtLeastOne | None), requirement(Annotated[int, From(0, 64)] | Literal["all"])
    ('a whole number of at least 1', "a whole number from 0 to 64, or 'all'")
    >>> requirement(Sequence[Share]), requirement(bool), requirement(bool, typed=True)
    ('a list of numbers from 0 to 1', 'True or False', 'true or false')
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        given = [requirement(part, typed=typed) for part in parts if part is not types.NoneType]
        return ", or ".join(dict.fromkeys(given))
    if origin is Annotated:
        said = next((part.words for part in parts[1:] if isinstance(part, Read)), "")
        if said:
            return said
        limits = next((f" {part}" for part in parts[1:] if isinstance(part, From)), "")
        return f"{requirement(parts[0], typed=typed)}{limits}"
    if origin is Literal:
        words = [part if typed else repr(part) for part in parts]
        return " or ".join(words) if len(words) < 3 else f"one of {', '.join(map(str, parts))}"
    if _is_row(hint):
        entries = re.sub(r"\ba (list|whole number|number|string)\b", r"\1s", requirement(parts[0]))
        return "a list" if ANOTHER in entries else f"a list of {entries.replace(', or', ' or')}"
    if hint is bool:
        return "true or false" if typed else "True or False"
    return _WORDS.get(hint, ANOTHER)


ANOTHER = "another value"
"""Requirement of an annotation that excludes no value."""

_WORDS = {int: "a whole number", float: "a number", str: "a string"}


def received(value: Any, hint: Any = None) -> str:
    """Return a refused parameter as an error shows it: a short one itself, another by its class.

    Of a list, where the annotation takes one, it is the first entry that is refused.

    >>> received("x" * 50), received([1, 2]), received([1, 0], Sequence[AtLeastOne])
    ("'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'", 'a list', '0 at position 1')
    """
    if isinstance(value, str):
        return quoted(value)
    if value is None or type(value) is float:
        return str(value)
    if type(value) is int:
        return str(value) if abs(value) <= 10**9 else "a number beyond 10^9"
    if _is_list(value):
        for part in (hint, *get_args(hint)):
            inner = get_args(part)[0] if _is_row(part) else Any
            for place, entry in enumerate(value):
                if excludes(inner, entry):
                    return f"{received(entry)} at position {place}"
    return kind_of(value)


def shown_limit(number: float) -> str:
    """Return a limit as people read it: a large power of two, or 1 less than one, as such.

    >>> shown_limit(2**32 - 1), shown_limit(16384), shown_limit(0.5)
    ('2^32-1', '16,384', '0.5')
    """
    if number == math.inf or not isinstance(number, int):
        return f"{number:g}"
    for less in (0, 1):
        power = abs(number) + less
        if power > 2**20 and power & (power - 1) == 0:
            text = f"2^{power.bit_length() - 1}" + "-1" * less
            return text if number > 0 else f"-({text})"
    return f"{number:,}" if abs(number) >= 10_000 else str(number)
