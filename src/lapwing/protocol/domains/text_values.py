"""Parsing of strings, each on its own, as a number, a date or a time.

=========  ==================================================================
texts      a string of a date, a moment or a time of day is
=========  ==================================================================
iso        written as ISO 8601 has it: "2026-11-21", "2026-11-21T09:30+01:00",
           "-0043-03-15", or as BigQuery does: "2026-11-21 09:30:00 UTC". T24:00 is the
           midnight that ends the day. Of a time of day also "9:30" and "24:00", but no
           date alone. Of a duration "1:30:00" (hours, minutes, seconds), "2 days
           1:30:00" or "PT1H30M"
days       a number of days, since 1970-01-01 or since midnight
seconds    a number of seconds, since 1970-01-01T00:00 UTC or since midnight
=========  ==================================================================

Texts of plain numbers are decimal numbers, whatever is declared. How a string is read is declared
and never guessed: a guess from other rows would let one row decide what all others mean.
"""

from __future__ import annotations

import datetime
import math
import re
from typing import Literal, get_args

from lapwing.errors import ArgumentError

Unit = Literal["number", "date", "datetime", "time-of-day", "duration"]
Texts = Literal["iso", "days", "seconds"]
TEXTS = ("iso", "days", "seconds")
Decimal = Literal[".", ","]
"""What stands before the fraction of a number in a string."""
Thousands = Literal[",", ".", "'", " "]
"""Mark between groups of digits of a number in a string."""

DAY = 86_400
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

EXAMPLES = {
    "number": "12.5",
    "date": "2026-11-21",
    "datetime": "2026-11-21T09:30",
    "time-of-day": "09:30",
    "duration": "1:30:00 (hours, minutes, seconds)",
}

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?", re.ASCII)

# As Python, pandas and databases write durations, and as ISO 8601 has them. 1:30 could be hours or
# minutes, and no month has a length.
_DURATION = re.compile(
    r"(?:(?P<days>[+-]?\d{1,5}) days?(?:,? |$))?"
    r"(?:(?P<sign>[+-]?)(?P<hours>\d{1,6}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d)"
    r"(?:\.(?P<parts>\d+))?)?",
    re.ASCII,
)
_ISO_DURATION = re.compile(
    r"(?P<all>[+-]?)P(?=.)(?:(?P<weeks>\d{1,4})W)?(?:(?P<days>\d{1,5})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,8})M)?"
    r"(?:(?P<seconds>\d{1,9})(?:[.,](?P<parts>\d+))?S)?)?",
    re.ASCII,
)

# What all versions of Python read alike: they differ in hour 24 and in zones of 60 minutes or more.
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d|\d{8}|\d{4}-W\d\d(-\d)?|\d{4}W\d{2,3})"
    r"(?P<clock>[Tt ](?P<hour>\d\d)"
    r"(?P<rest>(:[0-5]\d(:[0-5]\d([.,]\d+)?)?|[0-5]\d([0-5]\d([.,]\d+)?)?)?)"
    r"(?P<zone>Z|[+-]([01]\d|2[0-3])(:[0-5]\d(:[0-5]\d)?|[0-5]\d([0-5]\d)?)?)?)?",
    re.ASCII,
)

# Years that Python's dates do not have. The calendar repeats after 400 years.
_FAR_YEAR = re.compile(r"([+-]\d{4,12}|\d{5,12}|0000)(-\d{2}-\d{2}.*)", re.ASCII | re.DOTALL)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


class NoClockError(ValueError):
    """A date where a time of day is wanted: it would silently be midnight."""

    def __init__(self) -> None:
        super().__init__(
            "a date has no time of day. Pass timestamps or times, or declare unit='date' (--unit)"
        )


def check_texts(texts: str, unit: str) -> None:
    """Raise ArgumentError unless the texts of such a domain may be read so."""
    if texts not in TEXTS:
        raise ArgumentError("texts", f"must be one of {', '.join(TEXTS)}", repr(texts))
    if unit == "number" and texts != "iso":
        raise ArgumentError(
            "texts",
            f"{texts!r} is for domains of dates and times",
            advice="Declare the domain's unit, or leave it out: strings of plain numbers and "
            "labels are read as they are",
        )


def check_marks(decimal: str | None, thousands: str | None) -> None:
    """Raise ArgumentError unless a number may have both marks."""
    if decimal not in (None, *get_args(Decimal)):
        raise ArgumentError("decimal", "must be , or . (one mark)", repr(decimal))
    if thousands not in (None, *get_args(Thousands)):
        raise ArgumentError(
            "thousands", "must be , or . or ' or a space (one mark)", repr(thousands)
        )
    if thousands is not None and thousands == decimal:
        other = "," if thousands == "." else "."
        raise ArgumentError(
            "thousands",
            f"and decimal must be different marks, but both are {thousands}",
            advice=f"If fractions begin with the other mark, use decimal={other!r}",
            others=("decimal",),
        )


def number_in_text(text: str, *, unit: Unit, texts: Texts) -> float:
    """Return the number of a string in the domain's unit, or raise ValueError.

    >>> number_in_text("1970-01-03", unit="date", texts="iso")
    2.0
    >>> number_in_text("2", unit="datetime", texts="days")
    172800.0
    """
    text = text.strip()
    if unit == "number" or texts != "iso":
        return _in_unit(_decimal(text), unit=unit, texts=texts)
    return _iso(text, unit=unit)


def _decimal(text: str) -> float:
    if "_" in text:  # which Python takes for a separator of thousands
        raise ValueError
    return float(text)


def _in_unit(number: float, *, unit: Unit, texts: Texts) -> float:
    if unit == "date" and texts == "seconds":
        return number // DAY if math.isfinite(number) else number
    if unit in ("datetime", "time-of-day", "duration") and texts == "days":
        return number * DAY
    return number


def _iso(text: str, *, unit: Unit) -> float:
    clock = _CLOCK.fullmatch(text)
    if unit == "time-of-day" and clock:
        hours, minutes, seconds = clock.groups(default="0")
        number = 3600 * int(hours) + 60 * int(minutes) + float(seconds)
        if number <= DAY and int(minutes) < 60 and float(seconds) < 60:
            return number
        raise ValueError
    if unit == "duration":
        return _seconds(text)
    cycles = 0
    if text.endswith(" UTC"):
        text = f"{text.removesuffix(' UTC')}Z"
    far = _FAR_YEAR.fullmatch(text)
    if far:
        cycles, year = divmod(int(far[1]) - 2000, _CYCLE_YEARS)
        text = f"{2000 + year}{far[2]}"
    found = _MOMENT.fullmatch(text)
    if not found:
        raise ValueError
    if unit == "time-of-day" and not found["clock"]:
        datetime.date.fromisoformat(text)
        raise NoClockError
    days = cycles * _CYCLE_DAYS
    if found["hour"] == "24":
        if found["rest"].strip(":.,0"):
            raise ValueError
        days += 1
        text = f"{text[: found.start('hour')]}00{text[found.end('hour') :]}"
    number = calendar_number(datetime.datetime.fromisoformat(text), unit=unit)
    return number + {"date": days, "datetime": days * DAY}.get(unit, 0)


def _seconds(text: str) -> float:
    """Return the seconds of a duration, cut to microseconds."""
    found = _ISO_DURATION.fullmatch(text) or _DURATION.fullmatch(text)
    if not found or not text:
        raise ValueError
    part = found.groupdict(default="")
    weeks, days, hours, minutes, seconds = (
        int(part.get(name) or 0) for name in ("weeks", "days", "hours", "minutes", "seconds")
    )
    clock = (3600 * hours + 60 * minutes + seconds) * 10**6 + int(part["parts"][:6].ljust(6, "0"))
    ticks = DAY * (7 * weeks + days) * 10**6 + (-clock if part.get("sign") == "-" else clock)
    return (-ticks if part.get("all") == "-" else ticks) / 1e6


def calendar_number(value: datetime.date | datetime.time, *, unit: Unit) -> float:
    """Return a date or time as a number in the unit, or raise TypeError.

    The date and the time of day of a moment are those on the wall where it was written. A date has
    no time of day: NoClockError.
    """
    if unit == "time-of-day" and isinstance(value, datetime.datetime | datetime.time):
        seconds = 3600 * value.hour + 60 * value.minute + value.second
        return (seconds * 10**6 + value.microsecond) / 1e6
    if unit == "datetime" and isinstance(value, datetime.date):
        if not isinstance(value, datetime.datetime):
            value = datetime.datetime(value.year, value.month, value.day)
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.UTC)
        since = value - _EPOCH
        # As NumPy divides the microseconds of an array: all readers agree in every bit.
        return float((since.days * DAY + since.seconds) * 10**6 + since.microseconds) / 1e6
    if unit == "date" and isinstance(value, datetime.date):
        return float(value.toordinal() - _EPOCH.toordinal())
    if unit == "time-of-day":
        raise NoClockError
    raise TypeError
