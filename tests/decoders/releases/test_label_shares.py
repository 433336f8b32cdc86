"""Shares of labels: coverage of their bands at once, the covariance, and the sparse estimate."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.decoders.empirical_bayes.mixture_prior import shrunk
from lapwing.decoders.releases.label_shares import CountedShares
from lapwing.decoders.unbiased.linear_estimate import UnbiasedShares
from lapwing.errors import UnsupportedChannelError
from lapwing.results.uncertainty import independent_critical_values
from tests.false_alarms import accepts, moments_tail

PURE = lw.privacy.Promise("replace-one", epsilon="0.2")
HIDDEN = lw.privacy.Promise("add-or-remove-one", epsilon="0.2")
NORMAL = lw.privacy.Promise("replace-one", mu="0.1")


def counts(labels: int, people: int = 20_000) -> np.ndarray:
    """Return people of which half hold one label in three, and the others the first one."""
    held = np.zeros(labels, dtype=np.int64)
    held[::3] = people // 2 // len(held[::3])
    held[0] += people - held.sum()
    return held


def released(held: np.ndarray, promise: Any, seed: int, **knobs: Any) -> lw.Distribution:
    domain = lw.Categories(held.size - 1, missing="category")
    release = lw.mechanisms.LabelCounts().release(
        lw.protocol.ExactCounts(domain, held), promise, rng=lw.seeded(seed)
    )
    found: lw.Distribution = lw.decoders.LabelShares(**knobs).decode(release.channel, release)
    return found


@pytest.mark.parametrize(
    ("promise", "labels"),
    [
        *[(PURE, 200), (HIDDEN, 4), (NORMAL, 200)],
        *(
            pytest.param(*one, marks=pytest.mark.soak)
            for one in [(PURE, 4), (HIDDEN, 200), (NORMAL, 4)]
        ),
    ],
)
def test_all_shares_are_in_the_band_as_often_as_it_says(promise: Any, labels: int) -> None:
    # 400 releases at 0.95; too few or too many inside are found at a false alarm of 1e-6.
    held, inside, narrow = counts(labels), 0, 0
    truth = held / held.sum()
    for seed in range(400):
        found = released(held, promise, seed, sparse=False).uncertainty
        assert found is not None
        # Not cut off at zero, where the truth of most labels is.
        low, high = found.curves(0.95, "simultaneous", cumulative=False, least=-1.0)
        middle, half = (low + high) / 2, (high - low) / 2
        inside += bool((np.abs(truth - middle) <= half).all())
        narrow += bool((np.abs(truth - middle) <= 0.7 * half).all())
    assert stats.binom.cdf(inside, 400, 0.95) > 1e-6
    assert stats.binom.sf(inside - 1, 400, 0.95) > 1e-6
    assert stats.binom.cdf(narrow, 400, 0.95) < 1e-6  # a band that is too narrow is found


@pytest.mark.parametrize("promise", [PURE, HIDDEN], ids=repr)
def test_the_covariance_is_that_of_the_estimates(promise: Any) -> None:
    held = counts(5, 4000)
    domain = lw.Categories(4, missing="category")
    centers = []
    for seed in range(600):
        release = lw.mechanisms.LabelCounts().release(
            lw.protocol.ExactCounts(domain, held), promise, rng=lw.seeded(seed)
        )
        known = release.people is not None
        shares = CountedShares.of(
            release.answers, release.total, release.variance, total_is_known=known
        )
        centers.append(shares.center)
    exact = CountedShares(held / held.sum(), np.sqrt(release.variance) / 4000, known)
    errors = (np.array(centers) - held / held.sum())[:, :4]
    covariance = exact.noise.dense()[:4, :4]
    assert accepts(moments_tail(errors, np.zeros(4), covariance))
    many = np.tile(errors, (8, 1))
    assert not accepts(moments_tail(many, np.zeros(4), 0.7 * covariance))


def test_where_few_labels_are_held_the_sparse_shares_are_nearer() -> None:
    held = np.zeros(2000, dtype=np.int64)
    held[[3, 70, 900]] = 12_000, 5000, 3000
    truth = held / held.sum()

    def error(promise: Any, sparse: bool) -> float:
        found = [released(held, promise, seed, sparse=sparse).mass for seed in range(5)]
        return float(np.mean([np.abs(mass - truth).sum() for mass in found]))

    for promise in (PURE, NORMAL):
        assert error(promise, sparse=True) < 0.5 * error(promise, sparse=False)


def test_it_is_sparse_by_default_where_there_are_many() -> None:
    assert released(counts(200), PURE, 1).provenance["sparse"] is True
    assert released(counts(20), PURE, 1).provenance["sparse"] is False


def test_no_band_where_nothing_is_known_of_the_people() -> None:
    assert released(counts(2000, 40), HIDDEN, 1).confidence_band(0.95) is None
    assert released(counts(2000, 40), PURE, 1).confidence_band(0.95) is not None


def test_the_band_is_stored() -> None:
    found = released(counts(30), PURE, 1)
    again = lw.Distribution.from_json(found.to_json())
    for target in ("empirical", "population"):
        for kind in ("pointwise", "simultaneous"):
            one: Any = found.confidence_band(0.9, kind=kind, target=target)
            two: Any = again.confidence_band(0.9, kind=kind, target=target)
            assert np.allclose(one.low, two.low) and np.allclose(one.high, two.high)


@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("count", [1, 3, 50])
def test_critical_values_are_those_of_drawn_errors(part: float, count: int) -> None:
    rng = np.random.default_rng(3)
    drawn = rng.laplace(scale=np.sqrt(part / 2), size=(40_000, count))
    drawn += rng.normal(scale=np.sqrt(1 - part), size=drawn.shape)
    critical = independent_critical_values(0.9, count, np.array([part]))[0]
    inside = int((np.abs(drawn).max(axis=1) <= critical).sum())
    assert stats.binomtest(inside, 40_000, 0.9).pvalue > 1e-6
    assert stats.binomtest(inside, 40_000, 0.92).pvalue < 1e-6


def test_other_releases_are_refused() -> None:
    summary = lw.protocol.ExactCounts.of_values([0.5], lw.Interval(0, 1, bins=8))
    for mechanism in (lw.mechanisms.PrefixSums(), lw.mechanisms.HistogramQuery(4)):
        release = mechanism.release(summary, NORMAL, rng=lw.seeded(1))
        with pytest.raises(UnsupportedChannelError, match="label counts"):
            lw.decoders.LabelShares().decode(release.channel, release)


def test_what_the_counts_miss_the_people_by_is_taken_from_all_alike() -> None:
    shares = CountedShares.of([60, 30, 0], 100, 4.0, total_is_known=True)
    assert shares.center == pytest.approx([190 / 300, 100 / 300, 10 / 300])
    assert shares.deviation == 0.02
    hidden = CountedShares.of([60, 30, 0], 90, 4.0, total_is_known=False)
    assert hidden.center == pytest.approx([2 / 3, 1 / 3, 0])


def test_the_sum_of_all_counts_must_be_known_to_divide_by_it() -> None:
    # 100 counts of variance 4, so their sum has a deviation of 20: 8 of these are 160 people.
    for people, known in ((150, False), (170, True)):
        shares = CountedShares.of(np.full(100, people / 100), people, 4.0, total_is_known=False)
        assert (shares.uncertainty(people, "normal") is not None) == known
    assert CountedShares.of([1.0], 1, 4.0, total_is_known=True).uncertainty(1, "normal") is not None


def test_one_site_with_laplace_noise_makes_tails_of_the_sum() -> None:
    summary = lw.protocol.ExactCounts(lw.Categories(5, missing="category"), counts(6))
    one, two = (
        lw.mechanisms.LabelCounts().release(summary, promise, rng=lw.seeded(seed))
        for seed, promise in enumerate((NORMAL, PURE))
    )
    for release, laplace in ((one, False), (two, True), (one + two, True), (two + one, True)):
        law = lw.decoders.LabelShares().decode(release.channel, release).uncertainty
        assert law is not None and (law.laplace != 0) == laplace


def test_shares_are_shrunk_by_the_law_of_their_noise() -> None:
    # Half of the labels are held by 6 deviations, half by nobody; the estimates are quantiles of
    # Laplace noise about these. By Bayes, with the density of that law:
    size, unit = 20_000, 1 / 60_000
    noise = stats.laplace.ppf((np.arange(size // 2) + 0.5) / (size // 2), scale=0.5**0.5)
    shares = np.concatenate([noise, noise + 6]) * unit
    found = UnbiasedShares(shares, np.full(size, unit**2), 0.0, 1, "laplace")
    posterior = shrunk(found).free / unit
    places = shares / unit
    density = [stats.laplace.pdf(places - held, scale=0.5**0.5) for held in (0, 6)]
    exact = 6 * density[1] / (density[0] + density[1])
    assert np.sqrt(np.mean((posterior - exact) ** 2)) < 0.07
    normal = shrunk(replace(found, tails="normal")).free / unit
    assert np.sqrt(np.mean((normal - exact) ** 2)) > 0.1


def test_an_estimate_beyond_what_normal_noise_does_may_be_laplace_noise() -> None:
    # 11 deviations: Laplace noise is beyond in one label of 10 million.
    found = UnbiasedShares(
        np.append(np.zeros(2**16), 1.0), np.full(2**16 + 1, (1 / 11) ** 2), 0.0, 1, "laplace"
    )
    assert shrunk(found).free[-1] < 0.999
