"""Types and forms that exports have: each value is what it says, alone and in a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import polars
import pytest

import lapwing as lw
from lapwing.errors import DomainError

NUMBER = lw.Interval(0, 100, bins=10)
DAY = lw.Interval("2024-01-01", "2025-01-01", bins=366, unit="date")
MOMENT = lw.Interval("2024-01-01", "2025-01-01", bins=366, unit="datetime")
CLOCK = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day")


def symbols(values: Any, domain: Any) -> list[int]:
    found: list[int] = domain.for_curator().index_or_missing(values).tolist()
    return found


@pytest.mark.parametrize("kind", [polars.Int128, getattr(polars, "UInt128", polars.Int128)])
def test_integers_of_128_bits(kind: Any) -> None:
    cells = [5, None, 2**100, 99]
    column = polars.Series(cells, dtype=kind)
    assert symbols(column, NUMBER) == symbols(cells, NUMBER)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2024-01-05 10:00:00 UTC", "2024-01-05T10:00:00Z"),
        ("2024-01-05 10:00:00.123456 UTC", "2024-01-05T10:00:00.123456Z"),
        ("2024-01-05 UTC", "x"),
        ("10:00 UTC", "x"),
        ("2024-01-05 10:00:00+01:00 UTC", "x"),
        ("UTC", "x"),
    ],
)
@pytest.mark.parametrize("domain", [DAY, MOMENT, CLOCK])
def test_timestamps_of_bigquery(text: str, same: str, domain: Any) -> None:
    assert symbols([text], domain) == symbols([same], domain)


@pytest.mark.parametrize("domain", [DAY, MOMENT, CLOCK, NUMBER])
@pytest.mark.parametrize(
    "freq", ["D", "h", "min", "s", "ms", "us", "ns", "M", "Y", "W", "2D", "3h"]
)
def test_periods(freq: str, domain: Any) -> None:
    index = pandas.period_range("2024-01-05", periods=3, freq=freq).append(
        pandas.PeriodIndex([pandas.NaT], freq=freq)
    )
    starts: list[Any] = [None if one is pandas.NaT else one.start_time for one in index]
    short = freq[0].isalpha() and freq not in ("M", "Y", "W") and domain is not NUMBER
    if not short or (freq == "D" and domain is CLOCK):
        starts = ["x", "x", "x", None]
    wanted = symbols(starts, domain)
    for made in (index, pandas.Series(index), pandas.Series(index).array, list(index)):
        assert symbols(made, domain) == wanted
    assert symbols(np.array(list(index), dtype=object), domain) == wanted


def test_a_far_period_is_a_row_of_its_own() -> None:
    periods = pandas.PeriodIndex(["2024-01-05", "9999-12-31", "0001-01-01"], freq="D")
    outside = symbols(["2024-01-05", "9999-12-31", "0001-01-01"], DAY)
    assert symbols(pandas.Series(periods), DAY) == symbols(list(periods), DAY) == outside


def test_labels_and_segments_that_are_one_in_a_csv() -> None:
    for labels in ([1, "1"], ["a", "2", 2], [-1, "-1"]):
        with pytest.raises(DomainError, match="would look the same in a CSV"):
            lw.Categories(labels)
        with pytest.raises(DomainError, match="would look the same in a CSV"):
            lw.protocol.Segmented(NUMBER, labels)
    with pytest.raises(DomainError, match="are equal"):
        lw.protocol.Segmented(NUMBER, ["a", "a"])
    assert lw.Categories([1, "01", "1.0"]).size == 3
