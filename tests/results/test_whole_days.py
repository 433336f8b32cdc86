"""Dates are whole days: at most 30 June holds those of 30 June."""

import datetime
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.linear.covariance import Covariance
from lapwing.results.uncertainty import Uncertainty

YEAR = lw.Interval("2025-01-01", "2026-01-01", bins=365, unit="date")
JUNE_30 = datetime.date(2025, 6, 30)
SAME = ["2025-06-30", JUNE_30, np.datetime64("2025-06-30"), datetime.datetime(2025, 6, 30, 18)]


def of_days(days: list[str], domain: Any = YEAR) -> lw.Distribution:
    return lw.Distribution.of_values(days, domain)


def known(domain: Any, values: list[str]) -> lw.Distribution:
    """A distribution whose error law says that there is no error."""
    plain = of_days(values, domain)
    none, size = np.zeros(domain.size), domain.size
    law = Uncertainty(
        plain.mass, Covariance(none, np.zeros((size, 1)), np.ones(1)), none, plain.mass, 4, "known"
    )
    return lw.Distribution(domain, plain.mass, 4, uncertainty=law)


@pytest.mark.parametrize("day", SAME, ids=repr)
def test_a_day_itself_counts(day: Any) -> None:
    halves = known(YEAR, ["2025-06-29", "2025-06-30", "2025-06-30", "2025-07-01"])
    assert halves.cdf(day) == 0.75
    assert halves.probability("2025-06-29", day) == 0.25
    assert halves.probability("2025-06-29", day, closed="right") == 0.5
    assert halves.probability("2025-06-29", day, closed="both") == 0.75
    assert halves.probability(day, "2025-07-01") == 0.5
    assert halves.probability(-math.inf, day) == 0.25
    assert halves.probability_interval(-math.inf, day) == (0.25, 0.25)
    assert halves.probability_interval(-math.inf, day, closed="right") == (0.75, 0.75)
    assert halves.probability_interval("2025-06-29", day) == (0.25, 0.25)
    assert halves.probability_interval(day, math.inf) == (0.75, 0.75)
    assert halves.probability(day, day) == 0
    assert halves.probability_interval(day, day) == (0, 0)
    assert halves.probability(day, day, closed="both") == 0.5
    assert halves.probability_interval(day, day, closed="both") == (0.5, 0.5)
    fewer = known(YEAR, ["2025-06-29", "2025-06-30", "2025-07-01", "2025-07-02"])
    made = halves.difference(fewer, target="empirical")
    assert made.cdf(day) == made.probability(-math.inf, day, closed="right") == 0.25
    assert made.probability_interval(-math.inf, day, closed="right") == (0.25, 0.25)


def test_the_shapes_of_what_is_asked() -> None:
    halves = of_days(["2025-06-29", "2025-06-30", "2025-06-30", "2025-07-01"])
    number = np.datetime64("2025-06-30").astype(int)
    assert halves.cdf(["2025-06-29", JUNE_30, number]).tolist() == [0.25, 0.75, 0.25]
    assert halves.cdf(np.array(["2025-06-29", "2025-07-01"], dtype="M8[D]")).tolist() == [0.25, 1]
    assert halves.cdf([[number, number + 1]]).tolist() == [[0.25, 0.75]]
    assert halves.cdf(np.array([[JUNE_30], [JUNE_30]], dtype=object)).tolist() == [[0.75], [0.75]]
    assert np.isnan(halves.cdf([None, "2025-06-30"])).tolist() == [True, False]
    # Numbers of days are points on the line, as before.
    assert halves.cdf(number) == halves.cumulative.at(number) == 0.25
    # As are dates whose bins hold their right end.
    right = lw.Interval("2025-01-01", "2026-01-01", bins=365, unit="date", closed="right")
    assert of_days(["2025-06-30"], right).cdf("2025-06-30") == 1


@pytest.mark.parametrize("bins", [365, 12, 5])
def test_a_quantile_is_the_first_day_with_so_many(bins: int) -> None:
    domain = lw.Interval("2025-01-01", "2026-01-01", bins=bins, unit="date")
    some = lw.Distribution.of_counts(np.arange(bins) + 1, domain)
    for probability in np.linspace(0.01, 0.99, 23):
        day = some.quantile(probability)
        assert some.cdf(day) >= probability - 1e-9
        assert some.cdf(day - np.timedelta64(1, "D")) < probability
    assert some.quantile(0) == np.datetime64("2025-01-01")
    assert some.quantile(1) == np.datetime64("2025-12-31")


def test_quantiles_and_their_intervals_are_days_that_are_there() -> None:
    known_days = known(
        replace(YEAR, outside="refuse"), ["2025-03-01", "2025-06-30", "2025-06-30", "2025-12-31"]
    )
    day = np.datetime64("2025-06-30")
    for probability in (0.3, 0.5, 0.75):
        assert known_days.quantile(probability) == day
        assert known_days.quantile_interval(probability) == (day, day)
    low, high = known_days.quantile_interval(1.0) or (None, None)
    assert low == known_days.quantile(1.0) == np.datetime64("2025-12-31")
    assert high == np.datetime64("2026-01-01")  # the last bin holds its end
    lines = known_days.summary().splitlines()
    (line,) = [line for line in lines if line.startswith("75% quantile")]
    assert line.endswith("  2025-06-30 (2025-06-30 to 2025-06-30)")


def test_the_last_day_of_the_last_bin_cannot_be_told_from_the_others() -> None:
    days = lw.Interval("2025-01-01", "2025-12-31", bins=364, unit="date", outside="refuse")
    some = known(days, ["2025-12-29", "2025-12-31"])
    assert some.probability_interval(-math.inf, "2025-12-29", closed="right") == (0.5, 0.5)
    assert some.probability_interval(-math.inf, "2025-12-30", closed="right") == (0.5, 1)
    assert some.probability_interval(-math.inf, "2025-12-31", closed="right") == (1, 1)
    assert some.probability_interval("2025-12-30", "2025-12-31", closed="right") == (0, 0.5)


def test_an_atom_of_a_day() -> None:
    domain = lw.Interval(
        "2025-01-01", "2025-01-11", bins=5, unit="date", atoms=["2025-01-05"], outside="refuse"
    )
    some = known(domain, ["2025-01-05", "2025-01-05", "2025-01-09", "2025-01-09"])
    assert some.cdf(["2025-01-04", "2025-01-05"]).tolist() == [0, 0.5]
    assert some.probability_interval(-math.inf, "2025-01-04", closed="right") == (0, 0)
    assert some.probability_interval("2025-01-04", "2025-01-05", closed="right")[0] == 0.5


def test_weeks_say_what_they_cannot_know() -> None:
    weeks = lw.Interval("2025-01-06", "2025-02-03", bins=4, unit="date", outside="refuse")
    some = known(weeks, ["2025-01-06", "2025-01-13", "2025-01-19", "2025-01-27"])
    assert some.probability_interval(-math.inf, "2025-01-12", closed="right") == (0.25, 0.25)
    assert some.probability_interval(-math.inf, "2025-01-13", closed="right") == (0.25, 0.75)
    assert some.probability_interval("2025-01-12", "2025-01-19", closed="right") == (0.5, 0.5)
