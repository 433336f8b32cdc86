"""The tables that the package ships, each with its source and its terms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError

TABLES = Path(__file__).parent / "tables"
"""The folder of the count tables."""

_TAXI_SOURCE = (
    "Trip records of the New York City Taxi and Limousine Commission, from the monthly samples in "
    "great-expectations/great_expectations at ce78204d6d659caf676ccdcaec0a3184bb95445f"
)
_TAXI_TERMS = "Records published for public use. The samples are under the Apache License 2.0."

_ADULT_SOURCE = (
    "Adult, UCI Machine Learning Repository (Becker and Kohavi, 1996), "
    "https://doi.org/10.24432/C5XW20, from the US census"
)
_ADULT_TERMS = "Creative Commons Attribution 4.0 (CC BY 4.0)."

_FLIGHTS_SOURCE = (
    "US Bureau of Transportation Statistics, from hadley/hflights at "
    "72e02a200fc61adfc83c2885f45895ca98989cbe"
)
_FLIGHTS_TERMS = "Creative Commons Zero (CC0)."


@dataclass(frozen=True, eq=False)
class CountTable:
    """Distinct values of a real column, with the number of rows that have each.

    Parameters
    ----------
    name : str
        Name of the column, with its unit.
    numbers : array of int64
        The distinct values, in increasing order.
    counts : array of int64
        Number of people or trips with each value.
    source : str
        Where the column comes from.
    terms : str
        The license or the terms of use.

    Examples
    --------
    >>> import lapwing as lw
    >>> hours = lw.datasets.load_hours()
    >>> print(f"{hours.total:,} people: {hours.name}")
    48,842 people: hours of work a week
    >>> hours.values().mean().round(2)
    np.float64(40.42)
    """

    name: str
    """The name of the column, with its unit."""
    numbers: NDArray[np.int64]
    """The distinct values, in increasing order."""
    counts: NDArray[np.int64]
    """Number of people or trips with each value."""
    source: str
    """Where the column comes from."""
    terms: str
    """The license or the terms of use."""

    @property
    def total(self) -> int:
        """Number of people or trips."""
        return int(self.counts.sum())

    def values(self) -> NDArray[np.int64]:
        """Return the column: each value as often as it was counted, in increasing order.

        Returns
        -------
        array of int64
            One value for each person or trip.
        """
        return np.repeat(self.numbers, self.counts)

    def __repr__(self) -> str:
        return f"CountTable({self.name!r}, {self.total:,} counted, {self.numbers.size:,} values)"


@dataclass(frozen=True, eq=False)
class PairTable:
    """Distinct pairs of two real columns, with the number of rows that have each.

    Parameters
    ----------
    names : tuple of str
        Names of the two columns, with their units.
    pairs : array of int64, pairs by 2
        The distinct pairs, in increasing order of the first value, then of the second.
    counts : array of int64
        Number of people or flights with each pair.
    source : str
        Where the columns come from.
    terms : str
        The license or the terms of use.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> table = lw.datasets.load_ages_and_hours()
    >>> print(f"{table.total:,} people: {table.names[0]}, {table.names[1]}")
    48,842 people: age, years, hours of work a week
    >>> age, hours = table.values().T
    >>> np.median(hours[age < 20])
    np.float64(25.0)
    """

    names: tuple[str, str]
    """The names of the two columns, with their units."""
    pairs: NDArray[np.int64]
    """The distinct pairs, a row each, in increasing order."""
    counts: NDArray[np.int64]
    """Number of people or flights with each pair."""
    source: str
    """Where the columns come from."""
    terms: str
    """The license or the terms of use."""

    @property
    def total(self) -> int:
        """Number of people or flights."""
        return int(self.counts.sum())

    def values(self) -> NDArray[np.int64]:
        """Return the two columns: each pair as often as it was counted, in increasing order.

        Returns
        -------
        array of int64, rows by 2
            One pair for each person or flight, in the form that a survey of a
            :class:`lapwing.Product` takes.
        """
        return np.repeat(self.pairs, self.counts, axis=0)

    def __repr__(self) -> str:
        first, second = self.names
        return f"PairTable({first!r} and {second!r}, {self.total:,} counted)"


@dataclass(frozen=True, eq=False)
class MonthTable:
    """Histograms of a real column, one for each month.

    Parameters
    ----------
    name : str
        Name of the column.
    months : tuple of str
        Months, such as "2018-01", in order.
    counts : array of int64, months by bins
        Number of trips that began in each of equal bins of the day.
    source : str
        Where the column comes from.
    terms : str
        The license or the terms of use.

    Examples
    --------
    >>> import lapwing as lw
    >>> taxi = lw.datasets.load_taxi_months()
    >>> taxi.months[0], taxi.months[-1], taxi.counts.shape
    ('2018-01', '2020-12', (36, 64))
    """

    name: str
    """The name of the column."""
    months: tuple[str, ...]
    """The months, as "2018-01", in order."""
    counts: NDArray[np.int64]
    """How many trips began in each bin of the day, a row for each month."""
    source: str
    """Where the column comes from."""
    terms: str
    """The license or the terms of use."""

    def __repr__(self) -> str:
        return f"MonthTable({self.name!r}, {self.months[0]} to {self.months[-1]})"


def load_taxi(
    period: Literal["before-pandemic", "pandemic"] = "before-pandemic", *, unit: str = "second"
) -> CountTable:
    """Return when trips by yellow taxi began in New York City, as times of day.

    Parameters
    ----------
    period : {"before-pandemic", "pandemic"}, default "before-pandemic"
        260,000 trips from 2018-01 to 2020-02, or 100,000 trips from 2020-03 to 2020-12. There are
        10,000 trips for each month.
    unit : {"second", "minute"}, default "second"
        Unit of the values. ``Interval(unit="time-of-day")`` reads seconds since midnight. The
        table has a resolution of whole minutes.

    Returns
    -------
    CountTable
        Local times from 0 on. They lie on a circle: 23:59 is next to 00:00.

    Raises
    ------
    ArgumentError
        For another period or unit.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.datasets.load_taxi()
    CountTable('pick-up time, seconds since midnight', 260,000 counted, 1,440 values)
    """
    files = {
        "before-pandemic": "nyc_taxi_pickup_minutes",
        "pandemic": "nyc_taxi_pickup_minutes_2020",
    }
    if period not in files:
        raise ArgumentError("period", f"must be one of {', '.join(files)}", repr(period))
    name, factor = "pick-up time", _factor(unit)
    return _read(files[period], name, _TAXI_SOURCE, _TAXI_TERMS, unit=unit, factor=factor)


def load_taxi_months() -> MonthTable:
    """Return when taxi trips began in each of 36 months, by 64 equal bins of the day.

    Returns
    -------
    MonthTable
        10,000 trips for each month from 2018-01 to 2020-12.

    Examples
    --------
    >>> import lapwing as lw
    >>> int(lw.datasets.load_taxi_months().counts.sum())
    360000
    """
    _, *lines = (TABLES / "nyc_taxi_months.csv").read_text("ascii").splitlines()
    rows = [line.split(",") for line in lines]
    counts = np.array([row[1:] for row in rows], dtype=np.int64)
    months = tuple(row[0] for row in rows)
    return MonthTable("pick-up time", months, _frozen(counts), _TAXI_SOURCE, _TAXI_TERMS)


def load_income() -> CountTable:
    """Return the yearly incomes of 29,144 people in the United States in 2019.

    Returns
    -------
    CountTable
        Whole US dollars from 0 to 524,287, of which 12% are 0. The people live in selected areas,
        so they are not a sample of the nation.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.datasets.load_income()
    CountTable('income, US dollars a year', 29,144 counted, 2,979 values)
    """
    return _read(
        "acs_income_2019",
        "income, US dollars a year",
        "American Community Survey 2019, public-use microdata of the US Census Bureau, from the "
        "Diverse Community Data Excerpts of NIST",
        "Works of the United States government: public use, no copyright in the United States.",
    )


def load_hours() -> CountTable:
    """Return the weekly hours of work of 48,842 people in the United States in 1994.

    Returns
    -------
    CountTable
        Whole hours from 1 to 99. 46.7% are 40.

    Examples
    --------
    >>> import lapwing as lw
    >>> hours = lw.datasets.load_hours()
    >>> int(hours.numbers[hours.counts.argmax()])
    40
    """
    return _read("adult_hours_per_week", "hours of work a week", _ADULT_SOURCE, _ADULT_TERMS)


def load_departures(*, unit: str = "second") -> CountTable:
    """Return when 224,591 flights left Houston's two airports in 2011, as times of day.

    Parameters
    ----------
    unit : {"second", "minute"}, default "second"
        Unit of the values, as in :func:`load_taxi`.

    Returns
    -------
    CountTable
        Local times from 0 on. They lie on a circle.

    Raises
    ------
    ArgumentError
        For another unit.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.datasets.load_departures().total
    224591
    """
    return _read(
        "houston_departure_minutes",
        "departure time",
        _FLIGHTS_SOURCE,
        _FLIGHTS_TERMS,
        unit=unit,
        factor=_factor(unit),
    )


def load_departures_and_delays(*, unit: str = "second") -> PairTable:
    """Return when 223,874 flights left Houston in 2011, and how late they arrived.

    Parameters
    ----------
    unit : {"second", "minute"}, default "second"
        Unit of the departure times, as in :func:`load_taxi`. The delays are in minutes.

    Returns
    -------
    PairTable
        Local times rounded down to half hours, from 0 on, at which the airplane left, not when it
        was due. Delays are from -70 to 978 minutes, and negative for early arrivals. Diverted
        flights are left out.

    Raises
    ------
    ArgumentError
        For another unit.

    Examples
    --------
    >>> import lapwing as lw
    >>> table = lw.datasets.load_departures_and_delays()
    >>> table.names
    ('departure time, seconds since midnight', 'arrival delay, minutes')
    >>> pairs = lw.Product(
    ...     departure=lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
    ...     delay=lw.Interval(-30, 90, bins=24, outside="overflow"),
    ... )
    >>> truth = lw.results.JointDistribution.of_values(table.values(), pairs)
    >>> round(truth.given(departure=("16:00", "20:00")).probability(30, float("inf")), 2)
    0.14
    """
    minutes, counts = _read_pairs("houston_departures_and_delays")
    pairs = minutes * np.array([_factor(unit), 1])
    names = f"departure time, {unit}s since midnight", "arrival delay, minutes"
    return PairTable(names, _frozen(pairs), counts, _FLIGHTS_SOURCE, _FLIGHTS_TERMS)


def load_ages_and_hours() -> PairTable:
    """Return ages and weekly hours of work of 48,842 people in the United States in 1994.

    Returns
    -------
    PairTable
        Whole years from 17 to 90 and whole hours from 1 to 99.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.datasets.load_ages_and_hours()
    PairTable('age, years' and 'hours of work a week', 48,842 counted)
    """
    pairs, counts = _read_pairs("adult_age_and_hours")
    names = "age, years", "hours of work a week"
    return PairTable(names, pairs, counts, _ADULT_SOURCE, _ADULT_TERMS)


def _factor(unit: str) -> int:
    """Return how many of a unit a minute has."""
    factors = {"second": 60, "minute": 1}
    if unit not in factors:
        raise ArgumentError("unit", f"must be one of {', '.join(factors)}", repr(unit))
    return factors[unit]


def _read(
    file: str, name: str, source: str, terms: str, *, unit: str | None = None, factor: int = 1
) -> CountTable:
    _, *lines = (TABLES / f"{file}.csv").read_text("ascii").splitlines()
    rows = np.array([line.split(",") for line in lines], dtype=np.int64)
    rows = rows[rows[:, 1] > 0]
    if unit is not None:
        name = f"{name}, {unit}s since midnight"
    return CountTable(name, _frozen(factor * rows[:, 0]), _frozen(rows[:, 1]), source, terms)


def _read_pairs(file: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    _, *lines = (TABLES / f"{file}.csv").read_text("ascii").splitlines()
    rows = np.array([line.split(",") for line in lines], dtype=np.int64)
    return _frozen(rows[:, :2]), _frozen(rows[:, 2])


def _frozen(array: NDArray[np.int64]) -> NDArray[np.int64]:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
