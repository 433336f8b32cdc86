"""Spectral pursuit: exact formulas of its likelihood and of the people, refusals, honest bands."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.stats import lognorm

from lapwing.decoders.releases.spectral_pursuit import (
    ReleasedMasses,
    SpectralPursuit,
    equal_runs,
    inner_information,
    people_given,
)
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.linear.operators.operator import dense
from lapwing.mechanisms.continual_prefix_sums import RunningPrefixSums
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.planning.simulation import reference_column
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.symbols import missing_share

PROMISES = {
    "public": Promise("replace-one", epsilon=1, delta="1e-6"),
    "hidden": Promise("add-or-remove-one", epsilon=1, delta="1e-6"),
}
PEOPLE = 5_000
DOMAIN = Interval(0, 1, bins=64, missing="bin", outside="clip")


def summary(*, bins=64, kind="smooth", people=PEOPLE, missing=0, number=7):
    column = reference_column(kind, size=bins, number=number)
    counts = np.random.default_rng(number).multinomial(people - missing, column)
    return ExactCounts(
        Interval(0, 1, bins=bins, missing="bin", outside="clip"), np.append(counts, missing)
    )


def lognormal_summary(*, bins, people):
    column = np.diff(lognorm(1, scale=np.exp(2)).cdf(np.linspace(0, 100, bins + 1)))
    drawn = np.random.default_rng(0).multinomial(people, column / column.sum())
    domain = Interval(0, 100, bins=bins, missing="bin")
    return ExactCounts(domain, np.concatenate([[0], drawn, [0, 0]]))


def released(promise, mechanism=None, **given):
    held = summary(**given)
    made = (mechanism or PrefixSums()).release(held, promise, rng=seeded(3))
    return held, made


@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)
def test_the_likelihood_is_that_of_the_noise_and_the_draw(promise) -> None:
    _, made = released(promise, SumTree(4))
    pilot = np.append(np.random.default_rng(1).dirichlet(np.ones(64)) * 0.9, 0.1)
    _, cells = equal_runs(DOMAIN, pilot, most=64)
    matrix = PEOPLE * dense(made.channel.blocks[0].operator)
    draw = (np.diag(pilot) - np.outer(pilot, pilot)) / PEOPLE
    if made.people is None:
        draw = draw + np.outer(pilot, pilot)
    noise = made.variance * np.eye(matrix.shape[0])
    loose = draw + 1e-4 / PEOPLE * np.outer(pilot, pilot)  # the total, which is known in the end
    spread = np.linalg.inv(matrix @ loose @ matrix.T + noise)
    said = ReleasedMasses.of(
        made.channel.blocks[0], made.blocks[0], cells, PEOPLE, hidden=made.people is None
    )
    information, score = said.near(pilot)
    expected = matrix.T @ spread @ matrix
    assert np.allclose(information, expected, atol=1e-8 * expected.max())
    right = matrix.T @ spread @ made.answers
    assert np.allclose(score, right, atol=1e-8 * np.abs(right).max())
    # And the people, given that law.
    spread = np.linalg.inv(matrix @ draw @ matrix.T + noise)
    shown = people_given(
        made.channel.blocks[0], made.blocks[0], pilot, PEOPLE, hidden=made.people is None
    )
    exact = pilot + draw @ matrix.T @ spread @ (made.answers - matrix @ pilot)
    assert np.allclose(shown, exact / exact.sum(), atol=1e-5)


@pytest.mark.parametrize("target", ["people", "population"])
def test_releases_that_are_nearly_exact_are_decoded(target) -> None:
    """The information about the total drowned all other, and no covariance was left."""
    promise = Promise("replace-one", epsilon=20, delta="1e-6")
    held, made = released(promise, PrefixSums(smooth=40), people=10**9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = SpectralPursuit(target=target, band=False).decode(made.channel, made)
    away = np.cumsum(answer.mass) - np.cumsum(held.counts) / held.people
    assert np.abs(away).max() < 1e-5


def test_the_people_are_found_where_there_is_hardly_any_noise() -> None:
    """Conjugate gradients stopped after 500 steps, and the curve was off by 30 people."""
    held = lognormal_summary(bins=1000, people=10**7)
    promise = Promise("replace-one", epsilon=16, delta="1e-6")
    made = PrefixSums(smooth=40).release(held, promise, rng=seeded(1))
    found = SpectralPursuit(band=False).decode(made.channel, made)
    away = np.cumsum(found.mass) - np.cumsum(held.counts) / held.people
    assert np.abs(away).max() < 10 / held.people


def test_the_population_is_a_distribution_where_steps_end_outside() -> None:
    """What a step put outside was taken from an empty bin, and the masses did not sum to one."""
    held = lognormal_summary(bins=4096, people=100_000)
    made = PrefixSums().release(held, PROMISES["public"], rng=seeded(1))
    found = SpectralPursuit(band=False, target="population").decode(made.channel, made)
    assert found.mass.sum() == pytest.approx(1)


@pytest.mark.parametrize("bins", [64, 1000])
def test_cells_hold_all_symbols_once(bins) -> None:
    domain = Interval(0, 1, bins=bins, atoms=[0.5], missing="bin", outside="clip")
    mass = np.random.default_rng(2).dirichlet(np.ones(domain.size))
    basis, cells = equal_runs(domain, mass, most=200)
    assert np.allclose(cells.total(cells.share), 1)
    assert basis.size == cells.start.size and basis.joined.size <= 202
    # What stands apart is a cell of its own.
    alone = np.bincount(cells.cell)[basis.apart]
    assert alone.tolist() == [1, 1]
    if bins == 64:
        assert basis.size == domain.size


def test_runs_of_many_bins_need_no_waves_of_the_bins() -> None:
    """A cosine for each of 16,383 bins would be 2 GB."""
    domain = Interval(0, 1, bins=16_383)
    even = np.full(domain.size, 1 / domain.size)
    tracemalloc.start()
    try:
        equal_runs(domain, even, most=256)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_halves_of_cells_are_told_apart_as_their_rows_are() -> None:
    _, made = released(PROMISES["public"], bins=400)
    _, cells = equal_runs(made.domain, np.full(401, 1 / 401), most=50)
    told = inner_information(made.channel.blocks[0], cells, PEOPLE)
    half = np.zeros(401)
    half[8:12], half[12:16] = 1 / 8, -1 / 8
    row = PEOPLE * made.channel.blocks[0].operator.matvec(half)
    assert told[1] == pytest.approx(row @ row / made.variance)


@pytest.mark.parametrize("target", ["people", "population"])
@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)
@pytest.mark.parametrize(
    "mechanism",
    [PrefixSums(), PrefixSums(smooth=40), SumTree(4), SumTree(strategy="haar")],
    ids=repr,
)
def test_it_is_near_the_people(mechanism, promise, target) -> None:
    held, made = released(promise, mechanism, missing=1_000)
    found = SpectralPursuit(target=target).decode(made.channel, made)
    truth = np.cumsum(held.counts) / PEOPLE
    assert np.abs(np.cumsum(found.mass) - truth).max() < 0.03
    assert missing_share(found) == pytest.approx(0.2, abs=0.02)
    assert found.guarantee == made.guarantee and found.reports == pytest.approx(PEOPLE, rel=0.02)


def test_nobody_is_missing_where_none_shows() -> None:
    _, made = released(PROMISES["public"])
    assert missing_share(SpectralPursuit(band=False).decode(made.channel, made)) == 0


def test_rounds_are_decoded_together() -> None:
    running, held = RunningPrefixSums(2), summary()
    made = running.release(held, PROMISES["public"], rng=seeded(1))
    found = SpectralPursuit(band=False).decode(made.channel, made)
    truth = np.cumsum(held.counts) / PEOPLE
    assert np.abs(np.cumsum(found.mass) - truth).max() < 0.03


def test_it_is_nearer_than_step_pursuit_and_the_people_nearer_than_their_law() -> None:
    """Paired: 40 releases; by chance alone 33 of 40 has probability 2e-5."""
    decoders = [
        SpectralPursuit(band=False, passes=1),
        SpectralPursuit(band=False, passes=1, target="population"),
    ]
    decoders.append(StepPursuit(band=False))
    errors = []
    for number in range(40):
        held = summary(number=number)
        made = PrefixSums().release(held, PROMISES["public"], rng=seeded(number))
        truth = np.cumsum(held.counts) / PEOPLE
        curves = [np.cumsum(one.decode(made.channel, made).mass) for one in decoders]
        errors.append([np.sqrt(np.mean((curve - truth) ** 2)) for curve in curves])
    people, law, steps = np.array(errors).T
    assert (people < steps).sum() >= 33
    assert (people < law).sum() >= 33


@pytest.mark.parametrize("bins", [48, pytest.param(500, marks=pytest.mark.soak)])
def test_bands_cover_what_they_say(bins) -> None:
    """40 releases of smooth and spiky columns; a mean below 0.9 or above 0.985 is a broken band."""
    inside: dict[str, list[float]] = {"empirical": [], "population": []}
    for number in range(40):
        kind = "smooth" if number % 2 else "spiky"
        law = np.cumsum(reference_column(kind, size=bins, number=number))
        held = summary(bins=bins, kind=kind, number=number)
        made = PrefixSums().release(held, PROMISES["public"], rng=seeded(number))
        found = SpectralPursuit(cells=48).decode(made.channel, made)
        truths = {"empirical": np.cumsum(held.counts)[:bins] / PEOPLE, "population": law}
        for target, truth in truths.items():
            band = found.confidence_band(0.95, target=target)
            used = (truth > 0.02) & (truth < 0.98)
            inside[target].append(((band.low <= truth) & (truth <= band.high))[used].mean())
    for covered in inside.values():
        assert 0.9 < np.mean(covered) < 0.985
