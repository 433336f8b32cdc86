"""Columns of strings as numbers of a domain's unit, each row on its own.

`lapwing.protocol.domains.text_values.number_in_text` says what a string means. Here the usual forms
are read for many rows at once, from the bytes of the column, to the same numbers. Other forms go to
that function, row by row. So a row that cannot be read costs its own time and changes no other.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.protocol.domains.text_values import (
    DAY,
    Decimal,
    Texts,
    Thousands,
    Unit,
    number_in_text,
)

NULL_TEXTS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None")
"""Texts that mean a missing value, unless the domain has such a label."""

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A number that Arrow reads as Python does, and never as infinite.
_DECIMAL = r"^[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?$"

_WIDEST_CLOCK, _WIDEST_MOMENT = 15, 26
"""Bytes of 09:30:00.123456 and of 2026-11-21T09:30:00.123456, without a zone."""


def numbers_in_texts(
    array: Any,
    *,
    unit: Unit,
    texts: Texts,
    decimal: Decimal = ".",
    thousands: Thousands | None = None,
) -> tuple[Floats, Flags]:
    """Return strings as numbers (NaN if missing or unreadable), and which are unreadable.

    array: Texts, or their bytes, which need not be valid UTF-8.
    unit, texts: As of :func:`lapwing.protocol.domains.text_values.number_in_text`.
    decimal: The decimal separator. The other one may be in no number, because 1.234 could be 1234.
    thousands: Mark between groups of digits. Then signs of currencies and percent are left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    array = unchecked_texts(array)
    if unit == "number" or texts != "iso":
        if thousands is not None:
            array = _without_marks(array, decimal, thousands)
        if decimal == ",":
            array = _with_points(array)
        numbers, rest = _decimals(pc.ascii_trim_whitespace(array))
        with np.errstate(all="ignore"):
            if unit == "date" and texts == "seconds":
                numbers = np.floor_divide(numbers, DAY)
            elif unit in ("datetime", "time-of-day", "duration") and texts == "days":
                numbers = numbers * DAY
    else:
        numbers, rest = _written_as_iso(array, unit)
    unreadable = np.zeros(len(array), dtype=bool)
    rows = np.flatnonzero(rest)
    left = array.take(pa.array(rows)).cast(pa.large_binary()).to_pylist() if rows.size else []
    for row, content in zip(rows.tolist(), left, strict=True):
        numbers[row], unreadable[row] = _one(content, unit, texts)
    return numbers, unreadable


def decimal_commas(array: Any) -> tuple[int, int]:
    """Return how many strings have one comma amid digits, and how many three digits after it."""
    import pyarrow.compute as pc

    array = unchecked_texts(array)
    forms = (r"^\s*[+-]?[0-9]+,[0-9]+\s*$", r"^\s*[+-]?[1-9][0-9]{0,2},[0-9]{3}\s*$")
    found = [pc.sum(pc.match_substring_regex(array, form)).as_py() or 0 for form in forms]
    return found[0], found[1]


def line_ends(array: Any) -> NDArray[np.int64]:
    """Return how many line ends each string has, or its bytes: int64 [n]."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.count_substring(array.cast(pa.large_binary()), pattern=b"\n")
    ends: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return ends


_BLANK = "(?: |\u00a0|\u2009|\u202f)"
_CURRENCY = f"(?:{'|'.join(map(re.escape, '$¢£¤¥฿₡₦₩₪₫€₭₮₱₲₴₵₸₹₺₼₽₾₿'))})"
_GROUPED = {",": ",", ".": r"\.", "'": "(?:'|\u2019)", " ": _BLANK}


def _without_marks(array: Any, decimal: Decimal, thousands: Thousands) -> Any:
    """Return numbers in groups of digits as plain ones, and other texts as they are.

    The last group has three digits, and those before it two or three, as in 12,34,567.
    """
    import pyarrow.compute as pc

    mark, blanks = _GROUPED[thousands], f"{_BLANK}*"
    currency = f"(?:{_CURRENCY}{blanks})?"
    digits = f"(?:[0-9]+|[0-9]{{1,3}}(?:{mark}[0-9]{{2,3}})*{mark}[0-9]{{3}})"
    form = (
        rf"^\s*{blanks}(?:[+-]{blanks}{currency}|{currency}[+-]?){digits}"
        rf"(?:{_GROUPED[decimal]}[0-9]*)?(?:{blanks}(?:%|{_CURRENCY}))?{blanks}\s*$"
    )
    content = array.view("large_binary")  # of bytes, because some may be no characters
    plain = pc.replace_substring_regex(
        content, pattern=f"{mark}|{_BLANK}|{_CURRENCY}|%", replacement=""
    )
    return pc.if_else(pc.match_substring_regex(content, form), plain, content).view("large_string")


def _with_points(array: Any) -> Any:
    """Return texts with a point for each comma. Where a point stood, what no number has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    content = array.view(pa.large_binary())
    content = pc.replace_substring(content, pattern=b".", replacement=b"_")
    content = pc.replace_substring(content, pattern=b",", replacement=b".")
    return content.view(pa.large_string())


def without_views(array: Any) -> Any:
    """Return an array without the views that polars writes, which few functions of Arrow take."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind) and _is_view(kind.value_type):
        wide = pa.large_string() if pa.types.is_string_view(kind.value_type) else pa.large_binary()
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(wide))
            for chunk in (array.chunks if isinstance(array, pa.ChunkedArray) else [array])
        ]
        return chunks[0] if isinstance(array, pa.Array) else pa.chunked_array(chunks)
    if pa.types.is_run_end_encoded(kind):
        return without_views(pc.run_end_decode(array))
    if _is_view(kind):
        return array.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    return array


def _is_view(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string_view(kind) or types.is_binary_view(kind))


def unchecked_texts(array: Any) -> Any:
    """Return texts or bytes as a pyarrow.LargeStringArray that may not be valid UTF-8."""
    import pyarrow as pa

    if pa.types.is_binary(array.type):
        array = array.view(pa.string())
    elif pa.types.is_large_binary(array.type):
        array = array.view(pa.large_string())
    return array.cast(pa.large_string())


def _one(content: bytes, unit: Unit, texts: Texts) -> tuple[float, bool]:
    try:
        text = content.decode()
        if text.strip() in NULL_TEXTS:
            return np.nan, False
        return number_in_text(text, unit=unit, texts=texts), False
    except (ValueError, OverflowError):
        return np.nan, True


def _present(array: Any) -> Flags:
    present: Flags = array.is_valid().to_numpy(zero_copy_only=False)
    return present


def _decimals(array: Any) -> tuple[Floats, Flags]:
    """Return the numbers that Arrow reads, and where there is more to read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    present = _present(array)
    try:
        floats = array.cast(pa.float64())
    except (pa.ArrowInvalid, UnicodeDecodeError):
        usual = pc.match_substring_regex(array, _DECIMAL)
        floats = pc.if_else(usual, array, None).cast(pa.float64())
    numbers = np.array(floats.to_numpy(zero_copy_only=False), dtype=np.float64)
    # Arrow knows more words for infinity and NaN than Python; words are left to Python.
    rest = present & ~np.isfinite(numbers)
    numbers[rest] = np.nan
    return numbers, rest


def _written_as_iso(array: Any, unit: Unit) -> tuple[Floats, Flags]:
    """Return the numbers of strings in the usual ISO forms, and where there is more to read."""
    _, offset_buffer, data_buffer = array.buffers()
    present = _present(array)
    numbers = np.full(len(array), np.nan)
    if data_buffer is None or not present.any():
        return numbers, present
    data = np.frombuffer(data_buffer, dtype=np.uint8)
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset :][: len(array) + 1]
    lengths = np.where(present, np.diff(offsets), 0)
    rest = present.copy()
    # The bytes of one length at a time; nobody's text that is longer is of a usual form.
    for length in np.flatnonzero(np.bincount(np.minimum(lengths, _WIDEST_MOMENT + 7))).tolist():
        if not 5 <= length <= _WIDEST_MOMENT + 6:
            continue
        rows = np.flatnonzero(lengths == length)
        starts = offsets[rows]
        if rows.size == len(array):
            table = data[starts[0] : starts[0] + rows.size * length].reshape(rows.size, length).T
        else:
            table = data[starts + np.arange(length)[:, None]]
        found, read = _rows_of_iso(np.ascontiguousarray(table), unit)
        numbers[rows[read]] = found[read]
        rest[rows[read]] = False
    return numbers, rest


def _rows_of_iso(table: Bytes, unit: Unit) -> tuple[Floats, Flags]:
    """Return the numbers in texts of one length, uint8 [length, n], and which could be read."""
    length, count = table.shape
    found, read = np.full(count, np.nan), np.zeros(count, dtype=bool)

    def take(rows: Any, result: tuple[Floats, Flags]) -> None:
        found[rows], read[rows] = result

    if unit == "duration":  # days before the clock take the other way
        if length == 7:
            table = np.concatenate([np.full((1, count), ord("0"), dtype=np.uint8), table])
        take(slice(None), _durations(table))
        return found, read
    clock = table[2] == ord(":")
    if unit == "time-of-day" and clock.any():
        take(clock, _clocks(table[:, clock]))
    if length == 10:
        take(~clock, _moments(table[:, ~clock], None, unit))
    elif length >= 16:
        zones = (table[-1] == ord("Z")).astype(np.int8)
        if length >= 22:
            signed = (table[-6] == ord("+")) | (table[-6] == ord("-"))
            zones += 6 * (signed & (table[-3] == ord(":")) & (zones == 0))
        for zone in np.flatnonzero(np.bincount(zones)).tolist():
            rows = ~clock & (zones == zone)
            part = table if rows.all() else table[:, rows]
            take(rows, _moments(part[: length - zone], part[length - zone :], unit))
    return found, read


@cache
def _month_starts() -> NDArray[np.int64]:
    """Return the days since 1970 at which the months from the year 0 to January 10000 start."""
    months = np.arange(-12 * 1970, 12 * (10_000 - 1970) + 1).view("datetime64[M]")
    return months.astype("datetime64[D]").view(np.int64)


def _digits(table: Bytes, start: int, end: int) -> tuple[NDArray[np.int32], Flags]:
    """Return the whole numbers in some places of the texts, and where these are all digits."""
    values = np.zeros(table.shape[1], dtype=np.int32)
    legal = np.ones(table.shape[1], dtype=bool)
    for place in range(start, end):
        digit = table[place] - np.uint8(ord("0"))  # below "0" wraps to far above 9
        legal &= digit <= 9
        values *= 10
        values += digit
    return values, legal


def _clock_parts(table: Bytes) -> tuple[NDArray[np.int32], NDArray[np.int32], int, Flags]:
    """Return seconds since midnight, parts of a second, how many parts one has, and what is legal.

    Of HH:MM, HH:MM:SS and HH:MM:SS.f. The hour may be 24 or more.
    """
    length, count = table.shape
    nothing = np.zeros(count, dtype=np.int32)
    if length not in (5, 8) and not 10 <= length <= _WIDEST_CLOCK:
        return nothing, nothing, 1, np.zeros(count, dtype=bool)
    hours, legal = _digits(table, 0, 2)
    minutes, digits = _digits(table, 3, 5)
    legal &= digits & (table[2] == ord(":")) & (minutes < 60)
    seconds, parts, one = nothing, nothing, 1
    if length >= 8:
        seconds, digits = _digits(table, 6, 8)
        legal &= digits & (table[5] == ord(":")) & (seconds < 60)
    if length > 8:
        parts, digits = _digits(table, 9, length)
        legal &= digits & (table[8] == ord("."))
        one = 10 ** (length - 9)
    return 3600 * hours + 60 * minutes + seconds, parts, one, legal


def _clocks(table: Bytes) -> tuple[Floats, Flags]:
    seconds, parts, one, legal = _clock_parts(table)
    # Added in the order in which the text alone is read.
    last = seconds % 60
    numbers = (seconds - last) + (last * one + parts) / one
    return numbers, legal & (numbers <= DAY)


def _durations(table: Bytes) -> tuple[Floats, Flags]:
    seconds, parts, one, legal = _clock_parts(table)
    ticks = seconds.astype(np.int64) * 10**6 + parts * (10**6 // one)
    return ticks / 1e6, legal & (len(table) >= 8)


def _moments(table: Bytes, zone: Bytes | None, unit: Unit) -> tuple[Floats, Flags]:
    """Return YYYY-MM-DD, alone or followed by T or a blank and a clock and a zone."""
    years, legal = _digits(table, 0, 4)
    months, digits = _digits(table, 5, 7)
    legal &= digits & (table[4] == ord("-")) & (table[7] == ord("-"))
    days, digits = _digits(table, 8, 10)
    legal &= digits & (years >= 1) & (months >= 1) & (months <= 12) & (days >= 1)
    month = np.where(legal, 12 * years + months - 1, 0)
    start = _month_starts()[month]
    legal &= days <= _month_starts()[month + 1] - start
    since = start + days - 1
    seconds = microseconds = np.zeros(len(since), dtype=np.int32)
    if len(table) > 10:
        seconds, parts, one, clocks = _clock_parts(table[11:])
        legal &= clocks & (seconds < DAY)
        legal &= (table[10] == ord("T")) | (table[10] == ord(" "))
        microseconds = parts * (10**6 // one)
    elif unit == "time-of-day":
        legal &= False  # a date alone, which has none
    east: Any = 0
    if zone is not None and len(zone) == 6:
        hours, digits = _digits(zone, 1, 3)
        minutes, more_digits = _digits(zone, 4, 6)
        legal &= digits & more_digits & (hours < 24) & (minutes < 60)
        east = np.where(zone[0] == ord("-"), -60, 60) * (60 * hours + minutes)
    if unit == "date":
        return since.astype(np.float64), legal
    if unit == "datetime":
        return ((since * DAY + seconds - east) * 10**6 + microseconds) / 1e6, legal
    return (seconds.astype(np.int64) * 10**6 + microseconds) / 1e6, legal
