"""Laplace noise goes far out: intervals of shares and ranges, bands of CDFs and of differences.

Laws are worked out, or drawn with plain NumPy; no release is decoded by chance.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.decoders.releases.label_shares import CountedShares
from lapwing.results.difference import Difference

PEOPLE = 1_000_000
DEVIATION = 50 / PEOPLE


def of_counts(domain: Any, tails: str, *, known: bool = True) -> lw.Distribution:
    """Return a release in which every symbol is held by equally many."""
    size = domain.size
    counts = np.full(size, PEOPLE // size)
    shares = CountedShares.of(counts, PEOPLE, (DEVIATION * PEOPLE) ** 2, total_is_known=known)
    law = shares.uncertainty(PEOPLE, tails)  # type: ignore[arg-type]
    return lw.Distribution(domain, np.full(size, 1 / size), PEOPLE, uncertainty=law)


def half_width(ends: tuple[float, float] | None) -> float:
    assert ends is not None
    return (ends[1] - ends[0]) / 2


@pytest.mark.parametrize("level", [0.95, 0.999])
def test_the_interval_of_one_share_knows_the_tails_of_its_noise(level: float) -> None:
    # One of 400 counts: the error of the total is nothing beside its own.
    exact = {
        "laplace": -math.log(1 - level) / math.sqrt(2),
        "normal": stats.norm.isf((1 - level) / 2),
    }
    for tails, critical in exact.items():
        found = of_counts(lw.Categories(400), tails)
        half = half_width(found.share_interval(7, level=level))
        assert half / DEVIATION == pytest.approx(critical, rel=0.01)
        band: Any = found.confidence_band(level)
        assert half == pytest.approx((band.high[7] - band.low[7]) / 2, rel=0.01)


def test_the_interval_of_a_range_is_as_long_as_the_band_is_wide_at_its_end() -> None:
    # A pure release of few bins: its band was wider than the interval of "at most x".
    summary = lw.protocol.ExactCounts.of_values(np.arange(8000) % 100, lw.Interval(0, 100, bins=4))
    promise = lw.privacy.Promise("replace-one", epsilon="0.1")
    release = lw.mechanisms.SumTree().release(summary, promise, rng=lw.seeded(1))
    found = lw.decoders.StepPursuit().decode(release.channel, release)
    band: Any = found.confidence_band(0.99)
    half = half_width(found.probability_interval(-math.inf, 50, level=0.99))
    assert half == pytest.approx((band.high[1] - band.low[1]) / 2, rel=0.06)
    assert found.uncertainty is not None
    assert half > 1.05 * stats.norm.isf(0.005) * found.uncertainty.cdf_deviation("empirical")[1]


def test_two_equal_releases_of_labels_differ_as_seldom_as_the_band_says() -> None:
    # P(|sum of two Laplace errors of scale 1| > t) = (1 + t / 2) exp(-t), of deviation 2.
    labels, level = 1000, 0.95

    def all_inside(critical: float) -> float:
        return float((1 - (1 + critical) * math.exp(-2 * critical)) ** labels)

    one = of_counts(lw.Categories(labels), "laplace")
    deviation = math.sqrt(2) * DEVIATION
    band = Difference(one, one, target="empirical").confidence_band(level, kind="simultaneous")
    assert band is not None and not band.leaves_zero
    assert level <= all_inside(float(band.high[5]) / deviation) < level + 0.03
    assert all_inside(stats.norm.isf((1 - level ** (1 / labels)) / 2)) < 0.5  # of normal errors
    # A single gap, and a gap to normal noise.
    half = half_width(Difference(one, one, target="empirical").share_interval(5, level=0.99))
    alone = half / deviation
    assert 0.007 < (1 + alone) * math.exp(-2 * alone) < 0.0105
    normal = of_counts(lw.Categories(labels), "normal")
    plain: Any = Difference(normal, normal, target="empirical").confidence_band(
        level, kind="simultaneous"
    )
    critical = stats.norm.isf((1 - level ** (1 / labels)) / 2)
    assert plain.high[5] / deviation == pytest.approx(critical, rel=0.01)
    mixed: Any = Difference(one, normal, target="empirical").confidence_band(
        level, kind="simultaneous"
    )
    assert plain.high[5] < mixed.high[5] < band.high[5]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("bins", [5, 40])
def test_the_band_of_a_cdf_from_counts_holds_it_as_often_as_it_says(
    bins: int, missing: bool, known: bool
) -> None:
    domain = lw.Interval(0, 100, bins=bins, missing="bin" if missing else "refuse", outside="clip")
    found = of_counts(domain, "laplace", known=known)
    rng = np.random.default_rng(4)
    errors = rng.laplace(scale=DEVIATION / math.sqrt(2), size=(40_000, domain.size))
    share = 1 / domain.size
    errors -= share * errors.sum(axis=1, keepdims=True)
    curves = np.cumsum(errors[:, :bins], axis=1)
    total = bins * share
    curves = (curves - np.arange(1, bins + 1) / bins * curves[:, -1:]) / total
    for level in (0.95, 0.99):
        band: Any = found.confidence_band(level, kind="simultaneous")
        half = (band.high - band.low)[:-1] / 2
        inside = int((np.abs(curves[:, :-1]) <= half).all(axis=1).sum())
        narrow = int((np.abs(curves[:, :-1]) <= 0.85 * half).all(axis=1).sum())
        assert stats.binom.cdf(inside, 40_000, level) > 1e-6
        assert stats.binom.cdf(narrow, 40_000, level) < 1e-6  # too narrow a band is found
        first: Any = found.confidence_band(level)
        half = (first.high - first.low)[:-1] / 2
        alone = (np.abs(curves[:, :-1]) <= half).mean(axis=0)
        # Alone the tails are matched by their kurtosis: within half a point.
        assert np.abs(alone - level).max() < 0.005 + 0.2 * (1 - level)
