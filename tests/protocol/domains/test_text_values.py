"""What one text means: the forms that are read, those that are not, and years beyond Python's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import ArgumentError
from lapwing.protocol.domains.text_values import check_texts, number_in_text


@pytest.mark.parametrize(
    ("text", "unit", "texts", "number"),
    [
        (" 12.5 ", "number", "iso", 12.5),
        ("+1e3", "number", "iso", 1000.0),
        ("-inf", "number", "iso", -math.inf),
        ("1e999", "number", "iso", math.inf),
        ("2026-11-21", "date", "iso", 20_778.0),
        ("20261121", "date", "iso", 20_778.0),
        ("2026-11-21T23:59:59.999999-10:00", "date", "iso", 20_778.0),
        ("0001-01-01", "date", "iso", -719_162.0),
        ("0000-12-31", "date", "iso", -719_163.0),
        ("-0400-12-31", "date", "iso", -719_163.0 - 146_097),
        ("+10000-01-01", "date", "iso", 2_932_897.0),
        ("10000-01-01", "date", "iso", 2_932_897.0),
        ("9999-12-31", "date", "iso", 2_932_896.0),
        ("-0001-01-01T00:00:01", "datetime", "iso", -719_893.0 * 86_400 + 1),
        ("1970-01-01T01:00+01:00", "datetime", "iso", 0.0),
        ("1969-12-31T24:00", "datetime", "iso", 0.0),
        ("1969-12-31T24:00:00.0Z", "datetime", "iso", 0.0),
        ("19691231T240000+0100", "datetime", "iso", -3600.0),
        ("9999-12-31T24:00", "date", "iso", 2_932_897.0),
        ("-0401-12-31T24:00", "date", "iso", -719_528.0 - 146_097),
        ("2026-11-21T24:00", "time-of-day", "iso", 0.0),
        ("1970-01-01T00:00-23:59", "datetime", "iso", 86_340.0),
        ("1893-03-31T24:00:00+00:53:28", "datetime", "iso", -2_422_054_408.0),
        ("1970-01-01T00:00:01.1234567", "datetime", "iso", 1.123456),
        ("1970-01-01t00:00:01,5", "datetime", "iso", 1.5),
        ("1970-01-01T09", "time-of-day", "iso", 32_400.0),
        ("1970-W01-4 093015", "time-of-day", "iso", 34_215.0),
        ("1970W01", "date", "iso", -3.0),
        ("-0001-01-01T09:30", "time-of-day", "iso", 34_200.0),
        ("9:30", "time-of-day", "iso", 34_200.0),
        ("24:00", "time-of-day", "iso", 86_400.0),
        ("2026-11-21 09:30Z", "time-of-day", "iso", 34_200.0),
        ("17897", "date", "days", 17_897.0),
        ("-1.5", "date", "days", -1.5),
        ("0.5", "datetime", "days", 43_200.0),
        ("0.5", "time-of-day", "days", 43_200.0),
        ("86400", "date", "seconds", 1.0),
        ("-1", "date", "seconds", -1.0),
        ("inf", "date", "seconds", math.inf),
        ("1556703000", "datetime", "seconds", 1_556_703_000.0),
        ("34200.5", "time-of-day", "seconds", 34_200.5),
    ],
)
def test_what_a_text_means(text: str, unit: Any, texts: Any, number: float) -> None:
    assert number_in_text(text, unit=unit, texts=texts) == number


@pytest.mark.parametrize(
    ("text", "unit", "texts"),
    [
        ("", "number", "iso"),
        ("1_000", "number", "iso"),
        ("1,5", "number", "iso"),
        ("0x10", "number", "iso"),
        ("5\0", "number", "iso"),
        ("\ud800", "number", "iso"),
        ("17897", "date", "iso"),
        ("1970-01-01T24:01", "datetime", "iso"),
        ("1970-01-01T24:00:00.1", "datetime", "iso"),
        ("1970-01-01T25:00", "datetime", "iso"),
        ("1970-01-01T09:60", "datetime", "iso"),
        ("1970-01-01T09:30+05:60", "datetime", "iso"),
        ("1970-01-01T09:30+05:30:60", "datetime", "iso"),
        ("1970-01-01T09:30+24:00", "datetime", "iso"),
        ("1970-01-01T09:30:15:12", "datetime", "iso"),
        ("1970-01-01T09:30 +05:30", "datetime", "iso"),
        ("1970-01-01X09:30", "datetime", "iso"),
        ("1970-01-01T", "date", "iso"),
        ("1970-02-30", "time-of-day", "iso"),
        ("١٩٧٠-01-01", "date", "iso"),
        ("2019-02-29", "date", "iso"),
        ("-0001-02-29", "date", "iso"),
        ("31/12/2019", "date", "iso"),
        ("1234567890123-01-01", "date", "iso"),
        ("09:30", "date", "iso"),
        ("1556703000", "datetime", "iso"),
        ("34200", "time-of-day", "iso"),
        ("24:01", "time-of-day", "iso"),
        ("12:60", "time-of-day", "iso"),
        ("2019-05-01", "date", "days"),
        ("2019-05-01", "datetime", "seconds"),
        ("09:30", "time-of-day", "seconds"),
    ],
)
def test_what_no_text_means(text: str, unit: Any, texts: Any) -> None:
    with pytest.raises(ValueError):
        number_in_text(text, unit=unit, texts=texts)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.integers(-(10**6), 10**6), st.integers(0, 10**7))
def test_far_years_as_numpy_counts_them(year: int, second: int) -> None:
    moment = (np.datetime64(year - 1970, "Y").astype("datetime64[s]") + second).astype("M8[s]")
    number, *rest = str(moment).rsplit("-", 2)
    text = "-".join([f"{int(number):0{4 + (int(number) < 0)}d}", *rest])
    days = int(moment.astype("datetime64[D]").view("i8"))
    assert number_in_text(text[: text.index("T")], unit="date", texts="iso") == days
    assert number_in_text(text, unit="datetime", texts="iso") == int(moment.view("i8"))


def test_a_reading_that_is_none_is_refused() -> None:
    for texts, unit in (("excel", "date"), ("days", "number"), ("seconds", "number")):
        with pytest.raises(ArgumentError, match="texts"):
            check_texts(texts, unit)
    check_texts("days", "date")
