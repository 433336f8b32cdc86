"""Texts read many at a time, from their bytes, mean what each means alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.engines.arrow.text_columns import NULL_TEXTS, _written_as_iso, numbers_in_texts
from lapwing.protocol.domains.text_values import Texts, Unit, number_in_text
from tests.rows import each

UNITS: tuple[Unit, ...] = ("number", "date", "datetime", "time-of-day")

DATES = ["2019-05-01", "0001-01-01", "9999-12-31", "2000-02-29", "1900-02-29", "2019-02-30",
         "2019-13-01", "2019-00-10", "2019-01-00", "0000-01-01", "-044-03-15",
         "2019/05/01"]  # fmt: skip
CLOCKS = ["09:30", "23:59:59", "24:00", "24:00:01", "12:60", "12:00:60", "9:30", "09:30:00.5",
          "09:30:59.999999", "09:30:59.9999999", "09.30", "0a:30", "09:30:0", "99:99"]  # fmt: skip
ZONES = ["", "Z", "z", "+01:00", "-23:59", "+24:00", "+0100", "+01", " 01:00"]
NUMBERS = ["5", "-0.0", "+5", "1e3", "1e400", "-1e400", "1e-400", "inf", "Infinity", "nan",
           "nan(1)", "-nan", "1_0", "1,5", "0x10", "", " 5\t", "\u00a05", "५", "5\0", ".", "5.",
           ".5", "1e", "17897", "12345678901234567890123456789012345678901234567890"]  # fmt: skip
OTHERS = [*NULL_TEXTS, "secret", "2019-W18-3", "20190501", "+12345-06-07", "é9:30", "09:3é"]

moments = st.builds(
    lambda day, mark, clock, zone: day + mark + clock + zone,
    st.sampled_from(DATES),
    st.sampled_from(["T", " ", "t", "", "x"]),
    st.sampled_from(CLOCKS),
    st.sampled_from(ZONES),
)
texts = st.one_of(
    st.none(),
    moments,
    st.sampled_from([*DATES, *CLOCKS, *NUMBERS, *OTHERS]),
    st.datetimes().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.times().map(str),
    st.floats().map(repr),
    st.decimals().map(str),
    st.text(max_size=12),
)


def alone(text: str | None, unit: Any, reading: Any) -> float:
    """What one text means, NaN for nothing, by the reference that reads one at a time."""
    if text is None:
        return math.nan
    try:
        return number_in_text(text, unit=unit, texts=reading)
    except ValueError:
        return math.nan


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(texts, min_size=1, max_size=12), st.integers(0, 3), st.booleans())
def test_many_texts_are_read_as_one_is(column: list[str | None], start: int, large: bool) -> None:
    cells = [None if text is None else text.encode("utf-8", "replace") for text in column]
    array = pa.array(cells, pa.large_binary() if large else pa.binary()).slice(start)
    known = [None if cell is None else cell.decode() for cell in cells][start:]
    for unit in UNITS:
        readings: tuple[Texts, ...] = ("iso",) if unit == "number" else ("iso", "days", "seconds")
        for reading in readings:
            numbers, unreadable = numbers_in_texts(array, unit=unit, texts=reading)
            want = [alone(text, unit, reading) for text in known]
            np.testing.assert_array_equal(numbers, np.array(want, dtype=np.float64))
            assert not np.any(unreadable & ~np.isnan(numbers))


@each("zone", ZONES)
@each("clock", [None, *CLOCKS])
def test_every_form_alone_and_among_others(clock: str | None, zone: str) -> None:
    forms = [
        day if clock is None else f"{day}{mark}{clock}{zone}" for day in DATES for mark in "T "
    ]
    if clock is not None:
        forms.append(clock + zone)
    for unit in UNITS[1:]:
        together, _ = numbers_in_texts(pa.array(forms), unit=unit, texts="iso")
        want = np.array([alone(form, unit, "iso") for form in forms])
        np.testing.assert_array_equal(together, want)
        # Alone, all rows are of one form: the first date will do, and the last, which none is.
        for form, number in zip([*forms[:2], forms[-1]], [*want[:2], want[-1]], strict=True):
            (one,), (unreadable,) = numbers_in_texts(pa.array([form]), unit=unit, texts="iso")
            np.testing.assert_array_equal(one, number)
            assert unreadable == np.isnan(number)


def test_missing_is_not_unreadable_and_bytes_need_not_be_text() -> None:
    cells = [b"5", None, b"", b" NA ", b"nan", b"\xff", b"secret", b"\xff5"]
    numbers, unreadable = numbers_in_texts(pa.array(cells), unit="number", texts="iso")
    assert np.isnan(numbers).tolist() == [False] + [True] * 7
    assert unreadable.tolist() == [False] * 5 + [True] * 3


def test_usual_forms_of_every_length_are_read_many_at_once() -> None:
    stamp = "2026-11-21T09:30:00.123456"
    for zone in ("", "Z", "+01:00"):
        for digits in (16, 19, *range(21, len(stamp) + 1)):
            text = stamp[:digits] + zone
            array = pa.array([text.encode()], pa.large_binary())
            (number,), (rest,) = _written_as_iso(array, "datetime")
            assert (number, rest) == (alone(text, "datetime", "iso"), False), text


def test_no_texts_at_all() -> None:
    for cells in ([], [None, None], [""]):
        for unit in UNITS:
            numbers, unreadable = numbers_in_texts(
                pa.array(cells, pa.string()), unit=unit, texts="iso"
            )
            assert np.isnan(numbers).all() and not unreadable.any()
