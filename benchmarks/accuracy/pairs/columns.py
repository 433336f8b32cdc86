"""Eight pairs of real attributes on which nothing in the library was chosen, and their cells.

Some of the attributes were in other pairs on which the default mixtures were compared: distance,
delay, age, hours, availability, price, retirement and salary. No pair of these eight was.

The ranges were written down before any method ran on these pairs. They come from what is publicly
known of each attribute, never from the rows: the documented range of an answer, the range that
the catalog of columns already has, or a round number. An axis has 64 bins. A value beyond a range
is moved to its nearest end, as in the other benchmarks, so every method has the same 64 x 64 cells.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.datasets import DataFolderError, data_folder
from benchmarks.paper_files import DataFileError

BINS = 64

SMALL: dict[str, Any] = {
    "repeats": 2,
    "people": 20_000,
    "bins": 16,
    "epsilons": [4],
    "pairs": ["made up"],
    "seed": 0,
}
"""Settings with which a benchmark of pairs is tried."""

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """One attribute: its column in the file, and its public range.

    Parameters
    ----------
    name : str
        As it is called in the tables.
    column : str
        In the file.
    low, high : float
        Ends of the range.
    scale : {"linear", "log"}
        Bins of equal width or of equal ratio.
    why : str
        Where the range comes from.
    """

    name: str
    column: str
    low: float
    high: float
    why: str
    scale: Literal["linear", "log"] = "linear"

    def interval(self, bins: int) -> lw.Interval:
        """Return the domain of the attribute."""
        return lw.Interval(self.low, self.high, bins=bins, scale=self.scale, outside="clip")


@dataclass(frozen=True)
class Pair:
    """Two attributes of the same rows of a file.

    Parameters
    ----------
    file : str
        In the data folder.
    first, second : Axis
        The attributes.
    source : str
        Where the rows come from.
    """

    file: str
    first: Axis
    second: Axis
    source: str

    @property
    def name(self) -> str:
        """The names of both attributes."""
        return f"{self.first.name} x {self.second.name}"


AGE = Axis("age", "age", 16, 80, "adults from 16, one bin for each year up to 80")
WEIGHT = Axis("final weight", "fnlwgt", 0, 2**19, "a power of two")
HOURS = Axis("hours", "hours_per_week", 0, 100, "documented: up to 99 hours a week")
GAIN = Axis("capital gain", "capital_gain", 0, 100_000, "documented: top code 99,999")
DISTANCE = Axis("distance", "distance_miles", 0, 2**12, "the catalog of columns: miles")
DELAY = Axis("delay", "arrival_delay_minutes", -60, 180, "from one hour early to three hours late")
DAYS = Axis("availability", "availability_365", 0, 365, "days of a year")
NIGHTS = Axis("minimum nights", "minimum_nights", 0, 64, "one bin for each night up to 64")
PRICE = Axis("log price", "price", 10, 1_000, "10 to 1,000 dollars a night", scale="log")
RETIREMENT = Axis("retirement", "retirement", 0, 60_000, "the catalog of columns: a paper's range")
SALARY = Axis("salary", "salaries", 0, 2**18, "the catalog of columns: a power of two")
BENEFITS = Axis("benefits", "total_benefits", 0, 2**16, "the catalog of columns: a power of two")

_FLIGHTS = "US Bureau of Transportation Statistics, Houston 2011, by hflights, CC0"
_ADULT = "UCI Adult, CC BY 4.0"
_AIRBNB = "Inside Airbnb, New York City 2019"
_CITY = "City and County of San Francisco, employee compensation, a filtered subset"

PAIRS = {
    pair.name: pair
    for pair in (
        Pair("flights_houston2011.parquet", DISTANCE, DELAY, _FLIGHTS),
        Pair("adult_numeric.parquet", AGE, WEIGHT, _ADULT),
        Pair("adult_numeric.parquet", HOURS, WEIGHT, _ADULT),
        Pair("adult_numeric.parquet", AGE, GAIN, _ADULT),
        Pair("airbnb_nyc2019.parquet", DAYS, NIGHTS, _AIRBNB),
        Pair("airbnb_nyc2019.parquet", PRICE, NIGHTS, _AIRBNB),
        Pair("sf_retirement_subset.parquet", RETIREMENT, BENEFITS, _CITY),
        Pair("sf_retirement_subset.parquet", SALARY, BENEFITS, _CITY),
    )
}
"""The eight pairs by name."""

MADE_UP = "made up"
"""Two bumps on the unit square, for tests and where there are no data."""


def domain_of(name: str, bins: int = BINS) -> lw.Product:
    """Return the domain of a pair, with axes "first" and "second".

    Parameters
    ----------
    name : str
        One of :data:`PAIRS`, or :data:`MADE_UP`.
    bins : int
        On each axis.

    Returns
    -------
    Product
        Of two intervals.
    """
    if name == MADE_UP:
        unit = lw.Interval(0, 1, bins=bins, outside="clip")
        return lw.Product(first=unit, second=unit)
    pair = PAIRS[name]
    return lw.Product(first=pair.first.interval(bins), second=pair.second.interval(bins))


@cache
def shares(name: str, bins: int = BINS) -> Table:
    """Return the shares of the cells among the rows of a pair's file.

    Rows without a value on either attribute are left out.

    Parameters
    ----------
    name : str
        One of :data:`PAIRS`, or :data:`MADE_UP`.
    bins : int
        On each axis.

    Returns
    -------
    numpy.ndarray
        float64 [bins, bins], read-only, with sum 1.

    Raises
    ------
    DataFolderError
        If the file is not in the data folder.
    DataFileError
        If no row has both values.
    """
    if name == MADE_UP:
        return _bumps(bins)
    pair = PAIRS[name]
    path = data_folder(None) / pair.file
    if not path.exists():
        raise DataFolderError(f"{pair.file} is not in the data folder")
    rows = pyarrow.parquet.read_table(path, columns=[pair.first.column, pair.second.column])
    both = [rows[column].to_numpy().astype(np.float64) for column in rows.column_names]
    present = ~np.isnan(both).any(axis=0)
    if not present.any():
        raise DataFileError(f"{pair.file}: at least one row must have both attributes")
    cells = [
        axis.interval(bins).index(values[present])
        for axis, values in zip((pair.first, pair.second), both, strict=True)
    ]
    counts = np.bincount(cells[0] * bins + cells[1], minlength=bins * bins).astype(np.float64)
    table: Table = (counts / counts.sum()).reshape(bins, bins)
    table.setflags(write=False)
    return table


def _bumps(bins: int) -> Table:
    middle = (np.arange(bins) + 0.5) / bins
    found = np.zeros((bins, bins))
    for weight, row, column, width in ((0.6, 0.3, 0.35, 0.1), (0.4, 0.7, 0.6, 0.15)):
        bump = np.outer(
            np.exp(-0.5 * ((middle - row) / width) ** 2),
            np.exp(-0.5 * ((middle - column) / width) ** 2),
        )
        found += weight * bump / bump.sum()
    found.setflags(write=False)
    return found


def full(repeats: int, **changes: Any) -> dict[str, Any]:
    """Return the settings of a benchmark of all pairs."""
    usual = {"people": 200_000, "bins": BINS, "epsilons": [1, 2, 4], "pairs": list(PAIRS)}
    return {"repeats": repeats, **usual, "seed": 0, **changes}


def by_pair(
    cell: Callable[..., dict[str, Any]],
    *,
    epsilons: Sequence[float],
    pairs: Sequence[str],
    **settings: int,
) -> dict[str, Any]:
    """Return the cell of each epsilon and pair, and print each as it is measured."""
    cells = []
    for epsilon in epsilons:
        for pair in pairs:
            cells.append(cell(pair, epsilon, **settings))
            print(cells[-1], file=sys.stderr, flush=True)
    return {"cells": cells}
