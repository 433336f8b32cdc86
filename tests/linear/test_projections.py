"""The simplex projection is Norm-Sub, exact also where naive versions overflow or cancel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapwing.linear.projections import grouped_simplex, simplex


def norm_sub(point: np.ndarray) -> np.ndarray:
    """Return the answer of the published loop: lower what is positive, drop what falls below."""
    kept = np.ones(point.size, dtype=bool)
    while True:
        lowered = np.zeros(point.size)
        lowered[kept] = point[kept] + (1 - point[kept].sum()) / kept.sum()
        falling = kept & (lowered <= 0)
        if not falling.any():
            return lowered
        kept &= ~falling


finite = arrays(np.float64, st.integers(1, 40), elements=st.floats(-3, 3, width=32))


@given(finite)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_simplex_is_norm_sub(point: np.ndarray) -> None:
    np.testing.assert_allclose(simplex(point), norm_sub(point), atol=1e-12)


@given(finite, st.floats(0.1, 50))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_nearest_point_by_its_conditions(point: np.ndarray, total: float) -> None:
    """Nearest: what is kept is lowered by one amount, which would push the rest below zero."""
    for weights in (None, np.linspace(0.5, 2, point.size)):
        nearest = simplex(point, weights=weights, total=total)
        assert nearest.min() >= 0 and nearest.sum() == pytest.approx(total, rel=1e-12)
        pull = (point - nearest) * (1 if weights is None else weights)
        kept = nearest > 1e-9
        level = pull[kept].mean()
        np.testing.assert_allclose(pull[kept], level, atol=1e-9)
        assert (pull[~kept] <= level + 1e-9).all()


@given(finite, st.integers(1, 5), st.floats(-0.999, 20))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_nearest_point_with_a_price_on_the_sums_of_groups(
    point: np.ndarray, groups: int, shared: float
) -> None:
    """By its conditions: all that is positive has one slope, and the rest no smaller one."""
    group = np.arange(point.size) * 7 % groups
    if shared < 0:
        shared /= np.bincount(group).max()
    nearest = grouped_simplex(point, group, shared=shared)
    assert nearest.min() >= 0 and nearest.sum() == pytest.approx(1, rel=1e-12)
    slope = nearest - point + shared * np.bincount(group, nearest)[group]
    kept = nearest > 1e-9
    np.testing.assert_allclose(slope[kept], slope[kept].mean(), atol=1e-9)
    assert (slope[~kept] >= slope[kept].mean() - 1e-9).all()
    if shared == 0:
        np.testing.assert_allclose(nearest, simplex(point), atol=1e-12)


def test_groups_without_a_price_are_no_groups() -> None:
    rng = np.random.default_rng(1)
    for noise in (1e-3, 1.0, 1e6):
        point = noise * rng.normal(size=1000)
        found = grouped_simplex(point, rng.integers(0, 30, 1000), shared=0.0)
        np.testing.assert_allclose(found, simplex(point), atol=1e-9)


def test_estimates_of_a_thousand_symbols() -> None:
    rng = np.random.default_rng(1)
    for noise in (1e-6, 1e-3, 0.1, 10.0):
        point = rng.dirichlet(np.ones(1000)) + noise * rng.normal(size=1000)
        np.testing.assert_allclose(simplex(point), norm_sub(point), atol=1e-12)


def test_huge_inputs_do_not_overflow_or_cancel() -> None:
    one = simplex(np.array([1e300, -1e300, 1e299]))
    assert one.tolist() == [1, 0, 0]
    far = simplex(1e15 + np.array([0.25, 0.5, 0.0]))
    # 1e15 has an eighth as its last digit: the differences are exact, and so is the answer.
    np.testing.assert_allclose(far, simplex(np.array([0.25, 0.5, 0.0])), atol=1e-12)
    assert simplex(np.array([-1e308, -1e308])).tolist() == [0.5, 0.5]
    assert simplex(np.full(5, -1e20)).tolist() == [0.2] * 5


def test_points_of_the_simplex_stay() -> None:
    rng = np.random.default_rng(2)
    mass = rng.dirichlet(np.ones(50))
    np.testing.assert_allclose(simplex(mass), mass, atol=1e-16)
    assert simplex(np.array([7.0])).tolist() == [1.0]
