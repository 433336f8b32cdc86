"""The law of signed subsets against enumeration, real reports and numerical derivatives."""

import math

import numpy as np
import pytest
from scipy.linalg import null_space, pinvh

from lapwing.decoders.likelihood.expectation_maximization import expect, likelihood_rows
from lapwing.errors import TallyError, UnsupportedChannelError
from lapwing.linear.operators.operator import PairSymmetric, dense
from lapwing.papers.wavelet.signed_subset_selection import SignedSubset
from lapwing.planning.simulation import simulate
from lapwing.protocol.messages.tally import CountTally
from tests.randomizers.numerical.signed_sets import SMALL, memberships, signed, vectors_law


@pytest.mark.parametrize(("d", "m"), SMALL)
def test_covariance_is_that_of_all_sets(d: int, m: int) -> None:
    randomizer = signed(d, 1.3, m)
    (block,) = randomizer.channel.blocks
    mass = np.random.default_rng(d + m).dirichlet(np.ones(2 * d))
    second = np.zeros((2 * d, 2 * d))
    mean = np.zeros(2 * d)
    for value in range(2 * d):
        for y, chance in vectors_law(randomizer, value).items():
            held = np.array(memberships(y), dtype=float)
            second += mass[value] * float(chance) * np.outer(held, held)
            mean += mass[value] * float(chance) * held
    assert np.allclose(block.mean(mass), mean, atol=1e-14)
    covariance = block.covariance(mass)
    assert np.allclose(covariance.dense(), second - np.outer(mean, mean), atol=1e-14)
    assert np.allclose(covariance.variance(), mean * (1 - mean), atol=1e-14)


def test_simulation_of_two_billion_people_is_drawn_in_parts() -> None:
    randomizer = signed(3, 1, 2)
    people = np.array([10**9, 1, 0, 10**9, 7, 3 * 10**8])
    counts = simulate(randomizer, people, rng=4)
    (block,) = randomizer.channel.blocks
    block.law.check_counts(counts.blocks[0], counts.reports[0])
    mean = block.mean(people.astype(float))
    assert np.abs(counts.blocks[0] - mean).max() < 7 * math.sqrt(people.sum() / 4)


def composite(law: SignedSubset, mean: np.ndarray, counts: np.ndarray, reports: int) -> float:
    """Presence (with its weight) and the sign given presence, written out."""
    seen_mean, seen = mean.reshape(-1, 2).sum(axis=1), counts.reshape(-1, 2).sum(axis=1)
    total = float(np.dot(counts, np.log(mean)) - np.dot(seen, np.log(seen_mean)))
    if law.members < law.coordinates:
        presence = np.dot(seen, np.log(seen_mean)) + np.dot(reports - seen, np.log(1 - seen_mean))
        total += (1 - 1 / law.coordinates) * float(presence)
    return total


@pytest.mark.parametrize(("d", "m"), [(1, 1), (4, 1), (4, 2), (6, 4), (6, 6)])
def test_score_is_the_gradient_and_information_its_mean_curvature(d: int, m: int) -> None:
    randomizer = signed(d, 2, m)
    (block,) = randomizer.channel.blocks
    rng = np.random.default_rng(7)
    mass = rng.dirichlet(np.full(2 * d, 5.0))
    people = rng.multinomial(5000, mass)
    counts, reports = block.sample(people, rng), 5000
    score, information = block.score_and_information(mass, counts, reports)

    def value(x: np.ndarray, numbers: np.ndarray) -> float:
        return composite(block.law, block.mean(x), numbers, reports)

    step = 1e-5
    for direction in np.eye(2 * d)[1:] - np.eye(2 * d)[0]:
        slope = value(mass + step * direction, counts) - value(mass - step * direction, counts)
        assert score @ direction == pytest.approx(slope / (2 * step), rel=1e-4, abs=1e-3)
        # The curvature at counts that equal their means is the expected one.
        exact = reports * block.mean(mass)
        bend = (
            value(mass + step * direction, exact)
            + value(mass - step * direction, exact)
            - 2 * value(mass, exact)
        )
        assert direction @ information.matvec(direction) == pytest.approx(
            -bend / step**2, rel=2e-3, abs=1e-2
        )
    zero, _ = block.score_and_information(mass, reports * block.mean(mass), reports)
    assert np.abs(zero).max() < 1e-8 * reports


@pytest.mark.parametrize(("d", "m"), [(4, 1), (4, 2), (7, 3), (7, 6), (5, 5)])
def test_information_is_all_that_counts_carry_when_people_are_spread_evenly(d: int, m: int) -> None:
    (block,) = signed(d, 1.7, m).channel.blocks
    uniform = np.full(2 * d, 1 / (2 * d))
    _, information = block.score_and_information(uniform, np.zeros(2 * d, dtype=np.int64), 1)
    matrix = dense(block.operator)
    best = matrix.T @ pinvh(block.covariance(uniform).dense(), rtol=1e-10) @ matrix
    contrasts = null_space(np.ones((1, 2 * d)))
    found = contrasts.T @ dense(information) @ contrasts
    assert np.allclose(found, contrasts.T @ best @ contrasts, rtol=1e-9, atol=1e-9)
    # Differences alone carry less, unless every coordinate is always in.
    pairs = np.kron(np.eye(d), [[0.5, -0.5], [-0.5, 0.5]])
    signs = contrasts.T @ pairs @ dense(information) @ pairs @ contrasts
    gap = np.linalg.eigvalsh(found - signs)
    assert gap.min() > -1e-9
    assert (gap.max() > 1e-3) == (m < d)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_expectation_maximization_climbs_to_the_truth(m: int) -> None:
    randomizer = signed(4, 3, m)
    (block,) = randomizer.channel.blocks
    truth = np.array([0.3, 0.05, 0.02, 0.2, 0.2, 0.03, 0.1, 0.1])
    reports = 10**12
    counts = np.rint(reports * block.mean(truth)).astype(np.int64)
    counts[0] += reports * m - counts.sum()
    rows = likelihood_rows(
        randomizer.channel, CountTally([counts], [reports], randomizer.channel.fingerprint)
    )
    assert len(rows) == (1 if m == 1 else 2)
    mass, previous = np.full(8, 1 / 8), -math.inf
    for _ in range(2000):
        expected, likelihood = expect(rows, mass)
        assert likelihood >= previous - 1e-9 * abs(likelihood)
        mass, previous = expected / expected.sum(), likelihood
    assert np.abs(mass - truth).max() < 1e-6


def test_unbiased_differences_and_masses() -> None:
    randomizer = signed(5, 2, 2)
    (block,) = randomizer.channel.blocks
    law = block.law
    mass = np.random.default_rng(2).dirichlet(np.ones(10))
    exact = 10**6 * block.mean(mass)
    assert np.allclose(law.differences(exact, 10**6), mass[0::2] - mass[1::2])
    assert np.allclose(law.masses(exact, 10**6), mass[0::2] + mass[1::2])
    uniform = block.covariance(np.full(10, 0.1)).dense()
    difference, total = np.array([1.0, -1.0]), np.array([1.0, 1.0])
    pair = uniform[:2, :2]
    assert law.difference_variance(7) == pytest.approx(
        difference @ pair @ difference / law.gain**2 / 7
    )
    assert law.mass_variance(7) == pytest.approx(total @ pair @ total / law.lift**2 / 7)
    with pytest.raises(UnsupportedChannelError, match="only about signs"):
        signed(5, 1, 5)._law.masses(exact, 10**6)
    assert signed(5, 1, 5)._law.mass_variance(7) == math.inf


def test_pair_symmetric_equals_its_matrix() -> None:
    operator = PairSymmetric(3, own=0.5, opposite=0.2, other=0.05)
    expected = np.full((6, 6), 0.05)
    for k in range(3):
        expected[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[0.5, 0.2], [0.2, 0.5]]
    assert np.array_equal(dense(operator), expected)
    x = np.random.default_rng(1).normal(size=6)
    assert np.allclose(operator.matvec(x), expected @ x)
    assert np.allclose(operator.rmatvec(x), expected.T @ x)
    assert np.allclose(operator.adjoint().matvec(x), expected.T @ x)


def test_impossible_counts_are_refused() -> None:
    law = signed(3, 1, 2)._law
    law.check_counts(np.array([3, 2, 1, 2, 1, 1]), 5)
    with pytest.raises(TallyError, match="sum to 10"):
        law.check_counts(np.array([3, 2, 1, 2, 1, 2]), 5)
    with pytest.raises(TallyError, match="no coordinate"):
        law.check_counts(np.array([4, 2, 1, 2, 1, 0]), 5)
