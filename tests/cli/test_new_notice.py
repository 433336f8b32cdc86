"""`lapwing new --notice`: what people are told comes from a file, and its unit is shown later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lapwing as lw
from tests.cli.running import Program
from tests.survey.test_measured_in import TALLY, WAIT

NOTICE = """{"question": "How long did you wait?", "purpose": "To hire", "owner": "The office",
"contact": "post@example.org", "measured_in": "min"}"""
NEW = ("new", "--name", "wait", "--low", "0", "--high", "60", "--epsilon", "1", "-o", "survey.json")


def test_the_notice_of_a_new_survey_comes_from_a_file(
    done: Program, lapwing: Program, tmp_path: Path
) -> None:
    (tmp_path / "notice.json").write_text(NOTICE)
    document = done(*NEW, "--notice", "notice.json", "--json").document
    survey = lw.Survey.load(tmp_path / "survey.json")
    assert survey.measured_in == "min" and survey.contact == "post@example.org"
    assert document["survey"]["notice"] == survey.notice and len(survey.notice) == 5
    said = done("show", "survey.json").out
    assert "How long did you wait?" in said and survey.text_fingerprint in said
    for text, code, words in (
        ('{"question": "a\\nb"}', 2, "question must be 1 to 1000 printable"),
        ('{"measured_in": "a long unit of minutes"}', 2, "measured_in must be 1 to 20"),
        ('{"link": "x"}', 4, "unknown key"),
        ("{}", 4, "must contain a string for one or more"),
        ('{"question": null}', 4, "must contain a string for one or more"),
        ("How long?", 4, "notice.json"),
    ):
        (tmp_path / "notice.json").write_text(text)
        refused = lapwing(*NEW, "--force", "--notice", "notice.json")
        assert (refused.code, words in refused.complaint) == (code, True), refused
    refused = lapwing("new", "--domain-only", "--low", "0", "--high", "1", "-o", "d.json",
                      "--notice", "notice.json")  # fmt: skip
    assert refused.code == 2 and "--domain-only" in refused.complaint
    assert lw.Survey.load(tmp_path / "survey.json") == survey


def test_answers_in_the_terminal_have_the_unit(done: Program, tmp_path: Path) -> None:
    result: Any = WAIT.decode(TALLY)
    result.save(tmp_path / "result.json")
    for asked in (("--quantile", "0.5"), ("--at-least", "50")):
        said = done("answer", "result.json", *asked).out.split()
        assert said[-3:] == ["measured", "in", "ms"]
        assert done("answer", "result.json", *asked, "--json").document["measured_in"] == "ms"
    assert "measured in" in done("show", "result.json").out
