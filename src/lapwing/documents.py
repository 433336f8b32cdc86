"""Documents: frozen dataclasses as strict JSON, and the fingerprint of what was agreed.

Every stored JSON document names its format and version. Reading is strict: an unknown key,
class or version is refused, because a setting that one side ignores is a promise it breaks.
Classes are found in explicit tables, never by a name imported from data.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lapwing.categories import Categories
from lapwing.domain import Domain, Integers, Interval
from lapwing.errors import FormatError
from lapwing.hashed_texts import HashedTexts

DOMAINS: Mapping[str, type[Any]] = {
    "interval": Interval,
    "integers": Integers,
    "categories": Categories,
    "hashed-texts": HashedTexts,
}

MAXIMUM_DOCUMENT_BYTES = 512 * 2**20


def canonical(document: Any) -> bytes:
    """Return the canonical JSON (RFC 8785) of a document: the same bytes in every language."""
    import rfc8785  # not needed to import lapwing

    return rfc8785.dumps(document)


def fingerprint(document: Any) -> str:
    """Return the SHA-256 of the canonical JSON, as 64 hex digits.

    Examples
    --------
    >>> fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical(document)).hexdigest()


def parse(text: str | bytes, *, name: str) -> dict[str, Any]:
    """Return the JSON object in a text.

    Raises
    ------
    FormatError
        When it is not JSON, not an object, or repeats a key. `name` names it in the message.
    """
    try:
        document = json.loads(
            text,
            object_pairs_hook=_distinct,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _NotStrictError) else "it is damaged or foreign"
        raise FormatError(f"{name} must be a JSON document; {reason}") from None
    if not isinstance(document, dict):
        raise FormatError(f"{name} must be a JSON object, got a {type(document).__name__}")
    return document


class _NotStrictError(ValueError):
    """JSON that the strict reader refuses, with a reason for people."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise _NotStrictError("it names a key twice")
    return document


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _NotStrictError("it holds a number that is too large")
    return number


def _refuse_constant(word: str) -> Any:
    raise _NotStrictError(f"it holds {word}, which is not a number")


def read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; FormatError as in :func:`parse`."""
    if path.stat().st_size > MAXIMUM_DOCUMENT_BYTES:
        raise FormatError(f"{path.name} is too large to be a document of lapwing")
    return parse(path.read_bytes(), name=path.name)


def require(document: Mapping[str, Any], keys: set[str], *, name: str) -> None:
    """Raise FormatError unless the document has exactly these keys."""
    if not isinstance(document, Mapping):
        raise FormatError(f"{name} must be a JSON object, got a {type(document).__name__}")
    unknown = sorted(set(document) - keys)
    absent = sorted(keys - set(document))
    if unknown:
        raise FormatError(f"{name} has the unknown key {unknown[0]!r}; known: {_listed(keys)}")
    if absent:
        raise FormatError(f"{name} lacks the key {absent[0]!r}; it must have: {_listed(keys)}")


def _listed(keys: set[str]) -> str:
    return ", ".join(sorted(keys))


def require_format(document: Mapping[str, Any], *, name: str, version: int) -> None:
    """Raise FormatError unless the document says that it is `name` of a known version."""
    if not isinstance(document, Mapping):
        raise FormatError(f"this must be a {name} document, got a {type(document).__name__}")
    found = document.get("format")
    if found != name:
        shown = f"{found!r}" if isinstance(found, str) else "no format name"
        raise FormatError(f"this must be a {name} document, got {shown}; check the file name")
    said = document.get("version")
    # Not a bool: True equals 1.
    if type(said) is not int or said != version:
        raise FormatError(
            f"{name} documents of version {version} can be read, this one says "
            f"{str(said)[:40]}; update lapwing"
        )


def build(document: Mapping[str, Any], table: Mapping[str, type[Any]], *, name: str) -> Any:
    """Return the object that a document describes: a class of the table, all fields given.

    Parameters
    ----------
    document : mapping
        ``{"class": ..., field: value, ...}``; a field named "domain" is a document itself.
    table : mapping of str to class
        The only classes that can be built.
    name : str
        What the document is, for messages.

    Raises
    ------
    FormatError
        On an unknown class, an unknown or an absent key. Errors of the class itself pass through.
    """
    kind = document.get("class") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or kind not in table:
        shown = repr(kind) if isinstance(kind, str) else "none"
        raise FormatError(
            f"{name} must name a known class ({', '.join(sorted(table))}), got {shown}"
        )
    made = table[kind]
    fields = {field.name for field in dataclasses.fields(made) if field.init}
    require(document, {"class", *fields}, name=name)
    arguments = {key: value for key, value in document.items() if key != "class"}
    if "domain" in arguments:
        arguments["domain"] = build_domain(arguments["domain"])
    positional = [
        arguments.pop(field.name)
        for field in dataclasses.fields(made)
        if field.init and not field.kw_only
    ]
    return made(*positional, **arguments)


def build_domain(document: Mapping[str, Any]) -> Domain:
    """Return the domain that a document describes."""
    domain: Domain = build(document, DOMAINS, name="a domain")
    return domain
