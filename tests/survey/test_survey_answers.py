"""Segments and remembered answers: said in the survey, part of its fingerprint, and charged so."""

from fractions import Fraction
from typing import Any

import pytest

from lapwing import (
    Categories,
    Distribution,
    Guarantee,
    RandomizedResponse,
    Rappor,
    Survey,
    seeded,
)
from lapwing.documents import fingerprint
from lapwing.errors import ArgumentError, FormatError
from lapwing.survey.privacy_statement import (
    Participation,
    person_ledger,
    statement,
    statement_markdown,
)

COLORS = RandomizedResponse(Categories(["red", "green", "blue"]), "0.5")
PLAIN = Survey("color", COLORS)
KEPT = Survey("color", COLORS, remembered=True)
HABIT = Survey("habit", Rappor(Categories(5), 1, lifetime="1.5"))


def test_what_is_not_said_changes_no_document() -> None:
    keys = {"format", "version", "name", "randomizer", "derived", "fingerprint"}
    assert set(PLAIN.to_document()) == keys
    assert Survey("color", COLORS, segments=[], remembered=False) == PLAIN
    assert (PLAIN.segments, PLAIN.segment_minimum, PLAIN.remembered) == ((), 1000, False)


def test_every_part_is_agreed() -> None:
    others = [
        PLAIN,
        KEPT,
        Survey("color", COLORS, segments=["north"]),
        Survey("color", COLORS, segments=["north"], segment_minimum=999),
        Survey("color", COLORS, segments=["south"]),
        Survey("color", COLORS, segments=["north", "south"]),
        Survey("color", COLORS, segments=["south", "north"]),
        Survey("color", COLORS, segments=["north"], remembered=True),
    ]
    assert len({survey.fingerprint for survey in others}) == len(others)
    for survey in others:
        again = Survey.from_json(survey.to_json())
        assert again == survey and again.to_document() == survey.to_document()
        assert again.segments == survey.segments and again.remembered == survey.remembered
        assert again.segment_minimum == survey.segment_minimum
    # The randomizer is the same, so are the bytes of reports.
    assert len({survey.randomizer.fingerprint for survey in others}) == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"segments": "north"}, "list of labels"),
        ({"segments": 3}, "list of labels"),
        ({"segments": {"north"}}, "list of labels"),
        ({"segments": ["north", "other"]}, "umber 2"),
        ({"segments": [""]}, "umber 1"),
        ({"segments": ["x" * 201]}, "umber 1"),
        ({"segments": ["two\nlines"]}, "umber 1"),
        ({"segments": ["north", None]}, "umber 2"),
        ({"segments": [["north"]]}, "umber 1"),
        ({"segments": ["north", "north"]}, "named once"),
        ({"segments": [str(i) for i in range(1001)]}, "at most 1000"),
        ({"segments": ["north"], "segment_minimum": 0}, "segment_minimum"),
        ({"segments": ["north"], "segment_minimum": 10**13}, "segment_minimum"),
        ({"segments": ["north"], "segment_minimum": True}, "segment_minimum"),
        ({"segments": ["north"], "segment_minimum": 1.5}, "segment_minimum"),
        ({"segment_minimum": 10}, "is only for segments"),
        ({"remembered": 1}, "True or False"),
        ({"remembered": "yes"}, "True or False"),
    ],
)
def test_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        Survey("color", COLORS, **changes)


def test_the_limits_are_allowed() -> None:
    many = Survey("color", COLORS, segments=[f"{i:0200}" for i in range(1000)], segment_minimum=1)
    assert len(Survey.from_json(many.to_json()).segments) == 1000
    assert Survey("color", COLORS, segments=["Other", "other "]).segments == ("Other", "other ")


@pytest.mark.parametrize(
    "changes",
    [
        {"segments": []},
        {"segments": ["north"]},
        {"segment_minimum": 1000},
        {"segments": ["other"], "segment_minimum": 1000},
        {"segments": ["north"], "segment_minimum": 1000.5},
        {"segments": ["north"], "segment_minimum": "1000"},
        {"segments": {"north": 1}, "segment_minimum": 1000},
        {"answers": "fresh"},
        {"answers": None},
        {"answers": True},
        {"answers": ["remembered"]},
        {"remembered": True},
    ],
)
def test_a_document_says_it_in_one_way(changes: dict[str, Any]) -> None:
    """Also with the fingerprint of its own bytes."""
    document = PLAIN.to_document() | changes
    del document["fingerprint"]
    for mark in (PLAIN.fingerprint, fingerprint(document)):
        with pytest.raises(FormatError):
            Survey.from_document({**document, "fingerprint": mark})


def test_rappor_remembers_already() -> None:
    with pytest.raises(ArgumentError, match="rappor already memoizes a permanent round"):
        Survey("habit", HABIT.randomizer, remembered=True)
    with pytest.raises(FormatError, match="rappor already memoizes"):
        Survey.from_document({**HABIT.to_document(), "answers": "remembered"})


def test_what_a_device_keeps_and_what_all_of_it_costs() -> None:
    assert [one.answers for one in (PLAIN, KEPT, HABIT)] == [
        "fresh",
        "remembered report",
        "remembered round",
    ]
    assert PLAIN.lifetime_guarantee is None and PLAIN.guarantee.lifetime is None
    assert KEPT.guarantee == PLAIN.guarantee and KEPT.guarantee.lifetime == Fraction(1, 2)
    once, round_ = KEPT.lifetime_guarantee, HABIT.lifetime_guarantee
    assert once is not None and once.epsilon == Fraction(1, 2) and once.model == "local"
    assert round_ is not None and round_.epsilon == Fraction(3, 2)


def test_a_remembered_report_is_charged_once() -> None:
    half = Guarantee("0.5", 0, "replace-one", "local")
    for rounds in (1, 2, 10_000):
        assert (
            Participation(KEPT, rounds).cost == half
            and Participation(KEPT, rounds).cost.lifetime is None
        )
    assert Participation(PLAIN, 3).cost.epsilon == Fraction(3, 2)
    ledger = person_ledger([Participation(KEPT, 52)], half)
    found = statement([Participation(KEPT, 52)], ledger)
    assert found["surveys"][0]["epsilon"] == "0.5"
    text = statement_markdown([Participation(KEPT, 52)], ledger)
    assert "keeps the report: color" in text and "permanent random version" not in text
    fresh = statement_markdown([Participation(PLAIN)], person_ledger([Participation(PLAIN)], half))
    assert "keeps the report" not in fresh


def test_an_answer_says_what_its_reports_share() -> None:
    for survey in (PLAIN, KEPT, HABIT):
        values = list(survey.randomizer.domain.listed) * 200  # type: ignore[attr-defined]
        tally = survey.tally(survey.randomize(values, rng=seeded(3)))
        made = survey.decode(tally)
        assert isinstance(made, Distribution)
        again = Distribution.from_json(made.to_json())
        for one in (made, again):
            assert one.guarantee is not None
            assert one.guarantee.lifetime == survey.guarantee.lifetime
            if survey is PLAIN:
                assert not {"survey", "answers"} & set(one.provenance)
            else:
                assert one.provenance["survey"] == survey.fingerprint
                assert one.provenance["answers"] == survey.answers
