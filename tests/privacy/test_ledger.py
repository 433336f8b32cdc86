"""Ledgers: exact sums, refusals that change nothing, and documents."""

import copy
import dataclasses
import itertools
import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import Guarantee, Ledger
from lapwing.errors import (
    ArgumentError,
    BudgetError,
    FormatError,
    LapwingWarning,
    MismatchError,
    PrivacyError,
)
from lapwing.privacy.gaussian_dp import noise_scale
from lapwing.privacy.guarantee import PrivacyUnit
from lapwing.privacy.ledger_entry import LedgerEntry
from lapwing.privacy.privacy_loss import PrivacyLoss
from tests.damaged_documents import at_most
from tests.mistaken import mistaken

STEADY = settings(deadline=None, max_examples=40, derandomize=True)


def promise(
    epsilon: Any, delta: Any = 0, neighbors: Any = "replace-one", model: Any = "local"
) -> Guarantee:
    return Guarantee(Fraction(epsilon), Fraction(delta), neighbors, model)


def test_ten_tenths_are_one() -> None:
    ledger = Ledger(promise(1))
    assert ledger.spent is None and ledger.remaining == promise(1)
    for number in range(10):
        ledger = ledger.spend(f"answer {number}", promise(Fraction(1, 10)))
    assert ledger.spent == promise(1) and ledger.remaining is None
    with pytest.raises(BudgetError, match="Nothing was spent"):
        ledger.spend("one more", promise(Fraction(1, 10**20)))


@STEADY
@given(st.lists(st.fractions(Fraction(1, 10**6), 1), max_size=12), st.fractions(1, 5))
def test_sums_are_exact_and_never_beyond_the_budget(
    parts: list[Fraction], budget: Fraction
) -> None:
    ledger, spent = Ledger(promise(budget)), Fraction(0)
    for number, part in enumerate(parts):
        before = ledger
        if spent + part <= budget:
            ledger = ledger.spend(str(number), promise(part))
            spent += part
        else:
            with pytest.raises(BudgetError):
                ledger.spend(str(number), promise(part))
            assert ledger is before
        assert len(before.entries) <= number
    assert (ledger.spent.epsilon if ledger.spent else 0) == spent
    assert (ledger.remaining.epsilon if ledger.remaining else 0) == budget - spent
    assert Ledger.from_document(json.loads(json.dumps(ledger.to_document()))) == ledger


def test_deltas_add_too() -> None:
    budget = promise(2, Fraction(1, 100), model="central")
    ledger = Ledger(budget).spend("a", promise(1, Fraction(1, 200), model="central"))
    assert ledger.remaining == promise(1, Fraction(1, 200), model="central")
    with pytest.raises(BudgetError, match="delta"):
        ledger.spend("b", promise(1, Fraction(1, 199), model="central"))


@pytest.mark.parametrize(
    "other",
    [
        promise(1, neighbors="add-or-remove-one"),
        promise(1, model="central"),
        promise(1, "1e-6", model="shuffle"),
    ],
)
def test_another_relation_or_model_is_refused(other: Guarantee) -> None:
    ledger = Ledger(promise(5))
    with pytest.raises(PrivacyError, match="'age'"):
        ledger.spend("age", other)
    with pytest.raises(MismatchError):
        Ledger(promise(5), (LedgerEntry("age", other),))


def test_rounds_that_are_shuffled_add_up() -> None:
    """In a ledger of their own model; a local report does not fit in."""
    shuffled = promise("0.1", "1e-6", model="shuffle")
    ledger = Ledger(promise("0.2", "2e-6", model="shuffle"))
    ledger = ledger.spend("June", shuffled).spend("July", shuffled)
    assert ledger.spent == ledger.budget and ledger.remaining is None
    with pytest.raises(BudgetError):
        ledger.spend("August", shuffled)
    with pytest.raises(PrivacyError):
        Ledger(ledger.budget).spend("June", promise("0.1"))


def test_an_overspent_ledger_cannot_be_made() -> None:
    with pytest.raises(BudgetError):
        Ledger(promise(1), (LedgerEntry("a", promise(1)), LedgerEntry("b", promise(1))))


def test_a_ledger_is_a_value() -> None:
    ledger = Ledger(promise(3))
    later = ledger.spend("a", promise(1))
    assert ledger.entries == () and later.entries == (LedgerEntry("a", promise(1)),)
    with pytest.raises(dataclasses.FrozenInstanceError):
        mistaken(later).entries = ()
    assert later == Ledger(promise(3), (LedgerEntry("a", promise(1)),)) and later != ledger
    assert len({later, ledger, ledger.spend("a", promise(1))}) == 2


VALID = Ledger(promise(3)).spend("a", promise(Fraction(1, 3))).spend("b", promise(1)).to_document()


@pytest.mark.parametrize("epsilon", ["1000000", str(10**9)])
def test_an_absurd_budget_takes_no_longer(epsilon: str) -> None:
    """Its exponential has as many digits as the epsilon says."""
    document = _gaussian_document(epsilon)
    Ledger.from_document({**_gaussian_document("9"), "composition": "numerical"})  # imports
    with at_most(1_000_000):
        ledger = Ledger.from_document(document)
        assert ledger.budget.epsilon == int(epsilon)
        assert ledger.spent is not None and ledger.spent.epsilon < 100
        tight = Ledger.from_document({**document, "composition": "numerical"})
        assert tight.entries == ledger.entries
    for digits in (10, 100, 101, 5000):
        with pytest.raises(FormatError):
            Ledger.from_document(_gaussian_document("1" + "0" * digits))


def _gaussian_document(epsilon: str) -> dict[str, Any]:
    loss, delta = PrivacyLoss(mu_squared=Fraction(1, 20)), Fraction(1, 10**6)
    promise = Guarantee(loss.epsilon_at(delta), delta, "replace-one", "central")
    budget = Guarantee(Fraction(9), Fraction(1, 10**6), "replace-one", "central")
    ledger = Ledger(budget).spend("one", promise, loss=loss).spend("two", promise, loss=loss)
    document = ledger.to_document()
    document["budget"]["epsilon"] = epsilon
    return document


def test_a_document_that_overspends_is_refused() -> None:
    document = copy.deepcopy(VALID)
    document["entries"] *= 3
    with pytest.raises(BudgetError):
        Ledger.from_document(document)


CENTRAL = promise(2, Fraction(1, 10**6), model="central")
NORMAL = PrivacyLoss(mu_squared=Fraction(1, 25))


def test_normal_noise_adds_more_tightly_than_its_epsilons() -> None:
    epsilon = NORMAL.epsilon_at(CENTRAL.delta)
    one = promise(epsilon, CENTRAL.delta, model="central")
    ledger, releases = Ledger(CENTRAL), 0
    with pytest.raises(BudgetError, match="at that delta"):
        while True:
            ledger = ledger.spend(str(releases), one, loss=NORMAL)
            releases += 1
    assert ledger.cost.within(CENTRAL.epsilon, CENTRAL.delta)
    assert not (ledger.cost + NORMAL).within(CENTRAL.epsilon, CENTRAL.delta)
    # Basic composition of the epsilons alone would have stopped long before.
    assert releases > 2 * float(CENTRAL.epsilon / epsilon)
    assert ledger.spent is not None and ledger.spent.delta == CENTRAL.delta
    assert Ledger.from_document(json.loads(json.dumps(ledger.to_document()))) == ledger


LOSS = PrivacyLoss(epsilon=1)
IN_ROUNDS = Ledger(promise(3)).spend("a", promise(1), loss=LOSS, release="x", rounds=3)


def test_rounds_are_drawn_in_order_and_once() -> None:
    ledger = IN_ROUNDS
    for after in (1, 2):
        before, ledger = ledger, ledger.next_round("x", after=after, loss=LOSS)
        assert (
            before.entries[0].drawn_rounds == after and ledger.entries[0].drawn_rounds == after + 1
        )
        assert ledger.spent == promise(1)
        for wrong in (0, after, after + 2):
            with pytest.raises(BudgetError, match="drawn twice"):
                ledger.next_round("x", after=wrong, loss=LOSS)
        assert Ledger.from_document(json.loads(json.dumps(ledger.to_document()))) == ledger
    with pytest.raises(BudgetError, match="all 3 rounds"):
        ledger.next_round("x", after=3, loss=LOSS)


def test_rounds_are_those_of_a_payment() -> None:
    ledger = IN_ROUNDS.spend("b", promise(1), loss=LOSS, release="y")
    for release, loss in (("y", LOSS), ("z", LOSS), ("x", PrivacyLoss(epsilon="0.5"))):
        with pytest.raises(BudgetError, match="did not pay"):
            ledger.next_round(release, after=1, loss=loss)


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": 1, "drawn_rounds": 1},
        {"rounds": 3, "drawn_rounds": 4},
        {"rounds": 3, "drawn_rounds": 0},
        {"rounds": 3.0},
        {"rounds": True},
        {"drawn_rounds": None},
        {"rounds": 10**6},
    ],
)
def test_damaged_rounds_are_refused(change: dict[str, Any]) -> None:
    document = IN_ROUNDS.to_document()
    document["entries"][0] |= change
    with pytest.raises(FormatError):
        Ledger.from_document(document)
    for key in ("rounds", "drawn_rounds"):
        document = IN_ROUNDS.to_document()
        del document["entries"][0][key]
        with pytest.raises(FormatError):
            Ledger.from_document(document)


def test_a_reserved_payment_counts_and_can_be_marked_once() -> None:
    ledger = Ledger(promise(1)).spend("a", promise(1), state="reserved", release="x")
    assert ledger.remaining is None
    marked = ledger.released("x")
    assert marked.entries[0].state == "released" and marked.spent == promise(1)
    with pytest.raises(ArgumentError, match="no reserved payment"):
        marked.released("x")


MILLIONTH = Fraction(1, 10**6)


def noisy(epsilon: Any, delta: Any) -> tuple[Guarantee, PrivacyLoss]:
    """A release with Gaussian noise, as a curator pays for one."""
    stated = promise(epsilon, delta, model="central")
    scale = noise_scale(stated.epsilon, stated.delta, squared_sensitivity=Fraction(2))
    return stated, PrivacyLoss(mu_squared=2 / scale**2)


PAYMENTS: dict[str, tuple[Guarantee, list[tuple[Guarantee, PrivacyLoss | None]], bool]] = {
    "none": (promise(2, "1e-6", model="central"), [], False),
    "pure": (promise(1), [(promise(Fraction(1, 3)), None)] * 2, False),
    "approximate": (
        promise(3, "3e-6", model="central"),
        [(promise(1, "1e-6", model="central"), None)] * 2,
        False,
    ),
    "gaussian": (promise(2, "1e-6", model="central"), [noisy("0.5", "1e-6")] * 3, False),
    "pure, then gaussian": (
        promise(2, "1e-6", model="central"),
        [(promise("0.3", model="central"), None), noisy("0.4", "1e-7")],
        False,
    ),
    "composed numerically": (
        promise(1, "1e-6", model="central"),
        [noisy("0.4", "1e-7"), (promise("0.1", model="central"), None)],
        True,
    ),
}


def _forms(epsilon: Fraction, delta: Fraction, model: Any) -> list[PrivacyLoss | None]:
    """The ways in which a payment of this guarantee may be charged."""
    return [None, noisy(epsilon, delta)[1]] if delta and model == "central" else [None]


@pytest.mark.parametrize("name", PAYMENTS)
def test_what_is_left_is_accepted_and_a_millionth_more_is_refused(name: str) -> None:
    budget, paid, tight = PAYMENTS[name]
    ledger = Ledger(budget, tight=tight)
    for guarantee, loss in paid:
        ledger = ledger.spend("paid", guarantee, loss=loss)
    left, pure = ledger.largest_payment, ledger.largest_pure_payment
    assert left is not None and left.delta in (0, budget.delta)
    assert left.delta or left == pure
    for largest in {left, pure} - {None}:
        assert largest is not None
        taken = []
        for more in (Fraction(0), MILLIONTH):
            one = dataclasses.replace(largest, epsilon=largest.epsilon + more)
            for loss in _forms(one.epsilon, one.delta, one.model):
                try:
                    ledger.spend("next", one, loss=loss)
                except BudgetError:
                    continue
                taken.append(more)
        assert taken and not any(taken)
    # Basic composition would leave less.
    basic = ledger.remaining
    assert basic is not None and left.epsilon > basic.epsilon - MILLIONTH


@pytest.mark.parametrize("tight", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_nothing_that_is_left_grows_by_spending(tight: bool) -> None:
    """It followed the last payment: 0.63, pure, became 1.31 by two payments more."""
    ledger = Ledger(promise(2, "1e-6", model="central"), tight=tight)
    tenth = promise("0.1", model="central")
    small = promise("0.1", "1e-8", model="central")
    paid = [noisy("0.8", "1e-6"), (tenth, None), noisy("0.1", "1e-6"), noisy("0.1", "1e-7")]
    lefts = [(ledger.largest_payment, ledger.largest_pure_payment)]
    for guarantee, loss in [*paid, (small, None), (tenth, None)][: 2 if tight else None]:
        ledger = ledger.spend("paid", guarantee, loss=loss)
        lefts.append((ledger.largest_payment, ledger.largest_pure_payment))
    for before, after in itertools.pairwise(lefts):
        for ours, theirs in zip(before, after, strict=True):
            assert ours is not None and theirs is not None
            assert theirs.epsilon <= ours.epsilon and theirs.delta <= ours.delta
    assert sum(bool(largest and largest.delta) for largest, _ in lefts) >= (3 if tight else 4)
    assert all(pure and pure.delta == 0 for _, pure in lefts)


def test_a_payment_of_another_unit_warns_before_it_is_made() -> None:
    ledger = Ledger(promise(3, model="central"))
    row = promise(1, model="central")
    patient = dataclasses.replace(row, unit=PrivacyUnit("patient", 3))
    clinic = dataclasses.replace(row, unit=PrivacyUnit("clinic", 3))
    other = dataclasses.replace(row, unit=PrivacyUnit("patient", 2))
    once = ledger.spend("a", patient).spend("b", other)  # one unit, whatever is counted of it
    assert once.sum_protects is None
    with pytest.warns(LapwingWarning, match="'b' protects one row.*The sum protects one row"):
        both = ledger.spend("a", patient).spend("b", row)
    assert both.sum_protects == (
        "The sum protects one row. For one patient with several rows, each payment by row counts "
        "once per row"
    )
    both.spend("c", row)  # said once, not at every payment
    with pytest.warns(LapwingWarning, match="protects one clinic"):
        three = both.spend("c", clinic)
    assert "one patient or clinic" in str(three.sum_protects)


def test_nothing_is_left_of_a_spent_budget() -> None:
    assert Ledger(promise(1)).spend("all", promise(1)).largest_payment is None
    whole = promise(1, "1e-6", model="central")
    assert Ledger(whole).spend("all", whole).largest_payment is None
    stated, loss = noisy(1, "1e-6")
    assert Ledger(whole).spend("all", stated, loss=loss).largest_payment is None


def test_gaussian_noise_on_a_budget_without_delta_is_named() -> None:
    ledger = Ledger(promise(3, 0, "replace-one", "central"))
    shown = ledger._excess([PrivacyLoss(mu_squared=Fraction(1, 25))])
    assert shown == "unbounded at delta 0, because Gaussian noise needs a positive delta"
    assert ledger._excess([PrivacyLoss(epsilon=Fraction(4))]) == "epsilon 4 at that delta"
