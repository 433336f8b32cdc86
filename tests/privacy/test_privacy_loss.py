"""Privacy losses: what adds, what it is worth in epsilon, and documents."""

from fractions import Fraction

import mpmath
import pytest

from lapwing.errors import PrivacyError
from lapwing.privacy.gaussian_dp import delta_above, epsilon_above
from lapwing.privacy.privacy_loss import PrivacyLoss, concentrated_epsilon, logarithm_above
from tests.mistaken import mistaken

DELTA = Fraction(1, 10**6)
GAUSSIAN = PrivacyLoss(mu_squared=Fraction(1, 4))
PURE = PrivacyLoss(epsilon=Fraction(1, 2))
APPROXIMATE = PrivacyLoss(epsilon=Fraction(1), delta=Fraction(1, 10**7))
CONCENTRATED = PrivacyLoss(rho=Fraction(1, 8))


class TestAddition:
    def test_each_kind_adds_with_its_own(self):
        total = GAUSSIAN + PURE + APPROXIMATE + CONCENTRATED + PURE
        assert total == PrivacyLoss(Fraction(1, 4), Fraction(1, 8), Fraction(2), Fraction(1, 10**7))

    def test_two_gaussians_are_one_of_the_summed_square(self):
        assert (GAUSSIAN + GAUSSIAN).epsilon_at(DELTA) == epsilon_above(DELTA, Fraction(1, 2))

    def test_ten_gaussians_cost_root_ten(self):
        ten = sum([GAUSSIAN] * 9, start=GAUSSIAN)
        assert float(ten.epsilon_at(DELTA)) < 4.2 * float(GAUSSIAN.epsilon_at(DELTA))

    def test_other_things_are_not_added(self):
        with pytest.raises(TypeError):
            GAUSSIAN + mistaken(1)


class TestEpsilon:
    def test_pure_needs_no_delta(self):
        assert PURE.pure and PURE.epsilon_at(Fraction(0)) == Fraction(1, 2)

    def test_mixtures_compose_basically(self):
        whole = (GAUSSIAN + PURE + APPROXIMATE).epsilon_at(DELTA)
        assert whole == Fraction(3, 2) + epsilon_above(DELTA - Fraction(1, 10**7), Fraction(1, 4))

    def test_concentrated_takes_gaussians_in(self):
        whole = (GAUSSIAN + CONCENTRATED).epsilon_at(DELTA)
        assert whole == concentrated_epsilon(Fraction(1, 4), DELTA)

    # The conversion of opendp 0.16 gives sigma 39.464, 8.677 and 4.531 at these epsilons.
    @pytest.mark.parametrize(("sigma", "epsilon"), [("39.464", 0.1), ("8.677", 0.5), ("4.531", 1)])
    def test_concentrated_is_the_known_conversion(self, sigma, epsilon):
        found = concentrated_epsilon(1 / (2 * Fraction(sigma) ** 2), DELTA)
        assert float(found) == pytest.approx(epsilon, rel=2e-3)

    @pytest.mark.parametrize("delta", ["1/2", "1e-6", "1e-60"])
    @pytest.mark.parametrize("rho", ["1e-8", "1/1000", "1/8", "2", "50"])
    def test_concentrated_is_the_least_over_all_orders(self, rho, delta):
        """Every order gives a bound; a wrong one costs accuracy, a wrong formula the promise."""
        found = concentrated_epsilon(Fraction(rho), Fraction(delta))
        with mpmath.workdps(40):
            r, d = (mpmath.mpf(x.numerator) / x.denominator for x in map(Fraction, (rho, delta)))

            def bound(alpha):
                rest = -mpmath.log(d) - mpmath.log(alpha - 1) + alpha * mpmath.log(1 - 1 / alpha)
                return alpha * r + rest / (alpha - 1)

            middle = mpmath.sqrt(-mpmath.log(d) / r)
            near = range(2, 60) if middle < 20 else [int(middle * x / 200) for x in range(20, 800)]
            exact = max(min(bound(mpmath.mpf(alpha)) for alpha in near), mpmath.mpf(0))
            bound_found = mpmath.mpf(found.numerator) / found.denominator
            assert exact * (1 - mpmath.mpf(10) ** -4) <= bound_found
            assert bound_found <= exact * (1 + mpmath.mpf(10) ** -4) + mpmath.mpf(10) ** -10

    @pytest.mark.parametrize("delta", ["0", "1", "3/2", "-1/2"])
    def test_rho_has_no_epsilon_at_a_delta_that_is_none(self, delta):
        with pytest.raises(PrivacyError, match="delta must be in"):
            concentrated_epsilon(Fraction(1), Fraction(delta))

    @pytest.mark.parametrize("number", ["1/1000000", "1/2", "99/100", "1", "3", "1e30"])
    def test_logarithms_are_bounded_from_above(self, number):
        found = logarithm_above(Fraction(number))
        with mpmath.workdps(40):
            x = Fraction(number)
            exact = mpmath.log(mpmath.mpf(x.numerator) / x.denominator)
            bound = mpmath.mpf(found.numerator) / found.denominator
            assert exact <= bound <= exact + mpmath.mpf(10) ** -11

    @pytest.mark.parametrize("loss", [GAUSSIAN, CONCENTRATED])
    def test_normal_noise_has_no_epsilon_at_delta_zero(self, loss):
        with pytest.raises(PrivacyError, match="delta must be above"):
            loss.epsilon_at(Fraction(0))

    def test_a_delta_that_is_spent_is_gone(self):
        with pytest.raises(PrivacyError, match="which is already spent"):
            APPROXIMATE.epsilon_at(Fraction(1, 10**8))


class TestWithin:
    def test_a_calibrated_release_is_within_its_promise_and_two_are_not(self):
        epsilon = GAUSSIAN.epsilon_at(DELTA)
        assert GAUSSIAN.within(epsilon, DELTA)
        assert not (GAUSSIAN + GAUSSIAN).within(epsilon, DELTA)
        assert delta_above(epsilon, Fraction(1, 4)) <= DELTA

    @pytest.mark.parametrize(
        ("loss", "epsilon", "delta", "holds"),
        [
            (PURE, Fraction(1, 2), Fraction(0), True),
            (PURE, Fraction(2, 5), Fraction(0), False),
            (APPROXIMATE, Fraction(1), Fraction(0), False),
            (CONCENTRATED, Fraction(3), DELTA, True),
            (CONCENTRATED, Fraction(2), DELTA, False),
            (CONCENTRATED, Fraction(30), Fraction(0), False),
            (PrivacyLoss(), Fraction(0), Fraction(0), True),
        ],
    )
    def test_cases(self, loss, epsilon, delta, holds):
        assert loss.within(epsilon, delta) is holds

    def test_normal_noise_beside_rho_counts_as_half_its_square(self):
        epsilon = concentrated_epsilon(Fraction(1, 4), DELTA)
        assert (GAUSSIAN + CONCENTRATED).within(epsilon, DELTA)
        assert not (GAUSSIAN + CONCENTRATED).within(epsilon * Fraction(999_999, 10**6), DELTA)


class TestDocuments:
    @pytest.mark.parametrize("loss", [GAUSSIAN, PURE, APPROXIMATE, CONCENTRATED, PrivacyLoss()])
    def test_round_trip(self, loss):
        assert PrivacyLoss.from_document(loss.to_document()) == loss


def test_negative_losses_are_refused():
    with pytest.raises(PrivacyError, match="rho of a privacy loss"):
        PrivacyLoss(rho=Fraction(-1))


def test_normal_noise_beside_concentrated_losses_is_counted():
    both = PrivacyLoss(rho=Fraction(1, 8), mu_squared=2)
    delta = Fraction(1, 10**6)
    least = both.epsilon_at(delta)
    assert least == concentrated_epsilon(Fraction(9, 8), delta)
    assert both.within(least, delta)
    assert not both.within(least - Fraction(1, 10**6), delta)
    assert not both.within(PrivacyLoss(rho=Fraction(1, 8)).epsilon_at(delta), delta)
