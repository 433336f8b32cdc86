"""Critical values against the distributions that they are quantiles of."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.integrate import quad

from lapwing.errors import ArgumentError
from lapwing.results.uncertainty import (
    independent_critical_values,
    normal_critical_value,
    whole_reach,
    with_tails,
)


def beyond(bound: float, part: float) -> float:
    """Return the probability that a sum of a Gaussian and a Laplace error leaves the bound.

    Its variance is one, of which the Laplace error has a part.
    """
    scale, gauss = math.sqrt(part / 2), NormalDist(0, math.sqrt(1 - part))

    def density(error: float) -> float:
        inside = gauss.cdf(bound - error) - gauss.cdf(-bound - error)
        return (1 - inside) * math.exp(-error / scale) / scale

    # Even in the Laplace error, so that its one half is enough.
    near, _ = quad(density, 0, bound)
    far, _ = quad(density, bound, math.inf)
    return float(near + far)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_a_normal_error_is_within_its_critical_value_as_often_as_the_level_says(
    level: float,
) -> None:
    inside = math.erf(normal_critical_value(level) / math.sqrt(2))
    assert inside == pytest.approx(level, abs=1e-12)


@pytest.mark.parametrize("level", [0, 1, 1.5, "0.95"])
def test_a_level_that_is_none_is_refused(level: float) -> None:
    with pytest.raises(
        ArgumentError, match="level must be a number greater than 0 and less than 1"
    ):
        normal_critical_value(level)


@pytest.mark.parametrize("count", [1, 20, 100_000])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_pure_errors_hold_at_once_with_the_level(count: int, level: float) -> None:
    gauss, laplace = independent_critical_values(level, count, np.array([0.0, 1.0])).tolist()
    outside = 1 - level ** (1 / count)
    assert math.erfc(gauss / math.sqrt(2)) == pytest.approx(outside, rel=1e-3)
    assert math.exp(-laplace * math.sqrt(2)) == pytest.approx(outside, rel=1e-2)


@pytest.mark.parametrize("part", [0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_mixed_errors_against_an_integral(part: float, level: float) -> None:
    (critical,) = independent_critical_values(level, 1, np.array([part]))
    assert beyond(float(critical), part) == pytest.approx(1 - level, rel=5e-3)
    assert beyond(0.97 * float(critical), part) > 1.02 * (1 - level)


def test_more_errors_and_heavier_tails_need_more() -> None:
    parts = np.linspace(0, 1, 11)
    few, many = (independent_critical_values(0.95, count, parts) for count in (10, 1000))
    assert (few < many).all()
    assert (np.diff(many) > 0).all()


def test_an_excess_kurtosis_never_narrows() -> None:
    for critical in (0.5, 1.0, math.sqrt(3), 2.0, 4.0):
        assert with_tails(critical, 0.0) == critical
        assert with_tails(critical, 1.0) >= critical
    assert with_tails(2.0, 1.5) == pytest.approx(2 + 1.5 * 2 / 24)


@pytest.mark.parametrize("variance", [0.01, 0.05, 0.14, 0.3, 1.0, 2.5, 6.0])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("level", [0.95, 0.9983])
def test_intervals_of_a_few_whole_people_hold_them(
    variance: float, part: float, level: float
) -> None:
    """Errors are people who came by mistake minus those who went: two Poisson numbers."""
    rng = np.random.default_rng(1)
    came, went = (1 - part) * variance, part * variance
    errors = rng.poisson(came, 400_000) - rng.poisson(went, 400_000) - (came - went)
    critical = normal_critical_value(level)
    (reach,) = whole_reach(critical, np.array([math.sqrt(variance)]))
    outside = float((np.abs(errors) > reach).mean())
    assert outside <= 1.6 * (1 - level) + 3e-4
    assert reach <= max(critical * math.sqrt(variance) + 2, 0.5)


def test_many_people_have_a_normal_interval() -> None:
    many = np.array([3.0, 10.0, 400.0])
    assert whole_reach(1.96, many).tolist() == (1.96 * many).tolist()
