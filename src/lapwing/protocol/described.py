"""What a document names by its class: domains, randomizers and mechanisms."""

from __future__ import annotations

import dataclasses
from abc import ABC
from fractions import Fraction
from typing import Any, ClassVar

from lapwing.declared import Declared
from lapwing.docstrings import Documented
from lapwing.privacy.exact_numbers import epsilon_text


class Described(Documented, Declared, ABC):
    """Base class of frozen dataclasses that a document names by their class."""

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

    def _check_stored(self) -> None:
        """Check what holds of a stored one only."""

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the class and its fields.

        Returns
        -------
        dict
            JSON object with the class name and the fields.
        """
        self._check_stored()
        return class_document(self)


def class_document(described: Any) -> dict[str, Any]:
    """Return the JSON form of a frozen dataclass: its name and its fields, in their order.

    A field whose metadata has "absent" is left out where it has that value.
    """
    values = {"class": described.name}
    for field in dataclasses.fields(described):
        value = getattr(described, field.name)
        if field.init and ("absent" not in field.metadata or field.metadata["absent"] != value):
            values[field.name] = _plain(value)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Fraction):
        return epsilon_text(value)
    return value.to_document() if hasattr(value, "to_document") else value
