"""A simulated population sends what real people send: same joint law, not only same means."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing import RandomizedResponse, SquareWave
from lapwing.errors import ArgumentError
from lapwing.linear.operators.operator import dense
from lapwing.planning.simulation import simulate
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.messages.tally import CountTally
from tests.contracts.registered import DOMAINS, RandomizerCase, law_of, randomizer_cases
from tests.false_alarms import (
    FEWER_REAL_REPEATS,
    FEWER_REPEATS,
    PAIR_REPEATS,
    PEOPLE,
    SIMULATED_REPEATS,
    accepts,
    moments_tail,
    multinomial_tail,
    two_sample_tail,
)

at_one = pytest.mark.parametrize("case", randomizer_cases(1))


def _people(size: int) -> np.ndarray:
    """Return an uneven population with an empty symbol: int64 [size]."""
    weights = np.arange(1, size + 1) ** 2 % (size + 2)
    weights[size // 2] = 0
    people = PEOPLE * weights // weights.sum()
    people[0] += PEOPLE - people.sum()
    return people


def _row(tally: CountTally) -> np.ndarray:
    """Return all counts of a tally, and the number of reports of each block."""
    return np.concatenate([*tally.blocks, np.array(tally.reports)])


def _law_of_tally(channel: Channel, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of :func:`_row` when so many people hold each symbol.

    The symbols are fixed, so it is a sum over people; one of them is in block b with probability
    share_b, and then has there the mean and the covariance of a report of their symbol.
    """
    sizes = [block.outputs for block in channel.blocks]
    starts = np.cumsum([0, *sizes])
    length = sum(sizes) + len(sizes)
    mean, covariance = np.zeros(length), np.zeros((length, length))
    for symbol, number in enumerate(people):
        holds = np.zeros(people.size)
        holds[symbol] = 1.0
        person, second = np.zeros(length), np.zeros((length, length))
        for index, block in enumerate(channel.blocks):
            place = np.append(np.arange(starts[index], starts[index + 1]), sum(sizes) + index)
            one = np.append(block.mean(holds), 1.0)
            within = np.zeros((one.size, one.size))
            within[:-1, :-1] = block.covariance(holds).dense()
            person[place] = block.share * one
            second[np.ix_(place, place)] = block.share * (within + np.outer(one, one))
        mean += number * person
        covariance += number * (second - np.outer(person, person))
    return mean, covariance


def _simulated(
    channel_or_randomizer: Any, people: np.ndarray, seed: int, repeats: int = SIMULATED_REPEATS
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array(
        [_row(simulate(channel_or_randomizer, people, rng=rng)) for _ in range(repeats)],
        dtype=np.float64,
    )


@pytest.mark.parametrize(
    ("simulations", "repeats"),
    [
        (SIMULATED_REPEATS, FEWER_REAL_REPEATS),
        pytest.param(FEWER_REPEATS, FEWER_REPEATS, marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize(
    "case",
    # Domains of one size differ in nothing that a simulator sees, but for circles.
    randomizer_cases(1, domains=("linear", "eight"))
    + randomizer_cases(1, domains=("log",), rows="rappor")
    + randomizer_cases(1, domains=("circular",), rows="square-wave")
    + randomizer_cases(1, domains=("pair",))
    + randomizer_cases(1, domains=("pair-apart", "pair-of-labels"), rows="box-wave", once=True),
)
def test_counts_have_the_means_and_covariances_of_real_reports(
    case: RandomizerCase, simulations: int, repeats: int
) -> None:
    randomizer = case.randomizer
    people = _people(randomizer.domain.size)
    mean, covariance = _law_of_tally(randomizer.channel, people)

    simulated = _simulated(randomizer, people, seed=1, repeats=simulations)
    assert accepts(moments_tail(simulated, mean, covariance)), "simulated"

    per_symbol = case.inputs // randomizer.domain.size
    symbols = np.repeat(np.arange(people.size), people)
    places = np.random.default_rng(2).integers(per_symbol, size=(repeats, PEOPLE))
    points = (per_symbol * symbols + places).ravel()
    reports = randomizer.randomize(case.column(points), rng=seeded(3))
    real = np.array(
        [
            _row(randomizer.tally(reports[start : start + PEOPLE]))
            for start in range(0, repeats * PEOPLE, PEOPLE)
        ],
        dtype=np.float64,
    )
    assert accepts(moments_tail(real, mean, covariance)), "real"
    assert accepts(two_sample_tail(simulated, real)), "simulated against real"


@at_one
def test_block_covariance_of_a_population_is_that_of_its_symbols(case: RandomizerCase) -> None:
    """E[cov | symbol] + cov of the means, for a person drawn from the mass."""
    size = case.randomizer.domain.size
    mass = _people(size) / PEOPLE
    for block in case.randomizer.channel.blocks:
        expected = np.zeros((block.outputs, block.outputs))
        for symbol in range(size):
            holds = np.eye(size)[symbol]
            mean = block.mean(holds)
            second = block.covariance(holds).dense() + np.outer(mean, mean)
            expected += mass[symbol] * second
        expected -= np.outer(block.mean(mass), block.mean(mass))
        covariance = block.covariance(mass)
        np.testing.assert_allclose(covariance.dense(), expected, atol=1e-14)
        np.testing.assert_allclose(covariance.variance(), np.diag(expected), atol=1e-14)


# Beyond its number of symbols, a simulator sees nothing of a domain.
@pytest.mark.parametrize("case", randomizer_cases(2, once=True))
def test_joint_law_of_two_people_is_exact(case: RandomizerCase) -> None:
    """All tallies that two people can send, with their exact probabilities."""
    randomizer = case.randomizer
    size = randomizer.domain.size
    people = np.zeros(size, dtype=np.int64)
    people[0] = people[1] = 1
    per_symbol = case.inputs // size
    laws = []
    for symbol in (0, 1):
        mixture: dict[bytes, float] = defaultdict(float)
        for point in range(per_symbol * symbol, per_symbol * (symbol + 1)):
            for report, chance in law_of(randomizer, point).items():
                mixture[report] += float(chance) / per_symbol
        laws.append(mixture)
    exact: dict[tuple[int, ...], float] = defaultdict(float)
    sizes = [block.outputs for block in randomizer.channel.blocks]
    for (one, p), (two, q) in itertools.product(laws[0].items(), laws[1].items()):
        counts = [np.zeros(outputs, dtype=np.int64) for outputs in sizes]
        for report in (one, two):
            number, outputs = case.row.adds(randomizer, report)
            counts[number][outputs] += 1
        exact[tuple(np.concatenate(counts).tolist())] += p * q
    rng = np.random.default_rng(4)
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(PAIR_REPEATS):
        tally = simulate(randomizer, people, rng=rng)
        found[tuple(np.concatenate(tally.blocks).tolist())] += 1
    keys = sorted(set(exact) | set(found))
    observed = np.array([found[key] for key in keys])
    assert accepts(multinomial_tail(observed, np.array([exact[key] for key in keys])))


class _Broken:
    """A simulator with another law: what `simulate` would be with a bug in `Block.sample`."""

    simulation = "exact"
    name = fingerprint = "broken"

    def __init__(
        self, randomizer: SquareWave, draw: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    ) -> None:
        (block,) = randomizer.channel.blocks
        law: Any = block.law
        law = replace(law, draw=draw)
        self.domain = randomizer.domain
        self.channel = Channel(self.domain, [Block(block.operator, law)], "broken")


def test_broken_simulators_are_found() -> None:
    wave = SquareWave(DOMAINS["linear"], 4, width=0.2)
    (block,) = wave.channel.blocks
    matrix = dense(block.operator)
    people = _people(6)
    mean, covariance = _law_of_tally(wave.channel, people)

    def independent(people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.binomial(people.sum(), matrix @ people / people.sum())

    def conserved(people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        # Independent binomials again, with one count bent so that the total is right.
        counts = independent(people, rng)
        counts[np.argmax(matrix @ people)] += people.sum() - counts.sum()
        return counts

    def as_if_drawn(people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        # The law of a population of which the people are a sample: too variable.
        return rng.multinomial(people.sum(), matrix @ people / people.sum())

    def too_wide(people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        other = SquareWave(wave.domain, 4, width=0.35)
        counts: np.ndarray = other.channel.blocks[0].sample(people, rng)
        return counts[: matrix.shape[0]]

    for draw in (independent, conserved, as_if_drawn, too_wide):
        simulated = _simulated(_Broken(wave, draw), people, seed=1)
        if draw is as_if_drawn:
            # Its means are right; only covariances tell.
            assert np.abs(simulated.mean(axis=0) - mean).max() < 3
        assert not accepts(moments_tail(simulated, mean, covariance)), draw.__name__


def test_the_comparison_with_real_reports_finds_too_little_spread() -> None:
    response = RandomizedResponse(DOMAINS["categories"], 1)
    people = np.array([500, 300, 400])
    simulated = _simulated(response, people, seed=1, repeats=FEWER_REPEATS)
    again = _simulated(response, people, seed=2, repeats=FEWER_REPEATS)
    assert accepts(two_sample_tail(simulated, again))
    mean = simulated.mean(axis=0)
    assert not accepts(two_sample_tail(simulated, mean + 0.8 * (simulated - mean)))


@at_one
def test_totals_seeds_and_refusals(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    size = randomizer.domain.size
    people = _people(size)
    tally = simulate(randomizer, people, rng=7)
    assert tally.total == PEOPLE and tally.fingerprint == randomizer.fingerprint
    randomizer.channel.check(tally)
    assert simulate(randomizer, people, rng=7) == tally != simulate(randomizer, people, rng=8)
    everybody = np.full(size, 3 * 10**9 // size)
    if randomizer._simulation == "users":
        with pytest.raises(ArgumentError, match="person by person"):
            simulate(randomizer, everybody, rng=7)
    else:
        randomizer.channel.check(simulate(randomizer, everybody, rng=7))
    for wrong in (people[:-1], people / 2, np.zeros(size, dtype=int), -people, people[None]):
        with pytest.raises(ArgumentError):
            simulate(randomizer, wrong, rng=7)
