"""Bands of a release at all bins: the posterior is exact, and holds where cells alone do not."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from lapwing.decoders.empirical_bayes.coarse_model import Cells
from lapwing.decoders.empirical_bayes.gaussian_model import NormalPrior
from lapwing.decoders.releases.fine_band import FineLikelihood, FinePosterior, fine_band
from lapwing.decoders.releases.spectral_pursuit import SpectralPursuit
from lapwing.linear.operators.operator import as_operator
from lapwing.planning.release_defaults import recommended_mechanism
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.uncertainty import Uncertainty
from tests.false_alarms import COVERAGE_WINDOW, LEAST_TABLES, SORTED_TABLES

RNG = np.random.default_rng(3)
SIZE, NUMBER, PEOPLE = 30, 8, 500
CELLS = Cells.of(np.array([0, 1, 4, 9, 12, 20, 26, 29]), SIZE)
CELLS = Cells(CELLS.start, CELLS.cell, CELLS.share * RNG.uniform(0.5, 1.5, SIZE))
CELLS = Cells(CELLS.start, CELLS.cell, CELLS.share / CELLS.total(CELLS.share)[CELLS.cell])
MATRIX = RNG.normal(size=(SIZE + 3, SIZE))
ANSWERS = PEOPLE * MATRIX @ RNG.dirichlet(np.ones(SIZE)) + RNG.normal(size=SIZE + 3) * 5
PRIOR = RNG.normal(size=(NUMBER, NUMBER))
PRIOR = PRIOR @ PRIOR.T / NUMBER**3
MEAN, SINGLE = np.full(NUMBER, 1 / NUMBER), np.full(NUMBER, 0.01)
LEARNED = SimpleNamespace(
    evidence=SimpleNamespace(pilot=RNG.dirichlet(np.ones(NUMBER)), reports=PEOPLE),
    prior=NormalPrior(MEAN, PRIOR),
)


def likelihood(*, hidden: bool) -> FineLikelihood:
    return FineLikelihood.of(
        as_operator(MATRIX), ANSWERS, people=PEOPLE, variance=25.0, hidden=hidden
    )


def test_the_likelihood_is_that_of_the_answers_and_of_a_known_total() -> None:
    given = likelihood(hidden=True)
    np.testing.assert_allclose(given.information, PEOPLE**2 / 25 * MATRIX.T @ MATRIX)
    np.testing.assert_allclose(given.score, PEOPLE / 25 * MATRIX.T @ ANSWERS)
    known = likelihood(hidden=False)
    more = known.information - given.information
    np.testing.assert_allclose(more, np.full((SIZE, SIZE), more[0, 0]))
    # It says that the total is one, ten times as surely as any answer says anything.
    np.testing.assert_allclose(known.score - given.score, more[0])
    assert more[0, 0] == pytest.approx(100 * given.information.diagonal().max())


def test_the_posterior_of_the_bins_is_exact() -> None:
    given, inner = likelihood(hidden=True), RNG.uniform(0.5, 2, SIZE) * 1e-3
    weight = RNG.uniform(size=SIZE)
    found = FinePosterior.of(given, CELLS, inner, [np.ones(SIZE), weight])
    left = np.linalg.inv(np.diag(1 / inner) + given.information)
    spread = CELLS.spread()
    np.testing.assert_allclose(found.carried, spread - left @ given.information @ spread, atol=1e-9)
    np.testing.assert_allclose(found.offset, left @ given.score, atol=1e-9)
    np.testing.assert_allclose(found.variance, left.diagonal())
    told = given.information - given.information @ left @ given.information
    np.testing.assert_allclose(found.information, spread.T @ told @ spread, rtol=1e-6)
    reduced = given.score - given.information @ left @ given.score
    np.testing.assert_allclose(found.score, spread.T @ reduced, rtol=1e-5, atol=1e-6)
    last = np.append(CELLS.start[1:], SIZE) - 1
    for one, by in zip(found.deviations, (np.ones(SIZE), weight), strict=True):
        covariance = by[:, None] * left * by
        sums = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
        np.testing.assert_allclose(one.variance, sums.diagonal())
        np.testing.assert_allclose(one.at_ends @ one.at_ends.T, sums[np.ix_(last, last)])
        np.testing.assert_allclose(one.with_total, by * (left @ by), rtol=1e-6, atol=1e-12)


def exact(*, hidden: bool, population: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the pointwise center and covariance by matrices of everything at once."""
    given, pilot = likelihood(hidden=hidden), LEARNED.evidence.pilot
    spread, mass = CELLS.spread(), CELLS.of_symbols(LEARNED.evidence.pilot)
    cells = 4 * PRIOR + np.outer(pilot, pilot)
    people = spread @ cells @ spread.T + np.diag(CELLS.of_symbols(SINGLE))
    drawn = np.diag(mass / PEOPLE)
    seen = people + drawn
    gain = np.linalg.solve(np.eye(SIZE) + seen @ given.information, seen)
    from_answers = given.score - given.information @ spread @ MEAN
    center = spread @ MEAN + gain @ from_answers
    covariance = gain
    if population:
        share = people @ np.linalg.inv(seen)
        center = spread @ MEAN + share @ gain @ from_answers
        covariance = share @ gain @ share.T + people - share @ people
    total = center.sum()
    shares = center / total
    ratio = (np.eye(SIZE) - np.outer(shares, np.ones(SIZE))) / total
    return shares, ratio @ covariance @ ratio.T


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("target", ["empirical", "population"])
def test_bands_have_the_exact_posterior_s_variances(target, hidden) -> None:
    law = fine_band(likelihood(hidden=hidden), LEARNED, CELLS, np.zeros((NUMBER, 1)), SINGLE)
    law = law.about("pointwise", target)
    center, covariance = exact(hidden=hidden, population=target == "population")
    np.testing.assert_allclose(law.center, center, atol=1e-6)
    bins = np.sqrt(covariance.diagonal())
    sums = np.sqrt(np.cumsum(np.cumsum(covariance, axis=0), axis=1).diagonal()[:-1])
    found = law.cdf_deviation("empirical")
    assert (found[:-1] >= sums * (1 - 1e-5)).all() and found[:-1].mean() < 1.1 * sums.mean()
    assert found[-1] == pytest.approx(0, abs=1e-6)
    single = np.array([law.deviation(np.eye(SIZE)[i], "empirical") for i in range(SIZE)])
    assert (single >= bins * (1 - 1e-5)).all() and single.mean() < 2.5 * bins.mean()
    stored = Uncertainty.from_document(json.loads(json.dumps(law.to_document())), symbols=SIZE)
    np.testing.assert_array_equal(stored.center, law.center)


SETTINGS = {
    "public": Promise("replace-one", epsilon=4, delta="1e-6"),
    "hidden": Promise("add-or-remove-one", epsilon=4, delta="1e-6"),
    "a tree": Promise("replace-one", epsilon=4),
}


@pytest.mark.parametrize(
    ("promise", "people"),
    [*zip(SETTINGS.values(), (100_000, 2_000_000, 100_000), strict=True)],
    ids=SETTINGS,
)
def test_bands_hold_where_cells_are_wider_than_bins(promise, people) -> None:
    """Whole numbers in finer bins, of which some are more frequent: the density has no shape.

    With known shares of the cells in place of masses of the bins, no release of 40 held all edges.
    """
    bins, number = 200, np.arange(200)
    column = np.where(number % 3 == 0, 1.0 + 2 * (number % 5 == 0), 0.02)
    column *= np.exp(-((number - 90) ** 2) / 4000)
    pointwise, whole = [], 0
    for seed in range(SORTED_TABLES):
        drawn = np.random.default_rng(seed).multinomial(people, column / column.sum())
        domain = ExactCounts.of_values([1.0], Interval(0, 1, bins=bins)).domain
        held = ExactCounts(domain, np.concatenate([[0], drawn, [0, 0]]))
        made = recommended_mechanism(domain, promise).release(held, promise, rng=seeded(seed))
        found = SpectralPursuit(cells=48, passes=1).decode(made.channel, made)
        truth = np.cumsum(held.counts)[: bins + 2] / people
        inside = {}
        for kind in ("pointwise", "simultaneous"):
            band = found.confidence_band(0.95, kind=kind)
            inside[kind] = (band.low <= truth + 1e-12) & (truth <= band.high + 1e-12)
        used = (truth > 0.02) & (truth < 0.98)
        pointwise.append(inside["pointwise"][used].mean())
        whole += inside["simultaneous"].all()
    assert whole >= LEAST_TABLES * SORTED_TABLES
    assert np.mean(pointwise) > COVERAGE_WINDOW[0] - 0.03
