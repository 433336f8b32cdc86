"""What an admin changes: surveys, epochs, tokens. Each needs a token of the role."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from lapwing.protocol.messages.problems import Problem
from lapwing.service.problem_answers import malformed
from lapwing.service.requests import AnswerSchema, collector_of, endpoint, json_answer, json_of
from lapwing.service.security import ROLE_PREFIX, Role, hash_of, new_token
from lapwing.service.storage.store import AccessToken
from lapwing.service.survey_life import (
    MOST_TOKENS,
    EpochDocument,
    EpochPlan,
    NewSurvey,
    epoch_document,
)
from lapwing.service.survey_states import TermsDocument, terms_document
from lapwing.service.typed_bodies import Body

SURVEY = "/v1/surveys/{survey}"
EPOCH = SURVEY + "/epochs/{epoch}"

_TERMS = json_of("Its terms.", TermsDocument)
_EPOCH_NOW = json_of("The epoch as it is now.", EpochDocument)
_GONE = AnswerSchema("It is forgotten, with all that was collected.")

_NEITHER = (Problem.UNKNOWN_SURVEY, Problem.UNKNOWN_EPOCH)


@endpoint(
    "PUT",
    SURVEY,
    "Keep a survey as a draft, or publish it with an epoch",
    *(Problem.EXISTS, Problem.STATE, Problem.SURVEY_REFUSED),
    role="admin",
    body=NewSurvey,
    answers={
        201: _TERMS,
        200: json_of(
            "It was here with these terms. Where the body has a text for people, that is shown "
            "now.",
            TermsDocument,
        ),
    },
)
async def create_survey(request: Request, sent: NewSurvey) -> Response:
    """Keep a survey as a draft, or publish it with an epoch: 201, or 200 when it existed."""
    new = await collector_of(request).life.create(request.path_params["survey"], sent)
    return _survey_answer(request, status=201 if new else 200)


@endpoint(
    "POST",
    SURVEY + "/publish",
    "Let devices see it",
    *(Problem.UNKNOWN_SURVEY, Problem.STATE),
    role="admin",
    answers={200: _TERMS},
)
async def publish(request: Request) -> Response:
    """Let devices see a survey."""
    await collector_of(request).life.publish(request.path_params["survey"])
    return _survey_answer(request)


@endpoint(
    "POST",
    SURVEY + "/retire",
    "Close it with all of its epochs",
    Problem.UNKNOWN_SURVEY,
    role="admin",
    answers={200: _TERMS},
)
async def retire(request: Request) -> Response:
    """Close a survey with all of its epochs, for ever."""
    await collector_of(request).life.retire(request.path_params["survey"])
    return _survey_answer(request)


@endpoint(
    "DELETE",
    SURVEY,
    "Forget a survey",
    Problem.UNKNOWN_SURVEY,
    role="admin",
    answers={204: _GONE},
)
async def delete_survey(request: Request) -> Response:
    """Forget a survey and all that was collected for it."""
    await collector_of(request).life.delete(request.path_params["survey"])
    return Response(status_code=204)


@endpoint(
    "PUT",
    EPOCH,
    "Plan an epoch, or change its times",
    *(Problem.UNKNOWN_SURVEY, Problem.STATE),
    role="admin",
    body=EpochPlan,
    answers={201: _EPOCH_NOW, 200: _EPOCH_NOW},
)
async def put_epoch(request: Request, plan: EpochPlan) -> Response:
    """Plan an epoch, or change its times: 201 or 200."""
    names = request.path_params["survey"], request.path_params["epoch"]
    new = await collector_of(request).life.put_epoch(*names, plan)
    return _epoch_answer(request, status=201 if new else 200)


@endpoint("DELETE", EPOCH, "Forget an epoch", *_NEITHER, role="admin", answers={204: _GONE})
async def delete_epoch(request: Request) -> Response:
    """Forget an epoch and all that was collected in it."""
    names = request.path_params["survey"], request.path_params["epoch"]
    await collector_of(request).life.delete_epoch(*names)
    return Response(status_code=204)


@endpoint(
    "POST",
    EPOCH + "/open",
    "Open it now",
    *(*_NEITHER, Problem.STATE),
    role="admin",
    answers={200: _EPOCH_NOW},
)
async def open_epoch(request: Request) -> Response:
    """Open an epoch now."""
    names = request.path_params["survey"], request.path_params["epoch"]
    await collector_of(request).life.open_epoch(*names)
    return _epoch_answer(request)


@endpoint(
    "POST",
    EPOCH + "/close",
    "Close it now; in its grace, end that",
    *_NEITHER,
    role="admin",
    answers={200: _EPOCH_NOW},
)
async def close_epoch(request: Request) -> Response:
    """Close an epoch now; in its grace, end that."""
    names = request.path_params["survey"], request.path_params["epoch"]
    await collector_of(request).life.close_epoch(*names)
    return _epoch_answer(request)


class NewUploadTokens(Body):
    """How many devices are invited."""

    count: Annotated[int, Meta(ge=1, le=MOST_TOKENS)]


class UploadTokenList(TypedDict):
    """Upload tokens, each good for one batch."""

    tokens: list[str]


@endpoint(
    "POST",
    SURVEY + "/upload-tokens",
    "Invite devices",
    *(Problem.UNKNOWN_SURVEY, Problem.STATE),
    role="admin",
    body=NewUploadTokens,
    answers={201: json_of("Shown this once.", UploadTokenList)},
)
async def make_upload_tokens(request: Request, sent: NewUploadTokens) -> Response:
    """Return tokens of invited devices, which are shown this once."""
    life = collector_of(request).life
    tokens = await life.upload_tokens(request.path_params["survey"], sent.count)
    return json_answer(UploadTokenList(tokens=tokens), status=201)


class NewToken(Body):
    """Whom a token is for."""

    role: Role
    label: Annotated[str, Meta(max_length=100)] = ""


class RoleToken(TypedDict):
    """A token, and what it opens."""

    token: str
    role: Role


@endpoint(
    "POST",
    "/v1/tokens",
    "Make a token of a role",
    role="admin",
    body=NewToken,
    answers={201: json_of("Shown this once.", RoleToken)},
)
async def make_token(request: Request, sent: NewToken) -> Response:
    """Return a token of a role, which is shown this once."""
    if not sent.label.isprintable():
        raise malformed("label must be a text of printable characters")
    token = new_token(ROLE_PREFIX)
    await collector_of(request).add_token(AccessToken(hash_of(token), sent.role, sent.label))
    return json_answer(RoleToken(token=token, role=sent.role), status=201)


def _survey_answer(request: Request, *, status: int = 200) -> Response:
    stored = collector_of(request).life.survey(request.path_params["survey"]).stored
    return json_answer(terms_document(stored), status=status)


def _epoch_answer(request: Request, *, status: int = 200) -> Response:
    names = request.path_params["survey"], request.path_params["epoch"]
    epoch = collector_of(request).life.epoch(*names)
    return json_answer(epoch_document(epoch), status=status)
