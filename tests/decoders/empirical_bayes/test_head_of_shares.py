"""The largest of many shares: what they keep, what that costs the others, who pays for the sum."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from lapwing import Categories, simulate
from lapwing.decoders.empirical_bayes.learned_mixture import LearnedMixture
from lapwing.decoders.empirical_bayes.mixture_prior import (
    ALPHA,
    HEAD,
    PRICE,
    Head,
    ShrunkShares,
    shrunk,
    significant_steps,
)
from lapwing.decoders.unbiased.linear_estimate import UnbiasedShares, unbiased_shares
from lapwing.linear.projections import simplex
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.tallies import CountTally

SIZE = 4000


def tallied(counts: np.ndarray, *, epsilon: float, seed: int) -> UnbiasedShares:
    bits = OptimizedUnaryEncoding(Categories(counts.size), epsilon)
    tally: CountTally = simulate(bits, counts, rng=seed)
    return unbiased_shares(bits.channel, tally).with_total()


def learned(found: UnbiasedShares) -> LearnedMixture:
    """Return the law of all shares, none of which is kept for certain."""
    symbols = np.arange(found.shares.size)
    return LearnedMixture.of(found, symbols, mean=1 / symbols.size, iterations=300)


def head_of(mixture: LearnedMixture, found: UnbiasedShares) -> Head:
    return Head.of(mixture, symbols=found.shares.size, certain=0, tails=found.tails)


def heavy_tailed(people: int) -> np.ndarray:
    """Return counts of a power law cut at 300 labels."""
    mass = np.where(np.arange(SIZE) < 300, 1 / (np.arange(SIZE) + 8.0), 0.0)
    return np.random.default_rng(3).multinomial(people, mass / mass.sum())


def test_a_head_that_is_seen_is_not_shrunk_much_and_all_pay_little() -> None:
    """The plain posterior mean, as it was before: half more than unbiased over the 50 largest."""
    counts = heavy_tailed(1_500_000)
    held = counts / counts.sum()
    largest = np.argsort(-held, kind="stable")[:HEAD]
    head: dict[str, list[float]] = {"ours": [], "plain": [], "unbiased": []}
    every: dict[str, list[float]] = {"ours": [], "plain": []}
    for seed in range(12):
        found = tallied(counts, epsilon=2, seed=seed)
        mixture = learned(found)
        free = np.empty(SIZE)
        mixture.read(mixture.posterior @ mixture.grid, found.shares, free)
        estimates = {"ours": shrunk(found).mass, "plain": simplex(free), "unbiased": found.shares}
        for name, estimate in estimates.items():
            squares = (estimate - held) ** 2
            head[name].append(squares[largest].sum())
            if name in every:
                every[name].append(squares.sum())
    unbiased = np.mean(head["unbiased"])
    assert np.mean(head["ours"]) < 1.15 * unbiased
    assert np.mean(head["plain"]) > 1.3 * unbiased
    assert np.mean(every["ours"]) < 1.03 * np.mean(every["plain"])


def test_two_shares_far_from_all_others_stay_apart() -> None:
    """A mixture that was learned from few estimates puts them on one atom between them."""
    noise = NormalDist()
    quantiles = [noise.inv_cdf((i + 0.5) / SIZE) for i in range(SIZE)]
    unit = 1 / 60.0
    found = UnbiasedShares(
        np.array([*quantiles, 6.4, 7.6]) * unit, np.full(SIZE + 2, unit**2), 0.0, 1
    )
    apart = shrunk(found).free[-2:] / unit
    np.testing.assert_allclose(apart, [6.4, 7.6], atol=0.1)
    mixture = learned(found)
    together = np.empty(SIZE + 2)
    mixture.read(mixture.posterior @ mixture.grid, found.shares, together)
    assert np.ptp(together[-2:]) < 0.8 * unit


def test_many_equal_shares_stay_together() -> None:
    counts = np.zeros(SIZE, dtype=np.int64)
    counts[:100] = 3000
    found = tallied(counts, epsilon=2, seed=1)
    held = counts / counts.sum()
    assert 5 < held[0] / found.deviation[0] < 9
    ours = np.sum((shrunk(found).mass - held)[:100] ** 2)
    assert ours < 0.2 * np.sum((found.shares - held)[:100] ** 2)


def test_few_labels_have_no_head() -> None:
    """Of equal ones the largest is significant by chance: it kept all of its noise."""
    counts = np.full(24, 100_000 // 24)
    held = counts / counts.sum()
    squares: dict[str, float] = {"ours": 0.0, "plain": 0.0}
    for seed in range(10):
        found = tallied(counts, epsilon=0.5, seed=seed)
        mixture = learned(found)
        free = np.empty(24)
        mixture.read(mixture.posterior @ mixture.grid, found.shares, free)
        for name, mass in {"ours": shrunk(found).mass, "plain": simplex(free)}.items():
            squares[name] += float(np.sum((mass - held) ** 2))
    assert squares["ours"] < 1.02 * squares["plain"]


def test_the_price_is_what_all_pay_and_the_head_gains_by_it() -> None:
    found = tallied(heavy_tailed(60_000), epsilon=2, seed=5)
    mixture = learned(found)
    plain = mixture.posterior @ mixture.grid
    least = mixture.bins @ (mixture.posterior @ mixture.grid**2 - plain**2)
    reach = significant_steps(SIZE, "normal")
    shown = mixture.bins.sum() * mixture.weights[mixture.grid_steps >= reach / 2].sum()
    head = head_of(mixture, found)
    unsure = mixture.steps < reach - 2
    grown = mixture.bins @ np.where(unsure, (head.estimates - plain) ** 2, 0.0)
    assert 0 < grown <= PRICE * min(1, shown / HEAD) ** 2 * least
    assert (head.costs >= 1).all() and (np.diff(head.costs) >= -1e-9).all()
    assert (head.estimates[unsure] >= plain[unsure] - 1e-12).all()
    # Nobody is of the head where nothing is there, so nobody pays.
    nothing = tallied(np.full(SIZE, 20), epsilon=1, seed=1)
    even = learned(nothing)
    calm = even.steps < reach - 2
    flat = even.posterior @ even.grid
    np.testing.assert_allclose(head_of(even, nothing).estimates[calm], flat[calm], rtol=0.05)


def test_what_is_dear_moves_least_when_shares_are_made_to_sum_to_one() -> None:
    free = np.array([0.5, 0.3, 0.2, 0.06])
    shares = ShrunkShares(free, np.array([10.0, 2.0, 1.0, 1.0])).mass
    taken = free - shares
    assert shares.sum() == pytest.approx(1) and (shares >= 0).all()
    np.testing.assert_allclose(taken, 0.06 / 2.6 * np.array([0.1, 0.5, 1, 1]), atol=1e-12)
    np.testing.assert_allclose(ShrunkShares(free, np.ones(4)).mass, simplex(free))


def test_an_empty_symbol_is_significant_as_rarely_as_stated() -> None:
    assert SIZE * NormalDist().cdf(-significant_steps(SIZE, "normal")) == pytest.approx(ALPHA)
    laplace = math.exp(-math.sqrt(2) * significant_steps(SIZE, "laplace")) / 2
    assert SIZE * laplace == pytest.approx(ALPHA)
