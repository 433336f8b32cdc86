"""The tables of the package: what they hold, that they are small, that their terms are named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapwing as lw
from lapwing.datasets.count_tables import TABLES, CountTable
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


def test_a_wrong_word_is_refused_with_the_right_ones() -> None:
    with pytest.raises(ArgumentError, match="before-pandemic, pandemic, got 'now'"):
        lw.datasets.load_taxi("now")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="second, minute, got 'hour'"):
        lw.datasets.load_departures(unit="hour")
