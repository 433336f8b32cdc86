"""Stochastic rounding and the piecewise mechanism: the promise, no bias, the papers' variances."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, ExpectationMaximization, Integers, Interval, simulate
from lapwing.distances import wasserstein
from lapwing.documents import canonical, parse
from lapwing.errors import (
    ArgumentError,
    DomainError,
    MismatchError,
    PrivacyError,
    ReportError,
    TallyError,
    UnsupportedChannelError,
)
from lapwing.linear.operators.operator import dense
from lapwing.papers.baselines.stochastic_rounding import StochasticRounding
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD, seeded
from lapwing.protocol.domains.domain_documents import build
from lapwing.protocol.messages.reports import Reports
from lapwing.randomizers.numerical.piecewise import MeanEstimate, Piecewise, grid_points
from lapwing.results.distribution import Distribution
from lapwing.tallies import CountTally
from lapwing.testing.randomizer_contract import exact_law, exact_ratio
from tests.false_alarms import (
    DECODES,
    PEOPLE,
    REPEATS,
    REPORTS_PER_VALUE,
    accepts,
    moments_tail,
    multinomial_tail,
)
from tests.signed_decoder import unbiased

KINDS = (StochasticRounding, Piecewise)
ELEVEN = Integers(0, 10)
BINS = Interval(-3, 8, bins=11)

kinds = pytest.mark.parametrize("kind", KINDS)
alone = pytest.mark.parametrize("kind", [StochasticRounding])
"""The piecewise mechanism stands in the contract suites."""

epsilons = pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 4, 8, 24])


def _stands_for(randomizer: Any) -> np.ndarray:
    """Return what each output contributes to the mean: two reports of it alone."""
    values = []
    for output in range(randomizer.channel.blocks[0].outputs):
        counts = np.zeros(randomizer.channel.blocks[0].outputs, dtype=np.int64)
        counts[output] = 2
        estimate = randomizer.mean(CountTally([counts], [2], randomizer.fingerprint))
        assert estimate.deviation == 0
        values.append(estimate.value)
    return np.array(values)


def _moments(randomizer: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of a report's contribution, for every input."""
    matrix, values = dense(randomizer.channel.blocks[0].operator), _stands_for(randomizer)
    mean = matrix.T @ values
    return mean, matrix.T @ values**2 - mean**2


def _points(domain: Any) -> np.ndarray:
    first, step = grid_points(domain)
    return first + step * np.arange(domain.size)


# The promise.


@alone
@epsilons
def test_ratio_by_enumeration_is_the_certificates(kind: Any, epsilon: float) -> None:
    for domain in (ELEVEN, BINS, Integers(0, 1)):
        randomizer = kind(domain, epsilon)
        laws = [exact_law(randomizer, point) for point in range(domain.size)]
        certificate = randomizer.certificate()
        assert certificate.ratio == exact_ratio(laws)
        assert certificate.holds and 0 <= certificate.loss < 1e-6
        table = np.array(
            [
                [float(law.get(code.to_bytes(1, "little"), 0)) for law in laws]
                for code in range(randomizer.channel.blocks[0].outputs)
            ]
        )
        np.testing.assert_allclose(dense(randomizer.channel.blocks[0].operator), table, atol=1e-15)


@alone
def test_a_threshold_one_higher_fails(kind: Any) -> None:
    for epsilon in (0.1, 1, 4):
        loose = kind(ELEVEN, epsilon)
        loose.__dict__["_threshold"] = kind(ELEVEN, epsilon)._threshold + 1
        laws = [exact_law(loose, point) for point in range(11)]
        assert exact_ratio(laws) > exponential_bounds(loose.epsilon)[0]
        assert not loose.certificate().holds
        with pytest.raises(PrivacyError, match="Do not use these thresholds"):
            loose.certificate().check()


def test_thresholds_of_stochastic_rounding_rise_evenly() -> None:
    rounding = StochasticRounding(ELEVEN, 1)
    rows = [rounding._upper_threshold(point) for point in range(11)]
    assert rows[0] == WORD - rounding._threshold and rows[-1] == rounding._threshold
    assert (
        max(np.diff([Fraction(row) for row in rows]))
        - min(np.diff([Fraction(row) for row in rows]))
        <= 1
    )
    published = {name: int(text, 16) for name, text in rounding._derived["thresholds"].items()}
    assert published == rounding._thresholds


# No bias, and the variances.


@kinds
@epsilons
def test_unbiased_on_eleven_inputs(kind: Any, epsilon: float) -> None:
    for domain in (ELEVEN, BINS):
        mean, _ = _moments(kind(domain, epsilon))
        np.testing.assert_allclose(mean, _points(domain), atol=1e-8)


@kinds
def test_real_reports_are_unbiased_on_eleven_inputs(kind: Any) -> None:
    randomizer = kind(BINS, 1)
    points, (_, variance) = _points(BINS), _moments(randomizer)
    for point in range(11):
        values = np.full(REPORTS_PER_VALUE, points[point])
        estimate = randomizer.mean(
            randomizer.tally(randomizer.randomize(values, rng=seeded(point)))
        )
        error = (estimate.value - points[point]) / math.sqrt(variance[point] / REPORTS_PER_VALUE)
        assert abs(error) < 7
        # The stated deviation is that of the reports; the wrong input is far outside.
        assert estimate.deviation == pytest.approx(
            math.sqrt(variance[point] / REPORTS_PER_VALUE), rel=0.02
        )
        assert abs(estimate.value - points[(point + 2) % 11]) > 20 * estimate.deviation


@epsilons
def test_variance_of_stochastic_rounding(epsilon: float) -> None:
    """((e^epsilon + 1) / (e^epsilon - 1))^2 - v^2 on [-1, 1]."""
    _, variance = _moments(StochasticRounding(ELEVEN, epsilon))
    v = np.linspace(-1, 1, 11)
    expected = 1 / math.tanh(epsilon / 2) ** 2 - v**2
    np.testing.assert_allclose(variance / 25, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_variance_of_the_piecewise_mechanism(epsilon: float) -> None:
    """v^2 / (c - 1) + (c + 3) / (3 (c - 1)^2) with c = e^(epsilon/2), on a fine grid."""
    domain = Integers(0, 1024, outside="clip")
    _, variance = _moments(Piecewise(domain, epsilon))
    v = np.linspace(-1, 1, 1025)
    c = math.exp(epsilon / 2)
    expected = v**2 / (c - 1) + (c + 3) / (3 * (c - 1) ** 2)
    np.testing.assert_allclose(variance / 512**2, expected, rtol=4e-3)


def test_piecewise_wins_for_large_epsilon_only() -> None:
    """Figure 4 of the square-wave paper, first row: which is better depends on epsilon."""
    domain = Integers(0, 256, outside="clip")
    worst = {
        (kind, epsilon): _moments(kind(domain, epsilon))[1].max()
        for kind in KINDS
        for epsilon in (0.5, 4)
    }
    assert worst[Piecewise, 0.5] > worst[StochasticRounding, 0.5]
    assert worst[Piecewise, 4] < worst[StochasticRounding, 4]


def test_the_continuous_rescaling_is_biased_on_a_grid() -> None:
    """Why the true probabilities are used: reports read as the text has them miss the mean."""
    randomizer = Piecewise(ELEVEN, 1)
    matrix = dense(randomizer.channel.blocks[0].operator)
    c = math.exp(0.5)
    reach = (c + 1) / (c - 1)
    printed = 5 + 5 * np.linspace(-reach, reach, randomizer.channel.blocks[0].outputs)
    assert np.abs(matrix.T @ printed - np.arange(11)).max() > 0.2


def test_the_piecewise_window_is_the_mechanisms() -> None:
    """Width 2 / (c - 1) of a range of 2 (c + 1) / (c - 1), so 1 / (c + 1) of it."""
    randomizer = Piecewise(Integers(0, 10_000, outside="clip"), 1)
    c = math.exp(0.5)
    assert randomizer._near / randomizer.channel.blocks[0].outputs == pytest.approx(
        1 / (c + 1), rel=1e-3
    )
    assert Piecewise(Integers(0, 10), 24)._near == 1


@kinds
def test_deviation_covers(kind: Any) -> None:
    """The interval holds the mean of the people a sample was drawn from."""
    randomizer = kind(ELEVEN, 2)
    law = np.arange(1.0, 12)
    law /= law.sum()
    truth, rng = float(law @ np.arange(11)), np.random.default_rng(1)
    inside = 0
    for _ in range(DECODES):
        people = rng.multinomial(500, law)
        low, high = randomizer.mean(simulate(randomizer, people, rng=rng)).interval(0.9)
        inside += low <= truth <= high
    # 1,200 trials at .9: standard deviation .0087.
    assert abs(inside / DECODES - 0.9) < 7 * 0.0087


# Reports.


@alone
def test_reports_have_the_exact_law_and_another_epsilon_is_told_apart(kind: Any) -> None:
    randomizer, other = kind(ELEVEN, 2), replace(kind(ELEVEN, 2), epsilon=Fraction(19, 10))
    for point in (0, 3, 10):
        reports = randomizer.randomize(np.full(REPORTS_PER_VALUE, point), rng=seeded(point))
        counts = randomizer.tally(reports).blocks[0]
        law = exact_law(randomizer, point)
        codes = [code.to_bytes(1, "little") for code in range(randomizer.channel.blocks[0].outputs)]
        assert accepts(
            multinomial_tail(counts, np.array([float(law.get(code, 0)) for code in codes]))
        )
    assert other.channel.blocks[0].outputs == randomizer.channel.blocks[0].outputs
    law = exact_law(other, 10)
    assert not accepts(
        multinomial_tail(counts, np.array([float(law.get(code, 0)) for code in codes]))
    )


@alone
def test_simulation_has_the_joint_law_of_people(kind: Any) -> None:
    randomizer = kind(ELEVEN, 3)
    people = np.random.default_rng(0).multinomial(PEOPLE, np.ones(11) / 11)
    laws = dense(randomizer.channel.blocks[0].operator).T
    mean = people @ laws
    covariance = np.diag(mean) - (laws.T * people) @ laws
    rng = np.random.default_rng(1)
    simulated = np.array([simulate(randomizer, people, rng=rng).blocks[0] for _ in range(REPEATS)])
    assert accepts(moments_tail(simulated.astype(float), mean, covariance))
    broken = rng.multinomial(PEOPLE, mean / PEOPLE, size=REPEATS).astype(float)
    assert not accepts(moments_tail(broken, mean, covariance))


def test_a_piecewise_tally_is_a_narrow_square_waves() -> None:
    """Its channel is known, so a decoder may ask it for the distribution, too."""
    domain = Integers(0, 63, outside="clip")
    randomizer = Piecewise(domain, 3)
    people = np.round(30_000 * np.exp(-(((np.arange(64) - 40) / 9.0) ** 2))).astype(np.int64)
    tally = simulate(randomizer, people, rng=1)
    estimate = ExpectationMaximization(smoothed=True, band=False).decode(randomizer.channel, tally)
    truth = Distribution.of_counts(people, domain)
    assert wasserstein(estimate, truth) < 1
    assert randomizer.mean(tally).value == pytest.approx(truth.mean(), abs=0.2)


def test_stochastic_rounding_cannot_be_decoded_to_a_distribution() -> None:
    rounding = StochasticRounding(ELEVEN, 1)
    tally = simulate(rounding, np.full(11, 100), rng=1)
    with pytest.raises(UnsupportedChannelError, match="cannot be inverted"):
        unbiased(rounding.channel, tally)


@alone
def test_documents_and_pickles(kind: Any) -> None:
    randomizer = kind(BINS, "0.7")
    simulate(randomizer, np.full(11, 5), rng=1)
    document = parse(canonical(randomizer.to_document()), name="a randomizer")
    again = build(document, {kind.name: kind}, name="the randomizer")
    assert again == randomizer and again.fingerprint == randomizer.fingerprint
    assert pickle.loads(pickle.dumps(randomizer)) == randomizer  # and its channel was made
    assert randomizer._derived["report_width"] == randomizer.report_width == 1
    assert randomizer.guarantee == randomizer.channel.guarantee


# Refusals.


@kinds
def test_refusals(kind: Any) -> None:
    for domain in (
        Categories(5),
        Interval(0, 1, bins=5, circular=True),
        Interval(1, 10, bins=5, scale="log"),
        Interval(0, 1, bins=5, atoms=(0,)),
        Interval(0, 1, bins=5, missing="bin"),
        Integers(0, 5, missing="bin"),
    ):
        with pytest.raises(DomainError, match="evenly spaced on a line"):
            kind(domain, 1)
    with pytest.raises(DomainError, match="2"):
        kind(Integers(5, 5), 1)
    randomizer, other = kind(ELEVEN, 1), kind(ELEVEN, 2)
    tally = other.tally(other.randomize([1, 2, 3], rng=seeded(1)))
    with pytest.raises(MismatchError, match="Use the randomizer that made the reports"):
        randomizer.mean(tally)
    one = randomizer.tally(randomizer.randomize([4], rng=seeded(1)))
    with pytest.raises(TallyError, match="at least 2 reports, got 1"):
        randomizer.mean(one)
    data = np.full((5, 1), 250, dtype=np.uint8)
    with pytest.raises(ReportError, match="position 0 is not"):
        randomizer.tally(Reports(data, randomizer.fingerprint))
    with pytest.raises(DomainError, match=r"from 0 to 10"):
        randomizer.from_words(11, iter([1, 2]))


def test_other_refusals() -> None:
    with pytest.raises(DomainError, match=r"2 to 1,048,576 symbols"):
        StochasticRounding(Integers(0, 2**21, outside="clip"), 1)
    with pytest.raises(ArgumentError, match="level"):
        MeanEstimate(1.0, 0.1, 10).interval(1.0)
