"""An endpoint: its address, who may ask, what is sent and what is answered, next to its handler.

The routes and the OpenAPI description are both made from it, so a new endpoint is one function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.documents import parse
from lapwing.errors import FormatError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.collector import Collector
from lapwing.service.problem_answers import ProblemError, malformed
from lapwing.service.receiving import ClientGoneError, Scope
from lapwing.service.security import COOKIE, READERS, ROLE_PREFIX, Role, bearer
from lapwing.service.typed_bodies import Body, NoQuery, Query, read_body, read_query

Handler = Callable[..., Awaitable[Response]]
Method = Literal["GET", "PUT", "POST", "DELETE", "OPTIONS"]

NOT_KEPT = {"cache-control": "no-store"}


class AnswerSchema(NamedTuple):
    """A good answer: what it says, and the schema of each media type that it may have.

    A schema is JSON, or a Python type, or JSON with Python types in it.
    """

    description: str
    content: Mapping[str, Any] = {}


def json_of(description: str, schema: Any) -> AnswerSchema:
    """Return an answer in JSON of a schema or a type."""
    return AnswerSchema(description, {"application/json": schema})


@dataclass(frozen=True, kw_only=True, eq=False)
class Endpoint:
    """A method of an address.

    method, path, summary, tag, description: The words of the OpenAPI description. A part of the
        path in braces is a parameter.
    answers: The good answers, by their status.
    problems: Those that the role and the body do not already bring.
    role: Role that may ask. An admin may do whatever an analyst may.
    query: Its fields are the keys of the query. None: whatever is there is not looked at.
    body: Body: the type of a JSON object, or a schema for each media type, which the handler then
        reads on its own.
    parts: Description and type of parameters of the path, where they differ from the usual ones.
    security: Where it is not the token of a role.
    handler: Takes the request, and the query and the body where there are types of them. None: it
        is answered before the router.
    """

    method: Method
    path: str
    summary: str
    tag: str
    answers: Mapping[int, AnswerSchema]
    problems: tuple[Problem, ...] = ()
    description: str = ""
    role: Role | None = None
    query: type[Query] | None = NoQuery
    body: type[Body] | Mapping[str, Any] | None = None
    parts: Mapping[str, tuple[str, Any]]
    security: list[Any] | None = None
    handler: Handler | None = None

    async def __call__(self, request: Request) -> Response:
        """Check who asks and what is sent, in this order, and answer."""
        assert self.handler is not None
        if self.role == "admin":
            require_admin(request)
        elif self.role == "analyst":
            require_analyst(request)
        typed: list[Any] = []
        if self.query is not None:
            query = read_query(request.query_params.multi_items(), self.query)
            typed += [query] if self.query is not NoQuery else []
        if isinstance(self.body, type):
            typed.append(read_body(await _sent_document(request), self.body))
        return await self.handler(request, *typed)


def endpoint(
    method: Method,
    path: str,
    summary: str,
    *problems: Problem,
    tag: str = "",
    role: Role | None = None,
    parts: Mapping[str, tuple[str, Any]] | None = None,
    **more: Any,
) -> Callable[[Handler | None], Endpoint]:
    """Return what makes an endpoint of a handler. See :class:`Endpoint` for the arguments."""

    def made(handler: Handler | None) -> Endpoint:
        return Endpoint(
            method=method,
            path=path,
            summary=summary,
            problems=problems,
            tag=tag or f"{role}s",
            role=role,
            parts=parts or {},
            handler=handler,
            **more,
        )

    return made


def endpoints_of(*modules: ModuleType) -> list[Endpoint]:
    """Return the endpoints of modules, in the order in which they stand there."""
    every = [each for module in modules for each in vars(module).values()]
    return list(dict.fromkeys(each for each in every if isinstance(each, Endpoint)))


def routes_of(endpoints: Iterable[Endpoint]) -> list[Route]:
    """Return the routes of endpoints, one for each path."""
    paths: dict[str, dict[str, Handler]] = {}
    for each in endpoints:
        if each.handler is not None:
            paths.setdefault(each.path, {})[each.method] = each
    return [at(path, methods) for path, methods in paths.items()]


def collector_of(request: Request) -> Collector:
    """Return the collector that answers a request."""
    found = request.app.state.collector
    assert isinstance(found, Collector)
    return found


def at(path: str, methods: Mapping[str, Handler]) -> Route:
    """Return the route of a path with one handler for each method."""

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


async def _sent_document(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent."""
    collector = collector_of(request)
    try:
        body = await collector.receiving.body(request.receive, request.scope["headers"])
    except ClientGoneError:
        raise malformed("the body was incomplete") from None
    try:
        return parse(body, name="the body")
    except FormatError as error:
        raise malformed(str(error)) from None


def role_of(request: Request, *, cookie: bool) -> Role | None:
    """Return the role of whoever asks. None for who shows no token, or a wrong one.

    cookie: Whether the pages' cookie counts: here only for what changes nothing, because a browser
        sends it along on its own.
    """
    return collector_of(request).roles.role_of(_shown_token(request, cookie=cookie))


def shows_known_token(scope: Scope, collector: Collector) -> bool:
    """Return whether a request shows a token that opened a role a moment ago."""
    request = Request(scope)
    return collector.roles.role_of(_shown_token(request, cookie=True)) is not None


def _shown_token(request: Request, *, cookie: bool) -> str | None:
    header = request.headers.get("authorization")
    token = bearer(None if header is None else header.encode("latin-1"), prefix=ROLE_PREFIX)
    if token is None and header is None and cookie:
        token = request.cookies.get(COOKIE)
    return token


def require_analyst(request: Request) -> Role:
    """Return the role of whoever may read, or raise the problem of who may not."""
    role = role_of(request, cookie=True)
    if role is None:
        raise _nobody()
    if role not in READERS:
        raise ProblemError(Problem.NOT_ALLOWED, "this needs a token with the role analyst or admin")
    return role


def require_admin(request: Request) -> None:
    """Raise the problem of whoever may not change anything."""
    role = role_of(request, cookie=False)
    if role is None:
        raise _nobody()
    if role != "admin":
        raise ProblemError(Problem.NOT_ALLOWED, "this needs a token with the role admin")


def _nobody() -> ProblemError:
    return ProblemError(
        Problem.TOKEN_NEEDED, "send a token with a role as Authorization: Bearer lwa_..."
    )


def check_query(request: Request, known: tuple[str, ...]) -> None:
    """Raise the problem of a page's query with an unknown key, or one that is named twice."""
    keys = [key for key, _ in request.query_params.multi_items()]
    if not set(keys) <= set(known):
        raise malformed(f"the query has an unknown key. Known: {', '.join(known) or 'none'}")
    if len(set(keys)) != len(keys):
        raise malformed("the query has a key twice")
