"""Strings of dates and times, and what they become: the forms that every client reads alike."""

from __future__ import annotations

from typing import Any

from lapwing import Interval
from lapwing.errors import DomainError

MOMENTS = (
    "1970-01-01", "2026-11-21", "2024-02-29", "2026-02-29", "2026-02-30", "2026-13-01",
    "2026-00-01", "2026-11-00", "2026-1-1", "26-11-21", "0001-01-01", "0000-12-31", "10000-01-01",
    "+010000-01-01", "-000400-02-29", "-0401-02-29", "9999-12-31T24:00",
    "2026-11-21T09:30", "2026-11-21T09:30Z", "2026-11-21T09:30:15", "2026-11-21T09:30:15.250Z",
    "2026-11-21T23:59:59.999999999Z", "2026-11-21T00:00:00.000Z", "2026-11-21T09:30:15.Z",
    "2026-11-21T24:00", "2026-11-21T24:00Z", "2026-11-21T24:00:00.000+05:30", "2026-11-21T24:01",
    "2026-11-21T24:00:00.001Z", "2026-11-21T25:00", "2026-11-21T09:60", "2026-11-21T09:30:60Z",
    "2026-11-21T00:30+05:30", "2026-11-21T23:30-05:30", "2026-11-21T09:30+05:60",
    "2026-11-21T09:30+05:99", "2026-11-21T09:30+23:59", "2026-11-21T09:30+24:00",
    "2026-11-21T09:30-00:00", "2026-11-21T09:30z", "2026-11-21T", "2026-11-21T09:30 +05:30",
    "2026-11-21X09:30", "2026-11-21T9:30", "+012345-06-07T08:09:10.123456Z", "", "x",
    "09:30", "9:30", "009:30", "9:3", "23:59:59.5", "24:00", "24:01", "24:00:00.5", "12:60",
    "2026-11-21 09:30:15 UTC", "2026-11-21 09:30:15.250000 UTC", "2026-11-21T09:30 UTC",
    "2026-11-21 24:00:00 UTC", "+012345-06-07 08:09:10 UTC", "2026-11-21 UTC", "09:30 UTC",
    "2026-11-21 09:30Z UTC", "2026-11-21 09:30+01:00 UTC", "2026-11-21 09:30  UTC",
    "2026-11-21 09:30 utc", "2026-11-21 09:30UTC", "2026-11-21 09:30 UTC UTC", " UTC",
    "2026-11-21 09:30", "2026-11-21t09:30", "2026-11-21  09:30", "2026-11-21 09:30:15,250",
    "2026-11-21T09:30+0530", "2026-11-21T09:30-05", "2026-11-21T09:30+5",
    *("0:00:00", "1:30:00", "01:30:00", "-0:30:00", "123:45:06.25", "999999:59:59"),
    *("1000000:00:00", "1:60:00", "1:30", "1:3:00", "0:00:00.0000019", "1 day, 2:03:04"),
    *("2 days 02:03:04.500000", "-1 day, 23:00:00", "-1 days +23:00:00", "-1 days -01:00:00"),
    *("5 days", "1 day", "5 days,", "5 days 3", "5  days", "5days 0:00:00", "PT1H30M", "P1DT2H"),
    *("-PT90.5S", "P2W", "PT1.5H", "P", "PT", "P1M", "P1DT", "pt1h", "+PT5S", "1h30", "90"),
    "\u0660\u0669:\u0663\u0660", "\u0662\u0660\u0662\u0666-11-21",
)  # fmt: skip

FAR = 2.0**45
"""Seconds and days to here cover a million years, in bins of a power of two."""

DOMAINS = (
    ("dates", Interval(-(2**23), 2**23, bins=2**20, unit="date", outside="refuse")),
    ("days of this century", Interval(10_957, 47_482, bins=36_525, unit="date")),
    ("moments", Interval(-FAR, FAR, bins=2**20, unit="datetime", outside="refuse")),
    ("seconds of a day", Interval("2026-11-20", "2026-11-23", bins=259_200, unit="datetime")),
    ("times of day", Interval("00:00", "24:00", bins=86_400, unit="time-of-day", circular=True)),
    ("durations", Interval(-(2.0**20), 2.0**20, bins=2**20, unit="duration", outside="refuse")),
    ("short durations", Interval(0, 16, bins=2**18, unit="duration", outside="refuse")),
    ("to midnight", Interval("00:00", "24:00", bins=1440, unit="time-of-day", closed="right")),
)


def _symbol(domain: Interval, text: str) -> int | None:
    try:
        return int(domain.index([text])[0])
    except DomainError:
        return None


def time_vectors() -> list[dict[str, Any]]:
    """Every string in every domain, with its symbol, or null where it is refused."""
    return [
        {
            "why": why,
            "domain": domain.to_document(),
            "inputs": [[text, _symbol(domain, text)] for text in MOMENTS],
        }
        for why, domain in DOMAINS
    ]
