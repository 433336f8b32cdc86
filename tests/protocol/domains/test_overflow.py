"""Values outside an interval have two symbols of their own, below and above."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import lapwing as lw
from lapwing import Interval
from lapwing.errors import DomainError
from lapwing.registry import HOMES
from tests.rows import each

ROUND = Interval(0, 1, bins=40, outside="overflow")

DOMAINS = {
    "closed on the right": ROUND,
    "closed on the left": replace(ROUND, closed="left"),
    "atoms at both ends": replace(ROUND, atoms=(0, 1), missing="bin"),
    "atoms at both ends, closed on the left": replace(ROUND, atoms=(0, 1), closed="left"),
    "an atom at the end that is open": replace(ROUND, atoms=(0.5, 1), closed="left"),
    "a logarithmic scale": Interval(1, 1000, bins=6, scale="log", outside="overflow"),
    "edges": Interval(edges=[0, 18, 65, 100], outside="overflow", missing="bin"),
    "dates": Interval("2026-01-01", "2027-01-01", bins=365, unit="date", outside="overflow"),
}


def by_definition(domain: Interval, value: float) -> int:
    """Return the symbol of a value as the definition says it, one comparison after another."""
    last = domain.left.size - 1
    assert domain.below_index == 0
    assert domain.above_index == last
    if value < domain.low:
        return 0
    at_high = value == domain.high and domain.closed == "left" and domain.high not in domain.atoms
    if value > domain.high or at_high:
        return last
    inner = range(1, last)
    for symbol in inner:
        if domain.left[symbol] == domain.right[symbol] == value:
            return symbol
    for symbol in inner:
        left, right = domain.left[symbol], domain.right[symbol]
        within = left <= value < right if domain.closed == "left" else left < value <= right
        if within:
            return symbol
    (first,) = [symbol for symbol in inner if domain.left[symbol] == value][:1]
    return first


@each("name, domain", list(DOMAINS.items()))
def test_a_value_is_where_the_definition_says(name: str, domain: Interval) -> None:
    edges = np.concatenate([domain.bin_edges, domain.atoms])
    values = np.concatenate(
        [edges, np.nextafter(edges, -math.inf), np.nextafter(edges, math.inf), [-1e300, 1e300]]
    )
    values = np.append(values, [-math.inf, math.inf, domain.low - 1, domain.high + 1, 0, -1])
    expected = [by_definition(domain, value) for value in values.tolist()]
    assert domain.index(values).tolist() == expected


@each("name, domain", list(DOMAINS.items()))
def test_the_two_have_no_width_and_stand_at_the_ends(name: str, domain: Interval) -> None:
    assert domain.left[0] == domain.right[0] == domain.low
    assert domain.left[-1] == domain.right[-1] == domain.high
    assert domain.outside_indices == [0, domain.left.size - 1]
    clipped = replace(domain, outside="clip")
    assert domain.size == clipped.size + 2
    assert domain.bins == clipped.bins
    np.testing.assert_array_equal(domain.left[1:-1], clipped.left)
    np.testing.assert_array_equal(domain.right[1:-1], clipped.right)
    if domain.missing_index is not None:
        assert domain.missing_index == domain.size - 1 == domain.left.size
        assert domain.index([None, math.nan]).tolist() == [domain.missing_index] * 2


@each("name, domain", list(DOMAINS.items()))
def test_inside_nothing_changes(name: str, domain: Interval) -> None:
    values = np.random.default_rng(1).uniform(domain.low, domain.high, 1000)
    inside = replace(domain, outside="clip").index(values)
    np.testing.assert_array_equal(domain.index(values), inside + 1)


def test_a_circle_has_no_outside() -> None:
    with pytest.raises(DomainError, match="a circle has no outside, because values wrap"):
        Interval(0, 1, bins=64, circular=True, outside="overflow")


@each("declared, curated", [("refuse", "overflow"), ("clip", "clip"), ("overflow", "overflow")])
def test_a_curator_refuses_nothing(declared: str, curated: str) -> None:
    domain = Interval(0, 1, bins=4, outside=declared)  # type: ignore[call-overload]
    assert domain.for_curator().outside == curated
    assert domain.for_curator().missing == "bin"


def test_a_document_says_so_and_comes_back() -> None:
    document = ROUND.to_document()
    assert document["outside"] == "overflow"
    survey = lw.Survey("income", lw.SquareWave(ROUND, 1))
    assert lw.Survey.from_document(survey.to_document()).randomizer.domain == ROUND
    clipped = lw.Survey("income", lw.SquareWave(replace(ROUND, outside="clip"), 1))
    assert clipped.fingerprint != survey.fingerprint


PAPERS = ["Wavelet", "Hierarchical", "HaarHadamard", "Piecewise"]


@each(
    "name, options",
    [
        *((name, {}) for name in PAPERS),
        ("GeneralWave", {"ratio": 0.5}),
        ("StochasticRounding", {}),
        ("SquareWave", {"grid": 80}),
    ],
)
def test_methods_for_bins_alone_say_so(name: str, options: dict[str, int]) -> None:
    method = getattr(import_module(HOMES.get(name, "lapwing.randomizers")), name)
    with pytest.raises(DomainError, match=r"works with bins only.*eclare outside='clip'"):
        method(ROUND, 1, **options)
    method(replace(ROUND, outside="clip"), 1, **options)
