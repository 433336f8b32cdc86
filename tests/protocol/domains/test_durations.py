"""Durations are seconds, whichever library holds them and however they are written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.engines.arrow import Reading, summarize
from lapwing.engines.arrow.text_columns import numbers_in_texts
from lapwing.errors import DomainError, LapwingWarning
from lapwing.protocol.domains.text_values import number_in_text
from lapwing.protocol.domains.units import to_numbers, to_text
from tests.rows import each

DAY = lw.Interval("0:00:00", "24:00:00", bins=96, unit="duration")

TEXTS = {
    "0:00:00": 0.0,
    "1:30:00": 5400.0,
    "01:30:00.25": 5400.25,
    "-0:30:00": -1800.0,
    "+100:00:01": 360_001.0,
    "0:00:00.1234569": 0.123456,
    "1 day, 2:03:04": 93_784.0,
    "-1 day, 23:00:00": -3600.0,
    "-1 days +23:00:00": -3600.0,
    "-1 days -01:00:00": -90_000.0,
    "5 days 00:00:00.000001": 432_000.000001,
    "5 days": 432_000.0,
    " 1:30:00 ": 5400.0,
    "PT1H30M": 5400.0,
    "P1DT0.5S": 86_400.5,
    "-PT90S": -90.0,
    "P2W": 1_209_600.0,
}

NONE = (
    *("1:30", "90", "1:60:00", "1:00:60", "1:0:0", "1h30", "P", "PT", "P1M", "P1Y", "5 days,"),
    *("1 hour", "1:30:00Z", "2026-11-21", "-", "days", "1:30:00 1:30:00", "1000000:00:00"),
)


@each("text, seconds", TEXTS.items())
def test_a_text_is_read_alone_as_in_a_column(text: str, seconds: float) -> None:
    assert number_in_text(text, unit="duration", texts="iso") == seconds
    (number,), (fault,) = numbers_in_texts(pa.array([text]), unit="duration", texts="iso")
    assert number == seconds and not fault


@each("text", NONE)
def test_another_text_is_none(text: str) -> None:
    with pytest.raises(ValueError):
        number_in_text(text, unit="duration", texts="iso")
    numbers, faults = numbers_in_texts(pa.array([text, None]), unit="duration", texts="iso")
    assert faults.tolist() == [True, False] and np.isnan(numbers).all()


def test_usual_texts_are_read_as_each_alone() -> None:
    random = np.random.default_rng(1)
    cells = []
    for hours, minutes, seconds, parts, digits in zip(
        *(random.integers(0, most, 2000) for most in (120, 60, 60, 10**6, 7)), strict=True
    ):
        fraction = f".{parts:06d}"[: digits + 1] if digits else ""
        cells.append(f"{hours:0{1 + hours % 2}d}:{minutes:02d}:{seconds:02d}{fraction}")
    numbers, faults = numbers_in_texts(pa.array(cells), unit="duration", texts="iso")
    assert not faults.any()
    assert numbers.tolist() == [number_in_text(one, unit="duration", texts="iso") for one in cells]


SECONDS = [5400.0, 0.5, -3600.0, 200 * 86_400.0, None]
DELTAS = [None if one is None else dt.timedelta(seconds=one) for one in SECONDS]

HOLDERS: dict[str, Callable[[], Any]] = {
    "python": lambda: list(DELTAS),
    "pandas": lambda: pandas.Series(DELTAS),
    "pandas, of Arrow": lambda: pandas.Series(DELTAS).astype("duration[us][pyarrow]"),
    "pandas, scalars": lambda: [None if one is None else pandas.Timedelta(one) for one in DELTAS],
    "numpy": lambda: np.array(DELTAS, "timedelta64[ms]"),
    "numpy, scalars": lambda: [np.timedelta64("NaT" if o is None else o, "us") for o in DELTAS],
    "arrow": lambda: pa.array(DELTAS, pa.duration("us")),
    "arrow, ns": lambda: pa.array(DELTAS, pa.duration("ns")),
    "polars": lambda: polars.Series(DELTAS),
    "texts": lambda: [None if one is None else str(one) for one in DELTAS],
    "numbers": lambda: list(SECONDS),
    "both": lambda: [DELTAS[0], SECONDS[1], str(DELTAS[2]), np.timedelta64(200, "D"), None],
}


@each("holder", HOLDERS)
def test_every_library_says_the_same(holder: str) -> None:
    found = to_numbers(HOLDERS[holder](), unit="duration")
    assert [None if np.isnan(one) else one for one in found.tolist()] == SECONDS


@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas", "numpy"])
def test_a_column_of_a_table_is_counted(kind: str) -> None:
    column = HOLDERS[kind]()
    frames = {"polars": polars.DataFrame, "pandas": pandas.DataFrame, "numpy": pandas.DataFrame}
    table = frames.get(kind, pa.table)({"t": column})
    held = summarize(table, DAY, column="t")
    assert held == lw.protocol.ExactCounts.of_values(SECONDS, DAY)


def test_the_longest_durations_do_not_overflow() -> None:
    longest = np.array([2**63 - 1, -(2**63) + 1, 0], "timedelta64[ns]")
    assert np.allclose(to_numbers(longest, unit="duration"), [2**63 / 1e9, -(2**63) / 1e9, 0])
    weeks = np.array([2**60], "timedelta64[W]")
    assert to_numbers(weeks, unit="duration").tolist() == [2.0**60 * 7 * 86_400]
    many = np.array([2**60], "timedelta64[7s]")
    assert to_numbers(many, unit="duration").tolist() == [7 * 2.0**60]


@pytest.mark.parametrize(
    "value", [np.timedelta64(1, "M"), np.timedelta64(1), dt.time(1, 30), dt.date(2026, 1, 1), True]
)
def test_what_is_no_duration_is_refused(value: Any) -> None:
    with pytest.raises(DomainError, match="position 0 must be a duration"):
        DAY.index([value])


def test_a_column_of_another_type_is_refused_and_numbers_are_seconds() -> None:
    for kind in (pa.time64("us"), pa.date32(), pa.timestamp("s")):
        with pytest.raises(DomainError, match="must contain durations"):
            summarize(pa.table({"t": pa.nulls(3, kind)}), DAY)
    with pytest.warns(LapwingWarning, match="They are read as seconds"):
        held = summarize(pa.table({"t": [5400.0]}), DAY)
    assert held == lw.protocol.ExactCounts.of_values(["1:30:00"], DAY)
    days = summarize(pa.table({"t": ["0.5"]}), DAY, reading=Reading(texts="days"))
    assert days == lw.protocol.ExactCounts.of_values([43_200], DAY)


@each(
    "number, text",
    [
        (0, "0:00:00"),
        (-1e-9, "0:00:00"),
        (-3600, "-1:00:00"),
        (5400.25, "1:30:00.25"),
        (259_201, "72:00:01"),
        (59.9999999, "0:01:00"),
    ],
)
def test_a_duration_is_written_as_it_is_read(number: float, text: str) -> None:
    assert to_text(number, unit="duration") == text
    assert number_in_text(text, unit="duration", texts="iso") == pytest.approx(number, abs=1e-6)


def test_answers_are_durations_and_can_be_asked_again() -> None:
    held = lw.Distribution.of_values(["1:00:00"] * 3 + ["2:00:00"] * 7, DAY)
    assert DAY.closed == "right" and held.cdf("1:00:00") == 0.3
    assert held.cdf(dt.timedelta(hours=1)) == held.cdf(np.timedelta64(1, "h")) == 0.3
    median = held.quantile(0.5)
    assert median == "1:49:17.142857" and held.cdf(median) == pytest.approx(0.5)
    assert held.mean() == "1:34:30" and held.probability("1:00:00", "2:00:00") == 0.7
    assert lw.Interval(dt.timedelta(0), dt.timedelta(days=1), bins=96, unit="duration") == DAY


def test_short_durations_have_short_bins_and_parts_of_a_second() -> None:
    from lapwing.planning.chosen_bins import with_bins

    short, said = with_bins(lw.Interval("0:00:00", "0:00:10", unit="duration"), 256)
    assert short.bins == 200 and said == "The interval is cut into 200 bins of 0.05 seconds."
    held = lw.Distribution.of_values(np.linspace(0, 10, 1001), short)
    assert held.quantile(0.5) == "0:00:04.995"
