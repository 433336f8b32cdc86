"""Signing in: the token of a role goes into a cookie that scripts cannot read."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from lapwing.protocol.messages.problems import Problem
from lapwing.service.pages.page_answers import HEADERS, page
from lapwing.service.problem_answers import ProblemError, malformed
from lapwing.service.receiving import ClientGoneError
from lapwing.service.requests import collector_of, role_of
from lapwing.service.security import COOKIE, READERS, form_proof

KEPT_SECONDS = 12 * 3600
"""How long a browser keeps the cookie."""

MOST_BYTES = 4096


def to_sign_in(request: Request) -> Response:
    """Return the way to the page that asks for a token, which leads back to what was asked for."""
    query = request.url.query
    wanted = request.url.path + (f"?{query}" if query else "")
    address = "/sign-in" if wanted == "/" else f"/sign-in?{urlencode({'to': wanted})}"
    return RedirectResponse(address, status_code=303, headers=HEADERS)


def _sign_in_page(to: str, *, wrong: bool = False) -> Response:
    status = 401 if wrong else 200
    return page("sign_in.html", status=status, wrong=wrong, to=to, signed_in=False)


def safe_address(text: str) -> str:
    """Return an address of this collector. Its first page of anything else.

    >>> safe_address("/surveys/a?epoch=b"), safe_address("//elsewhere.example")
    ('/surveys/a?epoch=b', '/')
    """
    plain = text.isascii() and text.isprintable() and "\\" not in text
    return text if plain and text.startswith("/") and not text.startswith("//") else "/"


def analyst_here(request: Request) -> bool:
    """Return whether whoever asks may read results."""
    return role_of(request, cookie=True) in READERS


def admin_here(request: Request) -> bool:
    """Return whether an admin asks."""
    return role_of(request, cookie=True) == "admin"


def admin_proof(request: Request) -> str:
    """Return the proof for the forms of a page that an admin opens. "" for anybody else."""
    token = request.cookies.get(COOKIE, "")
    admin = collector_of(request).roles.role_of(token) == "admin"
    return form_proof(token) if admin else ""


async def show(request: Request) -> Response:
    """Return the page that asks for a token."""
    to = _next(request.query_params.get("to", "/"))
    if analyst_here(request):
        return RedirectResponse(to, status_code=303, headers=HEADERS)
    return _sign_in_page(to)


async def sign_in(request: Request) -> Response:
    """Take a token. Keep it as a cookie, or say that it is unknown."""
    fields = await _fields(request)
    token, to = fields.get("token", "").strip(), _next(fields.get("to", "/"))
    if collector_of(request).roles.role_of(token) not in READERS:
        return _sign_in_page(to, wrong=True)
    answer = RedirectResponse(to, status_code=303, headers=HEADERS)
    _keep(request, answer, token, seconds=KEPT_SECONDS)
    return answer


async def sign_out(request: Request) -> Response:
    """Take the cookie back."""
    await _fields(request)
    answer = RedirectResponse("/sign-in", status_code=303, headers=HEADERS)
    _keep(request, answer, "", seconds=0)
    return answer


def _next(text: str) -> str:
    to = safe_address(text)
    return "/" if to.startswith("/sign-") else to


def _keep(request: Request, answer: Response, token: str, *, seconds: int) -> None:
    """Let the browser keep the token, or with no seconds forget it."""
    answer.set_cookie(
        COOKIE,
        token,
        max_age=seconds,
        httponly=True,
        samesite="strict",
        secure=collector_of(request).settings.secure_cookies,
    )


async def sent_form(request: Request, *, largest: int | None = None) -> bytes:
    """Return the body of a form that one of our own pages sent."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ProblemError(
            Problem.NOT_ALLOWED, "another site sent this form. Open this page yourself"
        )
    try:
        return await collector_of(request).receiving.body(
            request.receive, request.scope["headers"], largest=largest
        )
    except ClientGoneError:
        raise malformed("the request was incomplete. Send it again") from None


async def _fields(request: Request) -> dict[str, str]:
    body = await sent_form(request, largest=MOST_BYTES)
    found = parse_qs(body.decode("latin-1"), encoding="utf-8", errors="replace")
    return {key: values[0] for key, values in found.items()}
