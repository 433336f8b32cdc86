"""Laplace noise of less than a person is mostly zero. Intervals hold the people all the same."""

import math

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.decoder import Decoder
from lapwing.decoders.releases.prefix_estimate import noise_tails
from lapwing.mechanisms.label_counts import LabelCounts
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.privacy.promise import Promise
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution

BINS, PEOPLE = 64, 3_000
DOMAIN = ExactCounts.of_values([0.5], lw.Interval(0, 1, bins=BINS)).domain
COUNTS = np.zeros(DOMAIN.size, dtype=np.int64)
COUNTS[1 : BINS + 1] = np.random.default_rng(0).multinomial(PEOPLE, np.full(BINS, 1 / BINS))
STEPS, SPECTRAL = lw.decoders.StepPursuit(smooth=False), lw.decoders.SpectralPursuit()
CURVE = np.cumsum(COUNTS)[: BINS + 2] / PEOPLE


def released(promise: Promise, seed: int, sites: int = 1) -> Release:
    """Return a release of the counts, of sites with as many people each, nearly."""
    each = [COUNTS // sites] * (sites - 1)
    each.append(COUNTS - sum(each))
    first, *others = (
        SumTree(8).release(ExactCounts(DOMAIN, one), promise, rng=lw.seeded(100 * seed + site))
        for site, one in enumerate(each)
    )
    for other in others:
        first = first + other
    return first


@pytest.mark.parametrize(("epsilon", "sites"), [("2", 1), ("9", 1), ("20", 1), ("9", 3)])
def test_the_kurtosis_of_the_noise_is_that_of_whole_numbers(epsilon: str, sites: int) -> None:
    release = released(Promise("replace-one", epsilon=epsilon), 1, sites)
    decay = math.exp(-1 / float(release.parts[0].noise.scale))
    numbers = np.arange(-200, 201.0)
    share = decay ** np.abs(numbers)
    share /= share.sum()
    second, fourth = (float(share @ numbers**k) for k in (2, 4))
    exact = (fourth / second**2 - 3) / sites
    assert noise_tails(release) == pytest.approx(exact, rel=1e-9)


def covered(result: Distribution) -> tuple[float, float, float, float]:
    """Return whether edges, the whole curve, single bins and ranges of four bins are covered."""
    law = result.uncertainty
    assert law is not None
    inside = []
    for kind in ("pointwise", "simultaneous"):
        band = result.confidence_band(kind=kind)
        assert band is not None
        inside.append((band.low <= CURVE + 1e-12) & (band.high + 1e-12 >= CURVE))
    found = []
    for length in (1, 4):
        held = []
        for first in range(1, BINS, 13):
            low, high = result.probability_interval((first - 1) / BINS, (first - 1 + length) / BINS)
            truth = COUNTS[first : first + length].sum() / PEOPLE
            held.append(low - 1e-12 <= truth <= high + 1e-12)
        found.append(float(np.mean(held)))
    return float(inside[0].mean()), float(inside[1].all()), found[0], found[1]


@pytest.mark.parametrize(
    ("decoder", "releases", "neighbors", "epsilon", "sites"),
    [
        (STEPS, 40, "replace-one", "14", 1),
        pytest.param(STEPS, 40, "add-or-remove-one", "8", 1, marks=pytest.mark.soak),
        (STEPS, 40, "add-or-remove-one", "10", 3),
        (SPECTRAL, 20, "replace-one", "14", 1),
    ],
)
def test_intervals_hold_where_noise_is_mostly_zero(
    decoder: Decoder, releases: int, neighbors: str, epsilon: str, sites: int
) -> None:
    promise = Promise(neighbors, epsilon=epsilon)
    held = [
        covered(decoder.decode(release.channel, release))
        for release in (released(promise, seed, sites) for seed in range(releases))
    ]
    shares = np.mean(held, axis=0)
    assert (shares > [0.92, 0.88, 0.93, 0.92]).all(), shares


@pytest.mark.parametrize(
    ("neighbors", "epsilon"), [("replace-one", 2.5), ("add-or-remove-one", 5.0)]
)
def test_shares_of_labels_hold_where_noise_is_mostly_zero(neighbors: str, epsilon: float) -> None:
    counts = np.array([400, 300, 150, 100, 40, 10, 0])  # nobody is missing
    truth = counts / counts.sum()
    inside = []
    for seed in range(200):
        held = ExactCounts(lw.Categories(6), counts)
        release = LabelCounts().release(
            held, Promise(neighbors, epsilon=str(epsilon)), rng=lw.seeded(seed)
        )
        result = lw.decoders.LabelShares().decode(release.channel, release)
        each = []
        for kind in ("pointwise", "simultaneous"):
            band = result.confidence_band(kind=kind)
            assert band is not None
            each.append((band.low <= truth + 1e-12) & (truth <= band.high + 1e-12))
        inside.append((each[0].mean(), each[1].all()))
    assert (np.mean(inside, axis=0) > 0.92).all(), np.mean(inside, axis=0)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-or-remove-one"])
def test_curves_of_counts_hold_where_noise_is_mostly_zero(neighbors: str) -> None:
    """Counts of all bins are what a table by segment has. With the tails of continuous noise
    .81 of these bands held."""
    inside = []
    for seed in range(100):
        release = LabelCounts().release(
            ExactCounts(DOMAIN, COUNTS),
            Promise(neighbors, epsilon="10" if neighbors == "replace-one" else "5"),
            rng=lw.seeded(seed),
        )
        result = lw.decoders.LabelShares().decode(release.channel, release)
        band = result.confidence_band(kind="simultaneous")
        assert band is not None
        inside.append(bool(((band.low <= CURVE + 1e-12) & (band.high + 1e-12 >= CURVE)).all()))
    assert np.mean(inside) > 0.86
