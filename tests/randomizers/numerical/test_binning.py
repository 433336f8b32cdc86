"""Binning at 8, 16, 32 and 64: the better oracle, Norm-Sub, a CDF that is linear in a bin."""

import numpy as np
import pytest

from lapwing import Distribution, Integers, Interval, LeastSquares, RandomizedResponse, simulate
from lapwing.distances import wasserstein
from lapwing.errors import DomainError, PrivacyError
from lapwing.linear.projections import simplex
from lapwing.papers.square_wave.hierarchical import SIZES, binned
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.mistaken import mistaken
from tests.signed_decoder import unbiased

FINE = Interval(0, 1, bins=1024, outside="clip")


def test_oracle_by_variance() -> None:
    """At epsilon = 1: 3 e + 2 = 10.15, so response at 8 bins and bits at 16."""
    assert isinstance(binned(FINE, 1, bins=8), RandomizedResponse)
    assert isinstance(binned(FINE, 1, bins=16), OptimizedUnaryEncoding)
    for epsilon in (0.5, 1, 2, 3, 4):
        for bins in SIZES:
            e = np.exp(epsilon)
            chosen = binned(FINE, epsilon, bins=bins)
            response = (e + bins - 2) / (e - 1) ** 2
            bits = 4 * e / (e - 1) ** 2
            better = RandomizedResponse if response < bits else OptimizedUnaryEncoding
            assert type(chosen) is better and chosen.domain == FINE.refined(bins)
            assert chosen.certificate().holds


@pytest.mark.parametrize("bins", SIZES)
def test_the_measured_variance_is_the_smaller_one(bins: int) -> None:
    """The unbiased estimate's variance at an empty bin, of both oracles, from their channels."""
    coarse = FINE.refined(bins)
    variance = {}
    for make in (RandomizedResponse, OptimizedUnaryEncoding):
        operator = make(coarse, 2).channel.blocks[0].operator
        q, gap = operator.off_diagonal, operator.diagonal - operator.off_diagonal
        variance[make] = q * (1 - q) / gap**2
    assert type(binned(FINE, 2, bins=bins)) is min(variance, key=variance.__getitem__)


@pytest.mark.parametrize("bins", SIZES)
def test_decoded_by_norm_sub_with_a_cdf_linear_in_bins(bins: int) -> None:
    randomizer = binned(FINE, 1, bins=bins)
    values = np.random.default_rng(0).beta(5, 2, 100_000)
    people = np.bincount(randomizer.domain.index(values), minlength=bins)
    tally = simulate(randomizer, people, rng=1)
    result = LeastSquares().decode(randomizer.channel, tally)
    raw = unbiased(randomizer.channel, tally).mass
    np.testing.assert_allclose(result.mass, simplex(np.array(raw)), atol=1e-12)
    edges = np.arange(bins + 1) / bins
    np.testing.assert_allclose(result.cdf(edges[1:]), np.cumsum(result.mass), atol=1e-12)
    middle = (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(
        result.cdf(middle), (result.cdf(edges[1:]) + result.cdf(edges[:-1])) / 2, atol=1e-12
    )
    truth = Distribution.of_values(values, FINE)
    assert wasserstein(result, truth) < 0.05


def test_refusals() -> None:
    with pytest.raises(DomainError, match="binning needs an Interval"):
        binned(mistaken(Integers(0, 100, outside="clip")), 1, bins=8)
    with pytest.raises(DomainError, match="at least 2 symbols"):
        binned(FINE, 1, bins=1)
    with pytest.raises(PrivacyError, match="epsilon must be"):
        binned(FINE, 0, bins=8)
