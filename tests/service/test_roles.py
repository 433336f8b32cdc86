"""Who may do what: every address, asked by nobody, an analyst and an admin."""

from __future__ import annotations

from pathlib import Path

from lapwing.service.app import ENDPOINTS
from lapwing.service.openapi import openapi_document
from lapwing.service.security import COOKIE
from lapwing.service.settings import Settings
from tests.service.one_collector import (
    ADMIN,
    ANALYST,
    Site,
    batch_of,
    labels_survey,
    problem,
    site,
)

SURVEY = labels_survey()


def addresses(tag: str) -> list[tuple[str, str]]:
    """The methods and addresses of a kind, filled in."""
    found = []
    for path, item in openapi_document(ENDPOINTS)["paths"].items():
        for method, operation in item.items():
            if method != "parameters" and tag in operation["tags"]:
                filled = path.replace("{survey}", SURVEY.fingerprint).replace("{epoch}", "e")
                found.append((method.upper(), filled.replace("{batch}", "0" * 32)))
    assert found
    return found


async def test_who_shows_no_token_of_the_role_is_refused_before_anything_else(here: Site) -> None:
    await here.publish(SURVEY)
    before = here.collector.store.surveys(), here.collector.store.epochs(SURVEY.fingerprint)
    for method, path in addresses("admins"):
        for token in (None, "lwa_" + "x" * 43, ADMIN[:-1], "lwu_" + "A" * 43):
            answer = await here.ask(method, path, token=token, content=b"{")
            assert (answer.status_code, problem(answer)) == (401, "token-needed")
            assert answer.headers["www-authenticate"] == "Bearer"
        answer = await here.ask(method, path, token=ANALYST, content=b"{")
        assert (answer.status_code, problem(answer)) == (403, "not-allowed"), path
        # A browser sends a cookie along by itself, so it may change nothing.
        cookie = {"cookie": f"{COOKIE}={ADMIN}"}
        answer = await here.ask(method, path, token=None, headers=cookie, content=b"{")
        assert answer.status_code == 401
    for method, path in addresses("analysts"):
        answer = await here.ask(method, path, token=None)
        assert (answer.status_code, problem(answer)) == (401, "token-needed")
    after = here.collector.store.surveys(), here.collector.store.epochs(SURVEY.fingerprint)
    assert before == after


async def test_an_analyst_may_read_also_by_the_cookie(here: Site) -> None:
    await here.publish(SURVEY)
    for token in (ANALYST, ADMIN):
        await here.done("GET", "/v1/surveys", token=token)
        cookie = {"cookie": f"{COOKIE}={token}"}
        await here.done("GET", "/v1/surveys", token=None, headers=cookie)
    wrong = {"cookie": f"{COOKIE}=lwa_{'x' * 43}"}
    answer = await here.ask("GET", "/v1/surveys", token=None, headers=wrong)
    assert answer.status_code == 401


async def test_counters_are_for_a_role_unless_they_are_open(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        for token in (None, "lwa_" + "x" * 43, "lwu_" + "A" * 43):
            answer = await here.ask("GET", "/metrics", token=token)
            assert (answer.status_code, problem(answer)) == (401, "token-needed")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "lapwing_" not in answer.text
        for token in (ANALYST, ADMIN):
            assert "lapwing_" in (await here.done("GET", "/metrics", token=token)).text
    async with site(tmp_path, settings=Settings(open_counters=True)) as here:
        assert "lapwing_" in (await here.done("GET", "/metrics", token=None)).text


async def test_a_monitor_reads_the_counters_and_nothing_else(here: Site) -> None:
    path = await here.publish(SURVEY, minimum=1)
    await here.send(batch_of(SURVEY, 1))
    made = await here.done("POST", "/v1/tokens", json={"role": "monitor"})
    token = made.json()["token"]
    counters = (await here.done("GET", "/metrics", token=token)).text
    assert "lapwing_reports_total 1\n" in counters
    for tag in ("analysts", "admins"):
        for method, address in addresses(tag):
            answer = await here.ask(method, address, token=token, content=b"{")
            assert (answer.status_code, problem(answer)) == (403, "not-allowed"), address
    for page in ("/", "/tokens", "/add-survey", f"/surveys/{SURVEY.fingerprint}"):
        cookie = {"cookie": f"{COOKIE}={token}"}
        answer = await here.ask("GET", page, token=None, headers=cookie)
        assert answer.status_code == 303 and "sign-in" in answer.headers["location"], page
    # What is open to all stays so.
    assert (await here.done("GET", path, token=token)).json()["name"] == SURVEY.name


async def test_no_counter_below_an_admin_moves_with_what_a_device_does(tmp_path: Path) -> None:
    """With one survey they would tell when a single person asked or reported."""
    async with site(tmp_path, settings=Settings(open_counters=True)) as here:
        path = await here.publish(SURVEY, minimum=5)

        async def told(token: str | None) -> str:
            return (await here.done("GET", "/metrics", token=token)).text

        before = {token: await told(token) for token in (ANALYST, None)}
        for reports in (4, 1, 1, 30):
            await here.done("GET", path, token=None)
            await here.done("GET", f"{path}/epochs", token=None)
            live = await told(ADMIN)
            await here.send(batch_of(SURVEY, *[1] * reports))
            await here.send(b"nonsense", survey=SURVEY.fingerprint)
            assert await told(ADMIN) != live
            for token, text in before.items():
                assert await told(token) == text
        assert "lapwing_reports_total 36\n" in await told(ADMIN)


async def test_a_token_of_a_role_is_shown_once_and_stored_as_its_hash(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        await here.publish(SURVEY)
        for role in ("analyst", "admin"):
            made = await here.done("POST", "/v1/tokens", json={"role": role, "label": "Ada"})
            token = made.json()["token"]
            assert made.json()["role"] == role and made.status_code == 201
            await here.done("GET", "/v1/surveys", token=token)
            kept = {each.digest: each for each in here.collector.store.access_tokens()}
            assert token.encode() not in kept
            assert token not in here.log.getvalue()
        assert sorted(each.role for each in kept.values()) == ["admin", "analyst"]
        for wrong in ({"role": "king"}, {"role": "admin", "label": 101 * "x"}):
            answer = await here.ask("POST", "/v1/tokens", json=wrong)
            assert (answer.status_code, problem(answer)) == (400, "malformed-request")
        await here.done("POST", "/v1/tokens", json={"role": "admin", "label": 100 * "x"})
    for file in tmp_path.iterdir():
        assert token.encode() not in file.read_bytes()
