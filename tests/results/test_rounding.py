"""Numbers on screens: a printed interval holds all that the interval holds."""

import datetime
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.results.rounding import (
    NumberWriter,
    gap,
    interval_text,
    number_text,
    number_writer,
    percent,
    points,
    shift_writer,
)

SHARES = st.floats(0, 1).map(lambda share: 1.0 if share > 1 - 1e-10 else share)
"""A share that is one but for rounding is written as one."""

NUMBERS = st.floats(-1e18, 1e18)


def numbers_in(text: str) -> list[Decimal]:
    """Return the numbers of a text in their order."""
    found = re.findall(r"[+-]?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?", text)
    return [Decimal(each.replace(",", "")) for each in found]


def holds(write: NumberWriter, ends: tuple[float, float, float], *, scale: int = 1) -> None:
    low, value, high = sorted(ends)
    row = {"value": value, "low": low, "high": high}
    first, last = numbers_in(interval_text(row, write))
    assert first <= scale * Decimal(repr(low)) and scale * Decimal(repr(high)) <= last
    text = number_text(row, write)
    if not text.startswith(("<", ">")):
        (shown,) = numbers_in(text)
        assert first <= shown <= last
    if high > low:  # and it is not much wider
        width = last - first
        least = Decimal("0.0001") if scale == 100 else 0
        assert width <= scale * Decimal(repr(high - low)) * Decimal("1.21") + 2 * least or (
            write.unit == "number" and scale == 1 and all(each % 1 == 0 for each in (first, last))
        )


@settings(deadline=None, derandomize=True)
@given(SHARES, SHARES, SHARES)
def test_an_interval_of_shares_is_never_narrower(one: float, two: float, three: float) -> None:
    holds(percent, (one, two, three), scale=100)
    holds(points, (-one, two, three), scale=100)
    holds(gap, (one, two, three), scale=100)


@settings(deadline=None, derandomize=True)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_an_interval_of_numbers_is_never_narrower(one: float, two: float, three: float) -> None:
    holds(number_writer("number"), (one, two, three))
    holds(shift_writer("number"), (one, two, three))


@settings(deadline=None, derandomize=True)
@given(st.floats(0, 86_400), st.floats(0, 86_400))
def test_an_interval_of_times_is_never_narrower(one: float, two: float) -> None:
    low, high = sorted((one, two))

    def seconds(text: str) -> int:
        hours, minutes, *rest = map(int, text.split(":"))
        return 3600 * hours + 60 * minutes + sum(rest)

    text = interval_text({"low": low, "high": high}, number_writer("time-of-day"))
    first, last = map(seconds, text.split(" to "))
    assert first <= low <= high <= last


_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


@settings(deadline=None, derandomize=True)
@given(st.floats(-1e7, 1e7), st.floats(-1e7, 1e7), st.sampled_from(["time-of-day", "date"]))
def test_an_interval_of_shifts_is_never_narrower(one: float, two: float, unit: Any) -> None:
    low, high = sorted((one, two))
    text = interval_text({"low": low, "high": high}, shift_writer(unit))

    def shift(part: str, rest: str) -> Decimal:
        words = [*part.split(), *(rest.split()[1:] if len(part.split()) == 1 else ())]
        name, way = words[1], words[-1]
        size = 1 if unit == "date" else _SECONDS[name.removesuffix("s")]
        return Decimal(words[0].replace(",", "")) * size * (-1 if way == "earlier" else 1)

    first, last = text.split(" to ")
    ends = sorted((shift(first, last), shift(last, last)))
    assert ends[0] <= Decimal(repr(low)) and Decimal(repr(high)) <= ends[1]


def test_digits_follow_the_width_of_the_interval() -> None:
    row = {"share": 0.17, "low": 0.1234567, "high": 0.2345678}
    assert interval_text(row, percent) == "12% to 24%"
    assert number_text(row, percent, name="share") == "17%"
    wide = {"value": 31_250.0, "low": 20_000.5, "high": 109_000.0}
    assert interval_text(wide, number_writer("number")) == "20,000 to 109,000"
    assert number_text(wide, number_writer("number")) == "31,000"
    both = {"value": 10_600.0, "low": 9600.0, "high": 11_400.0}
    assert interval_text(both, number_writer("number")) == "9,600 to 11,400"
    years = {"value": 1987.0, "low": 1931.0, "high": 2040.0}
    assert interval_text(years, number_writer("number")) == "1931 to 2040"


def test_times_are_times_and_shifts_are_lengths() -> None:
    write = number_writer("time-of-day")
    assert interval_text({"low": 34_201.5, "high": 36_059.25}, write) == "09:30 to 10:01"
    assert interval_text({"low": 34_201.5, "high": 34_259.25}, write) == "09:30:01 to 09:31:00"
    noon = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC).timestamp()
    assert number_writer("datetime")(noon + 0.25) == "2026-12-01T12:00"
    shift = shift_writer("time-of-day")
    assert shift(540.0) == "9 minutes later" and shift(-5400.0) == "90 minutes earlier"
    assert shift.interval(-120, 540) == "2 minutes earlier to 9 minutes later"
    assert shift.interval(-540, -120) == "2 to 9 minutes earlier"
    assert shift_writer("date").interval(-1, 1) == "1 day earlier to 1 day later"


@pytest.mark.parametrize("share", [1e-9, 1 - 1e-9])
def test_only_what_is_nothing_or_all_looks_like_it(share: float) -> None:
    row = {"share": share, "low": max(share - 0.01, 0.0), "high": min(share + 0.01, 1.0)}
    assert number_text(row, percent, name="share").startswith(("<", ">"))
