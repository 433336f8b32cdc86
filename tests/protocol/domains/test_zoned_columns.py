"""One rule for moments, whichever library holds them: the zone's own clocks, or the instant."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.engines.arrow.arrow_values import values_of
from lapwing.errors import DomainError
from lapwing.protocol.domains.units import to_numbers

BERLIN, TOKYO = "Europe/Berlin", "Asia/Tokyo"

MOMENTS = [
    dt.datetime(2024, 7, 1, 1, 30, tzinfo=zoneinfo.ZoneInfo(BERLIN)),
    dt.datetime(2024, 1, 1, 0, 15, tzinfo=zoneinfo.ZoneInfo(BERLIN)),
    # The hour that the clocks of Berlin show twice, both times.
    dt.datetime(2024, 10, 27, 2, 30, fold=0, tzinfo=zoneinfo.ZoneInfo(BERLIN)),
    dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo(BERLIN)),
    dt.datetime(1912, 6, 1, 23, 59, 59, 999_999, tzinfo=zoneinfo.ZoneInfo(BERLIN)),
]


def _polars(moments: list[Any]) -> Any:
    instants = [moment.astimezone(dt.UTC) for moment in moments]
    return polars.Series(instants, dtype=polars.Datetime("us", "UTC")).dt.convert_time_zone(BERLIN)


def _arrow(moments: list[Any]) -> Any:
    return pa.array(moments, pa.timestamp("us", BERLIN))


HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "datetime": list,
    "text": lambda moments: [moment.isoformat() for moment in moments],
    "pandas": lambda moments: pandas.Series(moments).dt.as_unit("us"),
    "pandas index": pandas.DatetimeIndex,
    "pandas categories": lambda moments: pandas.Series(moments, dtype="category"),
    "pandas of Arrow": lambda moments: pandas.Series(
        _arrow(moments), dtype=pandas.ArrowDtype(pa.timestamp("us", BERLIN))
    ),
    "polars": _polars,
    "Arrow": _arrow,
    "Arrow in chunks": lambda moments: pa.chunked_array(
        [_arrow(moments[:2]), _arrow(moments[2:])], pa.timestamp("us", BERLIN)
    ),
    "Arrow dictionary": lambda moments: _arrow(moments).dictionary_encode(),
}


@pytest.mark.parametrize("unit", ["time-of-day", "date", "datetime"])
@pytest.mark.parametrize("holder", list(HOLDERS))
def test_a_moment_means_the_same_whichever_library_holds_it(holder: str, unit: Any) -> None:
    found = to_numbers(HOLDERS[holder](MOMENTS), unit=unit)
    walls = [moment.replace(tzinfo=dt.UTC) for moment in MOMENTS]
    expected = {
        "time-of-day": [
            3600 * m.hour + 60 * m.minute + m.second + m.microsecond / 1e6 for m in walls
        ],
        "date": [m.toordinal() - dt.date(1970, 1, 1).toordinal() for m in walls],
        "datetime": [m.timestamp() for m in MOMENTS],
    }
    assert found.tolist() == expected[unit]


@pytest.mark.parametrize("holder", list(HOLDERS))
def test_a_release_and_a_survey_count_the_clocks_of_the_zone(holder: str) -> None:
    day = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", missing="bin")
    held = HOLDERS[holder](MOMENTS)
    hours = np.bincount([moment.hour for moment in MOMENTS], minlength=25)
    assert lw.protocol.ExactCounts.of_values(held, day).counts.tolist() == hours.tolist()
    assert day.index(held).tolist() == [moment.hour for moment in MOMENTS]


def test_a_column_of_a_table_is_read_as_the_library_reads_it() -> None:
    domains = {
        "time-of-day": lw.Interval("00:00", "24:00", bins=24, unit="time-of-day"),
        "date": lw.Interval("1900-01-01", "2030-01-01", bins=24, unit="date"),
    }
    for holder in ("Arrow", "Arrow dictionary"):
        for unit, domain in domains.items():
            read = values_of(HOLDERS[holder](MOMENTS), domain, column="c", typed=True)
            assert read.tolist() == to_numbers(MOMENTS, unit=domain.unit).tolist(), unit


def test_missing_and_far_moments_keep_their_rows() -> None:
    ticks = [2**62, -(2**62), None, 0]
    for column in (
        pa.array(ticks, pa.timestamp("us", TOKYO)),
        polars.Series(ticks).cast(polars.Datetime("us", TOKYO)),
        polars.Series(ticks).cast(polars.Datetime("ms", TOKYO)),
    ):
        for unit in ("date", "time-of-day"):
            found = to_numbers(column, unit=unit)
            assert np.isnan(found).tolist() == [False, False, True, False]
        days = to_numbers(column, unit="date")
        assert days[0] > 1e7 and days[1] < -1e7 and days[3] == 0


def test_an_unknown_zone_is_refused_without_a_value() -> None:
    column = pa.array([0], pa.timestamp("us", "Nowhere/Atlantis"))
    with pytest.raises(DomainError, match="time zone of the values is unknown"):
        to_numbers(column, unit="date")
    with pytest.raises(DomainError, match="time zone of column 'c' is unknown"):
        values_of(column, lw.Interval(0, 1, bins=1, unit="date"), column="c", typed=True)


DAYS = [dt.date(2024, 7, 1), dt.date(1999, 5, 6)]

DATES: dict[str, Any] = {
    "date": DAYS,
    "text": [day.isoformat() for day in DAYS],
    "text without dashes": ["20240701"],
    "text of a week": ["2024-W27-1"],
    "text of a far year": ["+12345-01-01"],
    "NumPy days": np.array(DAYS, dtype="M8[D]"),
    "NumPy months": np.array(DAYS, dtype="M8[M]"),
    "NumPy scalars": [np.datetime64("2024-07-01"), np.datetime64("2024")],
    "pandas": pandas.Series(DAYS),
    "pandas of Arrow": pandas.Series(DAYS, dtype=pandas.ArrowDtype(pa.date32())),
    "polars": polars.Series(DAYS),
    "Arrow": pa.array(DAYS),
    "Arrow in milliseconds": pa.array(DAYS, pa.date64()),
    "Arrow in chunks": pa.chunked_array([pa.array(DAYS, pa.date64())]),
}


@pytest.mark.parametrize("holder", list(DATES))
def test_a_date_has_no_time_of_day(holder: str) -> None:
    with pytest.raises(DomainError, match="position 0 must be a time-of-day: a date has no time"):
        to_numbers(DATES[holder], unit="time-of-day")
    missing = to_numbers(DATES[holder], unit="time-of-day", unreadable="missing")
    assert np.isnan(missing).all()
    assert np.isfinite(to_numbers(DATES[holder], unit="date")).all()


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.string(), pa.binary()], ids=str)
def test_a_table_refuses_dates_with_the_same_sentence(kind: Any, typed: bool) -> None:
    texts = kind in (pa.string(), pa.binary())
    column = pa.array([day.isoformat() if texts else day for day in DAYS], kind)
    day = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day")
    with pytest.raises(DomainError, match=r"a date has no time of day\. Pass timestamps or times"):
        values_of(column, day, column="c", typed=typed)


def test_moments_at_midnight_are_no_dates() -> None:
    midnight = dt.datetime(2024, 7, 1)
    for held in (
        [midnight],
        ["2024-07-01T00:00"],
        np.array([midnight], dtype="M8[s]"),
        np.array([midnight], dtype="M8[h]"),
        pandas.Series([midnight]),
        polars.Series([midnight]),
        pa.array([midnight]),
    ):
        assert to_numbers(held, unit="time-of-day").tolist() == [0.0]
