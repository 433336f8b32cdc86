"""Noise of hundreds of empty bins does not add up to people in the tails of a wide range."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.empirical_bayes.gaussian_model import Posterior, ScaledBasis

LOG = lw.Interval(10, 100_000, scale="log")


def _decoded(domain: lw.Interval, epsilon: float, people: int, seed: int) -> tuple[float, float]:
    """Return the error of the mean in half widths of its interval, and the ratio of deviations."""
    survey = lw.Survey("times", lw.recommend(domain, epsilon=epsilon, users=people))
    values = np.random.default_rng(100 + seed).lognormal(6.6, 0.6, people)
    found = survey.decode(survey.tally(survey.randomize(values, rng=lw.seeded(seed))))
    ends, spread = found.mean_interval(), found.variance_interval()
    assert ends is not None
    assert spread is not None
    low, high = ends
    assert low <= values.mean() <= high
    assert spread[0] <= values.var() <= spread[1]
    assert low + 0.1 * (high - low) <= found.mean() <= high - 0.1 * (high - low)
    return 2 * (found.mean() - values.mean()) / (high - low), found.std() / values.std()


@pytest.mark.parametrize(
    ("domain", "epsilon", "people", "ratio"),
    [
        (LOG, 2, 200_000, 2.0),  # .65 half widths and 5.5 by the metric alone
        (lw.Interval(0, 10_000), 2, 200_000, 1.2),
    ],
)
def test_mean_and_deviation_of_a_wide_range(
    domain: lw.Interval, epsilon: float, people: int, ratio: float
) -> None:
    errors, ratios = zip(
        *(_decoded(domain, epsilon, people, seed) for seed in range(2)), strict=True
    )
    assert abs(np.mean(errors)) < 1 / 3
    assert np.mean(ratios) < ratio


def _noisy(seed: int, size: int = 200) -> tuple[Posterior, np.ndarray]:
    """Return a posterior of a peak in the first tenth, with independent noise, and the truth."""
    peak = np.exp(-(((np.arange(size) - size / 20) / (size / 60)) ** 2) / 2)
    truth = peak / peak.sum()
    covariance = 0.0002**2 * (np.eye(size) - 1 / size)
    noise = np.random.default_rng(seed).normal(0, 0.0002, size)
    return Posterior(truth + noise - noise.mean(), covariance), truth


def test_a_tail_holds_about_what_the_signed_mean_has_there() -> None:
    line = np.ones(200, dtype=np.bool_)
    beyond, far = np.zeros(2), np.zeros(2)
    for seed in range(8):
        posterior, truth = _noisy(seed)
        for number, one in enumerate((posterior.distribution(), posterior.distribution(line))):
            assert one.min() >= 0
            assert one.sum() == pytest.approx(1)
            beyond[number] += one[40:].sum() / 8
            far[number] += np.abs(np.cumsum(one - truth)).sum() / 8
    assert beyond[0] > 0.003
    assert beyond[1] < 0.5 * beyond[0]
    assert far[1] < 0.7 * far[0]


def test_symbols_that_are_not_on_the_line_keep_what_the_metric_gives_them() -> None:
    posterior, _ = _noisy(0)
    line = np.arange(200) < 190
    metric, found = posterior.distribution(), posterior.distribution(line)
    assert np.array_equal(found[~line], metric[~line])
    assert found.sum() == pytest.approx(1)
    assert not np.allclose(found[line], metric[line])


def test_a_circle_has_no_tails_and_a_missing_symbol_no_place() -> None:
    assert not ScaledBasis(lw.Interval(0, 24, bins=24, circular=True)).line.any()
    answers = lw.Interval(0, 1, bins=8, missing="bin")
    assert ScaledBasis(answers).line.sum() == answers.size - 1
