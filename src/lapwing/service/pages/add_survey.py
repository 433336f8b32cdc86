"""Forms by which an admin adds a survey, opens an epoch and closes it. They need no script."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from lapwing.documents import parse
from lapwing.errors import FormatError, LapwingError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.catalog import KeptSurvey
from lapwing.service.pages.page_answers import HEADERS, page
from lapwing.service.pages.plain_words import TEXTS
from lapwing.service.pages.sign_in import analyst_here, sent_form, to_sign_in
from lapwing.service.problem_answers import ProblemError, malformed
from lapwing.service.requests import check_query, collector_of
from lapwing.service.security import COOKIE, form_proof, is_form_proof
from lapwing.service.survey_life import USUAL_MINIMUM, NewSurvey
from lapwing.service.typed_bodies import read_body
from lapwing.survey.survey import Survey

FIELDS = ("epoch", "closes", "minimum", "upload", "retention_days")
"""What the form asks in addition to the survey. All but the epoch may be empty."""


async def show(request: Request) -> Response:
    """Return the form, of a new survey or of another epoch."""
    check_query(request, ("survey",))
    if not analyst_here(request):
        return to_sign_in(request)
    token = admin_token(request)
    return _form(token, _kept(request, request.query_params.get("survey", "")), {})


async def add(request: Request) -> Response:
    """Add what the form says and lead to its page, or show the form with what is wrong."""
    token = admin_token(request)
    sent = await _sent(request, token)
    fields = {key: value.decode("utf-8", "replace").strip() for key, value in sent.items()}
    kept = _kept(request, fields.get("survey", ""))
    try:
        file = sent.get("document") or sent.get("file", b"")
        document = _document(file) if kept is None else kept.survey.to_document()
        fingerprint = document.get("fingerprint")
        if not isinstance(fingerprint, str):
            raise malformed("the file is not a survey. Choose a file that `lapwing new` wrote")
        if changes := _changes(request, document, fields.get("text")):
            return _form(token, kept, fields, **changes)
        body = {"survey": document, **_terms(fields, new=kept is None), "epoch": _epoch(fields)}
        await collector_of(request).life.create(fingerprint, read_body(body, NewSurvey))
    except ProblemError as problem:
        return _form(token, kept, fields, problem)
    address = f"/surveys/{fingerprint}?epoch={fields['epoch']}"
    return RedirectResponse(address, status_code=303, headers=HEADERS)


async def close_epoch(request: Request) -> Response:
    """Close an epoch and lead back to the page of its survey."""
    sent = await _sent(request, admin_token(request))
    survey, epoch = (sent.get(key, b"").decode("utf-8", "replace") for key in ("survey", "epoch"))
    await collector_of(request).life.close_epoch(survey, epoch)
    return RedirectResponse(f"/surveys/{survey}?epoch={epoch}", status_code=303, headers=HEADERS)


async def sent_fields(request: Request, token: str) -> dict[str, str]:
    """Return the fields of such a form as strings."""
    sent = await _sent(request, token)
    return {key: value.decode("utf-8", "replace") for key, value in sent.items()}


async def _sent(request: Request, token: str) -> dict[str, bytes]:
    """Return the fields of a form that a page of this admin sent."""
    sent = _parts(request.headers.get("content-type", ""), await sent_form(request))
    if not is_form_proof(sent.get("proof", b"").decode("utf-8", "replace"), token):
        raise ProblemError(Problem.NOT_ALLOWED, "open the form on this site and send it again")
    return sent


def admin_token(request: Request) -> str:
    """Return the token of the admin who is signed in, or raise the problem of anybody else."""
    token = request.cookies.get(COOKIE, "")
    role = collector_of(request).roles.role_of(token)
    if role is None:
        raise ProblemError(Problem.TOKEN_NEEDED, "sign in again. Nothing was changed")
    if role != "admin":
        raise ProblemError(Problem.NOT_ALLOWED, "sign in with an admin token")
    return token


def _kept(request: Request, fingerprint: str) -> KeptSurvey | None:
    return collector_of(request).life.survey(fingerprint) if fingerprint else None


def _changes(request: Request, document: dict[str, Any], agreed: str | None) -> dict[str, Any]:
    """Return how a document changes the text of a survey that exists, unless that is agreed to."""
    there = collector_of(request).catalog.get(document["fingerprint"])
    try:
        survey = Survey.from_document(document)
    except LapwingError:
        return {}  # adding it says why
    if there is None or survey.notice in ({}, there.survey.notice):
        return {}
    if agreed == survey.text_fingerprint:
        return {}
    former = there.survey.notice
    rows = [(label, former.get(key, ""), survey.notice.get(key, "")) for key, label in TEXTS]
    return {
        "changes": [row for row in rows if row[1] != row[2]],
        "document": survey.to_json(),
        "text": survey.text_fingerprint,
    }


def _form(
    token: str,
    kept: KeptSurvey | None,
    fields: dict[str, str],
    problem: ProblemError | None = None,
    **changes: Any,
) -> Response:
    return page(
        "add_survey.html",
        status=200 if problem is None else problem.status,
        proof=form_proof(token),
        kept=kept,
        values={"minimum": str(USUAL_MINIMUM), **{key: fields.get(key, "") for key in fields}},
        wrong=None if problem is None else problem.detail,
        **changes,
        signed_in=True,
    )


def _parts(content_type: str, body: bytes) -> dict[str, bytes]:
    """Return the fields of a form that may hold a file (multipart/form-data, RFC 7578)."""
    head = f"content-type: {content_type}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if message.get_content_type() != "multipart/form-data" or not message.is_multipart():
        raise malformed("the form is not from this page. Open the page again")
    found: dict[str, bytes] = {}
    for part in message.iter_parts():
        content = part.get_payload(decode=True)
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str) and isinstance(content, bytes):
            found[name] = content
    return found


def _document(content: bytes) -> dict[str, Any]:
    if not content:
        raise malformed("choose a survey file")
    try:
        return parse(content, name="the survey file")
    except FormatError as error:
        raise malformed(str(error)) from None


def _terms(fields: dict[str, str], *, new: bool) -> dict[str, Any]:
    """Return the collector's terms for a new survey."""
    if not new:
        return {}
    days = fields.get("retention_days")
    return {
        "minimum": _whole(fields.get("minimum") or str(USUAL_MINIMUM), "the minimum"),
        "upload": fields.get("upload", "open"),
        "retention_days": _whole(days, "the number of days to keep reports") if days else None,
    }


def _whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise malformed(f"{name} must be a whole number")
    return int(text)


def _epoch(fields: dict[str, str]) -> dict[str, Any]:
    """Return the epoch. A browser writes a time without its zone, which the form says is UTC."""
    closes = fields.get("closes")
    return {"name": fields.get("epoch", ""), "closes": f"{closes}Z" if closes else None}
