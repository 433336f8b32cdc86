"""No row decides how others are read, or how a job ends: labels, segments and units.

Two neighboring tables differ in one row. What differs in what is counted is that row alone, and
nothing is raised or warned of, whatever the row holds. Numbers have their own tests in
`test_rows_alone.py`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.engines import arrow
from lapwing.protocol.messages.unit_rows import unit_text
from tests.nasty_cells import COLUMNS, OBJECTS, TEXTS, check_each_row_alone


def raising(kind: type, *names: str) -> Any:
    """Return an object of a class derived from a class, whose methods raise."""

    def raises(*arguments: Any, **more: Any) -> Any:
        raise ValueError("a text of somebody else")

    methods = {name: property(raises) if name in _FIELDS else raises for name in names}
    made = type("Raising", (kind,), methods)
    return kind.__new__(made) if kind in (object, str, bytes, float, int) else made(2026, 1, 2)


_FIELDS = ("__class__", "as_py", "dtype", "shape", "ndim", "tzinfo", "to_numpy", "year")

_OF_TEXTS = ("__str__", "__eq__", "__ne__", "__hash__", "strip", "isascii", "encode", "__len__")
_OF_NUMBERS = ("__str__", "__repr__", "__int__", "__float__", "__eq__", "__ne__", "__abs__")
_OF_ALL = ("__eq__", "__ne__", "__hash__", "__str__", "__bool__", "__repr__", "__len__")

HOSTILE: list[Any] = [
    *(
        Decimal("1E+1000000"),
        Decimal("1E-1000000"),
        Decimal("7" * 4400),
        Decimal("0." + "7" * 4400),
    ),
    *(10**5000, -(10**5000), Fraction(1, 2**20000), Fraction(2**20000 + 1, 2**20000)),
    *(pa.scalar(5_000_000, pa.date32()), pa.scalar(2**62, pa.timestamp("us")), pa.scalar("a")),
    *(pa.scalar(20_000, pa.date32()), pa.scalar(b"\xff"), pa.scalar(None)),
    *(raising(object, *_OF_ALL), raising(object, "__class__"), raising(object, "as_py", "dtype")),
    *(raising(object, "__array__"), raising(object, "__getattribute__"), raising(object, "ndim")),
    *(
        raising(str, *_OF_TEXTS),
        raising(bytes, "hex", "decode", "__eq__"),
        raising(str, "__class__"),
    ),
    *(raising(int, *_OF_NUMBERS), raising(float, *_OF_NUMBERS, "is_integer", "__lt__", "__gt__")),
    *(raising(dt.date, "isoformat", "__eq__"), raising(dt.datetime, "isoformat", "tzinfo")),
    *("7.0", "a\ud800", "a" * 5000, "\u0301" * 2000, np.str_("a"), np.longdouble(7)),
]
"""Cells whose reading raises somewhere."""

CELLS: list[Any] = [*OBJECTS, *TEXTS, *HOSTILE]
USUAL: list[Any] = ["a", "b", 7]
LABELS = {
    "texts": lw.Categories(["a", "b", "7", "x"]),
    "another": lw.Categories(["a", 7, "rest", "b"], other="rest"),
    "counted": lw.Categories(9),
    "counted, another": lw.Categories(9, other=8),
}
CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "array": lambda cells: np.fromiter(cells, dtype=object, count=len(cells)),
    "pandas": lambda cells: pandas.Series(cells, dtype=object),
    "polars": lambda cells: polars.Series(cells, dtype=polars.Object),
}


def held(container: str, cells: list[Any] = CELLS) -> list[Any]:
    """Return the cells that a container itself can hold alone."""
    found = []
    for cell in cells:
        with contextlib.suppress(ValueError):
            CONTAINERS[container]([cell])
            found.append(cell)
    assert len(found) > len(cells) - 4
    return found


BINS = lw.Interval(0, 4, bins=4)
SEGMENTED = lw.protocol.Segmented(BINS, ["a", 7, "b"])


def labeled(made: Callable[[list[Any]], Any], domain: Any) -> Callable[[Any], Any]:
    return lambda cells: lw.protocol.ExactCounts.of_values(made(cells), domain).counts


def segmented(made: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    def read(cells: list[Any]) -> Any:
        values = [1.0] * len(cells)
        return lw.protocol.ExactCounts.of_segments(values, made(cells), SEGMENTED).counts

    return read


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    """Make every warning an error: one that depends on a row would tell of the row."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", lw.errors.RowsWarning)  # of 100 rows or more, by design
        yield


@pytest.mark.parametrize("domain", list(LABELS))
@pytest.mark.parametrize("container", list(CONTAINERS))
def test_labels(container: str, domain: str) -> None:
    read = labeled(CONTAINERS[container], LABELS[domain])
    check_each_row_alone(read, held(container), USUAL)


@pytest.mark.parametrize("container", list(CONTAINERS))
def test_segments(container: str) -> None:
    check_each_row_alone(segmented(CONTAINERS[container]), held(container), USUAL)


def kept_rows(units: Any, number: int, *, table: Any = None) -> set[int]:
    """Return which rows are kept, at most one of each unit. Each row holds a value of its own."""
    rows, random = lw.Categories(max(number, 1)), lw.seeded(5)
    if table is None:
        made = lw.protocol.ExactCounts.of_values(
            range(number), rows, unit=units, most=1, rng=random
        )
    else:
        columns = {"column": "row", "unit": "unit", "most": 1, "rng": random}
        made = arrow.summarize(table, rows, **columns)
    return set(np.flatnonzero(made.counts[:-1]).tolist())


def check_units(
    read: Callable[[list[Any]], set[int]], cells: list[Any], other: Any, at: int
) -> None:
    """Assert that a row which changes its unit changes which rows of these two units are kept."""
    changed = [*cells[:at], other, *cells[at + 1 :]]
    names = [unit_text(cell) for cell in cells]
    moved = {names[at], unit_text(other)}
    stay = {row for row, name in enumerate(names) if row != at and name not in moved}
    before, after = read(cells), read(changed)
    assert before & stay == after & stay
    for kept, table in ((before, cells), (after, changed)):
        named = [unit_text(cell) for cell in table]
        assert {named[row] for row in kept} == {name for name in named if name is not None}
        assert len(kept) == len({name for name in named if name is not None})


@pytest.mark.parametrize("container", list(CONTAINERS))
def test_units(container: str) -> None:
    made = CONTAINERS[container]
    usual = ["a", "b", "a", 7, "7", None, "b"]

    def read(cells: list[Any]) -> set[int]:
        return kept_rows(made(cells), len(cells))

    every = held(container)
    for cell in every:
        check_units(read, usual, cell, 1)
        check_units(read, [*usual, cell, cell], "a", 7)
    check_units(read, every, "a", 3)


ANY = st.one_of(
    st.integers(0, len(CELLS) - 1).map(CELLS.__getitem__),
    st.sampled_from(["a", "b", "7", 7, 7.0, "x", "rest"]),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.fractions(),
    st.text(max_size=6),
    st.dates(),
    st.datetimes(),
    st.binary(max_size=4),
)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(
    st.lists(ANY, min_size=1, max_size=8),
    ANY,
    st.integers(0, 7),
    st.sampled_from(list(LABELS)),
    st.sampled_from(["list", "array", "pandas"]),
)
def test_neighboring_tables(
    cells: list[Any], other: Any, place: int, domain: str, container: str
) -> None:
    place %= len(cells)
    changed = [*cells[:place], other, *cells[place + 1 :]]
    made = CONTAINERS[container]
    for read in (labeled(made, LABELS[domain]), segmented(made)):
        difference = read(changed) - read(cells)
        assert np.array_equal(difference, read([other]) - read([cells[place]]))
    check_units(lambda some: kept_rows(made(some), len(some)), cells, other, place)


TYPED = {
    **COLUMNS,
    "dates beyond Python's": pa.array([20_000, 5_000_000, -5_000_000, None], pa.int32()).cast(
        pa.date32()
    ),
    "timestamps beyond": pa.array([10**15, 2**62, -(2**62), None], pa.int64()).cast(
        pa.timestamp("us")
    ),
    "timestamps with a zone": pa.array([10**15, 2**62, -(2**62), None], pa.int64()).cast(
        pa.timestamp("us", "Asia/Tokyo")
    ),
    "durations": pa.array([0, 10**12 + 1, 2**62, -1, None], pa.int64()).cast(pa.duration("ns")),
    "bytes": pa.array([b"a", b"\xff", b"", None]),
    "strings": pa.array(["a", "", "NA", "7.0", "e\u0301", "9" * 5000, None]),
    "truth": pa.array([True, False, None]),
    "intervals": pa.array([(1, 2, 3), (2**31 - 1, 0, 0)], pa.month_day_nano_interval()),
}


@pytest.mark.parametrize("encoded", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize("kind", list(TYPED))
@pytest.mark.parametrize("role", ["label", "segment", "unit"])
def test_typed_columns(kind: str, role: str, encoded: bool) -> None:
    """Rows of one type, alone and together, in one batch and in several: nothing is refused."""
    array = TYPED[kind]
    if encoded:
        try:
            array = array.dictionary_encode()
        except pa.ArrowNotImplementedError:
            pytest.skip("Arrow has no dictionary of this type")

    def table(rows: list[int], pieces: list[list[int]]) -> Any:
        parts = [array.take(pa.array(piece, pa.int64())) for piece in pieces]
        batches = [
            pa.record_batch({"c": part, "row": [float(rows.index(row)) for row in piece]})
            for part, piece in zip(parts, pieces, strict=True)
        ]
        return pa.Table.from_batches(batches)

    def counts(rows: list[int], pieces: list[list[int]]) -> Any:
        held = table(rows, pieces)
        if role == "label":
            return arrow.summarize(held, LABELS["texts"], column="c").counts
        if role == "segment":
            return arrow.summarize(held, SEGMENTED, column="row", by="c").counts
        held = held.rename_columns(["unit", "row"])
        return kept_rows(None, len(rows), table=held)

    every = list(range(len(array)))
    try:
        counts([], [[]])
        refused = None
    except lw.errors.DomainError as error:  # by its type: a column without rows is refused alike
        refused = str(error)
    for row in every:
        if refused is not None:
            with pytest.raises(lw.errors.DomainError) as caught:
                counts([row], [[row]])
            assert str(caught.value) == refused
            continue
        alone = counts([row], [[row]])
        if role == "unit":
            assert len(alone) <= 1
    if refused is None:
        together, apart = counts(every, [every]), counts(every, [[row] for row in every])
        assert np.array_equal(together, apart) if role != "unit" else together == apart


@pytest.mark.parametrize("container", list(CONTAINERS))
def test_a_release_is_made_whatever_a_row_holds(container: str) -> None:
    made = CONTAINERS[container]
    more: dict[str, Any] = {"neighbors": "add-or-remove-one", "epsilon": 1, "rng": lw.seeded(2)}
    for cell in held(container, HOSTILE):
        lw.release(made(["a", cell]), LABELS["texts"], **more)
        lw.release([1, 2], BINS, by=made(["a", cell]), segments=["a"], **more)
        lw.release([1, 2], BINS, unit=made(["a", cell]), most=1, **more)
        with pytest.raises(lw.errors.DomainError):
            lw.Categories(["no", "yes"]).index(made(["no", cell]))
