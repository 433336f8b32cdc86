"""A body is checked by its type alone, and what is wrong is said in words of the field."""

from __future__ import annotations

from typing import Any

import pytest

from lapwing.service.admin_routes import NewToken, NewUploadTokens
from lapwing.service.analyst_routes import ResultQuery
from lapwing.service.problem_answers import ProblemError
from lapwing.service.survey_life import EpochPlan, NewSurvey
from lapwing.service.typed_bodies import Body, read_body, read_query


@pytest.mark.parametrize(
    ("kind", "document", "sentence"),
    [
        (NewUploadTokens, {}, "the body must have the key count"),
        (NewUploadTokens, {"cout": 1}, "unknown key 'cout' (did you mean count?). Known: count"),
        (NewUploadTokens, {"count": 0}, "count must be a whole number from 1 to 100,000, got 0"),
        (
            NewUploadTokens,
            {"count": 1.0},
            "count must be a whole number from 1 to 100,000, got 1.0",
        ),
        (NewUploadTokens, {"count": True}, "whole number from 1 to 100,000, got true"),
        (NewUploadTokens, {"count": "1"}, 'whole number from 1 to 100,000, got "1"'),
        (NewToken, {"role": "king"}, 'role must be "admin" or "analyst" or "monitor", got "king"'),
        (NewToken, {"role": "admin", "label": 101 * "x"}, "label must be a string of at most 100"),
        (EpochPlan, {"opens": 5}, 'opens must be a time such as "2026-12-01T00:00:00Z", or null'),
        (NewSurvey, {"survey": 5}, "survey must be an object, got 5"),
        (NewSurvey, {"survey": {}, "epoch": {}}, "epoch must have the key name"),
        (NewSurvey, {"survey": {}, "epoch": {"name": "A"}}, "the name of an epoch must be 1 to 64"),
        (NewSurvey, {"survey": {}, "retention_days": -1}, "0 to 36,525, or null, got -1"),
        (
            NewSurvey,
            {"survey": {}, "epoch": {"name": "a", "grace_seconds": -1}},
            "grace_seconds must be a whole number from 0 to",
        ),
    ],
)
def test_a_body_that_its_type_refuses(
    kind: type[Body], document: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ProblemError) as raised:
        read_body(document, kind)
    assert sentence in raised.value.detail


@pytest.mark.parametrize("level", ["nan", "inf", "1", "0.4", "", "x", "true", "null"])
def test_a_level_is_a_number_of_its_range(level: str) -> None:
    with pytest.raises(ProblemError) as raised:
        read_query([("level", level)], ResultQuery)
    assert raised.value.detail == "level must be a number from 0.5 to 0.9999"


def test_a_text_of_a_query_stays_a_text() -> None:
    for text in ("null", "1", "true", ""):
        assert read_query([("segment", text)], ResultQuery).segment == text


def test_a_document_alone_is_the_survey() -> None:
    sent = read_body({"format": "lapwing-survey", "name": "birds"}, NewSurvey)
    assert sent.survey["name"] == "birds"
