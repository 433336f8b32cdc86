"""Ranges that hold nothing, go beyond a circle or end in the same day."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError

CIRCLE = lw.Interval(-180, 180, bins=36, circular=True)
EVEN = lw.Distribution.of_counts(np.ones(36), CIRCLE)


@pytest.mark.parametrize(
    ("low", "high", "bins"),
    [
        *((-10, 10, 2), (170, 190, 2), (180, 190, 1), (190, 200, 1), (170, -170, 2)),
        *((90, 450, 36), (-180, 180, 36), (-500, 500, 36), (350, 370, 2), (0, 0, 0)),
    ],
)
def test_the_ends_of_a_range_wrap_as_values_do(low: float, high: float, bins: int) -> None:
    assert EVEN.probability(low, high) == pytest.approx(bins / 36)


def test_values_beyond_a_circle_are_in_the_ranges_that_name_them() -> None:
    result = lw.Distribution.of_values(np.full(10, 185.0), CIRCLE)
    assert result.probability(180, 190) == 1
    assert result.probability(-180, -170) == 1
    assert result.probability(170, 180) == 0


@pytest.mark.parametrize("outside", ["clip", "overflow", "refuse"])
def test_a_range_without_a_value_has_nobody(outside: str) -> None:
    domain = lw.Interval(0, 100, bins=8, atoms=[50], outside=outside)
    result = lw.Distribution.of_counts(np.ones(domain.size), domain)
    assert result.probability(50, 50, closed="neither") == 0
    assert result.probability(50, 50, closed="both") == pytest.approx(1 / domain.size)


def test_two_whole_numbers_have_none_between_them() -> None:
    result = lw.Distribution.of_counts(np.ones(6), lw.Integers(0, 5))
    assert result.probability(2, 2, closed="neither") == 0
    assert result.probability(2, 3, closed="neither") == 0
    assert result.probability(2, 4, closed="neither") == pytest.approx(1 / 6)


@pytest.mark.parametrize("circular", [False, True])
def test_nobody_is_above_and_below_one_day(circular: bool) -> None:
    year = lw.Interval("2026-01-01", "2027-01-01", bins=365, unit="date", circular=circular)
    result = lw.Distribution.of_counts(np.ones(365), year)
    day = "2026-03-01"
    assert result.probability(day, day, closed="neither") == 0
    assert result.probability(day, day, closed="both") == pytest.approx(1 / 365)
    if circular:
        assert result.probability("2026-12-31", "2026-01-02") == pytest.approx(2 / 365)
    else:
        with pytest.raises(ArgumentError, match="got 2026-03-05 and 2026-03-01"):
            result.probability("2026-03-05", day)


def test_the_density_at_an_end_knows_nothing_of_people_outside() -> None:
    domain = lw.Interval(0, 1000, bins=10, outside="overflow")
    result = lw.Distribution.of_counts(np.ones(12), domain)
    assert result.pdf([-1, 0, 500, 1000, 1001]).tolist() == pytest.approx(
        [0, 1 / 1200, 1 / 1200, 1 / 1200, 0]
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        lw.papers.functional_approximation.PolynomialProjection(),
        lw.papers.functional_approximation.MatchingPursuit(),
        lw.papers.functional_approximation.AdaptiveQuantiles(),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_what_smears_a_cliff_refuses_symbols_outside(mechanism: lw.mechanisms.Mechanism) -> None:
    domain = lw.Interval(0, 100, bins=64, outside="overflow")
    with pytest.raises(DomainError, match="Declare outside='clip'"):
        lw.release(
            [1.0] * 100,
            domain,
            mechanism=mechanism,
            epsilon=1,
            delta=1e-6,
            neighbors="replace-one",
            rng=lw.seeded(1),
        )
