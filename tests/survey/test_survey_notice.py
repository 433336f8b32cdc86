"""What a survey says to people: outside the fingerprint, plain, short, and absent by default."""

import json
from dataclasses import replace
from typing import Any

import pytest

import lapwing as lw
from lapwing.client import Device
from lapwing.errors import ArgumentError, FormatError
from lapwing.privacy.guarantee import Guarantee
from lapwing.survey.privacy_statement import (
    Participation,
    person_ledger,
    statement,
    statement_markdown,
)
from lapwing.survey.survey import NOTICE

COLORS = lw.RandomizedResponse(lw.Categories(["red", "blue"]), 1)
SILENT = lw.Survey("color", COLORS)
HOSTILE = '<script>alert(1)</script> & "quotes" \' {{ 7*7 }} [link](javascript:alert(2)) | _x_'
SPOKEN = lw.Survey(
    "color",
    COLORS,
    question="Which color is your coat?",
    purpose=HOSTILE,
    owner="Öffentliches Amt 🐦",
    contact="privacy@example.org",
)

BAD_NOTICES: list[tuple[str, Any]] = [
    ("empty", {}),
    ("a list", ["question"]),
    ("a text", "Which color?"),
    ("null", None),
    ("an unknown key", {"question": "Which?", "link": "https://example.org"}),
    ("null in it", {"question": None}),
    ("a number in it", {"question": 5}),
    ("an empty text", {"question": ""}),
    ("only spaces", {"contact": "   "}),
    ("a line break", {"purpose": "one\ntwo"}),
    ("a change of direction", {"owner": "abc\u202egro"}),
    ("an invisible space", {"owner": "abc\u200bdef"}),
    ("a no-break space", {"owner": "abc\u00a0def"}),
    ("a zero byte", {"owner": "abc\x00"}),
    ("1001 characters", {"question": "x" * 1001}),
    ("a unit of labels", {"question": "Which?", "measured_in": "ms"}),
]
"""Which Python and JavaScript refuse."""


def with_notice(notice: Any) -> str:
    """Return the text of a survey with this notice."""
    return json.dumps({**SILENT.to_document(), "notice": notice})


def test_a_survey_without_text_is_written_as_before() -> None:
    assert "notice" not in SILENT.to_document() and "question" not in repr(SILENT)
    assert SILENT.notice == {} and SILENT.question is None
    # These are the bytes of version 1: nothing was put into them.
    assert [*SILENT.to_document()] == [
        "format", "version", "name", "randomizer", "derived", "fingerprint",
    ]  # fmt: skip


def test_the_text_has_a_fingerprint_of_its_own_and_comes_back() -> None:
    assert SPOKEN.fingerprint == SILENT.fingerprint and [*SPOKEN.notice] == [*NOTICE[:4]]
    texts = [SILENT, SPOKEN, *(replace(SPOKEN, **{name: None}) for name in NOTICE[:4])]
    assert len({survey.text_fingerprint for survey in texts}) == len(texts)
    assert SPOKEN.text_fingerprint not in (SPOKEN.fingerprint, COLORS.fingerprint)
    again = lw.Survey.from_json(SPOKEN.to_json())
    assert again == SPOKEN and again.purpose == HOSTILE
    changed = replace(SPOKEN, question="Which color is your hat?")
    assert changed.fingerprint == SPOKEN.fingerprint
    assert changed.tally(SPOKEN.randomize(["red"])).total == 1
    longest = lw.Survey("color", COLORS, question="🐦" * 1000)
    assert lw.Survey.from_json(longest.to_json()) == longest


@pytest.mark.parametrize(("why", "notice"), BAD_NOTICES, ids=[why for why, _ in BAD_NOTICES])
def test_other_texts_are_refused(why: str, notice: Any) -> None:
    with pytest.raises(FormatError):
        lw.Survey.from_json(with_notice(notice))


WAIT = lw.SquareWave(lw.Interval(0, 100, bins=10), 1)


def test_numbers_have_a_unit_of_measurement_and_nothing_else_has() -> None:
    survey = lw.Survey("wait", WAIT, measured_in="ms")
    assert survey.notice == {"measured_in": "ms"} and survey._facts()["measured_in"] == "ms"
    assert lw.Survey.from_json(survey.to_json()) == survey
    assert survey.fingerprint == lw.Survey("wait", WAIT).fingerprint
    # It says what a number means, so a person who agreed to ms did not agree to s.
    seconds = replace(survey, measured_in="s")
    assert len({one.text_fingerprint for one in (survey, seconds, lw.Survey("wait", WAIT))}) == 3
    lw.Survey("age", lw.RandomizedResponse(lw.Integers(0, 9), 1), measured_in="x" * 20)
    for wrong in ("", " ", "x" * 21, "m\u202es", 5):
        with pytest.raises(ArgumentError, match="measured_in must be 1 to 20 printable"):
            lw.Survey("wait", WAIT, measured_in=wrong)  # type: ignore[arg-type]
    for domain in (
        lw.Interval("2026-01-01", "2026-02-01", bins=31, unit="date"),
        lw.Interval("00:00", "24:00", bins=24, unit="time-of-day"),
        lw.Categories(["a", "b"]),
    ):
        with pytest.raises(ArgumentError, match="measured_in applies only to plain numbers"):
            lw.Survey("when", lw.RandomizedResponse(domain, 1), measured_in="ms")


def test_a_message_names_the_field_and_says_what_is_wrong() -> None:
    for text, said in (("a\nb", "line break"), ("x" * 1001, "1001 characters"), (" ", "nothing")):
        with pytest.raises(ArgumentError, match=f"^contact must be 1 to 1000 .* got .*{said}"):
            lw.Survey("color", COLORS, contact=text)


def test_tables_statements_and_proofs_show_it() -> None:
    assert SPOKEN._facts()["question"] == SPOKEN.question
    assert not set(NOTICE) & set(SILENT._facts())
    shown = SPOKEN._repr_html_()
    assert "Which color is your coat?" in shown and "<script" not in shown
    ledger = person_ledger([Participation(SPOKEN)], Guarantee(2, 0, "replace-one", "local"))
    told = statement([Participation(SPOKEN)], ledger)
    assert told["surveys"][0]["notice"] == SPOKEN.notice
    markdown = statement_markdown([Participation(SPOKEN)], ledger)
    assert "question: Which color is your coat?" in markdown
    assert ledger.spent is not None and ledger.spent.epsilon == 1
    assert "| 1% | 2.67% |\n| 10% | 23.20% |\n| 50% | 73.11% |\n" in markdown
    # Nothing of it is markup.
    assert "<script>" not in markdown and "](javascript" not in markdown and "\\<script" in markdown
    silent = statement_markdown([Participation(SILENT)], ledger)
    assert "##" not in silent and "notice" not in statement([Participation(SILENT)], ledger)


def test_a_device_keeps_the_text_of_each_answer(tmp_path: Any) -> None:
    device = Device.open(tmp_path, epsilon_cap=1, budget=4)
    device.answer(SPOKEN, "red", epoch="a")
    hat = replace(SPOKEN, question="Which hat?")
    device.answer(hat, "red", epoch="b", text=hat.text_fingerprint)
    device.answer(SILENT, "red", epoch="c", text=SILENT.text_fingerprint)
    # A second answer changes nothing.
    device.answer(SPOKEN, "blue", epoch="a")
    shown = {batch.epoch: batch.notice for batch in Device.open(
        tmp_path, epsilon_cap=1, budget=4).batches()}  # fmt: skip
    assert shown == {"a": SPOKEN.notice, "b": {**SPOKEN.notice, "question": "Which hat?"}, "c": {}}
