"""A share is of exactly what was asked, and says of whom."""

import datetime
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.covariance import Covariance
from lapwing.results.rounding import percent
from lapwing.results.symbols import missing_share
from lapwing.results.uncertainty import Uncertainty


def on(domain: Any, values: list[Any]) -> lw.Distribution:
    return lw.Distribution.of_values(values, domain)


@pytest.mark.parametrize(
    ("domain", "held", "asked", "says"),
    [
        (lw.Interval(0, 100, bins=4), [10.0], 500, "from 0 to 100"),
        (lw.Interval(0, 100, bins=4), [10.0], -1, "from 0 to 100"),
        (lw.Interval(0, 100, bins=4, missing="bin"), [10.0], "zz", "the value of a share"),
        (lw.Interval(0, 100, bins=4), [10.0], None, "counts no missing values"),
        (lw.Integers(0, 9), [1], 10, "from 0 to 9"),
        (lw.Integers(0, 9), [1], 1.5, "whole number"),
        (lw.Categories(["red", "blue"], missing="category"), ["red"], "blu", "mean blue?"),
        (lw.Categories(["red", "o"], other="o"), ["red"], "A", "It is counted in 'o'"),
        (lw.Categories(["red", "o"], other="o"), ["red"], 7, "It is counted in 'o'"),
        (lw.Categories(8), [1], 8, "no label 8"),
        (lw.Categories(["1", "2"]), ["1"], 1, "no label 1"),
        (lw.Categories(["red"]), ["red"], datetime.date(2026, 1, 1), "no label a date"),
    ],
)
def test_what_is_no_symbol_is_not_answered(domain: Any, held: list[Any], asked: Any, says: str):
    result = on(domain, held)
    other = result.difference(result)
    for ask in (result.share, result.share_interval, other.share, other.share_interval):
        with pytest.raises(DomainError, match=says):
            ask(asked)


def test_what_is_a_symbol_is_answered() -> None:
    labels = on(lw.Categories(["red", 3, "o"], missing="category", other="o"), ["red", 3, None, 9])
    asked = ["red", 3, 3.0, np.int64(3), np.str_("red"), "o", None, float("nan")]
    assert [labels.share(each) for each in asked] == [0.25] * 8
    numbers = on(lw.Interval(0, 100, bins=4), [10.0, 30.0, 100.0])
    assert numbers.share(100) == numbers.share(30) == numbers.share(0) == pytest.approx(1 / 3)
    clock = on(lw.Interval("00:00", "24:00", bins=24, unit="time-of-day"), ["06:30"])
    assert clock.share("06:00") == 1 and clock.share("24:00") == 0
    assert on(lw.Categories(8), [7]).share(7) == 1


FACTOR = np.array([[0.01, 0.0], [-0.01, 0.02], [0.0, -0.02]])
"""Errors of three masses, whose sum has none."""


def with_error(domain: Any, mass: list[float]) -> lw.Distribution:
    noise = Covariance(np.zeros(3), FACTOR, np.ones(2))
    law = Uncertainty(np.array(mass), noise, np.zeros(3), np.array(mass), 1000, "given")
    return lw.Distribution(domain, np.array(mass), 1000, uncertainty=law)


@pytest.mark.parametrize(
    "domain",
    [lw.Categories(["a", "b"], missing="category"), lw.Interval(0, 2, bins=2, missing="bin")],
    ids=["labels", "numbers"],
)
def test_of_all_people_or_of_those_present(domain: Any) -> None:
    result = with_error(domain, [0.3, 0.5, 0.2])
    asked = "a" if not domain.ordered else 0.5
    assert result.share(asked) == pytest.approx(0.3)
    assert result.share(asked, among="present") == pytest.approx(0.375)
    # The gradient of a / (a + b) is (b, -a) / (a + b)^2.
    deviation = np.linalg.norm(np.array([0.5, -0.3]) @ FACTOR[:2]) / 0.8**2
    low, high = result.share_interval(asked, among="present", level=0.95) or (0, 0)
    assert (low, high) == pytest.approx(
        (0.375 - 1.959964 * deviation, 0.375 + 1.959964 * deviation)
    )
    assert result.share_interval(asked) == pytest.approx((0.3 - 0.01959964, 0.3 + 0.01959964))
    if domain.ordered:
        assert result.share(asked, among="present") == pytest.approx(result.probability(-1, 1))
        assert (low, high) == pytest.approx(result.probability_interval(-np.inf, 1))
    two = with_error(domain, [0.4, 0.5, 0.1])
    made = result.difference(two)
    assert made.share(asked, among="present") == pytest.approx(0.375 - 4 / 9)
    ends = made.share_interval(asked, among="present") or (0, 0)
    assert ends[0] < made.share(asked, among="present") < ends[1]
    assert ends != made.share_interval(asked)


def test_the_missing_share_has_its_interval() -> None:
    domain = lw.Interval(0, 2, bins=2, missing="bin")
    result = with_error(domain, [0.3, 0.5, 0.2])
    low, high = result.share_interval(None) or (0, 0)
    assert low < missing_share(result) < high
    assert f"20.0% of all people ({percent.interval(low, high)})" in result.summary()
    assert result.to_dict()["share_of_present"] == [pytest.approx(0.375), 0.625, None]
    for ask in (result.share, result.share_interval):
        with pytest.raises(ArgumentError, match="among='all'"):
            ask(None, among="present")
        with pytest.raises(ArgumentError, match="must be 'all' or 'present'"):
            ask(1, among="those")
    assert "share_of_present" not in on(lw.Integers(0, 2), [1]).to_dict()


def test_nobody_present() -> None:
    nobody = on(lw.Categories(["a"], missing="category"), [None])
    assert nobody.share("a") == 0
    assert nobody.to_dict()["share_of_present"] == [None, None]
    with pytest.raises(ArgumentError, match="missing values"):
        nobody.share("a", among="present")


def test_nested_questions_have_consistent_intervals() -> None:
    """At least x is no less than above x, and its interval reaches as far up."""
    domain = lw.Interval(0, 8, bins=8)
    center = np.array([0.3, 0.2, 0.1, 0.3, -0.1, 0.1, 0.05, 0.05])
    noise = Covariance(np.full(8, 0.01), np.zeros((8, 0)), np.zeros(0))
    law = Uncertainty(center, noise, np.zeros(8), center, 1000, "as it is")
    result = lw.Distribution(domain, np.full(8, 0.125), 1000, uncertainty=law)
    for x in range(1, 8):
        above = result.probability_interval(x, np.inf)
        least = result.probability_interval(x, np.inf, closed="both")
        assert above is not None and least is not None
        assert least[0] <= above[0] and above[1] <= least[1]
