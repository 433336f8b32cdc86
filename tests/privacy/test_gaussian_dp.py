"""Gaussian differential privacy: scales against known values, bounds against high precision."""

from fractions import Fraction

import mpmath
import pytest

from lapwing.errors import PrivacyError
from lapwing.privacy import gaussian_dp
from lapwing.privacy.gaussian_dp import delta_above, epsilon_above, noise_scale, scale_up
from tests.damaged_documents import at_most


def exact_delta(epsilon, mu):
    with mpmath.workdps(700):
        epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)

        def tail(x):
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        return tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(epsilon / mu + mu / 2)


def as_mpf(number):
    return mpmath.mpf(number.numerator) / number.denominator


class TestTail:
    @pytest.mark.parametrize("point", ["0", "1/1000", "-3", "1", "7/3", "12", "30", "50"])
    def test_the_bounds_enclose_the_tail(self, point):
        low, high = gaussian_dp._tail(Fraction(point))
        with mpmath.workdps(900):
            x = as_mpf(Fraction(point))
            tail = mpmath.erfc(x / mpmath.sqrt(2)) / 2
            assert as_mpf(low) <= tail <= as_mpf(high)
            assert as_mpf(high - low) <= tail * mpmath.mpf(10) ** -25

    def test_far_out_it_is_at_least_zero(self):
        low, high = gaussian_dp._tail(Fraction(100))
        assert low == 0 < high < Fraction(1, 10**800)

    @pytest.mark.parametrize("bits", [64, 300, 2000])
    def test_pi(self, bits):
        with mpmath.workdps(1000):
            missing = mpmath.pi * mpmath.mpf(2) ** bits - gaussian_dp._pi_below(bits)
            assert 0 < missing < 2**20


class TestDelta:
    @pytest.mark.parametrize("epsilon", ["1/100", "1", "5", "24"])
    @pytest.mark.parametrize("mu", ["1/1000", "1/10", "1", "3"])
    def test_it_is_a_close_upper_bound(self, epsilon, mu):
        with mpmath.workdps(700):
            exact = exact_delta(as_mpf(Fraction(epsilon)), as_mpf(Fraction(mu)))
            bound = as_mpf(delta_above(Fraction(epsilon), Fraction(mu) ** 2))
            assert exact <= bound
            if exact > mpmath.mpf(10) ** -100:
                assert bound <= exact * (1 + mpmath.mpf(10) ** -20)

    @pytest.mark.parametrize("mu", [Fraction(1, 2**48), Fraction(2**40)])
    def test_small_and_large_losses_keep_their_digits(self, mu):
        with mpmath.workdps(700):
            exact = mpmath.erf(as_mpf(mu) / mpmath.sqrt(8))  # delta at epsilon 0
            bound = as_mpf(delta_above(Fraction(0), mu**2))
            assert exact <= bound <= exact * (1 + mpmath.mpf(10) ** -20)

    def test_without_loss_nothing_is_lost(self):
        assert delta_above(Fraction(1), Fraction(0)) == 0

    @pytest.mark.parametrize("epsilon", [4096, 4097, 10**6, 10**100])
    @pytest.mark.parametrize("mu_squared", [Fraction(1, 10**200), Fraction(1), Fraction(10**200)])
    def test_absurd_numbers_take_no_longer(self, epsilon, mu_squared):
        with at_most(1_000_000):
            found = float(delta_above(Fraction(epsilon), mu_squared))
        # Nothing is told apart, or everything.
        assert found == (1.0 if mu_squared > epsilon else 0.0)

    def test_beyond_the_limit_it_is_still_an_upper_bound(self):
        for epsilon, mu in ((999, 45), (1001, 40), (1001, 45), (1001, 2000), (10**6, 2000)):
            found = delta_above(Fraction(epsilon), Fraction(mu**2))
            with mpmath.workdps(700):
                assert as_mpf(found) >= exact_delta(epsilon, mu)

    def test_negative_arguments_are_refused(self):
        with pytest.raises(PrivacyError, match="must not be negative"):
            delta_above(Fraction(-1), Fraction(1))


class TestScale:
    # The analytic Gaussian mechanism at delta 1e-6, as dp-accounting 0.6 gives it.
    @pytest.mark.parametrize(
        ("epsilon", "scale"), [("1/10", 36.304690), ("1/2", 8.057618), ("1", 4.224679)]
    )
    def test_known_values(self, epsilon, scale):
        found = noise_scale(Fraction(epsilon), Fraction(1, 10**6), squared_sensitivity=Fraction(1))
        assert float(found) == pytest.approx(scale, abs=2e-6)

    @pytest.mark.parametrize(
        "delta", [Fraction(1, 10**3), Fraction(1, 10**12), Fraction(1, 10**30)]
    )
    @pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(2), Fraction(24)])
    def test_it_is_enough_and_hardly_more(self, epsilon, delta):
        squared = Fraction(7 * 2**40)
        scale = noise_scale(epsilon, delta, squared_sensitivity=squared)
        assert delta_above(epsilon, squared / scale**2) <= delta
        less = scale * (1 - Fraction(1, 10**7))
        assert delta_above(epsilon, squared / less**2) > delta

    def test_a_scale_a_percent_too_small_would_be_noticed(self):
        scale = noise_scale(Fraction(1), Fraction(1, 10**6), squared_sensitivity=Fraction(1))
        assert delta_above(Fraction(1), 1 / (scale * Fraction(99, 100)) ** 2) > Fraction(1, 10**6)

    @pytest.mark.parametrize("delta", [Fraction(0), Fraction(1)])
    def test_delta_must_be_between(self, delta):
        with pytest.raises(PrivacyError, match="delta must be in"):
            noise_scale(Fraction(1), delta, squared_sensitivity=Fraction(1))

    def test_something_must_be_hidden(self):
        with pytest.raises(PrivacyError, match="sensitivity"):
            noise_scale(Fraction(1), Fraction(1, 9), squared_sensitivity=Fraction(0))

    @pytest.mark.parametrize("number", [1e-9, 0.1, 1.0, 3.7e20])
    def test_rounding_up_to_32_bits(self, number):
        up = scale_up(number)
        assert up >= Fraction(number)
        assert up <= Fraction(number) * (1 + Fraction(1, 2**31))
        odd = up.numerator
        while odd % 2 == 0:
            odd //= 2
        assert odd < 2**32

    @pytest.mark.parametrize("number", [0.0, -1.0, float("inf"), float("nan")])
    def test_only_positive_numbers_can_be_scales(self, number):
        with pytest.raises(PrivacyError, match="positive and finite"):
            scale_up(number)


class TestEpsilon:
    @pytest.mark.parametrize("mu", [Fraction(1, 100), Fraction(1), Fraction(5)])
    def test_it_is_enough_and_hardly_more(self, mu):
        delta = Fraction(1, 10**6)
        epsilon = epsilon_above(delta, mu**2)
        assert delta_above(epsilon, mu**2) <= delta
        assert (
            epsilon < Fraction(1, 10**6) or delta_above(epsilon - Fraction(1, 10**6), mu**2) > delta
        )

    def test_a_large_delta_needs_no_epsilon(self):
        assert epsilon_above(Fraction(1, 2), Fraction(1, 10**6)) == 0

    def test_nothing_reaches_delta_zero(self):
        with pytest.raises(PrivacyError, match="delta must be in"):
            epsilon_above(Fraction(0), Fraction(1))

    def test_too_much_loss(self):
        with pytest.raises(PrivacyError, match="no epsilon up to 1000"):
            epsilon_above(Fraction(1, 10**6), Fraction(10**6))
