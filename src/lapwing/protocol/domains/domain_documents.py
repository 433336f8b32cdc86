"""Objects that a document describes: classes from explicit tables, with their domain.

A class is never found by a name imported from data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

from lapwing.documents import nearest, quoted, require, require_spelling
from lapwing.errors import FormatError, LapwingError
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.unordered import HashedStrings
from lapwing.stored_fields import Coded

DOMAINS: Mapping[str, type[Any]] = {
    "interval": Interval,
    "integers": Integers,
    "categories": Categories,
    "hashed-strings": HashedStrings,
    "segmented": Segmented,
    "product": Product,
}


def build(document: Mapping[str, Any], table: Mapping[str, type[Any]], *, name: str) -> Any:
    """Return the object that a document describes: a class of the table, all fields given.

    document: ``{"class": ..., field: value, ...}``. A field named "domain" is a document itself.
    table: The only classes that can be built.
    name: The kind of document, for messages.

    Raises FormatError on an unknown class, a missing or unknown key, or a value of a wrong kind. It
    also raises when the object would be written as another document. Errors of the class itself
    pass through.
    """
    kind = document.get("class") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or kind not in table:
        said = f"{quoted(kind)}{nearest(kind, table)}" if isinstance(kind, str) else "none"
        others = (
            "" if table is DOMAINS else ". lapwing.plugins.load() registers those of other packages"
        )
        raise FormatError(
            f"{name} must be a known class ({', '.join(sorted(table))}), got {said}{others}"
        )
    made = table[kind]
    fields = {field.name: field for field in dataclasses.fields(made) if field.init}
    # What a class learned later may be absent: it then means what it was before.
    absent = {
        key: field.metadata["absent"] for key, field in fields.items() if "absent" in field.metadata
    }
    require(document, {"class", *fields} - absent.keys(), name=name, optional=absent)
    arguments = absent | {key: value for key, value in document.items() if key != "class"}
    if "domain" in arguments:
        arguments["domain"] = build_domain(arguments["domain"])
    positional = [
        arguments.pop(field.name)
        for field in dataclasses.fields(made)
        if field.init and not field.kw_only
    ]
    try:
        built = made(*positional, **arguments)
    except LapwingError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # Classes are checked for what people pass; a document may hold a list for a number.
        raise FormatError(f"{name} ({kind}) has a field with a value of the wrong kind") from None
    require_spelling(document, built.to_document(), name=name)
    return built


def build_domain(document: Mapping[str, Any]) -> Domain:
    """Return the domain that a document describes."""
    if isinstance(document, Mapping) and document.get("class") == Product.name:
        return _build_product(document)
    domain: Domain = build(document, DOMAINS, name="a domain")
    return domain


def _build_product(document: Mapping[str, Any]) -> Product:
    """Return the product that a document describes: its axes are a list, because order counts."""
    require(document, {"class", "axes"}, name="a domain")
    entries = document["axes"]
    if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
        raise FormatError("the axes of a domain must be a list of objects")
    for entry in entries:
        require(entry, {"name", "domain"}, name="an axis")
        if not isinstance(entry["name"], str):
            raise FormatError("the name of an axis must be a string")
    axes = {entry["name"]: build_domain(entry["domain"]) for entry in entries}
    if len(axes) != len(entries):
        raise FormatError("the axes of a domain must have different names")
    built = Product(**axes)
    require_spelling(document, built.to_document(), name="a domain")
    return built


STORED_DOMAIN = Coded(
    lambda domain: domain.to_document(), lambda document, _: build_domain(document)
)

StoredDomain = Annotated[Domain, STORED_DOMAIN]
"""A field that holds a domain."""


def build_open_domain(document: Mapping[str, Any]) -> Domain:
    """Return the domain that a document describes. An interval may leave its bins open.

    The treatment of outside values may be left open with the bins: it depends on their number.
    """
    if document.get("class") != Interval.name or "bins" in document or "edges" in document:
        return build_domain(document)
    whole: Any = build_domain({"outside": "clip", **document, "bins": 1})
    domain: Domain = dataclasses.replace(whole, bins=None, outside=document.get("outside"))
    return domain
