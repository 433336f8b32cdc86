"""Columns of every type, against the domain's own reading of the same values as Python objects."""

from __future__ import annotations

import datetime as dt
import warnings
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lapwing import Categories, HashedStrings, Integers, Interval
from lapwing.engines.arrow.arrow_values import labels_of, values_of
from lapwing.engines.arrow.text_columns import NULL_TEXTS
from lapwing.errors import DomainError

NUMBER = Interval(0, 100, bins=1000, missing="bin")
DATE = Interval("2019-01-01", "2020-01-01", bins=365, unit="date", missing="bin")
DATETIME = Interval("2019-01-01", "2020-01-01", bins=365 * 24, unit="datetime", missing="bin")
TIME = Interval("00:00", "24:00", bins=1440, unit="time-of-day", circular=True, missing="bin")
WHOLE = Integers(0, 100, outside="clip", missing="bin")
COLORS = Categories(["red", "green", "NA"], missing="category")
NUMBERED = Categories(100, missing="category")
DOMAINS = {
    "number": NUMBER,
    "date": DATE,
    "datetime": DATETIME,
    "time-of-day": TIME,
    "whole": WHOLE,
    "colors": COLORS,
    "numbered": NUMBERED,
}

pytestmark = pytest.mark.filterwarnings("ignore:the column 'c' contains plain numbers")

_RNG = np.random.default_rng(3)
_COUNT = 60
_WHOLE = _RNG.integers(0, 100, _COUNT).tolist()
_DAYS = [dt.date(2019, 1, 1) + dt.timedelta(days=int(n)) for n in _RNG.integers(0, 365, _COUNT)]
_MOMENTS = [
    dt.datetime(2019, 1, 1) + dt.timedelta(seconds=float(s))
    for s in np.round(_RNG.uniform(0, 365 * 86_400, _COUNT), 3)
]
_TIMES = [moment.time() for moment in _MOMENTS]


def with_null(values: list[Any]) -> list[Any]:
    return [*values[:7], None, *values[7:]]


def array_of(values: list[Any], kind: Any) -> Any:
    return pa.array(with_null(values), kind)


NEW_YORK = pa.timestamp("us", "America/New_York")
FITTING: dict[str, tuple[Any, list[str]]] = {
    "int64": (array_of(_WHOLE, pa.int64()), ["number", "time-of-day", "whole", "numbered"]),
    "uint8": (array_of(_WHOLE, pa.uint8()), ["number", "whole", "numbered"]),
    "float64": (array_of([n / 4 for n in _WHOLE], pa.float64()), ["number", "time-of-day"]),
    "float32": (array_of([n / 4 for n in _WHOLE], pa.float32()), ["number"]),
    "whole float64": (array_of(list(map(float, _WHOLE)), pa.float64()), ["whole", "numbered"]),
    "decimal": (array_of([Decimal(n) / 4 for n in _WHOLE], pa.decimal128(9, 2)), ["number"]),
    "date32": (array_of(_DAYS, pa.date32()), ["date", "datetime"]),
    "date64": (array_of(_DAYS, pa.date64()), ["date", "datetime"]),
    "timestamp us": (array_of(_MOMENTS, pa.timestamp("us")), ["date", "datetime", "time-of-day"]),
    "timestamp ns": (
        array_of(_MOMENTS, pa.timestamp("us")).cast(pa.timestamp("ns")),
        ["date", "datetime", "time-of-day"],
    ),
    "timestamp with zone": (array_of(_MOMENTS, NEW_YORK), ["date", "datetime", "time-of-day"]),
    "time64": (array_of(_TIMES, pa.time64("us")), ["time-of-day"]),
    "time32": (
        array_of([t.replace(microsecond=0) for t in _TIMES], pa.time32("s")),
        ["time-of-day"],
    ),
    "string dates": (array_of([str(day) for day in _DAYS], pa.string()), ["date", "datetime"]),
    "string times": (array_of([str(time) for time in _TIMES], pa.large_string()), ["time-of-day"]),
    "string labels": (array_of(["red", "NA", "green"] * 20, pa.string()), ["colors"]),
    "dictionary": (
        array_of(["red", "NA", "green"] * 20, pa.string()).dictionary_encode(),
        ["colors"],
    ),
    "nothing but nulls": (pa.nulls(9), list(DOMAINS)),
}


def plain(array: Any) -> Any:
    """The same values as Python objects, which the library reads itself."""
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    if array.type == pa.timestamp("ns"):
        array = array.cast(pa.timestamp("us"))
    return np.array(array.to_pylist(), dtype=object)


@pytest.mark.parametrize(
    ("kind", "domain"), [(kind, name) for kind, (_, names) in FITTING.items() for name in names]
)
def test_a_column_that_fits_means_what_the_library_takes_it_for(kind: str, domain: str) -> None:
    array, legal = FITTING[kind][0], DOMAINS[domain]
    values = values_of(array, legal, column="c", typed=True)
    assert legal.index(values).tolist() == legal.index(plain(array)).tolist()
    assert np.unique(legal.index(values)).size > 1 or kind == "nothing but nulls"
    part = array.slice(5, 11)  # Arrow slices share buffers, so their offset must be heeded
    part_values = values_of(part, legal, column="c", typed=True)
    assert legal.index(part_values).tolist() == legal.index(values)[5:16].tolist()


def test_the_time_of_day_is_the_one_as_local_time() -> None:
    noon = dt.datetime(2019, 7, 1, 12, tzinfo=dt.UTC)  # 8 in the morning in New York
    array = pa.array([noon], NEW_YORK)
    assert TIME.index(values_of(array, TIME, column="c", typed=True)).tolist() == [8 * 60]
    late = pa.array([dt.datetime(2019, 7, 1, 2, tzinfo=dt.UTC)], NEW_YORK)
    assert DATE.index(values_of(late, DATE, column="c", typed=True)).tolist() == [181]  # 30 June
    instant = values_of(late, DATETIME, column="c", typed=True)
    assert DATETIME.index(instant).tolist() == [1 + 181 * 24 + 2]


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("date32", "number"),
        ("timestamp us", "number"),
        ("time64", "number"),
        ("date32", "time-of-day"),
        ("time64", "date"),
        ("time64", "datetime"),
        ("date32", "whole"),
        ("timestamp us", "colors"),
        ("time64", "numbered"),
    ],
)
def test_a_column_of_another_kind_is_refused(kind: str, domain: str) -> None:
    with pytest.raises(DomainError, match=r"the column 'c' must contain .*, but it contains "):
        values_of(FITTING[kind][0], DOMAINS[domain], column="c", typed=True)


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.struct({"a": pa.int64()})])
@pytest.mark.parametrize("domain", ["number", "colors"])
def test_a_nested_column_is_refused(kind: Any, domain: str) -> None:
    with pytest.raises(DomainError, match="It holds values of type"):
        values_of(pa.nulls(3, kind), DOMAINS[domain], column="c", typed=True)


@pytest.mark.parametrize(
    ("domain", "counted"),
    [
        (DATE, "days since 1970-01-01"),
        (DATETIME, "seconds since 1970-01-01T00:00 UTC"),
        (TIME, "seconds since midnight"),
        (NUMBER, None),
        (WHOLE, None),
    ],
)
def test_plain_numbers_for_dates_and_times_are_pointed_out(
    domain: Any, counted: str | None
) -> None:
    for array in (pa.array([700, 800]), pa.array([None, None], pa.int64())):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values_of(array, domain, column="c", typed=True)
        # Said of the column, whatever its rows: else the warning would tell of them.
        expected = [f"the column 'c' contains plain numbers. They are read as {counted}"]
        assert [str(one.message) for one in caught] == (expected if counted else [])


def test_true_and_false_are_labels() -> None:
    array = pa.array([True, None, False])
    named = Categories(["false", "true"], missing="category")
    assert named.index(values_of(array, named, column="c", typed=True)).tolist() == [1, 2, 0]
    for domain in (
        Categories(2, missing="category"),
        NUMBER,
    ):  # True is no 1 for them, as in Python
        with pytest.raises(DomainError, match="true and false"):
            values_of(array, domain, column="c", typed=True)


def test_whole_numbers_match_labels_that_are_texts_or_numbers() -> None:
    array = pa.array([30, 10, None])
    for labels in ([10, 30], ["10", "30"]):
        domain = Categories(labels, missing="category")
        for column in (array, array.cast(pa.string()), array.cast(pa.float64())):
            values = values_of(column, domain, column="c", typed=True)
            assert domain.index(values).tolist() == [1, 0, 2]


@pytest.mark.parametrize("domain", [COLORS, Categories(["red"]), Categories([1, 2]), NUMBERED])
def test_what_is_no_label_is_refused_with_its_position(domain: Categories) -> None:
    known = "1" if isinstance(domain.listed[0], int) else "red"
    array = pa.array([known, known, "purple", "blue"])
    for typed in (True, False):
        with pytest.raises(DomainError, match="position 2 ") as caught:
            domain.index(values_of(array, domain, column="c", typed=typed))
        assert "purple" not in str(caught.value)


@pytest.mark.parametrize("text", ["0x7", "+7", "-7", "7.0", "1_0", "7e0", "٧"])
def test_a_numbered_label_is_written_in_digits_alone(text: str) -> None:
    for beside in ([], ["7"], ["8", text]):
        with pytest.raises(DomainError, match=f"position {len(beside[:1])} "):
            NUMBERED.index(
                values_of(
                    pa.array([*beside[:1], text, *beside[1:]]), NUMBERED, column="c", typed=True
                )
            )


def test_fractions_are_no_numbered_labels() -> None:
    with pytest.raises(DomainError, match="position 1 "):
        NUMBERED.index(values_of(pa.array([1.0, 2.5]), NUMBERED, column="c", typed=True))


# Texts of a CSV.


def read_texts(texts: list[str], domain: Any, reading: Any = "iso") -> list[int]:
    array = pa.array(texts, pa.string())
    values = values_of(array, domain, column="c", typed=False, texts=reading)
    found: list[int] = domain.index(values).tolist()
    return found


def test_texts_that_mean_missing_are_missing() -> None:
    for domain in (NUMBER, DATE, TIME, NUMBERED):
        assert read_texts(list(NULL_TEXTS), domain) == [domain.size - 1] * len(NULL_TEXTS)


def test_a_label_that_looks_missing_is_a_label() -> None:
    assert read_texts(["NA", "null", " red "], COLORS) == [2, 3, 0]


@pytest.mark.parametrize(
    ("domain", "texts", "same"),
    [
        (NUMBER, [" 5", "5e0", "+5", "5.0"], 5.0),
        (WHOLE, ["5", "5.0"], 5),
        (DATE, ["2019-05-01", "20190501"], "2019-05-01"),
        (DATE, ["2019-05-01T23:59", "2019-05-01 00:00"], "2019-05-01"),
        (DATETIME, ["2019-05-01T09:30", "2019-05-01 09:30:00"], "2019-05-01T09:30"),
        (DATETIME, ["2019-05-01T09:30Z", "2019-05-01T11:30+02:00"], "2019-05-01T09:30"),
        (TIME, ["09:30", "09:30:00.5", "09:30:59"], "09:30"),
        (TIME, ["9:30", "09:30"], "09:30"),
        (TIME, ["2019-05-01T09:30:00", "2019-05-02 09:30"], "09:30"),
        (TIME, ["24:00", "00:00"], "00:00"),
        (NUMBERED, ["7", "07"], 7),
    ],
)
def test_texts_are_read_as_what_they_are(domain: Any, texts: list[str], same: object) -> None:
    expected = domain.index([same]).tolist()
    assert read_texts(texts, domain) == expected * len(texts)
    for text in texts:  # one alone, too: a batch must not decide how its rows are read
        assert read_texts([text], domain) == expected


@pytest.mark.parametrize(
    ("domain", "reading", "texts", "same"),
    [
        (DATE, "days", ["18017", " 18017.25", "1.8017e4"], "2019-05-01"),
        (DATE, "seconds", ["1556668800", "1556755199"], "2019-05-01"),
        (DATETIME, "seconds", ["1556703000", "1556703000.0"], "2019-05-01T09:30"),
        (DATETIME, "days", ["18017.39583333334"], "2019-05-01T09:30"),
        (TIME, "seconds", ["34200", "34200.5"], "09:30"),
        (TIME, "days", ["0.3958333333333334"], "09:30"),
    ],
)
def test_texts_of_days_and_seconds(domain: Any, reading: Any, texts: list[str], same: str) -> None:
    expected = domain.index([same]).tolist()
    missing = domain.size - 1
    assert read_texts([*texts, same], domain, reading) == expected * len(texts) + [missing]
    # Without the word they are no dates: nothing is guessed.
    assert read_texts([same, *texts], domain) == expected + [missing] * len(texts)


@pytest.mark.parametrize("domain", [NUMBER, WHOLE, DATE, DATETIME, TIME])
@pytest.mark.parametrize("wrong", ["secret", "1_0", "1,5", "0x10", "31/12/2019", "25:00"])
def test_a_text_that_is_none_of_it_is_missing_or_refused_by_position(
    domain: Any, wrong: str
) -> None:
    right = {"number": "5", "date": "2019-05-01", "datetime": "2019-05-01", "time-of-day": "05:00"}
    texts = [right[domain.unit], "", wrong, "secret too"]
    assert read_texts(texts, domain)[1:] == [domain.size - 1] * 3
    with pytest.raises(DomainError) as caught:
        read_texts(texts, replace(domain, missing="refuse"))
    assert caught.value.position == 2
    assert "secret" not in str(caught.value) and wrong not in str(caught.value)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize(
    "domain", [NUMBER, DATE, COLORS, NUMBERED, HashedStrings(8, missing="category")]
)
def test_a_text_that_is_no_utf8_is_a_matter_of_its_row(domain: Any, kind: Any) -> None:
    array = pa.array([b"red", b"\xff\xfe", None], kind)
    known = domain is COLORS or isinstance(domain, HashedStrings)
    part = array if known else array.slice(1)
    symbols = domain.index(values_of(part, domain, column="c", typed=False))
    assert symbols[-2:].tolist() == [domain.size - 1] * 2
    with pytest.raises(DomainError, match="position 1 is not") as caught:
        refusing = replace(domain, missing="refuse")
        refusing.index(
            values_of(
                pa.array([b"2019-05-01" if domain is DATE else b"5", b"\xff"], kind),
                refusing,
                column="c",
                typed=False,
            )
        )
    assert caught.value.position == 1
    with pytest.raises(DomainError, match="position 1"):
        labels_of(array, column="c")


def test_far_moments_of_a_zone_lie_beyond_their_own_side() -> None:
    for unit in ("s", "ms", "us", "ns"):
        array = pa.array([2**63 - 1, -(2**63) + 1, 0], pa.timestamp(unit, "Asia/Tokyo"))
        assert DATE.index(values_of(array, DATE, column="c", typed=True)).tolist() == [366, 0, 0]


def test_decimals_are_the_nearest_floats() -> None:
    cells = [Decimal(number).scaleb(-3) for number in range(-2000, 2000, 7)]
    values = values_of(pa.array(cells), NUMBER, column="c", typed=True)
    assert values.tolist() == [float(cell) for cell in cells]
