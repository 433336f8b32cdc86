"""Routes of devices, open to any page without a token: the survey, and when to answer it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from lapwing.protocol.messages.batch import JSON_MEDIA_TYPE, LARGEST_BATCH, MEDIA_TYPE, MOST_REPORTS
from lapwing.protocol.messages.problems import PREFIX, UPLOAD_PROBLEMS, Problem
from lapwing.service.catalog import KeptSurvey
from lapwing.service.problem_answers import ProblemError
from lapwing.service.requests import (
    AnswerSchema,
    Endpoint,
    collector_of,
    endpoint,
    json_answer,
    json_of,
)
from lapwing.service.survey_life import EpochDocument, epoch_document
from lapwing.service.typed_bodies import BatchId, Fingerprint, Query

CROSS_ORIGIN = {"access-control-allow-origin": "*"}

_PREFLIGHT = {
    **CROSS_ORIGIN,
    "access-control-allow-methods": "GET, HEAD, PUT, POST",
    "access-control-allow-headers": "content-type, authorization",
    "access-control-max-age": "86400",
}

_ASK_AGAIN = {**CROSS_ORIGIN, "cache-control": "public, no-cache"}


_SURVEY = "/v1/surveys/{survey}"
_EPOCHS = _SURVEY + "/epochs"
_BATCH = _EPOCHS + "/{epoch}/batches/{batch}"


class EpochList(TypedDict):
    """The epochs of a survey, and whether it takes uploads with an upload token only."""

    epochs: list[EpochDocument]
    invited: NotRequired[Literal[True]]


class UploadQuery(Query):
    """The query of an upload, which :func:`lapwing.service.upload_path.text_of` reads."""

    text: (
        Annotated[
            Fingerprint,
            Meta(
                description="Fingerprint of the text that the people of this batch were shown. "
                "Without it, the text is not checked."
            ),
        ]
        | None
    ) = None


class StoredBatch(TypedDict):
    """Outcome of an upload."""

    batch: BatchId
    reports: Annotated[int, Meta(ge=1)]
    state: Literal["stored", "already stored"]


async def allow_other_pages(request: Request) -> Response:
    """AnswerSchema a browser that asks whether another page may send this."""
    return Response(status_code=204, headers=_PREFLIGHT)


def _preflight(path: str, summary: str) -> Endpoint:
    """Return the endpoint by which a browser asks before a page of another site does."""
    answers = {204: AnswerSchema("It may.")}
    declared = endpoint("OPTIONS", path, summary, tag="devices", query=None, answers=answers)
    return declared(allow_other_pages)


ASK_SURVEY = _preflight(_SURVEY, "Whether a page from another origin may ask")
ASK_EPOCHS = _preflight(_EPOCHS, "Whether a page from another origin may send this")
ASK_BATCH = _preflight(_BATCH, "Whether a page from another origin may send this")


_FINAL = ", ".join(f"`{problem}`" for problem in Problem if problem.final)

_WHEN_TO_DROP = (
    "The batch may be sent again with the same bytes until it is answered. A device drops it after "
    f"a 200 or 201 that names it, and after a final problem: {_FINAL}. A 200 or 201 names it if "
    f"its media type is `{JSON_MEDIA_TYPE}` and all three members are as below. A final problem "
    f"has the media type `application/problem+json`, and its `type` is `{PREFIX}` followed by one "
    "of these words. After any other answer, such as another problem or a proxy's page, the device "
    "keeps the batch."
)


def _upload(method: Literal["PUT", "POST"], summary: str) -> Endpoint:
    """Return the endpoint of uploads, which :mod:`lapwing.service.upload_path` answers."""
    stored = json_of("Stored now: it is on disk.", StoredBatch)
    declared = endpoint(
        method,
        _BATCH,
        summary,
        *UPLOAD_PROBLEMS,
        tag="devices",
        query=UploadQuery,
        description=_WHEN_TO_DROP,
        security=[{}, {"invitation": []}],
        body={
            MEDIA_TYPE: {"type": "string", "format": "binary", "maxLength": LARGEST_BATCH},
            JSON_MEDIA_TYPE: _BATCH_SCHEMA,
        },
        answers={
            201: stored,
            200: stored._replace(description="It was already stored. No report is counted twice."),
        },
    )
    return declared(None)


_BATCH_SCHEMA = {
    "type": "object",
    "properties": {
        "survey": Fingerprint,
        "segment": {"type": ["string", "null"]},
        "reports": {
            "type": "array",
            "items": {"type": "string", "pattern": "^([0-9a-f]{2})+$"},
            "minItems": 1,
            "maxItems": MOST_REPORTS,
        },
    },
    "required": ["survey", "reports"],
    "additionalProperties": False,
}
"""What :meth:`Batch.from_json` reads."""

PUT_BATCH = _upload("PUT", "Store a batch of reports, whole or not at all")
POST_BATCH = _upload("POST", "The same as PUT, but for a page that is being closed")


@endpoint(
    "GET",
    _SURVEY,
    "The survey's document",
    *(Problem.UNKNOWN_SURVEY, Problem.MALFORMED_REQUEST),
    tag="devices",
    answers={
        200: json_of(
            "The document. Between epochs its text for people may change, and nothing else.",
            {"type": "object"},
        ),
        304: AnswerSchema("Not modified: the sender has the current document."),
    },
)
async def show_survey(request: Request) -> Response:
    """Return the survey's document. Only its text for people ever changes, and with it the tag."""
    kept = published(request)
    headers = {**_ASK_AGAIN, "etag": f'"{kept.tag}"'}
    if kept.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(kept.stored.document, headers=headers, media_type="application/json")


@endpoint(
    "GET",
    _EPOCHS,
    "Epochs of the survey",
    *(Problem.UNKNOWN_SURVEY, Problem.MALFORMED_REQUEST),
    tag="devices",
    answers={200: json_of("The epochs.", EpochList)},
)
async def show_epochs(request: Request) -> Response:
    """Return when the survey is answered."""
    kept = published(request)
    epochs = [epoch_document(epoch, kept) for epoch in kept.epochs.values()]
    headers = {**CROSS_ORIGIN, "cache-control": "no-cache"}
    document = EpochList(epochs=epochs)
    if kept.invited_only:
        document["invited"] = True
    return json_answer(document, headers=headers)


def published(request: Request) -> KeptSurvey:
    """Return the survey of an address, or raise the problem that devices can see none."""
    kept = collector_of(request).catalog.get(request.path_params["survey"])
    if kept is None or kept.stored.state == "draft":
        raise ProblemError(
            Problem.UNKNOWN_SURVEY,
            "the collector has no survey with this fingerprint",
            headers=((b"access-control-allow-origin", b"*"),),
        )
    return kept
