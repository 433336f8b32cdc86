"""Arrow arrays as values that a domain accepts: numbers, dates, times and labels as what they are.

What does not fit the domain's unit is refused, not guessed at: a column of dates is never a
column of plain numbers. Plain numbers count as days (date), seconds since 1970 (datetime) or
seconds since midnight (time-of-day), as everywhere in the package.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapwing.categories import Categories
from lapwing.domain import Domain
from lapwing.errors import ArgumentError, DomainError, LapwingWarning
from lapwing.hashed_texts import HashedTexts
from lapwing.units import Unit, to_numbers

Values = NDArray[Any]

NULL_TEXTS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None")
"""Texts of a CSV that mean a missing value, unless the domain has such a label."""

_FITS = {
    "numbers": ("number", "date", "datetime", "time-of-day"),
    "dates": ("date", "datetime"),
    "timestamps": ("date", "datetime", "time-of-day"),
    "times of day": ("time-of-day",),
    "texts": ("date", "datetime", "time-of-day"),
}

_COUNTED_IN = {
    "date": "days since 1970-01-01",
    "datetime": "seconds since 1970-01-01T00:00 UTC",
    "time-of-day": "seconds since midnight",
}

_NOBODY = object()
"""Stands for a text that is no label, so that the domain refuses it with its position."""


def labels_of(array: Any, *, column: str) -> list[str | None]:
    """Return an Arrow array as the labels of groups; None where there is none.

    Parameters
    ----------
    array : pyarrow.Array
        Texts, whole numbers, dates or truth values.
    column : str
        Its name, for messages.

    Raises
    ------
    ArgumentError
        When the column is of another type: numbers with fractions are no groups.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kinds = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_integer,
        pa.types.is_date,
        pa.types.is_boolean,
        pa.types.is_null,
    )
    if not any(kind(array.type) for kind in kinds):
        raise ArgumentError(
            f"the groups in column {column!r} must be texts, whole numbers or dates, they are "
            f"{array.type}"
        )
    labels: list[str | None] = array.cast(pa.string()).to_pylist()
    return labels


def values_of(array: Any, domain: Domain, *, column: str, typed: bool) -> Values:
    """Return an Arrow array as values of a domain: float64, datetime64 or object [n].

    Parameters
    ----------
    array : pyarrow.Array
        At least one row; null for missing.
    domain : Domain
    column : str
        Its name, for messages.
    typed : bool
        False: texts of a CSV, which may stand for anything.

    Raises
    ------
    DomainError
        When the type does not fit the domain; with the position of the first text that cannot
        be read. Whether values are legal is for the domain to say.

    Warns
    -----
    LapwingWarning
        When plain numbers stand for dates or times: it says what they count as.

    Notes
    -----
    O(n) in Arrow and NumPy. Texts take a loop in Python only when a batch has a text that Arrow
    cannot read, and labels one inside the domain.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        array = array.cast(pa.float64())
    unit: Unit = getattr(domain, "unit", "number")
    if not typed:
        array = pc.utf8_trim_whitespace(array)
        labels = _text_labels(domain)
        nulls = pa.array([text for text in NULL_TEXTS if text not in labels], pa.string())
        array = pc.if_else(pc.is_in(array, value_set=nulls), None, array)
        if domain.ordered:
            if unit == "number":
                return _numbers_in_texts(array)
            return _parsed(array, unit, column=column)
    if isinstance(domain, HashedTexts):
        return _texts(array, column=column)
    if isinstance(domain, Categories):
        return _labels(array, domain, column=column)
    return _ordered(array, unit, column=column)


def _text_labels(domain: Domain) -> set[str]:
    if isinstance(domain, Categories) and not isinstance(domain.labels, int):
        return set(map(str, domain.labels))
    return set()


def _kind(kind: Any) -> str:
    """Return what a column of an Arrow type holds, in words."""
    from pyarrow import types

    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_date(kind):
        return "dates"
    if types.is_timestamp(kind):
        return "timestamps"
    if types.is_time(kind):
        return "times of day"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "texts"
    if types.is_boolean(kind):
        return "true and false"
    return f"values of type {str(kind)[:40]}"


def _refuse_kind(column: str, kind: str, needed: str, advice: str) -> NoReturn:
    raise DomainError(
        f"the column {column!r} must hold {needed} for this survey, it holds {kind}; {advice}"
    )


def _ordered(array: Any, unit: Unit, *, column: str) -> Values:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = _kind(array.type)
    if unit not in _FITS.get(kind, ()):
        needed = {
            "number": "numbers",
            "date": "dates or timestamps",
            "datetime": "timestamps or dates",
            "time-of-day": "times of day or timestamps",
        }[unit]
        advice = "choose another column, or a survey whose domain has the right --unit"
        _refuse_kind(column, kind, needed, advice)
    if kind == "numbers":
        return _said(_floats(array), unit, column=column)
    if kind == "texts":
        return _parsed(pc.utf8_trim_whitespace(array.cast(pa.string())), unit, column=column)
    if kind == "times of day":
        return _floats(array.cast(pa.time64("us"), safe=False).cast(pa.int64())) / 1e6
    if kind == "timestamps" and array.type.tz is not None and unit != "datetime":
        # The date and the time of day are those on the wall where the value was recorded.
        try:
            array = pc.local_timestamp(array)
        except pa.ArrowInvalid:
            raise DomainError(
                f"the time zone of column {column!r} is unknown on this machine; install its "
                "time zone database, or convert the column"
            ) from None
    instants: Values = array.to_numpy(zero_copy_only=False)
    return instants


def _said(numbers: NDArray[np.float64], unit: Unit, *, column: str) -> NDArray[np.float64]:
    """Return plain numbers, saying what they count as: minutes, say, would be taken for seconds."""
    if unit != "number" and not np.isnan(numbers).all():
        warnings.warn(
            f"the column {column!r} holds plain numbers; they count as {_COUNTED_IN[unit]}",
            LapwingWarning,
            stacklevel=2,
        )
    return numbers


def _floats(array: Any) -> NDArray[np.float64]:
    """Return numbers as float64 [n], null as NaN."""
    import pyarrow as pa

    floats: NDArray[np.float64] = array.cast(pa.float64(), safe=False).to_numpy(
        zero_copy_only=False
    )
    return floats


def _numbers_in_texts(array: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    try:
        return _floats(array.cast(pa.float64()))
    except pa.ArrowInvalid:
        return np.array([_number(text, place) for place, text in enumerate(array.to_pylist())])


def _number(text: str | None, position: int) -> float:
    if text is None:
        return math.nan
    try:
        if "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise DomainError(
        f"every value must be a number, the text at position {position} is not; correct it, or "
        "leave it empty if it is missing",
        position=position,
    )


def _parsed(array: Any, unit: Unit, *, column: str) -> Values:
    """Return texts as dates or times; failing that, as the numbers that stand for them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if unit == "time-of-day":
        # Arrow reads no times, but timestamps; the day is taken off again by the domain.
        clock = pc.binary_join_element_wise(pa.scalar("1970-01-01"), array, " ")
        attempts = [(clock, pa.timestamp("us")), (array, pa.timestamp("us"))]
    elif unit == "date":
        attempts = [(array, pa.date32()), (array, pa.timestamp("us"))]
    else:
        attempts = [(array, pa.timestamp("us")), (array, pa.timestamp("us", "UTC"))]
    for texts, kind in attempts:
        try:
            instants: Values = texts.cast(kind).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            continue
        return instants
    try:
        return to_numbers(np.array(array.to_pylist(), dtype=object), unit=unit)
    except DomainError as error:
        try:
            return _said(_floats(array.cast(pa.float64())), unit, column=column)
        except pa.ArrowInvalid:
            raise error from None


def _texts(array: Any, *, column: str) -> Values:
    """Return texts as they are; numbers are no texts, because nobody says how to write them."""
    import pyarrow as pa

    kind = _kind(array.type)
    if kind != "texts" and array.null_count < len(array):
        _refuse_kind(column, kind, "texts", "convert it first")
    texts: Values = array.cast(pa.string()).to_numpy(zero_copy_only=False)
    return texts


def _labels(array: Any, domain: Categories, *, column: str) -> Values:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = _kind(array.type)
    if kind not in ("texts", "numbers", "true and false"):
        _refuse_kind(column, kind, "labels (texts or whole numbers)", "convert it first")
    if kind == "numbers":
        array = _whole(array)
        if not pa.types.is_integer(array.type):
            values: Values = array.to_numpy(zero_copy_only=False)
            return values
    if isinstance(domain.labels, int):
        return _counted(array)
    listed = list(domain.listed)
    texts = [str(label) for label in listed]
    if len(set(texts)) != len(texts):
        raise DomainError(
            "the labels of this survey must differ as texts, some differ only in type; randomise "
            "through the library"
        )
    places = pc.index_in(array.cast(pa.string()), value_set=pa.array(texts, pa.string()))
    labels = np.array([*listed, _NOBODY, None], dtype=object)
    codes = places.fill_null(len(listed)).to_numpy(zero_copy_only=False)
    codes = np.where(array.is_null().to_numpy(zero_copy_only=False), len(listed) + 1, codes)
    chosen: Values = labels[codes]
    return chosen


def _whole(array: Any) -> Any:
    """Return numbers as whole numbers where all are; else as they were."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(array.type):
        return array
    floats = array.cast(pa.float64(), safe=False)
    try:
        return pc.if_else(pc.is_nan(floats), None, floats).cast(pa.int64())
    except pa.ArrowInvalid:
        return floats


def _counted(array: Any) -> Values:
    """Return labels 0, 1, ... that may have come as texts: int64, or object where some cannot."""
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    try:
        numbers = array.cast(pa.int64())
    except pa.ArrowInvalid:
        return np.array([_whole_or_text(text) for text in array.to_pylist()], dtype=object)
    if numbers.null_count:
        return np.array(numbers.to_pylist(), dtype=object)
    values: Values = numbers.to_numpy(zero_copy_only=False)
    return values


def _whole_or_text(text: Any) -> Any:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else text
