"""Unbiased estimates of either sign, and the named ways to make distributions of them."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from lapwing import Categories, Integers, Interval, LeastSquares, RandomizedResponse, simulate
from lapwing.distances import energy, kolmogorov_smirnov, wasserstein
from lapwing.errors import ArgumentError, DomainError, FormatError
from lapwing.results import SignedEstimate
from lapwing.results.distribution import Distribution
from tests.signed_decoder import projected, unbiased

STEADY = settings(deadline=None, max_examples=40, derandomize=True)

signed_masses = st.lists(st.floats(-1, 1), min_size=5, max_size=5).map(
    lambda numbers: np.array(numbers) + (1 - sum(numbers)) / 5
)


def estimate(mass: np.ndarray) -> SignedEstimate:
    return SignedEstimate(Integers(1, 5), mass, reports=100, provenance={"class": "by-hand"})


@STEADY
@given(signed_masses)
def test_sums_are_those_of_the_signed_masses(mass: np.ndarray) -> None:
    made = estimate(mass)
    assert made.cdf([0, 1, 3.5, 5]) == pytest.approx([0, mass[0], mass[:3].sum(), 1], abs=1e-12)
    assert made.probability(1, 4) == pytest.approx(mass[1:4].sum(), abs=1e-12)
    assert np.array_equal(made.mass, mass)


@STEADY
@given(signed_masses)
def test_the_simplex_projection_is_the_nearest_distribution(mass: np.ndarray) -> None:
    made = estimate(mass).project("simplex")
    best = optimize.minimize(
        lambda x: ((x - mass) ** 2).sum(),
        np.full(5, 0.2),
        jac=lambda x: 2 * (x - mass),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(5)},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert made == pytest.approx(best.x, abs=1e-5)
    assert ((made - mass) ** 2).sum() <= ((best.x - mass) ** 2).sum() + 1e-9


def test_clip_and_normalize_by_hand() -> None:
    made = estimate(np.array([0.5, -0.25, 0.5, 0.25, 0.0])).project("clip-and-normalize")
    assert made == pytest.approx([0.4, 0, 0.4, 0.2, 0])


def test_a_projection_has_to_be_named() -> None:
    with pytest.raises(ArgumentError, match="projection"):
        estimate(np.full(5, 0.2)).project("softmax")  # type: ignore[arg-type]


def test_distances_of_signed_estimates() -> None:
    one = estimate(np.array([0.5, -0.5, 0.5, 0.5, 0.0]))
    two = estimate(np.full(5, 0.2))
    gaps = np.cumsum(one.mass - two.mass)[:-1]
    assert wasserstein(one, two) == pytest.approx(np.abs(gaps).sum())
    assert kolmogorov_smirnov(one, two) == pytest.approx(np.abs(gaps).max())
    assert energy(one, two) == pytest.approx(np.sqrt(2 * (gaps**2).sum()))


def test_it_is_unbiased_and_its_band_is_that_of_its_error_law() -> None:
    randomizer = RandomizedResponse(Integers(1, 5), 1)
    counts = np.array([0, 400, 0, 600, 0])
    estimates = [
        unbiased(randomizer.channel, simulate(randomizer, counts, rng=seed)) for seed in range(400)
    ]
    masses = np.array([made.mass for made in estimates])
    error = masses.std(axis=0) / 20
    assert np.all(np.abs(masses.mean(axis=0) - counts / 1000) < 6 * error)
    assert (masses < 0).any()
    # The projected answers are not unbiased: the same check must see it.
    projected = np.array([made.project("simplex") for made in estimates])
    error = projected.std(axis=0) / 20
    assert not np.all(np.abs(projected.mean(axis=0) - counts / 1000) < 6 * error)
    made = estimates[0]
    band, law = made.confidence_band(0.9), made.uncertainty
    assert band is not None and law is not None
    assert np.array_equal(law.center, made.mass)
    expected = law.band(
        level=0.9,
        kind="pointwise",
        target="empirical",
        left=made.domain.left,
        right=made.domain.right,
    )
    assert np.array_equal(band.low, expected.low)
    assert made.guarantee == randomizer.guarantee


def test_missing_and_labels() -> None:
    domain = Interval(0, 4, bins=2, missing="bin")
    made = SignedEstimate(domain, np.array([0.6, -0.1, 0.5]), reports=10)
    assert made.cdf([2, 4]) == pytest.approx([1.2, 1.0])
    assert made.project("simplex")[-1] == pytest.approx(0.45)
    labels = SignedEstimate(Categories(["a", "b"]), np.array([1.25, -0.25]), reports=10)
    assert labels.project("simplex").tolist() == [1, 0]
    with pytest.raises(DomainError, match="no order"):
        labels.cdf(0)
    assert made.confidence_band() is None


def test_the_masses_are_checked_and_cannot_be_changed() -> None:
    mass = np.array([0.5, -0.5, 0.5, 0.5, 0.0])
    made = estimate(mass)
    mass[0] = 9
    assert made.mass[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        made.mass[0] = 1
    with pytest.raises(ArgumentError, match="5 symbols"):
        estimate(mass[:4])
    assert not hasattr(made, "quantile") and not hasattr(made, "sample")


def decoded(**fields: Any) -> Distribution:
    """Return a distribution with its signed estimate."""
    randomizer = RandomizedResponse(Interval(0, 4, bins=4, missing="bin"), 1)
    tally = simulate(randomizer, [0, 400, 0, 600, 50], rng=5)
    result = LeastSquares(signed=True).decode(randomizer.channel, tally)
    return dataclasses.replace(result, **fields)


def test_it_is_stored_with_its_distribution_and_alone() -> None:
    result = decoded()
    assert result.signed is not None and result.signed.mass.min() < 0
    document = result.to_document()
    assert document["signed"] == result.signed.to_document()
    again = Distribution.from_json(result.to_json())
    assert again == result and again.signed == result.signed
    assert SignedEstimate.from_json(result.signed.to_json()) == result.signed
    plain = dataclasses.replace(result, signed=None)
    assert "signed" not in plain.to_document() and plain != result
    assert Distribution.from_json(plain.to_json()).signed is None
    for key in document["signed"]:
        broken = {**document["signed"], key: "?"}
        with pytest.raises(FormatError):
            SignedEstimate.from_document(broken)
        with pytest.raises(FormatError):
            Distribution.from_document({**document, "signed": broken})
    with pytest.raises(FormatError):
        Distribution.from_document({**document, "signed": None})


def test_it_is_about_what_its_distribution_is_about() -> None:
    result = decoded()
    assert result.signed is not None
    changed = decoded(reports=7, guarantee=None, provenance={"class": "another"})
    assert changed.signed is not None
    assert (changed.signed.reports, changed.signed.guarantee) == (7, None)
    assert changed.signed.provenance == {"class": "another"}
    other = SignedEstimate(result.domain, np.full(5, 0.2), 3)
    assert decoded(signed=other).signed.reports == result.reports  # type: ignore[union-attr]
    with pytest.raises(ArgumentError):
        decoded(signed=SignedEstimate(Integers(1, 4), np.full(4, 0.25), 3))


def test_its_band_and_intervals_are_those_of_its_projection() -> None:
    signed = decoded().signed
    assert signed is not None
    nearest = projected(signed)
    for kind in ("pointwise", "simultaneous"):
        ours, theirs = (one.confidence_band(0.9, kind=kind) for one in (signed, nearest))
        assert ours is not None and theirs is not None
        np.testing.assert_array_equal(ours.low, theirs.low)
        np.testing.assert_array_equal(ours.high, theirs.high)
    for span in ((0, 1), (0.5, 2.5), (1, 4)):
        assert signed.probability_interval(*span) == nearest.probability_interval(*span)
