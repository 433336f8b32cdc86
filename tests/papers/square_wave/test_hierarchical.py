"""The hierarchy: its tree for any size, the oracle of each level, its exact law and its reports."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from lapwing.decoders.likelihood.expectation_maximization import ExpectationMaximization
from lapwing.errors import DomainError
from lapwing.linear.operators.operator import cell_of
from lapwing.papers.square_wave.hierarchical import (
    Hierarchical,
    least_variance_randomizer,
    level_sizes,
)
from lapwing.planning.simulation import simulate
from lapwing.privacy.exact_numbers import exact_epsilon, exponential_bounds
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.categorical.unary_encoding import OptimizedUnaryEncoding
from lapwing.randomizers.mixture import COIN
from lapwing.testing.randomizer_contract import exact_law, exact_ratio
from tests.rows import each


@each("branching", [2, 3, 4, 5, 16])
@each("size", [2, 3, 16, 17, 64, 100, 366, 1024])
def test_tree_of_any_size(size: int, branching: int) -> None:
    sizes = level_sizes(size, branching)
    assert sizes[-1] == size
    assert all(cells == branching ** (level + 1) for level, cells in enumerate(sizes[:-1]))
    levels = [np.zeros(size, dtype=int), *(cell_of(size, cells) for cells in sizes)]
    for above, below in pairwise(levels):
        pairs = np.unique(np.stack([above, below], axis=1), axis=0)
        # Every node has one parent, and none more than `branching` children.
        assert pairs.shape[0] == below.max() + 1
        assert np.bincount(pairs[:, 0]).max() <= branching
        held = np.bincount(below)
        assert held.max() - held.min() <= 1


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 3, 4])
def test_oracle_is_the_one_of_less_variance(epsilon: float) -> None:
    exact = exact_epsilon(epsilon)
    crossing = 3 * math.exp(epsilon) + 2
    for cells in {2, 4, math.floor(crossing), math.ceil(crossing), 4 * math.ceil(crossing)}:
        variances = {}
        for oracle in (RandomizedResponse, OptimizedUnaryEncoding):
            (block,) = oracle(Categories(cells), exact).channel.blocks
            # Of a cell that nobody holds, when everybody holds another one.
            mass = np.zeros(cells)
            mass[1] = 1.0
            gap = block.operator.diagonal - block.operator.off_diagonal
            variances[oracle] = block.covariance(mass).variance()[0] / gap**2
        assert type(least_variance_randomizer(Categories(cells), exact)) is min(
            variances, key=variances.__getitem__
        )
    below, above = (Categories(number) for number in (math.floor(crossing), math.ceil(crossing)))
    assert isinstance(least_variance_randomizer(below, exact), RandomizedResponse)
    assert isinstance(least_variance_randomizer(above, exact), OptimizedUnaryEncoding)


def tree() -> Hierarchical:
    return Hierarchical(Integers(0, 7), 0.5, branching=2)


def test_certificate_is_the_worst_ratio_of_all_reports() -> None:
    randomizer = tree()
    assert [part.randomizer.name for part in randomizer.groups] == [
        "randomized-response",
        "randomized-response",
        "optimized-unary-encoding",
    ]
    worst = Fraction(0)
    for part in randomizer.groups:
        cells = part.randomizer.domain.size
        worst = max(worst, exact_ratio([exact_law(part.randomizer, x) for x in range(cells)]))
    assert randomizer.certificate().ratio == worst
    assert worst <= exponential_bounds(Fraction(1, 2))[0]
    # Within 64-bit rounding of the promise: the levels use all of it.
    assert float(worst) == pytest.approx(math.exp(0.5), rel=1e-15)


def test_public_coin_is_cut_at_the_shares() -> None:
    randomizer = Hierarchical(Integers(0, 7), 1, branching=2)
    limits = np.cumsum([part.share for part in randomizer.groups])
    assert limits[-1] == COIN
    assert max(abs(part.share - COIN / 3) for part in randomizer.groups) <= 3
    for number, limit in enumerate(limits[:-1].tolist()):
        for coin, group in ((limit - 1, number), (limit, number + 1)):
            words = iter([coin << 32, *[2**63] * 20])
            assert randomizer.from_words(3, words)[0] == group


def test_tally_counts_every_level() -> None:
    randomizer = tree()
    reports = randomizer.randomize(np.arange(8).repeat(50), rng=seeded(2))
    tally = randomizer.tally(reports)
    assert [counts.size for counts in tally.blocks] == [2, 4, 8]
    assert list(tally.reports) == np.bincount(reports.data[:, 0], minlength=3).tolist()
    in_the_first = reports.data[reports.data[:, 0] == 0, 1]
    assert tally.blocks[0].tolist() == np.bincount(in_the_first, minlength=2).tolist()


@pytest.mark.parametrize("size", [16, 25])
def test_likelihood_of_all_levels_together(size: int) -> None:
    randomizer = Hierarchical(Interval(0, 1, bins=size, outside="clip"), 1)
    people = np.random.default_rng(3).multinomial(
        2_000_000, np.random.default_rng(4).dirichlet(np.ones(size))
    )
    tally = simulate(randomizer, people, rng=5)
    result = ExpectationMaximization(tolerance=0.01).decode(randomizer.channel, tally)
    assert result.provenance["likelihood"] == "composite marginal-binomial"
    band = result.uncertainty
    assert band is not None
    deviation = band.cdf_deviation("empirical")
    error = np.cumsum(result.mass - people / people.sum())
    assert np.abs(error[:-1] / deviation[:-1]).max() < 5
    assert deviation.max() < 0.01


@pytest.mark.parametrize("domain", [Categories(8), Interval(0, 1, bins=1)])
def test_domains_without_a_tree(domain: Any) -> None:
    with pytest.raises(DomainError, match=r"domain must (be an Interval|have at least 2 symbols)"):
        Hierarchical(domain, 1)


def test_branching_is_part_of_the_fingerprint() -> None:
    domain = Interval(0, 1, bins=16)
    prints = {Hierarchical(domain, 1, branching=b).fingerprint for b in (2, 4, 16)}
    assert len(prints) == 3
    assert Hierarchical(domain, 1).to_document() == {
        "class": "hierarchical",
        "domain": domain.to_document(),
        "epsilon": "1",
        "branching": 4,
    }


def test_covariance_of_a_level_needs_the_cells_alone() -> None:
    randomizer = Hierarchical(Interval(0, 1, bins=50, outside="clip"), 1)
    mass = np.random.default_rng(6).dirichlet(np.ones(50))
    for block in randomizer.channel.blocks:
        whole = block.law.covariance(block.operator, mass).dense()
        np.testing.assert_allclose(block.covariance(mass).dense(), whole, atol=1e-14)
    # As a matrix over symbols the widest level alone would take 8 GB.
    large = Hierarchical(Integers(0, 2**16 - 1, outside="clip"), 1).channel
    uniform = np.full(2**16, 2.0**-16)
    for block in large.blocks:
        assert 0 < block.covariance(uniform).variance().min() < 0.25


def test_two_symbols_are_the_fewest() -> None:
    assert Hierarchical(Interval(0, 1, bins=2), 1).certificate().holds
    with pytest.raises(DomainError, match="at least 2 symbols"):
        Hierarchical(Interval(0, 1, bins=1), 1)
