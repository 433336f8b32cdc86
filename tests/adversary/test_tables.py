"""One row of a file, or of a list, changes one symbol and no more, whatever it is changed to."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from lapwing.engines.arrow import text_columns
from tests.adversary.coupling import everywhere
from tests.adversary.tables import (
    COLUMNS,
    WRITERS,
    Column,
    moved,
    randomized,
    released,
    summarized,
)


def apart(column: Column, writer: str, folder: Path) -> dict[str, int]:
    """Return by how much the exact counts move when one row becomes a nasty cell."""
    cells = list(column.usual) * 5
    before = summarized(WRITERS[writer](cells, folder / "a"), column)
    return {
        nasty: moved(before, summarized(WRITERS[writer]([nasty, *cells[1:]], folder / "b"), column))
        for nasty in column.nasty
    }


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", COLUMNS)
def test_one_row_of_a_file_moves_two_counts_at_most(name: str, writer: str, tmp_path: Path) -> None:
    found = apart(COLUMNS[name], writer, tmp_path)
    assert max(found.values()) == 2, found


@pytest.mark.parametrize("name", COLUMNS)
def test_what_a_release_shows_of_it_is_hidden_by_its_noise(name: str, tmp_path: Path) -> None:
    """With the same noise on both sides outputs differ by the exact answers alone."""
    column = COLUMNS[name]
    cells = list(column.usual) * 5
    before, hidden = released(WRITERS["csv"](cells, tmp_path / "a"), column)
    most = 0
    for nasty in column.nasty[::2]:  # all are read as above
        after, _ = released(WRITERS["csv"]([*cells[:-1], nasty], tmp_path / "b"), column)
        most = max(most, moved(before, after))
    assert 0 < most <= hidden


@pytest.mark.parametrize("name", COLUMNS)
def test_one_row_changes_one_report(name: str, tmp_path: Path) -> None:
    column = COLUMNS[name]
    cells = list(column.usual) * 5
    before = randomized(WRITERS["csv"](cells, tmp_path / "a"), column)
    assert before is not None and before.sum() == len(cells)
    for nasty in column.nasty[::2]:  # all are read as above
        after = randomized(WRITERS["csv"]([*cells[:-1], nasty], tmp_path / "b"), column)
        assert after is None or moved(before, after) <= 2


# Lists of Python's and NumPy's own values.

DATES = lw.Interval("2019-01-01", "2023-01-01", bins=4, unit="date")
NUMBERS = lw.Interval(0, 10, bins=4)
CIRCLE = lw.Interval(0, 24, bins=4, circular=True)
DAYS = [dt.date(2019, 5, 1), dt.date(2020, 6, 2), dt.date(2021, 7, 3), dt.date(2022, 8, 4)]
MOMENTS = [np.datetime64(day) for day in DAYS]
LISTS: list[tuple[Any, list[Any]]] = [
    (DATES, DAYS),
    (DATES, MOMENTS),
    (NUMBERS, [1, 3.5, 6, 8.25]),
    (lw.Interval(0, 10, bins=4, outside="overflow"), [1, -3.5, 6, 82.5]),
    (CIRCLE, [1, 7, 13.5, 20]),
]
NASTY: list[Any] = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    True,
    10**400,
    Decimal("NaN"),
    Decimal("1e999"),
    Fraction(1, 3),
    "secret",
    "2019-02-30",
    "",
    dt.date(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59),
    np.datetime64("2020-01-01T00:00:00.000000001", "ns"),
    np.datetime64("NaT"),
    np.datetime64(300_000, "Y"),
    1j,
    [1],
    b"\xff",
]


@pytest.mark.parametrize("number", range(len(LISTS)))
def test_one_value_of_a_list_moves_two_counts_at_most(number: int) -> None:
    domain, usual = LISTS[number]
    values = usual * 5
    before = lw.protocol.ExactCounts.of_values(values, domain).counts
    assert before.sum() == len(values)
    for nasty in NASTY:
        for place in (0, len(values) - 1):
            other = [*values]
            other[place] = nasty
            series = pd.Series(other, dtype=object)
            for column in (other, series, pl.Series(values=other, dtype=pl.Object)):
                after = lw.protocol.ExactCounts.of_values(column, domain).counts
                assert after.sum() == len(values) and moved(before, after) <= 2, repr(nasty)


# Planted: all rows of a batch are read alike, and one impossible date decides how.


def test_reading_a_batch_by_all_its_rows_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = text_columns.numbers_in_texts

    def by_batch(array: Any, **how: Any) -> Any:
        numbers, unreadable = right(array, **how)
        return (
            right(array, **{**how, "texts": "days"}) if unreadable.any() else (numbers, unreadable)
        )

    everywhere(monkeypatch, "numbers_in_texts", by_batch)
    found = apart(COLUMNS["date"], "csv", tmp_path)
    assert found["2019-02-30"] > 2
    cells = list(COLUMNS["date"].usual) * 5
    before, hidden = released(WRITERS["csv"](cells, tmp_path / "a"), COLUMNS["date"])
    cells[0] = "2019-02-30"
    after, _ = released(WRITERS["csv"](cells, tmp_path / "b"), COLUMNS["date"])
    assert moved(before, after) > hidden
