"""Exact epsilons, rational bounds of the exponential, and the promises made of them."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.errors import FormatError, PrivacyError
from lapwing.privacy.exact_numbers import (
    MAXIMUM_EPSILON,
    epsilon_text,
    exact_epsilon,
    exponential_bounds,
    least_epsilon,
    square_root_below,
)
from lapwing.privacy.guarantee import Certificate, Guarantee
from tests.rows import each

STEADY = settings(deadline=None, max_examples=50, derandomize=True)

epsilons = st.fractions(Fraction(1, 10**9), 24, max_denominator=10**12)


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 0.10 ", Fraction(1, 10)),
        ("1e-1", Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.5), Fraction(1, 2)),
        (np.int64(3), Fraction(3)),
        (np.uint8(24), Fraction(24)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("1/3", Fraction(1, 3)),
        ("2/6", Fraction(1, 3)),
        (24, Fraction(24)),
        ("24.000", Fraction(24)),
        (1e-12, Fraction(1, 10**12)),
        (0.30000000000000004, Fraction(30000000000000004, 10**17)),
        (Fraction(10**30 - 1, 10**30), Fraction(10**30 - 1, 10**30)),
    ],
)
def test_the_promise_is_what_was_written(written: Any, exact: Fraction) -> None:
    found = exact_epsilon(written)
    assert found == exact and type(found) is Fraction
    assert type(found.numerator) is int
    assert exact_epsilon(epsilon_text(found)) == exact


@each(
    "epsilon",
    [
        0,
        0.0,
        -0.0,
        -1,
        "-1",
        "0",
        Fraction(-1, 3),
        math.nan,
        math.inf,
        -math.inf,
        "nan",
        "sNaN",
        "inf",
        "-Infinity",
        True,
        False,
        np.True_,
        24.000000001,
        "24.00000000000000000000000000000001",
        25,
        10**5000,
        Fraction(10**5000, 3),
        Fraction(1, 10**5000),
        "1e400",
        "1e-400",
        1e-400,
        "1e999999999",
        "1e-999999999",
        "1e99999999999999999999999",
        "9" * 10**6,
        "0." + "1" * 10**6,
        Decimal(2) ** 10_000,
        "1/" + "3" * 10**6,
        Fraction(1, 3**80),
        Fraction(10**31 + 1, 10**31),
        1e-13,
        "abc",
        "",
        "  ",
        "1/0",
        "1/3/3",
        "-1/3",
        "1_0",
        "0_1",
        "1_0/3",
        "\uff11",
        "\u0661",
        "1/\u0663",
        "1e1_0",
        "1,5",
        "0x1",
        "1 2",
        None,
        [1],
        1j,
        b"1",
        object(),
        np.array([1.0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_illegal_epsilon_is_refused_with_the_range(epsilon: Any) -> None:
    with pytest.raises(PrivacyError) as caught:
        exact_epsilon(epsilon)
    assert "must be greater than 0 and at most 24" in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("epsilon", ["0." + "1" * 10**6, Decimal("1." + "1" * 10**6), "9" * 81])
def test_endless_digits_are_refused_before_they_are_computed_with(epsilon: Any) -> None:
    with pytest.raises(PrivacyError, match=r"at most 80 characters, got \d+"):
        exact_epsilon(epsilon)


@STEADY
@given(epsilons)
def test_texts_are_read_back_exactly(epsilon: Fraction) -> None:
    text = epsilon_text(epsilon)
    assert exact_epsilon(text) == epsilon
    assert ("/" in text) == (set(_primes(epsilon.denominator)) - {2, 5} != set())


def _primes(number: int) -> list[int]:
    found, prime = [], 2
    while prime * prime <= number:
        while number % prime == 0:
            found.append(prime)
            number //= prime
        prime += 1
    return found + [number] * (number > 1)


@STEADY
@given(st.floats(1e-12, 24))
def test_a_float_means_its_shortest_decimal(epsilon: float) -> None:
    exact = exact_epsilon(epsilon)
    assert exact == Fraction(repr(epsilon)) and float(exact) == epsilon
    assert exact_epsilon(repr(epsilon)) == exact_epsilon(np.float64(epsilon)) == exact


@pytest.mark.parametrize(
    "exponent",
    [
        Fraction(0),
        Fraction(1, 10**12),
        Fraction(1, 10),
        Fraction(1, 3),
        Fraction(1),
        Fraction(7, 5),
        Fraction(24),
        Fraction(239999999, 10**7),
        Fraction(48),
    ],
)
def test_bounds_of_the_exponential_at_a_thousand_digits(exponent: Fraction) -> None:
    low, high = exponential_bounds(exponent)
    with mpmath.workdps(1000):
        true = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
        as_real = [mpmath.mpf(end.numerator) / end.denominator for end in (low, high)]
        assert as_real[0] <= true <= as_real[1]
        assert as_real[1] - as_real[0] < true * mpmath.mpf(2) ** -200
        # The check can fail: a bound that is one part in 2^200 off lies on the wrong side.
        nudge = 1 + mpmath.mpf(2) ** -200
        assert as_real[0] * nudge > true and as_real[1] / nudge < true
    assert low.denominator <= 2**256 and high.denominator <= 2**256


@STEADY
@given(epsilons, epsilons)
def test_bounds_are_monotone_and_in_order(first: Fraction, second: Fraction) -> None:
    low, high = sorted((first, second))
    below, above = exponential_bounds(low), exponential_bounds(high)
    assert 1 < below[0] < below[1] and below[0] <= above[0] and below[1] <= above[1]
    if high - low > Fraction(1, 10**12):
        assert below[1] < above[0]


@pytest.mark.parametrize("exponent", [Fraction(-1, 10), Fraction(49)])
def test_bounds_are_for_legal_exponents(exponent: Fraction) -> None:
    with pytest.raises(PrivacyError):
        exponential_bounds(exponent)


@STEADY
@given(st.fractions(0, 10**12))
def test_a_square_root_from_below(number: Fraction) -> None:
    root = square_root_below(number)
    step = Fraction(1, 2**128)
    assert root >= 0 and root**2 <= number < (root + step) ** 2


LOCAL = Guarantee(Fraction(1, 10), Fraction(0), "replace-one", "local")
CENTRAL = Guarantee(Fraction(3), Fraction(1, 10**6), "add-or-remove-one", "central")


def test_a_guarantee_says_everything() -> None:
    assert str(LOCAL) == "epsilon = 0.1, pure, neighbors replace-one, local model"
    assert str(CENTRAL) == (
        "epsilon = 3, delta = 1e-06, neighbors add-or-remove-one, central model"
    )
    for guarantee in (LOCAL, CENTRAL):
        again = Guarantee.from_document(guarantee.to_document())
        assert again == guarantee and hash(again) == hash(guarantee)
        assert all(type(text) is str for text in guarantee.to_document().values())


@pytest.mark.parametrize(
    "fields",
    [
        (Fraction(0), Fraction(0), "replace-one", "local"),
        (Fraction(-1), Fraction(0), "replace-one", "local"),
        (Fraction(1), Fraction(1), "replace-one", "local"),
        (Fraction(1), Fraction(-1), "replace-one", "local"),
        (Fraction(1), Fraction(0), "substitute", "local"),
        (Fraction(1), Fraction(0), None, "local"),
        (Fraction(1), Fraction(0), "replace-one", "curator"),
    ],
)
def test_an_illegal_guarantee(fields: Any) -> None:
    with pytest.raises(PrivacyError):
        Guarantee(*fields)


@pytest.mark.parametrize("document", [None, [], "x", 3, {}, {"epsilon": "1"}])
def test_what_is_no_guarantee_is_refused(document: Any) -> None:
    with pytest.raises(FormatError):
        Guarantee.from_document(document)


@STEADY
@given(epsilons, st.integers(1, 2**64))
def test_a_certificate_holds_exactly_up_to_the_bound(epsilon: Fraction, step: int) -> None:
    bound = exponential_bounds(epsilon)[0]
    legal = Certificate(epsilon, bound)
    assert legal.holds and legal.check() is legal and legal.loss == 0
    broken = Certificate(epsilon, bound + Fraction(step, 2**260))
    assert not broken.holds
    with pytest.raises(PrivacyError, match="Do not use these thresholds"):
        broken.check()


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(24)])
@pytest.mark.parametrize("part", [Fraction(1, 2**10), Fraction(1, 2**53), Fraction(1, 2**150)])
def test_the_loss_keeps_its_digits(epsilon: Fraction, part: Fraction) -> None:
    """epsilon - ln(ratio), where both agree to more digits than a float has."""
    certificate = Certificate(epsilon, exponential_bounds(epsilon)[0] * (1 - part))
    with mpmath.workdps(200):
        ratio = certificate.ratio
        true = mpmath.mpf(epsilon.numerator) / epsilon.denominator - mpmath.log(
            mpmath.mpf(ratio.numerator) / ratio.denominator
        )
    assert certificate.loss == pytest.approx(float(true), rel=1e-12)
    assert certificate.loss > 0


def test_the_largest_epsilon_is_the_documented_one() -> None:
    assert MAXIMUM_EPSILON == 24


@pytest.mark.parametrize("epsilon", ["0.000001", "0.5", "1", "1.098613", "17.3", "48"])
def test_least_epsilon_is_the_smallest_millionth_that_is_proved(epsilon: str) -> None:
    exact = Fraction(epsilon)
    assert least_epsilon(exponential_bounds(exact)[0]) == exact
    # One step more than what e^exact is proved to reach, and two.
    above = exponential_bounds(exact)[1]
    if exact < 48:
        assert least_epsilon(above * (1 + Fraction(1, 10**30))) == exact + Fraction(1, 10**6)
    assert least_epsilon(Fraction(1)) == 0
