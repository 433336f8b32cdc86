"""What surveys and rounds cost one person, and the statement in plain words."""

from fractions import Fraction

import pytest

from lapwing import Categories, Guarantee, Interval, Rappor, SquareWave, Survey
from lapwing.errors import ArgumentError, BudgetError
from lapwing.survey.privacy_statement import (
    Participation,
    person_ledger,
    statement,
    statement_markdown,
)

AGE = Survey("age", SquareWave(Interval(0, 100, bins=10), "0.5"))

PAGE = Survey("page", Rappor(Categories(6), epsilon=1, lifetime=2))


def budget(epsilon):
    return Guarantee(Fraction(epsilon), Fraction(0), "replace-one", "local")


def test_fresh_reports_add_and_those_with_a_lifetime_end():
    assert Participation(AGE, 7).cost.epsilon == Fraction(7, 2)
    costs = [Participation(PAGE, rounds).cost.epsilon for rounds in (1, 2, 5, 100, 10_000)]
    assert costs == sorted(costs) and costs[0] <= 1 < costs[2] and costs[-1] <= 2


def test_a_person_has_one_budget():
    asked = [Participation(AGE, 2), Participation(PAGE, 9)]
    ledger = person_ledger(asked, budget(3))
    assert ledger.spent.epsilon == 1 + Participation(PAGE, 9).cost.epsilon <= 3
    with pytest.raises(BudgetError, match="Nothing was spent"):
        person_ledger([*asked, Participation(Survey("more", AGE.randomizer), 2)], budget(3))


def test_refusals():
    with pytest.raises(ArgumentError, match="named twice"):
        person_ledger([Participation(AGE), Participation(AGE)], budget(3))
    for rounds in (0, 10_001, True, 1.5):
        with pytest.raises(ArgumentError, match="rounds"):
            Participation(AGE, rounds)


def test_the_statement_says_what_the_ledger_says():
    asked = [Participation(AGE, 2), Participation(PAGE, 3)]
    ledger = person_ledger(asked, budget(4))
    found = statement(asked, ledger)
    # "Together" is said of what the ledger has: these surveys, and this device.
    assert any("from your device to the surveys listed here" in one for one in found["text"])
    assert Fraction(found["spent"]["epsilon"]) == ledger.spent.epsilon
    assert found["odds_factor"] == pytest.approx(2.718281828 ** float(ledger.spent.epsilon))
    text = statement_markdown(asked, ledger)
    costs = [one.get("epsilon_of_a_lifetime") for one in found["surveys"]]
    assert costs == ["2" if one.survey == PAGE else None for one in asked] and "2" in costs
    for words in (
        "| age | 2 | 0.5 | 1 |",
        "epsilon 4",
        "one permanent random version",
        "there are: page 2",
        "silence",
        "not cover",
    ):
        assert words in text
    assert "permanent" not in statement_markdown(asked[:1], person_ledger(asked[:1], budget(4)))
