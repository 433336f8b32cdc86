"""Dates, times, durations and plain numbers, as the one kind of number that a domain works with.

=============  ==========================================  =======================
unit           the number                                  accepted alongside numbers
=============  ==========================================  =======================
number         itself                                      "12.5"
date           days since 1970-01-01                       date, "2026-11-21"
datetime       seconds since 1970-01-01T00:00 UTC          datetime, "2026-11-21T09:30"
time-of-day    seconds since midnight, "24:00" is 86400    time, datetime, timedelta, "09:30"
duration       seconds                                     timedelta, "1:30:00", "2 days 1:30:00"
=============  ==========================================  =======================

**Time zones.** A timestamp with a zone has the date and time of day of its own zone, whichever
library holds it. Where the unit is "datetime" it is the instant. A timestamp without a zone is read
as it is written. As an instant it is UTC. A date has no time of day.

**Each value is read on its own.** Its number depends on that value, the unit and the declared
reading of strings, never on other values. In the central model, a row that decided how others are
read would be worth more than the noise hides. So nothing here asks NumPy to find a common type of a
list. The fast methods for whole arrays give what the slow one gives for each element.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import DomainError, kind_of
from lapwing.linear.arrays import Values
from lapwing.protocol.domains.text_values import (
    DAY,
    EXAMPLES,
    NoClockError,
    Texts,
    Unit,
    calendar_number,
    check_texts,
    number_in_text,
)
from lapwing.protocol.domains.zoned_columns import as_local_time

UNITS = ("number", "date", "datetime", "time-of-day", "duration")

Unreadable = Literal["refuse", "missing"]
"""What becomes of a value that is no number of the unit."""


_FRAMES = ("DataFrame", "LazyFrame", "Table", "RecordBatch")
"""What holds columns and is none, though NumPy makes an array of some of them."""

_FLOATS = {int, float} | {
    np.dtype(code).type for code in np.typecodes["AllInteger"] + np.typecodes["Float"]
}


_MOST_SECONDS = 1e11
"""Seconds up to the year 5138. The milliseconds of any day since March 1973 are beyond."""


class _UnreadableError(Exception):
    """A value that is no number of the unit. Says what is wrong, without the value."""


def to_number(value: Any, *, unit: Unit, name: str) -> float:
    """Return one number, date or time as a float in the unit: an end of a domain, say.

    Raises DomainError when it is of a wrong type or cannot be read, or a string where numbers are.
    The message names it, not its value.
    """
    try:
        if value is None or (isinstance(value, str) and unit == "number"):
            hint = ". For dates and times pass unit=" if isinstance(value, str) else ""
            raise _UnreadableError(f"must be a {unit}, got {kind_of(value)}{hint}")
        number = _number(value, unit=unit, texts="iso")
    except _UnreadableError as error:
        raise DomainError(name, str(error)) from None
    check_day(value, unit=unit, name=name)
    return number


def check_day(value: Any, *, unit: Unit, name: str) -> None:
    """Raise DomainError when a typed date has a time of day, which a domain of dates would cut.

    Values of people are cut to their date. A limit that is cut would answer another question.
    """
    if unit != "date" or not isinstance(value, str):
        return
    try:
        clock = number_in_text(value, unit="time-of-day", texts="iso")
    except ValueError:  # a date alone has no time of day
        return
    if clock % DAY:
        raise DomainError(
            name,
            "must be a date without a time of day, because the unit is date",
            advice="Leave the time out, or declare a domain with unit='datetime' (--unit)",
        )


def is_missing(value: Any) -> bool:
    """Return whether a value says that there is none: None, NaN, NaT, or pandas' NA."""
    if value is None:
        return True
    try:
        if isinstance(value, Decimal):
            return value.is_nan()  # a signaling NaN cannot be compared
        return not isinstance(value, str) and bool(value != value)
    except TypeError:  # pandas.NA: neither true nor false
        return type(value).__name__ == "NAType"
    except Exception:  # an array, or an object that raises: whatever it is, it is something
        return False


def _number(value: Any, *, unit: Unit, texts: Texts) -> float:
    """Return the number that a value stands for, NaN for a missing one; _UnreadableError."""
    try:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if is_missing(value):
            return math.nan
        if isinstance(value, str):
            return number_in_text(value, unit=unit, texts=texts)
        if type(value).__name__ == "Period":
            value = np.int64(value.ordinal).view(f"M8[{_PERIODS[value.freqstr]}]")
        if isinstance(value, np.datetime64) and unit != "number":
            return float(numbers_of_timestamps(np.array([value]), unit=unit)[0])
        if isinstance(value, datetime.date | datetime.time) and unit != "number":
            return calendar_number(value, unit=unit)
        durations = datetime.timedelta | np.timedelta64
        if isinstance(value, durations) and unit in ("time-of-day", "duration"):
            return _number_of_duration(value, unit=unit)
        if isinstance(value, Decimal) or (
            isinstance(value, numbers.Real) and _is_plain(type(value))
        ):
            return _float(value)
    except TypeError:
        pass
    except _UnreadableError:
        raise
    except NoClockError as error:
        raise _UnreadableError(f"must be a {unit}: {error}") from None
    except Exception:  # classes of others (pandas' far moments) raise what they like
        raise _UnreadableError(f"must be a {unit} such as {EXAMPLES[unit]}") from None
    hint = ""
    if issubclass(type(value), datetime.date | datetime.time | np.datetime64):
        hint = ". Declare the unit of the domain, for example unit='date'"
    elif unit == "number" and issubclass(type(value), datetime.timedelta | np.timedelta64):
        hint = ". Declare the unit of the domain, unit='duration'"
    raise _UnreadableError(f"must be a {unit}, got {kind_of(value)}{hint}")


def _number_of_duration(value: datetime.timedelta | np.timedelta64, *, unit: Unit) -> float:
    """Return the seconds of a duration. Of one since midnight too: databases give clocks so."""
    if isinstance(value, np.timedelta64):
        seconds = float(_seconds_of_durations(np.array([value]), unit=unit)[0])
    else:
        since = value.days * DAY + value.seconds
        seconds = (since * 10**6 + value.microseconds) / 1e6
    if unit == "duration" and not math.isfinite(seconds):
        raise _UnreadableError("must be a duration, got months, years or ticks of no unit")
    if unit != "duration" and not 0 <= seconds <= DAY:
        raise _UnreadableError(
            "must be a time-of-day, got a duration that is negative or longer than a day"
        )
    return seconds


def _float(value: Any) -> float:
    try:
        with np.errstate(all="ignore"):
            return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def one_dimensional(values: Values) -> NDArray[Any]:
    """Return values as an array of one dimension, in which each is what it was.

    In NumPy's common type of a list, numbers next to a string become strings. Dates next to one of
    another precision overflow. So only lists of nothing but numbers are given to it.

    Raises DomainError when of another shape, or masked.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise DomainError(
            "values",
            "must be a plain array, because a masked one hides which values are missing",
            advice="Pass values.filled(np.nan)",
        )
    if isinstance(values, Sequence) and not isinstance(values, str | bytes | range):
        if len(values) and all(_is_float(kind) for kind in set(map(type, values))):
            return np.asarray(values)
        return np.fromiter(values, dtype=object, count=len(values))
    held: Any = values
    kind = type(held)
    if kind.__name__ in _FRAMES and kind.__module__.partition(".")[0] in ("polars", "pyarrow"):
        raise DomainError(
            "values",
            "must be one-dimensional",
            f"a {kind.__name__}",
            "Pass one column of the table, or pass the whole table to lapwing.engines.arrow "
            "with column=",
        )
    shape = getattr(held, "shape", ())
    if isinstance(shape, tuple) and len(shape) == 2 and hasattr(held, "columns"):
        # Before NumPy sees it, for some tables cannot be gone through row by row.
        raise DomainError(
            "values", "must be one-dimensional", f"shape {shape}", "Pass one column of the table"
        )
    array = _array_of(held)
    if array.ndim > 1 and getattr(held, "ndim", 1) == 1 and hasattr(held, "__len__"):
        # A column of lists, which NumPy made a table of because all are of one length.
        array = np.fromiter(held, dtype=object, count=len(held))
    if array.ndim == 0:
        raise DomainError("values", "must be a list or an array", _what_it_is(values))
    if array.ndim != 1:
        raise DomainError("values", "must be one-dimensional", f"shape {array.shape}")
    return array


def _what_it_is(values: Any) -> str:
    """Say what came instead of a list, and what to do."""
    kind = type(values).__name__
    if isinstance(values, set | frozenset):
        return f"a {kind}, which keeps each value once. Put every person's value in a list"
    if isinstance(values, Mapping):
        return f"a {kind}. Pass list(...) of its values"
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | np.ndarray):
        return f"a {kind}, which can be read only once. Pass list(...) of it"
    return "one value alone. Put it in a list: [value]"


def _is_plain(kind: type) -> bool:
    # NumPy takes a duration for a whole number, and Python a truth value.
    return issubclass(kind, numbers.Real) and not issubclass(kind, bool | np.bool_ | np.timedelta64)


def _is_float(kind: type) -> bool:
    """Return whether NumPy makes floats of such numbers, as the loop does.

    Not of classes derived from them: their ways to become a float may fail, and do so for all.
    """
    return kind in _FLOATS


def _array_of(values: Any) -> NDArray[Any]:
    """Return a container's own array. Where it cannot make one, each row on its own.

    Some make Python's dates, and fail at one beyond the year 9999: that one row is unreadable.
    """
    if _is_wide(values):
        return np.fromiter(values.to_list(), dtype=object, count=len(values))
    try:
        return np.asarray(values)
    except Exception:
        if not hasattr(values, "__len__"):
            raise
    cells = np.full(len(values), object(), dtype=object)
    for position in range(len(values)):
        with contextlib.suppress(Exception):
            cells[position] = np.asarray(values[position : position + 1])[0]
    return cells


def check_plain_number(value: Any, *, domain: Any) -> None:
    """Refuse a number that may be of another scale, before a person pays for an answer.

    A number for a time of day may be hours, minutes or seconds. Milliseconds in place of seconds
    would lie far outside, or be clipped. A curator counts such numbers as they are, because an
    error would reveal something about a row.

    value: Value of one person.
    domain: The survey's domain.

    Raises DomainError when the value is a plain number and the unit "date" or "time-of-day". If it
    is "datetime", only when the number is beyond 10^11 and the domain does not reach so far. As
    seconds it is a year after 5138, or before -1199.
    """
    if hasattr(domain, "domains"):  # a pair
        for (name, axis), (own,) in zip(domain.axes.items(), domain.columns([value]), strict=True):
            try:
                check_plain_number(own, domain=axis)
            except DomainError as error:
                raise DomainError(f"axis {name}: {error}") from None
    unit = getattr(domain, "unit", "number")
    plain = isinstance(value, Decimal) or _is_plain(type(value))
    if not plain or is_missing(value):
        return
    if unit in ("date", "time-of-day"):
        raise DomainError(
            f"a {unit} must not be a plain number on a device, because the number does not say its "
            f'unit. Write it as a string, such as "{EXAMPLES[unit]}"'
        )
    number = abs(_float(value))
    beyond = _MOST_SECONDS < number < math.inf
    if unit == "datetime" and beyond and max(-domain.low, domain.high) <= _MOST_SECONDS:
        raise DomainError(
            "a datetime given as a number must be seconds since 1970, but this one exceeds "
            "10^11. Pass the datetime itself, or divide milliseconds by 1000"
        )


def check_some(array: NDArray[Any]) -> None:
    """Raise DomainError when there is no value."""
    if array.size == 0:
        raise DomainError("values", "must contain at least one value", "none")


def to_numbers(
    values: Values,
    *,
    unit: Unit,
    texts: Texts = "iso",
    unreadable: Unreadable = "refuse",
    faults: list[int] | None = None,
) -> NDArray[np.float64]:
    """Return values as float64 [n], and missing ones (None, NaN, NaT) as NaN.

    values: One-dimensional: numbers (also Decimal and Fraction), texts, and where the unit is not
        "number" dates and times. Of any types alongside each other.
    unit: Of the domain.
    texts: How strings of dates and times are read: :mod:`lapwing.protocol.domains.text_values`.
    unreadable: Treatment of a value that is no number of the unit, such as a truth value or another
        string.
    faults: Gets the positions of such values where they are missing.

    Raises DomainError when of another shape. Where unreadable values are refused, with the position
    of the first.
    Raises ArgumentError when `texts` says days or seconds of plain numbers.

    Numeric and datetime64 arrays, and lists of numbers and None, take O(n) in NumPy. Other Python
    objects take a loop, of about a microsecond each.

    >>> to_numbers(["1970-01-02", "tomorrow"], unit="date", unreadable="missing").tolist()
    [1.0, nan]
    """
    check_texts(texts, unit)
    if isinstance(values, list | tuple):
        kinds = set(map(type, values))
        if kinds and all(_is_float(kind) or kind is type(None) for kind in kinds):
            try:
                with np.errstate(all="ignore"):
                    return np.array(values, dtype=np.float64)
            except OverflowError:  # a whole number beyond the floats, which the loop clips
                pass
    if unit in ("date", "time-of-day"):
        values = as_local_time(values, name="the values")
    values = _plain_column(values)
    nullable = _nullable_numbers(values)
    if nullable is not None:
        return nullable
    array = one_dimensional(values)
    kind = array.dtype.kind
    if kind in "iuf":
        with np.errstate(all="ignore"):
            return array.astype(np.float64, copy=False)
    if kind == "m" and unit in ("time-of-day", "duration"):
        seconds = _seconds_of_durations(array, unit=unit)
        day = (seconds >= 0) & (seconds <= DAY)
        if np.all((np.isfinite(seconds) if unit == "duration" else day) | np.isnat(array)):
            return seconds
        return _each(array, unit=unit, texts=texts, unreadable=unreadable, faults=faults)
    calendar = kind == "M" and unit != "number"
    if calendar:
        with contextlib.suppress(NoClockError):  # told below, of the first that is not missing
            return numbers_of_timestamps(array, unit=unit)
    if kind in "OUS" or unreadable == "missing" or calendar:
        return _each(array, unit=unit, texts=texts, unreadable=unreadable, faults=faults)
    hint = ". Declare the unit of the domain, for example unit='date'" if kind == "M" else ""
    raise DomainError("values", "must be numbers", f"an array of {array.dtype.name}{hint}")


WIDE_INTEGERS = ("Int128", "UInt128")
"""Types of polars that neither NumPy nor Arrow has."""

_PERIODS = {"D": "D", "h": "h", "min": "m", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}
"""Periods of pandas of a day or less, and the ticks that NumPy has of the same length."""


def _is_wide(values: Any) -> bool:
    """Return whether values are a column of polars' 128-bit integers, which NumPy has not."""
    polars = type(values).__module__.partition(".")[0] == "polars"
    return polars and str(getattr(values, "dtype", "")) in WIDE_INTEGERS


def period_ticks(values: Any) -> Any:
    """Return a column of pandas' periods as datetime64. None where a period is longer than a day.

    A period is where it begins. Of a longer one nobody says which day is meant.
    """
    ticks = _PERIODS.get(values.dtype.freq.freqstr)
    return None if ticks is None else getattr(values, "array", values).asi8.view(f"M8[{ticks}]")


def _plain_column(values: Any) -> Any:
    """Return 128-bit integers of polars as floats, and periods of pandas by their ticks."""
    kind: Any = getattr(values, "dtype", None)
    if _is_wide(values):
        return values.cast(type(values)([0.5]).dtype)
    if (
        type(values).__module__.partition(".")[0] == "pandas"
        and type(kind).__name__ == "PeriodDtype"
    ):
        ticks = period_ticks(values)
        return values if ticks is None else ticks
    return values


def _nullable_numbers(values: Any) -> NDArray[np.float64] | None:
    """Return a column of pandas' numbers that may be missing. None of anything else.

    NumPy would be given a Python object for each, where any is missing.
    """
    kind = getattr(values, "dtype", None)
    if type(values).__module__.partition(".")[0] != "pandas" or isinstance(kind, np.dtype):
        return None
    named = type(kind).__name__
    plain = named == "ArrowDtype" or named.startswith(("Int", "UInt", "Float"))
    # Intervals are none, and neither are Arrow's decimals, dates and truth values.
    if not plain or named == "IntervalDtype" or getattr(kind, "kind", "") not in ("i", "u", "f"):
        return None
    with np.errstate(all="ignore"):
        numbers: NDArray[np.float64] = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def _each(
    array: NDArray[Any],
    *,
    unit: Unit,
    texts: Texts,
    unreadable: Unreadable,
    faults: list[int] | None,
) -> NDArray[np.float64]:
    found = np.full(array.shape, np.nan)
    # Not tolist(), which makes whole numbers of moments in nanoseconds.
    cells = array if array.dtype.kind in "mM" else array.tolist()
    for position, value in enumerate(cells):
        try:
            found[position] = _number(value, unit=unit, texts=texts)
        except _UnreadableError as error:
            if unreadable == "refuse":
                raise DomainError(
                    f"the value at position {position} {error}", position=position
                ) from None
            if faults is not None:
                faults.append(position)
    return found


def to_text(number: float, *, unit: Unit) -> str:
    """Return a number of a domain as a person would write it.

    >>> to_text(34_200, unit="time-of-day"), to_text(0, unit="date"), to_text(1234.5, unit="number")
    ('09:30:00', '1970-01-01', '1234.5')
    """
    if unit == "time-of-day":
        clock = round(number)
        return f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
    if unit == "duration" and abs(number) < 1e15:
        ticks = round(float(number) * 10**6)
        whole, part = divmod(abs(ticks), 10**6)
        text = f"{'-' * (ticks < 0)}{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
        return f"{text}.{part:06d}".rstrip("0") if part else text
    if unit in ("number", "duration"):
        return f"{number:.6g}" if abs(number) < 1e6 else f"{number:,.0f}".replace(",", "")
    seconds = number * (DAY if unit == "date" else 1)
    if abs(seconds) > 1e18:  # no calendar reaches there
        return f"{number:.6g}"
    moment = np.datetime64(round(seconds), "s")
    return str(moment.astype("datetime64[D]") if unit == "date" else moment)


# Seconds in a tick as a fraction. What is finer than a microsecond is cut off before.
_TICK = {
    "W": (7 * DAY, 1),
    "D": (DAY, 1),
    "h": (3600, 1),
    "m": (60, 1),
    "s": (1, 1),
    "ms": (1, 10**3),
    "us": (1, 10**6),
}
_FINER = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}

_MOST_YEARS = 2**40
"""Years and months up to here have their number of days in 64 bits, with room."""

_MOST_TICKS = 2**63 - 1


def numbers_of_timestamps(array: NDArray[Any], *, unit: Unit) -> NDArray[np.float64]:
    """Return datetime64 [n] as numbers of a unit that has dates or times: float64 [n].

    NaT is NaN. Nothing is first brought to a common precision, where far years would overflow. A
    year beyond 10^12 is infinite, and all others are exact to the microsecond or to a float.

    Raises NoClockError when the unit is "time-of-day", and the precision a day or more.
    """
    missing = np.isnat(array)
    kind, count = np.datetime_data(array.dtype)
    if kind == "generic":  # only NaT has no precision
        return np.full(array.shape, np.nan)
    if unit == "time-of-day" and kind in ("Y", "M", "W", "D"):
        raise NoClockError
    ticks = array.astype(array.dtype.newbyteorder("="), copy=False).view(np.int64)
    steps = {"Y": 1, "M": 12}.get(kind)
    most = _MOST_TICKS // count if steps is None else _MOST_YEARS * steps // count
    far = np.where(ticks > most, np.inf, np.where(ticks < -most, -np.inf, 0.0))
    ticks = np.where(missing | (far != 0), 0, ticks) * count
    if steps is not None:
        ticks = ticks.view(f"datetime64[{kind}]").astype("datetime64[D]").view(np.int64)
        kind = "D"
    if kind in _FINER:
        ticks = ticks // _FINER[kind]
        kind = "us"
    numbers = _ticks_in_unit(ticks, *_TICK[kind], unit=unit)
    numbers[missing] = np.nan
    return numbers + far


def _seconds_of_durations(array: NDArray[Any], *, unit: Unit) -> NDArray[np.float64]:
    """Return timedelta64 [n] as seconds, cut to microseconds: float64 [n].

    NaT is NaN. Months and what has no unit are infinite. So is what is far beyond a day, of a time
    of day. A duration of more than about 146 years in nanoseconds is not cut.
    """
    kind, count = np.datetime_data(array.dtype)
    finer, kind = _FINER.get(kind, 1), "us" if kind in _FINER else kind
    if kind not in _TICK:
        return np.where(np.isnat(array), np.nan, np.inf)
    seconds, parts = _TICK[kind]
    ticks = array.astype(array.dtype.newbyteorder("="), copy=False).view(np.int64)
    floats = ticks.astype(np.float64) * count * seconds
    duration = unit == "duration"
    far = np.abs(floats) > (2.0**62 if duration else 2.0 * DAY * parts * finer)
    beyond = floats / (parts * finer) if duration else np.inf
    near = np.where(far, 0, ticks) * count // finer * seconds / parts
    return np.where(np.isnat(array), np.nan, np.where(far, beyond, near))


def _ticks_in_unit(
    ticks: NDArray[np.int64], seconds: int, parts: int, *, unit: Unit
) -> NDArray[np.float64]:
    """Return ticks of ``seconds / parts`` seconds each, one of the two being 1, in a unit."""
    if unit == "datetime":
        return ticks.astype(np.float64) * seconds / parts
    if seconds >= DAY:  # days or weeks, which have dates only
        return ticks.astype(np.float64) * (seconds // DAY)
    a_day = DAY * parts // seconds
    if unit == "date":
        return (ticks // a_day).astype(np.float64)
    return np.mod(ticks, a_day).astype(np.float64) * seconds / parts
