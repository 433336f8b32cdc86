"""The symbols of a domain: what they stand for, and one number for each of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import nearest
from lapwing.errors import ArgumentError, DomainError, kind_of
from lapwing.linear.arrays import Values, Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.label_text import place_of
from lapwing.protocol.domains.ranges import held_values, to_points, to_values
from lapwing.protocol.domains.units import is_missing, to_text
from lapwing.results.uncertainty import Among

MISSING_KEY, AT_UPPER_END = "missing", "upper end"
"""In the provenance of a result: the missing were counted at the upper end, and are not seen."""

MISSING_UNSEEN = "not known: counted at the upper end"
"""What stands for the share of the missing there."""


MEASURED_KEY = "measured_in"
"""In the provenance of a result: the unit of measurement of its numbers."""


def measured_in(result: Any) -> str | None:
    """Return the unit of measurement of the numbers of a result. None where none was stated."""
    unit = result.provenance.get(MEASURED_KEY)
    return unit if isinstance(unit, str) and unit.isprintable() else None


def missing_unseen(result: Any) -> bool:
    """Return whether a result cannot tell missing values from those at the upper end."""
    return bool(result.provenance.get(MISSING_KEY) == AT_UPPER_END)


def missing_share(result: Any) -> float:
    """Return the share of people whose value is missing, 0 where a domain does not count them."""
    return 0.0 if result.domain.missing_index is None else float(result.mass[-1])


def in_numbers(result: Any) -> Any:
    """Return the same distribution of plain numbers, of days or seconds: all answers are floats."""
    if result.domain.unit == "number":
        return result
    return replace(result, domain=replace(result.domain, unit="number"))


def values_of(domain: Domain, symbols: NDArray[np.int64]) -> list[Any]:
    """Return labels, whole numbers, or left ends of bins. None for the missing symbol.

    symbols: int64, in 0..domain.size - 1.
    """
    missing = domain.missing_index
    if domain.ordered:
        named = domain.left.item
    else:
        named = domain.listed.__getitem__  # type: ignore[attr-defined]  # all without order list
    return [None if symbol == missing else named(symbol) for symbol in symbols.tolist()]


def drawn_values(
    domain: Domain, mass: Vector, size: int, generator: np.random.Generator
) -> NDArray[Any]:
    """Return values of a domain drawn with these masses, evenly inside bins, in its unit: [size].

    Missing ones are NaN, NaT, or None alongside strings.
    """
    symbols = generator.choice(mass.size, size=size, p=mass)
    if not domain.ordered:
        return np.array(values_of(domain, symbols), dtype=object)
    left, right = held_values(domain)
    known = np.minimum(symbols, left.size - 1)
    part = generator.random(size)
    if domain.whole:
        values = left[known] + np.floor(part * (right - left + 1)[known])
    else:
        values = left[known] + part * (right - left)[known]
    drawn: NDArray[Any] = to_values(np.where(symbols < left.size, values, np.nan), domain)
    return drawn


def counts_of_values(values: Values, domain: Domain) -> tuple[NDArray[np.int64], Domain]:
    """Return how many of these values each symbol has, and the domain that counts them.

    That is the domain of a curator: values outside have symbols of their own. Missing ones count
    where the domain counts them.
    """
    whole: Any = domain.for_curator()
    counts = np.bincount(whole.index_or_missing(values), minlength=whole.size)
    if domain.missing_index is None:
        counts[whole.missing_index] = 0
    return counts, whole


_SHOWN = 60
"""Characters of an unknown label that a message repeats."""


def asked_symbol(domain: Domain, asked: Any) -> int:
    """Return the number of the symbol that a share is asked of.

    asked: A label, a number, date or time of the domain. None for the missing symbol.

    Raises DomainError when it is none of them.

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
    number = to_points(asked, unit=domain.unit, name="the value of a share")
    if number.ndim:
        raise ArgumentError("a share takes one value, got several")
    ends = domain.left[0], domain.right[-1]
    if domain.circular and not math.isfinite(float(number)):
        raise DomainError("a share takes a value of the domain. No point of a circle is infinite")
    beyond = not ends[0] <= float(number) <= ends[1]
    if beyond and not domain.circular and not domain.outside_indices:
        low, high = (to_text(float(end), unit=domain.unit) for end in ends)
        fate = "counted at its ends" if domain.open_ended else "refused"
        raise DomainError(
            f"a share takes a value of the domain, from {low} to {high}. Values beyond it were "
            f"{fate}"
        )
    return int(domain.index([asked])[0])


def share_symbol(result: Any, label: Any, among: Among) -> int:
    """Return the number of the symbol of a result that a share is asked of.

    label: As for :func:`asked_symbol`.
    among: Of whom the share is.

    Raises ArgumentError when the share of missing values is asked among those whose value is
    present, or of a mechanism that does not know it. Also when `among` is another word.
    Raises DomainError when the label is none of the domain.
    """
    if among not in ("all", "present"):
        raise ArgumentError("among", "must be 'all' or 'present'", repr(among))
    symbol, missing = asked_symbol(result.domain, label), result.domain.missing_index
    if among == "present" and symbol == missing:
        raise ArgumentError(
            "missing values are not among the present ones. Ask for the missing share among='all'"
        )
    if symbol == missing and missing_unseen(result):
        raise ArgumentError(
            f"the share of missing values is {MISSING_UNSEEN} by this mechanism. To get it, "
            "release with another one, such as prefix sums"
        )
    return symbol


def _of_label(domain: Any, asked: Any) -> int:
    """Return the number of a label. Another one is not in its place."""
    if domain.name != "categories":
        return int(domain.index([asked])[0])
    listed = domain.listed
    whole = type(asked) is float and asked.is_integer()
    label = int(asked) if whole else getattr(asked, "item", lambda: asked)()
    if isinstance(label, str) and label not in listed:
        texts = [each for each in listed if isinstance(each, str)]
        place = place_of(label, texts)
        label = label if place is None else texts[place]
    if type(label) in (str, int) and label in listed:
        return int(domain.index([label])[0])
    said = f"{label!r:.{_SHOWN}}" if isinstance(label, str | int) else kind_of(label)
    if domain.other is not None:
        raise DomainError(
            f"{said} is not a separate label. It is counted in {domain.other!r}, whose share "
            "covers all such values"
        )
    near = "" if isinstance(domain.labels, int) else nearest(str(label), map(str, listed))
    raise DomainError(f"there is no label {said}{near}")
