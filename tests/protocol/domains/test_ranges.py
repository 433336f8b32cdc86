"""Ranges hold and touch the symbols that brute force over values finds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing import Integers, Interval
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import Closed, symbol_places, to_spans, touched
from tests.rows import each

LINE = Interval(0, 4, bins=4, outside="clip")
CIRCLE = Interval(0, 4, bins=4, circular=True)

DOMAINS: dict[str, Domain] = {
    "line": LINE,
    "line, closed left": replace(LINE, closed="left"),
    "atoms": replace(LINE, atoms=(0, 1.5, 2, 4)),
    "atoms, closed left": replace(LINE, atoms=(0, 1.5, 2, 4), closed="left"),
    "an atom at the lower end": replace(LINE, atoms=(0,), closed="left"),
    "refused": replace(LINE, outside="refuse", missing="bin"),
    "refused, closed left": replace(LINE, outside="refuse", closed="left"),
    "overflow": replace(LINE, outside="overflow", missing="bin"),
    "overflow, closed left": replace(LINE, outside="overflow", closed="left"),
    "overflow, atoms": replace(LINE, outside="overflow", atoms=(0, 2, 4)),
    "overflow, atoms, closed left": replace(
        LINE, outside="overflow", atoms=(0, 2, 4), closed="left"
    ),
    "edges": Interval(edges=[0, 1, 4]),
    "whole numbers": Integers(0, 4),
    "whole numbers from 1": Integers(1, 4),
    "whole numbers, refused": Integers(0, 4, outside="refuse"),
    "circle": CIRCLE,
    "circle, closed right": replace(CIRCLE, closed="right"),
    "circle with an atom": replace(CIRCLE, atoms=(0, 2)),
}

POINTS = (-math.inf, -1, 0, 0.5, 1, 1.5, 2, 3, 4, 5, math.inf)
CLOSED: tuple[Closed, ...] = ("left", "right", "both", "neither")


def every_value(domain: Domain) -> np.ndarray:
    """Return values on both sides of every point, and at it, that the domain counts."""
    marks = [point for point in POINTS if math.isfinite(point)]
    values = [*marks, *(math.nextafter(m, way) for m in marks for way in (-math.inf, math.inf))]
    if isinstance(domain, Integers):
        values = list(range(0 if domain.low == 0 else -2, 7))  # whole numbers from 0 are counts
    elif not domain.circular:
        values += [-1e300, 1e300]
    if domain.circular or domain.outside == "refuse":  # type: ignore[attr-defined]
        top = domain.right[-1]
        values = [v for v in values if 0 <= v < top or (v == top and not domain.circular)]
    return np.array(values, dtype=np.float64)


@cache
def values_and_symbols(domain: Domain) -> tuple[np.ndarray, np.ndarray]:
    values = every_value(domain)
    return values, domain.index(values)


def on_a_circle(value: float, low: float, high: float, closed: Closed) -> bool:
    """Return whether who goes from low to high, around 4 hours, passes a value."""
    way = Fraction(high) - Fraction(low)
    reached = (Fraction(value) - Fraction(low)) % 4
    if way >= 4:
        return way > 4 or reached > 0 or closed != "neither"
    way %= 4
    if reached == 0 or reached == way:
        ends = (closed in ("left", "both"), closed in ("right", "both"))
        return all(ends) if way == 0 else ends[int(reached > 0)]
    return reached < way


def by_brute_force(
    domain: Domain, low: float, high: float, closed: Closed
) -> tuple[np.ndarray, np.ndarray]:
    """Return which symbols hold only, and which some, values that satisfy the question."""
    values, symbols = values_and_symbols(domain)
    if domain.circular and math.isfinite(low) and math.isfinite(high):
        asked = np.array([on_a_circle(value, low, high, closed) for value in values])
    else:
        above = values > low if closed in ("right", "neither") else values >= low
        below = values < high if closed in ("left", "neither") else values <= high
        asked = above | below if domain.circular and low > high else above & below
    numbers = range(domain.left.size)
    assert set(symbols.tolist()) >= set(numbers)
    whole = [bool(asked[symbols == number].all()) for number in numbers]
    some = [bool(asked[symbols == number].any()) for number in numbers]
    return np.array(whole), np.array(some)


@each("name, domain", list(DOMAINS.items()))
def test_a_range_is_what_brute_force_finds(name: str, domain: Domain) -> None:
    for low, high in itertools.product(POINTS, repeat=2):
        if low == high and math.isinf(low):
            continue
        if low > high and not domain.circular:
            continue
        for closed in CLOSED:
            if domain.circular and domain.closed == "right" and math.isinf(low - high):
                continue  # an open end begins after the point where that circle closes
            found = touched(domain, to_spans(low, high, domain, closed))
            whole, some = by_brute_force(domain, low, high, closed)
            asked = f"{low} to {high}, closed {closed}"
            assert found.whole.tolist() == whole.tolist(), asked
            assert found.some.tolist() == some.tolist(), asked


@each("name, domain", list(DOMAINS.items()))
def test_the_places_of_symbols_follow_one_another(name: str, domain: Domain) -> None:
    starts, stops = symbol_places(domain)
    here = list(zip(stops.points[:-1], ~stops.before[:-1], strict=True))
    after = list(zip(starts.points[1:], ~starts.before[1:], strict=True))
    assert all(one <= other for one, other in zip(here, after, strict=True))
    if not isinstance(domain, Integers):
        assert here == after


def test_the_side_is_that_of_the_domain() -> None:
    for domain in (LINE, replace(LINE, closed="left")):
        own = touched(domain, to_spans(1, 3, domain))
        said = touched(domain, to_spans(1, 3, domain, domain.closed))
        assert own.whole.tolist() == said.whole.tolist() == own.some.tolist()
        assert own.whole.sum() == 2


def test_midnight_is_inside() -> None:
    day = Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)
    (night,) = (touched(day, to_spans("22:00", "02:00", day)),)
    assert np.flatnonzero(night.whole).tolist() == [0, 1, 22, 23]
    assert night.some.tolist() == night.whole.tolist()


@each(
    "low, high, closed, share",
    [
        ("22:30", "24:00", "both", (0.6, 1)),
        ("22:30", "00:00", "both", (0.6, 1)),
        ("22:30", "24:00", "left", (0.6, 0.6)),
        ("00:00", "24:00", "neither", (0.6, 1)),
        ("00:00", "24:00", "left", (1, 1)),
        ("24:00", "06:00", "neither", (0, 0.4)),
        ("24:00", "24:00", "both", (0, 0.4)),
    ],
)
def test_midnight_is_one_point(low: str, high: str, closed: Closed, share: Any) -> None:
    """Of 400 at 00:00 and 600 at 23:01: the bin that holds midnight may lie in or out."""
    day = Interval("00:00", "24:00", bins=48, unit="time-of-day", circular=True)
    mass = np.zeros(48)
    mass[[0, 46]] = 0.4, 0.6
    found = touched(day, to_spans(low, high, day, closed))
    assert (mass[found.whole].sum(), mass[found.some].sum()) == pytest.approx(share)


def test_a_month_of_dates_ends_before_the_next() -> None:
    year = Interval("2026-01-01", "2027-01-01", bins=365, unit="date", outside="overflow")
    january = touched(year, to_spans("2026-01-01", "2026-02-01", year))
    assert january.whole.sum() == january.some.sum() == 31
    with_first = touched(year, to_spans("2026-01-01", "2026-02-01", year, "both"))
    assert with_first.whole.sum() == 32


def test_a_wrong_range_is_named() -> None:
    with pytest.raises(ArgumentError, match="a range must begin before it ends, got 3 and 1"):
        to_spans(3, 1, LINE)
    with pytest.raises(
        ArgumentError, match="closed must be 'left', 'right', 'both' or 'neither', got 'up'"
    ):
        to_spans(1, 3, LINE, "up")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="one low and one high end"):
        to_spans([1, 2], 3, LINE)
    with pytest.raises(lw.LapwingError, match="low"):
        to_spans("soon", 3, LINE)
