"""Answers of dates and times: asked about in their own words, and said in them."""

import datetime as dt
import zoneinfo
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.ranges import to_points, to_values
from lapwing.results.cumulative import Cumulative
from lapwing.results.difference import Difference
from lapwing.results.symbols import in_numbers

DAY = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day")
YEARS = lw.Interval("2020-01-01", "2024-01-01", bins=1461, unit="date")
QUARTERS = lw.Interval("2020-01-01", "2024-01-01", bins=16, unit="date")
HOURS = lw.Interval("2024-03-01T00:00", "2024-03-11T00:00", bins=240, unit="datetime")
PLAIN = lw.Interval(0, 100, bins=10)

NOON = [8 * 3600] * 500 + [12 * 3600 + 1800] * 1500
DATES = ["2020-06-01"] * 50 + ["2022-02-02"] * 150
MOMENTS = ["2024-03-05T06:00"] * 100 + ["2024-03-08T18:30"] * 300


def decoded(domain: Any, values: Any) -> Any:
    wave = lw.SquareWave(domain, epsilon=4)
    tally = wave.tally(wave.randomize(values, rng=lw.seeded(1)))
    return lw.LeastSquares().decode(wave.channel, tally)


@pytest.fixture(scope="module")
def clock() -> Any:
    return decoded(DAY, NOON)


SAME_POINTS: list[tuple[Any, Any, float]] = [
    (DAY, "12:00", 43_200),
    (DAY, dt.time(12), 43_200),
    (DAY, dt.datetime(2026, 1, 1, 12), 43_200),
    (DAY, np.datetime64("2026-01-01T12:00"), 43_200),
    (DAY, np.float32(43_200), 43_200),
    (YEARS, "2022-02-02", 19_025),
    (YEARS, dt.date(2022, 2, 2), 19_025),
    (YEARS, np.datetime64("2022-02-02"), 19_025),
    (YEARS, np.datetime64("2022-02-02T23:59", "ns"), 19_025),
    (HOURS, "2024-03-08T18:30", 1_709_922_600),
    (HOURS, np.datetime64("2024-03-08T18:30", "ns"), 1_709_922_600),
    (HOURS, dt.datetime(2024, 3, 8, 18, 30), 1_709_922_600),
    (
        HOURS,
        dt.datetime(2024, 3, 8, 19, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
        1_709_922_600,
    ),
    (HOURS, pandas.Timestamp("2024-03-08T18:30"), 1_709_922_600),
    (PLAIN, "12.5", 12.5),
]


@pytest.mark.parametrize(("domain", "point", "number"), SAME_POINTS)
def test_a_point_is_a_value_of_the_domain(domain: Any, point: Any, number: float) -> None:
    some = lw.Distribution.of_counts(np.arange(domain.size) + 1, domain)
    assert some.pdf(point) == some.pdf(number)
    # Ranges of dates end before their last day; a CDF holds that day, up to the start of the next.
    assert some.probability(domain.low, point) == some.probability(domain.low, number)
    number += domain.unit == "date"
    cdf = some.cdf(number)
    assert 0 < cdf < 1 and np.ndim(cdf) == 0
    assert some.cdf(point) == cdf and np.ndim(some.cdf(point)) == 0
    assert some.cdf([point, point]).tolist() == [cdf, cdf]
    assert some.difference(some).cdf(point) == 0


def test_columns_and_shapes_of_points() -> None:
    some = lw.Distribution.of_counts(np.arange(24) + 1, DAY)
    texts = ["06:00", "12:00"]
    expected = some.cdf([21_600, 43_200]).tolist()
    for column in (
        texts,
        tuple(texts),
        np.array(texts),
        pandas.Series(texts),
        polars.Series(texts),
    ):
        assert some.cdf(column).tolist() == expected
    times = pandas.Series(pandas.to_datetime(["2024-01-01 06:00", "2024-01-01 12:00"]))
    assert some.cdf(times).tolist() == expected
    grid = np.array([["06:00"], ["12:00"]], dtype=object)
    assert some.cdf(grid).tolist() == [[expected[0]], [expected[1]]]
    assert some.cdf([[21_600], [43_200]]).shape == (2, 1)
    assert np.isnan(some.cdf(None)) and np.isnan(some.cdf(np.nan))
    assert some.cdf([]).shape == (0,)


@pytest.mark.parametrize(
    ("domain", "point"),
    [
        (PLAIN, np.datetime64("2024-01-01")),
        (PLAIN, dt.date(2024, 1, 1)),
        (PLAIN, "noon"),
        (PLAIN, True),
        (DAY, "2024-01-01"),
        (DAY, np.datetime64("2024-01-01")),
        (YEARS, "12:00"),
        (HOURS, dt.time(12)),
        (HOURS, object()),
        (PLAIN, np.array(["2024-01-01"], dtype="M8[D]")),
        (PLAIN, [np.datetime64("2024-01-01")]),
        (PLAIN, [True]),
        (PLAIN, [[1], [2, 3]]),
    ],
)
def test_a_point_of_another_kind_is_refused(domain: Any, point: Any) -> None:
    some = lw.Distribution.of_counts(np.ones(domain.size), domain)
    for ask in (some.cdf, some.pdf, some.difference(some).cdf):
        with pytest.raises(DomainError, match="must be"):
            ask(point)
    with pytest.raises((DomainError, ArgumentError)):
        some.probability(domain.low, point)


@pytest.mark.parametrize("low", [60, "60", np.nan, np.inf])
def test_a_range_is_refused_as_its_interval_is(low: Any) -> None:
    some = decoded(PLAIN, [50.0] * 500)
    signed = lw.results.SignedEstimate(PLAIN, some.mass, 500)
    both = some.difference(some)
    for ask in (
        some.probability,
        some.probability_interval,
        both.probability,
        both.probability_interval,
        signed.probability,
    ):
        with pytest.raises(ArgumentError, match="a range must"):
            ask(low, 40)
    with pytest.raises(ArgumentError, match="one low and one high"):
        some.probability([10, 20], [30, 40])
    assert some.probability(40, 40) == 0


def test_ranges_in_words(clock: Any) -> None:
    in_words = ("06:00", dt.time(12))
    assert clock.probability(*in_words) == clock.probability(21_600, 43_200)
    assert clock.probability_interval(*in_words) == clock.probability_interval(21_600, 43_200)
    low, high = clock.probability_interval(*in_words)
    assert low <= 0.25 <= high
    both = clock.difference(lw.Distribution.of_values(NOON, DAY))
    assert both.probability(*in_words) == both.probability(21_600, 43_200)
    assert clock.probability(-np.inf, np.inf) == pytest.approx(1)


def test_times_of_day_are_said_as_texts(clock: Any) -> None:
    exact = lw.Distribution.of_values(NOON, DAY)
    assert exact.quantile(0.125) == "08:30:00" and exact.quantile(1) == "13:00:00"
    assert exact.quantile([0.0, 0.125]).tolist() == ["00:00:00", "08:30:00"]
    assert exact.mean() == "11:30:00"
    assert clock.quantile_interval(0.5) == ("12:00:00", "13:00:00")
    low, high = clock.mean_interval()
    assert isinstance(low, str) and low < "11:30:00" < high
    drawn = exact.sample(1000, rng=1)
    assert drawn.shape == (1000,) and set(DAY.index(drawn)) == {8, 12}
    lost = lw.Distribution.of_counts(
        [*[0] * 24, 1], lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", missing="bin")
    )
    assert lost.sample(2, rng=1).tolist() == [None, None]
    assert lw.Distribution.of_counts([0] * 23 + [1], DAY).quantile(1) == "24:00:00"


def test_dates_are_said_as_days() -> None:
    exact = lw.Distribution.of_values(DATES, YEARS)
    assert exact.quantile(0.1) == np.datetime64("2020-06-01", "D")
    assert exact.quantile([0.1, 0.9]).dtype == np.dtype("M8[D]")
    assert exact.mean() == np.datetime64("2021-09-02")
    drawn = exact.sample(100, rng=1)
    assert drawn.dtype == np.dtype("M8[D]")
    assert set(drawn.tolist()) == {dt.date(2020, 6, 1), dt.date(2022, 2, 2)}
    found = decoded(QUARTERS, 20 * DATES)
    for low, high in (found.mean_interval(), found.quantile_interval(0.5)):
        assert isinstance(low, np.datetime64) and low <= high


def test_moments_are_said_as_moments() -> None:
    exact = lw.Distribution.of_values(MOMENTS, HOURS)
    assert exact.quantile(0.125) == np.datetime64("2024-03-05T06:30")
    assert exact.quantile(0.125).dtype == np.dtype("M8[us]")
    assert exact.mean() == np.datetime64("2024-03-07T21:30")
    assert exact.sample(3, rng=1).dtype == np.dtype("M8[us]")
    lost = lw.Distribution.of_counts(
        [*[0] * 240, 1],
        lw.Interval(HOURS.low, HOURS.high, bins=240, unit="datetime", missing="bin"),
    )
    assert np.isnat(lost.sample(2, rng=1)).all()


@pytest.mark.parametrize("domain", [DAY, HOURS], ids=["time-of-day", "datetime"])
def test_what_is_answered_may_be_asked_again(domain: Any) -> None:
    some = lw.Distribution.of_counts(np.arange(domain.size) + 1, domain)
    probabilities = np.linspace(0, 1, 41)
    assert some.cdf(some.quantile(probabilities)) == pytest.approx(probabilities, abs=1e-9)
    assert some.cdf(some.quantile(0.3)) == pytest.approx(0.3, abs=1e-9)


def test_plain_numbers_stay_floats() -> None:
    some = lw.Distribution.of_counts(np.ones(10), PLAIN)
    assert type(some.mean()) is float and some.mean() == 50
    assert type(some.quantile(0.5)) is np.float64
    assert some.quantile([0.5]).dtype == some.sample(3, rng=1).dtype == np.float64
    found = decoded(PLAIN, [50.0] * 500)
    for ends in (found.mean_interval(), found.quantile_interval(0.5)):
        assert [type(end) for end in ends] == [float, float]
    assert in_numbers(found) is found


@pytest.mark.parametrize(
    ("domain", "values"),
    [(DAY, NOON), (QUARTERS, 20 * DATES), (HOURS, MOMENTS)],
    ids=lambda x: str(x)[:9],
)
def test_the_same_in_numbers(domain: Any, values: Any) -> None:
    some = decoded(domain, values)
    plain = in_numbers(some)
    assert plain.domain.unit == "number" and plain.guarantee == some.guarantee
    assert plain.mean() == some.cumulative.mean and type(plain.mean()) is float
    assert to_values(plain.sample(50, rng=3), domain).tolist() == some.sample(50, rng=3).tolist()
    assert (
        to_values(plain.quantile([0.1, 0.5]), domain).tolist() == some.quantile([0.1, 0.5]).tolist()
    )
    for ask in ("mean_interval", "quantile_interval"):
        arguments = (0.5,) if ask == "quantile_interval" else ()
        numbers, words = getattr(plain, ask)(*arguments), getattr(some, ask)(*arguments)
        assert words == tuple(to_values(end, domain) for end in numbers)
    assert isinstance(plain.difference(plain), Difference)


def test_days_that_no_calendar_reaches_stay_numbers() -> None:
    far = lw.Interval(0, 2e13, bins=2, unit="datetime")
    assert lw.Distribution.of_counts([1, 1], far).quantile(0.5) == 1e13


def test_raw_values_of_dates_are_no_numbers() -> None:
    with pytest.raises(DomainError, match="must be"):
        Cumulative.of_values(np.array(["2024-01-01"], dtype="M8[D]"))
    assert to_points(range(3), unit="number").tolist() == [0, 1, 2]
