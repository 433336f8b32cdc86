"""What reports give away about their randomizer: the two blind ways of the convolution paper."""

import math

import numpy as np
import pytest

from lapwing import (
    Categories,
    ExpectationMaximization,
    Interval,
    RandomizedResponse,
    SquareWave,
    simulate,
)
from lapwing.errors import TallyError, UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.papers.convolution.channel_identification import (
    channel_from_one_input,
    channel_from_support,
    epsilon_from_support,
)
from lapwing.papers.convolution.wiener import Wiener
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.channels.channel import Multinomial, ProductOfBits
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers import OptimizedUnaryEncoding, UnaryEncoding
from lapwing.randomizers.categorical.subset_selection import SubsetSelection
from lapwing.tallies import CountTally
from tests.false_alarms import accepts, binomial_tail

DOMAIN = Interval(0, 1, bins=20)
PURE: list[Randomizer] = [
    RandomizedResponse(DOMAIN, 2),
    OptimizedUnaryEncoding(DOMAIN, 2),
    UnaryEncoding(DOMAIN, 2),
]


@pytest.mark.parametrize("randomizer", PURE, ids=lambda each: each.name)
def test_one_input_sent_many_times_shows_p_and_q(randomizer: OptimizedUnaryEncoding) -> None:
    """1e6 reports of one input, by the client's own code: within 4 standard errors."""
    reports = 1_000_000
    tally = randomizer.tally(randomizer.randomize(np.full(reports, 0.63), rng=seeded(1)))
    channel = channel_from_one_input(DOMAIN, tally, value=0.63)
    truth, found = randomizer.channel.blocks[0].operator, channel.blocks[0].operator
    p, q = truth.diagonal, truth.off_diagonal
    assert abs(found.diagonal - p) < 4 * math.sqrt(p * (1 - p) / reports)
    assert abs(found.off_diagonal - q) < 4 * math.sqrt(q * (1 - q) / reports)
    # With another input declared, what is taken for p is q.
    wrong = channel_from_one_input(DOMAIN, tally, value=0.1).blocks[0].operator
    assert abs(wrong.diagonal - q) < 0.01
    law = Multinomial if randomizer is PURE[0] else ProductOfBits
    assert isinstance(channel.blocks[0].law, law) and channel.guarantee is None


def test_one_input_shows_the_whole_column_of_a_wave_on_a_circle() -> None:
    circle = Interval(0, 24, bins=20, circular=True)
    wave = SquareWave(circle, 2, width=0.1)
    tally = wave.tally(wave.randomize(np.full(300_000, 20.0), rng=seeded(1)))
    channel = channel_from_one_input(circle, tally, value=20.0, pure=False)
    truth = dense(wave.channel.blocks[0].operator)[:, 0]
    # The estimated column times the reports are counts: compare them with the law.
    counts = np.rint(channel.blocks[0].operator.kernel * 300_000)
    assert accepts(binomial_tail(counts, 300_000, truth))
    assert not accepts(binomial_tail(np.roll(counts, 1), 300_000, truth))
    # It decodes reports of others.
    people = np.round(2000 * (2 + np.sin(np.arange(20) / 10 * np.pi))).astype(np.int64)
    others = simulate(wave, people, rng=1)
    decoder = Wiener(method="iterative-from-reports", band=False)
    blind, informed = decoder.decode(channel, others), decoder.decode(wave.channel, others)
    assert np.abs(blind.mass - informed.mass).max() < 0.1 * np.ptp(informed.mass)


def test_size_of_reports_shows_epsilon() -> None:
    rng = np.random.default_rng(0)
    for make, protocol in (
        (OptimizedUnaryEncoding, "optimized-unary-encoding"),
        (UnaryEncoding, "unary-encoding"),
    ):
        for epsilon in (0.5, 1, 2, 4):
            randomizer = make(Interval(0, 1, bins=200, outside="clip"), epsilon)
            # Whatever people hold: all at one symbol, or spread.
            for people in (np.eye(200, dtype=np.int64)[7] * 10**6, rng.integers(0, 10_000, 200)):
                tally = simulate(randomizer, people, rng=rng)
                found = epsilon_from_support(tally, protocol=protocol)
                assert found == pytest.approx(epsilon, rel=0.01)
                channel = channel_from_support(randomizer.domain, tally, protocol=protocol)
                truth, ours = randomizer.channel.blocks[0].operator, channel.blocks[0].operator
                assert ours.diagonal == pytest.approx(truth.diagonal, rel=0.01)
                assert ours.off_diagonal == pytest.approx(truth.off_diagonal, rel=0.03)


def test_the_wrong_protocol_shows_another_epsilon() -> None:
    randomizer = UnaryEncoding(DOMAIN, 2)
    tally = simulate(randomizer, np.full(20, 50_000), rng=1)
    found = epsilon_from_support(tally, protocol="optimized-unary-encoding")
    assert abs(found - 2) > 0.2


def test_blind_channels_are_decoded_by_any_decoder() -> None:
    randomizer = OptimizedUnaryEncoding(DOMAIN, 3)
    people = np.arange(1, 21) * 2000
    tally = simulate(randomizer, people, rng=1)
    channel = channel_from_support(DOMAIN, tally, protocol="optimized-unary-encoding")
    for decoder in (Wiener(), ExpectationMaximization(tolerance=0.01)):
        blind = decoder.decode(channel, tally)
        assert np.abs(blind.mass - people / people.sum()).max() < 0.01


def test_protocols_whose_size_tells_nothing_are_refused() -> None:
    response = PURE[0]
    refused: list[Randomizer] = [response, SubsetSelection(DOMAIN, 2)]
    for randomizer in refused:
        tally = simulate(randomizer, np.full(20, 1000), rng=1)
        with pytest.raises(
            UnsupportedChannelError, match="equally many symbols, it reveals nothing"
        ):
            epsilon_from_support(tally, protocol=randomizer.name)
    # Declared as another protocol, its size is impossible or nearly so.
    ones = simulate(response, np.full(20, 1000), rng=1)
    with pytest.raises(TallyError, match="cannot come from unary-encoding"):
        epsilon_from_support(ones, protocol="unary-encoding")
    two = UnaryEncoding(Categories(2), 1)
    tally = simulate(two, np.array([10, 10]), rng=1)
    with pytest.raises(UnsupportedChannelError, match="two symmetric bits"):
        epsilon_from_support(tally, protocol="unary-encoding")


def test_other_refusals() -> None:
    empty = CountTally([np.zeros(20, dtype=np.int64)], [0], "nobody")
    with pytest.raises(TallyError, match="at least one report"):
        channel_from_one_input(DOMAIN, empty, value=0.5)
    with pytest.raises(TallyError, match="at least one report"):
        epsilon_from_support(empty, protocol="unary-encoding")
    longer = SquareWave(DOMAIN, 1)
    tally = longer.tally(longer.randomize([0.5] * 10, rng=seeded(1)))
    with pytest.raises(UnsupportedChannelError, match="one block of 20 counts"):
        channel_from_one_input(DOMAIN, tally, value=0.5)
