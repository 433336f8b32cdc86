"""Dates, times of day and plain numbers, as the one kind of number that a domain works with.

=============  ==========================================  =======================
unit           the number                                  accepted beside numbers
=============  ==========================================  =======================
number         itself                                      -
date           days since 1970-01-01                       date, "2026-11-21"
datetime       seconds since 1970-01-01T00:00 UTC          datetime, "2026-11-21T09:30"
time-of-day    seconds since midnight, "24:00" is 86400    time, datetime, "09:30"
=============  ==========================================  =======================
"""

from __future__ import annotations

import datetime
import math
import re
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import DomainError

Unit = Literal["number", "date", "datetime", "time-of-day"]
UNITS = ("number", "date", "datetime", "time-of-day")

_DAY = 86_400
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")


def to_number(value: Any, *, unit: Unit, name: str) -> float:
    """Return one number, date or time as a float in the unit.

    Raises
    ------
    DomainError
        When it is of a wrong type or cannot be read. The message names it, not its value.
    """
    if isinstance(value, str) and unit != "number":
        value = _parse(value, unit=unit, name=name)
    if isinstance(value, bool) or not isinstance(
        value, int | float | np.integer | np.floating | datetime.date | datetime.time
    ):
        raise DomainError(f"{name} must be a {unit}, got a {type(value).__name__}")
    if isinstance(value, datetime.date | datetime.time):
        return _calendar_number(value, unit=unit, name=name)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _parse(text: str, *, unit: Unit, name: str) -> Any:
    clock = _CLOCK.fullmatch(text.strip())
    if unit == "time-of-day" and clock:
        hours, minutes, seconds = clock.groups(default="0")
        number = 3600 * int(hours) + 60 * int(minutes) + float(seconds)
        if number <= _DAY and int(minutes) < 60 and float(seconds) < 60:
            return number
    try:
        if unit == "date":
            return datetime.date.fromisoformat(text.strip())
        return datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        example = {"date": "2026-11-21", "datetime": "2026-11-21T09:30", "time-of-day": "09:30"}
        raise DomainError(f"{name} must be a {unit} such as {example[unit]}") from None


def _calendar_number(value: datetime.date | datetime.time, *, unit: Unit, name: str) -> float:
    if unit == "time-of-day" and isinstance(value, datetime.datetime | datetime.time):
        seconds = 3600 * value.hour + 60 * value.minute + value.second
        return seconds + value.microsecond / 1e6
    if unit == "datetime" and isinstance(value, datetime.date):
        if not isinstance(value, datetime.datetime):
            value = datetime.datetime(value.year, value.month, value.day)
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.UTC)
        return value.timestamp()
    if unit == "date" and isinstance(value, datetime.date):
        return float(value.toordinal() - datetime.date(1970, 1, 1).toordinal())
    raise DomainError(
        f"{name} must be a {unit}, got a {type(value).__name__}; "
        "declare the unit of the domain, for example unit='date'"
    )


def one_dimensional(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array of one dimension that holds at least one.

    Raises
    ------
    DomainError
        When empty, of another shape, or masked.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise DomainError(
            "values must be a plain array, a masked one hides which are missing; "
            "pass values.filled(np.nan)"
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise DomainError(
            "values must be one-dimensional, got lists of different lengths"
        ) from None
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # One text in a list made texts of all else: of numbers, whole numbers and NaN.
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise DomainError(f"values must be one-dimensional, got shape {array.shape}")
    if array.size == 0:
        raise DomainError("values must hold at least one value, got none")
    return array


def to_numbers(values: ArrayLike, *, unit: Unit) -> NDArray[np.float64]:
    """Return values as float64 [n]; missing ones (None, NaN, NaT) as NaN.

    Parameters
    ----------
    values : array_like [n]
        One-dimensional, at least one value. Not bool, not complex; texts only where the unit
        is not "number".

    Raises
    ------
    DomainError
        When empty, of another shape or of a wrong type; with the position of the first wrong
        value when only some are.

    Notes
    -----
    Numeric and datetime64 arrays take O(n) in NumPy; lists of Python objects a loop.
    """
    array = one_dimensional(values)
    kind = array.dtype.kind
    if kind in "iuf":
        return array.astype(np.float64, copy=False)
    if kind == "M" and unit != "number":
        return _from_datetime64(array, unit=unit)
    if kind in "OUS":
        return np.array(
            [_one_of_many(value, position, unit) for position, value in enumerate(array.tolist())]
        )
    hint = "; declare the unit of the domain, for example unit='date'" if kind == "M" else ""
    raise DomainError(f"values must be numbers, got an array of {array.dtype.name}{hint}")


def _one_of_many(value: Any, position: int, unit: Unit) -> float:
    if value is None:
        return float("nan")
    try:
        return to_number(value, unit=unit, name=f"the value at position {position}")
    except DomainError as error:
        raise DomainError(str(error), position=position) from None


def _from_datetime64(array: NDArray[Any], *, unit: Unit) -> NDArray[np.float64]:
    missing = np.isnat(array)
    # Microseconds overflow silently beyond the year 292277.
    far = ~missing & (np.abs(array.astype("datetime64[s]").astype(np.int64)) > 9 * 10**12)
    if far.any():
        position = int(np.argmax(far))
        raise DomainError(
            f"every value must lie within 280000 years of 1970, the one at position {position} "
            "does not",
            position=position,
        )
    microseconds = array.astype("datetime64[us]").astype(np.int64)
    if unit == "date":
        numbers = np.floor_divide(microseconds, _DAY * 10**6).astype(np.float64)
    elif unit == "datetime":
        numbers = microseconds / 1e6
    else:
        numbers = np.mod(microseconds, _DAY * 10**6) / 1e6
    numbers[missing] = np.nan
    return numbers


def to_text(number: float, *, unit: Unit) -> str:
    """Return a number of a domain as a person would write it.

    Examples
    --------
    >>> to_text(34_200, unit="time-of-day"), to_text(0, unit="date"), to_text(1234.5, unit="number")
    ('09:30:00', '1970-01-01', '1234.5')
    """
    if unit == "time-of-day":
        seconds = round(number)
        return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if unit == "number":
        return f"{number:.6g}" if abs(number) < 1e6 else f"{number:,.0f}".replace(",", "")
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(
        seconds=round(number * (_DAY if unit == "date" else 1))
    )
    return moment.date().isoformat() if unit == "date" else moment.isoformat()
