"""Columns of types that Arrow has not: 128-bit integers of polars, and periods of pandas."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas
import polars
import pytest

import lapwing as lw
from lapwing.engines.arrow import summarize
from lapwing.errors import DomainError, RowsWarning
from lapwing.protocol import ExactCounts

CELLS = [5, None, 2**100, -3, 5]


@pytest.mark.parametrize("frame", [polars.DataFrame, polars.LazyFrame])
@pytest.mark.parametrize(
    "domain",
    [lw.Interval(0, 10, bins=5), lw.Integers(-9, 9), lw.Categories([5, -3], other=5)],
    ids=["numbers", "whole numbers", "labels"],
)
def test_128_bit_integers_are_numbers_and_labels(frame: Any, domain: Any) -> None:
    table = frame({"x": polars.Series(CELLS, dtype=polars.Int128), "y": [1.0] * 5})
    wanted = ExactCounts.of_values(CELLS, domain)
    assert summarize(table, domain, column="x") == wanted
    assert ExactCounts.of_values(polars.Series(CELLS, dtype=polars.Int128), domain) == wanted


def test_integers_of_39_digits_are_missing_and_units_are_whose_they_are() -> None:
    far = polars.DataFrame({"x": polars.Series([2**126 * k for k in (0, 1)], dtype=polars.Int128)})
    assert summarize(far, lw.Interval(0, 10, bins=5)).counts.tolist() == [1, 0, 0, 0, 1, 0]
    people = polars.Series([7, 7, 2**100, 2**100 + 1], dtype=polars.Int128)
    table = polars.DataFrame({"x": [1.0] * 4, "u": people})
    held = summarize(table, lw.Interval(0, 10, bins=5), column="x", unit="u", most=1)
    assert held.people == 3


DAY = lw.Interval("2024-01-01", "2025-01-01", bins=366, unit="date")


@pytest.mark.parametrize("frequency", ["D", "h", "min", "s", "ms", "us", "ns"])
def test_periods_begin_somewhere(frequency: str) -> None:
    periods = pandas.period_range("2024-01-05", periods=3, freq=frequency)
    table = pandas.DataFrame({"x": [*periods, pandas.NaT]}).astype(f"period[{frequency}]")
    starts = [*(one.start_time.date() for one in periods), None]
    assert summarize(table, DAY) == ExactCounts.of_values(starts, DAY)


def test_a_period_longer_than_a_day_is_no_date() -> None:
    table = pandas.DataFrame({"x": pandas.period_range("2024-01", periods=3, freq="M")})
    with pytest.raises(DomainError, match="periods longer than a day"):
        summarize(table, DAY)


def test_durations_among_numbers_lead_to_their_unit() -> None:
    with pytest.warns(RowsWarning, match="unit='duration'"):
        ExactCounts.of_values([dt.timedelta(days=5)] * 200, lw.Interval(0, 10, bins=5))
