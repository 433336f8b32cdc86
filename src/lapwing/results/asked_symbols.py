"""What a share is asked of: exactly one symbol of a domain, or the question is refused.

A value that a person holds always finds a place, at the nearest end or among the missing. A
question must not: a misspelled label would be answered with the number of another one.
"""

from __future__ import annotations

from typing import Any

from lapwing.documents import nearest
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_answers import to_points
from lapwing.protocol.domains.units import is_missing, to_text

_SHOWN = 60


def asked_symbol(domain: Domain, asked: Any) -> int:
    """Return the number of the symbol that a share is asked of.

    Parameters
    ----------
    domain : Domain
    asked : object
        A label, a number, date or time of the domain; None for the missing symbol.

    Raises
    ------
    DomainError
        When it is none of them.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> asked_symbol(Categories(["red", "green", "rest"], other="rest"), "green")
    1
    """
    if is_missing(asked):
        if domain.missing_index is None:
            raise DomainError("this domain counts no missing values, so they have no share")
        return domain.missing_index
    if not domain.ordered:
        return _of_label(domain, asked)
    number = to_points(asked, unit=domain.unit, name="what a share is asked of")
    if number.ndim:
        raise ArgumentError("a share is of one value, got several")
    ends = domain.left[0], domain.right[-1]
    if not ends[0] <= float(number) <= ends[1]:
        low, high = (to_text(float(end), unit=domain.unit) for end in ends)
        raise DomainError(
            f"a share is of a value of the domain, from {low} to {high}; those beyond were "
            "counted at its ends, if at all"
        )
    return int(domain.index([asked])[0])


def _of_label(domain: Any, asked: Any) -> int:
    """Return the number of a label; another one is not in its place."""
    if domain.name != "categories":
        return int(domain.index([asked])[0])
    listed = domain.listed
    whole = type(asked) is float and asked.is_integer()
    label = int(asked) if whole else getattr(asked, "item", lambda: asked)()
    if type(label) in (str, int) and label in listed:
        return int(domain.index([label])[0])
    said = f"{label!r:.{_SHOWN}}" if isinstance(label, str | int) else f"a {type(label).__name__}"
    if domain.other is not None:
        raise DomainError(
            f"there is no label {said} of its own; it is counted in {domain.other!r}, whose share "
            "is of all such values together"
        )
    near = "" if isinstance(domain.labels, int) else nearest(str(label), map(str, listed))
    raise DomainError(f"there is no label {said}{near}")
