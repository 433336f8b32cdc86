"""The noise and its accounting beside OpenDP's, an independent implementation in Rust."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from lapwing import Interval, seeded
from lapwing.errors import PrivacyError
from lapwing.mechanisms import PrefixSums
from lapwing.privacy import Promise
from lapwing.privacy.integer_noise import SMOOTHING, Noise, Sensitivity, calibrated
from lapwing.privacy.privacy_loss import concentrated_epsilon
from lapwing.protocol import ExactCounts
from lapwing.protocol.release import Release
from lapwing.survey.publication import decode_release
from tests.false_alarms import accepts, multinomial_tail

dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed")

DRAWS = 60_000


@pytest.fixture(autouse=True)
def _contributed() -> None:
    dp.enable_features("contrib")


def laplace(scale: float):
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)


def gaussian(scale: float):
    # i64, not the default i32: that saturates silently at the scales of a release.
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


def histogram(draws, reach: int) -> np.ndarray:
    return np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1)


def law_of(weights: np.ndarray, reach: int) -> np.ndarray:
    """Return a law on -10 reach..10 reach with its tails folded into -reach and reach."""
    mass = weights / weights.sum()
    folded = mass[9 * reach : 11 * reach + 1].copy()
    folded[0] += mass[: 9 * reach].sum()
    folded[-1] += mass[11 * reach + 1 :].sum()
    return folded


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_both_draw_the_same_discrete_laplace_law(scale: float) -> None:
    reach = 12
    k = np.arange(-10 * reach, 10 * reach + 1)
    law = law_of(np.exp(-np.abs(k) / scale), reach)
    ours = Noise("laplace", Fraction(scale)).draw(DRAWS, seeded(1))
    theirs = np.array(laplace(scale)([0] * DRAWS))
    assert accepts(multinomial_tail(histogram(ours, reach), law))
    assert accepts(multinomial_tail(histogram(theirs, reach), law))
    other = law_of(np.exp(-np.abs(k) / (1.1 * scale)), reach)
    assert not accepts(multinomial_tail(histogram(theirs, reach), other))


def test_normal_noise_of_a_release_s_scale_is_theirs_up_to_rounding() -> None:
    # On a fine grid the rounded and the discrete normal law are one: compare shares of classes.
    scale = 4.25 * 2**20
    edges = np.linspace(-3, 3, 25)[1:-1] * scale
    from scipy import stats

    law = np.diff(stats.norm.cdf(edges / scale), prepend=0.0, append=1.0)
    ours = Noise("normal", Fraction(scale)).draw(DRAWS, seeded(2))
    theirs = np.array(gaussian(scale)([0] * DRAWS))
    for draws in (ours, theirs):
        counts = np.bincount(np.searchsorted(edges, draws), minlength=law.size)
        assert accepts(multinomial_tail(counts, law))
        wide = np.bincount(np.searchsorted(edges, 1.1 * draws), minlength=law.size)
        assert not accepts(multinomial_tail(wide, law))


@pytest.mark.parametrize("scale", [2, 10, 1000])
@pytest.mark.parametrize("moved", [1, 3])
def test_both_say_the_same_loss(scale: int, moved: int) -> None:
    sensitivity = Sensitivity(moved**2, moved)
    pure = Noise("laplace", Fraction(scale)).loss(sensitivity)
    assert laplace(float(scale)).map(moved) == pytest.approx(float(pure.epsilon), rel=1e-12)
    normal = Noise("normal", Fraction(scale)).loss(sensitivity)
    rho = gaussian(float(scale)).map(float(moved))
    assert rho == pytest.approx(float(normal.mu_squared) / 2, rel=1e-12)


@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("scale", [3.0, 30.0])
def test_both_turn_rho_into_the_same_epsilon(scale: float, delta: float) -> None:
    theirs = dp.c.make_zCDP_to_approxDP(gaussian(scale)).map(1.0).epsilon(delta)
    rho = Fraction(1) / (2 * Fraction(scale) ** 2)
    ours = float(concentrated_epsilon(rho, Fraction(str(delta))))
    # Whole orders on our side, any on theirs: ours is at most a little above.
    assert theirs - 1e-9 <= ours <= theirs * (1 + 1e-2)
    # The analytic epsilon of normal noise is less than either.
    normal = Noise("normal", Fraction(scale)).loss(Sensitivity(1, 1))
    assert float(normal.epsilon_at(Fraction(str(delta)))) < theirs
    assert not math.isclose(theirs, float(normal.epsilon_at(Fraction(str(delta)))), rel_tol=0.01)


class TestAsBackend:
    PROMISE = Promise("replace-one", epsilon=1, delta="1e-6")

    def test_a_release_keeps_its_promise_and_can_be_read(self) -> None:
        summary = ExactCounts.of_values(np.linspace(0, 1, 5000), Interval(0, 1, bins=64))
        mechanism = PrefixSums(noise="discrete-normal")
        release = mechanism.release(summary, self.PROMISE)
        part = release.parts[0]
        assert part.loss.within(self.PROMISE.epsilon, self.PROMISE.delta)
        # The loss in noise against the rounded normal is far below a millionth.
        normal = PrefixSums().release(summary, self.PROMISE).parts[0].noise
        assert float(part.noise.scale / normal.scale) == pytest.approx(1, abs=1e-6)
        again = Release.from_document(release.to_document())
        assert float(decode_release(again).quantile(0.5)) == pytest.approx(0.5, abs=0.05)

    def test_it_draws_its_law(self) -> None:
        drawn = Noise("discrete-normal", Fraction(2000)).draw(20_000, seeded(1))
        edges = np.array([-4000, -2000, -500, 0, 500, 2000, 4000])
        counts = np.bincount(np.searchsorted(edges, drawn), minlength=8)
        law = np.diff(np.concatenate([[0], stats.norm.cdf((edges + 0.5) / 2000), [1]]))
        assert accepts(multinomial_tail(counts, law))
        wide = np.diff(np.concatenate([[0], stats.norm.cdf((edges + 0.5) / 2400), [1]]))
        assert not accepts(multinomial_tail(counts, wide))

    def test_it_is_noise_around_zero(self) -> None:
        # At this width every draw is its center; a center off by one hides in the law of 2000.
        narrow = Noise("discrete-normal", Fraction(1, 2**20))
        assert narrow.draw(50, seeded(1)).tolist() == [0] * 50

    def test_where_it_cannot_be_accounted_it_is_refused(self) -> None:
        with pytest.raises(PrivacyError, match="scale of at least 1024"):
            calibrated(self.PROMISE, Sensitivity(2, 2), kind="discrete-normal")
        for promise in (Promise("replace-one", epsilon=1), Promise("replace-one", mu=1)):
            with pytest.raises(PrivacyError, match="epsilon and delta"):
                calibrated(promise, Sensitivity(2**40, 2**30), kind="discrete-normal")
        with pytest.raises(PrivacyError, match="at most"):
            Noise("discrete-normal", Fraction(2000)).draw(2**20 + 1, seeded(1))

    def test_theorem_b_bounds_the_ripple(self) -> None:
        """Smoothing whole numbers by a normal of width 2 leaves less than the bound, 2^20 times."""
        ripple = 2 * math.exp(-2 * math.pi**2 * 4)
        assert 2**20 * 2.1 * ripple < float(SMOOTHING)
