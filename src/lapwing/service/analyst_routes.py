"""What an analyst reads: surveys, their state, tallies and results. Needs a token of a role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.documents import canonical
from lapwing.results.answer_documents import PROBABILITIES
from lapwing.results.uncertainty import Target
from lapwing.service.catalog import KeptSurvey
from lapwing.service.collector import Collector
from lapwing.service.decoding_orders import MEDIA_TYPES, Form
from lapwing.service.problem_answers import malformed
from lapwing.service.requests import (
    NOT_KEPT,
    at,
    check_query,
    collector_of,
    json_answer,
    require_analyst,
)
from lapwing.service.results import Question
from lapwing.service.survey_states import state_document, survey_rows

MOST_PROBABILITIES = 100

MOST_TOGETHER = 16

LOWEST_LEVEL, HIGHEST_LEVEL = 0.5, 0.9999

_QUERY = (
    *("segment", "level", "against", "against_segment", "target"),
    *("low", "high", "quantiles", "start", "together"),
)


def routes() -> list[Route]:
    """Return the routes."""
    survey = "/v1/surveys/{survey}"
    return [
        at("/v1/surveys", {"GET": list_surveys}),
        at(survey + "/state", {"GET": show_state}),
        at(survey + "/tallies/{epoch}", {"GET": show_tally}),
        at(survey + "/results/{epoch}", {"GET": show_result}),
        at(survey + "/alarms/{epoch}", {"GET": show_alarm}),
    ]


async def list_surveys(request: Request) -> Response:
    """Return all surveys, in a line each."""
    require_analyst(request)
    check_query(request, ())
    return json_answer({"surveys": survey_rows(collector_of(request).catalog)})


async def show_state(request: Request) -> Response:
    """Return how many reports there are, by epoch and segment, and how many were refused."""
    collector, kept = _found(request)
    check_query(request, ())
    return json_answer(await state_document(collector, kept))


async def show_tally(request: Request) -> Response:
    """Return the tally of an epoch or a segment, as every decoder of the library reads it."""
    collector, kept = _found(request)
    check_query(request, ("segment",))
    segment = request.query_params.get("segment")
    tally = await collector.results.tally(kept, request.path_params["epoch"], segment)
    return Response(canonical(tally.to_document()), headers=NOT_KEPT, media_type="application/json")


async def show_result(request: Request) -> Response:
    """Return what the reports say, as JSON, a table or a picture."""
    collector, kept = _found(request)
    question, form = question_of(request, kept, find=collector.life.survey)
    if form == "json":
        return json_answer(await collector.results.document(kept, question))
    content = await collector.results.content(kept, question, form)
    name = f"{kept.stored.fingerprint[:12]}-{question.epoch}.{form}"
    headers = {**NOT_KEPT, "content-disposition": f'inline; filename="{name}"'}
    if form == "svg":  # opened by itself it is a page, in which nothing may run
        headers["content-security-policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return Response(content, headers=headers, media_type=MEDIA_TYPES[form])


async def show_alarm(request: Request) -> Response:
    """Return whether honest devices can have sent the reports."""
    collector, kept = _found(request)
    check_query(request, ("segment",))
    segment = request.query_params.get("segment")
    epoch = request.path_params["epoch"]
    return json_answer(await collector.results.alarm(kept, epoch, segment))


def _found(request: Request) -> tuple[Collector, KeptSurvey]:
    require_analyst(request)
    collector = collector_of(request)
    return collector, collector.life.survey(request.path_params["survey"])


def question_of(
    request: Request, kept: KeptSurvey, *, find: Callable[[str], KeptSurvey]
) -> tuple[Question, Form]:
    """Return what the address and the query ask, and in which form.

    Parameters
    ----------
    request : Request
    kept : KeptSurvey
        The survey of the address.
    find : callable
        Returns another one by its fingerprint.

    Raises
    ------
    ProblemError
        When a key is unknown, or a value cannot be read.
    """
    check_query(request, _QUERY)
    query = request.query_params
    epoch, form = _epoch_and_form(request.path_params["epoch"], kept)
    ranges: tuple[tuple[str, str], ...] = ()
    if "low" in query or "high" in query:
        ranges = ((query.get("low", ""), query.get("high", "")),)
        if any(len(end) > 100 for end in ranges[0]):
            raise malformed("an end of a range has at most 100 characters")
    start = query.get("start")
    if len(start or "") > 100:
        raise malformed("the start of quantiles has at most 100 characters")
    circular = kept.survey.randomizer.domain.circular
    if start is not None and not circular:
        raise malformed("start is for a survey on a circle, and this one is on a line")
    if "quantiles" in query and circular and start is None:
        raise malformed("quantiles on a circle need start, the value from which they are counted")
    question = Question(
        epoch=epoch,
        segment=query.get("segment"),
        against=query.get("against"),
        against_segment=query.get("against_segment"),
        target=_target(query.get("target", "population")),
        level=_number(query.get("level", "0.95"), "level", LOWEST_LEVEL, HIGHEST_LEVEL),
        ranges=ranges,
        probabilities=_probabilities(query.get("quantiles")),
        start=start,
        together=_together(query.get("together"), find),
    )
    return question, form


def _target(text: str) -> Target:
    targets: tuple[Target, ...] = get_args(Target)
    for target in targets:
        if text == target:
            return target
    raise malformed('target must be "population" or "empirical"')


def _epoch_and_form(name: str, kept: KeptSurvey) -> tuple[str, Form]:
    """Return the name of an epoch, which may have a point in it, and the form asked for."""
    stem, point, ending = name.rpartition(".")
    forms: tuple[Form, ...] = get_args(Form)
    form: Any = ending
    if point and name not in kept.epochs and form in forms:
        return stem, form
    return name, "json"


def _probabilities(text: str | None) -> tuple[float, ...]:
    if text is None:
        return PROBABILITIES
    parts = text.split(",")
    if len(parts) > MOST_PROBABILITIES:
        raise malformed(f"at most {MOST_PROBABILITIES} quantiles are asked at once")
    return tuple(_number(part, "a quantile", 0.0, 1.0) for part in parts)


def _together(
    text: str | None, find: Callable[[str], KeptSurvey]
) -> tuple[tuple[KeptSurvey, str], ...]:
    """Return the surveys of FINGERPRINT/EPOCH,FINGERPRINT/EPOCH, each with the epoch."""
    parts = [] if text is None else text.split(",")
    if len(parts) > MOST_TOGETHER:
        raise malformed(f"at most {MOST_TOGETHER} surveys are decoded together with one")
    pairs = [part.partition("/") for part in parts]
    if not all(survey and epoch for survey, _, epoch in pairs):
        raise malformed(
            "name each epoch to decode together as FINGERPRINT/EPOCH, with commas between"
        )
    return tuple((find(survey), epoch) for survey, _, epoch in pairs)


def _number(text: str, name: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        raise malformed(f"{name} must be a number from {low:g} to {high:g}")
    return number
