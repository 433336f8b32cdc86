"""Make the count tables of ``examples/data`` from the data folder.

    python -m benchmarks.make_example_tables

A table has a header and one line per value or pair, in increasing order, so its bytes depend on
the data alone: running this again changes nothing. No table of KITTI, IPUMS or the word counts may
join them, because their terms do not allow it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

from benchmarks.accuracy.series.made_up import taxi_months
from benchmarks.datasets import data_folder, load

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "data"  # links into the package
TAXI_FILE = "nyc_taxi_pickup_minutes.csv"
INCOME_FILE = "acs_income_2019.csv"
TAXI_2020_FILE = "nyc_taxi_pickup_minutes_2020.csv"
HOURS_FILE = "adult_hours_per_week.csv"
FLIGHTS_FILE = "houston_departure_minutes.csv"
CLICKS_FILE = "kosarak_clicks.csv"
MONTHS_FILE = "nyc_taxi_months.csv"
DELAYS_FILE = "houston_departures_and_delays.csv"
AGES_FILE = "adult_age_and_hours.csv"

_MINUTES_A_DAY = 1_440
_HALF_HOUR = 30
"""Minutes. With whole minutes of departure the table of delays would be several times as large."""

_PAGES = 4_096
"""Most-clicked pages of the click table; all other clicks are left out."""


def taxi_table(seconds: NDArray[np.int64]) -> str:
    """Return the pick-ups per minute of the day, all 1,440 minutes, from seconds of the day."""
    counts = np.bincount(seconds // 60, minlength=_MINUTES_A_DAY)
    return _csv("minute", np.arange(_MINUTES_A_DAY), counts)


def flights_table(minutes: NDArray[np.int64]) -> str:
    """Return the departures per minute of the day, all 1,440 minutes."""
    counts = np.bincount(minutes, minlength=_MINUTES_A_DAY)
    return _csv("minute", np.arange(_MINUTES_A_DAY), counts)


def hours_table(hours: NDArray[np.int64]) -> str:
    """Return the people per number of hours worked in a week."""
    return _csv("hours", *np.unique(hours, return_counts=True))


def income_table(dollars: NDArray[np.int64]) -> str:
    """Return the people per income, in whole dollars as the survey gives it.

    No grid is needed to keep the table small: 95% of the positive incomes are multiples of 100
    dollars already. Rounding down to hundreds would move the people who earned less than that to
    zero, the largest atom.
    """
    return _csv("income", *np.unique(dollars, return_counts=True))


def clicks_table(counts: NDArray[np.int64]) -> str:
    """Return the clicks on the most-clicked pages, by the number of the page."""
    pages = np.sort(np.argsort(-counts, kind="stable")[:_PAGES])
    return _csv("page", pages + 1, counts[pages])


def months_table(names: list[str], counts: NDArray[np.int64]) -> str:
    """Return a line for each month: its name, and the trips that began in each bin of the day."""
    head = ["month", *map(str, range(counts.shape[1]))]
    rows = [[name, *map(str, month)] for name, month in zip(names, counts.tolist(), strict=True)]
    return "".join(f"{','.join(row)}\n" for row in [head, *rows])


def delays_table(minutes: NDArray[np.int64], delays: NDArray[np.int64]) -> str:
    """Return the flights per half hour of departure, by its first minute, and minute of delay."""
    return _pairs("minute,delay", minutes // _HALF_HOUR * _HALF_HOUR, delays)


def ages_table(ages: NDArray[np.int64], hours: NDArray[np.int64]) -> str:
    """Return the people per age in years and number of hours worked in a week."""
    return _pairs("age,hours", ages, hours)


def read_pairs(
    file: str, columns: tuple[str, str], folder: str | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two columns of whole numbers of a file of the data folder: the rows that have both."""
    rows = pyarrow.parquet.read_table(data_folder(folder) / file, columns=list(columns))
    first, second = (rows[column].to_numpy().astype(np.float64) for column in columns)
    both = ~(np.isnan(first) | np.isnan(second))
    return first[both].astype(np.int64), second[both].astype(np.int64)


def _pairs(names: str, first: NDArray[np.int64], second: NDArray[np.int64]) -> str:
    pairs, counts = np.unique(np.column_stack([first, second]), axis=0, return_counts=True)
    lines = (f"{a},{b},{count}\n" for (a, b), count in zip(pairs, counts, strict=True))
    return f"{names},count\n{''.join(lines)}"


def _csv(name: str, values: NDArray[Any], counts: NDArray[Any]) -> str:
    lines = (f"{value},{count}\n" for value, count in zip(values, counts, strict=True))
    return f"{name},count\n{''.join(lines)}"


def main() -> None:
    """Write the tables and say how many people each holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", help="the data folder (default: as the benchmarks find it)")
    parser.add_argument("--out", type=Path, default=EXAMPLES, help="where the tables go")
    choice = parser.parse_args()
    for file, name, table in (
        (TAXI_FILE, "taxi", taxi_table),
        (INCOME_FILE, "acs_income", income_table),
        (TAXI_2020_FILE, "taxi_2020", taxi_table),
        (FLIGHTS_FILE, "flights_departure", flights_table),
        (HOURS_FILE, "adult_hours", hours_table),
    ):
        column = load(name, choice.folder)
        assert column.values is not None  # all are columns of values
        # Bytes, so that no platform changes the line ends.
        (choice.out / file).write_bytes(table(column.values).encode("ascii"))
        print(f"{file}: {column.kept:,} people, {column.dropped:,} rows left out; {column.rule}")
    clicks = load("kosarak", choice.folder)
    assert clicks.counts is not None
    (choice.out / CLICKS_FILE).write_bytes(clicks_table(clicks.counts).encode("ascii"))
    months = months_table(*taxi_months(choice.folder))
    (choice.out / MONTHS_FILE).write_bytes(months.encode("ascii"))
    for file, data, columns, paired in (
        (
            DELAYS_FILE,
            "flights_houston2011.parquet",
            ("departure_minute", "arrival_delay_minutes"),
            delays_table,
        ),
        (AGES_FILE, "adult_numeric.parquet", ("age", "hours_per_week"), ages_table),
    ):
        first, second = read_pairs(data, columns, choice.folder)
        (choice.out / file).write_bytes(paired(first, second).encode("ascii"))
        print(f"{file}: {first.size:,} pairs, rows without both values left out")
    print(f"{CLICKS_FILE}: the {_PAGES:,} most-clicked pages; {clicks.rule}")


if __name__ == "__main__":
    main()
