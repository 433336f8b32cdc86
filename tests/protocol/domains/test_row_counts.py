"""A whole column that cannot be read is told of, before anything is paid, and to nobody else."""

from __future__ import annotations

import datetime as dt
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.errors import RowsWarning
from lapwing.mechanisms.private_bounds import private_bounds
from lapwing.protocol import ExactCounts
from lapwing.protocol.domains.row_counts import LEAST_ROWS, RowCounts
from lapwing.protocol.messages.exact_counts import counts_of

RANGE = lw.Interval(0, 60, bins=64)
YEAR = lw.Interval("2020-01-01", "2021-01-01", bins=12, unit="date")
DAY = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day")
CLOCK = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)
LABELS = lw.Categories(["yes", "no"])


def counts(values: Any, domain: Any) -> RowCounts:
    rows = RowCounts()
    counts_of(values, domain.for_curator(), rows=rows)
    return rows


@pytest.mark.parametrize(
    ("domain", "values", "missing", "unreadable", "outside", "first"),
    [
        (RANGE, [1, None, "cancelled", "1,234", 61, -1, True, float("nan"), 60], 2, 3, 2, 2),
        (lw.Interval(0, 60, bins=8), [1, -1, 99, None], 1, 0, 2, None),  # which clips
        (lw.Interval(0, 60, bins=8, outside="refuse"), [1, -1, 99, None], 1, 0, 2, None),
        (lw.Integers(0, 9), [1, 9.4, 11, None, "x"], 1, 1, 1, 4),
        (YEAR, ["2020-05-05", "05.05.2020", "", dt.date(2019, 1, 1)], 0, 2, 1, 1),
        (CLOCK, ["09:30", "25:00", None, float("inf")], 1, 2, 0, 1),
        (LABELS, ["yes", "Yes", None, 1], 1, 2, 0, 1),
        (lw.Categories(["yes", "no"], other="no"), ["yes", "Yes", None], 1, 0, 0, None),
        (LABELS, pandas.Series(["yes", "Yes", None], dtype="category"), 1, 1, 0, 1),
        (LABELS, pa.array(["yes", None, "Yes"]), 1, 1, 0, 2),
        (lw.Categories(3), np.array([0, 2, 3]), 0, 1, 0, 2),
        (RANGE, np.array([True, False]), 0, 2, 0, 0),
        (RANGE, np.array([5, "NaT"], "timedelta64[ns]"), 1, 1, 0, 0),
        (RANGE, [], 0, 0, 0, None),
    ],
)
def test_each_kind_is_counted_once(
    domain: Any, values: Any, missing: int, unreadable: int, outside: int, first: int | None
) -> None:
    rows = counts(values, domain)
    assert (rows.missing, rows.unreadable, rows.outside) == (missing, unreadable, outside)
    assert rows.rows == len(values) and rows.first == first


def curator(values: Any, domain: Any) -> Any:
    return ExactCounts.of_values(values, domain)


def released(values: Any, domain: Any) -> Any:
    return lw.release(values, domain, neighbors="replace-one", epsilon=1, rng=lw.seeded(1))


def randomized(values: Any, domain: Any) -> Any:
    missing: Any = {"missing": "bin" if domain.ordered else "category"}
    asked = type(domain)(**{**vars_of(domain), **missing})
    return lw.Survey("x", lw.randomizers.UnaryEncoding(asked, 1)).randomize(values)


def vars_of(domain: Any) -> dict[str, Any]:
    fields = domain.to_document()
    fields.pop("class", None)
    fields.pop("name", None)
    fields.pop("edges", None)
    return fields


EVERY = [curator, released, randomized]


@pytest.mark.parametrize("call", EVERY)
@pytest.mark.parametrize(
    ("domain", "value", "says"),
    [
        (YEAR, "31.12.2020", "dates as 2026-11-21"),
        (RANGE, "1,234", "thousands separators"),
        (RANGE, "cancelled", "numbers as 1234.5"),
        (RANGE, True, "Truth values"),
        (RANGE, pandas.Timedelta(minutes=5), "Durations need unit="),
        (RANGE, 3600.0, "100 outside 0 to 60. Check the column and its unit"),
        (RANGE, None, "100 missing"),
    ],
)
def test_a_whole_column_that_cannot_be_read(call: Any, domain: Any, value: Any, says: str) -> None:
    with pytest.warns(RowsWarning) as told:
        call([value] * LEAST_ROWS, domain)
    (warning,) = told
    assert says in str(warning.message) and warning.filename == __file__
    assert str(value) not in str(warning.message) or value is None
    call([value] * (LEAST_ROWS - 1), domain)  # fewer: a warning would be an error


def test_half_and_one_percent_are_the_limits() -> None:
    for values in ([None] * 100 + [1] * 100, ["x"] * 2 + [1] * 198, [99] * 100 + [1] * 100):
        for call in (curator, released):
            call(values, RANGE)
            with pytest.warns(RowsWarning):
                call([values[0], *values[:-1]], RANGE)


def test_a_column_of_segments_counts_the_values() -> None:
    with pytest.warns(RowsWarning, match="of 200 rows: 150 unreadable"):
        lw.release(
            ["x"] * 150 + [1] * 50,
            RANGE,
            by=["north", "south"] * 100,
            segments=["north", "south"],
            neighbors="replace-one",
            epsilon=1,
        )


def test_private_bounds_are_warned_of() -> None:
    with pytest.warns(RowsWarning, match="100 unreadable"):
        private_bounds(["1,234"] * 100, neighbors="replace-one", epsilon=1)


def test_it_is_said_before_anything_is_paid(tmp_path: Path) -> None:
    ledger = lw.Ledger.open(tmp_path / "budget.json")
    lw.Ledger(lw.Guarantee("1", "0", "replace-one", "central")).save(ledger.path)
    before = ledger.path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowsWarning)
        with pytest.raises(RowsWarning):
            lw.release(["x"] * 100, RANGE, neighbors="replace-one", epsilon=1, ledger=ledger)
    assert ledger.path.read_bytes() == before


def test_nothing_that_is_stored_holds_the_counts(tmp_path: Path) -> None:
    """Beside the noisy numbers, a release of a column full of faults is that of a clean one."""
    ledger = lw.Ledger.open(tmp_path / "budget.json")
    lw.Ledger(lw.Guarantee("9", "0", "replace-one", "central")).save(ledger.path)
    kept = []
    for values in ([1.0] * 300, ["x"] * 177 + [99.0] * 123):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsWarning)
            made = lw.release(values, RANGE, neighbors="replace-one", epsilon=1, ledger=ledger)
        document = json.loads(made.to_json())
        document["answers"] = None
        for part in document["parts"]:
            part["identifier"] = None
        kept.append(document)
    assert kept[0] == kept[1]
    # Within a random identifier or a time these digits come by chance.
    numbers = re.findall(r"(?<![\w.:-])\d+(?![\w.:-])", ledger.path.read_text())
    assert numbers and not {"177", "123"} & set(numbers)


@pytest.mark.parametrize(
    "made",
    [
        lambda cells: pandas.Series(pandas.to_timedelta(cells)),
        lambda cells: pandas.to_timedelta(cells).to_numpy(),
        lambda cells: list(pandas.to_timedelta(cells)),
        lambda cells: [
            None if one is None else pandas.Timedelta(one).to_pytimedelta() for one in cells
        ],
        lambda cells: polars.from_arrow(pa.array(pandas.to_timedelta(cells))),
        lambda cells: pa.array(pandas.to_timedelta(cells)),
        lambda cells: pandas.to_timedelta(cells).to_numpy().astype("timedelta64[ms]"),
    ],
)
@pytest.mark.parametrize("domain", [DAY, CLOCK])
def test_durations_are_times_of_day(made: Any, domain: Any) -> None:
    cells = ["09:30:00", "24:00:00", None, "25:00:00", "-1 day", "400 days", "00:00:01.5"]
    rows = RowCounts()
    symbols = domain.for_curator().index_or_missing(made(cells), rows=rows)
    last = 23 if domain is DAY else 0
    assert symbols.tolist() == [9, last, 24, 24, 24, 24, 0]
    assert rows.unreadable == 3
    with pytest.raises(lw.LapwingError, match="position 1 must be a time-of-day, got a duration"):
        domain.index(made(["09:30:00", "25:00:00"]))


def test_durations_of_an_odd_unit_are_no_times_of_day() -> None:
    for odd in (np.array([1], "timedelta64[M]"), np.array([1], "timedelta64")):
        assert counts(odd, DAY).unreadable == 1
    assert DAY.index(np.array([3], "timedelta64[25m]")).tolist() == [1]
    assert DAY.index([np.timedelta64(3, "h"), dt.timedelta(hours=4)]).tolist() == [3, 4]


def test_values_of_a_survey_are_counted_as_it_reads_them() -> None:
    survey = lw.Survey("x", lw.randomizers.UnaryEncoding(RANGE, 1))
    with pytest.warns(RowsWarning, match="100 outside"):
        survey.randomize(np.full(100, 3600.0))
    labels = lw.Survey("x", lw.RandomizedResponse(lw.Categories(["a"], missing="category"), 1))
    for none in (
        [None] * 90 + ["a"] * 30,
        pandas.Series([None] * 90 + ["a"] * 30, dtype="category"),
    ):
        with pytest.warns(RowsWarning, match="of 120 rows: 90 missing"):
            labels.randomize(none)


def test_reports_are_those_of_the_values_themselves() -> None:
    survey = lw.Survey("x", lw.recommend(YEAR, epsilon=2, users=1000))
    days: list[Any] = [dt.date(2020, 1, 1) + dt.timedelta(days=k) for k in range(150)]
    made = survey.randomize(days, rng=lw.seeded(3)).data
    assert np.array_equal(made, survey.randomizer.randomize(days, rng=lw.seeded(3)).data)


def test_codes_that_are_moved_to_an_end_are_told_of_as_such() -> None:
    score, wide = lw.Integers(0, 10), lw.Interval(0, 60, bins=64)
    for codes, told in ((500, False), (501, True)):
        rows = counts([5] * (1000 - codes) + [99] * codes, score)
        assert (rows.clipped, rows.doubtful) == (codes, told)
    assert "501 outside 0 to 10, moved to the nearest end" in rows.text(score)
    assert "codes such as 99" in rows.advice(score)
    assert counts([99] * 1000, wide).clipped == 0


@pytest.mark.parametrize(("units", "told"), [(4, True), (40, True), (70, False)])
def test_units_with_far_more_rows_than_count_are_told_of(units: int, told: bool) -> None:
    """Wards taken for patients: nearly all rows are dropped."""
    whose = pandas.Series(np.arange(200) % units, name="ward")
    release: dict[str, Any] = {"epsilon": 1, "neighbors": "replace-one", "unit": whose, "most": 2}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lw.release(np.full(200, 5.0), RANGE, **release)
    said = [str(one.message) for one in caught if one.category is RowsWarning]
    dropped = 200 - 2 * units
    assert bool(said) == told
    assert not told or f"of 200 rows: {dropped} not counted, because their unit has" in said[0]
