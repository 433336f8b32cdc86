"""What endpoints share: who asks, what was sent, and how it is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.documents import parse
from lapwing.errors import FormatError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.collector import Collector
from lapwing.service.problem_answers import ProblemError, malformed
from lapwing.service.receiving import ClientGoneError
from lapwing.service.security import COOKIE, ROLE_PREFIX, Role, bearer

Endpoint = Callable[[Request], Awaitable[Response]]

NOT_KEPT = {"cache-control": "no-store"}


def collector_of(request: Request) -> Collector:
    """Return the collector that answers a request."""
    found = request.app.state.collector
    assert isinstance(found, Collector)
    return found


def at(path: str, methods: Mapping[str, Endpoint]) -> Route:
    """Return the route of a path with one endpoint for each method."""

    async def answer(request: Request) -> Response:
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, answer, methods=list(methods), name=path)


def json_answer(
    document: Any, *, status: int = 200, headers: Mapping[str, str] = NOT_KEPT
) -> Response:
    """Return a JSON answer."""
    return Response(
        msgspec.json.encode(document),
        status_code=status,
        headers=dict(headers),
        media_type="application/json",
    )


async def sent_document(request: Request, *, needed: bool = True) -> dict[str, Any]:
    """Return the JSON object that was sent; an empty one where none is needed and none came."""
    collector = collector_of(request)
    try:
        body = await collector.receiving.body(request.receive, request.scope["headers"])
    except ClientGoneError:
        raise malformed("the body did not end") from None
    if not body and not needed:
        return {}
    try:
        return parse(body, name="the body")
    except FormatError as error:
        raise malformed(str(error)) from None


def role_of(request: Request, *, cookie: bool) -> Role | None:
    """Return the role of whoever asks; None for who shows no token, or a wrong one.

    Parameters
    ----------
    request : Request
    cookie : bool
        Whether the pages' cookie counts: here only for what changes nothing, because a browser
        sends it along on its own.
    """
    header = request.headers.get("authorization")
    token = bearer(None if header is None else header.encode("latin-1"), prefix=ROLE_PREFIX)
    if token is None and header is None and cookie:
        token = request.cookies.get(COOKIE)
    return collector_of(request).roles.role_of(token)


def require_analyst(request: Request) -> Role:
    """Return the role of whoever may read, or raise the problem of who may not."""
    role = role_of(request, cookie=True)
    if role is None:
        raise _nobody()
    return role


def require_admin(request: Request) -> None:
    """Raise the problem of whoever may not change anything."""
    role = role_of(request, cookie=False)
    if role is None:
        raise _nobody()
    if role != "admin":
        raise ProblemError(Problem.NOT_ALLOWED, "this needs a token of the role admin")


def _nobody() -> ProblemError:
    return ProblemError(
        Problem.TOKEN_NEEDED, "send the token of a role as Authorization: Bearer lwa_..."
    )


def check_query(request: Request, known: tuple[str, ...]) -> None:
    """Raise the problem of a query with an unknown key, or one that is named twice."""
    keys = [key for key, _ in request.query_params.multi_items()]
    if not set(keys) <= set(known):
        raise malformed(f"the query has an unknown key; known: {', '.join(known) or 'none'}")
    if len(set(keys)) != len(keys):
        raise malformed("the query names a key twice")
