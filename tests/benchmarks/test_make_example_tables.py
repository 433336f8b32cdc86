"""The committed count tables: their form, and that the script still makes the same bytes."""

import hashlib
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


def test_a_pick_up_counts_in_its_minute():
    lines = taxi_table(np.array([0, 59, 60, 86_399])).split("\n")
    assert lines[:4] == ["minute,count", "0,2", "1,1", "2,0"]
    assert lines[-2:] == ["1439,1", ""]
    assert len(lines) == 1 + 1_440 + 1


def test_incomes_are_listed_once_in_order():
    assert income_table(np.array([30_000, 0, 4, 0, 30_000, 0])) == (
        "income,count\n0,3\n4,1\n30000,2\n"
    )


def test_a_departure_counts_in_its_minute():
    assert flights_table(np.array([0, 1_439, 1_439])).split("\n")[-2] == "1439,2"


def test_hours_are_listed_once_in_order():
    assert hours_table(np.array([40, 1, 40])) == "hours,count\n1,1\n40,2\n"


FILES = {
    TAXI_FILE: "bf5ca8dcb4ae7109",
    INCOME_FILE: "adda96e0bdf864c3",
    TAXI_2020_FILE: "ab40a13432fd9a24",
    FLIGHTS_FILE: "b05aac40497d6087",
    HOURS_FILE: "258e6ded45a20bc2",
    MONTHS_FILE: "e27043fb49a02bf1",
}


def test_months_have_a_row_each():
    assert months_table(["a"], np.array([[3, 4]])) == "month,0,1\na,3,4\n"


@pytest.mark.parametrize(("file", "digest"), [*FILES.items()])
def test_the_committed_tables_have_not_changed(file, digest):
    assert hashlib.sha256((EXAMPLES / file).read_bytes()).hexdigest()[:16] == digest


if datasets.DEFAULT_FOLDER.is_dir():  # else there is nothing to make them from; see test_datasets

    def test_the_script_makes_the_committed_bytes_again(monkeypatch, tmp_path, capsys):
        folder = str(datasets.DEFAULT_FOLDER)
        arguments = ["make_example_tables", "--folder", folder, "--out", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", arguments)
        make_example_tables.main()
        for file in FILES:
            assert (tmp_path / file).read_bytes() == (EXAMPLES / file).read_bytes()
        assert "260,000 people, 100,000 rows left out" in capsys.readouterr().out
