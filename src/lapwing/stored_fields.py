"""JSON documents of dataclasses, derived from the annotations of their fields.

A class states its format once. A field is a plain value, an object of such a class, or a list of
either. A marker such as :class:`Coded` is for values that JSON cannot represent. A field whose
metadata has "absent" is left out if it has that value, and one whose metadata is UNSTORED is
always left out.
"""

from __future__ import annotations

import base64
import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, Union, get_args, get_origin

from lapwing.declared import declared_fields, excludes, requirement
from lapwing.documents import (
    describe_value,
    require,
    require_format,
    require_spelling,
    spelled_number,
)
from lapwing.errors import ArgumentError, DomainError, FormatError, MismatchError, PrivacyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNUSED = "Do not use this document"
"""What to do with a damaged document."""

Sizes = dict[str, int]
"""Sizes stated by the document around a part and by earlier arrays, by their names."""

Read = Callable[[Any, str, Sizes], Any]
"""Takes a JSON value, its place in words, and sizes."""


@dataclass(frozen=True)
class Coded:
    """A value that two functions write as JSON and read from it.

    write: Takes the value.
    read: Takes what JSON holds, and its place in words. It raises FormatError.
    """

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


@dataclass(frozen=True)
class StoredArray:
    """An array of finite numbers: a list of them, or base64 of little-endian ones.

    NumPy is imported where an array is: ledgers and guarantees have none.

    kind: Their type in NumPy.
    packed: Whether it is base64.
    shape: Names of the sizes of its dimensions. A size that neither the document around it nor an
        array before it states is its own. An empty name is for any size. Default: one dimension of
        any size.
    """

    kind: str = "<f8"
    packed: bool = False
    shape: tuple[str, ...] = ("",)

    def write(self, array: Any) -> Any:
        """Return what stands in the document."""
        if not self.packed:
            return array.tolist()
        import numpy as np

        return base64.b64encode(np.ascontiguousarray(array, dtype=self.kind).tobytes()).decode()

    def read(self, value: Any, place: str, sizes: Sizes) -> NDArray[Any]:
        """Return the array. FormatError where the value is none of this shape."""
        import numpy as np

        numbers = self._unpacked(value) if self.packed else self._listed(value)
        shape = [sizes.get(name, -1) for name in self.shape]
        fits = numbers is not None and bool(np.isfinite(numbers).all())
        if numbers is None or not fits or 0 in shape:
            what = "base64 of finite numbers" if self.packed else "a list of numbers"
            raise FormatError(place, f"must be {what}", describe_value(value), UNUSED)
        try:
            shaped = numbers.reshape(shape)
        except ValueError:
            raise FormatError(
                place, "must have the expected number of values", f"{numbers.size}", UNUSED
            ) from None
        sizes |= {name: size for name, size in zip(self.shape, shaped.shape, strict=True) if name}
        return shaped if self.kind[1] == "i" else shaped.astype(np.float64)

    def _unpacked(self, value: Any) -> NDArray[Any] | None:
        import numpy as np

        try:
            return np.frombuffer(base64.b64decode(value, validate=True), dtype=self.kind)
        except (ValueError, TypeError):
            return None

    def _listed(self, value: Any) -> NDArray[Any] | None:
        whole = self.kind[1] == "i"
        if not isinstance(value, list) or not {*map(type, value)} <= ({int} if whole else _NUMBERS):
            return None
        if any(type(number) is int and abs(number) >= 2**63 for number in value):
            return None
        import numpy as np

        return np.array(value, dtype=self.kind)


_NUMBERS = {int, float}

UNSAID: Mapping[str, Any] = types.MappingProxyType({"absent": None})
"""Metadata of a field that a document leaves out if it is None."""

UNSTORED: Mapping[str, Any] = types.MappingProxyType({"stored": False})
"""Metadata of a field that no document has."""

Exact = Annotated[Fraction, Coded(str, lambda text, place: spelled_number(text, name=place))]
"""A fraction, written exactly as a string."""


@dataclass(frozen=True)
class _Field:
    name: str
    write: Callable[[Any], Any]
    read: Read
    absent: Any = dataclasses.MISSING


class FromFields:
    """A dataclass whose document follows from its fields. Stored alone, it is also a Stored."""

    _name: ClassVar[str]
    """What it is, for messages."""

    _spelled: ClassVar[bool] = False
    """Whether a part is compared with its one spelling, as what has a format always is."""

    _kind: ClassVar[Any] = ""
    """Name of its format, after "lapwing-". A part of another document has none. A class states a
    Literal, by which type checkers tell results apart."""

    _version: ClassVar[int] = 1

    _sizes: ClassVar[tuple[str, ...]] = ()
    """Names of the sizes that its arrays need from the document around it."""

    def _check_stored(self) -> None:
        """Check what holds of a stored one only. ArgumentError or FormatError where it does not."""

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form.

        Returns
        -------
        dict
            JSON object that :meth:`from_document` reads.
        """
        cls: Any = type(self)
        head = {"format": f"lapwing-{self._kind}", "version": self._version} if self._kind else {}
        values = ((field, getattr(self, field.name)) for field in _fields(cls))
        return head | {
            field.name: field.write(value)
            for field, value in values
            if field.absent is dataclasses.MISSING or value != field.absent
        }

    @classmethod
    def from_document(cls, document: Any, **sizes: int) -> Self:
        """Return the object that :meth:`to_document` wrote.

        Parameters
        ----------
        document : dict
            JSON object that :meth:`to_document` returned.
        **sizes : int
            For a part of a document, sizes that the document around it states.

        Raises
        ------
        FormatError
            When the document is something else, is damaged or has an unknown version.
        """
        own: Any = cls
        fields, head = _fields(own), set[str]()
        if cls._kind:
            require_format(document, name=f"lapwing-{cls._kind}", version=cls._version)
            head = {"format", "version"}
        rare = {field.name for field in fields if field.absent is not dataclasses.MISSING}
        keys = head | {field.name for field in fields} - rare
        require(document, keys, name=cls._name, optional=rare)
        values: dict[str, Any] = {}
        for field in fields:
            if field.name not in document:
                values[field.name] = field.absent
                continue
            place = f"the {field.name} of {cls._name}"
            values[field.name] = field.read(document[field.name], place, sizes)
            value = values[field.name]
            if type(value) is type(field.absent) and value == field.absent:
                said = describe_value(document[field.name])
                raise FormatError(place, "must be left out if there is none", said, UNUSED)
            domain = value if field.name == "domain" else getattr(value, "domain", None)
            if domain is not None:
                sizes["symbols"] = domain.size
        try:
            found = cls(**values)
            found._check_stored()
        except (ArgumentError, DomainError, MismatchError, PrivacyError) as error:
            raise FormatError(f"{cls._name} is damaged: {error}. {UNUSED}") from None
        # Most parts are compared with the document around them.
        if cls._kind or cls._spelled:
            require_spelling(document, found.to_document(), name=cls._name)
        return found


@cache
def _fields(cls: Any) -> list[_Field]:
    hints = declared_fields(cls)
    return [
        _Field(
            field.name, *_code(hints[field.name]), field.metadata.get("absent", dataclasses.MISSING)
        )
        for field in dataclasses.fields(cls)
        if field.init and field.metadata.get("stored", True)
    ]


def _code(hint: Any) -> tuple[Callable[[Any], Any], Read]:
    """Return what writes and reads the values of an annotation."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marker = next((part for part in parts[1:] if isinstance(part, Coded | StoredArray)), None)
        if isinstance(marker, StoredArray):
            return marker.write, marker.read
        if marker is not None:
            return marker.write, lambda value, place, _: marker.read(value, place)
    if origin in (Union, types.UnionType) and len(parts) == 2 and types.NoneType in parts:
        write, read = _code(parts[parts[0] is types.NoneType])
        return (
            lambda value: None if value is None else write(value),
            lambda value, place, sizes: None if value is None else read(value, place, sizes),
        )
    if isinstance(hint, type) and hasattr(hint, "from_document"):
        names = getattr(hint, "_sizes", ())
        build: Callable[..., Any] = hint.from_document
        return (
            lambda value: value.to_document(),
            lambda value, _, sizes: build(value, **{name: sizes[name] for name in names}),
        )
    if origin is Sequence or (origin is tuple and parts[-1] is Ellipsis):
        return _list_code(parts[0])
    if origin is tuple:
        return _list_code(parts[0], len(parts))
    if origin is dict or origin is Mapping:
        return _object_code(*parts)
    return lambda value: value, lambda value, place, _: _plain(value, hint, place)


def _list_code(hint: Any, length: int | None = None) -> tuple[Callable[[Any], Any], Read]:
    write, read = _code(hint)

    def listed(value: Any, place: str, sizes: Sizes) -> Any:
        if not isinstance(value, list):
            raise FormatError(place, "must be a list", describe_value(value), UNUSED)
        if length is not None and len(value) != length:
            raise FormatError(place, f"must have {length} entries", str(len(value)), UNUSED)
        return tuple(read(entry, f"an entry of {place}", sizes) for entry in value)

    return lambda value: [write(entry) for entry in value], listed


def _object_code(names: Any, hint: Any) -> tuple[Callable[[Any], Any], Read]:
    write, read = _code(hint)

    def named(value: Any, place: str, sizes: Sizes) -> Any:
        if not isinstance(value, dict):
            raise FormatError(place, "must be an object", describe_value(value), UNUSED)
        return {
            _plain(key, names, f"a name in {place}"): read(value[key], f"{key} in {place}", sizes)
            for key in value
        }

    if hint is Any:  # kept as it is
        return lambda value: value, named
    return lambda value: {key: write(value[key]) for key in value}, named


def _plain(value: Any, hint: Any, place: str) -> Any:
    if excludes(hint, value):
        said = "true or false" if hint is bool else requirement(hint)
        raise FormatError(place, f"must be {said}", describe_value(value), UNUSED)
    return float(value) if hint is float else value
