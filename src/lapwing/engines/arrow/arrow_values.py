"""Arrow arrays as values that a domain accepts: numbers, dates, times and labels as what they are.

A column whose type does not fit the domain's unit is refused, so a column of dates is never read as
plain numbers. The type is that of the file, which is public. Each row is read on its own, so
nothing here looks for a type that fits all rows of a batch. Plain numbers count as days (date),
seconds since 1970 (datetime) or seconds since midnight (time-of-day), as everywhere in the package.
Strings are read as it is declared, see `lapwing.protocol.domains.text_values`.
"""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.text_columns import (
    NULL_TEXTS,
    decimal_commas,
    line_ends,
    numbers_in_texts,
    unchecked_texts,
)
from lapwing.errors import ArgumentError, DomainError, LapwingWarning
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.label_columns import UNKNOWN, CodedLabels, coded_labels, places_of
from lapwing.protocol.domains.label_text import compared_text
from lapwing.protocol.domains.row_counts import RowCounts
from lapwing.protocol.domains.text_values import (
    EXAMPLES,
    Decimal,
    NoClockError,
    Texts,
    Thousands,
    Unit,
    check_texts,
    number_in_text,
)
from lapwing.protocol.domains.units import to_numbers
from lapwing.protocol.domains.zoned_columns import as_local_time

Values = NDArray[Any]

_FITS = {
    "numbers": ("number", "date", "datetime", "time-of-day", "duration"),
    "dates": ("date", "datetime"),
    "timestamps": ("date", "datetime", "time-of-day"),
    "times of day": ("time-of-day",),
    "durations": ("time-of-day", "duration"),
    "texts": ("number", "date", "datetime", "time-of-day", "duration"),
}

_COUNTED_IN = {
    "date": "days since 1970-01-01",
    "datetime": "seconds since 1970-01-01T00:00 UTC",
    "time-of-day": "seconds since midnight",
    "duration": "seconds",
}

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def labels_of(array: Any, *, column: str) -> list[str | None]:
    """Return an Arrow array as the labels of groups. None where there is none.

    array: Texts, whole numbers, dates or truth values.
    column: Its name, for messages.

    Raises ArgumentError when the column is of another type: numbers with fractions are no groups.
    Raises DomainError with the position of the first text that is not UTF-8.

    Strings are in the form in which they are compared, so two forms of a label are one group.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kinds = (pa.types.is_integer, pa.types.is_date, pa.types.is_boolean, pa.types.is_null)
    if _kind(array.type) != "texts" and not any(kind(array.type) for kind in kinds):
        raise ArgumentError(
            f"the groups in column {column!r} must be strings, whole numbers or dates, but they "
            f"are {array.type}"
        )
    if _kind(array.type) == "texts":
        array = _valid_texts(array, refuse=True)
    texts = array.cast(pa.large_string())
    labels: list[str | None] = texts.to_pylist()
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return labels
    return [None if label is None else compared_text(label) for label in labels]


def unit_names(array: Any, *, column: str, typed: bool) -> Any:
    """Return an Arrow array as the names of units. Null for a cell that names none.

    Cells of a CSV are trimmed, as labels are, and an empty one or NA names nobody.

    Raises ArgumentError when the column holds lists or records, which name nobody.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(array.type):
        raise ArgumentError(
            f"the column {column!r} must identify the unit of each row by strings, numbers or "
            f"dates, but it contains {array.type}"
        )
    if not typed or _kind(array.type) == "texts":
        array = _valid_texts(array, refuse=False)
    if not typed:
        array = pc.utf8_trim_whitespace(array)
        nulls = pc.is_in(array, value_set=pa.array(NULL_TEXTS, pa.large_string()))
        array = pc.if_else(nulls, None, array)
    kind = array.type
    if pa.types.is_dictionary(kind) and pa.types.is_temporal(kind.value_type):
        array, kind = array.dictionary_decode(), kind.value_type
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _ticks(array)  # Python has no dates as far as Arrow's
    if _kind(kind) == "texts" or pa.types.is_integer(kind) or pa.types.is_dictionary(kind):
        return array
    return array.to_pylist()


def _ticks(array: Any) -> NDArray[Any]:
    """Return dates, timestamps, times of day or durations by their ticks, as NumPy has them."""
    import pyarrow as pa

    if pa.types.is_date64(array.type):
        array = array.cast(pa.date32(), safe=False)
    if pa.types.is_time(array.type):
        whole = pa.int32() if pa.types.is_time32(array.type) else pa.int64()
        array = array.cast(whole).cast(pa.int64()).cast(pa.duration(array.type.unit))
    ticks: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return ticks


def _valid_texts(array: Any, *, refuse: bool, rows: RowCounts | None = None) -> Any:
    """Return strings or their bytes as strings. Invalid UTF-8 is refused, or is missing."""
    import pyarrow as pa

    array = unchecked_texts(array)
    try:
        array.validate(full=True)
        return array
    except (pa.ArrowInvalid, UnicodeDecodeError):
        pass
    texts: list[str | None] = []
    for position, content in enumerate(array.cast(pa.large_binary()).to_pylist()):
        try:
            texts.append(None if content is None else content.decode())
        except UnicodeDecodeError:
            if refuse:
                raise DomainError(
                    f"every string must be UTF-8, but the string at position {position} is not. "
                    "Convert the file",
                    position=position,
                ) from None
            texts.append(None)
            if rows is not None:
                rows.add_unreadable([position])
    return pa.array(texts, pa.large_string())


def values_of(
    array: Any,
    domain: Domain,
    *,
    column: str,
    typed: bool,
    texts: Texts = "iso",
    decimal: Decimal = ".",
    thousands: Thousands | None = None,
    rows: RowCounts | None = None,
) -> Values:
    """Return an Arrow array as values of a domain: float64 [n], or labels by their numbers.

    array: Null for missing.
    domain: Where it counts missing values, rows that cannot be read are among them.
    column: Its name, for messages.
    typed: False: texts of a CSV, which may stand for anything.
    texts: How strings of dates and times are read.
    decimal: The decimal separator of numbers in strings.
    thousands: Mark between its groups of digits.
    rows: Gets the rows that cannot be read.

    Raises DomainError when the type does not fit the domain. With the position of the first row
    that cannot be read, where missing values are refused. Whether values are legal is for the
    domain to say.

    Warns
    -----
    LapwingWarning
        When a column of plain numbers stands for dates or times: it says what they count as.

    Notes
    -----
    O(n) in Arrow and NumPy. Texts of unusual forms take a loop in Python, for these rows only.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        missing: Values = np.full(len(array), np.nan if domain.ordered else None)
        return missing
    refuse = domain.missing_index is None
    unit: Unit = domain.unit
    check_texts(texts, unit)
    if domain.ordered:
        marks = decimal, thousands
        return _ordered(
            array, unit, column=column, texts=texts, marks=marks, refuse=refuse, rows=rows
        )
    if _kind(array.type) == "texts":
        array = _valid_texts(array, refuse=refuse, rows=rows)
        if not typed:
            array = pc.utf8_trim_whitespace(array)
            labels = _text_labels(domain)
            nulls = [text for text in NULL_TEXTS if text not in labels]
            found = pc.is_in(array, value_set=pa.array(nulls, pa.large_string()))
            array = pc.if_else(found, None, array)
    read = _texts if domain.name == "hashed-strings" else _labels
    coded: Values = read(array, domain, column=column)
    return coded


def _text_labels(domain: Any) -> set[str]:
    listed = domain.listed  # a range where labels are only counted, as texts' hashes are
    return set() if isinstance(listed, range) else set(map(str, listed))


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
    if types.is_duration(kind):
        return "durations"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "texts"
    if types.is_binary(kind) or types.is_large_binary(kind):  # the cells of a CSV, for one
        return "texts"
    if types.is_boolean(kind):
        return "true and false"
    return f"values of type {str(kind)[:40]}"


def _refuse_kind(column: str, kind: str, needed: str, advice: str) -> NoReturn:
    raise DomainError(
        f"the column {column!r} must contain {needed} for this survey, but it contains {kind}. "
        f"{advice}"
    )


def _ordered(
    array: Any,
    unit: Unit,
    *,
    column: str,
    texts: Texts,
    marks: tuple[Decimal, Thousands | None],
    refuse: bool,
    rows: RowCounts | None,
) -> Values:
    import pyarrow as pa

    kind = _kind(array.type)
    if unit not in _FITS.get(kind, ()):
        needed = {
            "number": "numbers",
            "date": "dates or timestamps",
            "datetime": "timestamps or dates",
            "time-of-day": "times of day or timestamps",
            "duration": "durations",
        }[unit]
        advice = "Choose another column, or a domain of the right unit (lapwing new --unit)"
        if (kind, unit) == ("dates", "time-of-day"):
            advice = str(NoClockError())
        elif (kind, unit) == ("durations", "number"):
            advice = "Declare unit='duration' for its domain (lapwing new --unit duration)"
        _refuse_kind(column, kind, needed, advice)
    if kind == "numbers":
        return _said(_floats(array), unit, column=column)
    if kind == "texts":
        decimal, thousands = marks
        numbers, unreadable = numbers_in_texts(
            array, unit=unit, texts=texts, decimal=decimal, thousands=thousands
        )
        if refuse and unreadable.any():
            position = int(np.argmax(unreadable))
            written = EXAMPLES[unit] if texts == "iso" else f"a number of {texts}"
            if unit == "number":
                written = written.replace(".", decimal)
            if texts == "iso" and unit == "time-of-day" and _is_date(array[position]):
                raise DomainError(
                    f"the value at position {position} must be a {unit}: {NoClockError()}",
                    position=position,
                )
            other = ", or set the format of the strings (--texts)"
            if unit == "number":
                other = ", or, if it has decimal commas, use --decimal ," if decimal == "." else ""
                if thousands is None:
                    other += " (--thousands reads thousands separators and currency signs)"
            raise DomainError(
                f"every value must be a {unit}, but the string at position {position} is not. "
                f"Write it as {written}, leave it empty if it is missing{other}",
                position=position,
            )
        if rows is not None and decimal == ",":
            rows.add_marks(*decimal_commas(array))
        if rows is not None and unreadable.any():
            rows.add_unreadable(np.flatnonzero(unreadable))
            rows.add_line_ends(line_ends(array.filter(pa.array(unreadable))))
        return numbers
    if kind == "times of day":
        ticks = array.cast(pa.int32() if pa.types.is_time32(array.type) else pa.int64())
        return _floats(ticks) / _PER_SECOND[array.type.unit]
    if kind == "durations":
        faults: list[int] = []
        clocks = to_numbers(
            array.to_numpy(zero_copy_only=False),
            unit=unit,
            unreadable="refuse" if refuse else "missing",
            faults=faults,
        )
        if rows is not None:
            rows.add_unreadable(faults)
        return clocks
    if unit != "datetime":
        # The date and the time of day are those on the wall where the value was recorded.
        array = as_local_time(array, name=f"column {column!r}")
    return to_numbers(array.to_numpy(zero_copy_only=False), unit=unit)


def _is_date(cell: Any) -> bool:
    """Return whether a string that stands for no time of day is a date."""
    try:
        content = cell.as_py()
        text = content.decode() if isinstance(content, bytes) else content
        number_in_text(text, unit="time-of-day", texts="iso")
    except NoClockError:
        return True
    except (ValueError, OverflowError):
        pass
    return False


def _said(numbers: NDArray[np.float64], unit: Unit, *, column: str) -> NDArray[np.float64]:
    """Return plain numbers, saying what they count as: minutes, say, would be taken for seconds.

    It is said whatever the numbers are: a warning that depended on them would tell of them.
    """
    if unit != "number":
        warnings.warn(
            f"the column {column!r} contains plain numbers. They are read as {_COUNTED_IN[unit]}",
            LapwingWarning,
            stacklevel=2,
        )
    return numbers


def _floats_of(array: Any) -> Any:
    """Return numbers as a pyarrow.DoubleArray."""
    import pyarrow as pa

    if pa.types.is_decimal(array.type):
        array = array.cast(pa.string())  # Arrow's own way is off in the last bit for a third
    return array.cast(pa.float64(), safe=False)


def _floats(array: Any) -> NDArray[np.float64]:
    """Return numbers as float64 [n], null as NaN."""
    floats: NDArray[np.float64] = _floats_of(array).to_numpy(zero_copy_only=False)
    return floats


def _texts(array: Any, domain: Any, *, column: str) -> Any:
    """Return texts as they are. Numbers are no texts, because nobody says how to write them."""
    kind = _kind(array.type)
    if kind != "texts":
        _refuse_kind(column, kind, "texts", "Convert it first")
    texts = coded_labels(array, ())
    return array.to_numpy(zero_copy_only=False) if texts is None else texts


def _labels(array: Any, domain: Any, *, column: str) -> Any:
    import pyarrow as pa

    kind = _kind(array.type)
    legal = ("texts", "numbers", "true and false", "dates")
    if kind not in legal[: 2 if isinstance(domain.labels, int) else 4]:
        _refuse_kind(column, kind, "labels (strings or whole numbers)", "Convert it first")
    if isinstance(domain.labels, int):
        return _counted(array, kind)
    listed = list(domain.listed)
    texts = [str(label) for label in listed]
    missing = array.is_null(nan_is_null=kind == "numbers").to_numpy(zero_copy_only=False)
    if kind == "numbers":
        array = _whole_as_texts(array)
    value_set = pa.array(texts, pa.large_string())
    array = array.cast(pa.large_string())
    codes = places_of(array, value_set)
    return CodedLabels(np.where(missing, -1, codes), [*listed, UNKNOWN], array)


def _fractions(array: Any) -> NDArray[np.bool_]:
    """Return which decimals are no whole numbers, also where the next float is: bool [n]."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_decimal(array.type):
        return np.zeros(len(array), dtype=bool)
    whole = pc.fill_null(pc.equal(pc.trunc(array), array), True)
    fractions: NDArray[np.bool_] = ~whole.to_numpy(zero_copy_only=False)
    return fractions


def _whole_as_texts(array: Any) -> Any:
    """Return whole numbers as strings, and other numbers as null."""
    import pyarrow as pa

    if pa.types.is_integer(array.type):
        return array.cast(pa.string())
    floats = _floats(array)
    with np.errstate(invalid="ignore"):
        whole = (floats == np.floor(floats)) & (np.abs(floats) <= 2.0**53)
    whole &= ~_fractions(array)
    return pa.array(np.where(whole, floats, 0).astype(np.int64), mask=~whole).cast(pa.string())


def _counted(array: Any, kind: str) -> Values:
    """Return labels 0, 1, ... as numbers, -1 for what is none. NaN for missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "numbers":
        if pa.types.is_integer(array.type) and not array.null_count:
            values: Values = array.to_numpy(zero_copy_only=False)
            return values
        floats = np.where(_fractions(array), -1, _floats(array))
    else:
        digits = pc.match_substring_regex(array, "^[0-9]{1,15}$")
        numbers = pc.if_else(digits, array, None).cast(pa.int64())
        floats = _floats(pc.if_else(digits, numbers, -1))
    whole = (floats == np.floor(floats)) & (np.abs(floats) <= 2.0**53)
    return floats.astype(np.int64) if whole.all() else floats  # the same labels, found faster
