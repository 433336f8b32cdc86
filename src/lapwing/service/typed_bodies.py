"""Bodies and queries by type: the fields of a struct are the only place where a limit is.

The body is checked against the struct, which also generates the OpenAPI description.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec import inspect as shapes

from lapwing.documents import describe_value, nearest, quoted
from lapwing.protocol.messages.batch import EPOCH_NAME, EPOCH_NAME_RULE
from lapwing.service.problem_answers import malformed

Fingerprint = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
EpochName = Annotated[
    str,
    Meta(
        pattern=f"^{EPOCH_NAME.pattern}$",
        extra={"name": "the name of an epoch", "requirement": EPOCH_NAME_RULE},
    ),
]
BatchId = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Moment = Annotated[
    str,
    Meta(
        extra_json_schema={"format": "date-time"},
        extra={"requirement": 'a time such as "2026-12-01T00:00:00Z"'},
    ),
]
"""A time of RFC 3339."""


class Body(Struct, forbid_unknown_fields=True):
    """The JSON object that a request carries."""

    alternative: ClassVar[Mapping[str, Any] | None] = None
    """The schema of another object that may be sent for it."""

    @classmethod
    def completed(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Return the completed object, or another one if `alternative` was sent."""
        return document


class Query(Struct, forbid_unknown_fields=True):
    """The query of an address. A field with a default may be left out, one of () also repeated."""


class NoQuery(Query):
    """The query of an address that has none."""


Kind = TypeVar("Kind", bound=Struct)


def read_body(document: dict[str, Any], kind: type[Kind]) -> Kind:
    """Return a JSON object as its type. A ProblemError that names the field when it is not."""
    if issubclass(kind, Body):
        document = kind.completed(document)
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise malformed(_sentence(str(error), kind, document)) from None


def read_query(pairs: list[tuple[str, str]], kind: type[Kind]) -> Kind:
    """Return a query as its type. A ProblemError that names the key when it is not."""
    keys = [key for key, _ in pairs]
    if not set(keys) <= set(kind.__struct_fields__):
        known = ", ".join(kind.__struct_fields__) or "none"
        raise malformed(f"the query has an unknown key. Known: {known}")
    several = {field.name for field in msgspec.structs.fields(kind) if field.default == ()}
    once = [key for key in keys if key not in several]
    if len(set(once)) != len(once):
        raise malformed("the query has a key twice. Send each key once")
    lists = {key: [value for name, value in pairs if name == key] for key in several}
    try:
        return msgspec.convert({**dict(pairs), **lists}, kind, strict=False)
    except msgspec.ValidationError as error:
        # What was asked for may name a value of a person: it is not repeated.
        raise malformed(_sentence(str(error), kind, None)) from None


def _sentence(message: str, kind: type[Struct], document: Any) -> str:
    """Return what msgspec says in our words: the field, what it must be, and what came."""
    said, _, place = message.partition(" - at ")
    shape: shapes.Type = shapes.type_info(kind)
    name = "the body"
    for name in place.strip("`").removeprefix("$").split(".")[1:]:
        fields = _fields(shape)
        if name not in fields:
            return f"{name} cannot be read: {said}"
        shape = fields[name]
        document = None if document is None else document[name]
    named = re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", said, re.S)
    if named is not None and named[1] == "missing required":
        return f"{name} must have the key {named[2]}"
    if named is not None:
        known = tuple(_fields(shape))
        return (
            f"{name} has the unknown key {quoted(named[2])}{nearest(named[2], known)}. Known: "
            f"{', '.join(known)}"
        )
    if isinstance(shape, shapes.Metadata):
        name = (shape.extra or {}).get("name", name)
    came = "" if document is None else f", got {describe_value(document)}"
    return f"{name} must be {_requirement(shape)}{came}"


def _fields(shape: shapes.Type) -> dict[str, shapes.Type]:
    if isinstance(shape, shapes.StructType):
        return {field.encode_name: field.type for field in shape.fields}
    if isinstance(shape, shapes.UnionType):
        return {name: type_ for each in shape.types for name, type_ in _fields(each).items()}
    return _fields(shape.type) if isinstance(shape, shapes.Metadata) else {}


def _requirement(shape: shapes.Type) -> str:
    """Return what a value of a type is, for a message."""
    match shape:
        case shapes.Metadata(extra={"requirement": str(words)}):
            return words
        case shapes.Metadata():
            return _requirement(shape.type)
        case shapes.UnionType():
            kinds = [each for each in shape.types if not isinstance(each, shapes.NoneType)]
            words = " or ".join(_requirement(each) for each in kinds)
            return f"{words}, or null" if len(kinds) < len(shape.types) else words
        case shapes.IntType(ge=int(low), le=int(high)):
            return f"a whole number from {low:,} to {high:,}"
        case shapes.FloatType(ge=float(low), le=float(high)):
            return f"a number from {low:g} to {high:g}"
        case shapes.LiteralType():
            return " or ".join(f'"{value}"' for value in shape.values)
        case shapes.StrType(max_length=int(most)):
            return f"a string of at most {most:,} characters"
        case shapes.StrType():
            return "a string"
    return "an object"
