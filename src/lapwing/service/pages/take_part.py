"""The page on which a visitor's own browser randomizes an answer and reports it."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.units import to_text
from lapwing.protocol.messages.problems import Problem
from lapwing.results.rounding import exact_text
from lapwing.service.catalog import KeptSurvey
from lapwing.service.pages.page_answers import page_of, rendered
from lapwing.service.pages.plain_words import (
    TEXTS,
    asked_in_words,
    guarantee_in_words,
    learned_at_most,
)
from lapwing.service.problem_answers import ProblemError
from lapwing.service.requests import check_query, collector_of
from lapwing.service.survey_life import to_text as moment_to_text
from lapwing.survey.browser import why_not_in_browser

MOST_BUTTONS = 12
"""Labels up to which each has a button of its own. More are in a list."""

MOST_LISTED = 1000
"""Labels up to which they are listed. Of more, one is typed."""


async def show(request: Request) -> Response:
    """Return the page. No token is needed, as for a device."""
    check_query(request, ())
    kept = collector_of(request).life.survey(request.path_params["survey"])
    if kept.stored.state == "draft":
        raise ProblemError(Problem.UNKNOWN_SURVEY, "there is no survey with this fingerprint")
    name = "take_part.html"
    if name not in kept.pages:  # of many labels, it takes far longer than all else
        kept.pages[name] = _page_text(kept, name)
    return page_of(kept.pages[name])


def _page_text(kept: KeptSurvey, template: str) -> str:
    survey = kept.survey
    return rendered(
        template,
        name=survey.name,
        notice=survey.notice,
        former=[{"until": moment_to_text(each.until), "text": each.text} for each in kept.notices],
        fingerprint=kept.stored.fingerprint,
        text=survey.text_fingerprint,
        texts=TEXTS,
        asks=asked_in_words(survey),
        guarantee=guarantee_in_words(survey),
        learned=learned_at_most(survey.guarantee.epsilon),
        epsilon=exact_text(survey.guarantee.epsilon),
        inputs=inputs_of(survey.randomizer.domain),
        segments=survey.segments,
        invited=kept.invited_only,
        retired=kept.stored.state == "retired",
        app_only=why_not_in_browser(survey),
        remembered=survey.answers == "remembered report",
        signed_in=False,
    )


def inputs_of(domain: Domain) -> list[dict[str, Any]]:
    """Return the input of a survey, or both with their names where it asks for two attributes."""
    if isinstance(domain, Product):
        return [{**input_of(axis), "name": name} for name, axis in domain.axes.items()]
    return [input_of(domain)]


def input_of(domain: Domain) -> dict[str, Any]:
    """Return the kind of input that fits a domain, with its limits or choices."""
    written = domain.to_document()
    missing = domain.missing_index is not None
    match written["class"]:
        case "integers":
            return {
                "kind": "number",
                "low": str(written["low"]),
                "high": str(written["high"]),
                "step": "1",
                "missing": missing,
            }
        case "interval":
            ends = {
                "low": to_text(float(domain.left[0]), unit=domain.unit),
                "high": to_text(float(domain.right[-1]), unit=domain.unit),
            }
            kinds = {"number": "number", "date": "date", "datetime": "datetime-local"}
            kinds["duration"] = "text"
            kind = kinds.get(domain.unit, "time")
            if kind == "time" and ends["high"].startswith("24"):  # which no clock shows
                ends["high"] = "23:59:59"
            return {"kind": kind, **ends, "step": "any", "missing": missing}
        case "categories":
            labels = written["labels"]
            if isinstance(labels, int):
                if labels > MOST_LISTED:
                    high = str(labels - 1)
                    return {
                        "kind": "number", "low": "0", "high": high, "step": "1", "missing": missing,
                    }  # fmt: skip
                labels = list(range(labels))
            if len(labels) > MOST_LISTED:
                return {"kind": "text", "missing": missing}
            choices = [
                {"value": str(number), "label": str(label)} for number, label in enumerate(labels)
            ]
            kind = "buttons" if len(labels) <= MOST_BUTTONS else "list"
            return {"kind": kind, "choices": choices, "missing": missing}
        case _:
            return {"kind": "text", "missing": missing}
