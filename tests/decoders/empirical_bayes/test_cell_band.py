"""The band of a large domain beside the widened posterior of all of its symbols."""

import numpy as np
import pytest

from lapwing import Interval, MultiscaleWave, simulate
from lapwing.decoders.empirical_bayes.coarse_model import CellAnswer, cell_answer
from lapwing.decoders.empirical_bayes.dense_model import one_pass
from lapwing.decoders.empirical_bayes.gaussian_model import (
    Evidence,
    ScaledBasis,
    quadratic_likelihood,
)
from lapwing.decoders.empirical_bayes.low_rank_model import BLUR, WAVES
from lapwing.decoders.empirical_bayes.spectral_prior import always_allowed, cell_band, widened_band
from lapwing.results.uncertainty import triangular

SIZE = 512


@pytest.fixture(scope="module", params=[1])
def decoded(request: pytest.FixtureRequest) -> tuple[CellAnswer, ScaledBasis, Evidence]:
    domain = Interval(0, 1, bins=SIZE, outside="clip")
    randomizer = MultiscaleWave(domain, request.param)
    place = (np.arange(SIZE) + 0.5) / SIZE
    mass = 0.7 * place * (1 - place) / (place * (1 - place)).sum()
    mass[[10, 301]] += [0.2, 0.1]
    rng = np.random.default_rng(7)
    tally = simulate(randomizer, rng.multinomial(100_000, mass), rng=rng)
    scaled = ScaledBasis(domain, limit=WAVES, blur=BLUR * SIZE)
    answer = cell_answer(randomizer.channel, tally, scaled, passes=2)
    assert answer.cells.start.size < 0.6 * SIZE
    information, score = quadratic_likelihood(randomizer.channel, tally, answer.pilot)
    return answer, scaled, Evidence(information, score, answer.pilot, tally.total)


def test_it_is_that_of_all_symbols_within_a_few_per_cent(
    decoded: tuple[CellAnswer, ScaledBasis, Evidence],
) -> None:
    answer, scaled, evidence = decoded
    every = ScaledBasis(Interval(0, 1, bins=SIZE, outside="clip"))
    prior = one_pass(evidence, every, answer.mass).prior
    waves, local = always_allowed(answer.mass, scaled)
    whole = widened_band(evidence, prior, waves @ waves.T + np.diag(local) / 256)
    cells = cell_band(answer, scaled, evidence.reports)
    heights = np.cumsum(answer.mass)
    inner = (heights > 0.02) & (heights < 0.98)
    others = zip(cells.variants.listed().values(), whole.variants.listed().values(), strict=True)
    pairs = [(cells, whole), *others]
    assert len(pairs) == 4
    for one, two in pairs:
        ratio = (one.cdf_deviation("empirical") / two.cdf_deviation("empirical"))[inner]
        assert 0.9 < np.median(ratio) < 1.1
        assert ratio.min() > 0.6 and ratio.max() < 1.5
        # The centers differ by what single symbols seem to hold, which a cell leaves out.
        gap = (np.cumsum(one.center) - np.cumsum(two.center)) / two.cdf_deviation("empirical")
        assert np.sqrt(np.mean(gap[inner] ** 2)) < 0.6
        assert np.abs(gap[inner]).max() < 2.5


def test_what_moves_within_a_cell_has_the_information_of_whole_matrices(
    decoded: tuple[CellAnswer, ScaledBasis, Evidence],
) -> None:
    answer, _, evidence = decoded
    cells = answer.cells
    found = cells.inner_information(answer.likelihood)
    for number in (0, 30, 100, cells.start.size - 1):
        inside = np.flatnonzero(cells.cell == number)
        middle = np.cumsum(cells.share[inside]) - cells.share[inside] / 2
        halves = np.zeros(SIZE)
        halves[inside] = np.where(middle < 0.5, 1, -1) * cells.share[inside]
        assert found[number] == pytest.approx(halves @ evidence.information @ halves, rel=1e-6)


def test_triangular_columns_are_a_root_also_of_a_singular_matrix() -> None:
    half = np.random.default_rng(2).normal(size=(30, 12))
    covariance = half @ half.T
    columns = triangular(covariance)
    assert columns.shape[1] == 12
    assert np.allclose(columns @ columns.T, covariance)
    assert np.array_equal(triangular(np.zeros((4, 4))), np.zeros((4, 1)))
    few = triangular(covariance, limit=5)
    left = np.diag(covariance - few @ few.T)
    assert few.shape == (30, 5)
    assert left.min() > -1e-9
    assert left.sum() < 0.6 * np.trace(covariance)
