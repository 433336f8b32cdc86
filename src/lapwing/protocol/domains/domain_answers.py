"""Questions and answers in the unit of a domain: what is asked as numbers, what is said as dates.

===========  =====================================  ==========================================
unit         a question may be                      an answer is
===========  =====================================  ==========================================
number       a number                               a float
date         a date, "2026-11-21", datetime64       numpy.datetime64[D], the day it falls on
datetime     a datetime, its text, datetime64       numpy.datetime64[us], UTC without a zone
time-of-day  a time, a datetime, "09:30"            the text "09:30:00", with microseconds
                                                    where there are any. "24:00:00" is the end
duration     a timedelta, timedelta64, "1:30:00"    the text "1:30:00", with the digits of a
                                                    fraction where there is one
===========  =====================================  ==========================================

A value outside the range of a domain is ``inf`` or ``-inf`` in every unit. A time of day is a
string because the end of the day is a time of day that Python's `time` does not have. Every answer
can be asked again. Plain numbers (days, seconds) are understood as well.

"At most 30 June" is a statement about a day, and that day is part of it. Where bins are closed on
the left, ``[a, b)``, as those of dates are, it covers the bins that end when the day does. So a
date (also as a string or datetime64) means all values before the day after it. A quantile is the
day on which it falls. A plain number of days stays a point on the line, as every other number.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Values, Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import check_day, one_dimensional, to_numbers, to_text

_MICROSECONDS = 10**6

_REACH = {"date": 2.0**62, "datetime": 2.0**62 / _MICROSECONDS}
"""How far a domain may reach, in its numbers, so that datetime64 holds all of its answers."""


def to_points(points: Values, *, unit: Unit, name: str = "a point") -> NDArray[np.float64]:
    """Return what is asked about as numbers of the unit, in the shape in which it was given.

    points: One value, or an array or list of them: numbers, and where the unit is not "number"
        dates, times or their strings. NaN and None give NaN.
    unit: Of the domain.
    name: Name of a single value in messages.

    Raises DomainError when one cannot be read in this unit.

    >>> to_points(["00:01", "24:00"], unit="time-of-day").tolist()
    [60.0, 86400.0]
    """
    array = _as_array(points)
    if array is None:
        return to_numbers(points, unit=unit)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    for one in array.flat if unit == "date" and array.dtype.kind in "OUS" else ():
        check_day(one, unit=unit, name=name)
    try:
        return to_numbers(array.reshape(-1), unit=unit).reshape(array.shape)
    except DomainError as error:
        if array.ndim:
            raise
        message = str(error).replace("the value at position 0 ", f"{name} ")
        raise DomainError(message) from None


def _as_array(points: Any) -> NDArray[Any] | None:
    """Return points as an array of their shape. None for a column, which is read as values are."""
    if isinstance(points, np.ndarray | np.generic):
        return np.asarray(points)
    if isinstance(points, list | tuple | range):
        try:
            array = np.asarray(points)
        except ValueError:  # rows of several lengths
            array = np.empty(0, dtype=object)
        plain = array.dtype.kind in "iuf" and array.size
        return array if plain else one_dimensional(points)
    if isinstance(points, numbers.Number | str | bytes) or not hasattr(points, "__len__"):
        single = np.empty((), dtype=object)
        single[()] = points
        return single
    return None


def check_range(low: float, high: float, *, unit: Unit = "number") -> None:
    """Raise ArgumentError unless low is at most high, and both are numbers."""
    if math.isnan(low) or math.isnan(high):
        raise ArgumentError("a range must have two numbers as its ends, but one is not a number")
    if low > high:
        ends = (
            to_text(end, unit=unit) if math.isfinite(end) else f"{end:g}" for end in (low, high)
        )
        raise ArgumentError(
            "a range must begin before it ends, got {} and {}. Exchange them".format(*ends)
        )


def to_values(found: ArrayLike, domain: Domain) -> Any:
    """Return numbers on the line of a domain as what they stand for: see the table above.

    One for one: an array of datetime64, of strings (of objects, None for NaN), or of floats.
    Numbers stay where the domain reaches further than datetime64.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> day = Interval("00:00", "24:00", bins=24, unit="time-of-day")
    >>> to_values(34_200.25, day), to_values([0, 86_400], day).tolist()
    ('09:30:00.250000', ['00:00:00', '24:00:00'])
    """
    array = np.asarray(found, dtype=np.float64)
    unit = domain.unit
    if unit == "number":
        return array[()]
    if np.isinf(array).any():  # beyond the range, which no date or time says
        said = [each if math.isinf(each) else to_values(each, domain) for each in array.flat]
        return np.fromiter(said, dtype=object, count=array.size).reshape(array.shape)[()]
    if unit in ("time-of-day", "duration"):
        texts = [None if np.isnan(number) else _clock(number, unit) for number in array.flat]
        return np.fromiter(texts, dtype=object, count=array.size).reshape(array.shape)[()]
    if max(abs(float(domain.left[0])), abs(float(domain.right[-1]))) > _REACH[unit]:
        return array[()]
    missing = np.isnan(array)
    known = np.where(missing, 0.0, array)
    ticks = np.floor(known) if unit == "date" else np.rint(known * _MICROSECONDS)
    moments = ticks.astype(np.int64).view("M8[D]" if unit == "date" else "M8[us]")
    return np.where(missing, np.datetime64("NaT"), moments)[()]


def _clock(seconds: float, unit: Unit) -> str:
    if unit == "duration":
        return to_text(seconds, unit=unit)
    whole, part = divmod(round(seconds * _MICROSECONDS), _MICROSECONDS)
    text = to_text(whole, unit="time-of-day")
    return f"{text}.{part:06d}" if part else text


def to_interval(ends: tuple[float, float], domain: Domain) -> tuple[Any, Any]:
    """Return the two ends of an interval in its unit. Plain numbers stay floats."""
    if domain.unit == "number":
        return ends
    return to_values(ends[0], domain), to_values(ends[1], domain)


_DAY = 1.0

_INSTANT = 1e-6
"""A part of a day that is rounding: under a second."""


@dataclass(frozen=True, eq=False)
class Places:
    """Points on the line, each asked with those who hold just it, or without them.

    points: float64, of any shape.
    before: bool, of the same shape: P(value < point) is asked, not P(value <= point).
    """

    points: Vector
    before: NDArray[np.bool_]


def to_places(
    points: Any, domain: Domain, *, name: str = "a point", before: bool = False
) -> Places:
    """Return the points of a CDF, with the DomainError of :func:`to_points`.

    name: Name of a single point in messages.
    before: Whether P(value < point) is asked, not P(value <= point).

    >>> from lapwing.protocol.domains.interval import Interval
    >>> year = Interval("1970-01-01", "1971-01-01", bins=365, unit="date")
    >>> asked = to_places(["1970-01-02", 1], year)
    >>> asked.points.tolist(), asked.before.tolist()
    ([2.0, 1.0], [True, False])
    """
    found = to_points(points, unit=domain.unit, name=name)
    if not has_whole_days(domain):
        return Places(found, np.full(found.shape, before))
    days = _are_days(points, found.shape)
    if before:
        return Places(np.where(days, np.floor(found), found), np.ones_like(days))
    return Places(np.where(days, np.floor(found) + _DAY, found), days)


def has_whole_days(domain: Domain) -> bool:
    """Return whether the values are dates whose bins begin with a day, as they do by default."""
    return domain.unit == "date" and domain.closed == "left"


def to_days(found: ArrayLike, domain: Domain) -> Vector:
    """Return the days on which quantiles fall where a domain has whole days, else the quantiles.

    The first day D with P(date <= D) of at least p. A quantile at a day's very start falls on the
    day before, by whose end that many had their date.
    """
    array: Vector = np.asarray(found, dtype=np.float64)
    if not has_whole_days(domain):
        return array[()]
    days = np.ceil(array - _INSTANT) - _DAY
    first: Vector = np.where(np.isinf(array), array, np.maximum(days, np.floor(domain.left[0])))
    return first[()]


def _are_days(points: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which of the points are dates, and no numbers."""
    kind = getattr(getattr(points, "dtype", None), "kind", "O")
    if isinstance(points, list | tuple | range) and shape != (len(points),):
        return np.zeros(shape, dtype=np.bool_)  # a table, which only numbers make
    if kind in "iufM":
        return np.full(shape, kind == "M")
    cells = points.ravel() if isinstance(points, np.ndarray) else points if shape else [points]
    days = [not isinstance(cell, numbers.Number | np.number) for cell in cells]
    return np.array(days, dtype=np.bool_).reshape(shape)
