"""Errors predicted before a release: against releases that are made, and against bands."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from lapwing import (
    Categories,
    Interval,
    RandomizedResponse,
    SquareWave,
    expected_error,
    recommend,
    release,
    seeded,
)
from lapwing.decoders import StepPursuit
from lapwing.errors import ArgumentError, MismatchError, PrivacyError
from lapwing.linear.operators.operator import dense
from lapwing.mechanisms import HistogramQuery, PrefixSums, RunningPrefixSums, SumTree
from lapwing.papers.functional_approximation import (
    AdaptiveQuantiles,
    MatchingPursuit,
    PolynomialProjection,
)
from lapwing.planning.simulation import reference_column
from lapwing.privacy.promise import Promise
from lapwing.protocol import ExactCounts
from lapwing.survey.publication import decode_release

DOMAIN = Interval(0, 1, bins=64, outside="clip")
WIDE = Interval(0, 1, bins=256, outside="clip")
PEOPLE = 4000
MOVED: dict[str, Any] = {"neighbors": "replace-one", "epsilon": 0.5, "delta": "1e-6"}
HIDDEN = MOVED | {"neighbors": "add-or-remove-one"}
PURE = {"neighbors": "replace-one", "epsilon": 0.5}
WITHIN = 0.1
KS = "kolmogorov_smirnov"


def unbiased_noise(mechanism, given, domain, *, releases=200):
    """Return errors of distribution functions [releases, symbols], by least squares from scratch.

    The number of people is known, where it is public, and nobody's value is missing.
    """
    held = domain.left.size
    counts = np.random.default_rng(1).multinomial(PEOPLE, np.full(held, 1 / held))
    whole = np.append(counts, 0)
    summary = ExactCounts(domain, whole)
    made = [
        mechanism.release(summary, Promise(**given), rng=seeded(seed)) for seed in range(releases)
    ]
    matrix = dense(made[0].channel.blocks[0].operator)
    noise = np.array([found.answers for found in made]) - matrix @ whole
    # Errors sum to zero over the present symbols: minus the others in the last of them.
    free = matrix[:, : held - 1] - matrix[:, held - 1 : held]
    if given["neighbors"] == "add-or-remove-one":
        free = np.hstack([free, matrix[:, held:]])
    errors = np.linalg.lstsq(free, noise.T, rcond=None)[0].T[:, : held - 1]
    return np.cumsum(errors, axis=1) / PEOPLE


@pytest.mark.parametrize(
    ("mechanism", "given"),
    [
        (PrefixSums(), MOVED),
        (PrefixSums(), HIDDEN),
        (PrefixSums(smooth=50), HIDDEN),
        (PrefixSums(), PURE),
        (SumTree(8), PURE),
        (SumTree(strategy="haar"), MOVED),
        (HistogramQuery(64), PURE),
    ],
    ids=repr,
)
def test_the_noise_is_that_of_releases(mechanism, given) -> None:
    expected = expected_error(DOMAIN, PEOPLE, mechanism=mechanism, repeats=1, **given)
    errors = unbiased_noise(mechanism, given, DOMAIN)
    spread = errors.std(axis=0)
    assert np.sqrt(np.mean(spread**2)) == pytest.approx(expected.deviation, rel=WITHIN)
    assert spread.max() == pytest.approx(expected.largest_deviation, rel=2 * WITHIN)
    largest = np.abs(errors).max(axis=1).mean()
    assert largest == pytest.approx(expected.noise, rel=WITHIN)
    # A prediction for another epsilon is told apart.
    other = expected_error(
        DOMAIN, PEOPLE, mechanism=mechanism, repeats=1, **(given | {"epsilon": 0.7})
    )
    assert largest != pytest.approx(other.noise, rel=WITHIN)


def test_a_projection_has_the_noise_of_its_curve() -> None:
    mechanism = PolynomialProjection(8, monotone=False)
    summary = ExactCounts(DOMAIN, np.append(np.full(64, 100), 0))
    made = [mechanism.release(summary, Promise(**MOVED), rng=seeded(s)) for s in range(300)]
    operator = made[0].channel.blocks[0].operator
    curves = np.array([operator.curve @ found.answers for found in made]) / 6400
    expected = expected_error(DOMAIN, 6400, mechanism=mechanism, repeats=1, **MOVED)
    errors = (curves - operator.curve @ (operator @ summary.counts.astype(float)) / 6400)[:, :-1]
    assert np.sqrt(errors.var(axis=0).mean()) == pytest.approx(expected.deviation, rel=WITHIN)
    assert np.abs(errors).max(axis=1).mean() == pytest.approx(expected.noise, rel=WITHIN)
    assert expected.together is None  # its own error is on top


@pytest.mark.parametrize("law", [pytest.param("beta", marks=pytest.mark.soak), "two bumps"])
def test_noise_and_sampling_on_two_distributions(law: str) -> None:
    expected = expected_error(WIDE, PEOPLE, mechanism=PrefixSums(), repeats=1, **MOVED)
    rng = np.random.default_rng(11)
    draw = {
        "beta": lambda: rng.beta(2, 5, PEOPLE),
        "two bumps": lambda: np.where(
            rng.random(PEOPLE) < 0.4, rng.normal(0.25, 0.08, PEOPLE), rng.normal(0.7, 0.1, PEOPLE)
        ),
    }[law]
    at = WIDE.right
    truth = (
        PEOPLE
        * {
            "beta": stats.beta(2, 5).cdf(at),
            "two bumps": 0.4 * stats.norm(0.25, 0.08).cdf(at) + 0.6 * stats.norm(0.7, 0.1).cdf(at),
        }[law]
    )
    found = []
    operator = None
    for seed in range(250):
        summary = ExactCounts.of_values(draw(), WIDE)
        made = PrefixSums().release(summary, Promise(**MOVED), rng=seeded(seed))
        if operator is None:
            matrix = dense(made.channel.blocks[0].operator)
            operator = np.linalg.pinv(matrix[:, :255] - matrix[:, 255:256])
            start = matrix[:, 255] * PEOPLE
        sums = np.cumsum(operator @ (made.answers - start))
        found.append(np.abs(sums - truth[:255]).max() / PEOPLE)
    assert np.mean(found) == pytest.approx(expected.together, rel=WITHIN)
    assert expected.together > 1.2 * max(expected.noise, expected.sampling)


@pytest.mark.parametrize(
    "mechanism",
    [
        HistogramQuery(16),
        AdaptiveQuantiles(20),
        pytest.param(PrefixSums(), marks=pytest.mark.soak),
    ],
    ids=repr,
)
def test_the_answer_is_as_far_off_as_it_says(mechanism) -> None:
    expected = expected_error(DOMAIN, PEOPLE, mechanism=mechanism, repeats=40, **MOVED)
    for kind in ("smooth", "spiky"):
        found = []
        for number in range(40):
            column = reference_column(kind, size=64, number=number)
            counts = np.random.default_rng([3, number]).multinomial(PEOPLE, column)
            summary = ExactCounts(DOMAIN, np.append(counts, 0))
            made = mechanism.release(summary, Promise(**MOVED), rng=seeded(1000 + number))
            curve = decode_release(made).cdf(np.arange(1, 65) / 64)
            found.append(np.abs(curve - np.cumsum(column)).max())
        assert np.mean(found) == pytest.approx(expected[KS].of(kind), rel=WITHIN)


def test_the_band_has_the_same_width() -> None:
    expected = expected_error(DOMAIN, PEOPLE, repeats=1, **MOVED)
    values = np.random.default_rng(2).random(PEOPLE)
    made = release(values, DOMAIN, rng=seeded(1), **MOVED).release
    band = StepPursuit().decode(made.channel, made).confidence_band(0.95)
    assert band is not None
    inner = slice(8, -8)  # near the ends the band is cut at 0 and 1
    half = (band.high - band.low)[inner] / 2 / 1.96
    assert np.median(half) == pytest.approx(expected.deviation, rel=0.15)


def test_adaptive_mechanisms_say_that_their_noise_is_not_known() -> None:
    for mechanism in (AdaptiveQuantiles(10), MatchingPursuit(terms=2, atoms=6)):
        found = expected_error(DOMAIN, PEOPLE, mechanism=mechanism, repeats=1, **MOVED)
        assert found.deviation is found.noise is found.together is None
        assert found[KS].typical > 0


def test_one_cell_has_nothing_to_be_wrong_about() -> None:
    found = expected_error(DOMAIN, PEOPLE, mechanism=HistogramQuery(1), repeats=1, **MOVED)
    assert found.deviation == pytest.approx(0, abs=1e-12) and found.noise < 1e-9


def test_two_symbols_have_the_noise_of_one_share() -> None:
    expected = expected_error(Interval(0, 1, bins=2), PEOPLE, repeats=1, **MOVED)
    assert expected.deviation == expected.largest_deviation > 0


def test_later_rounds_cost_more_noise_in_the_first() -> None:
    one = expected_error(DOMAIN, PEOPLE, mechanism=PrefixSums(), repeats=1, **MOVED)
    ten = expected_error(DOMAIN, PEOPLE, mechanism=RunningPrefixSums(10), repeats=1, **MOVED)
    assert 1.2 * one.deviation < ten.deviation < 1.5 * one.deviation


def test_more_people_are_needed_for_less_error() -> None:
    small, large = (
        expected_error(DOMAIN, users, repeats=2, **MOVED) for users in (PEOPLE, 16 * PEOPLE)
    )
    assert small.deviation == pytest.approx(16 * large.deviation, rel=1e-9)
    assert small.sampling == pytest.approx(4 * large.sampling, rel=WITHIN)
    assert large[KS].typical < small[KS].typical


@pytest.mark.parametrize("users", [0, True, 1.5, 2**40 + 1])
def test_users_are_a_whole_number(users: Any) -> None:
    with pytest.raises(ArgumentError, match="people must be"):
        expected_error(DOMAIN, users, **MOVED)


def test_what_a_release_refuses_is_refused() -> None:
    with pytest.raises(PrivacyError):
        expected_error(DOMAIN, 10, mechanism=SumTree(noise="normal"), **PURE)
    with pytest.raises(ArgumentError, match="repeats"):
        expected_error(DOMAIN, 10, repeats=0, **MOVED)


def test_errors_of_reports_are_those_that_are_recommended() -> None:
    advice = recommend(WIDE, epsilon=1, users=50_000)
    assert expected_error(WIDE, 50_000, epsilon=1) == advice.expected_error
    labels = Categories(30)
    advice = recommend(labels, epsilon=1, users=50_000)
    assert expected_error(labels, 50_000, epsilon=1) == advice.expected_error
    assert expected_error(Interval(0, 1), 50_000, epsilon=1).method.domain.bins == 200


def test_errors_of_a_given_randomizer_are_simulated() -> None:
    worse = expected_error(DOMAIN, 20_000, randomizer=SquareWave(DOMAIN, "0.5"), repeats=3)
    better = expected_error(DOMAIN, 20_000, randomizer=SquareWave(DOMAIN, 4), repeats=3)
    assert worse.predicted_by == "simulation" and set(worse) == {"wasserstein", KS}
    assert better["wasserstein"].typical < worse["wasserstein"].typical / 2
    even = expected_error(
        DOMAIN, 20_000, randomizer=SquareWave(DOMAIN, 4), like=np.ones(64), repeats=3
    )
    assert set(even["wasserstein"].by_kind) == {"like"}
    labels = Categories(6)
    found = expected_error(labels, 20_000, randomizer=RandomizedResponse(labels, 2))
    usual = expected_error(labels, 20_000, epsilon=2)
    assert usual["l1"].typical < 1.3 * found["l1"].typical
    with pytest.raises(MismatchError):
        expected_error(WIDE, 100, randomizer=SquareWave(DOMAIN, 4))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"epsilon": 1, "delta": 1e-6},
        {"mu": 1},
        {"epsilon": 1, "mechanism": PrefixSums()},
        {"epsilon": 1, "randomizer": SquareWave(DOMAIN, 1)},
        {**MOVED, "randomizer": SquareWave(DOMAIN, 1)},
        {**MOVED, "like": np.ones(64)},
    ],
    ids=repr,
)
def test_what_is_for_the_other_model_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        expected_error(DOMAIN, 100, **wrong)


def test_a_document_has_the_keys_of_its_kind() -> None:
    release = expected_error(DOMAIN, 100, repeats=1, **MOVED).to_document()
    assert {"method", "people", "distances", "deviation", "noise", "together"} <= set(release)
    reports = expected_error(DOMAIN, 100, epsilon=1).to_document()
    assert set(reports) == {"method", "people", "distances", "predicted_by"}
