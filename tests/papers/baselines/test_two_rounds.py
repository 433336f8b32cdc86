"""Mean and variance in two rounds: unbiased up to the error of the mean that was sent back."""

from typing import Any

import numpy as np
import pytest

from lapwing import Integers, Interval
from lapwing.errors import ArgumentError, DomainError
from lapwing.papers.baselines.stochastic_rounding import (
    SquaredDeviation,
    StochasticRounding,
    mean_and_variance,
)
from lapwing.privacy.sampling.randomness import seeded
from lapwing.randomizers.numerical.piecewise import Piecewise

kinds = pytest.mark.parametrize("kind", [StochasticRounding, Piecewise])

ROUNDS = 60


@kinds
def test_variance_of_beta_is_unbiased_up_to_the_error_of_the_mean(kind: Any) -> None:
    """Beta(5, 2): mean 5/7, variance 10/392."""
    values = np.random.default_rng(0).beta(5, 2, 40_000)
    first = kind(Interval(0, 1, bins=1024, outside="clip"), 2)
    runs = [mean_and_variance(values, first, rng=seeded(seed)) for seed in range(ROUNDS)]
    means = np.array([mean.value for mean, _ in runs])
    variances = np.array([variance.value for _, variance in runs])
    # About the column at hand; means first: 4 standard errors of 60 runs.
    error = means.mean() - values.mean()
    assert abs(error) < 4 * means.std() / np.sqrt(ROUNDS)
    excess = float(np.mean((means - values.mean()) ** 2))
    error = variances.mean() - (values.var() + excess)
    standard_error = variances.std() / np.sqrt(ROUNDS)
    assert abs(error) < 4 * standard_error
    # The range is public, so a variance far from the truth would be seen.
    assert standard_error < 0.05 * 10 / 392
    assert np.mean([v.deviation for _, v in runs]) == pytest.approx(variances.std(), rel=0.4)


@kinds
def test_each_person_reports_once(kind: Any) -> None:
    """Of an odd number of people half report in each round, and none in both."""
    values = np.arange(101) % 11
    mean, variance = mean_and_variance(values, kind(Integers(0, 10), 4), rng=seeded(1))
    assert (mean.reports, variance.reports) == (50, 51)


def test_the_halves_do_not_depend_on_the_values() -> None:
    """Sorted or not, the means of 200 splits have the spread of random halves."""
    values = np.repeat([0, 1], 500)
    first = StochasticRounding(Integers(0, 1), 24)
    means = [mean_and_variance(values, first, rng=seeded(seed))[0].value for seed in range(200)]
    # Hypergeometric: 500 of 1000 drawn; the deviation of their mean is .0158.
    assert np.mean(means) == pytest.approx(0.5, abs=0.006)
    assert np.std(means) == pytest.approx(0.0158, rel=0.25)


def test_the_question_of_the_second_round() -> None:
    question = SquaredDeviation(Interval(0, 10, bins=5), 4.0)
    # Symbols stand for 1, 3, 5, 7, 9: the farthest from 4 is 9.
    assert question.grid == Interval(0.0, 25.0, bins=4096, outside="clip")
    np.testing.assert_allclose(question.of([0.3, 4.1, 10]), [9, 1, 25])
    # Noise may send back a mean outside; squared deviations stay within the stated range.
    for center in (-100.0, 100.0):
        outside = SquaredDeviation(Interval(0, 10, bins=5), center)
        assert outside.center in (1.0, 9.0) and outside.grid.high == 64
    whole = SquaredDeviation(Integers(0, 10), 10.0, bins=8)
    assert whole.grid == Interval(0.0, 100.0, bins=8)


def test_a_range_that_is_not_public_would_be_biased() -> None:
    """Squares clipped at the largest squared deviation of half the people's range miss it."""
    values = np.random.default_rng(1).choice([0.0, 100.0], 20_000)
    question = SquaredDeviation(Integers(0, 100, outside="clip"), 50.0)
    second = Piecewise(question.grid, 4)
    right = second.mean(second.tally(second.randomize(question.of(values), rng=seeded(1))))
    assert right.value == pytest.approx(2500, abs=5 * right.deviation + 1)
    narrow = Piecewise(Interval(0, 1000, bins=4096, outside="clip"), 4)
    wrong = narrow.mean(narrow.tally(narrow.randomize(question.of(values), rng=seeded(1))))
    assert abs(wrong.value - 2500) > 20 * wrong.deviation


def test_refusals() -> None:
    first = Piecewise(Integers(0, 10), 1)
    for values in ([1, 2, 3], [[1, 2], [3, 4]], 5):
        with pytest.raises(ArgumentError, match="at least 4 values"):
            mean_and_variance(values, first, rng=seeded(1))
    with pytest.raises(DomainError, match="position"):
        mean_and_variance([1, 2, 3, float("nan")], first, rng=seeded(1))
    with pytest.raises(ArgumentError, match="center must be a number"):
        SquaredDeviation(Integers(0, 10), float("nan"))
    with pytest.raises(DomainError, match="evenly spaced"):
        SquaredDeviation(Interval(1, 10, bins=5, scale="log"), 2.0)
