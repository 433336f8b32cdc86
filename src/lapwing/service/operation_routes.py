"""What those who run a collector ask: is it well, what has it counted, what can be asked of it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.service import counters
from lapwing.service.openapi import openapi_document
from lapwing.service.requests import NOT_KEPT, at, collector_of, json_answer, require_analyst


def routes() -> list[Route]:
    """Return the routes."""
    return [
        at("/healthz", {"GET": show_health}),
        at("/metrics", {"GET": show_counters}),
        at("/openapi.json", {"GET": show_openapi}),
    ]


async def show_health(request: Request) -> Response:
    """Return 200 while reports can be stored, 503 while they cannot."""
    collector = collector_of(request)
    if collector.ready:
        return json_answer({"status": "ready"})
    return json_answer({"status": "store in trouble"}, status=503)


async def show_counters(request: Request) -> Response:
    """Return the counters for Prometheus, to a role: with one survey they tell its reports."""
    collector = collector_of(request)
    if not collector.settings.open_counters:
        require_analyst(request)
    text = collector.counters.text()
    return Response(text, headers=NOT_KEPT, media_type=counters.MEDIA_TYPE)


async def show_openapi(request: Request) -> Response:
    """Return the description of all of this."""
    return json_answer(openapi_document(), headers={"access-control-allow-origin": "*"})
