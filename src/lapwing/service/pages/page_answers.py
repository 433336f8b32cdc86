"""Pages as answers: made from templates, with headers under which only our own files run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from starlette.requests import Request
from starlette.responses import Response

from lapwing.protocol.messages.problems import Problem
from lapwing.service.pages.plain_words import STATES
from lapwing.service.problem_answers import ProblemError
from lapwing.service.requests import collector_of

POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
}

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals["states"] = STATES

Endpoint = Callable[[Request], Awaitable[Response]]


def page(template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page, made from one of our templates."""
    return page_of(rendered(template, **values), status=status)


def rendered(template: str, **values: Any) -> str:
    """Return the text of a page, made from one of our templates."""
    return _TEMPLATES.get_template(template).render(**values)


def page_of(text: str, *, status: int = 200) -> Response:
    """Return a page of a text that has been made."""
    return Response(text, status_code=status, headers=HEADERS, media_type="text/html")


def problem_page(problem: ProblemError) -> Response:
    """Return the page that says what is wrong."""
    answer = page(
        "problem.html",
        status=problem.status,
        title=problem.problem.sentence,
        detail=problem.detail,
        again=problem.retry_after,
        signed_in=problem.problem != Problem.TOKEN_NEEDED,
    )
    if problem.retry_after is not None:
        answer.headers["retry-after"] = str(problem.retry_after)
    return answer


def for_people(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint whose problems are also pages, so that nobody reads JSON."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ProblemError as problem:
            return problem_page(problem)
        except Exception as error:
            collector_of(request).log.defect(error)
            detail = "please report it. Nothing was changed"
            return problem_page(ProblemError(Problem.DEFECT, detail))

    return answer
