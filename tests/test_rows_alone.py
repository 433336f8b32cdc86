"""In the central model every row is read by itself, whatever holds the rows, and none is refused.

The noise hides one row. A reader that lets one row decide how others are read, or whether there is
an error, would let one row change thousands of counts, or the exit code.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.errors import PrivacyError
from lapwing.mechanisms.private_bounds import count_steps
from lapwing.registry import MECHANISMS
from lapwing.results.unanswered import is_small
from tests.contracts.covering import covering
from tests.nasty_cells import COLUMNS, DOMAINS, OBJECTS, TEXTS, check_each_row_alone

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning")
"""Most of these cells are no values; somebody is told how many, and each still counts by itself."""

USUAL: dict[str, list[Any]] = {
    "number": [3.5, 17, 12.5],
    "date": [dt.date(1999, 5, 6), dt.date(2001, 1, 1), dt.date(1970, 1, 1)],
    "datetime": [dt.datetime(1999, 5, 6, 7, 8), dt.datetime(2001, 1, 1), dt.date(1970, 1, 1)],
    "time-of-day": [dt.time(7, 8), dt.time(12), dt.time(21, 59)],
}
USUAL_TEXTS: dict[str, list[Any]] = {
    "number": ["3.5", "17", "12.5"],
    "date": ["1999-05-06", "2001-01-01", "1970-01-01"],
    "datetime": ["1999-05-06T07:08", "2001-01-01T00:00:00", "1970-01-01"],
    "time-of-day": ["07:08", "12:00:00", "21:59"],
}

OF_OBJECTS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "array of objects": lambda cells: np.fromiter(cells, dtype=object, count=len(cells)),
    "pandas": lambda cells: pandas.Series(cells, dtype=object),
    "polars": lambda cells: polars.Series(cells, dtype=polars.Object),
}
OF_TEXTS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "pandas, its own type": pandas.Series,
    "pandas of Arrow": lambda cells: pandas.Series(cells, dtype=pandas.ArrowDtype(pa.string())),
    "pandas categories": lambda cells: pandas.Series(cells, dtype="category"),
    "polars": lambda cells: polars.Series(cells, dtype=polars.String),
    "polars categories": lambda cells: polars.Series(cells, dtype=polars.Categorical),
    "Arrow": lambda cells: pa.array(cells, pa.string()),
    "Arrow dictionary": lambda cells: pa.array(cells, pa.string()).dictionary_encode(),
    "Arrow in chunks": lambda cells: pa.chunked_array([[cell] for cell in cells], pa.string()),
}
OF_COLUMNS: dict[str, Callable[[Any], Any]] = {
    "Arrow": lambda array: array,
    "Arrow in chunks": lambda array: pa.chunked_array([array.slice(0, 1), array.slice(1)]),
    "NumPy": lambda array: array.to_numpy(zero_copy_only=False),
    "pandas": lambda array: array.to_pandas(date_as_object=False),
    "pandas of Arrow": lambda array: pandas.Series(array, dtype=pandas.ArrowDtype(array.type)),
    "polars": lambda array: polars.from_arrow(pa.table({"c": array}))["c"],  # type: ignore[index]  # of a table it is a DataFrame
    "list": lambda array: list(array.to_numpy(zero_copy_only=False)),
}


def counter(domain: Any, made: Callable[[Any], Any], **reading: Any) -> Callable[[Any], Any]:
    return lambda cells: lw.protocol.ExactCounts.of_values(made(cells), domain, **reading).counts


ONE_OF_A_KIND = ("number", "labels", "week", "datetime", "clock")
"""Domains that read in a way of their own: these meet every container, the others one of each."""


@pytest.mark.parametrize(
    ("reader", "domain"),
    [
        *(("array of objects", domain) for domain in DOMAINS),
        *((reader, domain) for reader in ("list", "pandas", "polars") for domain in ONE_OF_A_KIND),
    ],
)
def test_objects_of_any_kind(reader: str, domain: str) -> None:
    legal = DOMAINS[domain]
    read = counter(legal, OF_OBJECTS[reader])
    check_each_row_alone(read, [*OBJECTS, *TEXTS], USUAL[legal.unit])


@pytest.mark.parametrize(
    ("reader", "domain"),
    [
        (reader, domain)
        for reader in OF_TEXTS
        for domain in (DOMAINS if reader in ("list", "Arrow") else ONE_OF_A_KIND)
    ],
)
def test_texts_of_any_kind(reader: str, domain: str) -> None:
    legal = DOMAINS[domain]
    usual = USUAL_TEXTS[legal.unit]
    check_each_row_alone(counter(legal, OF_TEXTS[reader]), TEXTS, usual)
    if legal.unit != "number":
        for texts, numbers in (("days", ["17.5", "1"]), ("seconds", ["34200", "1e9"])):
            read = counter(legal, OF_TEXTS[reader], texts=texts)
            check_each_row_alone(read, [*usual, "x", "1e999", None], numbers)


# What the containers themselves cannot hold.
_NOT_HELD = {
    "polars": ("decimal256", "timestamp ns -03:30"),
    **dict.fromkeys(("NumPy", "list", "pandas"), ("times beyond a day",)),
}
HELD = [
    (reader, kind, domain)
    for reader in OF_COLUMNS
    for kind in COLUMNS
    for domain in DOMAINS
    if kind not in _NOT_HELD.get(reader, ())
]
_CHOSEN = set(covering(HELD, lambda case: itertools.combinations(enumerate(case), 2)))


def check_columns(cases: Iterable[tuple[str, str, str]]) -> None:
    """Assert that cells of columns of one type are read alone, by readers into domains."""
    for reader, kind, domain in cases:
        array, legal = COLUMNS[kind], DOMAINS[domain]
        rows = list(range(len(array)))

        def read(cells: list[int], array: Any = array, legal: Any = legal, by: str = reader) -> Any:
            part = OF_COLUMNS[by](array.take(pa.array(cells, pa.int64())))
            return lw.protocol.ExactCounts.of_values(part, legal).counts

        check_each_row_alone(read, rows, rows[:3], about=f"{reader}, {kind}, {domain}")


@pytest.mark.parametrize("kind", list(COLUMNS))
def test_columns_of_one_type(kind: str) -> None:
    """Every two of a reader, a type and a domain meet."""
    check_columns(sorted(case for case in _CHOSEN if case[1] == kind))


@pytest.mark.soak
@pytest.mark.parametrize("kind", list(COLUMNS))
def test_columns_of_one_type_everywhere(kind: str) -> None:
    check_columns(case for case in HELD if case[1] == kind)


CELLS = st.one_of(
    st.sampled_from([*OBJECTS, *TEXTS]),
    st.floats(),
    st.integers(),
    st.fractions(),
    st.decimals(),
    st.text(max_size=8),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes().map(str),
    st.floats().map(repr),
)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    st.lists(CELLS, min_size=1, max_size=8),
    CELLS,
    st.integers(0, 7),
    st.sampled_from(list(DOMAINS)),
    st.sampled_from(["list", "pandas"]),
)
def test_changing_one_row_changes_one_symbol(
    cells: list[Any], other: Any, place: int, domain: str, reader: str
) -> None:
    read = counter(DOMAINS[domain], OF_OBJECTS[reader])
    place %= len(cells)
    changed = [*cells[:place], other, *cells[place + 1 :]]
    difference = read(changed) - read(cells)
    assert np.array_equal(difference, read([other]) - read([cells[place]]))
    assert np.abs(difference).sum() in (0, 2)


def test_what_counts_as_what() -> None:
    circle, missing = DOMAINS["circle"], 12
    found = lw.protocol.ExactCounts.of_values(
        [0, float("inf"), "x", True, None, "0", 360], circle
    ).counts
    assert found[missing] == 4 and found[6] == 3
    line = lw.protocol.ExactCounts.of_values(
        [float("inf"), "1e999", 10**400, "-inf"], DOMAINS["number"]
    ).counts
    assert line[9] == 3 and line[0] == 1
    far = [np.datetime64("300000-01-01"), "2500-01-01", np.datetime64(2**62, "Y"), dt.date.max]
    assert lw.protocol.ExactCounts.of_values(far, DOMAINS["date"]).counts[61] == 4
    old = [np.datetime64("-300000-01-01"), "-0044-03-15", "1600-01-01", dt.date.min]
    assert lw.protocol.ExactCounts.of_values(old, DOMAINS["date"]).counts[0] == 4


def test_a_date_that_is_none_does_not_make_the_others_days() -> None:
    dates = [f"{year}-01-01" for year in range(1971, 2030)] * 20
    one = lw.protocol.ExactCounts.of_values(dates, DOMAINS["date"]).counts
    for cell in ("2019-02-30", "17897", np.datetime64(1, "ns")):
        other = lw.protocol.ExactCounts.of_values([*dates[:-1], cell], DOMAINS["date"]).counts
        assert np.abs(one - other).sum() == 2


@pytest.mark.parametrize("neighbors", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("mechanism", list(MECHANISMS))
def test_no_rows_are_a_table(mechanism: str, neighbors: Any) -> None:
    made = MECHANISMS[mechanism]()
    for_bins = ("polynomial-projection", "adaptive-quantiles", "matching-pursuit")
    domain = lw.Interval(0, 100, bins=64, outside="clip" if mechanism in for_bins else "overflow")
    private_number = neighbors == "add-or-remove-one"
    needs_public = mechanism in ("adaptive-quantiles", "matching-pursuit", "running-prefix-sums")
    if private_number and needs_public:
        for values in ([], [5]):
            with pytest.raises(PrivacyError):
                lw.release(values, domain, neighbors=neighbors, epsilon=1, mechanism=made)
        return
    for delta in (0, "1e-6"):
        shapes = []
        for values in ([], ["x"], [5] * 1000):
            published = lw.release(
                values, domain, neighbors=neighbors, epsilon=1, delta=delta, mechanism=made,
                rng=lw.seeded(3),
            )  # fmt: skip
            result = published.distribution
            assert np.isfinite(result.mass).all()
            median = result.quantile(0.5)
            assert np.isnan(median) if is_small(result) else 0 <= median <= 100
            document = published.release.to_document()
            shapes.append(
                (published.release.answers.size, sorted(document), str(published.guarantee))
            )
            if private_number:
                assert (
                    "people" not in document["parts"][0] or document["parts"][0]["people"] is None
                )
        assert len(set(map(str, shapes))) == 1


def test_no_rows_have_no_steps_and_no_bounds() -> None:
    assert count_steps([]).people == 0
    for values in ([], [5], ["x", True]):
        found = lw.private_bounds(values, neighbors="replace-one", epsilon=1, rng=lw.seeded(1))
        assert not found.has_bounds
    cells = [*OBJECTS, *TEXTS]
    check_each_row_alone(lambda some: count_steps(some).counts, cells, [3.5, 17, 12.5])
