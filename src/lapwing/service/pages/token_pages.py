"""The page by which an admin sees, makes and revokes tokens of roles. It needs no script."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from lapwing.service.admin_routes import NewToken, make_role_token, token_rows
from lapwing.service.pages.add_survey import admin_token, sent_fields
from lapwing.service.pages.page_answers import HEADERS, page
from lapwing.service.pages.sign_in import analyst_here, to_sign_in
from lapwing.service.problem_answers import ProblemError
from lapwing.service.requests import check_query, collector_of
from lapwing.service.security import form_proof, hash_of, short_name
from lapwing.service.typed_bodies import read_body


async def show(request: Request) -> Response:
    """Return the list of tokens, with a form that makes one and a button that revokes each."""
    check_query(request, ())
    if not analyst_here(request):
        return to_sign_in(request)
    return await _page(request, admin_token(request))


async def make(request: Request) -> Response:
    """Make a token, and show it this once."""
    token = admin_token(request)
    fields = await sent_fields(request, token)
    try:
        sent = read_body({key: fields.get(key, "").strip() for key in ("role", "label")}, NewToken)
        made = await make_role_token(request, sent)
    except ProblemError as problem:
        return await _page(request, token, problem=problem)
    return await _page(request, token, made=made, role=sent.role)


async def revoke(request: Request) -> Response:
    """Revoke a token, or say why it stays."""
    token = admin_token(request)
    fields = await sent_fields(request, token)
    name = fields.get("id", "")
    try:
        await collector_of(request).revoke(name)
    except ProblemError as problem:
        return await _page(request, token, problem=problem)
    own = name == short_name(hash_of(token))
    return RedirectResponse("/sign-in" if own else "/tokens", status_code=303, headers=HEADERS)


async def _page(
    request: Request,
    token: str,
    *,
    made: str = "",
    role: str = "",
    problem: ProblemError | None = None,
) -> Response:
    return page(
        "tokens.html",
        status=200 if problem is None else problem.status,
        proof=form_proof(token),
        tokens=await token_rows(request),
        own=short_name(hash_of(token)),
        made=made,
        role=role,
        wrong=None if problem is None else problem.detail,
        signed_in=True,
    )
