"""Waves of any shape: the promise by enumeration, the law, and the separation of the paper."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lapwing import (
    Categories,
    Distribution,
    ExpectationMaximization,
    Integers,
    Interval,
    LeastSquares,
    SquareWave,
    simulate,
)
from lapwing.distances import wasserstein
from lapwing.errors import ArgumentError, DomainError, MismatchError, PrivacyError, ReportError
from lapwing.linear.operators.operator import dense
from lapwing.papers.square_wave.general_wave import GeneralWave
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD, seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.results.cumulative import Cumulative
from lapwing.testing.randomizer_contract import exact_law
from tests.false_alarms import (
    REPEATS,
    REPORTS_PER_VALUE,
    accepts,
    multinomial_tail,
)
from tests.mistaken import mistaken

LINE = Interval(0, 1, bins=7)
CIRCLE = Interval(0, 24, bins=9, circular=True)
RATIOS = (0, 0.2, 0.4, 0.6, 0.8, 1)

WAVES = {
    "triangle": GeneralWave(LINE, 1, ratio=0, width=0.4),
    "trapezoid": GeneralWave(LINE, 1, ratio=0.6, width=0.4),
    "wide triangle": GeneralWave(LINE, 1, ratio=0.1, width=0.95),
    "lopsided": GeneralWave(LINE, 1, shape=(0.25, 1, 0.5, 0, 0.125)),
    "with a hole": GeneralWave(LINE, 2, shape=(1, 0, 1)),
    "triangle on a circle": GeneralWave(CIRCLE, 1, ratio=0, width=0.3),
    "trapezoid on a circle": GeneralWave(CIRCLE, 4, ratio=0.4, width=0.25),
    "ages": GeneralWave(Integers(17, 24), 1, ratio=0.5, width=0.3),
    "at the end of the range": GeneralWave(LINE, 24, ratio=0.5, width=0.3),
}
each = pytest.mark.parametrize("name", list(WAVES))


def _laws(wave: GeneralWave) -> list[list[Fraction]]:
    """Return the exact probabilities [points][outputs]."""
    codes = [code.to_bytes(wave.report_width, "little") for code in range(wave._outputs)]
    laws = [exact_law(wave, point) for point in range(wave._points)]
    assert all(law.keys() == set(codes) for law in laws)
    return [[law[code] for code in codes] for law in laws]


def _worst(laws: list[list[Fraction]]) -> Fraction:
    return max(max(column) / min(column) for column in zip(*laws, strict=True))


# The promise.


@each
def test_certificate_is_the_worst_ratio_by_enumeration(name: str) -> None:
    wave = WAVES[name]
    laws = _laws(wave)
    certificate = wave.certificate()
    assert certificate.ratio == _worst(laws)
    assert certificate.holds and certificate.check() is certificate
    # Where no output sees both the peak and an outside point, the wave keeps more than it promised.
    assert (certificate.loss < 1e-6) == (name != "wide triangle")
    np.testing.assert_allclose(
        dense(wave.channel.blocks[0].operator), np.array(laws, dtype=float).T, atol=1e-15
    )


@pytest.mark.parametrize("epsilon", ["0.001", 0.1, 1, 4, 12, 24])
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("circular", [False, True])
def test_every_shape_is_certified_at_every_epsilon(
    epsilon: Any, ratio: float, circular: bool
) -> None:
    for bins in (2, 5, 64, 1024):
        for width in (None, 0.01, 0.2561):
            domain = Interval(0, 1, bins=bins, circular=circular, outside="clip")
            wave = GeneralWave(domain, epsilon, ratio=ratio, width=width)
            certificate = wave.certificate()
            assert certificate.holds and 0 <= certificate.loss < 1e-6
            assert min(wave._table) > 0 and sum(wave._table) < WORD


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("bins", [3, 4, 6, 7])
def test_the_widest_window_of_a_small_circle_leaves_a_point_out(bins: int, ratio: float) -> None:
    wave = GeneralWave(Interval(0, 24, bins=bins, circular=True), 1, ratio=ratio, width=0.5)
    assert 2 * wave._half_window + 1 < bins
    laws = _laws(wave)
    assert wave.certificate().ratio == _worst(laws) <= exponential_bounds(wave.epsilon)[0]
    for place, law in enumerate(laws):
        lowest = [code for code, chance in enumerate(law) if chance == min(law)]
        assert lowest and place not in lowest


@pytest.mark.parametrize("name", [name for name in WAVES if name != "wide triangle"])
def test_an_entry_above_its_limit_fails(name: str) -> None:
    wave = WAVES[name]
    table = list(wave._table)
    place = table.index(max(table))
    # The least number more with which the peak is above the bound times an outside point, which
    # loses as much.
    bound, outside = exponential_bounds(wave.epsilon)[0], WORD - sum(table)
    table[place] += int((bound * outside / wave._far - table[place]) / (1 + bound / wave._far)) + 1
    loose = replace(wave)
    loose.__dict__["_table"] = tuple(table)
    assert _worst(_laws(loose)) > bound
    assert loose.certificate().ratio == _worst(_laws(loose)) and not loose.certificate().holds
    with pytest.raises(PrivacyError, match="Do not use these thresholds"):
        loose.certificate().check()
    assert loose.fingerprint != wave.fingerprint
    # A point outside the window that is too rare breaks the promise, too.
    table = [entry + (WORD - sum(wave._table)) // (2 * len(wave._table)) for entry in wave._table]
    loose.__dict__["_table"] = tuple(table)
    assert not loose.certificate().holds


def test_plainly_rounded_tables_would_break_the_promise() -> None:
    """Why the largest entries are lowered: rounding down the smallest breaks the ratio."""
    wave = GeneralWave(LINE, 2, shape=(1, 0, 0.5))
    bound = exponential_bounds(wave.epsilon)[0]
    weights = [bound, Fraction(1), 1 + (bound - 1) / 2]
    total = wave._far + sum(weights)
    plain = [int(WORD * weight / total) for weight in weights]
    assert Fraction(max(plain), min(plain)) > bound
    assert Fraction(max(wave._table), min(wave._table)) <= bound
    assert max(abs(a - b) for a, b in zip(plain, wave._table, strict=True)) < 10


# The shape.


def test_square_is_the_square_wave() -> None:
    for domain in (Interval(0, 1, bins=50, outside="clip"), Interval(0, 1, bins=50, circular=True)):
        for epsilon, width in ((0.5, None), (1, 0.2561), (4, None), (2, 0.0)):
            square = SquareWave(domain, epsilon, width=width)
            ours = GeneralWave(domain, epsilon, ratio=1, width=width)
            np.testing.assert_allclose(
                dense(ours.channel.blocks[0].operator),
                dense(square.channel.blocks[0].operator),
                atol=1e-15,
            )


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_fine_grid_has_the_q_of_the_continuous_wave(ratio: float) -> None:
    """q = 1 / (1 + 2 b + (e^epsilon - 1) b (1 + ratio)): the total of definition 5.1.

    Lemma 5.5 prints ``1 = 1 + 2 b e^epsilon q`` for the square wave, which only q = 0 fulfills.
    """
    for epsilon, b in ((1, 0.2561), (4, 0.0304), (0.5, 0.3582)):
        q = 1 / (1 + 2 * b + (np.exp(epsilon) - 1) * b * (1 + ratio))
        wave = GeneralWave(Interval(0, 1, bins=8192, outside="clip"), epsilon, ratio=ratio, width=b)
        inside, outside = wave._probabilities
        assert outside * 8192 == pytest.approx(q, rel=2e-3)
        assert inside.max() == pytest.approx(np.exp(epsilon) * outside, rel=1e-9)
        # What lies in the window, and what lies outside: length 1 of density q.
        assert inside.sum() == pytest.approx(1 - q, rel=3e-3)
        if ratio == 1:
            assert q + 2 * b * np.exp(epsilon) * q == pytest.approx(1)
            assert 2 * b * np.exp(epsilon) * q < 0.9


def test_heights_are_those_of_the_trapezoid() -> None:
    wave = GeneralWave(Interval(0, 1, bins=10), 1, ratio=0.5, width=0.35)
    inside, outside = wave._probabilities
    heights = (inside / outside - 1) / (np.e - 1)
    # Bottom half-width 3.5 cells, top 1.75: (3.5 - |o|) / 1.75.
    np.testing.assert_allclose(heights, np.array([0.5, 1.5, 1.75, 1.75, 1.75, 1.5, 0.5]) / 1.75)
    triangle = GeneralWave(Interval(0, 1, bins=10), 1, ratio=0, width=0.25)
    inside, outside = triangle._probabilities
    np.testing.assert_allclose((inside / outside - 1) / (np.e - 1), [0.2, 0.6, 1, 0.6, 0.2])
    free = GeneralWave(LINE, 1, shape=(0.25, 1, 0.5, 0, 0.125))
    inside, outside = free._probabilities
    np.testing.assert_allclose((inside / outside - 1) / (np.e - 1), free.shape, atol=1e-12)


def testseparation_is_that_of_the_paper_and_largest_for_the_square() -> None:
    """(1 - (2 b + 1) q) D at epsilon = 1, b = .2561, for square to triangle."""
    printed = {1: 0.3679, 0.8: 0.3437, 0.6: 0.3177, 0.4: 0.2895, 0.2: 0.2588, 0: 0.2254}
    points = np.arange(1024.0)
    for ratio, expected in printed.items():
        q = 1 / (1 + 2 * 0.2561 + (np.e - 1) * 0.2561 * (1 + ratio))
        assert 1 - (2 * 0.2561 + 1) * q == pytest.approx(expected, abs=5e-5)
        fine = GeneralWave(Interval(0, 1, bins=16384, outside="clip"), 1, ratio=ratio, width=0.2561)
        assert fine.separation == pytest.approx(expected, abs=1e-4)
        # It is what it says: the distance of two reports' laws, per distance of the values.
        wave = GeneralWave(Interval(0, 1, bins=512, outside="clip"), 1, ratio=ratio, width=0.2561)
        matrix = dense(wave.channel.blocks[0].operator)
        place = points[: wave._outputs]
        for first, second in ((0, 1), (100, 411), (0, 511)):
            laws = [Cumulative(place, place, np.maximum(matrix[:, i], 0)) for i in (first, second)]
            distance = wasserstein(laws[0], laws[1])
            assert distance == pytest.approx(wave.separation * (second - first), rel=1e-9)
    assert list(printed.values()) == sorted(printed.values(), reverse=True)


def test_a_random_shape_separates_less_than_the_square() -> None:
    rng = np.random.default_rng(0)
    square = GeneralWave(Interval(0, 1, bins=100, outside="clip"), 1, shape=(1.0,) * 51)
    for _ in range(50):
        heights = rng.random(51)
        heights[rng.integers(51)] = 1.0
        wave = GeneralWave(
            Interval(0, 1, bins=100, outside="clip"), 1, shape=tuple(heights.tolist())
        )
        assert wave.certificate().holds and wave.separation < square.separation


# Reports.


@each
def test_reports_have_the_exact_law(name: str) -> None:
    wave = WAVES[name]
    laws = np.array(_laws(wave), dtype=float)
    domain = wave.domain
    for point in range(wave._points):
        value = (domain.left[point] + domain.right[point]) / 2
        reports = wave.randomize(np.full(REPORTS_PER_VALUE, value), rng=seeded(point))
        counts = wave.tally(reports).blocks[0]
        assert accepts(multinomial_tail(counts, laws[point])), point


def test_few_and_many_people_at_an_input_are_simulated_alike() -> None:
    """Both branches of the sampler, against each other's law on one wave."""
    wave = GeneralWave(Interval(0, 1, bins=30), 2, ratio=0.3, width=0.3)
    laws = dense(wave.channel.blocks[0].operator).T
    for people in (np.full(30, wave._window - 5), np.full(30, 10 * wave._window)):
        rng = np.random.default_rng(2)
        total = np.zeros(wave._outputs, dtype=np.int64)
        for _ in range(REPEATS):
            total += simulate(wave, people, rng=rng).blocks[0]
        mean = people @ laws
        assert accepts(multinomial_tail(total, mean / mean.sum()))
    huge = simulate(wave, np.full(30, 2**40), rng=1)
    assert huge.total == 30 * 2**40


def test_large_groups_are_drawn_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.papers.square_wave.general_wave._PEOPLE_AT_ONCE", 50)
    wave = GeneralWave(Interval(0, 1, bins=30), 2, ratio=0.3, width=0.3)
    tally = simulate(wave, np.full(30, 12), rng=1)
    assert tally.total == 360 and int(tally.blocks[0].sum()) == 360


@each
def test_impossible_and_foreign_reports_are_refused(name: str) -> None:
    wave = WAVES[name]
    good = wave.randomize(wave.domain.left[np.zeros(20, dtype=int)], rng=seeded(1))
    data = good.data.copy()
    data[13] = wave._outputs
    with pytest.raises(ReportError, match="position 13 is not") as caught:
        wave.tally(Reports(data, wave.fingerprint))
    assert caught.value.position == 13
    with pytest.raises(MismatchError):
        wave.tally(Reports(good.data, "0" * 64))


def test_heights_may_be_an_array() -> None:
    heights = (0.25, 1.0, 0.5)
    assert GeneralWave(LINE, 1, shape=np.array(heights)) == GeneralWave(LINE, 1, shape=heights)


# Decoding.


@pytest.mark.parametrize("ratio", [0, 0.5])
@pytest.mark.parametrize("circular", [False, True])
def test_reports_are_decoded(ratio: float, circular: bool) -> None:
    domain = Interval(0, 1, bins=64, circular=circular, outside="clip")
    wave = GeneralWave(domain, 2, ratio=ratio)
    people = np.round(20_000 * (1.5 + np.sin(2 * np.pi * np.arange(64) / 64))).astype(np.int64)
    truth = Distribution.of_counts(people, domain)
    estimate = ExpectationMaximization(smoothed=True, band=False).decode(
        wave.channel, simulate(wave, people, rng=1)
    )
    uniform = Distribution(domain, np.full(64, 1 / 64))
    assert wasserstein(estimate, truth) < 0.1 * wasserstein(uniform, truth)


def test_noiseless_counts_give_the_truth() -> None:
    wave = GeneralWave(Interval(0, 1, bins=12), 3, ratio=0.2, width=0.15)
    people = np.arange(1, 13) * 10**12
    tally = simulate(wave, people, rng=1)
    estimate = LeastSquares().decode(wave.channel, tally)
    np.testing.assert_allclose(estimate.mass, people / people.sum(), atol=1e-5)


# Refusals.


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({}, "needs the ratio"),
        ({"shape": (1, 1)}, "an odd number"),
        ({"shape": ()}, "an odd number"),
        ({"shape": (0.5, 0.9, 0.5)}, "the largest of them 1"),
        ({"shape": (0.5, 1, 0.5), "ratio": 1}, "describe a trapezoid"),
        ({"shape": (0.5, 1, 0.5), "width": 0.1}, "describe a trapezoid"),
    ],
)
def test_illegal_shapes_are_refused(knobs: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        GeneralWave(LINE, 1, **knobs)


def test_illegal_domains_are_refused() -> None:
    with pytest.raises(DomainError, match="Labels have no order"):
        GeneralWave(mistaken(Categories(5)), 1, ratio=0.5)
    with pytest.raises(DomainError, match="at least 2 symbols"):
        GeneralWave(Interval(0, 1, bins=1), 1, ratio=0.5)
    with pytest.raises(DomainError, match="leave some output out"):
        GeneralWave(Interval(0, 1, bins=5, circular=True), 1, shape=(0.5, 1, 1, 1, 0.5))
    with pytest.raises(DomainError, match="at most 65536 points"):
        GeneralWave(Interval(0, 1, bins=2**18, outside="clip"), 1, ratio=0.5)


def test_the_smallest_epsilon_still_says_something_on_the_largest_domain() -> None:
    wave = GeneralWave(Integers(0, 2**24 - 1, outside="clip"), "1e-12", ratio=0.5, width=0.0019)
    assert max(wave._table) * wave._far > WORD - sum(wave._table)
