"""The band of all distributions that a release allows: exact where it can be told by hand."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from lapwing.errors import ArgumentError
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.allowed_band import allowed_band
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts

DOMAIN = Interval(0, 1, bins=32, missing="bin", outside="clip")
PEOPLE = 2_000
PROMISE = Promise("replace-one", epsilon=1, delta="1e-6")
MECHANISMS = [PolynomialProjection(4), MatchingPursuit(2, atoms=6), AdaptiveQuantiles(5)]


def released(mechanism, *, seed=0, promise=PROMISE):
    rng = np.random.default_rng(seed)
    mass = np.zeros(33)
    mass[rng.integers(0, 32, 3)] = 0.2
    mass[:32] += 0.4 / 32
    held = ExactCounts(DOMAIN, rng.multinomial(PEOPLE, mass / mass.sum()))
    return held, mechanism.release(held, promise, rng=seeded(seed))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_it_holds_the_whole_curve_of_data_that_no_decoder_assumes(mechanism) -> None:
    """Four at level 0.999: one misses with a probability below 4e-3, two with 6e-6."""
    missed = 0
    for seed in range(4):
        held, made = released(mechanism, seed=seed)
        band = allowed_band(made, 0.999)
        truth = np.cumsum(held.counts)[:32] / PEOPLE
        missed += not ((band.low <= truth + 1e-9) & (truth <= band.high + 1e-9)).all()
        assert (np.diff(band.low) >= -1e-9).all() and (np.diff(band.high) >= -1e-9).all()
    assert missed < 2


@pytest.mark.parametrize("noise", ["laplace", "normal"])
def test_counts_below_places_bound_it_as_they_do_by_hand(noise) -> None:
    _, made = released(AdaptiveQuantiles(3, noise=noise))
    band = allowed_band(made, 0.9)
    alone = 0.9 ** (1 / 3)
    deviations = -math.log1p(-alone) / math.sqrt(2)
    if noise == "normal":
        deviations = NormalDist().inv_cdf((1 + alone) / 2)
    limit = (deviations * math.sqrt(made.variance) + 1) / PEOPLE
    places, shares = made.mechanism.places(made), made.answers / PEOPLE
    low, high = np.zeros(33), np.ones(33)
    for place, share in zip(places, shares, strict=True):
        low[place:] = np.maximum(low[place:], share - limit)
        high[: place + 1] = np.minimum(high[: place + 1], share + limit)
    assert np.allclose(band.low[:-1], low[1:32], atol=1e-6)
    assert np.allclose(band.high, high[1:], atol=1e-6)


def test_with_hardly_any_noise_cells_are_known_at_their_ends() -> None:
    held, made = released(HistogramQuery(8), promise=Promise("replace-one", epsilon=20))
    band = allowed_band(made)
    truth = np.cumsum(held.counts)[:32] / PEOPLE
    ends = np.arange(3, 32, 4)
    assert np.allclose(band.low[ends], truth[ends], atol=0.01)
    assert np.allclose(band.high[ends], truth[ends], atol=0.01)
    # Inside a cell anything goes.
    assert band.high[5] - band.low[5] == pytest.approx(truth[7] - truth[3], abs=0.02)


def test_about_the_population_the_draw_is_added() -> None:
    _, made = released(PolynomialProjection(4))
    people, law = allowed_band(made, 0.95), allowed_band(made, 0.95, target="population")
    drawn = math.sqrt(math.log(2 / 0.025) / (2 * PEOPLE))
    inner = (law.low > 0) & (law.high < 1)
    assert inner.any()
    assert (law.high - law.low)[inner].min() >= 2 * drawn
    assert ((law.high - law.low) >= (people.high - people.low) - 1e-9).all()


def test_what_it_cannot_say_is_refused() -> None:
    hidden = Promise("add-or-remove-one", epsilon=1, delta="1e-6")
    _, made = released(PolynomialProjection(4), promise=hidden)
    with pytest.raises(ArgumentError, match="keeps secret"):
        allowed_band(made)
    _, made = released(PolynomialProjection(4))
    with pytest.raises(ArgumentError, match="level"):
        allowed_band(made, 1)
    with pytest.raises(ArgumentError, match="target"):
        allowed_band(made, target="all")  # type: ignore[arg-type]
