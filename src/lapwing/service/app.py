"""The application: uploads go by the short way, everything else through the framework."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Literal, NotRequired, TypedDict

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from lapwing.protocol.messages.problems import Problem
from lapwing.service import admin_routes, analyst_routes, counters, device_routes
from lapwing.service.collector import Collector
from lapwing.service.openapi import openapi_document
from lapwing.service.pages import page_routes
from lapwing.service.problem_answers import ProblemError, malformed
from lapwing.service.receiving import Receive, Scope, Send, closing
from lapwing.service.requests import (
    NOT_KEPT,
    AnswerSchema,
    collector_of,
    endpoint,
    endpoints_of,
    json_answer,
    json_of,
    require_analyst,
    role_of,
    routes_of,
    shows_known_token,
)
from lapwing.service.upload_path import OPEN_TO_ALL, address_of, send_problem

HEALTH_PATH = "/healthz"

_UPLOADED = {"PUT", "POST"}

_SAFE = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]


class Application:
    """An ASGI application.

    pages: The analyst's pages, where they are wanted.
    """

    def __init__(self, collector: Collector, *, pages: Sequence[BaseRoute] = ()) -> None:
        self.collector = collector
        self._uploads = collector.uploads
        self._framed = _framed(collector, pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """AnswerSchema one request."""
        if scope["type"] == "http":
            if scope["method"] in _UPLOADED and (address := address_of(scope["path"])) is not None:
                await self._uploads.answer(address, scope, receive, send)
                return
            await self._others(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._framed(scope, receive, send)

    async def _others(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.collector.counters.requests[message["status"]] += 1
                headers = [*message.get("headers", ()), *_SAFE]
                message["headers"] = [*headers, *closing(scope)]
            await send(message)

        try:
            if self.collector.shared and shows_known_token(scope, self.collector):
                await self.collector.look_at_tokens()
            await self._framed(scope, receive, counted)
        except ProblemError as problem:  # the store cannot say whether the token still holds
            await send_problem(counted, problem, bodiless=scope["method"] == "HEAD")
        except Exception as error:
            # It has been answered with a problem; only its place is written down.
            self.collector.log.defect(error)


def make_application(collector: Collector) -> Application:
    """Return the application of a collector, with its pages."""
    return Application(collector, pages=page_routes.routes())


def _framed(collector: Collector, pages: Sequence[BaseRoute]) -> Starlette:
    @asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        await collector.start()
        try:
            yield
        finally:
            await collector.stop()

    app = Starlette(
        routes=[*routes_of(ENDPOINTS), *pages],
        exception_handlers={
            ProblemError: _problem,
            HTTPException: _framework_problem,
            Exception: _defect,
        },
        lifespan=living,
    )
    app.router.redirect_slashes = False
    app.state.collector = collector
    return app


def _answer(problem: ProblemError) -> Response:
    answer = Response(problem.body(), status_code=problem.status)
    answer.raw_headers = [*problem.headers(), (b"content-length", str(len(answer.body)).encode())]
    return answer


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return _answer(error)


async def _framework_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        if address_of(request.url.path) is not None:
            allowed += ", POST, PUT"  # they stand before the framework
        return _answer(
            ProblemError(
                Problem.METHOD,
                f"this address allows: {allowed}",
                headers=((b"allow", allowed.encode()), OPEN_TO_ALL),
            )
        )
    if error.status_code == 404:
        detail = "see /openapi.json for what exists"
        return _answer(ProblemError(Problem.NOTHING_HERE, detail, headers=(OPEN_TO_ALL,)))
    return _answer(malformed("the request cannot be read"))


async def _defect(request: Request, error: Exception) -> Response:
    return _answer(ProblemError(Problem.DEFECT, "please report it. Nothing was changed"))


class Health(TypedDict):
    """Whether reports can be stored, and whether there is a survey that could take any."""

    status: str
    note: NotRequired[Literal["new, no surveys", "no surveys"]]


@endpoint(
    "GET",
    HEALTH_PATH,
    "Whether reports can be stored",
    tag="operations",
    query=None,
    answers={
        200: json_of("Reports can be stored.", Health),
        503: json_of("Reports cannot be stored now.", Health),
    },
)
async def show_health(request: Request) -> Response:
    """Return 200 while reports can be stored, 503 while they cannot."""
    collector = collector_of(request)
    if not collector.ready:
        return json_answer(Health(status="store in trouble"), status=503)
    health = Health(status="ready")
    if collector.catalog.new:
        health["note"] = "new, no surveys"
    elif not [*collector.catalog]:
        health["note"] = "no surveys"
    return json_answer(health)


@endpoint(
    "GET",
    "/metrics",
    "Counters for Prometheus",
    Problem.TOKEN_NEEDED,
    tag="operations",
    query=None,
    description="Needs a token of any role, unless the setting `open_counters` is true. Only "
    "admins and monitors see counts of uploads and of other requests.",
    security=[{"role": []}],
    answers={200: AnswerSchema("Counters.", {"text/plain": {"type": "string"}})},
)
async def show_counters(request: Request) -> Response:
    """Return the counters for Prometheus. To analysts, none that devices move."""
    collector = collector_of(request)
    role = role_of(request, cookie=True)
    if role != "monitor" and not collector.settings.open_counters:
        require_analyst(request)
    text = collector.counters.text(everything=role in ("admin", "monitor"))
    return Response(text, headers=NOT_KEPT, media_type=counters.MEDIA_TYPE)


@endpoint(
    "GET",
    "/openapi.json",
    "This document",
    tag="operations",
    query=None,
    answers={200: json_of("The document.", {"type": "object"})},
)
async def show_openapi(request: Request) -> Response:
    """Return the description of all of this."""
    headers = {"access-control-allow-origin": "*"}
    return Response(_described(), headers=headers, media_type="application/json")


ENDPOINTS = endpoints_of(sys.modules[__name__], device_routes, admin_routes, analyst_routes)
"""All endpoints: whatever is declared in one of these modules."""


@cache
def _described() -> bytes:
    """Return the description, which is the same for everybody: one copy of it is in memory."""
    return msgspec.json.encode(openapi_document(ENDPOINTS))
