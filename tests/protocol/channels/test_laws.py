"""Laws of reports: covariances by enumeration, scores by differences, labels that are checked."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from lapwing.errors import TallyError, UnsupportedChannelError
from lapwing.linear.operators.banded import SlidingWindow
from lapwing.linear.operators.operator import CompoundSymmetric, Operator, as_operator, dense
from lapwing.protocol.channels.channel import FixedSizeSubset, Law, Multinomial, ProductOfBits
from tests.false_alarms import REPEATS, accepts, moments_tail

OUTPUTS = 4
BITS = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.2], [0.1, 0.1, 0.9], [0.4, 0.3, 0.2]])
COLUMNS = BITS / BITS.sum(axis=0)
OWN, MEMBERS = 0.8, 2
SUBSETS = CompoundSymmetric(OUTPUTS, diagonal=OWN, off_diagonal=(MEMBERS - OWN) / (OUTPUTS - 1))


def _subset_probability(value: int, chosen: tuple[int, ...]) -> float:
    if value in chosen:
        return OWN / math.comb(OUTPUTS - 1, MEMBERS - 1)
    return (1 - OWN) / math.comb(OUTPUTS - 1, MEMBERS)


def enumerated(law: Law, inputs: int) -> list[list[tuple[np.ndarray, float]]]:
    """Return every report of every input, as counts of outputs, with its probability."""
    reports: list[list[tuple[np.ndarray, float]]] = []
    for value in range(inputs):
        if isinstance(law, Multinomial):
            each = [(np.eye(OUTPUTS)[j], float(COLUMNS[j, value])) for j in range(OUTPUTS)]
        elif isinstance(law, ProductOfBits):
            each = []
            for pattern in itertools.product((0, 1), repeat=OUTPUTS):
                bits = np.array(pattern, dtype=float)
                chance = np.prod(np.where(bits == 1, BITS[:, value], 1 - BITS[:, value]))
                each.append((bits, float(chance)))
        else:
            each = []
            for chosen in itertools.combinations(range(OUTPUTS), MEMBERS):
                held = np.isin(np.arange(OUTPUTS), chosen).astype(float)
                each.append((held, _subset_probability(value, chosen)))
        assert sum(chance for _, chance in each) == pytest.approx(1)
        reports.append(each)
    return reports


LAWS = [
    pytest.param(Multinomial(), as_operator(COLUMNS), id="multinomial"),
    pytest.param(ProductOfBits(), as_operator(BITS), id="bits"),
    pytest.param(FixedSizeSubset(OUTPUTS, MEMBERS, OWN), SUBSETS, id="subsets"),
]
every = pytest.mark.parametrize(("law", "operator"), LAWS)


def _mass(operator: Operator) -> np.ndarray:
    mass = np.arange(1.0, operator.shape[1] + 1)
    return mass / mass.sum()


@every
def test_mean_and_covariance_by_enumeration(law: Law, operator: Operator) -> None:
    mass = _mass(operator)
    mean, second = np.zeros(OUTPUTS), np.zeros((OUTPUTS, OUTPUTS))
    for share, reports in zip(mass, enumerated(law, mass.size), strict=True):
        for counts, chance in reports:
            mean += share * chance * counts
            second += share * chance * np.outer(counts, counts)
    np.testing.assert_allclose(operator.matvec(mass), mean, atol=1e-14)
    covariance = law.covariance(operator, mass)
    np.testing.assert_allclose(covariance.dense(), second - np.outer(mean, mean), atol=1e-14)


def _marginal_log_likelihood(
    law: Law, operator: Operator, mass: np.ndarray, counts: np.ndarray, reports: int
) -> float:
    mean = operator.matvec(mass)
    if isinstance(law, Multinomial):
        # Free of the total, as the score is: Poisson, less a constant.
        return float(counts @ np.log(mean) - reports * mean.sum())
    likelihood = float(counts @ np.log(mean) + (reports - counts) @ np.log(1 - mean))
    # Cells of a set of fixed size exclude each other: contrasts carry (k - 1) / k of it.
    return likelihood * (1 - 1 / OUTPUTS if isinstance(law, FixedSizeSubset) else 1)


@every
def test_score_is_the_gradient_and_zero_at_expected_counts(law: Law, operator: Operator) -> None:
    mass, reports = _mass(operator), 1000
    counts = np.array([300, 420, 160, 120])
    if isinstance(law, FixedSizeSubset):
        counts = 2 * counts
    score, _ = law.score_and_information(operator, mass, counts, reports)
    step = 1e-6
    for symbol in range(mass.size):
        change = step * np.eye(mass.size)[symbol]
        upper = _marginal_log_likelihood(law, operator, mass + change, counts, reports)
        lower = _marginal_log_likelihood(law, operator, mass - change, counts, reports)
        assert score[symbol] == pytest.approx((upper - lower) / (2 * step), rel=1e-5, abs=1e-2)
    expected: Any = reports * operator.matvec(mass)  # not whole numbers, as counts are
    score, _ = law.score_and_information(operator, mass, expected, reports)
    np.testing.assert_allclose(score, 0, atol=1e-9 * reports)


@every
def test_information_is_the_expected_curvature(law: Law, operator: Operator) -> None:
    mass, reports = _mass(operator), 1000
    counts: Any = reports * operator.matvec(mass)
    _, information = law.score_and_information(operator, mass, counts, reports)
    step = 1e-6
    for symbol in range(mass.size):
        change = step * np.eye(mass.size)[symbol]
        upper, _ = law.score_and_information(operator, mass + change, counts, reports)
        lower, _ = law.score_and_information(operator, mass - change, counts, reports)
        curvature = -(upper - lower) / (2 * step)
        np.testing.assert_allclose(dense(information)[:, symbol], curvature, rtol=1e-5)
        np.testing.assert_allclose(information.matvec(change) / step, curvature, rtol=1e-5)


@every
def test_likelihood_rows_give_the_likelihood(law: Law, operator: Operator) -> None:
    mass, reports = _mass(operator), 1000
    counts = np.array([300, 420, 160, 120])
    rows = list(law.likelihood_rows(operator, counts, reports))
    found = sum(float(part @ np.log(matrix.matvec(mass))) for matrix, part in rows)
    if isinstance(law, Multinomial):
        assert found == pytest.approx(law.log_likelihood(operator, mass, counts), rel=1e-12)
    else:
        mean = operator.matvec(mass)
        by_hand = counts @ np.log(mean) + (reports - counts) @ np.log(1 - mean)
        assert found == pytest.approx(float(by_hand), rel=1e-12)
        complement = rows[1][0]
        np.testing.assert_allclose(dense(complement), 1 - dense(operator), atol=1e-15)
        r = np.arange(1.0, OUTPUTS + 1)
        np.testing.assert_allclose(complement.rmatvec(r), (1 - dense(operator)).T @ r, atol=1e-14)


def test_composite_likelihood_by_its_own_name() -> None:
    operator, mass = as_operator(BITS), np.array([0.5, 0.3, 0.2])
    counts = np.array([30, 42, 16, 12])
    mean = BITS @ mass
    by_hand = counts @ np.log(mean) + (100 - counts) @ np.log(1 - mean)
    found = ProductOfBits().composite_log_likelihood(operator, mass, counts, 100)
    assert found == pytest.approx(by_hand, rel=1e-14)


@every
def test_samples_from_any_operator_have_the_joint_law(law: Law, operator: Operator) -> None:
    people = 400 * np.arange(1, operator.shape[1] + 1)
    mean, covariance = np.zeros(OUTPUTS), np.zeros((OUTPUTS, OUTPUTS))
    for number, reports in zip(people, enumerated(law, people.size), strict=True):
        one = sum(chance * counts for counts, chance in reports)
        second = sum(chance * np.outer(counts, counts) for counts, chance in reports)
        mean += number * one
        covariance += number * (second - np.outer(one, one))
    rng = np.random.default_rng(1)
    drawn = np.array([law.sample(operator, people, rng) for _ in range(REPEATS)], dtype=float)
    assert accepts(moments_tail(drawn, mean, covariance))
    # The covariance of bits as if all people were alike is another one.
    everybody = people.sum() * law.covariance(operator, people / people.sum()).dense()
    assert not accepts(moments_tail(drawn, mean, everybody))


def test_a_draw_of_its_own_replaces_the_general_one() -> None:
    law = Multinomial(draw=lambda people, rng: people[::-1].copy())
    people = np.array([1, 2, 3])
    drawn = law.sample(as_operator(COLUMNS), people, np.random.default_rng(1))
    assert drawn.tolist() == [3, 2, 1]


# Labels are checked, not believed.


def test_multinomial_needs_columns_that_sum_to_one() -> None:
    Multinomial().check(as_operator(COLUMNS))
    for wrong in (BITS, np.vstack([COLUMNS, COLUMNS]), COLUMNS.T, COLUMNS * (1 + 1e-7)):
        with pytest.raises(UnsupportedChannelError, match="must sum to 1, but they miss it by"):
            Multinomial().check(as_operator(wrong))


def test_the_transposed_wave_is_not_a_channel() -> None:
    """The paper's matrix has its indices swapped in print; that orientation is refused."""
    wave = SlidingWindow(32, width=5, inside=0.15, outside=0.0078125)
    wave = SlidingWindow(32, width=5, inside=0.15, outside=(1 - 5 * 0.15) / 31)
    Multinomial().check(wave)
    with pytest.raises(UnsupportedChannelError):
        Multinomial().check(wave.adjoint())


def test_bits_need_probabilities() -> None:
    ProductOfBits().check(as_operator(BITS))
    for wrong in (BITS - 2, BITS + 1):
        with pytest.raises(UnsupportedChannelError, match="must be probabilities"):
            ProductOfBits().check(as_operator(wrong))


def test_subsets_need_columns_of_their_size() -> None:
    law = FixedSizeSubset(OUTPUTS, MEMBERS, OWN)
    law.check(SUBSETS)
    for wrong in (
        CompoundSymmetric(OUTPUTS, diagonal=0.8, off_diagonal=0.3),
        as_operator(BITS),
    ):
        with pytest.raises(UnsupportedChannelError, match="must sum to 2"):
            law.check(wrong)
    with pytest.raises(UnsupportedChannelError):
        FixedSizeSubset(5, MEMBERS, OWN).check(SUBSETS)


def test_counts_that_no_reports_can_give() -> None:
    Multinomial().check_counts(np.array([3, 4]), 7)
    with pytest.raises(TallyError, match="must sum to the 8 reports, but they sum to 7"):
        Multinomial().check_counts(np.array([3, 4]), 8)
    ProductOfBits().check_counts(np.array([7, 0, 7]), 7)
    with pytest.raises(TallyError, match="no bit can be set more often than there are reports, 7"):
        ProductOfBits().check_counts(np.array([3, 8]), 7)
    subsets = FixedSizeSubset(OUTPUTS, MEMBERS, OWN)
    subsets.check_counts(np.array([7, 3, 3, 1]), 7)
    for wrong in ([7, 3, 3, 2], [8, 3, 2, 1]):
        with pytest.raises(TallyError, match="must sum to 14 and none may exceed 7"):
            subsets.check_counts(np.array(wrong), 7)


def test_an_output_that_cannot_occur_is_no_division_by_zero() -> None:
    never = np.vstack([COLUMNS, np.zeros(3)])
    operator, mass = as_operator(never), np.array([0.5, 0.3, 0.2])
    counts = np.array([30, 42, 16, 12, 0])
    score, information = Multinomial().score_and_information(operator, mass, counts, 100)
    assert np.isfinite(score).all()
    assert np.isfinite(Multinomial().log_likelihood(operator, mass, counts))
    assert np.isfinite(information.matvec(np.zeros(3))).all()
