"""The last step of a decode: from a population to the people who reported."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.empirical_bayes.spectral_prior import reporting_people
from lapwing.linear.operators.operator import dense

SIZE = 12


def wave(epsilon: float, size: int = SIZE) -> lw.MultiscaleWave:
    return lw.MultiscaleWave(lw.Interval(0, 1, bins=size, outside="clip"), epsilon)


def population(seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(SIZE))


def test_every_report_is_shared_out_by_what_it_says_of_its_sender() -> None:
    """The textbook's way: one report at a time, Bayes' rule with the whole matrix."""
    randomizer = lw.SquareWave(lw.Interval(0, 1, bins=SIZE, outside="clip"), 2)
    mass, uniform, people = population(), np.full(SIZE, 1 / SIZE), 50
    values = np.random.default_rng(4).multinomial(people, mass)
    tally = lw.simulate(randomizer, values, rng=5)
    (block,) = randomizer.channel.blocks
    law = dense(block.operator)
    before = (1 - 1 / people) * mass + uniform / people
    expected = np.zeros(SIZE)
    for output, number in enumerate(tally.blocks[0]):
        for _ in range(int(number)):
            held = [law[output, symbol] * before[symbol] for symbol in range(SIZE)]
            expected += np.array(held) / sum(held) / people
    found = reporting_people(randomizer.channel, tally, mass, uniform)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert np.abs(found - before).max() > 1e-3


def test_groups_share_out_their_own_reports() -> None:
    """With groups of people asked in two ways, the whole is the mean over all people."""
    randomizer = lw.MultiscaleWave(
        lw.Interval(0, 1, bins=SIZE, outside="clip"),
        3,
        components=[("wave", 1.0, 0.75), ("wave", 0.35, 0.25)],
    )
    mass, uniform = population(), np.full(SIZE, 1 / SIZE)
    tally = lw.simulate(randomizer, np.random.default_rng(6).multinomial(400, mass), rng=7)
    before = mass + (uniform - mass) / 400
    expected = np.zeros(SIZE)
    for block, counts in zip(randomizer.channel.blocks, tally.blocks, strict=True):
        law = dense(block.operator)
        for row, number in zip(law, counts, strict=True):
            expected += number * row * before / (row @ before) / 400
    found = reporting_people(randomizer.channel, tally, mass, uniform)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("size", [64, 600])
def test_reports_that_hide_nothing_give_the_people_themselves(size: int) -> None:
    """A smooth law, and a sample of it that is not: at epsilon 16 a report is nearly the value.

    600 symbols are decoded on cells.
    """
    place = (np.arange(size) + 0.5) / size
    law = place * (1 - place)
    people = np.random.default_rng(8).multinomial(600, law / law.sum())
    randomizer = lw.SubsetSelection(lw.Interval(0, 1, bins=size, outside="clip"), 16)
    tally = lw.simulate(randomizer, people, rng=9)
    result = lw.SpectralPrior(band=False).decode(randomizer.channel, tally)
    curve = np.cumsum(people) / 600
    gap = np.abs(np.cumsum(result.mass) - curve).max()
    of_the_law = np.abs(np.cumsum(law / law.sum()) - curve).max()
    assert gap < of_the_law / 4, (gap, of_the_law)


def test_reports_that_say_little_move_little() -> None:
    mass, uniform = population(), np.full(SIZE, 1 / SIZE)
    randomizer = wave(0.01)
    tally = lw.simulate(randomizer, np.random.default_rng(6).multinomial(10_000, mass), rng=7)
    found = reporting_people(randomizer.channel, tally, mass, uniform)
    assert np.abs(found - mass).max() < 2e-3


def test_bits_move_it_along_the_gradient_of_their_likelihood() -> None:
    """By the covariance of one person's symbol times the gradient, both written out."""
    randomizer = lw.randomizers.UnaryEncoding(lw.Interval(0, 1, bins=SIZE, outside="clip"), 2)
    mass, uniform, people = population(), np.full(SIZE, 1 / SIZE), 3000
    tally = lw.simulate(randomizer, np.random.default_rng(6).multinomial(people, mass), rng=7)
    (block,) = randomizer.channel.blocks
    law, bits = dense(block.operator), tally.blocks[0]
    before = mass + (uniform - mass) / people
    chance = law @ before
    gradient = law.T @ (bits / chance) - law.T @ ((people - bits) / (1 - chance))
    covariance = np.diag(before) - np.outer(before, before)
    found = reporting_people(randomizer.channel, tally, mass, uniform)
    np.testing.assert_allclose(found, before + covariance @ gradient / people, rtol=1e-8)


def test_bits_never_make_a_share_negative() -> None:
    """Bits that deny a symbol altogether: its share is zero, and all are a distribution."""
    randomizer = lw.randomizers.UnaryEncoding(lw.Interval(0, 1, bins=SIZE, outside="clip"), 6)
    tally = lw.simulate(randomizer, np.array([40] + [0] * (SIZE - 1)), rng=1)
    uniform = np.full(SIZE, 1 / SIZE)
    found = reporting_people(randomizer.channel, tally, uniform, uniform)
    assert found.min() == 0.0
    assert found.sum() == pytest.approx(1.0)
    assert found[0] == found.max()
