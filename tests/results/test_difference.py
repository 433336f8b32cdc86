"""Two groups compared: what is said, what was promised, and how often the band holds."""

import dataclasses
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lapwing import (
    Categories,
    Difference,
    Distribution,
    Guarantee,
    Integers,
    Interval,
    RandomizedResponse,
    SquareWave,
    simulate,
)
from lapwing.errors import ArgumentError, MismatchError
from lapwing.linear.covariance import Covariance
from lapwing.results.uncertainty import Uncertainty
from tests.signed_decoder import projected, unbiased

DOMAIN = Interval(0, 1, bins=16)
WAVE = SquareWave(DOMAIN, 2)
ONE = np.diff(np.round(30_000 * stats.beta(2, 5).cdf(DOMAIN.bin_edges))).astype(np.int64)
TWO = np.diff(np.round(20_000 * stats.beta(2, 4).cdf(DOMAIN.bin_edges))).astype(np.int64)


def decoded(counts: np.ndarray, seed: Any, randomizer: Any = WAVE) -> Distribution:
    tally = simulate(randomizer, counts, rng=seed)
    return projected(unbiased(randomizer.channel, tally))


def test_every_answer_is_the_first_minus_the_second() -> None:
    first, second = decoded(ONE, 1), decoded(TWO, 2)
    made = first.difference(second)
    points, levels = np.linspace(-0.1, 1.1, 9), [0.1, 0.5, 0.9]
    assert made.cdf(points) == pytest.approx(first.cdf(points) - second.cdf(points))
    assert made.quantile(levels) == pytest.approx(first.quantile(levels) - second.quantile(levels))
    assert made.mean() == pytest.approx(first.mean() - second.mean())
    expected = first.probability(0.2, 0.6) - second.probability(0.2, 0.6)
    assert made.probability(0.2, 0.6) == pytest.approx(expected)
    assert made.share(0.3) == pytest.approx(first.share(0.3) - second.share(0.3))
    assert f"{ONE.sum()} and {TWO.sum()} reports, same people" in repr(made)


def known(mass: list[float], deviation: float) -> Distribution:
    factor = np.zeros((len(mass), 1))
    factor[:2, 0] = deviation, -deviation
    size = len(mass)
    law = Uncertainty(
        np.array(mass),
        Covariance(np.zeros(size), factor, np.ones(1)),
        np.zeros(size),
        np.array(mass),
        1000,
        "by hand",
    )
    return Distribution(Interval(0, 3, bins=3), np.array(mass), 1000, uncertainty=law)


def test_independent_errors_add() -> None:
    one, two = known([0.5, 0.3, 0.2], 0.03), known([0.2, 0.3, 0.5], 0.04)
    made = one.difference(two, target="empirical")
    z = stats.norm.ppf(0.975)
    reach = z * 0.05  # 3, 4, 5
    assert made.probability_interval(-np.inf, 1) == pytest.approx((0.3 - reach, 0.3 + reach))
    assert made.share_interval(0.5) == pytest.approx((0.3 - reach, 0.3 + reach))
    band = made.confidence_band()
    assert band is not None
    assert band.low[0] == pytest.approx(0.3 - reach) and band.high[0] == pytest.approx(0.3 + reach)
    assert band.low[1:] == pytest.approx([0.3, 0.0]) and band.points.tolist() == [1, 2, 3]
    # The means may differ by a bin more or less, wherever the values are inside.
    low, high = made.mean_interval() or (1, 0)
    assert (low, high) == pytest.approx((-0.6 - 1 - reach, -0.6 + 1 + reach))
    # Only one error moves the whole curve, so the supremum is that of one normal number.
    whole = made.confidence_band(kind="simultaneous")
    assert whole is not None and whole.low[0] == pytest.approx(0.3 - reach, rel=0.1)
    assert whole.leaves_zero
    same = known([0.5, 0.3, 0.2], 0.03).difference(known([0.5, 0.3, 0.2], 0.03))
    equal = same.confidence_band(kind="simultaneous")
    assert equal is not None and not equal.leaves_zero


def test_the_shift_of_a_quantile_takes_both_sides_at_the_root_of_the_level() -> None:
    first, second = decoded(ONE, 1), decoded(TWO, 2)
    made = first.difference(second, target="empirical")
    one = first.quantile_interval(0.5, level=0.95**0.5)
    two = second.quantile_interval(0.5, level=0.95**0.5)
    assert one is not None and two is not None
    assert made.quantile_interval(0.5) == (one[0] - two[1], one[1] - two[0])


LOCAL = Guarantee(Fraction(1), Fraction(0), "replace-one", "local")


@pytest.mark.parametrize(
    ("people", "other", "expected"),
    [
        ("same", Fraction(2), Fraction(3)),
        ("different", Fraction(2), Fraction(2)),
        ("different", Fraction(1, 2), Fraction(1)),
    ],
)
def test_what_was_promised_by_both_together(
    people: Any, other: Fraction, expected: Fraction
) -> None:
    first = Distribution(DOMAIN, np.full(16, 1 / 16), guarantee=LOCAL)
    second = dataclasses.replace(first, guarantee=dataclasses.replace(LOCAL, epsilon=other))
    promise = first.difference(second, people=people).guarantee
    assert promise is not None and promise.epsilon == expected
    assert (promise.neighbors, promise.model) == ("replace-one", "local")


def test_the_safe_promise_is_the_default_and_unlike_ones_have_none() -> None:
    first = Distribution(DOMAIN, np.full(16, 1 / 16), guarantee=LOCAL)
    promise = first.difference(first).guarantee
    assert promise is not None and promise.epsilon == 2
    central = dataclasses.replace(LOCAL, model="central")
    for guarantee in (None, central):
        second = dataclasses.replace(first, guarantee=guarantee)
        assert first.difference(second).guarantee is None


def test_whom_it_is_about_and_who_is_in_both_are_two_questions() -> None:
    first, second = decoded(ONE, 1), decoded(TWO, 2)
    widths = {}
    for people in ("same", "different"):
        for target in ("empirical", "population"):
            made = first.difference(second, people=people, target=target)
            band = made.confidence_band()
            assert band is not None and band.target == target
            low, high = made.mean_interval() or (0, 0)
            ends = made.share_interval(0.2), made.probability_interval(0, 0.5)
            widths[people, target] = ((band.high - band.low)[5], high - low, ends)
            assert (made.caution is None) == ((people, target) != ("same", "population"))
    for target in ("empirical", "population"):
        assert widths["same", target] == widths["different", target]
    assert widths["same", "population"][0] > widths["same", "empirical"][0]
    assert widths["same", "population"][1] > widths["same", "empirical"][1]
    assert widths["same", "population"][2] != widths["same", "empirical"][2]
    # Asked for nothing: about the population, and the privacy costs add up.
    made = first.difference(second)
    assert (made.people, made.target) == ("same", "population")
    assert "treated as independent" in made.summary()


SHARE, SIDE = 0.3, 1500
"""The share of the first of two labels, and the people of each side."""


def pair_of_samples(rng: np.random.Generator, correlation: float, apart: float) -> list[Any]:
    """Return the labels of people asked twice, whose answers are alike so often."""
    first = rng.random(SIDE) < SHARE
    again = rng.random(SIDE) < SHARE + apart
    second = np.where(rng.random(SIDE) < correlation, first, again)
    return [np.array([held.sum(), SIDE - held.sum()]) for held in (first, second)]


@pytest.mark.parametrize("correlation", [0, 0.5, 1])
def test_about_the_population_of_the_same_people(correlation: float) -> None:
    """Both samplings count as independent, so the interval is exact at 0 and too wide at 1.

    These draws are covered 194, 197 and 200 times of 200; P(Bin(200, .95) < 176) = 2e-5. An
    interval about these very people is the broken one: it covers 96 at 0.
    """
    rng = np.random.default_rng(8)
    response = RandomizedResponse(Categories(["a", "b"]), 4)
    covered = {"population": 0, "empirical": 0}
    for _ in range(200):
        sides = [decoded(each, rng, response) for each in pair_of_samples(rng, correlation, 0)]
        for target in covered:
            made = sides[0].difference(sides[1], target=target)
            low, high = made.share_interval("a") or (1, 0)
            covered[target] += low <= 0 <= high
    assert covered["population"] >= (176 if correlation == 0 else 186)
    assert correlation > 0 or covered["empirical"] < 140


def test_what_cannot_be_compared_is_refused() -> None:
    first = decoded(ONE, 1)
    other = Distribution.of_counts([1, 2], Interval(0, 1, bins=2))
    with pytest.raises(MismatchError, match="same domain"):
        first.difference(other)
    with pytest.raises(ArgumentError, match="'same' or 'different'"):
        first.difference(first, people="both")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="'population' or 'empirical'"):
        first.difference(first, target="people")  # type: ignore[arg-type]
    signed = unbiased(WAVE.channel, simulate(WAVE, ONE, rng=1))
    with pytest.raises(ArgumentError, match="SignedEstimate"):
        first.difference(signed)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="level"):
        first.difference(first).confidence_band(1.0)
    with pytest.raises(ArgumentError, match="level"):
        first.difference(first).quantile_interval(0.5, level=-1)


def test_without_both_error_laws_there_is_no_band() -> None:
    first = decoded(ONE, 1)
    plain = Distribution.of_counts(TWO, DOMAIN)
    for made in (first.difference(plain), plain.difference(first)):
        assert made.confidence_band() is None and made.quantile_interval(0.5) is None
        assert made.mean_interval() is None and made.probability_interval(0, 1) is None
        assert made.share_interval(0.1) is None


def test_shares_of_labels_differ() -> None:
    response = RandomizedResponse(Categories(["a", "b", "c"]), 3)
    first = decoded(np.array([5000, 3000, 2000]), 1, response)
    second = decoded(np.array([3000, 3000, 4000]), 2, response)
    made = first.difference(second)
    band = made.confidence_band(0.999)
    assert band is not None and band.points.tolist() == [0, 1, 2]
    assert np.all((band.low <= [0.2, 0, -0.2]) & (band.high >= [0.2, 0, -0.2]))
    assert made.share_interval("a", level=0.999) == pytest.approx((band.low[0], band.high[0]))


def test_missing_values_are_left_out_of_both() -> None:
    domain = Integers(0, 2, missing="bin")
    response = RandomizedResponse(domain, 3)
    first = decoded(np.array([500, 300, 100, 900]), 1, response)
    second = decoded(np.array([300, 300, 300, 100]), 2, response)
    made = first.difference(second)
    band = made.confidence_band()
    assert band is not None and band.points.tolist() == [0, 1, 2]
    assert made.share_interval(None) is not None


DRAWS = 50
"""Pairs of tallies. Pointwise: the covered share of 15 edges has a standard deviation below .2 per
pair, so the mean of 50 has .028, and .83 is 4 of them below .95: 3e-5 (normal). Simultaneous:
P(Bin(50, .95) < 38) = 8e-7. A band that leaves out the error of the second, noisier group has
half the width and covers about .65 of the edges."""


def test_a_quantile_interval_is_of_one_probability() -> None:
    found = decoded(ONE, 1)
    with pytest.raises(ArgumentError, match="takes one probability"):
        found.difference(found).quantile_interval([0.1, 0.2])  # type: ignore[arg-type]


class OneSided(Difference):
    """Broken on purpose: the second group counts as known."""

    def _error_law(self, kind: Any) -> Uncertainty | None:
        whole = super()._error_law(kind)
        one = self.first.uncertainty
        assert whole is not None and one is not None
        return dataclasses.replace(whole, noise=one.noise, remainder=one.remainder)


@cache
def drawn() -> list[tuple[Distribution, Distribution]]:
    rng = np.random.default_rng(30)
    return [(decoded(ONE, rng), decoded(TWO, rng)) for _ in range(DRAWS)]


def coverage(kind: type[Difference]) -> tuple[float, int]:
    """Return the mean share of edges in the pointwise band, and how often all are in the other."""
    expected = Distribution.of_counts(ONE, DOMAIN).difference(Distribution.of_counts(TWO, DOMAIN))
    truth = expected.cdf(DOMAIN.right)[:-1]
    shares, whole = [], 0
    for first, second in drawn():
        made = kind(first, second, target="empirical")
        pointwise = made.confidence_band()
        simultaneous = made.confidence_band(kind="simultaneous")
        assert pointwise is not None and simultaneous is not None
        inside = (pointwise.low[:-1] <= truth) & (truth <= pointwise.high[:-1])
        shares.append(inside.mean())
        whole += bool(((simultaneous.low[:-1] <= truth) & (truth <= simultaneous.high[:-1])).all())
    return float(np.mean(shares)), whole


def test_the_bands_hold_as_often_as_they_say() -> None:
    share, whole = coverage(Difference)
    assert 0.83 <= share <= 0.99
    assert whole >= 38
    # A band that ignores one side is caught, by the same pairs.
    share, whole = coverage(OneSided)
    assert share < 0.82 and whole < 38
