"""Distances against SciPy, quadrature and slow references, and as recomputed by hand.

Coverage rows WE-23, WE-24, WE-27, FA-32, SW-07, SW-08, SW-09, CP-30, CF-38.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from lapwing import Distribution, Interval
from lapwing.distances import (
    decile_error,
    energy,
    kolmogorov_smirnov,
    kullback_leibler,
    l1,
    l2,
    mean_error,
    mean_squared_error,
    range_query_error,
    variance_error,
    wasserstein,
)
from lapwing.errors import ArgumentError, MismatchError
from lapwing.results import Cumulative


def random_samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    one = rng.normal(size=rng.integers(1, 60)) * 10 ** rng.uniform(-2, 4)
    two = rng.gamma(rng.uniform(0.5, 5), size=rng.integers(1, 60)) * 10 ** rng.uniform(-2, 4)
    if seed % 3 == 0:  # with ties, within and between
        one, two = np.round(one), np.round(two)
    return one, two


def random_curve(rng: np.random.Generator, *, bins: int | None = None) -> Distribution:
    bins = int(rng.integers(1, 12)) if bins is None else bins
    atoms = rng.choice([0, 1, 0.25, 0.3], size=rng.integers(0, 3), replace=False).tolist()
    domain = Interval(0, 1, bins=bins, atoms=atoms, outside="clip")
    mass = rng.dirichlet(np.full(domain.size, 0.5))
    return Distribution(domain, mass)


@pytest.mark.parametrize("seed", range(100))
def test_samples_against_scipy(seed: int) -> None:
    one, two = random_samples(seed)
    first, second = Cumulative.of_values(one), Cumulative.of_values(two)
    assert wasserstein(first, second) == pytest.approx(
        stats.wasserstein_distance(one, two), rel=1e-9, abs=1e-12
    )
    assert energy(first, second) == pytest.approx(
        stats.energy_distance(one, two), rel=1e-7, abs=1e-7
    )
    assert kolmogorov_smirnov(first, second) == pytest.approx(
        stats.ks_2samp(one, two, method="asymp").statistic, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_piecewise_linear_curves_against_quadrature(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = random_curve(rng), random_curve(rng)
    knots = np.unique(
        np.concatenate(
            [getattr(d.cumulative, end) for d in (first, second) for end in ("left", "right")]
        )
    )
    # Inside the pieces the curves are continuous: the limits at the ends stand for the ends.
    absolute = square = worst = 0.0
    for a, b in pairwise(knots[np.append(np.diff(knots) > 1e-12, True)]):
        inside = np.linspace(a, b, 2001)
        inside[0], inside[-1] = np.nextafter(a, b), np.nextafter(b, a)
        gaps = np.abs(first.cdf(inside) - second.cdf(inside))
        worst = max(worst, float(gaps.max()))
        absolute += float(integrate.trapezoid(gaps, inside))
        square += float(integrate.simpson(gaps**2, x=inside))
    assert wasserstein(first, second) == pytest.approx(absolute, abs=1e-7)
    assert energy(first, second) == pytest.approx(math.sqrt(2 * square), abs=1e-7)
    assert kolmogorov_smirnov(first, second) == pytest.approx(worst, abs=1e-9)


def test_a_crossing_inside_a_bin_is_not_lost() -> None:
    first = Cumulative(np.array([0.0]), np.array([2.0]), np.array([1.0]))
    second = Cumulative(np.array([1.0]), np.array([1.0]), np.array([1.0]))
    assert wasserstein(first, second) == pytest.approx(0.5)  # E|X - 1| for X uniform on [0, 2]
    assert kolmogorov_smirnov(first, second) == pytest.approx(0.5)
    shifted = Cumulative(np.array([0.5, 1.0]), np.array([1.0, 1.5]), np.array([0.5, 0.5]))
    # On [0.5, 1.5] it is x - 0.5 against x / 2: four triangles of height 1/4 and base 1/2.
    assert wasserstein(first, shifted) == pytest.approx(4 * 0.25 * 0.5 / 2)


def test_the_sum_form_of_the_papers_is_the_number_of_bins_larger() -> None:
    """Coverage row SW-07: sum over bins of |F - G|, in bins; and the integral on [0, 1]."""
    rng = np.random.default_rng(5)
    one, two = rng.dirichlet(np.ones(64)), rng.dirichlet(np.ones(64))
    edges = np.arange(65.0)
    in_bins = [Cumulative(edges[:-1], edges[:-1], mass) for mass in (one, two)]
    on_unit = [Cumulative(edges[:-1] / 64, edges[:-1] / 64, mass) for mass in (one, two)]
    total = float(np.abs(np.cumsum(one) - np.cumsum(two)).sum())
    assert wasserstein(*in_bins) == pytest.approx(total, rel=1e-12)
    assert wasserstein(*on_unit) == pytest.approx(total / 64, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_papers_grid(seed: int) -> None:
    """Coverage row WE-24: W1 and KS on M = 256 points, recomputed in ten lines."""
    rng = np.random.default_rng(seed)
    values = rng.beta(5, 2, size=500) * 100
    estimate = Distribution(Interval(0, 100, bins=64, outside="clip"), rng.dirichlet(np.ones(64)))
    gaps = []
    for k in range(1, 257):
        x = k / 256 * 100
        j = min(int(x / 100 * 64), 63)
        model = estimate.mass[:j].sum() + estimate.mass[j] * (x / 100 * 64 - j)
        gaps.append(abs(model - np.mean(values <= x)))
    truth = Cumulative.of_values(values)
    # The joint range must be the domain's: the estimate covers it.
    assert wasserstein(estimate, truth, grid=256) == pytest.approx(np.mean(gaps), abs=1e-12)
    assert kolmogorov_smirnov(estimate, truth, grid=256) == pytest.approx(max(gaps), abs=1e-12)
    assert wasserstein(estimate, truth, grid=2**17) == pytest.approx(
        wasserstein(estimate, truth) / 100, rel=1e-4
    )


def test_equal_l1_l2_and_divergence_but_another_order() -> None:
    """Coverage rows WE-27 and SW-08."""
    truth = np.array([0.7, 0.1, 0.1, 0.1])
    near, far = np.array([0.1, 0.7, 0.1, 0.1]), np.array([0.1, 0.1, 0.1, 0.7])
    for distance in (l1, l2, mean_squared_error, kullback_leibler):
        assert distance(truth, near) == distance(truth, far) > 0
    domain = Interval(0, 4, bins=4)
    one, two, three = (Distribution(domain, mass) for mass in (truth, near, far))
    assert wasserstein(one, three) / wasserstein(one, two) == pytest.approx(3)
    assert energy(one, three) > energy(one, two)


def slow_circular(first: Cumulative, second: Cumulative, cuts: np.ndarray) -> float:
    """The least integral of |F - G - c| over many c; the best c is a height of F - G."""
    points = np.unique(np.concatenate([first.left, first.right, second.left, second.right]))
    fine = np.unique(np.concatenate([np.linspace(a, b, 41) for a, b in pairwise(points)]))
    middle = (fine[1:] + fine[:-1]) / 2
    gaps = first.at(middle) - second.at(middle)
    return min(float(np.dot(np.diff(fine), np.abs(gaps - c))) for c in [*gaps, *cuts])


@pytest.mark.parametrize("seed", range(15))
def test_the_circular_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ring = Interval(0, 24, bins=24, circular=True)
    masses = rng.dirichlet(np.full(24, 0.4), size=2)
    one, two = (Distribution(ring, mass) for mass in masses)
    found = wasserstein(one, two, circular=True)
    slow = slow_circular(one.cumulative, two.cumulative, np.linspace(-1, 1, 101))
    assert found == pytest.approx(slow, abs=2e-3)
    assert found <= slow + 1e-4
    assert found <= wasserstein(one, two) + 1e-12
    assert found == pytest.approx(wasserstein(two, one, circular=True), abs=1e-12)
    for turn in (1, 7, 23):
        turned = [Distribution(ring, np.roll(mass, turn)) for mass in masses]
        assert wasserstein(*turned, circular=True) == pytest.approx(found, abs=1e-12)


def test_on_a_circle_the_short_way_counts() -> None:
    hours = np.eye(24)
    ring = Interval(0, 24, bins=24, circular=True)
    for apart in range(24):
        one, two = Distribution(ring, hours[0]), Distribution(ring, hours[apart])
        # Straight across, half of the bin goes either way round and saves half an hour.
        expected = 11.5 if apart == 12 else min(apart, 24 - apart)
        assert wasserstein(one, two, circular=True) == pytest.approx(expected, abs=1e-12)
    # Exact steps, where an approximate minimum shows: atoms at 23 and 1, two hours apart.
    atoms = Interval(0, 24, bins=1, circular=True, atoms=(1, 23))
    late = Distribution(atoms, [0, 0, 0, 1, 0])
    early = Distribution(atoms, [0, 1, 0, 0, 0])
    assert wasserstein(late, early, circular=True) == pytest.approx(2, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("width", [0.1, 0.4, 1.0])
def test_range_queries_by_hand(seed: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    one, two = (Distribution(Interval(-2, 6, bins=9), rng.dirichlet(np.ones(9))) for _ in "ab")
    grid = 40
    errors = []
    for k in range(grid + 1):
        start = -2 + 8 * k / grid
        stop = start + 8 * width
        if stop <= 6 + 1e-9:
            errors.append(abs(one.probability(start, stop) - two.probability(start, stop)))
    assert len(errors) == round((1 - width) * grid) + 1
    assert range_query_error(one, two, width=width, grid=grid) == pytest.approx(np.mean(errors))


@pytest.mark.parametrize("seed", range(5))
def test_moments_and_deciles_by_hand(seed: int) -> None:
    """Coverage row SW-09, on samples, where NumPy knows the answers."""
    one, two = random_samples(seed)
    first, second = Cumulative.of_values(one), Cumulative.of_values(two)
    assert mean_error(first, second) == pytest.approx(abs(one.mean() - two.mean()))
    assert variance_error(first, second) == pytest.approx(abs(one.var() - two.var()))
    levels = [k / 10 for k in range(1, 10)]
    deciles = [np.quantile(sample, levels, method="inverted_cdf") for sample in (one, two)]
    assert decile_error(first, second) == pytest.approx(np.abs(deciles[0] - deciles[1]).mean())


def test_distances_of_masses_by_hand() -> None:
    """Coverage rows CP-30 and CF-38."""
    one, two = np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.25, 0.25, 0.25, 0.25])
    assert l1(one, two) == 0.5
    assert l2(one, two) == pytest.approx(math.sqrt(2) / 4)
    assert mean_squared_error(one, two) == pytest.approx(2 * 0.25**2 / 4)
    assert kullback_leibler(one, two) == pytest.approx(0.5 * math.log(2))
    assert kullback_leibler(two, one) == math.inf
    domain = Interval(0, 1, bins=4)
    made = Distribution(domain, one), Distribution(domain, two)
    for distance in (l1, l2, mean_squared_error, kullback_leibler):
        assert distance(*made) == distance(one.tolist(), two)
    for wrong in (two[:3], two[None, :]):
        with pytest.raises(MismatchError, match="equal lengths"):
            l1(one, wrong)


CURVE_DISTANCES = {
    "wasserstein": wasserstein,
    "circular": lambda a, b: wasserstein(a, b, circular=True),
    "kolmogorov_smirnov": kolmogorov_smirnov,
    "energy": energy,
    "l1": lambda a, b: l1(a.mass, b.mass),
    "l2": lambda a, b: l2(a.mass, b.mass),
}


@st.composite
def three_distributions(draw: st.DrawFn, *, circular: bool) -> list[Distribution]:
    atoms = () if circular else (2,)
    domain = Interval(0, 5, bins=5, circular=circular, atoms=atoms)
    counts = st.lists(st.integers(0, 9), min_size=domain.size, max_size=domain.size).filter(sum)
    return [Distribution.of_counts(draw(counts), domain) for _ in range(3)]


@pytest.mark.parametrize("name", CURVE_DISTANCES)
@settings(deadline=None, max_examples=30, derandomize=True)
@given(data=st.data())
def test_they_are_metrics(name: str, data: st.DataObject) -> None:
    distance = CURVE_DISTANCES[name]
    one, two, three = data.draw(three_distributions(circular=name == "circular"))
    assert distance(one, one) == pytest.approx(0, abs=1e-12)
    assert distance(one, two) == pytest.approx(distance(two, one), abs=1e-12)
    assert distance(one, three) <= distance(one, two) + distance(two, three) + 1e-12
    assert distance(one, two) >= 0
    if not np.allclose(one.mass, two.mass):
        assert distance(one, two) > 1e-4


def test_mixed_arguments_are_understood() -> None:
    domain = Interval(0, 10, bins=5)
    made = Distribution.of_values([1, 5, 9], domain)
    raw = Cumulative.of_values([1, 5, 9])
    assert wasserstein(made, raw) == wasserstein(made.cumulative, raw) > 0


@pytest.mark.parametrize("width", [0, -0.1, 1.1, math.nan])
def test_the_width_of_a_range_query(width: float) -> None:
    curve = Cumulative.of_values([1, 2])
    with pytest.raises(ArgumentError, match=r"\(0, 1\]"):
        range_query_error(curve, curve, width=width)


def test_two_points() -> None:
    one, two = Cumulative.of_values([3]), Cumulative.of_values([3, 3])
    for distance in (wasserstein, kolmogorov_smirnov, energy, decile_error, mean_error):
        assert distance(one, two) == 0
    assert wasserstein(one, Cumulative.of_values([5])) == 2


def test_raw_values_are_read_in_the_unit_of_the_result_they_are_compared_with() -> None:
    days = Interval("2026-01-01", "2026-01-11", bins=10, unit="date")
    texts = ["2026-01-03", "2026-01-03", "2026-01-07"]
    result = Distribution.of_values(texts, days)
    numbers = [20456.0, 20456.0, 20460.0]
    for one, other in ((result, texts), (texts, result)):
        assert wasserstein(one, other) == pytest.approx(wasserstein(result, numbers))
    assert wasserstein(result, texts) <= 1
