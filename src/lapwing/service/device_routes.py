"""What devices ask, from any page and without a token: the survey, and when it is answered."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.protocol.messages.problems import Problem
from lapwing.service.catalog import KeptSurvey
from lapwing.service.problem_answers import ProblemError
from lapwing.service.requests import at, check_query, collector_of, json_answer
from lapwing.service.survey_life import epoch_document

CROSS_ORIGIN = {"access-control-allow-origin": "*"}

_PREFLIGHT = {
    **CROSS_ORIGIN,
    "access-control-allow-methods": "GET, HEAD, PUT, POST",
    "access-control-allow-headers": "content-type, authorization",
    "access-control-max-age": "86400",
}

_ASK_AGAIN = {**CROSS_ORIGIN, "cache-control": "public, no-cache"}


def routes() -> list[Route]:
    """Return the routes; those of uploads stand before the framework."""
    return [
        at(
            "/v1/surveys/{survey}/epochs",
            {"GET": show_epochs, "OPTIONS": allow_other_pages},
        ),
        at("/v1/surveys/{survey}/epochs/{epoch}/batches/{batch}", {"OPTIONS": allow_other_pages}),
    ]


async def allow_other_pages(request: Request) -> Response:
    """Answer a browser that asks whether another page may send this."""
    return Response(status_code=204, headers=_PREFLIGHT)


async def show_survey(request: Request) -> Response:
    """Return the survey's document. Only its text for people ever changes, and with it the tag."""
    check_query(request, ())
    kept = published(request)
    headers = {**_ASK_AGAIN, "etag": f'"{kept.tag}"'}
    if kept.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(kept.stored.document, headers=headers, media_type="application/json")


async def show_epochs(request: Request) -> Response:
    """Return when the survey is answered."""
    check_query(request, ())
    kept = published(request)
    epochs = [epoch_document(epoch) for epoch in kept.epochs.values()]
    headers = {**CROSS_ORIGIN, "cache-control": "no-cache"}
    return json_answer({"epochs": epochs}, headers=headers)


def published(request: Request) -> KeptSurvey:
    """Return the survey of an address, or raise the problem that devices can see none."""
    kept = collector_of(request).catalog.get(request.path_params["survey"])
    if kept is None or kept.stored.state == "draft":
        raise ProblemError(
            Problem.UNKNOWN_SURVEY,
            "the collector has no survey of this fingerprint",
            headers=((b"access-control-allow-origin", b"*"),),
        )
    return kept
