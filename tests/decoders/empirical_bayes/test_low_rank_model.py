"""Columns instead of matrices: each formula against the one with all symbols."""

import numpy as np
import pytest

from lapwing import Interval, MultiscaleWave, simulate
from lapwing.decoders.empirical_bayes.gaussian_model import (
    Likelihood,
    nearest_distribution,
    quadratic_likelihood,
    shrunk,
)
from lapwing.decoders.empirical_bayes.low_rank_model import (
    Atoms,
    BlockSearch,
    Columns,
    LowRankPosterior,
)

SIZE = 40
APART = 7


class Problem:
    """A small tally, with everything as whole matrices too."""

    def __init__(self) -> None:
        randomizer = MultiscaleWave(Interval(0, 1, bins=SIZE, outside="clip"), 2)
        rng = np.random.default_rng(5)
        people = rng.multinomial(30_000, rng.dirichlet(np.full(SIZE, 0.4)))
        tally = simulate(randomizer, people, rng=rng)
        pilot = 0.9 * people / people.sum() + 0.1 / SIZE
        self.likelihood = Likelihood.of(randomizer.channel, tally, pilot)
        self.information, self.slope = quadratic_likelihood(randomizer.channel, tally, pilot)
        self.mean = np.full(SIZE, 1 / SIZE)
        value = rng.normal(size=(SIZE, 9)) / SIZE
        self.columns = Columns.of(value - value.mean(axis=0), self.likelihood)
        self.variance = rng.uniform(0.1, 2, size=9)
        self.score = self.slope - self.information @ self.mean
        self.posterior = LowRankPosterior.of(self.columns, self.score, self.variance)
        value = self.columns.value
        self.covariance = shrunk(self.information, (value * self.variance) @ value.T)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem()


def test_the_likelihood_is_that_of_whole_matrices(problem: Problem) -> None:
    assert np.allclose(problem.likelihood.score, problem.slope, rtol=1e-9)
    assert np.allclose(problem.likelihood.curved(np.eye(SIZE)), problem.information, rtol=1e-9)
    assert np.allclose(problem.likelihood.score_at(problem.mean), problem.score, rtol=1e-6)
    bands = problem.likelihood.near_diagonal(5)
    for lag in range(5):
        assert np.allclose(bands[lag, : SIZE - lag], np.diag(problem.information, lag), rtol=1e-9)


def test_the_posterior_is_that_of_whole_matrices(problem: Problem) -> None:
    value, posterior = problem.columns.value, problem.posterior
    spread = posterior.whitened(value)
    scale = np.abs(problem.covariance).max()
    assert np.allclose(spread.T @ spread, problem.covariance, atol=1e-9 * scale)
    moved = problem.covariance @ problem.score
    assert np.allclose(value @ posterior.amplitude, moved, atol=1e-9 * np.abs(moved).max())
    residual = problem.score - problem.information @ moved
    assert np.allclose(posterior.residual(problem.score), residual, rtol=1e-6, atol=1e-6)
    inverse = np.diag(1 / problem.variance) + problem.columns.information
    assert np.allclose(posterior.variance(), np.diag(np.linalg.inv(inverse)), rtol=1e-8)


def test_its_nearest_distribution_is_that_of_the_whole_covariance(problem: Problem) -> None:
    start = problem.mean + problem.columns.value @ problem.posterior.amplitude
    start -= 1.2 / SIZE
    start += (1 - start.sum()) / SIZE
    push = problem.posterior.distribution(problem.mean)
    whole = nearest_distribution(
        problem.mean + problem.columns.value @ problem.posterior.amplitude,
        lambda cells: problem.covariance[np.ix_(cells, cells)],
        lambda cells, multipliers: problem.covariance[:, cells] @ multipliers,
    )
    assert np.allclose(push, whole, atol=1e-7)
    assert (whole == 0).any()


def test_cells_that_are_one_to_the_reports_do_not_make_it_go_round() -> None:
    place = (np.arange(200) + 0.5) / 200
    waves = np.sqrt(2) * np.cos(np.pi * np.outer(place, np.arange(1, 5))) / 200
    covariance = waves @ waves.T
    start = np.full(200, 1 / 200) + waves @ np.array([1.0, -0.9, 0.6, 0.3])
    assert start.min() < -1e-4
    found = nearest_distribution(
        start,
        lambda cells: covariance[np.ix_(cells, cells)],
        lambda cells, multipliers: covariance[:, cells] @ multipliers,
    )
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    # What was added is a wave: nothing was cut off.
    left = found - start - waves @ np.linalg.lstsq(waves, found - start, rcond=None)[0]
    assert np.abs(left).max() < 1e-7


def test_blocks_have_the_score_and_precision_of_whole_matrices(problem: Problem) -> None:
    allowed = np.ones(SIZE, dtype=np.bool_)
    allowed[APART] = False
    search = BlockSearch(problem.likelihood, allowed)
    found = search.candidates(problem.posterior, problem.score)
    residual = problem.posterior.residual(problem.score)
    information = problem.information
    left = information - information @ problem.covariance @ information
    starts = set()
    for number, (start, stop) in enumerate(zip(found.start, found.stop, strict=True)):
        inside = allowed[start:stop]
        if not inside.any():
            assert found.score[number] == 0
            continue
        starts.add((int(start), int(stop)))
        column = np.full(SIZE, -1 / SIZE)
        column[start:stop] += inside / inside.sum()
        assert found.score[number] == pytest.approx(column @ residual, rel=1e-6, abs=1e-6)
        assert found.precision[number] == pytest.approx(column @ left @ column, rel=1e-6)
    assert {(0, 1), (2, 4), (8, 16), (16, 32), (32, 40)} <= starts


def test_a_heavy_cell_is_explained_before_the_next_is_looked_for(problem: Problem) -> None:
    allowed = np.ones(SIZE, dtype=np.bool_)
    search = BlockSearch(problem.likelihood, allowed)
    found = search.heavy(problem.posterior, problem.score, least=4.0, limit=3)
    assert found.count >= 2
    # After the first, all is as if it had been among the columns from the beginning.
    first = found.subset(np.array([0]))
    columns = problem.columns.joined(Columns.of(first.columns(allowed), problem.likelihood))
    variance = np.append(problem.variance, first.variance)
    posterior = LowRankPosterior.of(columns, problem.score, variance)
    left = search.candidates(posterior, problem.score, widths=1)
    strength = np.where(left.score > 0, left.strength, 0.0)
    near = int(first.start[0])
    strength[max(near - 1, 0) : near + 2] = 0
    second = int(np.argmax(strength))
    assert int(found.start[1]) == second
    assert found.variance[1] == pytest.approx(left.atoms(np.array([second])).variance[0], rel=1e-6)


def test_atoms_are_units_of_mass_less_the_uniform_one() -> None:
    allowed = np.ones(SIZE, dtype=np.bool_)
    allowed[APART] = False
    atoms = Atoms(np.array([4, 20]), np.array([8, 21]), np.array([1.0, 1.0]))
    columns = atoms.columns(allowed)
    assert np.abs(columns.sum(axis=0)).max() < 1e-12
    assert columns[APART, 0] == -1 / SIZE
    assert columns[4, 0] == pytest.approx(1 / 3 - 1 / SIZE)
    assert columns[20, 1] == pytest.approx(1 - 1 / SIZE)
