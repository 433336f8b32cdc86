"""Shares of few labels: Stein's risk, what moves with an estimate, and what is believed of it."""

import numpy as np
import pytest

from lapwing.decoders.empirical_bayes.learned_mixture import LearnedMixture, exponential
from lapwing.decoders.empirical_bayes.mixture_prior import (
    belief_in,
    clearness,
    evidence,
    own_derivatives,
    shrunk,
    stein_risk,
)
from lapwing.decoders.unbiased.linear_estimate import UnbiasedShares
from lapwing.linear.projections import simplex


def seen(shares: np.ndarray, deviation: float) -> UnbiasedShares:
    """Return estimates of one variance."""
    return UnbiasedShares(shares, np.full(shares.size, deviation**2), 0.0, 10_000)


def learned(found: UnbiasedShares, *, added: float = 1.0) -> LearnedMixture:
    symbols = np.arange(found.shares.size)
    return LearnedMixture.of(found, symbols, mean=1 / symbols.size, iterations=300, added=added)


def means(found: UnbiasedShares) -> np.ndarray:
    mixture, free = learned(found), np.empty(found.shares.size)
    mixture.read(mixture.posterior @ mixture.grid, found.shares, free)
    return free


def noisy(held: np.ndarray, deviation: float, rng: np.random.Generator) -> UnbiasedShares:
    return seen(held + deviation * rng.standard_normal(held.size), deviation).with_total()


@pytest.mark.parametrize(("steps", "close"), [(0.0, 0.08), (1.0, 0.03), (2.0, 0.06)])
def test_derivatives_are_those_of_the_learned_means(steps: float, close: float) -> None:
    """Also through what is learned: under a prior that stays they would be far smaller.

    Without the answer of the mean that is kept, the second sum is five per cent off.
    """
    deviation = 1 / 24
    held = 1 / 8 + steps * deviation * (np.arange(8) - 3.5) / 2
    found = noisy(np.maximum(held, 0), deviation, np.random.default_rng(4))
    claimed = np.empty(8)
    mixture = learned(found)
    mixture.read(own_derivatives(mixture), found.shares, claimed)
    gap, measured = deviation / 2, []
    for label in range(8):
        moved = gap * (np.arange(8) == label)
        higher, lower = (
            means(seen(found.shares + side * moved, deviation))[label] for side in (1, -1)
        )
        measured.append((higher - lower) / (2 * gap))
    np.testing.assert_allclose(claimed, measured, atol=0.25)
    assert claimed.sum() == pytest.approx(sum(measured), rel=close)
    spread = mixture.posterior @ mixture.grid**2 - (mixture.posterior @ mixture.grid) ** 2
    stays = np.empty(8)
    mixture.read(spread / deviation**2, found.shares, stays)
    assert stays.sum() < 0.8 * sum(measured)


def test_the_risk_is_unbiased_where_projections_cut_shares_off() -> None:
    """Of shrinking by half to equal shares, in 4,000 draws: within four of its standard errors.

    Without the term of the estimates, or without what a projection takes from the derivatives,
    it is off by more than five.
    """
    rng = np.random.default_rng(3)
    held, deviation = np.array([0.55, 0.25, 0.1, 0.06, 0.04, 0, 0, 0]), 0.05
    variance = np.full(8, deviation**2)
    wrong, no_term, no_cut = np.empty((3, 4000))
    for draw in range(4000):
        shares = held + deviation * rng.standard_normal(8)
        mass, nearest = simplex((shares + 0.02) / 2), simplex(shares)
        actual = np.sum((mass - held) ** 2) - np.sum((nearest - held) ** 2)
        risk = stein_risk(shares, variance, mass, np.full(8, 0.5))
        wrong[draw] = risk - actual
        no_term[draw] = wrong[draw] - 2 * (mass - nearest) @ (nearest - shares)
        # Half of a share's derivative is taken from the shrunk one, a whole from the nearest.
        no_cut[draw] = wrong[draw] - deviation**2
    sigmas = [abs(one.mean()) / (one.std() / np.sqrt(one.size)) for one in (wrong, no_term, no_cut)]
    assert sigmas[0] < 4 and min(sigmas[1:]) > 5, sigmas


def errors_of(held: np.ndarray, deviation: float, *, repeats: int) -> dict[str, float]:
    """Return squared errors of the default, the mixture as it is, and the nearest distribution."""
    rng = np.random.default_rng(11)
    sums = {"ours": 0.0, "mixture": 0.0, "nearest": 0.0}
    for _ in range(repeats):
        found = noisy(held, deviation, rng)
        free = np.empty(held.size)
        mixture = learned(found, added=0.0)
        mixture.read(mixture.posterior @ mixture.grid, found.shares, free)
        estimates = (shrunk(found).mass, simplex(free), simplex(found.shares))
        for name, estimate in zip(sums, estimates, strict=True):
            sums[name] += float(np.sum((estimate - held) ** 2))
    return sums


@pytest.mark.parametrize(("size", "level"), [(4, 6), (8, 9), (24, 12)])
def test_unequal_shares_of_few_labels_are_not_drawn_together(size: int, level: int) -> None:
    """The mixture as it is, without doubt, has a quarter to a half more than the nearest."""
    deviation = 1 / size / level
    steps = 2 if size < 24 else 1
    held = 1 / size + steps * deviation * (np.arange(size) - (size - 1) / 2)
    found = errors_of(held, deviation, repeats=12)
    assert found["ours"] < 1.1 * found["nearest"]
    assert found["mixture"] > 1.15 * found["nearest"]


def test_equal_shares_are_drawn_together_as_before() -> None:
    found = errors_of(np.full(24, 1 / 24), 1 / 100, repeats=12)
    assert found["ours"] < 1.05 * found["mixture"] < 0.3 * found["nearest"]


def test_the_belief_follows_the_risk_and_the_evidence() -> None:
    rng = np.random.default_rng(8)
    equal, uneven = np.full(24, 1 / 24), 1 / 24 + (np.arange(24) - 11.5) / 400
    beliefs = []
    for held in (equal, uneven):
        found = noisy(held, 1 / 200, rng)
        mixture, mass = learned(found), simplex(means(found))
        foretold = evidence(mixture)
        beliefs.append(belief_in(mixture, found, mass, foretold=foretold))
        # The better estimate of the two is believed, as the truth says which one is.
        closer = np.sum((mass - held) ** 2) < np.sum((found.shares - held) ** 2)
        assert closer == (beliefs[-1] > 0.5)
    assert beliefs[0] > 0.99 and beliefs[1] < 0.45
    # Of four labels the risk alone is no witness: they must be foretold by one another.
    few = noisy(np.full(4, 0.25), 1 / 40, rng)
    mixture, mass = learned(few), simplex(means(few))
    told = [belief_in(mixture, few, mass, foretold=evidence) for evidence in (-2.0, 2.0, 9.0)]
    assert told[0] < 0.05 < told[1] < told[2] and told[2] > 0.95


def test_the_evidence_is_of_labels_that_do_not_foretell_themselves() -> None:
    """Far apart none tells of another: the evidence is against atoms, which fit each by itself."""
    apart = seen(np.array([0.02, 0.14, 0.26, 0.58]), 1 / 60)
    mixture = learned(apart)
    used = mixture.bins > 0
    likelihood = mixture.groups[0].likelihood(mixture.grid)[used]
    own = np.log(likelihood @ mixture.weights)
    unknown = np.log(likelihood @ exponential(mixture.grid, mixture.mean))
    assert evidence(mixture) < -1 < 1 < float((own - unknown).sum())
    alike = learned(seen(np.array([0.24, 0.26, 0.245, 0.255]), 1 / 60))
    assert evidence(alike) > 3
    assert clearness(evidence(alike), 4) > 0.5 > clearness(evidence(mixture), 4)


def test_from_100_labels_on_and_of_laplace_noise_nothing_is_doubted() -> None:
    rng = np.random.default_rng(5)
    many = noisy(np.full(100, 0.01), 1 / 200, rng)
    assert type(shrunk(many)).__name__ == "ShrunkShares"
    few = noisy(np.full(60, 1 / 60), 1 / 100, rng)
    laplace = UnbiasedShares(few.shares, few.empty, 0.0, 1, "laplace")
    assert type(shrunk(laplace)).__name__ == "ShrunkShares"
    assert type(shrunk(few)).__name__ == "DoubtedShares"
    # Certain shares stay where they are when the total is free.
    kept = shrunk(seen(np.array([0.5, 0.3, 0.12, 0.05, 0.03]), 0.02))
    np.testing.assert_array_equal(kept.free[:2], [0.5, 0.3])
    assert kept.mass.sum() == pytest.approx(1)


def test_medians_are_of_the_mixture_as_it_is() -> None:
    """They are no means, of which Stein's risk is, and nothing is added to what is learned."""
    found = noisy(np.full(12, 1 / 12), 1 / 40, np.random.default_rng(6))
    mixture, free = learned(found, added=0.0), np.empty(12)
    mixture.read(mixture.medians(), found.shares, free)
    doubted = learned(found, added=1.0)
    np.testing.assert_array_equal(shrunk(found, estimate="median").free, free)
    assert np.abs(doubted.weights - mixture.weights).max() > 1e-3
