"""Moments of any precision and any year, against whole numbers of any size."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lapwing.protocol.domains.text_values import NoClockError
from lapwing.protocol.domains.units import numbers_of_timestamps
from tests.rows import each

DAY = 86_400
TICK = {
    "W": Fraction(7 * DAY),
    "D": Fraction(DAY),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "ps": Fraction(1, 10**12),
    "fs": Fraction(1, 10**15),
    "as": Fraction(1, 10**18),
}
LIMIT = 2**63 - 1
TICKS = sorted(
    {
        sign * number
        for number in (0, 1, 7, 86_399, 86_400, 10**9 - 1, 10**15 + 1, 10**18, LIMIT - 1, LIMIT)
        for sign in (1, -1)
    }
)


def moments(ticks: list[int], kind: str) -> Any:
    return np.array(ticks, dtype=np.int64).view(f"datetime64[{kind}]")


def expected(ticks: int, tick: Fraction, unit: str) -> float:
    """To the microsecond below, and then to the nearest float or the one beside it."""
    microseconds = math.floor(ticks * tick * 10**6)
    if unit == "date":
        return float(microseconds // (DAY * 10**6))
    if unit == "time-of-day":
        microseconds %= DAY * 10**6
    return float(Fraction(microseconds, 10**6))


@each("unit", ["date", "datetime", "time-of-day"])
@each("kind", list(TICK))
def test_no_precision_overflows(kind: str, unit: Any) -> None:
    if unit == "time-of-day" and kind in ("W", "D"):
        with pytest.raises(NoClockError):
            numbers_of_timestamps(moments(TICKS, kind), unit=unit)
        return
    found = numbers_of_timestamps(moments(TICKS, kind), unit=unit)
    want = np.array([expected(ticks, TICK[kind], unit) for ticks in TICKS])
    if unit == "date":
        # A float holds the days of all but the largest numbers of days exactly.
        assert found.tolist() == want.tolist()
    else:
        assert found == pytest.approx(want, rel=2**-51, abs=0)


@pytest.mark.parametrize("kind", ["25s", "3D", "7us", "100ns", "1000000W"])
def test_steps_of_several_ticks(kind: str) -> None:
    count, tick = int(kind.rstrip("sDuWn")), TICK[kind.lstrip("0123456789")]
    found = numbers_of_timestamps(moments([-5, 3, 12_345], kind), unit="datetime")
    want = [expected(ticks * count, tick, "datetime") for ticks in (-5, 3, 12_345)]
    assert found.tolist() == pytest.approx(want, rel=1e-15)
    far = numbers_of_timestamps(moments([LIMIT, -LIMIT], kind), unit="date")
    assert far.tolist() == [math.inf, -math.inf]


def test_months_and_years_of_any_calendar() -> None:
    years = [-(2**41), -292_000_000, -4713, 0, 2026 - 1970, 300_000, 2**39, 2**41]
    days = numbers_of_timestamps(moments(years, "Y"), unit="date")
    # The calendar repeats after 400 years, or 146,097 days.
    want = [
        float(
            year // 400 * 146_097 + int(np.datetime64(year % 400, "Y").astype("M8[D]").view("i8"))
        )
        for year in years[1:-1]
    ]
    assert days[1:-1].tolist() == want
    assert days[[0, -1]].tolist() == [-math.inf, math.inf]
    months = numbers_of_timestamps(moments([12 * year for year in years], "M"), unit="date")
    assert months.tolist() == days.tolist()


def test_what_is_no_time_and_bytes_in_the_other_order() -> None:
    for kind in ["generic", *TICK, "Y", "M"]:
        nothing = np.array(["NaT"], "datetime64" if kind == "generic" else f"datetime64[{kind}]")
        assert np.isnan(numbers_of_timestamps(nothing, unit="date")).all()
    swapped = np.array(["2026-11-21", "NaT"], ">M8[s]")
    assert numbers_of_timestamps(swapped, unit="date")[0] == 20_778
    assert numbers_of_timestamps(np.array(["2026-11-21"] * 4, "M8[s]")[::2], unit="date").size == 2
