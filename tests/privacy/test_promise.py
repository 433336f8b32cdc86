"""Promises: exact numbers, exactly one kind, and what keeps them."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from lapwing.errors import FormatError, PrivacyError
from lapwing.privacy.exact_numbers import exact_delta
from lapwing.privacy.integer_noise import Noise, Sensitivity, calibrated
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise

EVERY = [
    Promise("replace-one", epsilon="0.1"),
    Promise("replace-one", epsilon=1, delta="1e-6"),
    Promise("add-or-remove-one", epsilon="1/3", delta=1e-9),
    Promise("replace-one", mu="0.5"),
    Promise("replace-one", rho=Fraction(1, 8)),
]
UNIT = Sensitivity(1, 1)


@pytest.mark.parametrize("promise", EVERY, ids=repr)
class TestEvery:
    def test_documents_round_trip(self, promise):
        assert Promise.from_document(promise.to_document()) == promise

    @pytest.mark.parametrize(
        "sensitivity", [UNIT, Sensitivity(2, 2), Sensitivity(7 * 2**40, 2**25)]
    )
    def test_the_calibrated_noise_keeps_it_and_a_little_less_does_not(self, promise, sensitivity):
        noise = calibrated(promise, sensitivity)
        assert promise.allows(noise.loss(sensitivity))
        less = Noise(noise.kind, noise.scale * Fraction(999_999, 1_000_000))
        assert not promise.allows(less.loss(sensitivity))

    def test_a_guarantee_names_its_relation(self, promise):
        loss = calibrated(promise, UNIT).loss(UNIT)
        guarantee = promise.guarantee(loss)
        assert guarantee.neighbors == promise.neighbors and guarantee.model == "central"
        assert loss.within(guarantee.epsilon, guarantee.delta)


@pytest.mark.parametrize(
    ("relation", "numbers", "message"),
    [
        ("replace-one", {}, "exactly one"),
        ("replace-one", {"epsilon": 1, "mu": 1}, "epsilon and mu"),
        ("replace-one", {"mu": 1, "delta": "1e-6"}, "delta belongs to epsilon"),
        ("some", {"epsilon": 1}, "There is no default"),
        ("replace-one", {"epsilon": 0}, "epsilon must be"),
        ("replace-one", {"epsilon": 25}, "epsilon must be"),
        ("replace-one", {"epsilon": 1, "delta": 1}, "delta must be"),
        ("replace-one", {"epsilon": 1, "delta": -1}, "delta must be"),
        ("replace-one", {"epsilon": 1, "delta": "x"}, "delta must be"),
        ("replace-one", {"epsilon": 1, "delta": True}, "delta must be"),
        ("replace-one", {"epsilon": 1, "delta": "1e-999999999"}, "delta must be"),
        ("replace-one", {"epsilon": 1, "delta": "1_0/100000"}, "delta must be"),
        ("replace-one", {"epsilon": 1, "delta": "1e-\uff16"}, "delta must be"),
        ("replace-one", {"epsilon": 1, "delta": "nan"}, "delta must be"),
    ],
)
def test_refusals(relation, numbers, message):
    with pytest.raises(PrivacyError, match=message):
        Promise(relation, **numbers)


def test_floats_mean_what_was_written():
    assert exact_delta(1e-6) == Fraction(1, 10**6)
    assert Promise("replace-one", epsilon=0.1).epsilon == Fraction(1, 10)


def test_other_kinds_of_noise_on_request():
    approximate = EVERY[1]
    assert calibrated(approximate, UNIT).kind == "laplace"
    assert calibrated(approximate, UNIT, kind="normal").kind == "normal"
    assert calibrated(approximate, Sensitivity(1, 40)).kind == "normal"
    with pytest.raises(PrivacyError, match="Change the parameters, or the noise"):
        calibrated(EVERY[0], UNIT, kind="normal")
    with pytest.raises(PrivacyError, match="Change the parameters, or the noise"):
        calibrated(EVERY[3], UNIT, kind="laplace")


SCALES = ("0", "2/2", "1/101", f"1/{10**150}", str(10**61), str(10**150), 1)
"""Spelled in another way, or such that no promise is kept or no law can be computed."""


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "x", "scale": "1"},
        {"kind": [], "scale": "1"},
        *({"kind": kind, "scale": scale} for kind in ("normal", "laplace") for scale in SCALES),
    ],
)
def test_damaged_noise(document):
    with pytest.raises(FormatError):
        Noise.from_document(document)


@pytest.mark.parametrize(
    ("promise", "sensitivity"),
    [
        (Promise("replace-one", mu=1), Sensitivity(2**62 + 1, 1)),
        (Promise("replace-one", mu=1 - Fraction(1, 2**80)), UNIT),
        (Promise("replace-one", rho=Fraction(1, 2) - Fraction(1, 2**80)), UNIT),
    ],
)
def test_a_root_that_floats_round_down_is_no_scale(promise, sensitivity):
    """The noise that these need is above a float of 32 bits by less than floats can tell."""
    noise = calibrated(promise, sensitivity, kind="normal")
    assert promise.allows(noise.loss(sensitivity))
    less = Noise("normal", noise.scale * (1 - Fraction(1, 2**30)))
    assert not promise.allows(less.loss(sensitivity))


def test_nothing_to_hide_needs_no_mechanism():
    with pytest.raises(PrivacyError, match="no mechanism"):
        Sensitivity(0, 0)


@pytest.mark.parametrize(
    ("kind", "scale"), [("normal", "0.4"), ("normal", "9"), ("laplace", "0.3"), ("laplace", "20")]
)
def test_the_variance_is_that_of_the_law(kind, scale):
    exact = Fraction(scale)
    k = np.arange(-2000, 2001)
    if kind == "normal":
        law = stats.norm.cdf((k + 0.5) / float(exact)) - stats.norm.cdf((k - 0.5) / float(exact))
    else:
        law = np.exp(-np.abs(k) / float(exact))
        law /= law.sum()
    assert Noise(kind, exact).variance == pytest.approx(float(law @ k**2), rel=1e-9)


def test_losses_of_noise_are_exact():
    assert Noise("normal", Fraction(3)).loss(Sensitivity(2, 5)) == PrivacyLoss(
        mu_squared=Fraction(2, 9)
    )
    assert Noise("laplace", Fraction(3)).loss(Sensitivity(2, 5)) == PrivacyLoss(
        epsilon=Fraction(5, 3)
    )


@pytest.mark.parametrize("rho", ["0.1", "1/3", "2", "1e-6"])
def test_laplace_noise_for_a_concentrated_promise_keeps_it(rho):
    promise, sensitivity = Promise("replace-one", rho=rho), Sensitivity(2, 2)
    loss = calibrated(promise, sensitivity, kind="laplace").loss(sensitivity)
    assert promise.allows(loss)
    assert not promise.allows(PrivacyLoss(epsilon=loss.epsilon * (1 + Fraction(1, 10**8))))
