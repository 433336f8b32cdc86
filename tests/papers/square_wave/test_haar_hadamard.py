"""Haar levels in Hadamard bits: exact law, joint law of a population, unbiased coefficients."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lapwing.decoders.likelihood.expectation_maximization import ExpectationMaximization
from lapwing.decoders.unbiased.least_squares import LeastSquares
from lapwing.errors import DomainError, ReportError
from lapwing.linear.operators.operator import dense
from lapwing.linear.operators.sums import Haar, haar_level
from lapwing.papers.square_wave.haar_hadamard import (
    HaarHadamard,
    SignedHadamard,
    spread_over_rows,
)
from lapwing.papers.square_wave.tree_consistency import TreeConsistency
from lapwing.planning.simulation import simulate
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD, seeded
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally
from lapwing.testing.randomizer_contract import exact_law, exact_ratio
from tests.false_alarms import (
    DECODES,
    accepts,
    multinomial_tail,
)
from tests.signed_decoder import signed_estimate, unbiased


def sign(row: int, cell: int) -> int:
    """Return the Hadamard entry of a row and an index times the sign of the cell."""
    return int((-1) ** (bin(row & cell // 2).count("1") + cell % 2))


@pytest.mark.parametrize("cells", [2, 3, 6, 8])
def test_exact_law_of_a_level(cells: int) -> None:
    randomizer = SignedHadamard(Categories(cells), 1)
    rows = randomizer._outputs // 2
    assert rows == {2: 1, 3: 2, 6: 4, 8: 4}[cells]
    place = [cell * 2 * rows // cells for cell in range(cells)]
    near = Fraction(randomizer._threshold, WORD * rows)
    far = Fraction(WORD - randomizer._threshold, WORD * rows)
    laws = [exact_law(randomizer, cell) for cell in range(cells)]
    for law, cell in zip(laws, place, strict=True):
        for row, bit in itertools.product(range(rows), (0, 1)):
            agrees = sign(row, cell) == (-1) ** bit
            assert law[bytes([2 * row + bit])] == (near if agrees else far)
    assert exact_ratio(laws) == randomizer.certificate().ratio
    assert exact_ratio(laws) <= exponential_bounds(Fraction(1))[0]
    matrix = dense(randomizer.channel.blocks[0].operator)
    expected = [[float(law[bytes([y])]) for law in laws] for y in range(2 * rows)]
    np.testing.assert_allclose(matrix, expected, rtol=1e-12)


def test_certificate_fails_one_unit_past_the_threshold() -> None:
    randomizer = SignedHadamard(Categories(8), 1)
    assert randomizer.certificate().holds
    randomizer.__dict__["_threshold"] = randomizer._threshold + 1
    assert not randomizer.certificate().holds


@pytest.mark.parametrize("size", [8, 6])
def test_certificate_is_the_worst_ratio_of_all_levels(size: int) -> None:
    randomizer = HaarHadamard(Integers(0, size - 1, outside="clip"), 2)
    assert [part.randomizer.domain.size for part in randomizer.groups] == [2, 4, size]
    worst = max(
        exact_ratio([exact_law(part.randomizer, x) for x in range(part.randomizer.domain.size)])
        for part in randomizer.groups
    )
    assert randomizer.certificate().ratio == worst
    assert float(worst) == pytest.approx(math.exp(2), rel=1e-15)


def test_joint_law_of_people_over_rows() -> None:
    # Three people on two indices: every way in which they can draw their rows.
    people = np.array([1, 1, 1, 0])
    exact: Counter[tuple[int, ...]] = Counter()
    for rows in itertools.product(range(2), repeat=3):
        counts = [0, 0, 0, 0]
        for cell, row in zip((0, 1, 2), rows, strict=True):
            counts[2 * row + (sign(row, cell) < 0)] += 1
        exact[tuple(counts)] += 1
    outcomes = sorted(exact)
    law = np.array([exact[outcome] for outcome in outcomes]) / 8
    rng = np.random.default_rng(2)
    numbers = {outcome: number for number, outcome in enumerate(outcomes)}

    def tail(draw: Callable[[], np.ndarray]) -> float:
        found = [numbers.get(tuple(draw().tolist()), -1) for _ in range(20_000)]
        if -1 in found:
            return 0.0
        return multinomial_tail(np.bincount(found, minlength=law.size), law)

    assert accepts(tail(lambda: spread_over_rows(people, rng)))
    # The right mean, but the two outputs of a row drawn without regard to who is in it.
    assert not accepts(tail(lambda: rng.multinomial(3, [1 / 3, 1 / 6, 1 / 3, 1 / 6])))


def coefficients_by_hand(randomizer: HaarHadamard, tally: CountTally) -> np.ndarray:
    """Return the Haar coefficients by the formula of Hadamard response, report by report type."""
    size = randomizer.domain.size
    factor = (math.e + 1) / (math.e - 1)
    coefficients = np.zeros(size)
    coefficients[0] = 1
    for level, (counts, reports) in enumerate(zip(tally.blocks, tally.reports, strict=True)):
        for index in range(2**level):
            signs = [sign(y // 2, 2 * index) * (-1) ** (y % 2) for y in range(counts.size)]
            difference = factor * np.dot(signs, counts) / reports
            coefficients[2**level + index] = 2 ** (level / 2) * difference
    return coefficients


def test_decoders_invert_it_by_the_formula() -> None:
    randomizer = HaarHadamard(Interval(0, 1, bins=16), 1)
    people = np.random.default_rng(5).multinomial(50_000, np.arange(1, 17) / 136)
    tally = simulate(randomizer, people, rng=6)
    expected = coefficients_by_hand(randomizer, tally)
    for decoder in (LeastSquares(), TreeConsistency()):
        mass = signed_estimate(decoder, randomizer.channel, tally).mass
        np.testing.assert_allclose(Haar(16).matvec(mass), expected, atol=1e-9)


def test_coefficients_are_unbiased() -> None:
    randomizer = HaarHadamard(Interval(0, 1, bins=16), 1)
    people = np.random.default_rng(7).multinomial(8_000, np.arange(1, 17) / 136)
    truth = people / people.sum()
    rng = np.random.default_rng(8)
    decoder = TreeConsistency(band=False)
    masses = np.array(
        [
            signed_estimate(decoder, randomizer.channel, simulate(randomizer, people, rng=rng)).mass
            for _ in range(DECODES)
        ]
    )
    haar = Haar(16)

    def tail(estimates: np.ndarray) -> float:
        errors = (haar.matmat(estimates.T) - haar.matvec(truth)[:, None])[1:]
        z = errors.mean(axis=1) / (errors.std(axis=1, ddof=1) / math.sqrt(DECODES))
        return min(1.0, 15 * 2 * float(stats.norm.sf(np.abs(z).max())))

    assert accepts(tail(masses))
    clipped = np.maximum(masses, 0)
    assert not accepts(tail(clipped / clipped.sum(axis=1, keepdims=True)))


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_variance_of_a_coefficient(epsilon: float) -> None:
    randomizer = HaarHadamard(Interval(0, 1, bins=16), epsilon)
    mass = np.random.default_rng(9).dirichlet(np.ones(16))
    coefficients = Haar(16).matvec(mass)
    factor = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    for level, block in enumerate(randomizer.channel.blocks):
        inner = getattr(block.operator, "inner", block.operator)
        outputs = np.eye(inner.shape[0])
        linear = np.array([inner.differences(output) for output in outputs]).T
        variance = np.diag(linear @ block.covariance(mass).dense() @ linear.T)
        difference = coefficients[haar_level(level)] / 2 ** (level / 2)
        np.testing.assert_allclose(variance, factor**2 - difference**2, rtol=1e-9)


@pytest.mark.parametrize("size", [16, 12, 5])
def test_any_size_and_the_full_likelihood(size: int) -> None:
    randomizer = HaarHadamard(Interval(0, 1, bins=size), 2)
    people = np.random.default_rng(10).multinomial(
        2_000_000, np.random.default_rng(11).dirichlet(np.ones(size))
    )
    tally = simulate(randomizer, people, rng=12)
    truth = people / people.sum()
    result = ExpectationMaximization(tolerance=0.01).decode(randomizer.channel, tally)
    assert result.provenance["likelihood"] == "full"
    signed = unbiased(randomizer.channel, tally)
    assert signed.uncertainty is not None
    deviation = signed.uncertainty.cdf_deviation("empirical")[:-1]
    assert deviation.max() < 0.004
    for mass in (result.mass, signed.mass):
        assert np.abs((np.cumsum(mass - truth)[:-1]) / deviation).max() < 5


def test_score_is_zero_on_average_and_information_is_its_covariance() -> None:
    randomizer = HaarHadamard(Integers(0, 7), 1)
    mass = np.random.default_rng(13).dirichlet(np.ones(8))
    for block in randomizer.channel.blocks:
        matrix = dense(block.operator)
        law = matrix @ mass
        scores = np.array(
            [
                block.score_and_information(mass, counts, 1)[0]
                for counts in np.eye(law.size, dtype=np.int64)
            ]
        )
        np.testing.assert_allclose(law @ scores, 0, atol=1e-12)
        _, information = block.score_and_information(mass, np.zeros(law.size, dtype=np.int64), 1)
        # The score leaves out a constant along the total, which no distribution can move in.
        contrasts = np.eye(8) - 1 / 8
        expected = contrasts @ ((scores * law[:, None]).T @ scores) @ contrasts
        np.testing.assert_allclose(contrasts @ dense(information) @ contrasts, expected, atol=1e-10)


def test_reports_that_cannot_occur() -> None:
    randomizer = HaarHadamard(Integers(0, 5), 1)
    reports = randomizer.randomize(np.arange(6), rng=seeded(14))
    for position, record in ((2, [0, 2]), (4, [1, 4]), (1, [2, 8]), (3, [3, 0])):
        data = reports.data.copy()
        data[position] = record
        with pytest.raises(ReportError) as error:
            randomizer.tally(Reports(data, randomizer.fingerprint))
        assert error.value.position == position


@pytest.mark.parametrize("domain", [Categories(8), Interval(0, 1, bins=1)])
def test_domains_without_a_tree(domain: Any) -> None:
    with pytest.raises(DomainError, match=r"domain must (be an Interval|have 2 to)"):
        HaarHadamard(domain, 1)
