"""Dates, times of day and numbers as one kind of number, and what is refused on the way."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import is_missing, to_number, to_numbers, to_text

STEADY = settings(deadline=None, max_examples=100, derandomize=True)

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "unit", "number"),
    [
        (3, "number", 3.0),
        (np.float32(0.5), "number", 0.5),
        (np.int8(-3), "number", -3.0),
        (10**400, "number", np.inf),
        (-(10**400), "number", -np.inf),
        (dt.date(1970, 1, 2), "date", 1.0),
        (dt.datetime(1970, 1, 2, 23, 59), "date", 1.0),
        ("1969-12-31", "date", -1.0),
        (" 2026-11-21 ", "date", 20_778.0),
        ("1970-01-01T00:01", "datetime", 60.0),
        ("1970-01-01T01:00+01:00", "datetime", 0.0),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 500_000), "datetime", -0.5),
        (dt.date(1970, 1, 2), "datetime", 86_400.0),
        ("00:00", "time-of-day", 0.0),
        ("9:30", "time-of-day", 34_200.0),
        ("23:59:59.25", "time-of-day", 86_399.25),
        ("24:00", "time-of-day", 86_400.0),
        ("2026-11-21T09:30:01", "time-of-day", 34_201.0),
        (dt.time(1, 2, 3, 500_000), "time-of-day", 3_723.5),
        (dt.datetime(2026, 11, 21, 1, 2, 3), "time-of-day", 3_723.0),
        (17, "date", 17.0),
    ],
)
def test_what_a_value_means(value: Any, unit: Any, number: float) -> None:
    assert to_number(value, unit=unit, name="low") == number
    if unit != "number" or not isinstance(value, str):
        assert to_numbers([value], unit=unit).tolist() == [number]


def test_a_time_zone_is_converted_and_a_time_of_day_is_local() -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    noon = dt.datetime(2026, 7, 1, 12, tzinfo=berlin)
    expected = (noon - EPOCH).total_seconds()
    assert to_number(noon, unit="datetime", name="x") == expected
    assert expected == to_number("2026-07-01T10:00", unit="datetime", name="x")
    assert to_number(noon, unit="time-of-day", name="x") == 12 * 3600
    assert to_number(noon, unit="date", name="x") == to_number("2026-07-01", unit="date", name="x")


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (True, "number"),
        (np.True_, "number"),
        ("12", "number"),
        (b"12", "number"),
        (None, "number"),
        (1j, "number"),
        ([1], "number"),
        (dt.date(2026, 1, 1), "number"),
        (dt.timedelta(1), "number"),
        ("2026-13-01", "date"),
        ("secret", "date"),
        (dt.time(1), "date"),
        ("24:01", "time-of-day"),
        ("12:60", "time-of-day"),
        ("12:00:60", "time-of-day"),
        ("secret", "time-of-day"),
        (dt.date(2026, 1, 1), "time-of-day"),
        ("2026-02-30T00:00", "datetime"),
        (dt.time(1), "datetime"),
    ],
)
def test_what_is_refused(value: Any, unit: Any) -> None:
    with pytest.raises(DomainError) as caught:
        to_number(value, unit=unit, name="low")
    assert str(caught.value).startswith("low must be a")
    assert "secret" not in str(caught.value)
    if value is not None and value != "12":  # which is missing, and a number among values
        with pytest.raises(DomainError) as caught:
            to_numbers([0, None, value], unit=unit)
        assert caught.value.position == 2
        assert "position 2" in str(caught.value)
        assert "secret" not in str(caught.value)
        lenient = to_numbers([0, None, value], unit=unit, unreadable="missing")
        assert np.isnan(lenient).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.empty((0, 3)), "shape"),
        (np.empty((2, 3)), "shape (2, 3)"),
        ([[1, 2]], "the value at position 0 must be a number, got a list"),
        (5.0, "got one value alone"),
        ({"a": 1}, "got a dict"),
        ("12", "got one value alone"),
        ([3, [1], [1, 2]], "the value at position 1 must be a number, got a list"),
        ([True, False], "bool"),
        (np.array([True, False]), "bool"),
        (np.array([1j]), "complex"),
        (np.array([3], "timedelta64[s]"), "timedelta64"),
        (np.array(["2026-01-01"], "datetime64[D]"), "unit='date'"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "masked"),
    ],
)
def test_arrays_that_are_no_lists_of_numbers(values: Any, says: str) -> None:
    with pytest.raises(DomainError) as caught:
        to_numbers(values, unit="number")
    assert says in str(caught.value)


def test_a_text_among_numbers_is_named_by_its_own_position() -> None:
    with pytest.raises(DomainError, match="position 2") as caught:
        to_numbers([1.5, 2.5, "secret", 3], unit="number")
    assert caught.value.position == 2 and "secret" not in str(caught.value)


def test_missing_values_are_nan() -> None:
    assert np.isnan(to_numbers([None, float("nan"), 1], unit="number")).tolist() == [1, 1, 0]
    times = np.array(["NaT", "1970-01-02"], dtype="datetime64[s]")
    seconds: dict[Unit, float] = {"date": 1, "datetime": 86_400, "time-of-day": 0}
    for unit, second in seconds.items():
        numbers = to_numbers(times, unit=unit)
        assert np.isnan(numbers[0]) and numbers[1] == second


@pytest.mark.parametrize("precision", ["D", "h", "s", "ms", "us", "ns"])
def test_every_precision_of_datetime64(precision: str) -> None:
    times = np.array(["1969-12-31T13", "2026-11-21T00"], f"datetime64[{precision}]")
    whole = times.astype("datetime64[s]").astype(np.int64)
    assert to_numbers(times, unit="datetime").tolist() == whole.tolist()
    assert to_numbers(times, unit="date").tolist() == (whole // 86_400).tolist()
    if precision != "D":
        assert to_numbers(times, unit="time-of-day").tolist() == (whole % 86_400).tolist()


def test_moments_of_any_precision_beside_each_other() -> None:
    cells: Any = [
        np.datetime64("2026-11-21"),
        np.datetime64(1, "ns"),
        np.datetime64("300000-01-01", "s"),
        np.datetime64("NaT"),
        dt.date(1, 1, 1),
        np.array(np.datetime64("2026-11-21")),
    ]
    found = to_numbers(cells, unit="date")
    assert found[[0, 1, 4, 5]].tolist() == [20_778, 0, -719_162, 20_778]
    assert found[2] == 745 * 146_097 + 10_957 and np.isnan(found[3])


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (Decimal("12.5"), 12.5),
        (Decimal("1e400"), np.inf),
        (Fraction(1, 4), 0.25),
        (Fraction(-(10**400)), -np.inf),
        (10**400, np.inf),
        (np.longdouble("1e4000"), np.inf),
        (np.array(3), 3.0),
        ("12.5", 12.5),
        (float("nan"), None),
        (Decimal("NaN"), None),
        (Decimal("sNaN"), None),
        (pandas.NA, None),
        (pandas.NaT, None),
    ],
)
def test_every_kind_of_number_and_of_none(value: Any, number: float | None) -> None:
    assert is_missing(value) == (number is None)
    for cells in ([value], [1, value], [value, "1", 2.5], np.array([value, 1], dtype=object)):
        found = to_numbers(cells, unit="number")
        at = 1 if isinstance(cells, list) and len(cells) == 2 else 0
        assert found[at] == number or (number is None and np.isnan(found[at]))


def test_a_truth_value_is_no_number_whatever_stands_beside_it() -> None:
    for cells in ([True], [True, 2], [True, 2.5], [True, None], [True, "x"]):
        found = to_numbers(cells, unit="number", unreadable="missing")
        assert np.isnan(found[0])
        with pytest.raises(DomainError, match="position 0 must be a number, got a bool"):
            to_numbers(cells, unit="number")


def test_a_moment_is_no_number_in_any_precision() -> None:
    for precision in ("D", "s", "us", "ns"):
        moments = np.array(["2026-11-21", "NaT"], f"datetime64[{precision}]")
        for cells in (moments, list(moments)):
            assert np.isnan(to_numbers(cells, unit="number", unreadable="missing")).all()


def test_texts_of_days_and_seconds() -> None:
    assert to_numbers(["2", 2, "x"], unit="datetime", texts="days", unreadable="missing")[
        :2
    ].tolist() == [172_800, 2]
    with pytest.raises(ArgumentError, match="texts"):
        to_numbers([], unit="number", texts="days")


def test_a_column_of_lists_is_no_table() -> None:
    column = polars.Series([[1], [2]])
    assert np.isnan(to_numbers(column, unit="number", unreadable="missing")).tolist() == [1, 1]


@STEADY
@given(st.datetimes(min_value=dt.datetime(1678, 1, 1), max_value=dt.datetime(2261, 1, 1)))
def test_objects_texts_and_datetime64_agree(moment: dt.datetime) -> None:
    array = np.array([moment], "datetime64[us]")
    for unit in ("date", "datetime", "time-of-day"):
        one = to_numbers(array, unit=unit)
        two = to_numbers(np.array([moment], dtype=object), unit=unit)
        text = moment.date().isoformat() if unit == "date" else moment.isoformat()
        three = to_numbers([text], unit=unit)
        assert one == pytest.approx(two, rel=1e-15, abs=1e-6)
        assert two.tolist() == three.tolist()
        assert np.floor(one) == np.floor(two)


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (0, "time-of-day", "00:00:00"),
        (86_399.6, "time-of-day", "24:00:00"),
        (20_778, "date", "2026-11-21"),
        (-0.5, "datetime", "1970-01-01T00:00:00"),
        (1.25, "number", "1.25"),
        (524_288, "number", "524288"),
        (12_345_678.9, "number", "12345679"),
        (-719_163, "date", "0000-12-31"),
        (1e300, "date", "1e+300"),
    ],
)
def test_numbers_are_written_as_people_write_them(number: float, unit: Any, text: str) -> None:
    assert to_text(number, unit=unit) == text


@STEADY
@given(st.dates(min_value=dt.date(1, 1, 1)), st.integers(0, 86_399))
def test_text_and_back(day: dt.date, second: int) -> None:
    number = to_number(day, unit="date", name="x")
    assert to_text(number, unit="date") == day.isoformat()
    clock = to_text(second, unit="time-of-day")
    assert to_number(clock, unit="time-of-day", name="x") == second


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_a_table_is_no_column(kind: Any, columns: int) -> None:
    table = kind({name: [0.25, 0.5] for name in "ab"[:columns]})
    for domain in (Interval(0, 1, bins=4), Categories(["a", "b"]), Integers(0, 1)):
        with pytest.raises(DomainError, match=r"one-dimensional.*one column of the table"):
            domain.index(table)


@pytest.mark.parametrize("missing", [False, True])
def test_nullable_columns_of_pandas_are_the_numbers_of_a_list(missing: bool) -> None:
    cells: list[Any] = [1, 2**53, 3, None] if missing else [1, 2**53, 3]
    kinds: list[Any] = ["Int64", "UInt64", "Float64", pandas.ArrowDtype(pa.int64())]
    for kind in [*kinds, pandas.ArrowDtype(pa.float64())]:
        column = pandas.Series(cells, dtype=kind, index=range(5, 5 + len(cells)))
        found = to_numbers(column, unit="number")
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, to_numbers(cells, unit="number"))
    for kind in ("boolean", pandas.ArrowDtype(pa.bool_())):
        with pytest.raises(DomainError):
            to_numbers(pandas.Series([True], dtype=kind), unit="number")
