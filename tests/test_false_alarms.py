"""The statistical comparisons themselves: how often they err, and that they see what is wrong."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from tests import false_alarms
from tests.false_alarms import (
    LEVEL,
    MOST_COMPARISONS,
    accepts,
    binomial_tail,
    moments_tail,
    multinomial_tail,
    two_sample_tail,
)


def test_total_rate() -> None:
    assert MOST_COMPARISONS * LEVEL * 8 < 1e-6


def test_comparisons_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(false_alarms, "_made", MOST_COMPARISONS - 1)
    assert accepts(1.0)
    with pytest.raises(AssertionError, match="too many comparisons"):
        accepts(1.0)
    monkeypatch.setattr(false_alarms, "_made", 0)
    assert not accepts(LEVEL / 2)
    with pytest.raises(AssertionError):
        accepts(float("nan"))


@pytest.mark.parametrize("law", [[0.2, 0.3, 0.5], [0.02, 0.08, 0.9], [0.25, 0.25, 0.25, 0.25]])
def test_multinomial_bound_holds_for_every_outcome(law: list[float]) -> None:
    """All outcomes of 12 draws: P(bound <= a) is at most a, for every a."""
    draws, probabilities = 12, np.array(law)
    outcomes = []
    for counts in itertools.product(range(draws + 1), repeat=len(law)):
        if sum(counts) == draws:
            chance = float(stats.multinomial.pmf(counts, draws, probabilities))
            outcomes.append((multinomial_tail(np.array(counts), probabilities), chance))
    outcomes.sort()
    together = 0.0
    for bound, chance in outcomes:
        together += chance
        if bound < 1:
            assert together <= bound * (1 + 1e-9) or bound == outcomes[-1][0]
    assert together == pytest.approx(1)


def test_multinomial_bound_edges() -> None:
    assert multinomial_tail(np.array([10, 0]), np.array([1.0, 0.0])) == 1
    assert multinomial_tail(np.array([10, 1]), np.array([1.0, 0.0])) == 0
    assert multinomial_tail(np.array([500, 500]), np.array([0.5, 0.5])) == 1
    assert multinomial_tail(np.array([600, 400]), np.array([0.5, 0.5])) < 1e-7


def test_binomial_tail_is_exact() -> None:
    below = sum(math.comb(20, k) for k in range(4)) / 2**20
    assert binomial_tail(np.array([3]), 20, 0.5) == pytest.approx(2 * below)
    assert binomial_tail(np.array([17]), 20, 0.5) == pytest.approx(2 * below)
    assert binomial_tail(np.array([3, 10]), 20, 0.5) == pytest.approx(4 * below)
    assert binomial_tail(np.array([10]), 20, 0.5) == 1
    assert binomial_tail(np.array([1]), 20, 0.0) == 0


def test_moments_accept_the_right_law_and_reject_others() -> None:
    rng = np.random.default_rng(1)
    law = np.array([0.1, 0.2, 0.3, 0.4])
    covariance = 1000 * (np.diag(law) - np.outer(law, law))
    drawn = rng.multinomial(1000, law, size=3000).astype(float)
    assert accepts(moments_tail(drawn, 1000 * law, covariance))
    assert not accepts(moments_tail(drawn, 1000 * law, np.diag(1000 * law * (1 - law))))
    assert not accepts(moments_tail(drawn, 1000 * law, 1.25 * covariance))
    assert not accepts(moments_tail(drawn, 1000 * law, 0.8 * covariance))
    shift = np.array([2.0, -2.0, 0.0, 0.0])
    assert not accepts(moments_tail(drawn + shift, 1000 * law, covariance))
    # Correlations alone: the same variances, one pair with the other sign.
    mixed = covariance.copy()
    mixed[0, 3] *= -1
    mixed[3, 0] *= -1
    assert not accepts(moments_tail(drawn, 1000 * law, mixed))
    assert accepts(two_sample_tail(drawn[:1500], drawn[1500:]))
    assert not accepts(two_sample_tail(drawn[:1500], 1.3 * drawn[1500:]))


def test_moments_are_rarely_far_out() -> None:
    """Of 400 right samples none is below 1e-4 by more than luck: P(4 or more of 400) is 8e-8."""
    rng = np.random.default_rng(2)
    law = np.array([0.02, 0.08, 0.4, 0.5])
    mean, covariance = 1000 * law, 1000 * (np.diag(law) - np.outer(law, law))
    tails = [
        moments_tail(rng.multinomial(1000, law, size=300).astype(float), mean, covariance)
        for _ in range(400)
    ]
    assert sum(tail < 1e-4 for tail in tails) < 4
    assert sum(tail < 1e-2 for tail in tails) < 24
