"""CDFs that are linear in bins and step at atoms."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate

from lapwing.errors import ArgumentError
from lapwing.results import Cumulative

STEADY = settings(deadline=None, max_examples=40, derandomize=True)


@st.composite
def curves(draw: st.DrawFn, *, atoms: bool = True) -> Cumulative:
    """Touching bins, some of them empty, with atoms between them."""
    widths = draw(st.lists(st.sampled_from([0.25, 0.5, 1.0, 3.0]), min_size=1, max_size=8))
    ends = np.concatenate([[draw(st.integers(-3, 3))], widths]).cumsum()
    pieces = list(pairwise(ends))
    if atoms:
        chosen = draw(st.lists(st.sampled_from(ends.tolist()), max_size=3, unique=True))
        pieces = sorted(
            [*pieces, *((x, x) for x in chosen)], key=lambda piece: (piece[0], piece[1])
        )
    weights = draw(st.lists(st.integers(0, 9), min_size=len(pieces), max_size=len(pieces)))
    assume(sum(weights) > 0)
    left, right = np.array(pieces).T
    return Cumulative(left, right, np.array(weights) / sum(weights))


def by_hand(curve: Cumulative, x: float, *, before: bool = False) -> float:
    """P(value <= x), or P(value < x), piece by piece."""
    total = 0.0
    for left, right, mass in zip(curve.left, curve.right, curve.mass, strict=True):
        if left == right:
            total += mass * (left < x if before else left <= x)
        else:
            total += mass * min(max((x - left) / (right - left), 0.0), 1.0)
    return total


@STEADY
@given(curves(), st.lists(st.floats(-5, 30), max_size=10))
def test_the_cdf_is_the_sum_over_the_pieces(curve: Cumulative, points: list[float]) -> None:
    at = np.array([*points, *curve.left, *curve.right])
    assert curve.at(at) == pytest.approx([by_hand(curve, x) for x in at], abs=1e-14)
    expected = [by_hand(curve, x, before=True) for x in at]
    assert curve.before(at) == pytest.approx(expected, abs=1e-14)
    assert np.all(np.diff(curve.at(np.sort(at))) >= -1e-15)
    assert curve.at(curve.left[0] - 1e-9) == 0
    assert curve.at(curve.right[-1]) == pytest.approx(1, abs=1e-15)


@STEADY
@given(curves(atoms=False), st.lists(st.floats(0, 1), max_size=10))
def test_the_quantile_inverts_a_continuous_cdf(curve: Cumulative, levels: list[float]) -> None:
    # A quantile takes sums that differ by at most 1e-12, which is rounding, for one.
    p = np.array([0, 1, *levels])
    assert curve.at(curve.quantile(p)) == pytest.approx(p, abs=1.01e-12)


@STEADY
@given(curves(), st.lists(st.floats(0, 1), max_size=10))
def test_a_quantile_is_the_smallest_point_that_reaches_p(
    curve: Cumulative, levels: list[float]
) -> None:
    p = np.array([1e-9, 1, *levels, *curve.sums[curve.sums <= 1]])
    x = curve.quantile(p)
    assert np.all(curve.at(x) >= p - 1e-12)
    # Anything noticeably smaller does not reach p, except at the lower end of the line.
    short = curve.at(x - 1e-6) < p + 1e-12
    assert np.all(short | (x <= curve.left[0]) | (p <= 1e-12))
    assert curve.quantile(0) == curve.left[0]
    last = np.flatnonzero(curve.mass > 0)[-1]
    assert curve.quantile(1.0) == pytest.approx(curve.right[last], abs=1e-13)
    assert np.all(np.diff(curve.quantile(np.sort(p))) >= -1e-13)


@pytest.mark.parametrize("p", [-0.01, 1.01, np.nan, [0.5, 2]])
def test_a_probability_is_between_0_and_1(p: float) -> None:
    with pytest.raises(ArgumentError, match="at least 0 and at most 1"):
        Cumulative.of_values([1, 2]).quantile(p)


@STEADY
@given(curves())
def test_moments_against_quadrature(curve: Cumulative) -> None:
    low, high = curve.left[0], curve.right[-1]
    points = np.unique([*curve.left, *curve.right])

    def integral(function: object) -> float:
        return sum(integrate.fixed_quad(function, a, b, n=6)[0] for a, b in pairwise(points))

    # E[X] = high - integral F,  E[X^2] = high^2 - integral 2 x F.
    mean = high - integral(curve.at)
    second = high**2 - integral(lambda x: 2 * x * curve.at(x))
    assert curve.mean == pytest.approx(mean, abs=1e-10)
    assert curve.variance == pytest.approx(second - mean**2, abs=1e-9)
    assert low - 1e-12 <= curve.mean <= high + 1e-12
    for order in range(6):
        # By parts: E[X^k] = high^k - integral of k x^(k-1) F.
        raised = integral(lambda x, k=order: k * x ** max(k - 1, 0) * curve.at(x))
        assert curve.moment(order) == pytest.approx(high**order - raised, rel=1e-9, abs=1e-7)
    assert curve.moment(1) == pytest.approx(curve.mean, abs=1e-12)


@STEADY
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30))
def test_the_empirical_cdf(values: list[float]) -> None:
    curve = Cumulative.of_values(values)
    for x in [*values, -101.0, 0.05]:
        assert curve.at(x) == pytest.approx(np.mean(np.array(values) <= x), abs=1e-14)
        assert curve.before(x) == pytest.approx(np.mean(np.array(values) < x), abs=1e-14)
    assert curve.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert curve.variance == pytest.approx(np.var(values), abs=1e-7)
    levels = (np.arange(len(values)) + 0.5) / len(values)
    assert np.array_equal(curve.quantile(levels), np.sort(values))


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [np.inf], [None]])
def test_an_empirical_cdf_needs_finite_values(values: list[float]) -> None:
    with pytest.raises(ArgumentError, match="finite"):
        Cumulative.of_values(values)


def test_shapes_follow_the_question() -> None:
    curve = Cumulative(np.array([0.0]), np.array([2.0]), np.array([1.0]))
    for function in (curve.at, curve.before, curve.quantile):
        assert np.ndim(function(0.5)) == 0
        assert function([[0.1, 0.2, 0.3]]).shape == (1, 3)
        assert function([]).shape == (0,)
    assert np.isnan(curve.at(np.nan)) and np.isnan(Cumulative.of_values([1]).at([np.nan, 2])[0])


def test_moments_are_exact_at_atoms_and_in_bins() -> None:
    atom = Cumulative(np.array([-3.0]), np.array([-3.0]), np.array([1.0]))
    assert [atom.moment(order) for order in range(5)] == [1, -3, 9, -27, 81]
    even = Cumulative(np.array([-1.0]), np.array([1.0]), np.array([1.0]))
    assert [even.moment(order) for order in range(5)] == [1, 0, 1 / 3, 0, 0.2]
    # Far from zero a quotient of differences would have lost most of its digits.
    far = Cumulative(np.array([1e6]), np.array([1e6 + 1e-3]), np.array([1.0]))
    assert far.moment(4) == pytest.approx((1e6 + 5e-4) ** 4, rel=1e-14)


@pytest.mark.parametrize("order", [-1, 1.0, True, "2"])
def test_the_order_of_a_moment_is_a_whole_number(order: object) -> None:
    curve = Cumulative(np.array([0.0]), np.array([1.0]), np.array([1.0]))
    with pytest.raises(ArgumentError, match="at least 0"):
        curve.moment(order)  # type: ignore[arg-type]


@STEADY
@given(st.lists(st.floats(0, 1), min_size=3, max_size=40).filter(lambda mass: sum(mass) > 0.1))
def test_one_point_without_an_atom_has_no_mass_at_all(mass: list[float]) -> None:
    edges = np.arange(len(mass) + 1.0)
    of_bins = Cumulative(edges[:-1], edges[1:], np.array(mass) / sum(mass))
    assert (of_bins.at(edges) == of_bins.before(edges)).all()
