"""Numerical composition: against closed forms, `dp-accounting` itself, and what a ledger allows."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from lapwing import Guarantee, Ledger
from lapwing.errors import BudgetError, FormatError, MissingExtraError, PrivacyError
from lapwing.privacy.gaussian_dp import delta_above
from lapwing.privacy.integer_noise import Noise, Sensitivity
from lapwing.privacy.privacy_loss import PrivacyLoss, tight_epsilon

distributions = pytest.importorskip(
    "dp_accounting.pld.privacy_loss_distribution", reason="dp-accounting is not installed"
)

DELTA = Fraction(1, 10**6)
NORMAL = PrivacyLoss(mu_squared=Fraction(1, 900))
PURE = PrivacyLoss(epsilon=Fraction(1, 10))


def with_one_pure(epsilon: float, *, mu: float, pure: float) -> float:
    """Return delta at epsilon of mu-GDP composed with randomized response, in closed form."""

    def normal(at: float) -> float:
        near, far = at / mu - mu / 2, at / mu + mu / 2
        return float(stats.norm.sf(near) - math.exp(at) * stats.norm.sf(far))

    likely = 1 / (1 + math.exp(-pure))
    return likely * normal(epsilon - pure) + (1 - likely) * normal(epsilon + pure)


def test_one_pure_beside_normal_noise_is_the_closed_form() -> None:
    found = float(tight_epsilon([NORMAL, PURE], DELTA))
    at = with_one_pure(found, mu=1 / 30, pure=0.1)
    less = with_one_pure(found - 3e-5, mu=1 / 30, pure=0.1)
    assert at <= 1e-6 < less
    # The law of Laplace noise is not in a ledger; knowing it would give .216974 (see below).
    assert found == pytest.approx(0.217350, abs=2e-6)
    assert float((NORMAL + PURE).epsilon_at(DELTA)) == pytest.approx(0.222651, abs=1e-6)


def test_a_known_laplace_law_would_cost_a_little_less() -> None:
    laplace = distributions.from_laplace_mechanism(10.0)
    both = distributions.from_gaussian_mechanism(30.0).compose(laplace)
    known = both.get_epsilon_for_delta(1e-6)
    assert known == pytest.approx(0.216974, abs=2e-6)
    assert known < float(tight_epsilon([NORMAL, PURE], DELTA)) < 1.002 * known


def test_normal_noise_alone_gains_nothing() -> None:
    many = [PrivacyLoss(mu_squared=Fraction(1, 6400))] * 64
    found = tight_epsilon(many, DELTA)
    assert found == sum(many, start=PrivacyLoss()).epsilon_at(DELTA)
    assert float(found) == pytest.approx(0.396857, abs=1e-6)
    grid = distributions.from_gaussian_mechanism(80.0).self_compose(64)
    assert 0.396857 <= grid.get_epsilon_for_delta(1e-6) == pytest.approx(0.396860, abs=1e-6)


def test_many_pure_payments_are_the_binomial_sum() -> None:
    paid = [PrivacyLoss(epsilon=Fraction(1, 10))] * 50
    found = float(tight_epsilon(paid, DELTA))
    wins = np.arange(51)
    likely = 1 / (1 + math.exp(-0.1))
    loss = 0.1 * (2 * wins - 50)

    def delta(epsilon: float) -> float:
        chance = stats.binom.pmf(wins, 50, likely)
        return float(np.sum(chance * np.maximum(0.0, -np.expm1(epsilon - loss))))

    assert delta(found) <= 1e-6 < delta(found - 3e-5)
    assert found < 3.5 < 5


def test_deltas_that_are_spent_stay_spent() -> None:
    paid = [NORMAL, PrivacyLoss(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))]
    assert tight_epsilon(paid, DELTA) > tight_epsilon([NORMAL, PURE], DELTA)
    with pytest.raises(PrivacyError, match="which is already spent"):
        tight_epsilon(paid, Fraction(1, 10**8))
    with pytest.raises(PrivacyError, match=r"in \(0, 1\)"):
        tight_epsilon(paid, Fraction(0))


def test_rho_is_added_exactly() -> None:
    paid = [PrivacyLoss(rho=Fraction(1, 100)), PURE]
    assert tight_epsilon(paid, DELTA) == (paid[0] + paid[1]).epsilon_at(DELTA)


@pytest.mark.parametrize("deviation", [0.5, 4.2247, 36.3, 1000.0])
def test_our_delta_is_that_of_the_loss_distribution(deviation: float) -> None:
    grid = distributions.from_gaussian_mechanism(deviation)
    for times in (0.1, 1, 3):
        epsilon = times / deviation
        exact = float(delta_above(Fraction(epsilon), 1 / Fraction(deviation) ** 2))
        assert exact <= grid.get_delta_for_epsilon(epsilon) * (1 + 1e-9)
        assert exact == pytest.approx(grid.get_delta_for_epsilon(epsilon), rel=2e-3)
        less = float(delta_above(Fraction(epsilon), 1 / Fraction(deviation * 1.01) ** 2))
        assert less != pytest.approx(grid.get_delta_for_epsilon(epsilon), rel=2e-3)


@pytest.mark.parametrize("scale", [2, 10])
@pytest.mark.parametrize("moved", [1, 3])
def test_our_pure_loss_is_that_of_the_loss_distribution(scale: int, moved: int) -> None:
    loss = Noise("laplace", Fraction(scale)).loss(Sensitivity(moved**2, moved))
    assert loss.pure
    grid = distributions.from_discrete_laplace_mechanism(1 / scale, sensitivity=moved)
    k = np.arange(-60 * scale, 60 * scale + 1)
    chance = np.exp(-np.abs(k) / scale)
    chance /= chance.sum()
    other = np.roll(chance, moved)
    for part in (0.0, 0.5, 0.9):
        epsilon = part * float(loss.epsilon)
        exact = np.maximum(chance - math.exp(epsilon) * other, 0)[moved:].sum()
        assert grid.get_delta_for_epsilon(epsilon) == pytest.approx(exact, abs=2e-4)
        assert exact > 5e-3
    # Beyond it nothing is left but what the grid rounds up.
    assert grid.get_delta_for_epsilon(float(loss.epsilon) + 1e-4) < 1e-12


def test_quadrature_of_laplace_beside_normal() -> None:
    # What the study's figure stands for, without any grid: an integral over the Laplace loss.
    def delta(epsilon: float) -> float:
        def normal(at: float) -> float:
            near, far = at * 30 - 1 / 60, at * 30 + 1 / 60
            return float(stats.norm.sf(near) - math.exp(at) * stats.norm.sf(far))

        inner, _ = integrate.quad(
            lambda y: math.exp(-y / 10) / 20 * normal(epsilon - (1 - 2 * y) / 10),
            0,
            1,
            epsabs=1e-14,
        )
        return inner + 0.5 * normal(epsilon - 0.1) + 0.5 * math.exp(-0.1) * normal(epsilon + 0.1)

    assert delta(0.216974 + 1e-6) < 1e-6 < delta(0.216974 - 1e-6)


class TestLedger:
    budget = Guarantee(Fraction("0.22"), DELTA, "replace-one", "central")
    normal = Guarantee(NORMAL.epsilon_at(DELTA), DELTA, "replace-one", "central")
    pure = Guarantee(PURE.epsilon, 0, "replace-one", "central")

    def test_it_allows_what_adding_up_refuses(self) -> None:
        exact = Ledger(self.budget).spend("normal", self.normal, loss=NORMAL)
        with pytest.raises(BudgetError, match=r"0\.22265"):
            exact.spend("pure", self.pure, loss=PURE)
        tight = Ledger(self.budget, tight=True).spend("normal", self.normal, loss=NORMAL)
        tight = tight.spend("pure", self.pure, loss=PURE)
        assert tight.spent is not None and float(tight.spent.epsilon) < 0.218
        with pytest.raises(BudgetError, match="Nothing was spent"):
            tight.spend("pure", self.pure, loss=PURE)
        again = Ledger.from_document(tight.to_document())
        assert again == tight and again.tight

    def test_the_file_remembers(self, tmp_path) -> None:
        file = Ledger.open(tmp_path / "budget.json")
        Ledger(self.budget, tight=True).save(file.path)
        for name, loss in (("normal", NORMAL), ("pure", PURE)):
            with file.paying(name, getattr(self, name), loss=loss, release=name):
                pass
        assert [entry.state for entry in file.read().entries] == ["released", "released"]
        assert file.read().tight
        # An exact reader of the same entries refuses them.
        document = file.read().to_document()
        del document["composition"]
        with pytest.raises(BudgetError):
            Ledger.from_document(document)
        with pytest.raises(FormatError, match="numerical"):
            Ledger.from_document(document | {"composition": "guessed"})

    def test_without_the_package_it_says_what_to_install(self, monkeypatch) -> None:
        for name in [name for name in sys.modules if name.startswith("dp_accounting")]:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setitem(sys.modules, "dp_accounting", None)
        tight = Ledger(self.budget, tight=True).spend("normal", self.normal, loss=NORMAL)
        with pytest.raises(MissingExtraError, match=r"'\.\[central\]'"):
            tight.spend("pure", self.pure, loss=PURE)
