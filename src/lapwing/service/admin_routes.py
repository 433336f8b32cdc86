"""Routes of an admin: surveys, epochs, tokens. Each needs a token of the role."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, TypedDict

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from lapwing.protocol.messages.problems import Problem
from lapwing.service.problem_answers import malformed
from lapwing.service.requests import AnswerSchema, collector_of, endpoint, json_answer, json_of
from lapwing.service.security import DAY, ROLE_PREFIX, Role, hash_of, new_token, short_name
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
_GONE = AnswerSchema("Deleted, with all that was collected.")

_NEITHER = (Problem.UNKNOWN_SURVEY, Problem.UNKNOWN_EPOCH)


@endpoint(
    "PUT",
    SURVEY,
    "Store a survey as a draft, or publish it with an epoch",
    *(Problem.EXISTS, Problem.STATE, Problem.SURVEY_REFUSED),
    role="admin",
    body=NewSurvey,
    answers={
        201: _TERMS,
        200: json_of(
            "It already existed with these terms. A notice in the body replaces the earlier one, "
            "unless an epoch can be answered. Then the request is refused (wrong-state).",
            TermsDocument,
        ),
    },
)
async def create_survey(request: Request, sent: NewSurvey) -> Response:
    """Store a survey as a draft, or publish it with an epoch: 201, or 200 when it existed."""
    new = await collector_of(request).life.create(request.path_params["survey"], sent)
    return _survey_answer(request, status=201 if new else 200)


@endpoint(
    "POST",
    SURVEY + "/publish",
    "Publish a draft",
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
    "Retire a survey and close all of its epochs",
    Problem.UNKNOWN_SURVEY,
    role="admin",
    answers={200: _TERMS},
)
async def retire(request: Request) -> Response:
    """Close a survey with all of its epochs, permanently."""
    await collector_of(request).life.retire(request.path_params["survey"])
    return _survey_answer(request)


@endpoint(
    "DELETE",
    SURVEY,
    "Delete a survey and its reports",
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
    "Plan an epoch or change its times",
    *(Problem.UNKNOWN_SURVEY, Problem.STATE),
    role="admin",
    body=EpochPlan,
    answers={201: _EPOCH_NOW, 200: _EPOCH_NOW},
)
async def put_epoch(request: Request, plan: EpochPlan) -> Response:
    """Plan an epoch or change its times: 201 or 200."""
    names = request.path_params["survey"], request.path_params["epoch"]
    new = await collector_of(request).life.put_epoch(*names, plan)
    return _epoch_answer(request, status=201 if new else 200)


@endpoint(
    "DELETE",
    EPOCH,
    "Delete an epoch and its reports",
    *_NEITHER,
    role="admin",
    answers={204: _GONE},
)
async def delete_epoch(request: Request) -> Response:
    """Forget an epoch and all that was collected in it."""
    names = request.path_params["survey"], request.path_params["epoch"]
    await collector_of(request).life.delete_epoch(*names)
    return Response(status_code=204)


@endpoint(
    "POST",
    EPOCH + "/open",
    "Open an epoch now",
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
    "Close an epoch now, or end its grace period",
    *_NEITHER,
    role="admin",
    answers={200: _EPOCH_NOW},
)
async def close_epoch(request: Request) -> Response:
    """Close an epoch now. In its grace, end that."""
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
    "Create upload tokens",
    *(Problem.UNKNOWN_SURVEY, Problem.STATE),
    role="admin",
    body=NewUploadTokens,
    answers={201: json_of("The tokens, shown only once.", UploadTokenList)},
)
async def make_upload_tokens(request: Request, sent: NewUploadTokens) -> Response:
    """Return tokens of invited devices, which are shown this once."""
    life = collector_of(request).life
    tokens = await life.upload_tokens(request.path_params["survey"], sent.count)
    return json_answer(UploadTokenList(tokens=tokens), status=201)


TokenId = Annotated[str, Meta(pattern="^[0-9a-f]{12}$")]
Day = Annotated[str, Meta(extra_json_schema={"format": "date"})]


class NewToken(Body):
    """The holder of a token."""

    role: Role
    label: Annotated[str, Meta(max_length=100)] = ""


class RoleToken(TypedDict):
    """A token, and what it opens."""

    token: str
    role: Role


@endpoint(
    "POST",
    "/v1/tokens",
    "Create a token with a role",
    role="admin",
    body=NewToken,
    answers={201: json_of("The token, shown only once.", RoleToken)},
)
async def make_token(request: Request, sent: NewToken) -> Response:
    """Return a token of a role, which is shown this once."""
    token = await make_role_token(request, sent)
    return json_answer(RoleToken(token=token, role=sent.role), status=201)


async def make_role_token(request: Request, sent: NewToken) -> str:
    """Return a new token, whose hash is kept."""
    if not sent.label.isprintable():
        raise malformed("label must be a string of printable characters")
    token = new_token(ROLE_PREFIX)
    await collector_of(request).add_token(AccessToken(hash_of(token), sent.role, sent.label))
    return token


class TokenRow(TypedDict):
    """A token of a role, without the token."""

    id: TokenId
    role: Role
    label: str
    last_use: Annotated[Day | None, Meta(description="In UTC. Null: never.")]
    revocable: Annotated[bool, Meta(description="false for a token in the collector's settings.")]


class TokenList(TypedDict):
    """The tokens of roles."""

    tokens: list[TokenRow]


@endpoint(
    "GET",
    "/v1/tokens",
    "All tokens, with their roles",
    role="admin",
    answers={200: json_of("One row per token.", TokenList)},
)
async def list_tokens(request: Request) -> Response:
    """Return the tokens of roles, with the day of their last use."""
    return json_answer(TokenList(tokens=await token_rows(request)))


async def token_rows(request: Request) -> list[TokenRow]:
    """Return the public data of each token."""
    return [
        TokenRow(
            id=short_name(token.digest),
            role=token.role,
            label=token.label,
            last_use=None if token.last_use is None else _date(token.last_use),
            revocable=revocable,
        )
        for token, revocable in await collector_of(request).tokens()
    ]


@endpoint(
    "DELETE",
    "/v1/tokens/{token}",
    "Revoke a token",
    *(Problem.UNKNOWN_TOKEN, Problem.TOKEN_STAYS),
    role="admin",
    parts={"token": ("Its id in the list, not the token itself.", TokenId)},
    answers={204: AnswerSchema("The token no longer works.")},
)
async def revoke_token(request: Request) -> Response:
    """Let a token open nothing any more, at once."""
    await collector_of(request).revoke(request.path_params["token"])
    return Response(status_code=204)


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY, UTC).date().isoformat()


def _survey_answer(request: Request, *, status: int = 200) -> Response:
    stored = collector_of(request).life.survey(request.path_params["survey"]).stored
    return json_answer(terms_document(stored), status=status)


def _epoch_answer(request: Request, *, status: int = 200) -> Response:
    names = request.path_params["survey"], request.path_params["epoch"]
    epoch = collector_of(request).life.epoch(*names)
    kept = collector_of(request).life.survey(names[0])
    return json_answer(epoch_document(epoch, kept), status=status)
