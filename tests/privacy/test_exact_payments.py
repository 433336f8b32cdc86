"""Numbers of promises and payments are exact or refused, and no accepted payments pass a budget."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import Guarantee, Interval, Ledger
from lapwing.errors import ArgumentError, BudgetError, FormatError, PrivacyError
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.privacy import Promise
from lapwing.privacy.exact_numbers import exact_number
from lapwing.privacy.gaussian_dp import delta_above, epsilon_above
from lapwing.privacy.ledger_entry import SLACK, LedgerEntry
from lapwing.privacy.privacy_loss import PrivacyLoss, concentrated_epsilon
from lapwing.registry import MECHANISMS
from tests.mistaken import mistaken
from tests.rows import each

STEADY = settings(deadline=None, max_examples=25, derandomize=True)
TENTH = Fraction(1, 10)


def central(epsilon: Any, delta: Any = 0) -> Guarantee:
    return Guarantee(epsilon, delta, "replace-one", "central")


MAKERS: dict[str, Callable[[Any], Fraction | None]] = {
    "a guarantee's epsilon": lambda x: central(x).epsilon,
    "a guarantee's delta": lambda x: central(1, x).delta,
    "a lifetime": lambda x: Guarantee("0.01", 0, "replace-one", "local", lifetime=x).lifetime,
    "a loss's epsilon": lambda x: PrivacyLoss(epsilon=x).epsilon,
    "a loss's delta": lambda x: PrivacyLoss(delta=x).delta,
    "a loss's mu squared": lambda x: PrivacyLoss(mu_squared=x).mu_squared,
    "a loss's rho": lambda x: PrivacyLoss(rho=x).rho,
    "a promise's epsilon": lambda x: Promise("replace-one", epsilon=x).epsilon,
    "a promise's delta": lambda x: Promise("replace-one", epsilon=1, delta=x).delta,
    "a promise's mu": lambda x: Promise("replace-one", mu=x).mu,
    "a promise's rho": lambda x: Promise("replace-one", rho=x).rho,
}
everywhere = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


@everywhere
@each(
    "written",
    [0.1, "0.1", "1/10", Decimal("0.1"), TENTH, np.float64(0.1), np.float32(0.1), "1e-1"],
    ids=lambda x: f"{type(x).__name__} {x}",
)
def test_one_number_in_all_spellings(maker: Callable[[Any], Any], written: Any) -> None:
    made = maker(written)
    assert type(made) is Fraction and made == TENTH


WRONG = [
    *(True, False, np.True_, "", "one", "1/0", "1/2/3", 1j, b"1", [1], object()),
    *(math.nan, math.inf, -math.inf, "nan", "inf", "-Infinity", np.nan, np.float32("inf")),
    *(Decimal("nan"), Decimal("snan"), Decimal("inf"), "1e999999999", Decimal("1e999999")),
    *(-1, "-0.5", Fraction(-1, 3)),
]


@everywhere
@each("wrong", WRONG, ids=lambda x: f"{type(x).__name__} {str(x)[:20]}")
def test_everything_else_is_refused(maker: Callable[[Any], Any], wrong: Any) -> None:
    with pytest.raises(PrivacyError):
        maker(wrong)


def test_none_is_no_number() -> None:
    for make in (lambda: central(mistaken(None)), lambda: PrivacyLoss(rho=mistaken(None))):
        with pytest.raises(PrivacyError, match="NoneType"):
            make()


@pytest.mark.parametrize("spelling", [0.1, "0.1", Decimal("0.1"), "1/10", np.float64(0.1)])
def test_ten_times_a_tenth_is_one(spelling: Any) -> None:
    ledger = Ledger(central(1))
    for number in range(10):
        ledger = ledger.spend(str(number), central(spelling))
    assert ledger.spent == central(1) and ledger.remaining is None
    with pytest.raises(BudgetError):
        ledger.spend("eleven", central(Fraction(1, 10**20)))
    # In floats ten of them are less than one, and would leave something.
    assert sum([0.1] * 10) < 1
    whole = sum((PrivacyLoss(epsilon=spelling) for _ in range(10)), start=PrivacyLoss())
    assert whole.epsilon == 1


def test_a_nan_buys_nothing() -> None:
    ledger = Ledger(central(1))
    with pytest.raises(PrivacyError):
        ledger.spend("nan", central(math.nan))
    with pytest.raises(PrivacyError):
        ledger.spend("nan", central(1), loss=PrivacyLoss(epsilon=mistaken(math.nan)))
    with pytest.raises(BudgetError):
        ledger.spend("much", central(1000))
    document = json.dumps(ledger.spend("a", central(1)).to_document())
    for wrong in ('"nan"', "1000.5", "0.1", '"0.1e3"', '"inf"', "true", "null"):
        with pytest.raises(FormatError):
            Ledger.from_document(json.loads(document.replace('"1"', wrong, 1)))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: LedgerEntry("a", mistaken(None)),
        lambda: LedgerEntry(mistaken(1), central(1)),
        lambda: LedgerEntry("a", central(1), mistaken(0.5)),
        lambda: LedgerEntry("a", central(1), state=mistaken("paid")),
        lambda: LedgerEntry("a", central(1), release=mistaken(3)),
        lambda: LedgerEntry("a", central(1), rounds=0),
        lambda: LedgerEntry("a", central(1), rounds=2, drawn_rounds=3),
        lambda: LedgerEntry("a", central(1), rounds=True),
        lambda: LedgerEntry("a", central(1), rounds=mistaken(2.0)),
        lambda: Ledger(mistaken(1)),
        lambda: Ledger(central(1), mistaken(("a",))),
        lambda: Ledger(central(1), tight=mistaken("no")),
        lambda: Ledger(Guarantee(1, 0, "replace-one", "local", lifetime=2)),
    ],
)
def test_what_is_no_payment_is_refused(wrong: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError):
        wrong()


# A loss and its guarantee.


@pytest.mark.parametrize(
    "little",
    [
        PrivacyLoss(epsilon="0.1"),
        PrivacyLoss(epsilon=19),
        PrivacyLoss(mu_squared="0.001"),
        PrivacyLoss(rho="0.001"),
        PrivacyLoss(),
        PrivacyLoss(epsilon="0.1", delta="1e-6"),
        PrivacyLoss(epsilon="0.1", delta="0.999e-6"),
    ],
    ids=str,
)
def test_large_promises_do_not_fit_a_small_budget_by_small_losses(little: PrivacyLoss) -> None:
    large = central(20, "1e-6")
    assert LedgerEntry("a", large, little).cost == PrivacyLoss(epsilon=20, delta="1e-6")
    with pytest.raises(BudgetError):
        Ledger(central(1, "1e-5")).spend("much for little", large, loss=little)
    with pytest.raises(BudgetError):
        Ledger(central(99, "1e-5"), (LedgerEntry("a", large, little),) * 5)
    document = Ledger(central(99, "1e-5"), (LedgerEntry("a", large, little),) * 4).to_document()
    document["budget"]["epsilon"] = "79"
    with pytest.raises(BudgetError):
        Ledger.from_document(document)


def test_a_loss_of_more_than_its_guarantee_is_refused() -> None:
    for much in (PrivacyLoss(epsilon=2), PrivacyLoss(mu_squared=1), PrivacyLoss(rho=1)):
        with pytest.raises(PrivacyError, match="it costs more"):
            LedgerEntry("a", central(1, "1e-6"), much)


ALL = [mechanism() for mechanism in MECHANISMS.values()]
PROMISES: list[dict[str, Any]] = [
    {"epsilon": "1"},
    {"epsilon": "24"},
    {"epsilon": "1e-6"},
    {"epsilon": "1", "delta": "1e-6"},
    {"epsilon": "24", "delta": "0.5"},
    {"epsilon": "0.001", "delta": "1e-30"},
    {"epsilon": "0.1", "delta": "0.1"},
    {"mu": "1"},
    {"mu": "1e-5"},
    {"rho": "1/8"},
    {"rho": "1e-6"},
]


@each("numbers", PROMISES, ids=str)
@each("mechanism", [*ALL, MatchingPursuit(form="published")], ids=repr)
def test_every_mechanism_pays_with_its_loss(mechanism: Any, numbers: dict[str, Any]) -> None:
    domain, promise = (
        Interval(0, 1, bins=100, outside="clip").for_curator(),
        Promise("replace-one", **numbers),
    )
    try:
        loss = mechanism.loss(domain, promise)
    except PrivacyError as error:
        # Of another kind than this mechanism's noise, or of too much of it: nothing is paid.
        assert {"mu", "rho"} & set(numbers) or "cannot be drawn" in str(error)
        return
    guarantee = promise.guarantee(loss)
    # A pure loss leaves a delta unused that would allow it much more.
    unused = loss.pure and guarantee.delta >= Fraction(1, 10)
    paid = PrivacyLoss(epsilon=guarantee.epsilon, delta=guarantee.delta) if unused else loss
    assert LedgerEntry("a", guarantee, loss).cost == paid
    assert Ledger(guarantee).spend("a", guarantee, loss=loss).cost == paid


def test_a_mechanism_that_leaves_much_unused_pays_what_it_promised() -> None:
    domain = Interval(0, 1, bins=100, outside="clip").for_curator()
    promise = Promise("replace-one", epsilon="0.001", delta="0.5")
    loss = MatchingPursuit().loss(domain, promise)
    guarantee = promise.guarantee(loss)
    assert Ledger(guarantee).spend("a", guarantee, loss=loss).remaining is None


# Sequences of payments, added up anew.

amounts = st.one_of(
    st.integers(1, 3),
    st.floats(1e-6, 2, allow_nan=False),
    st.decimals("0.000001", 2, places=6),
    st.fractions(Fraction(1, 1000), 1, max_denominator=1000),
)
chances = st.sampled_from([0, 0, 0, 1e-7, "1e-8", Decimal("2e-7"), Fraction(1, 10**6)])
squares = st.fractions(Fraction(1, 10**4), Fraction(1, 10), max_denominator=10**4)
payments = st.one_of(
    st.tuples(st.just("plain"), amounts, chances),
    st.tuples(st.just("normal"), squares, st.just(0)),
)


def written(number: Any) -> Fraction:
    """Read a number as it is printed, by other means than the library's."""
    if isinstance(number, Fraction):
        return number
    with_point = format(Decimal(str(number)), "f")
    whole, _, rest = with_point.partition(".")
    return Fraction(int(whole + rest), 10 ** len(rest))


def gaussian_delta(epsilon: Fraction, mu_squared: Fraction) -> Any:
    """Return the delta of mu-GDP at an epsilon, in 60 digits."""
    mu = mpmath.sqrt(mpmath.mpf(mu_squared.numerator) / mu_squared.denominator)
    at = mpmath.mpf(epsilon.numerator) / epsilon.denominator
    near, far = (mpmath.erfc((at / mu + s * mu / 2) / mpmath.sqrt(2)) / 2 for s in (-1, 1))
    return near - mpmath.exp(at) * far


@STEADY
@given(st.lists(payments, max_size=10), amounts, st.sampled_from([0, "1e-6", Fraction(1, 10**5)]))
def test_no_sequence_of_accepted_payments_passes_the_budget(
    sequence: list[Any], most: Any, chance: Any
) -> None:
    budget = central(most, chance)
    ledger = Ledger(budget)
    epsilon = delta = square = Fraction(0)
    for kind, amount, spare in sequence:
        if kind == "plain":
            guarantee, loss = central(amount, spare), None
            more = (written(amount), written(spare), Fraction(0))
        else:
            loss = PrivacyLoss(mu_squared=amount)
            at = Fraction(1, 10**6)
            guarantee, more = central(loss.epsilon_at(at), at), (Fraction(0), Fraction(0), amount)
        before = ledger
        try:
            ledger = ledger.spend(kind, guarantee, loss=loss)
        except BudgetError:
            assert ledger is before
            if kind == "plain" and square == 0:  # basic composition: refused only if it must be
                assert epsilon + more[0] > written(most) or delta + more[1] > Fraction(chance)
            continue
        epsilon, delta, square = epsilon + more[0], delta + more[1], square + more[2]
        left, rest = written(most) - epsilon, Fraction(chance) - delta
        assert left >= 0 and rest >= 0
        if square:
            with mpmath.workdps(60):
                assert gaussian_delta(left, square) <= mpmath.mpf(rest.numerator) / rest.denominator
    assert Ledger.from_document(json.loads(json.dumps(ledger.to_document()))) == ledger


# Numbers that nothing can be done with end in an error, or a bound, in a moment.


def test_extreme_numbers_end_quickly_and_on_the_safe_side() -> None:
    huge, tiny = Fraction(10**6), Fraction(1, 10**400)
    normal = PrivacyLoss(mu_squared="0.01")
    ledger = Ledger(central(huge, "1e-5")).spend("a", central(20, "1e-6"))
    stated = central(normal.epsilon_at(Fraction(1, 10**6)), "1e-6")
    assert len(ledger.spend("b", stated, loss=normal).entries) == 2
    assert delta_above(huge, Fraction(1)) == delta_above(Fraction(1000), Fraction(1)) < tiny**2
    assert delta_above(huge, Fraction(10**9)) > Fraction(9, 10)
    assert 0 < delta_above(Fraction(1), tiny) < Fraction(1, 10**300)
    assert epsilon_above(Fraction(1, 10**6), tiny) == 0
    assert concentrated_epsilon(tiny, Fraction(1, 10**6)) < Fraction(1, 10**6)
    assert not PrivacyLoss(rho="0.1").within(Fraction(1), tiny)
    with pytest.raises(PrivacyError):
        PrivacyLoss(mu_squared=Fraction(10**300))
    with pytest.raises(PrivacyError):
        central(Fraction(10**400))
    with pytest.raises(PrivacyError, match="no epsilon up to 1000"):
        PrivacyLoss(mu_squared=10**15).epsilon_at(Fraction(1, 10**6))


def test_the_slack_is_less_than_a_hundredth() -> None:
    assert 1 < SLACK <= Fraction(101, 100)
    one = central("0.1")
    for enough, loss in (
        (True, PrivacyLoss(epsilon="0.0995")),
        (False, PrivacyLoss(epsilon="0.099")),
    ):
        assert (LedgerEntry("a", one, loss).cost == loss) is enough


def test_exact_number_keeps_what_is_exact() -> None:
    assert exact_number(Fraction(1, 10**500), name="x").denominator == 10**500
    assert exact_number(7, name="x") == 7
