"""The significance threshold: its level, how often it is wrong, and what becomes of the rest."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lapwing import Categories, Distribution, RandomizedResponse, simulate
from lapwing.decoders.unbiased.linear_estimate import unbiased_shares
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.papers.baselines import HeavyHitterSelection, Threshold
from lapwing.papers.baselines.threshold import critical_score
from lapwing.randomizers import HadamardResponse, OptimizedUnaryEncoding
from lapwing.results import SignedEstimate
from lapwing.testing.decoder_contract import noiseless, truth
from tests.contracts.registered_decoders import CHANNELS
from tests.false_alarms import accepts, binomial_tail
from tests.signed_decoder import signed_estimate

SIZE = 400
BITS = OptimizedUnaryEncoding(Categories(SIZE), 1)
REPEATS = 400


def heavy(size: int = SIZE, people: int = 20_000) -> np.ndarray:
    """Return five values that stand out, and nobody else."""
    counts = np.zeros(size, dtype=np.int64)
    counts[[3, 30, 31, 70, 200]] = people // 5
    return counts


def benjamini_hochberg(scores: np.ndarray, alpha: float) -> np.ndarray:
    """Return which are found, by the textbook: step up from the smallest p-value."""
    tails = stats.norm.sf(scores)
    order = np.argsort(tails)
    found = np.zeros(scores.size, dtype=bool)
    last = 0
    for rank, place in enumerate(order, start=1):
        if tails[place] <= alpha * rank / scores.size:
            last = rank
    found[order[:last]] = True
    return found


def test_the_threshold_is_equation_6() -> None:
    """The paper's example: 1,000 values, 2,834,264 people, epsilon 4."""
    for make, wanted in ((OptimizedUnaryEncoding, 1806), (RandomizedResponse, 3965)):
        randomizer = make(Categories(1000), 4)
        people = np.full(1000, 2834)
        people[0] += 2_834_264 - people.sum()
        found = unbiased_shares(randomizer.channel, simulate(randomizer, people, rng=1))
        score = critical_score(found.shares / found.deviation, alpha=0.05, control="family-wise")
        assert score == pytest.approx(stats.norm.isf(0.05 / 1000), rel=1e-9)
        assert round(score * float(found.deviation[0]) * 2_834_264) == pytest.approx(wanted, abs=1)


def test_false_discovery_is_the_textbook_procedure() -> None:
    rng = np.random.default_rng(2)
    for alpha in (0.01, 0.1, 0.5):
        for signal in (0, 5, 60):
            scores = rng.normal(size=300)
            scores[:signal] += 3
            score = critical_score(scores, alpha=alpha, control="false-discovery")
            np.testing.assert_array_equal(scores >= score, benjamini_hochberg(scores, alpha))


@pytest.mark.parametrize(
    "make",
    [
        OptimizedUnaryEncoding,
        RandomizedResponse,
        lambda domain, epsilon: HadamardResponse(domain, epsilon, blocks=4),
    ],
)
def test_false_positives_are_as_rare_as_stated(make: Any) -> None:
    randomizer = make(Categories(SIZE), 2)
    people, alpha = heavy(), 0.2
    empty = people == 0
    wrong, parts, careless = 0, [], 0
    rng = np.random.default_rng(3)
    for _ in range(REPEATS):
        found = unbiased_shares(randomizer.channel, simulate(randomizer, people, rng=rng))
        scores = found.shares / found.deviation
        kept = scores >= critical_score(scores, alpha=alpha, control="family-wise")
        wrong += bool(kept[empty].any())
        careless += bool((scores[empty] >= stats.norm.isf(alpha)).any())
        listed = scores >= critical_score(scores, alpha=alpha, control="false-discovery")
        parts.append(listed[empty].sum() / max(int(listed.sum()), 1))
    # Any of 395 independent values: 1 - (1 - alpha / size)^395 of the repeats, within .01.
    expected = 1 - (1 - alpha / SIZE) ** empty.sum()
    assert accepts(binomial_tail(np.array([wrong]), REPEATS, expected))
    # The check can fail: without the division by the number of values somebody is always found.
    assert not accepts(binomial_tail(np.array([careless]), REPEATS, expected))
    # The false part is at most alpha times the part of values that are empty; a mean of 400 has
    # a standard error below .012.
    assert 0.05 < np.mean(parts) < alpha + 0.085


def test_what_becomes_of_the_rest() -> None:
    tally = simulate(BITS, heavy(), rng=5)
    raw = unbiased_shares(BITS.channel, tally).shares
    dropped = signed_estimate(Threshold(), BITS.channel, tally)
    assert isinstance(dropped, SignedEstimate)
    kept = dropped.mass > 0
    np.testing.assert_array_equal(dropped.mass[kept], raw[kept])
    assert set(np.flatnonzero(kept)) == set(np.flatnonzero(heavy()))
    for decoder in (Threshold(rest="spread"), Threshold(rest="project")):
        whole = decoder.decode(BITS.channel, tally)
        assert isinstance(whole, Distribution)
        if dropped.mass.sum() < 1 and decoder.rest == "spread":
            np.testing.assert_allclose(whole.mass[kept], raw[kept], atol=1e-15)
        if decoder.rest == "project":
            assert whole.mass[~kept].max() == 0


def test_selection_lists_what_the_threshold_keeps() -> None:
    tally = simulate(BITS, heavy(), rng=6)
    listed = HeavyHitterSelection().decode(BITS.channel, tally)
    kept = signed_estimate(Threshold(), BITS.channel, tally)
    assert set(listed.symbols.tolist()) == set(np.flatnonzero(kept.mass).tolist())
    np.testing.assert_array_equal(listed.shares, np.sort(kept.mass[kept.mass > 0])[::-1])
    found = unbiased_shares(BITS.channel, tally)
    assert listed.threshold == pytest.approx(
        stats.norm.isf(0.05 / SIZE) * float(found.deviation[0])
    )
    deviation = np.sqrt(found.variance(np.clip(found.shares, 0, 1)))
    np.testing.assert_allclose(listed.deviations, deviation[listed.symbols])
    assert listed.searched == SIZE and listed.reports == tally.total
    band = listed.confidence_band(0.95)
    assert ((band.low <= 0.2) & (band.high >= 0.2)).all()


def test_selection_of_the_largest_few() -> None:
    tally = simulate(BITS, np.arange(SIZE) * 50, rng=7)
    raw = unbiased_shares(BITS.channel, tally).shares
    ten = HeavyHitterSelection(control="none", top=10).decode(BITS.channel, tally)
    np.testing.assert_array_equal(ten.symbols, np.argsort(-raw, kind="stable")[:10])
    assert ten.threshold == ten.shares[-1] and ten.expected_false is None
    three = HeavyHitterSelection(control="false-discovery", top=3).decode(BITS.channel, tally)
    np.testing.assert_array_equal(three.symbols, ten.symbols[:3])
    all_of_them = HeavyHitterSelection(control="none", top=10_000).decode(BITS.channel, tally)
    assert len(all_of_them) == SIZE


def test_a_level_above_zero_lists_fewer() -> None:
    people = np.zeros(SIZE, dtype=np.int64)
    people[:4] = [40_000, 30_000, 20_000, 10_000]
    names = HeavyHitterSelection(above=0.15)
    counts = [
        names.decode(BITS.channel, simulate(BITS, people, rng=seed)).values for seed in range(50)
    ]
    # Twenty per cent is 5 standard deviations of .0083 above the level, 10% as much below it.
    assert all(set(found) <= {0, 1, 2} and set(found) >= {0, 1} for found in counts)
    level = 0.3
    wrong = sum(
        bool(
            set(
                HeavyHitterSelection(above=level, alpha=0.3)
                .decode(BITS.channel, simulate(BITS, people, rng=seed))
                .values
            )
            - {0}
        )
        for seed in range(REPEATS)
    )
    # One value lies exactly on the level; the other 399 far below it.
    assert accepts(binomial_tail(np.array([wrong]), REPEATS, 0.3 / SIZE))


def test_a_lone_report_lists_nothing_impossible() -> None:
    people = np.zeros(SIZE, dtype=np.int64)
    people[7] = 1
    for selection in (
        HeavyHitterSelection(control="family-wise"),
        HeavyHitterSelection(control="false-discovery"),
    ):
        found = selection.decode(BITS.channel, simulate(BITS, people, rng=1))
        assert math.isfinite(found.threshold)


def test_lists_without_an_end_and_other_channels_are_refused() -> None:
    with pytest.raises(ArgumentError, match="without a control, pass top"):
        HeavyHitterSelection(control="none")
    channel = CHANNELS["wave"]()
    with pytest.raises(UnsupportedChannelError):
        HeavyHitterSelection().decode(channel, noiseless(channel, truth(8)))
