"""What an admin changes: surveys, epochs, tokens. Each needs a token of the role."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.documents import describe_value
from lapwing.service.device_routes import allow_other_pages, show_survey
from lapwing.service.problem_answers import malformed
from lapwing.service.requests import (
    at,
    check_query,
    collector_of,
    json_answer,
    require_admin,
    sent_document,
)
from lapwing.service.security import ROLE_PREFIX, hash_of, new_token
from lapwing.service.storage.store import AccessToken
from lapwing.service.survey_life import check_keys, epoch_document

LONGEST_LABEL = 100


def routes() -> list[Route]:
    """Return the routes."""
    survey = "/v1/surveys/{survey}"
    epoch = survey + "/epochs/{epoch}"
    return [
        at(
            survey,
            {
                "GET": show_survey,
                "OPTIONS": allow_other_pages,
                "PUT": create_survey,
                "DELETE": delete_survey,
            },
        ),
        at(survey + "/publish", {"POST": publish}),
        at(survey + "/retire", {"POST": retire}),
        at(survey + "/upload-tokens", {"POST": make_upload_tokens}),
        at(epoch, {"PUT": put_epoch, "DELETE": delete_epoch}),
        at(epoch + "/open", {"POST": open_epoch}),
        at(epoch + "/close", {"POST": close_epoch}),
        at("/v1/tokens", {"POST": make_token}),
    ]


async def create_survey(request: Request) -> Response:
    """Keep a survey as a draft, or publish it with an epoch: 201, or 200 when it existed."""
    fingerprint = _admitted(request)
    document = await sent_document(request)
    new = await collector_of(request).life.create(fingerprint, document)
    return _survey_answer(request, status=201 if new else 200)


async def publish(request: Request) -> Response:
    """Let devices see a survey."""
    fingerprint = _admitted(request)
    await collector_of(request).life.publish(fingerprint)
    return _survey_answer(request)


async def retire(request: Request) -> Response:
    """Close a survey with all of its epochs, for ever."""
    fingerprint = _admitted(request)
    await collector_of(request).life.retire(fingerprint)
    return _survey_answer(request)


async def delete_survey(request: Request) -> Response:
    """Forget a survey and all that was collected for it."""
    fingerprint = _admitted(request)
    collector = collector_of(request)
    await collector.life.delete(fingerprint)
    return Response(status_code=204)


async def put_epoch(request: Request) -> Response:
    """Plan an epoch, or change its times: 201 or 200."""
    fingerprint, name = _admitted(request), request.path_params["epoch"]
    document = await sent_document(request)
    new = await collector_of(request).life.put_epoch(fingerprint, name, document)
    return _epoch_answer(request, status=201 if new else 200)


async def open_epoch(request: Request) -> Response:
    """Open an epoch now."""
    fingerprint, name = _admitted(request), request.path_params["epoch"]
    await collector_of(request).life.open_epoch(fingerprint, name)
    return _epoch_answer(request)


async def close_epoch(request: Request) -> Response:
    """Close an epoch now; in its grace, end that."""
    fingerprint, name = _admitted(request), request.path_params["epoch"]
    await collector_of(request).life.close_epoch(fingerprint, name)
    return _epoch_answer(request)


async def delete_epoch(request: Request) -> Response:
    """Forget an epoch and all that was collected in it."""
    fingerprint, name = _admitted(request), request.path_params["epoch"]
    await collector_of(request).life.delete_epoch(fingerprint, name)
    return Response(status_code=204)


async def make_upload_tokens(request: Request) -> Response:
    """Return tokens of invited devices, which are shown this once."""
    fingerprint = _admitted(request)
    document = await sent_document(request)
    check_keys(document, ("count",), needed=("count",))
    tokens = await collector_of(request).life.upload_tokens(fingerprint, document["count"])
    return json_answer({"tokens": tokens}, status=201)


async def make_token(request: Request) -> Response:
    """Return a token of a role, which is shown this once."""
    require_admin(request)
    check_query(request, ())
    document = await sent_document(request)
    check_keys(document, ("role", "label"), needed=("role",))
    role, label = document["role"], document.get("label", "")
    if role not in ("admin", "analyst"):
        raise malformed(f'role must be "admin" or "analyst", got {describe_value(role)}')
    if not isinstance(label, str) or len(label) > LONGEST_LABEL or not label.isprintable():
        raise malformed(f"label must be a text of at most {LONGEST_LABEL} printable characters")
    token = new_token(ROLE_PREFIX)
    await collector_of(request).add_token(AccessToken(hash_of(token), role, label))
    return json_answer({"token": token, "role": role}, status=201)


def _admitted(request: Request) -> str:
    """Return the fingerprint of an address; a ProblemError unless an admin asks."""
    require_admin(request)
    check_query(request, ())
    fingerprint: str = request.path_params["survey"]
    return fingerprint


def _survey_answer(request: Request, *, status: int = 200) -> Response:
    stored = collector_of(request).life.survey(request.path_params["survey"]).stored
    document = {
        "survey": stored.fingerprint,
        "state": stored.state,
        "minimum": stored.minimum,
        "upload": stored.upload,
        "retention_days": stored.retention_days,
    }
    return json_answer(document, status=status)


def _epoch_answer(request: Request, *, status: int = 200) -> Response:
    names = request.path_params["survey"], request.path_params["epoch"]
    epoch = collector_of(request).life.epoch(*names)
    return json_answer(epoch_document(epoch), status=status)
