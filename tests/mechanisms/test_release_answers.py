"""What a release answers beyond its curve: moments, differences, synthetic tables."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from lapwing import Interval, release, seeded
from lapwing.mechanisms import HistogramQuery, PrefixSums, SumTree
from lapwing.papers.functional_approximation import MatchingPursuit, PolynomialProjection
from tests.false_alarms import accepts, multinomial_tail

DOMAIN = Interval(-2, 3, bins=64, outside="clip")
PROMISE = {"neighbors": "replace-one", "epsilon": 1, "delta": "1e-6"}
VALUES = np.random.default_rng(1).normal(0.4, 0.6, 20_000)


@pytest.mark.parametrize(
    "mechanism",
    [
        PolynomialProjection(8),
        PrefixSums(),
        SumTree(4),
        HistogramQuery(16),
        MatchingPursuit(terms=6, atoms=20),
    ],
    ids=lambda mechanism: mechanism.name,
)
class TestMoments:
    def test_a_moment_is_the_integral_of_the_curve(self, mechanism) -> None:
        result = release(VALUES, DOMAIN, mechanism=mechanism, rng=seeded(1), **PROMISE).distribution
        ends = np.linspace(-2, 3, 65)
        for order in (1, 2, 3, 4):
            # E[X^k] = 3^k - integral of k x^(k-1) F(x), by quadrature within each bin.
            inner = sum(
                integrate.fixed_quad(
                    lambda x, k=order: k * x ** (k - 1) * result.cdf(x), low, high, n=5
                )[0]
                for low, high in pairwise(ends)
            )
            assert result.cumulative.moment(order) == pytest.approx(3.0**order - inner, rel=1e-9)
        assert result.cumulative.moment(2) - result.cumulative.moment(1) ** 2 == pytest.approx(
            result.variance()
        )

    def test_moments_are_near_those_of_the_people(self, mechanism) -> None:
        result = release(VALUES, DOMAIN, mechanism=mechanism, rng=seeded(1), **PROMISE).distribution
        assert result.cumulative.moment(1) == pytest.approx(VALUES.mean(), abs=0.1)
        assert result.cumulative.moment(2) == pytest.approx(np.mean(VALUES**2), abs=0.15)


def test_a_difference_of_two_releases_has_a_band_around_the_truth() -> None:
    other = np.random.default_rng(2).normal(0.7, 0.6, 20_000)
    first, second = (
        release(values, DOMAIN, rng=seeded(seed), **PROMISE).distribution
        for seed, values in ((1, VALUES), (2, other))
    )
    apart = second.difference(first, people="different")
    band = apart.confidence_band(0.95, kind="simultaneous")
    assert band is not None
    ends = DOMAIN.right
    truth = np.searchsorted(np.sort(other), ends, side="right") / other.size
    truth = truth - np.searchsorted(np.sort(VALUES), ends, side="right") / VALUES.size
    inside = (band.low <= truth + 1e-12) & (truth - 1e-12 <= band.high)
    assert inside.mean() > 0.9 and np.abs(truth).max() > 0.15
    assert not ((band.low <= -truth) & (-truth <= band.high)).all()


def test_a_synthetic_table_follows_the_released_masses() -> None:
    result = release(VALUES, DOMAIN, rng=seeded(1), **PROMISE).distribution
    drawn = result.sample(100_000, rng=3)
    counts = np.bincount(DOMAIN.index(drawn[~np.isnan(drawn)]), minlength=64)[:64]
    mass = result.mass[:64]
    held = mass > 0
    assert counts[~held].sum() == 0
    shares = mass[held] / mass[held].sum()
    assert accepts(multinomial_tail(counts[held], shares))
    assert not accepts(multinomial_tail(counts[held], shares[::-1]))
