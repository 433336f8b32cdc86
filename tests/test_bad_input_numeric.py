"""Bad input of numerical surveys: each kind has its error, or a stated fallback; nothing is NaN."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, get_args

import numpy as np
import pytest

from lapwing import (
    Distribution,
    ExpectationMaximization,
    Interval,
    LeastSquares,
    MultiscaleWave,
    Reports,
    SpectralPrior,
    SquareWave,
    seeded,
    simulate,
)
from lapwing.errors import (
    ArgumentError,
    DomainError,
    LapwingWarning,
    ReportError,
    TallyError,
    UnsupportedChannelError,
)
from lapwing.linear.projections import simplex
from lapwing.papers.baselines import PenalizedLikelihood, StochasticRounding
from lapwing.papers.convolution import BinomialSmoothing, GaussianSmoothing, Wiener
from lapwing.papers.square_wave import HaarHadamard, Hierarchical, TreeConsistency
from lapwing.papers.wavelet import Wavelet, WaveletClip
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.randomizers.mixture import whole_shares
from lapwing.results import SignedEstimate
from lapwing.results.signed_estimate import Projection
from lapwing.tallies import CountTally
from tests.rows import each
from tests.signed_decoder import unbiased


def bins(number: int, *, circular: bool = False) -> Interval:
    return Interval(0, 1, bins=number, circular=circular, outside="clip")


# Knobs.


@pytest.mark.parametrize("branching", [3, 5, 100])
def test_a_branching_that_does_not_divide_the_bins_makes_unequal_nodes(branching: int) -> None:
    """The fallback: leaves are the bins, and a level's nodes hold one bin more or less."""
    tree = Hierarchical(bins(32), 4, branching=branching)
    cells = [part.randomizer.domain.size for part in tree.groups]
    assert cells[-1] == 32 and all(cells[i] < cells[i + 1] for i in range(len(cells) - 1))
    counts = np.full(32, 2000)
    made = TreeConsistency(method="admm").decode(tree.channel, simulate(tree, counts, rng=1))
    assert isinstance(made, Distribution)
    assert np.abs(np.cumsum(made.mass) - np.arange(1, 33) / 32).max() < 0.1


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"levels": 4}, "8 symbols. Use at most 3 levels, or more bins"),
        ({"levels": "bound"}, "needs the number of users"),
    ],
)
def test_more_levels_than_the_bins_or_people_carry_are_refused(
    knobs: dict[str, Any], message: str
) -> None:
    with pytest.raises((ArgumentError, DomainError), match=message):
        Wavelet(bins(8), 1, **knobs)


def test_levels_by_rule_never_exceed_the_bins_or_the_people() -> None:
    for users in (1, 2, 10**9):
        assert 1 <= len(Wavelet(bins(8), 1, levels="bound", users=users).groups) <= 3


@pytest.mark.parametrize("share", [0.0, -0.2, 1.5, float("nan"), float("inf")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ArgumentError, match="share of a component must be positive"):
        MultiscaleWave(bins(8), 1, components=[("wave", 0.5, share), ("subset", 4, 0.5)])


def test_shares_of_parts_are_relative_and_shares_of_blocks_sum_to_one() -> None:
    """The stated fallback of the one, and the errors of the others."""
    third = MultiscaleWave(bins(8), 1, components=[("wave", 0.5, 0.2), ("subset", 4, 0.1)])
    assert third.channel.blocks[0].share == pytest.approx(2 / 3)
    for shares in ([0.5, 0.4], [0.5, 0.6], [], [1.2, -0.2]):
        with pytest.raises(ArgumentError, match="positive and sum to 1"):
            whole_shares(shares)
    blocks = third.channel.blocks
    halves = [Block(block.operator, block.law, 0.4) for block in blocks]
    with pytest.raises(UnsupportedChannelError, match=r"sum to 1, got 0\.8"):
        Channel(third.domain, halves, third.fingerprint)


# Reports and tallies.

MIXTURES = {
    "multiscale": MultiscaleWave(bins(8), 1),
    "hierarchical": Hierarchical(bins(8), 1, branching=2),
    "wavelet": Wavelet(bins(8), 1, levels=3),
    "haar": HaarHadamard(bins(8), 1),
}
DECODERS: dict[str, Any] = {
    "least-squares": LeastSquares(),
    "unbiased": LeastSquares(signed=True),
    "em": ExpectationMaximization(),
    "ems": ExpectationMaximization(smoothed=True),
    "spectral": SpectralPrior(),
    "penalized": PenalizedLikelihood(),
    "tree": TreeConsistency(),
    "admm": TreeConsistency(method="admm"),
    "clip": WaveletClip(),
    "gaussian": GaussianSmoothing(),
    "binomial": BinomialSmoothing(),
}
NEED_AN_INVERSE = {"unbiased", "gaussian", "binomial"}
PAIRS = [(mixture, decoder) for mixture in MIXTURES for decoder in DECODERS]


def decode(mixture: str, decoder: str, tally: CountTally) -> Distribution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        made = DECODERS[decoder].decode(MIXTURES[mixture].channel, tally)
    assert isinstance(made, Distribution)
    return made


def understands(mixture: str, decoder: str) -> bool:
    """Whether the decoder takes this channel at all, found with a full tally."""
    randomizer = MIXTURES[mixture]
    try:
        decode(mixture, decoder, simulate(randomizer, np.full(8, 500), rng=1))
    except UnsupportedChannelError:
        return False
    return True


def emptied(tally: CountTally, *, groups: set[int] | None = None) -> CountTally:
    """Return a tally in which some groups (default: all) have no reports."""
    gone = set(range(len(tally.reports))) if groups is None else groups
    return CountTally(
        [np.zeros_like(c) if i in gone else c for i, c in enumerate(tally.blocks)],
        [0 if i in gone else n for i, n in enumerate(tally.reports)],
        tally.fingerprint,
    )


@cache
def understood() -> list[tuple[str, str]]:
    return [pair for pair in PAIRS if understands(*pair)]


def test_most_decoders_take_every_mixture() -> None:
    assert len(understood()) == 36
    assert {decoder for _, decoder in understood()} == set(DECODERS)


@pytest.mark.parametrize("mixture", MIXTURES)
def test_reports_of_a_group_that_does_not_exist_are_refused(mixture: str) -> None:
    randomizer = MIXTURES[mixture]
    reports = randomizer.randomize([0.1] * 5, rng=seeded(1))
    data = reports.data.copy()
    data[2, 0] = len(randomizer.groups)
    with pytest.raises(
        ReportError, match=r"of a group in 0\.\.\d, but the one at position 2"
    ) as caught:
        randomizer.tally(Reports(data, reports.fingerprint))
    assert caught.value.position == 2


@each(("mixture", "decoder"), PAIRS)
def test_tallies_without_reports_are_refused(mixture: str, decoder: str) -> None:
    full = simulate(MIXTURES[mixture], np.full(8, 500), rng=1)
    with pytest.raises(TallyError, match="no reports"):
        decode(mixture, decoder, emptied(full))
    lost = CountTally([np.zeros_like(c) for c in full.blocks], full.reports, full.fingerprint)
    with pytest.raises(TallyError, match="must sum to"):
        decode(mixture, decoder, lost)


@each("people", [1, 2])
@each(("mixture", "decoder"), understood)
def test_fewer_people_than_groups_give_finite_answers_or_are_refused(
    mixture: str, decoder: str, people: int
) -> None:
    randomizer = MIXTURES[mixture]
    tally = randomizer.tally(randomizer.randomize([0.1] * people, rng=seeded(2)))
    try:
        made = decode(mixture, decoder, tally)
    except TallyError as error:
        assert decoder in NEED_AN_INVERSE and "Collect more reports" in str(error)
        return
    assert np.isfinite(made.mass).all() and made.mass.sum() == pytest.approx(1)
    for target in ("empirical", "population"):
        band = made.confidence_band(target=target)
        assert band is None or (np.isfinite(band.low).all() and np.isfinite(band.high).all())


@each(("mixture", "decoder"), understood)
def test_an_empty_group_is_named_or_filled(mixture: str, decoder: str) -> None:
    """Which group has no reports is said where an inverse needs it; others answer without it."""
    randomizer = MIXTURES[mixture]
    last = len(randomizer.groups) - 1
    full = simulate(randomizer, np.full(8, 500), rng=1)
    tally = emptied(full, groups={last})
    if decoder in NEED_AN_INVERSE and mixture != "multiscale":
        with pytest.raises(TallyError, match=rf"group {last} has none. Collect more reports"):
            decode(mixture, decoder, tally)
        return
    made = decode(mixture, decoder, tally)
    assert np.isfinite(made.mass).all() and made.mass.sum() == pytest.approx(1)


def test_a_channel_that_no_reports_can_invert_still_says_so() -> None:
    """The message about groups is for groups: here all have reports."""
    coins = StochasticRounding(bins(8), 1)
    tally = simulate(coins, np.full(8, 500), rng=1)
    with pytest.raises(UnsupportedChannelError, match="cannot be inverted"):
        unbiased(coins.channel, tally)


def test_blind_frequencies_of_a_circle_are_refused_or_filled() -> None:
    circle = SquareWave(bins(8, circular=True), 1)
    tally = simulate(circle, [4000, 0, 0, 0, 0, 0, 0, 0], rng=1)
    made = Wiener().decode(circle.channel, tally)
    assert np.isfinite(made.mass).all()


# Projections of wild estimates.


@pytest.mark.parametrize("method", ["weighted-average", "admm"])
def test_estimates_far_outside_the_simplex_do_not_overflow(method: Any) -> None:
    """At epsilon .001 an estimate is off by thousands; the published ADMM divides by zero there."""
    tree = Hierarchical(bins(16), 0.001, branching=4)
    tally = simulate(tree, [50, *[0] * 15], rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        decoder = TreeConsistency(method=method, signed=method == "weighted-average")
        made = decoder.decode(tree.channel, tally)
    assert np.abs(made.mass).max() <= 1
    assert np.isfinite(made.mass).all() and made.mass.sum() == pytest.approx(1)
    if made.signed is not None:
        assert np.abs(made.signed.mass).max() > 10  # the estimate is as wild as it should be
        for projection in get_args(Projection):
            mass = made.signed.project(projection)
            assert np.isfinite(mass).all() and mass.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ([1e308, 1e308, 0.0], [0.5, 0.5, 0.0]),
        ([-1e308, -1e308, -1e307], [0.0, 0.0, 1.0]),
        ([-1e308, 1e308, 0.0], [0.0, 1.0, 0.0]),
        ([-5.0, -5.0, -5.0], [1 / 3, 1 / 3, 1 / 3]),
        ([1e-300, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_the_projection_of_the_largest_numbers_is_exact(
    point: list[float], expected: list[float]
) -> None:
    assert simplex(np.array(point)) == pytest.approx(expected)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_signed_estimate_of_numbers_that_are_none_is_refused(bad: float) -> None:
    with pytest.raises(ArgumentError, match="must be finite"):
        SignedEstimate(bins(3), np.array([0.5, 0.5, bad]), reports=1)
    with pytest.raises(ArgumentError, match="must be finite"):
        Distribution(bins(3), np.array([0.5, 0.5, bad]))


def test_nothing_positive_cannot_be_normalized() -> None:
    nothing = SignedEstimate(bins(3), np.array([-1.0, 0.0, -2.0]), reports=1)
    with pytest.raises(ArgumentError, match="at least one positive mass"):
        nothing.project("clip-and-normalize")
    assert nothing.project("simplex") == pytest.approx([0, 1, 0])
