"""The committed count tables: their form, and that the script still makes the same bytes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks import datasets, make_example_tables
from benchmarks.make_example_tables import (
    EXAMPLES,
    FLIGHTS_FILE,
    HOURS_FILE,
    INCOME_FILE,
    MONTHS_FILE,
    TAXI_2020_FILE,
    TAXI_FILE,
    flights_table,
    hours_table,
    income_table,
    months_table,
    taxi_table,
)


def committed(file: str) -> np.ndarray:
    return np.loadtxt(EXAMPLES / file, delimiter=",", skiprows=1, dtype=np.int64)


def test_a_pick_up_counts_in_its_minute():
    lines = taxi_table(np.array([0, 59, 60, 86_399])).split("\n")
    assert lines[:4] == ["minute,count", "0,2", "1,1", "2,0"]
    assert lines[-2:] == ["1439,1", ""]
    assert len(lines) == 1 + 1_440 + 1


def test_incomes_are_listed_once_in_order():
    assert income_table(np.array([30_000, 0, 4, 0, 30_000, 0])) == (
        "income,count\n0,3\n4,1\n30000,2\n"
    )


def test_the_committed_taxi_table():
    minutes, counts = committed(TAXI_FILE).T
    np.testing.assert_array_equal(minutes, np.arange(1_440))
    assert counts.sum() == 260_000
    assert counts.min() == 20
    assert counts.argmax() == 18 * 60 + 46


def test_the_committed_taxi_table_of_the_pandemic():
    minutes, counts = committed(TAXI_2020_FILE).T
    np.testing.assert_array_equal(minutes, np.arange(1_440))
    assert counts.sum() == 100_000
    before = committed(TAXI_FILE)[:, 1]
    night = slice(0, 4 * 60)
    assert counts[night].sum() / counts.sum() < 0.6 * before[night].sum() / before.sum()


def test_a_departure_counts_in_its_minute():
    assert flights_table(np.array([0, 1_439, 1_439])).split("\n")[-2] == "1439,2"


def test_the_committed_departures():
    minutes, counts = committed(FLIGHTS_FILE).T
    np.testing.assert_array_equal(minutes, np.arange(1_440))
    assert counts.sum() == 224_591


def test_hours_are_listed_once_in_order():
    assert hours_table(np.array([40, 1, 40])) == "hours,count\n1,1\n40,2\n"


def test_the_committed_hours():
    hours, counts = committed(HOURS_FILE).T
    assert (hours[0], hours[-1], counts.sum()) == (1, 99, 48_842)
    assert round(counts[hours == 40].sum() / counts.sum(), 3) == 0.467


def test_the_committed_income_table():
    incomes, counts = committed(INCOME_FILE).T
    assert np.all(np.diff(incomes) > 0)
    assert incomes[0] == 0
    assert incomes[-1] < 2**19
    assert counts.min() == 1
    assert (counts.sum(), counts[0]) == (29_144, 3_571)
    positive = counts[incomes > 0].sum()
    assert round(counts[(incomes > 0) & (incomes % 100 == 0)].sum() / positive, 2) == 0.95
    assert round(counts[(incomes > 0) & (incomes % 1000 == 0)].sum() / positive, 2) == 0.59


def test_the_committed_months():
    _, *rows = (EXAMPLES / MONTHS_FILE).read_text().splitlines()
    months = [row.split(",") for row in rows]
    assert (len(months), months[0][0], months[-1][0]) == (36, "2018-01", "2020-12")
    assert {sum(map(int, counts)) for _, *counts in months} == {10_000}
    assert months_table(["a"], np.array([[3, 4]])) == "month,0,1\na,3,4\n"


FILES = [TAXI_FILE, INCOME_FILE, TAXI_2020_FILE, FLIGHTS_FILE, HOURS_FILE, MONTHS_FILE]


@pytest.mark.parametrize("file", FILES)
def test_the_committed_tables_stay_small_and_have_unix_line_ends(file):
    data = (EXAMPLES / file).read_bytes()
    assert len(data) < 40_000
    assert b"\r" not in data
    assert data.endswith(b"\n")


if datasets.DEFAULT_FOLDER.is_dir():  # else there is nothing to make them from; see test_datasets

    def test_the_script_makes_the_committed_bytes_again(monkeypatch, tmp_path, capsys):
        folder = str(datasets.DEFAULT_FOLDER)
        arguments = ["make_example_tables", "--folder", folder, "--out", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", arguments)
        make_example_tables.main()
        for file in FILES:
            assert (tmp_path / file).read_bytes() == (EXAMPLES / file).read_bytes()
        assert "260,000 people, 100,000 rows left out" in capsys.readouterr().out
