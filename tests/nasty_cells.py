"""Cells that a table may hold and nobody expects, and the domains whose readers meet them."""

from __future__ import annotations

import datetime as dt
import enum
import zoneinfo
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
from numpy.typing import NDArray

from lapwing import Categories, Integers, Interval

DOMAINS: dict[str, Any] = {
    "number": Interval(0, 100, bins=10),
    "logarithmic": Interval(1, 1000, bins=9, scale="log"),
    "circle": Interval(-180, 180, bins=12, circular=True),
    "widest circle": Interval(-1e308, 0.7e308, bins=12, circular=True),
    "atoms": Interval(0, 100, bins=10, atoms=(0, 12.5, 100), outside="refuse"),
    "integers": Integers(0, 20),
    "labels": Categories(["12.5", "17", "x", 7]),
    "labels and another": Categories(["3.5", "17", "rest", 12], other="rest"),
    "counted labels": Categories(20),
    "date": Interval("1970-01-01", "2030-01-01", bins=60, unit="date"),
    "far dates": Interval("-4000-01-01", "+12000-01-01", bins=160, unit="date"),
    "week": Interval(0, 7, bins=7, unit="date", circular=True),
    "datetime": Interval("1970-01-01", "2030-01-01", bins=60, unit="datetime"),
    "time-of-day": Interval("06:00", "22:00", bins=16, unit="time-of-day"),
    "clock": Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
}


class Color(enum.IntEnum):
    """A whole number by another name."""

    RED = 7


class Broken(float):
    """A number that does not become a float."""

    def __float__(self) -> float:
        raise ValueError("no number")


TEXTS: list[str | None] = [
    *("12.5", "17", " 5 ", "+5", "5.", "1e3", "1e999", "-1e999", "inf", "-Infinity", "nan", "NaN"),
    *("", " ", "NA", "None", "null", "x", "1_0", "1,5", "0x10", "-", "५", "\u00a07", "5\u00001"),
    *("true", "(1)", "secret", "9" * 400, "9" * 5000, "é", "\U0001f426", '"', "a,b", "a;b", "a\tb"),
    *("1999-05-06", "1999-02-30", "1999-13-01", "2024-02-29", "19990506", "0000-01-01"),
    *("-0044-03-15", "+12345-01-01", "99999999999-01-01", "2500-01-01", "1600-01-01"),
    *("1999-05-06T07:08", "1999-05-06 07:08:09.123456789", "1999-05-06T07:08Z", "1999-05-06T24:00"),
    *("1999-05-06T07:08:09+05:30", "1999-05-06T07:08:60", "0001-01-01T00:00+14:00", "31/12/1999"),
    *("07:08", "7:08", "24:00", "24:01", "12:60", "12:00:60", "07:08:09.5", "99:99:99"),
    None,
]
"""Texts of every reader that has texts."""

OBJECTS: list[Any] = [
    *(float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 5e-324, 10**400, -(10**400)),
    *(2**53 + 1, 2**63, -(2**63), 7, -7, 12.5, Color.RED, Broken(12.5)),
    *(
        True,
        False,
        np.True_,
        np.int8(-3),
        np.uint64(2**64 - 1),
        np.float16("nan"),
        np.float32(12.5),
    ),
    *(np.longdouble("1e4000"), np.array(5.0), np.array("NaT", "M8[s]"), np.array([1, 2])),
    *(Decimal("12.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("1e9999")),
    *(Fraction(1, 3), Fraction(10**400, 3), 1j, complex("nan"), b"12", b"\xff", bytearray(b"1")),
    *([], [1], [1, 2], (), (3,), {}, {"a": 1}, {1}, range(3), object, object(), len, Ellipsis),
    *(np.datetime64("NaT"), np.datetime64("1999-05-06"), np.datetime64(1, "ns")),
    *(np.datetime64("1999-05-06T07:08:09.123456789"), np.datetime64("300000-01-01")),
    *(np.datetime64("-5000-01-01"), np.datetime64(2**62, "Y"), np.datetime64(-(2**62), "M")),
    *(np.datetime64(2**63 - 1, "us"), np.datetime64(2**63 - 1, "as"), np.datetime64(7, "25s")),
    *(np.timedelta64(1, "D"), dt.timedelta(1), dt.date.min, dt.date.max, dt.date(1999, 5, 6)),
    *(dt.datetime.min, dt.datetime.max, dt.datetime(1999, 5, 6, 7, 8, 9, 123456), dt.time(7, 8)),
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14))),
    dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-14))),
    dt.datetime(1999, 5, 6, 7, 8, tzinfo=zoneinfo.ZoneInfo("Asia/Kolkata")),
    *(pandas.NA, pandas.NaT, pandas.Timestamp("1999-05-06 07:08:09.123456789")),
    *(pandas.Timestamp("1999-05-06", tz="UTC"), pandas.Timestamp("9999-12-31").as_unit("s")),
    *(pandas.Timedelta(1), pandas.Period("1999"), "\ud800", np.str_("12"), np.bytes_(b"12")),
    np.ma.masked,
]
"""What only a list or an array of objects can hold, beside the texts."""


def _ticks(kind: Any) -> Any:
    limits = [0, 1, -1, 86_399, 10**9, -(10**9), 2**31 - 1, -(2**31)]
    if kind.bit_width == 64:
        limits += [926_000_000, 926_000_000_123, 10**15, -(10**15), 2**62, 2**63 - 1, -(2**63) + 1]
    whole = pa.int64() if kind.bit_width == 64 else pa.int32()
    return pa.array([*limits, None], whole).cast(kind)


def _times(kind: Any, per_second: int) -> Any:
    seconds = [0, 1, 34_200, 86_399]
    whole = pa.int64() if kind.bit_width == 64 else pa.int32()
    return pa.array([*(number * per_second for number in seconds), None], whole).cast(kind)


def _numbers(kind: Any, numbers: Sequence[Any]) -> Any:
    return pa.array([*numbers, None], kind)


_FLOATS = [0.0, -0.0, 12.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1e30]

COLUMNS: dict[str, Any] = {
    "int8": _numbers(pa.int8(), [0, 7, -128, 127]),
    "int64": _numbers(pa.int64(), [0, 7, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "uint64": _numbers(pa.uint64(), [0, 7, 2**64 - 1]),
    "float16": _numbers(pa.float16(), [np.float16(x) for x in (0, 12.5, "nan", "inf")]),
    "float32": _numbers(pa.float32(), _FLOATS),
    "float64": _numbers(pa.float64(), [*_FLOATS, 1.7e308, -1.7e308]),
    "decimal": _numbers(pa.decimal128(38, 3), [Decimal(x) for x in ("0", "12.345", f"-{10**34}")]),
    "decimal256": _numbers(pa.decimal256(76, 3), [Decimal("12.345"), Decimal(10**70)]),
    "date32": _ticks(pa.date32()),
    "date64": _ticks(pa.date64()),
    **{f"timestamp {unit}": _ticks(pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    **{
        f"timestamp {unit} {zone}": _ticks(pa.timestamp(unit, zone))
        for unit, zone in (("s", "Asia/Tokyo"), ("us", "America/New_York"), ("ns", "-03:30"))
    },
    "time32 s": _times(pa.time32("s"), 1),
    "time32 ms": _times(pa.time32("ms"), 10**3),
    "time64 us": _times(pa.time64("us"), 10**6),
    "time64 ns": _times(pa.time64("ns"), 10**9),
    "times beyond a day": _ticks(pa.time64("ns")),
    "null": pa.nulls(3),
}
"""Columns of one type each, with the ends of what the type holds."""

CountVector = NDArray[np.int64]


def check_each_row_alone(
    read: Callable[[list[Any]], CountVector],
    cells: Sequence[Any],
    usual: Sequence[Any],
    *,
    about: str = "",
) -> None:
    """Assert that every cell adds one to one symbol, the same alone and among any others.

    Parameters
    ----------
    read : callable
        Returns how many of some cells fall on each symbol.
    cells : sequence
        Among them those that nobody expects.
    usual : sequence
        Ordinary cells, between which each stands in turn.
    about : str
        What a failure says before the place of its cell.
    """
    before = read(list(usual))
    assert before.sum() == len(usual)
    symbols = []
    for place, cell in enumerate(cells):
        alone = read([cell])
        assert alone.sum() == 1 and np.count_nonzero(alone) == 1, f"{about} cell {place} alone"
        change = read([*usual[:1], cell, *usual[1:]]) - before
        assert np.array_equal(change, alone), f"{about} cell {place} among others"
        symbols.append(int(np.argmax(alone)))
    # All together: what changes the reading of others only in company shows here.
    together = read([*usual, *cells]) - before
    assert np.array_equal(together, np.bincount(symbols, minlength=before.size))
