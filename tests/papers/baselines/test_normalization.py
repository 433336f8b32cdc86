"""The papers' three normalizations, against textbook loops and vectors worked out by hand."""

import numpy as np
import pytest

from lapwing import Categories, Distribution, LeastSquares, simulate
from lapwing.decoders.unbiased.linear_estimate import unbiased_shares
from lapwing.errors import ArgumentError
from lapwing.linear.projections import clipped, projected, simplex, spread
from lapwing.papers.baselines import Normalization
from lapwing.papers.baselines.threshold import cut
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.results import SignedEstimate
from tests.signed_decoder import signed_estimate, unbiased

BITS = OptimizedUnaryEncoding(Categories(200), 1)
PEOPLE = np.random.default_rng(1).multinomial(20_000, np.full(200, 1 / 200))


def textbook_cut(shares: np.ndarray) -> np.ndarray:
    """Return what Norm-Cut leaves: from the largest down, while the sum is at most one."""
    left = np.zeros_like(shares)
    total = 0.0
    for place in sorted(range(shares.size), key=lambda i: (-shares[i], i)):
        if shares[place] <= 0 or total + shares[place] > 1:
            break
        total += shares[place]
        left[place] = shares[place]
    return left


def test_clip_and_normalize_of_a_known_vector() -> None:
    assert clipped(np.array([0.5, -0.25, 0.75])).tolist() == [0.4, 0.0, 0.6]
    assert clipped(np.array([-0.5, -0.25, 0.0, -1.0])).tolist() == [0.25] * 4


def test_norm_cut_is_the_textbook_loop() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        shares = rng.normal(0.02, 0.1, 50)
        left = np.where(cut(shares), shares, 0.0)
        np.testing.assert_array_equal(left, textbook_cut(shares))
        assert left.sum() <= 1 and ((left == 0) | (left == shares)).all()
    # One share above one is all there is; nothing positive keeps nothing.
    assert cut(np.array([0.3, 1.2, 0.4])).tolist() == [False, True, False]
    assert not cut(np.array([-0.3, 0.0, -0.4])).any()


def test_what_each_method_returns() -> None:
    tally = simulate(BITS, PEOPLE, rng=3)
    raw = unbiased_shares(BITS.channel, tally).shares
    clip = Normalization().decode(BITS.channel, tally)
    assert isinstance(clip, Distribution)
    np.testing.assert_allclose(clip.mass, clipped(raw))
    additive = signed_estimate(Normalization(method="additive"), BITS.channel, tally)
    assert isinstance(additive, SignedEstimate) and additive.mass.min() < 0
    assert additive.mass.sum() == pytest.approx(1, abs=1e-12)
    least = unbiased(BITS.channel, tally)
    np.testing.assert_allclose(additive.mass, least.mass, atol=1e-12)
    free = signed_estimate(Normalization(method="norm-cut"), BITS.channel, tally)
    assert isinstance(free, SignedEstimate)
    np.testing.assert_array_equal(free.mass, textbook_cut(raw))
    whole = Normalization(method="norm-cut").decode(BITS.channel, tally)
    assert isinstance(whole, Distribution)
    kept = free.mass > 0
    np.testing.assert_allclose(whole.mass[kept], raw[kept], atol=1e-15)
    assert np.ptp(whole.mass[~kept]) == 0


def test_projection_on_the_simplex_is_norm_sub() -> None:
    """Least squares, the fourth of them: clip, subtract from the rest, repeat."""
    tally = simulate(BITS, PEOPLE, rng=4)
    found = unbiased_shares(BITS.channel, tally).shares
    kept = np.ones(found.size, dtype=bool)
    while True:
        level = (found[kept].sum() - 1) / kept.sum()
        lower = np.where(kept, found - level, 0.0)
        if (lower >= 0).all():
            break
        kept &= lower > 0
    ours = LeastSquares().decode(BITS.channel, tally).mass
    np.testing.assert_allclose(ours, lower, atol=1e-12)


def test_spreading_and_projecting() -> None:
    shares = np.array([0.5, -0.2, 0.3, 0.1])
    kept = np.array([True, False, True, False])
    np.testing.assert_allclose(spread(shares, kept=kept), [0.5, 0.1, 0.3, 0.1])
    np.testing.assert_allclose(projected(shares, kept=kept), [0.6, 0, 0.4, 0])
    # More than one, or nothing left to spread over: only a projection remains.
    np.testing.assert_allclose(spread(shares * 2, kept=kept), [0.7, 0, 0.3, 0])
    np.testing.assert_allclose(spread(shares, kept=kept | ~kept), simplex(shares))
    np.testing.assert_allclose(spread(shares, kept=kept & ~kept), [0.25] * 4)
    np.testing.assert_allclose(projected(shares, kept=kept & ~kept), [0.25] * 4)


def test_clipping_has_no_signed_estimate() -> None:
    with pytest.raises(ArgumentError, match="makes no signed estimate"):
        Normalization(signed=True)
