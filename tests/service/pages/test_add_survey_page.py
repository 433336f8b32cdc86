"""The form that adds a survey: who may send it, what it refuses, and that it needs no script."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

import lapwing as lw
from lapwing.service.security import COOKIE, form_proof
from tests.clients_js.programs import SECONDS, chromium
from tests.service.one_collector import ADMIN, ANALYST, Site, as_role, served
from tests.service.pages.test_pages_html import check_page

SURVEY = lw.Survey("birds", lw.RandomizedResponse(lw.Categories(["lapwing", "snipe"]), 2))
FILE = json.dumps(SURVEY.to_document()).encode()


async def send(
    here: Site,
    file: bytes | None = FILE,
    *,
    cookie: str | None = ADMIN,
    headers: dict[str, str] | None = None,
    **fields: str,
) -> httpx.Response:
    """Send the form as a browser does, by default as an admin who fills it in well."""
    values = {"proof": form_proof(cookie or ""), "epoch": "spring", **fields}
    path = values.pop("path", "/add-survey")
    parts: dict[str, Any] = {name: (None, value) for name, value in values.items()}
    if file is not None:
        parts["file"] = ("birds.json", file, "application/json")
    kept = {} if cookie is None else {"cookie": f"{COOKIE}={cookie}"}
    answer = await here.ask(
        "POST", path, token=None, headers={**kept, **(headers or {})}, files=parts
    )
    here.client.cookies.clear()
    return answer


async def test_an_admin_adds_a_survey_and_then_an_epoch(here: Site) -> None:
    sent = await send(
        here, minimum="30", upload="tokens", retention_days="9", closes="2999-01-02T03:04"
    )
    where = f"/surveys/{SURVEY.fingerprint}?epoch=spring"
    assert (sent.status_code, sent.headers["location"]) == (303, where), sent.text
    (kept,) = here.collector.catalog
    stored, epoch = kept.stored, kept.epochs["spring"]
    assert (stored.state, stored.minimum, stored.upload) == ("published", 30, "tokens")
    assert stored.retention_days == 9 and epoch.state == "open"
    epochs = await here.done("GET", f"/v1/surveys/{SURVEY.fingerprint}/epochs")
    assert epochs.json()["epochs"][0]["closes"] == "2999-01-02T03:04:00Z"
    more = await send(here, None, survey=SURVEY.fingerprint, epoch="summer")
    assert more.status_code == 303
    (kept,) = here.collector.catalog
    assert list(kept.epochs) == ["spring", "summer"] and kept.stored == stored


async def test_another_text_is_shown_beside_the_former_one_and_agreed_to(here: Site) -> None:
    first = replace(SURVEY, question="Which <b>bird</b>?", owner="Club")
    second = replace(SURVEY, question="Which beast?", contact="post@example.org")

    async def asked(survey: lw.Survey, **fields: str) -> httpx.Response:
        return await send(here, survey.to_json().encode(), **fields)

    assert (await asked(first)).status_code == 303
    await here.done("POST", f"/v1/surveys/{SURVEY.fingerprint}/epochs/spring/close")
    shown = await asked(second, epoch="summer")
    check_page(shown)
    assert shown.status_code == 200 and "Nothing was added yet" in shown.text
    for cell in ("Which &lt;b&gt;bird&lt;/b&gt;?", "Which beast?", "Club", "(none)"):
        assert f"<td>{cell}</td>" in shown.text
    (kept,) = here.collector.catalog
    assert kept.survey == first and list(kept.epochs) == ["spring"]
    # Agreeing to one text is not agreeing to another.
    other = {"epoch": "summer", "text": first.text_fingerprint}
    assert (await asked(second, **other)).status_code == 200
    agreed = {"document": second.to_json(), "text": second.text_fingerprint}
    assert (await send(here, None, epoch="summer", **agreed)).status_code == 303
    (kept,) = here.collector.catalog
    assert kept.survey == second and list(kept.epochs) == ["spring", "summer"]
    # While that epoch is open, nobody's yes changes the text.
    back = await asked(first, epoch="autumn", text=first.text_fingerprint)
    assert back.status_code == 409 and "cannot change while one of its epochs" in back.text
    # The same text, or none, needs no yes.
    assert (await asked(second, epoch="autumn")).status_code == 303
    assert (await asked(SURVEY, epoch="winter")).status_code == 303


async def test_who_may_not_add_adds_nothing(here: Site) -> None:
    for status, more in (
        (401, {"cookie": None}),
        (401, {"cookie": "lwa_" + "C" * 43}),
        (401, {"cookie": None, "headers": as_role(ADMIN)}),
        (403, {"cookie": ANALYST}),
        (403, {"headers": {"sec-fetch-site": "cross-site"}}),
        (403, {"headers": {"sec-fetch-site": "same-site"}}),
        (403, {"proof": ""}),
        (403, {"proof": form_proof(ANALYST)}),
        (403, {"proof": "é"}),
    ):
        for path in ("/add-survey", "/close-epoch"):
            sent = await send(here, path=path, **more)  # type: ignore[arg-type]
            assert sent.status_code == status, more
            check_page(sent)
            assert ADMIN not in sent.text
    assert list(here.collector.catalog) == []
    none = await send(here, None, path="/close-epoch", survey="0" * 64)
    assert none.status_code == 404
    check_page(none)
    for cookie, status in (("", 303), (ANALYST, 403), (ADMIN, 200)):
        headers = {"cookie": f"{COOKIE}={cookie}"}
        shown = await here.ask("GET", "/add-survey", token=None, headers=headers)
        assert shown.status_code == status
        assert (form_proof(ADMIN) in shown.text) == (cookie == ADMIN)
        overview = await here.ask("GET", "/", token=None, headers=headers)
        assert ('href="/add-survey"' in overview.text) == (cookie == ADMIN)


async def test_what_is_wrong_is_said_and_nothing_is_half_made(here: Site) -> None:
    other = lw.Survey("birds", lw.RandomizedResponse(lw.Categories(["lapwing", "knot"]), 2))
    changed = json.dumps({**SURVEY.to_document(), "name": "<b>"}).encode()

    async def refused(words: str, *given: Any, **fields: Any) -> None:
        before = [(kept.stored, dict(kept.epochs)) for kept in here.collector.catalog]
        sent = await send(here, *given, **fields)
        assert 400 <= sent.status_code < 500, words
        assert words in sent.text and "Nothing was added" in sent.text, sent.text
        check_page(sent)
        after = [(kept.stored, dict(kept.epochs)) for kept in here.collector.catalog]
        assert after == before

    for file, words in (
        (b"", "Choose a survey file"),
        (b"income,age\n1,2\n", "The survey file"),
        (b"{}", "The file is not a survey"),
        (b'{"format": "lapwing-tally", "fingerprint": "00"}', "urvey"),
        (changed, "fingerprint"),
    ):
        await refused(words, file)
    await refused("name of an epoch must be", epoch="Week <b>")
    await refused("minimum must be a whole number", minimum="many")
    await refused("Minimum must be a whole number from 1 to", minimum="0")
    await refused("Upload must be", upload="nobody")
    await refused("days to keep reports must be a whole number", retention_days="-1")
    await refused("a time such as", closes="soon")
    await refused("must be a time in the future", closes="2001-01-01T00:00")
    assert (await send(here)).status_code == 303
    await refused("already has an epoch with this name")
    await refused("with another minimum", epoch="summer", minimum="7")
    await refused("already exists with another fingerprint", _file(other))
    text = await here.ask(
        "POST",
        "/add-survey",
        token=None,
        headers={"cookie": f"{COOKIE}={ADMIN}"},
        data={"epoch": "x", "proof": form_proof(ADMIN)},
    )
    assert text.status_code == 400 and "Open the page again" in text.text


def _file(survey: lw.Survey) -> bytes:
    return json.dumps(survey.to_document()).encode()


@pytest.mark.service
def test_a_browser_adds_a_survey_with_and_without_script(tmp_path: Path) -> None:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not here: pip install '.[test]'"
    )
    from tests.clients_js.chromium_browser import running_chromium

    chromium()
    SURVEY.save(tmp_path / "birds.json")
    (tmp_path / "wrong.json").write_text("{}")
    with (
        sync_api.sync_playwright() as started,
        running_chromium(started, tmp_path / "profile") as running,
    ):
        for script in (False, True):
            folder = tmp_path / f"collector {script}"
            folder.mkdir()
            context = running.browser.new_context(
                java_script_enabled=script, viewport={"width": 390, "height": 900}
            )
            with served(folder) as here:
                add_and_close(context.new_page(), here.address, tmp_path)
            context.close()


def add_and_close(page: Any, address: str, files: Path) -> None:
    """Add a survey after a wrong file, open another epoch and close the first."""
    page.set_default_timeout(1000 * SECONDS)
    page.goto(address)
    page.fill("#token", ADMIN)
    page.click("main button")
    page.click("text=Add a survey")
    page.set_input_files("#file", files / "wrong.json")
    page.fill("#epoch", "spring")
    page.fill("#minimum", "30")
    page.click("main button")
    assert "not a survey" in page.inner_text("#wrong")
    assert page.input_value("#epoch") == "spring" and page.input_value("#minimum") == "30"
    page.set_input_files("#file", files / "birds.json")
    page.click("main button")
    assert page.inner_text("h1") == "birds"
    assert "30" in page.inner_text("main")
    page.click("text=Open an epoch")
    page.fill("#epoch", "summer")
    page.click("main button")
    page.wait_for_selector("th:has-text('summer')")
    assert page.locator("th:has-text('spring')").count() == 1
    page.click("summary:has-text('Close an epoch')")
    page.select_option("#close", "spring")
    page.click("button:has-text('Close permanently')")
    page.wait_for_selector("tr:has(th:has-text('spring')) td:has-text('closed')")
    path = f"{address}/v1/surveys/{SURVEY.fingerprint}/epochs"
    epochs = httpx.get(path, timeout=SECONDS).json()["epochs"]
    assert {row["name"]: row["state"] for row in epochs} == {"spring": "closed", "summer": "open"}
