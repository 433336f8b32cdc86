"""The tables of the package: what they hold, that they are small, that their terms are named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapwing as lw
from benchmarks import datasets
from benchmarks.make_example_tables import (
    AGES_FILE,
    DELAYS_FILE,
    ages_table,
    delays_table,
    read_pairs,
)
from lapwing.datasets.count_tables import TABLES, CountTable, PairTable
from lapwing.errors import ArgumentError

MOST_BYTES = 300_000

NOT_OURS_TO_PASS_ON = ("kitti", "ipums", "city", "word", "kosarak")

LOADERS: dict[Callable[[], CountTable], tuple[int, int, int]] = {
    lw.datasets.load_taxi: (260_000, 0, 86_340),
    lw.datasets.load_income: (29_144, 0, 2**19 - 1),
    lw.datasets.load_hours: (48_842, 1, 99),
    lw.datasets.load_departures: (224_591, 0, 86_340),
}
"""Each function, with the rows, the lowest possible value and the highest."""


def test_the_wheel_stays_small_and_holds_what_may_be_passed_on() -> None:
    files = list(TABLES.iterdir())
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
    assert not [f.name for f in files for word in NOT_OURS_TO_PASS_ON if word in f.name.lower()]
    readme = (TABLES / "README.md").read_text("utf-8")
    assert all(f"`{file.name}`" in readme for file in files if file.suffix == ".csv")


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_a_table(load: Callable[[], CountTable]) -> None:
    table, (total, low, high) = load(), LOADERS[load]
    values = table.values()
    assert table.total == total == values.size == table.counts.sum()
    assert values.min() >= low and values.max() <= high
    assert np.all(np.diff(table.numbers) > 0) and np.all(table.counts > 0)
    assert table.source and table.terms.endswith(".") and f"{total:,}" in repr(table)
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 7
    with pytest.raises(AttributeError):
        table.name = "else"  # type: ignore[misc]


def test_what_the_readme_of_the_tables_says() -> None:
    income, hours = lw.datasets.load_income(), lw.datasets.load_hours()
    assert income.counts[income.numbers == 0] == 3_571
    assert np.isclose(hours.counts[hours.numbers == 40] / hours.total, 0.467, atol=5e-4)
    later = lw.datasets.load_taxi("pandemic", unit="minute")
    assert later.total == 100_000 and later.numbers.max() == 1_439
    nights = [
        np.mean(lw.datasets.load_taxi(p).values() < 4 * 3600)
        for p in ("before-pandemic", "pandemic")
    ]
    assert np.allclose(nights, [0.077, 0.037], atol=5e-4)


def test_the_months_are_the_two_periods() -> None:
    table = lw.datasets.load_taxi_months()
    assert table.counts.shape == (36, 64) and np.all(table.counts.sum(axis=1) == 10_000)
    before = lw.datasets.load_taxi(unit="minute").values() * 64 // 1440
    # The months were cut into bins by the second, the other table by the minute.
    assert np.abs(np.bincount(before, minlength=64) - table.counts[:26].sum(axis=0)).max() < 400
    assert repr(table) == "MonthTable('pick-up time', 2018-01 to 2020-12)"


PAIRS: dict[Callable[[], PairTable], tuple[int, tuple[int, int], tuple[int, int]]] = {
    lw.datasets.load_departures_and_delays: (223_874, (0, 84_600), (-70, 978)),
    lw.datasets.load_ages_and_hours: (48_842, (17, 90), (1, 99)),
}
"""Each function, with the rows, and the lowest and the highest value of both columns."""


@pytest.mark.parametrize("load", PAIRS, ids=lambda load: load.__name__)
def test_a_table_of_pairs(load: Callable[[], PairTable]) -> None:
    table, (total, *ranges) = load(), PAIRS[load]
    values = table.values()
    assert table.total == total == table.counts.sum() and values.shape == (total, 2)
    found = [(int(column.min()), int(column.max())) for column in values.T]
    assert found == ranges
    assert np.array_equal(np.unique(table.pairs, axis=0), table.pairs)
    assert np.all(table.counts > 0) and table.source and table.terms.endswith(".")
    assert f"{total:,}" in repr(table) and all(name in repr(table) for name in table.names)
    with pytest.raises(ValueError, match="read-only"):
        table.pairs[0] = 7


def test_pairs_are_those_of_the_single_columns() -> None:
    hours = lw.datasets.load_hours()
    both = lw.datasets.load_ages_and_hours()
    counts = np.bincount(both.pairs[:, 1], weights=both.counts)
    assert np.array_equal(counts[hours.numbers], hours.counts)
    flights = lw.datasets.load_departures_and_delays(unit="minute")
    begun = np.bincount(flights.pairs[:, 0] // 30, weights=flights.counts, minlength=48)
    left = lw.datasets.load_departures(unit="minute")
    all_flights = np.bincount(left.numbers // 30, weights=left.counts, minlength=48)
    assert np.all(begun <= all_flights) and all_flights.sum() - begun.sum() == 717


def test_the_script_counts_pairs_in_half_hours_and_in_order() -> None:
    found = delays_table(np.array([59, 30, 29]), np.array([-3, -3, 100]))
    assert found == "minute,delay,count\n0,100,1\n30,-3,2\n"
    assert ages_table(np.array([40, 17]), np.array([8, 9])) == "age,hours,count\n17,9,1\n40,8,1\n"


if datasets.DEFAULT_FOLDER.is_dir():  # else there is nothing to make them from

    def test_the_script_makes_the_tables_of_pairs_again() -> None:
        folder = str(datasets.DEFAULT_FOLDER)
        flights = "departure_minute", "arrival_delay_minutes"
        for file, made in (
            (
                DELAYS_FILE,
                delays_table(*read_pairs("flights_houston2011.parquet", flights, folder)),
            ),
            (
                AGES_FILE,
                ages_table(*read_pairs("adult_numeric.parquet", ("age", "hours_per_week"), folder)),
            ),
        ):
            assert (TABLES / file).read_bytes() == made.encode("ascii")


def test_a_wrong_word_is_refused_with_the_right_ones() -> None:
    with pytest.raises(ArgumentError, match="before-pandemic, pandemic, got 'now'"):
        lw.datasets.load_taxi("now")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="second, minute, got 'hour'"):
        lw.datasets.load_departures(unit="hour")
    with pytest.raises(ArgumentError, match="second, minute, got 'hour'"):
        lw.datasets.load_departures_and_delays(unit="hour")
