"""Intervals of answers: what they hold by hand, how often they hold the truth, and what is refused.

Coverage is by simulation from a known column, with the linear band of an unbiased estimate, whose
law is exact; the false-alarm rate of each check stands beside it.
"""

import dataclasses
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lapwing import (
    Categories,
    Distribution,
    Integers,
    Interval,
    LeastSquares,
    RandomizedResponse,
    SquareWave,
    distances,
    simulate,
)
from lapwing.distances import kolmogorov_smirnov, range_query_error, wasserstein
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.covariance import Covariance
from lapwing.results import Cumulative, SignedEstimate
from lapwing.results.intervals import range_error_bounds
from lapwing.results.uncertainty import Band, Uncertainty, Variants
from tests.signed_decoder import projected, unbiased

STEADY = settings(deadline=None, max_examples=30, derandomize=True)


def known(mass: list[float], deviation: float = 0.0) -> Uncertainty:
    """Return a law with this center; two neighboring masses trade an error."""
    size = len(mass)
    factor = np.zeros((size, 1))
    factor[:2, 0] = deviation, -deviation
    return Uncertainty(
        np.array(mass),
        Covariance(np.zeros(size), factor, np.ones(1)),
        np.zeros(size),
        np.array(mass),
        1000,
        "by hand",
    )


def made(domain: Any, mass: list[float], deviation: float = 0.0) -> Distribution:
    return Distribution(domain, np.array(mass), 1000, uncertainty=known(mass, deviation))


def test_a_range_is_bounded_by_the_bins_in_it_and_those_it_touches() -> None:
    result = made(Interval(0, 4, bins=4, outside="refuse"), [0.1, 0.2, 0.3, 0.4])
    assert result.probability_interval(1, 3) == pytest.approx((0.5, 0.5))
    assert result.probability_interval(0.5, 3) == pytest.approx((0.5, 0.6))
    assert result.probability_interval(1.2, 1.4) == pytest.approx((0.0, 0.2))
    # The lowest value lies in the first bin, and is not above itself.
    assert result.probability_interval(0, 1, closed="right") == pytest.approx((0.0, 0.1))
    assert result.probability_interval(-1, 1) == pytest.approx((0.1, 0.1))
    assert result.probability_interval(-np.inf, np.inf) == pytest.approx((1, 1))
    assert result.probability_interval(2, 2) == (0, 0)
    with_atom = made(Interval(0, 2, bins=2, atoms=(1,), outside="refuse"), [0.1, 0.2, 0.7])
    assert with_atom.probability_interval(-1, 1) == pytest.approx((0.3, 0.3))
    assert with_atom.probability_interval(1, 2) == pytest.approx((0.7, 0.7))


def test_the_end_bins_of_clipped_values_are_open() -> None:
    """Nobody knows how far beyond the range those were who were moved to its ends."""
    result = made(Interval(0, 4, bins=4, outside="clip"), [0.1, 0.2, 0.3, 0.4])
    assert result.probability_interval(1, 3) == pytest.approx((0.5, 0.5))
    assert result.probability_interval(-1, 1) == pytest.approx((0.0, 0.1))
    assert result.probability_interval(3, 4) == pytest.approx((0.0, 0.4))
    assert result.probability_interval(4, np.inf) == pytest.approx((0.0, 0.4))
    assert result.probability_interval(-np.inf, 4) == pytest.approx((0.6, 1.0))
    assert result.probability_interval(3, np.inf) == pytest.approx((0.4, 0.4))
    assert result.quantile_interval(0.8) == (3, np.inf)
    assert result.quantile_interval(0.05) == (-np.inf, 1)


def test_bins_closed_on_the_left_say_less_at_their_edges() -> None:
    """Those who hold just 1 or just 3 stand in the bins that start there."""
    domain = Interval(0, 4, bins=4, closed="left", outside="refuse")
    result = made(domain, [0.1, 0.2, 0.3, 0.4])
    assert result.probability_interval(1, 3) == pytest.approx((0.5, 0.5))
    assert result.probability_interval(1, 3, closed="right") == pytest.approx((0.3, 0.9))
    assert result.probability_interval(-np.inf, 1, closed="right") == pytest.approx((0.1, 0.3))
    assert result.probability_interval(3, np.inf, closed="right") == pytest.approx((0.0, 0.4))
    assert result.probability_interval(3, np.inf) == pytest.approx((0.4, 0.4))
    assert result.probability_interval(-np.inf, 4) == pytest.approx((0.6, 1))
    assert result.probability_interval(-np.inf, 4, closed="both") == pytest.approx((1, 1))
    with_atom = made(dataclasses.replace(domain, high=2, bins=2, atoms=(1,)), [0.1, 0.2, 0.7])
    assert with_atom.probability_interval(-1, 1) == pytest.approx((0.1, 0.1))
    assert with_atom.probability_interval(-1, 1, closed="right") == pytest.approx((0.3, 0.3))
    assert with_atom.probability_interval(1, 2, closed="right") == pytest.approx((0.7, 0.7))


def test_intervals_by_hand() -> None:
    z = stats.norm.ppf(0.95)
    result = made(Interval(0, 3, bins=3), [0.5, 0.25, 0.25], deviation=0.01)
    low, high = result.probability_interval(-np.inf, 1, level=0.9) or (0, 0)
    assert (low, high) == pytest.approx((0.5 - 0.01 * z, 0.5 + 0.01 * z))
    assert result.share_interval(0.2, level=0.9) == pytest.approx((low, high))
    # The trade moves the mean by one bin for each of its masses.
    assert result.mean_interval(level=0.9) == pytest.approx((0.75 - 0.01 * z, 1.75 + 0.01 * z))
    middles = np.array([0.5, 1.5, 2.5])
    mean = 1.25
    variance = float(np.dot([0.5, 0.25, 0.25], (middles - mean) ** 2))
    spread = 0.01 * abs((0.5 - mean) ** 2 - (1.5 - mean) ** 2)
    expected = (
        (math.sqrt(variance - z * spread) - 0.5) ** 2,
        (math.sqrt(variance + z * spread) + 0.5) ** 2,
    )
    assert result.variance_interval(level=0.9) == pytest.approx(expected)
    band = result.confidence_band(0.9, kind="simultaneous")
    assert band is not None
    assert result.quantile_interval(0.6, level=0.9, kind="simultaneous") == band.quantile(0.6)


def test_whole_numbers_have_nothing_inside_them() -> None:
    result = made(Integers(0, 3), [0.1, 0.2, 0.3, 0.4])
    assert result.mean_interval() == pytest.approx((2.0, 2.0))
    assert result.variance_interval() == pytest.approx((1.0, 1.0))
    assert result.probability_interval(0.5, 2.5) == pytest.approx((0.5, 0.5))


@STEADY
@given(
    st.lists(st.floats(0, 1) | st.sampled_from([0, 0.25, 0.5, 1]), min_size=20, max_size=60),
    st.sampled_from([2, 3, 8]),
    st.sampled_from(["left", "right"]),
    st.sampled_from([(), (0,), (0.5, 0.7)]),
)
def test_without_noise_the_intervals_hold_wherever_values_are_in_their_bins(
    values: list[float], bins: int, closed: Any, atoms: tuple[float, ...]
) -> None:
    """The rule of all intervals, on raw values; a narrower interval would fail here."""
    domain = Interval(0, 1, bins=bins, closed=closed, atoms=atoms)
    empirical = Distribution.of_values(values, domain)
    result = made(domain, empirical.mass.tolist())
    slack = 1e-9
    low, high = result.mean_interval() or (1, 0)
    assert low - slack <= np.mean(values) <= high + slack
    low, high = result.variance_interval() or (1, 0)
    assert low - slack <= np.var(values) <= high + slack
    data = np.array(values)
    edges = domain.bin_edges.tolist()
    ranges = [*product([*edges, -np.inf], [*edges, np.inf]), (0.1, 0.35), (0.25, 0.7)]
    for start, stop in [(start, stop) for start, stop in ranges if start <= stop]:
        low, high = result.probability_interval(start, stop) or (1, 0)
        from_start = data >= start if closed == "left" else data > start
        to_stop = data < stop if closed == "left" and stop < np.inf else data <= stop
        assert low - slack <= np.mean(from_start & to_stop) <= high + slack


DOMAIN = Interval(0, 1, bins=16)
COUNTS = np.round(40_000 * stats.beta(2, 5).cdf(DOMAIN.bin_edges)).astype(np.int64)
COUNTS = np.diff(COUNTS)
WAVE = SquareWave(DOMAIN, 2)
DRAWS = 120
"""Tallies. An exact 95% interval covers Bin(120, .95): P(below 100) = 5e-7, so six checks
are wrong with 3e-6 in all. One of half the width covers 67%: P(at least 100) = 5e-5."""
LEAST = 100


def asked(result: Distribution) -> dict[str, tuple[float, float]]:
    found = {
        "range": result.probability_interval(0.25, 0.5),
        "tail": result.probability_interval(0.5, np.inf),
        "share": result.share_interval(0.2),
        "mean": result.mean_interval(),
        "variance": result.variance_interval(),
        "median": result.quantile_interval(0.5),
    }
    assert all(interval is not None for interval in found.values())
    return {name: interval for name, interval in found.items() if interval is not None}


@pytest.fixture(scope="module")
def intervals() -> dict[str, np.ndarray]:
    """Intervals of many simulated tallies of one column: float64 [draws, 2] by name."""
    found: dict[str, list[tuple[float, float]]] = {}
    rng = np.random.default_rng(20)
    for _ in range(DRAWS):
        estimate = unbiased(WAVE.channel, simulate(WAVE, COUNTS, rng=rng))
        for name, interval in asked(projected(estimate)).items():
            found.setdefault(name, []).append(interval)
    return {name: np.array(rows) for name, rows in found.items()}


def truth() -> dict[str, float]:
    """The binned truth: its mean may be anywhere the bins allow, so the middle one is taken."""
    result = Distribution.of_counts(COUNTS, DOMAIN)
    return {
        "range": result.probability(0.25, 0.5),
        "tail": result.probability(0.5, np.inf),
        "share": result.share(0.2),
        "mean": result.mean(),
        "variance": result.variance(),
        "median": float(result.quantile(0.5)),
    }


@pytest.mark.parametrize("name", truth())
def test_intervals_hold_the_truth_as_often_as_they_say(
    intervals: dict[str, np.ndarray], name: str
) -> None:
    low, high = intervals[name].T
    assert ((low <= truth()[name]) & (truth()[name] <= high)).sum() >= LEAST


@pytest.mark.parametrize("name", ["range", "tail", "share"])
def test_an_interval_at_edges_is_not_wider_than_needed(
    intervals: dict[str, np.ndarray], name: str
) -> None:
    """Between edges nothing is added, so these are exact, and half of one must fail."""
    low, high = intervals[name].T
    true = truth()[name]
    middle, reach = (low + high) / 2, (high - low) / 4
    assert ((middle - reach <= true) & (true <= middle + reach)).sum() < LEAST


def test_without_an_error_law_there_is_no_interval() -> None:
    result = Distribution.of_counts([1, 2], Interval(0, 1, bins=2))
    assert result.probability_interval(0, 1) is None and result.share_interval(0.1) is None
    assert result.mean_interval() is None and result.variance_interval() is None
    assert result.quantile_interval(0.5) is None and distances.range_error_bounds(result) is None


@pytest.mark.parametrize("level", [0, 1, -1, 2, float("nan")])
def test_illegal_levels_are_refused(level: float) -> None:
    result = made(Interval(0, 1, bins=2), [0.5, 0.5], deviation=0.1)
    for ask in (
        lambda: result.probability_interval(0, 1, level=level),
        lambda: result.share_interval(0.1, level=level),
        lambda: result.mean_interval(level=level),
        lambda: result.variance_interval(level=level),
        lambda: result.quantile_interval(0.5, level=level),
        lambda: distances.range_error_bounds(result, level=level),
    ):
        with pytest.raises(ArgumentError, match="level"):
            ask()


def test_illegal_questions_are_refused() -> None:
    result = made(Interval(0, 1, bins=2), [0.5, 0.5], deviation=0.1)
    for low, high in ((0.5, 0.2), (float("nan"), 1)):
        with pytest.raises(ArgumentError, match="a range must"):
            result.probability_interval(low, high)
    with pytest.raises(ArgumentError, match="target"):
        result.mean_interval(target="all")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="probability"):
        result.quantile_interval(1.5)
    for width in (0, 1, -0.1, float("nan")):
        with pytest.raises(ArgumentError, match="width"):
            distances.range_error_bounds(result, width=width)


def test_labels_have_intervals_of_shares_only() -> None:
    response = RandomizedResponse(Categories(["a", "b", "c"]), 2)
    result = LeastSquares().decode(response.channel, simulate(response, [900, 500, 100], rng=1))
    assert isinstance(result, Distribution)
    low, high = result.share_interval("b") or (1, 0)
    band = result.confidence_band()
    assert band is not None
    assert (low, high) == pytest.approx((band.low[1], band.high[1]))
    for ask in (
        result.mean_interval,
        result.variance_interval,
        lambda: distances.range_error_bounds(result),
        lambda: result.quantile_interval(0.5),
        lambda: result.probability_interval(0, 1),
    ):
        with pytest.raises(DomainError, match="no order"):
            ask()
    assert result.atoms == ()


def test_missing_values_widen_what_is_said_of_those_present() -> None:
    domain = Integers(0, 2, missing="bin")
    response = RandomizedResponse(domain, 2)
    result = LeastSquares().decode(
        response.channel, simulate(response, [300, 200, 100, 400], rng=1)
    )
    assert isinstance(result, Distribution)
    for interval in (result.mean_interval(), result.probability_interval(0, 1)):
        assert interval is not None and interval[0] < interval[1]
    assert result.share_interval(None) is not None


def test_a_signed_estimate_has_intervals_of_ranges() -> None:
    estimate = unbiased(WAVE.channel, simulate(WAVE, COUNTS, rng=1))
    assert isinstance(estimate, SignedEstimate)
    low, high = estimate.probability_interval(0.25, 0.5) or (1, 0)
    assert low < estimate.probability(0.25, 0.5) < high


# Range queries.


@st.composite
def curves(draw: st.DrawFn) -> tuple[Cumulative, Cumulative]:
    """Two curves on bins, some of them with atoms between."""
    domain = Interval(0, 1, bins=6, atoms=draw(st.sampled_from([(), (0.3,), (0.0, 1.0)])))
    weights = st.lists(st.integers(0, 9), min_size=domain.size, max_size=domain.size)
    made = [
        Distribution.of_counts(draw(weights.filter(lambda w: sum(w) > 0)), domain).cumulative
        for _ in range(2)
    ]
    return made[0], made[1]


def brute(first: Cumulative, second: Cumulative, grid: int) -> tuple[float, float]:
    """Return the average over all pairs of ends on a grid, and the worst, of the range errors."""
    points = (np.arange(grid) + 0.5) / grid
    gap = np.asarray(first.at(points) - second.at(points))
    errors = np.abs(gap[:, None] - gap[None, :])
    return float(errors.mean()), float(errors.max())


@settings(deadline=None, max_examples=100, derandomize=True)
@given(curves())
def test_range_errors_are_at_most_twice_the_distances(pair: tuple[Cumulative, Cumulative]) -> None:
    first, second = pair
    distance, largest = wasserstein(first, second), kolmogorov_smirnov(first, second)
    average, worst = brute(first, second, 400)
    assert average <= 2 * distance + 0.01 and worst <= 2 * largest + 1e-9
    for width in (0.1, 0.4, 0.6):
        error = range_query_error(first, second, width=width, grid=2000)
        factor = 2.0 if width < 0.5 else 1.0
        assert error <= factor * distance / (1 - width) + 0.01


def test_the_average_over_one_width_can_exceed_twice_the_distance() -> None:
    """Why the bound of one width needs its divisor: with 2 W1 alone this fails."""
    edges = np.linspace(0, 1, 11)
    one = Cumulative(edges[:-1], edges[1:], np.eye(10)[4] * 0.5 + np.eye(10)[5] * 0.5)
    two = Cumulative(edges[:-1], edges[1:], np.eye(10)[3] * 0.5 + np.eye(10)[6] * 0.5)
    error = range_query_error(one, two, width=0.3, grid=4000)
    distance = wasserstein(one, two)
    assert 2 * distance < error <= 2 * distance / 0.7 + 1e-3


@STEADY
@given(curves(), st.floats(0.001, 0.2))
def test_the_bounds_hold_for_every_truth_in_the_band(
    pair: tuple[Cumulative, Cumulative], reach: float
) -> None:
    curve, other = pair
    # The band must hold the other curve at the knots: that is all that is known of it.
    gap = float(np.abs(curve.sums - other.sums).max()) + reach
    low, high = np.clip(other.sums - gap, 0, 1), np.clip(other.sums + gap, 0, 1)
    band = Band(curve.right, curve.left, low, high, 0.95, "simultaneous", "empirical", "by hand")
    bounds = range_error_bounds(curve, band, width=None)
    average, worst = brute(curve, other, 300)
    assert average <= bounds.average + 0.01 and worst <= bounds.worst + 1e-9
    for width in (0.2, 0.7):
        error = range_query_error(curve, other, width=width, grid=1000)
        assert error <= range_error_bounds(curve, band, width=width).average + 0.01


def test_bounds_of_whole_numbers_and_of_no_error() -> None:
    exact = distances.range_error_bounds(made(Interval(0, 1, bins=4), [0.25] * 4))
    # What is inside the bins is not known: a quarter may sit at either end of each.
    assert exact is not None and exact.average == pytest.approx(0.5) and exact.worst == 0.5
    whole = distances.range_error_bounds(made(Integers(0, 3), [0.25] * 4))
    assert whole is not None and whole == pytest.approx((0, 0), abs=1e-12)


def test_the_law_for_a_question_is_about_its_target() -> None:
    result = made(Interval(0, 1, bins=2), [0.5, 0.5], deviation=0.001)
    near, far = result.mean_interval(), result.mean_interval(target="population")
    assert near is not None and far is not None and far[1] - far[0] > near[1] - near[0]
    variant = known([0.4, 0.6], 0.01)
    law = dataclasses.replace(known([0.5, 0.5]), variants=Variants(population_simultaneous=variant))
    moved = dataclasses.replace(result, uncertainty=law)
    interval = moved.probability_interval(-np.inf, 0.5, target="population")
    z = stats.norm.ppf(0.975)
    # Up to the estimate, which this law does not hold.
    assert 0.4 + 0.01 * z < 0.5 and interval == pytest.approx((0.4 - 0.01 * z, 0.5))
