"""Distributions: what they say about values, how they are drawn from, stored and refused."""

import dataclasses
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import (
    Categories,
    Distribution,
    Guarantee,
    Integers,
    Interval,
    LeastSquares,
    RandomizedResponse,
    SquareWave,
    simulate,
)
from lapwing.documents import canonical
from lapwing.errors import ArgumentError, DomainError
from lapwing.results.answers import share_in_band
from lapwing.results.symbols import missing_share
from tests.false_alarms import accepts, multinomial_tail

STEADY = settings(deadline=None, max_examples=40, derandomize=True)

DOMAINS: dict[str, Any] = {
    "bins": Interval(0, 1, bins=5),
    "log": Interval(1, 1e6, bins=6, scale="log"),
    "circle": Interval(0, 24, bins=6, circular=True),
    "atoms": Interval(-1, 3, bins=4, atoms=(-1, 0.5, 1, 3)),
    "missing": Interval(0, 10, bins=3, atoms=(0,), missing="bin"),
    "integers": Integers(-2, 3),
    "integers-missing": Integers(0, 4, missing="bin"),
    "labels": Categories(["a", "b", 3]),
    "labels-missing": Categories(3, missing="category"),
}
ORDERED = [name for name, domain in DOMAINS.items() if domain.ordered]


@st.composite
def distributions(draw: st.DrawFn, name: str) -> Distribution:
    domain = DOMAINS[name]
    present = domain.size - (domain.missing_index is not None)
    counts = st.lists(st.integers(0, 9), min_size=domain.size, max_size=domain.size)
    return Distribution.of_counts(draw(counts.filter(lambda c: sum(c[:present]) > 0)), domain)


@pytest.mark.parametrize("name", ORDERED)
@STEADY
@given(data=st.data())
def test_quantile_and_cdf_are_inverse(name: str, data: st.DataObject) -> None:
    made = data.draw(distributions(name))
    p = np.array([0.0, 1.0, *data.draw(st.lists(st.floats(0, 1), max_size=6))])
    # On a circle the last quantile is where the first one is: on the line it is cut to they differ.
    reached = made.cdf(replace(made.cumulative, circle=None).quantile(p))
    if np.all(made.domain.left < made.domain.right):
        assert reached == pytest.approx(p, abs=1e-11)
    assert np.all(reached >= p - 1e-11)
    x = np.sort(data.draw(st.lists(st.floats(-3, 30), min_size=2, max_size=6)))
    assert np.all(np.diff(made.cdf(x)) >= -1e-15)
    if made.domain.circular:  # beyond it a range goes round
        x = np.clip(x, made.domain.left[0], made.domain.right[-1])
    expected = float(made.cdf(x[1]) - made.cdf(x[0]))
    assert made.probability(x[0], x[1]) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", ORDERED)
@STEADY
@given(data=st.data())
def test_the_density_integrates_to_what_lies_in_bins(name: str, data: st.DataObject) -> None:
    made = data.draw(distributions(name))
    curve = made.cumulative
    width = curve.right - curve.left
    wide = width > 0
    middle = (curve.left + curve.right)[wide] / 2
    density = made.pdf(middle)
    assert np.dot(density, width[wide]) == pytest.approx(curve.mass[wide].sum(), abs=1e-12)
    assert density == pytest.approx(curve.mass[wide] / width[wide])
    # Atoms that hold something stand out, and there is nothing beyond the ends.
    held = ~wide & (curve.mass > 1e-12)
    assert np.all(np.isinf(made.pdf(curve.left[held])))
    low, high = curve.left[0], curve.right[-1]
    assert made.pdf([low - 1, high + 1, np.nextafter(high, np.inf)]).tolist() == [0, 0, 0]


def test_integers_have_no_density_between_them() -> None:
    made = Distribution(Integers(0, 2), np.array([0.5, 0, 0.5]))
    assert made.pdf([0, 0.5, 1, 2]).tolist() == [np.inf, 0, 0, np.inf]
    assert made.cdf([-0.1, 0, 1.9, 2]).tolist() == [0, 0.5, 0.5, 1]


def test_moments_by_hand() -> None:
    made = Distribution(Interval(0, 4, bins=2, atoms=(4,)), np.array([0.5, 0.25, 0.25]))
    assert made.mean() == pytest.approx(0.5 * 1 + 0.25 * 3 + 0.25 * 4)
    second = 0.5 * 4 / 3 + 0.25 * (64 - 8) / 6 + 0.25 * 16
    assert made.variance() == pytest.approx(second - 2.25**2)
    assert made.quantile([0.25, 0.5, 0.75, 0.9]).tolist() == [1, 2, 4, 4]


def test_missing_values_are_a_share_of_their_own() -> None:
    made = Distribution.of_values([1, 9, None, 9, float("nan")], DOMAINS["missing"])
    assert missing_share(made) == pytest.approx(0.4) and made.reports == 5
    full = Distribution.of_values([1, 9, 9], Interval(0, 10, bins=3, atoms=(0,)))
    assert missing_share(full) == 0
    x = np.linspace(-1, 11, 30)
    assert made.cdf(x) == pytest.approx(full.cdf(x))
    assert made.mean() == pytest.approx(full.mean())
    assert made.variance() == pytest.approx(full.variance())
    assert made.share(None) == pytest.approx(0.4) and made.share(9.5) == pytest.approx(0.4)
    nobody = Distribution.of_values([None], DOMAINS["missing"])
    with pytest.raises(ArgumentError, match="missing values"):
        nobody.cdf(1)


def test_labels_have_shares_only() -> None:
    made = Distribution.of_values(["a", 3, 3, "a", "b"], DOMAINS["labels"])
    assert [made.share(label) for label in ("a", "b", 3)] == [0.4, 0.2, 0.4]
    with pytest.raises(DomainError):
        made.share("violet")
    for ask in (
        lambda: made.cdf(0),
        lambda: made.quantile(0.5),
        made.mean,
        made.variance,
    ):
        with pytest.raises(DomainError, match="no order"):
            ask()


@pytest.mark.parametrize("name", DOMAINS)
def test_samples_have_the_law(name: str) -> None:
    domain = DOMAINS[name]
    mass = np.arange(1.0, domain.size + 1) / np.arange(1, domain.size + 1).sum()
    made = Distribution(domain, mass)
    values = made.sample(20_000, rng=5)
    counts = np.bincount(domain.index(values), minlength=domain.size)
    assert accepts(multinomial_tail(counts, mass))
    assert not accepts(multinomial_tail(counts, mass[::-1]))
    assert (
        made.sample(3, rng=np.random.default_rng(5)).tolist()
        == pytest.approx(made.sample(3, rng=5).tolist(), nan_ok=True)
        if domain.ordered
        else True
    )
    assert len(made.sample(0, rng=1)) == 0


def test_samples_spread_evenly_within_a_bin() -> None:
    made = Distribution(Interval(2, 6, bins=2), np.array([0.0, 1.0]))
    values = made.sample(20_000, rng=1)
    counts = np.histogram(values, bins=8, range=(4, 6))[0]
    assert counts.sum() == 20_000 and accepts(multinomial_tail(counts, np.full(8, 1 / 8)))


@pytest.mark.parametrize(
    "mass",
    [
        [0.5, 0.5],
        [0.2] * 4,
        [[0.25] * 4],
        [0.5, 0.5, 0.5, -0.5],
        [np.nan, 0.5, 0.25, 0.25],
        [np.inf, 0, 0, 0],
        [1.0, 0, 0, 1e-5],
        [0.0] * 4,
    ],
)
def test_what_is_no_distribution_is_refused(mass: list[float]) -> None:
    with pytest.raises(ArgumentError):
        Distribution(Interval(0, 1, bins=4), np.array(mass))


@pytest.mark.parametrize(
    "counts", [[], [0, 0, 0, 0], [1, -1, 1, 1], [np.nan, 1, 1, 1], [np.inf, 1, 1, 1], 3, [[1] * 4]]
)
def test_what_are_no_counts_is_refused(counts: Any) -> None:
    with pytest.raises(ArgumentError):
        Distribution.of_counts(counts, Interval(0, 1, bins=4))


def test_nothing_can_be_changed() -> None:
    mass = np.array([0.25, 0.75])
    made = Distribution(Interval(0, 1, bins=2), mass)
    mass[0] = 9
    assert made.mass.tolist() == [0.25, 0.75]
    with pytest.raises(ValueError, match="read-only"):
        made.mass[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.reports = 5  # type: ignore[misc]


def test_the_representation_shows_no_numbers() -> None:
    made = Distribution.of_counts([3, 1], Integers(0, 1))
    assert "Integers" in repr(made) and "4 reports" in repr(made) and "0.75" not in repr(made)


def decoded() -> dict[str, Distribution]:
    wave = SquareWave(Interval(0, 1, bins=8), 2)
    missing = RandomizedResponse(DOMAINS["integers-missing"], 2)
    labels = RandomizedResponse(DOMAINS["labels"], Fraction(1, 3))
    out = {}
    for name, randomizer in (("wave", wave), ("missing", missing), ("labels", labels)):
        counts = 1000 * (np.arange(randomizer.domain.size) + 1)
        made = LeastSquares().decode(randomizer.channel, simulate(randomizer, counts, rng=1))
        assert isinstance(made, Distribution)
        out[name] = made
    return out


DECODED = decoded()


@pytest.mark.parametrize("name", DECODED)
def test_stored_and_back(name: str) -> None:
    made = DECODED[name]
    again = Distribution.from_json(made.to_json())
    assert again.domain == made.domain and again.guarantee == made.guarantee
    assert np.array_equal(again.mass, made.mass) and again.reports == made.reports
    assert again.provenance == made.provenance
    for kind in ("pointwise", "simultaneous"):
        for target in ("empirical", "population"):
            one = made.confidence_band(0.9, kind=kind, target=target)  # type: ignore[arg-type]
            two = again.confidence_band(0.9, kind=kind, target=target)  # type: ignore[arg-type]
            assert one is not None and two is not None
            assert two.low == pytest.approx(one.low, abs=1e-5)
            assert two.high == pytest.approx(one.high, abs=1e-5)
    # What was loaded once is the same bytes for ever.
    assert again.to_json() == Distribution.from_json(again.to_json()).to_json()
    assert canonical(json.loads(again.to_json())) == canonical(again.to_document())


@STEADY
@given(st.lists(st.floats(1e-9, 1), min_size=5, max_size=5))
def test_storing_changes_no_bit(weights: list[float]) -> None:
    mass = np.array(weights) / sum(weights)
    made = Distribution(DOMAINS["bins"], mass)
    again = Distribution.from_json(made.to_json())
    assert np.array_equal(again.mass, made.mass)
    assert Distribution.from_json(again.to_json()).to_json() == made.to_json()


def test_without_an_error_law_there_is_no_band() -> None:
    made = Distribution.of_counts([1, 1], Integers(0, 1))
    assert made.confidence_band() is None and share_in_band(made) is None
    again = Distribution.from_json(made.to_json())
    assert again.uncertainty is None and again.guarantee is None


def test_the_band_among_those_present() -> None:
    made = DECODED["missing"]
    band = made.confidence_band(0.9)
    assert band is not None and band.points.tolist() == [0, 1, 2, 3, 4]
    assert made.uncertainty is not None
    expected = made.uncertainty.given_present()
    assert band.low.size == expected.center.size == 5
    share = share_in_band(made)
    assert share is not None and 0.5 <= share <= 1
    # When by the counts nobody's value is present, there is no band rather than a wild one.
    law = made.uncertainty
    center = np.array([-0.1, -0.1, 0, 0, 0, 1.2])
    gone = dataclasses.replace(made, uncertainty=dataclasses.replace(law, center=center))
    assert gone.confidence_band() is None and share_in_band(gone) is None


def test_the_band_of_labels_holds_the_shares() -> None:
    band = DECODED["labels"].confidence_band(0.999)
    assert band is not None
    truth = np.array([1, 2, 3]) / 6
    assert np.all((band.low <= truth) & (truth <= band.high))


def test_the_guarantee_is_carried_exactly() -> None:
    expected = Guarantee(Fraction(1, 3), Fraction(0), "replace-one", "local")
    assert Distribution.from_json(DECODED["labels"].to_json()).guarantee == expected
