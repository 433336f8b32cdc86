"""Tokens of roles: listed with the day of last use, and revoked at once, everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lapwing.errors import ArgumentError
from lapwing.service.collector import TICKS_APART, Collector
from lapwing.service.security import COOKIE, ROLE_PREFIX, form_proof, hash_of, new_token, short_name
from lapwing.service.settings import Settings
from lapwing.service.storage.opening import SqliteStore, open_store
from lapwing.service.storage.store import AccessToken
from tests.service.one_collector import ADMIN, ANALYST, NOON, Site, as_role, problem, site
from tests.service.pages.test_pages_html import check_page

DAY = 86_400


async def make(here: Site, role: str, label: str = "", *, token: str = ADMIN) -> str:
    answer = await here.done("POST", "/v1/tokens", json={"role": role, "label": label}, token=token)
    made: str = answer.json()["token"]
    return made


def id_of(token: str) -> str:
    return short_name(hash_of(token))


async def rows(here: Site) -> dict[str, dict[str, Any]]:
    listed = (await here.done("GET", "/v1/tokens")).json()["tokens"]
    return {row["id"]: row for row in listed}


async def test_tokens_are_listed_with_the_day_of_their_last_use(here: Site) -> None:
    ann = await make(here, "analyst", "Ann")
    assert (await rows(here))[id_of(ann)] == {
        "id": id_of(ann),
        "role": "analyst",
        "label": "Ann",
        "last_use": None,
        "revocable": True,
    }
    await here.done("GET", "/v1/surveys", token=ann)
    assert (await rows(here))[id_of(ann)]["last_use"] == "2027-01-15"
    assert not (await rows(here))[id_of(ADMIN)]["revocable"]
    text = (await here.done("GET", "/v1/tokens")).text
    assert ann not in text and hash_of(ann).hex() not in text


async def test_a_day_of_use_is_written_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[set[tuple[bytes, int]]] = []
    keep = SqliteStore.note_token_uses

    def counted(store: SqliteStore, uses: Any) -> None:
        written.append(set(uses))
        keep(store, written[-1])

    monkeypatch.setattr(SqliteStore, "note_token_uses", counted)
    async with site(tmp_path) as here:
        ann = await make(here, "analyst")
        for _ in range(50):
            await here.done("GET", "/v1/surveys", token=ann)
            await here.collector.tick()
        assert sum((hash_of(ann), NOON // DAY) in uses for uses in written) == 1
        before = len(written)
        here.clock.now += DAY
        for _ in range(5):
            await here.done("GET", "/v1/surveys", token=ann)
            await here.collector.tick()
        assert written[before:] == [{(hash_of(ann), NOON // DAY + 1)}]
        (stored,) = here.collector.store.access_tokens()
        assert stored.last_use == NOON // DAY + 1
        here.collector.store.note_token_uses([(hash_of(ann), 1)])
        assert here.collector.store.access_tokens() == [stored]


async def test_a_revoked_token_opens_nothing_at_once(here: Site) -> None:
    ann, eve = await make(here, "analyst"), await make(here, "admin", "first start")
    for token in (ann, eve):
        await here.done("GET", "/v1/surveys", token=token)
        gone = await here.done("DELETE", f"/v1/tokens/{id_of(token)}")
        assert gone.status_code == 204
        cookie = {"cookie": f"{COOKIE}={token}"}
        for headers in (as_role(token), cookie):
            answer = await here.ask("GET", "/v1/surveys", token=None, headers=headers)
            assert (answer.status_code, problem(answer)) == (401, "token-needed")
        again = await here.ask("DELETE", f"/v1/tokens/{id_of(token)}")
        assert (again.status_code, problem(again)) == (404, "unknown-token")
        assert id_of(token) not in await rows(here)
    assert here.collector.store.access_tokens() == []
    assert ann not in here.log.getvalue() and "token revoked" in here.log.getvalue()
    stays = await here.ask("DELETE", f"/v1/tokens/{id_of(ANALYST)}")
    assert (stays.status_code, problem(stays)) == (409, "token-stays")
    assert "Change it there" in stays.json()["detail"]


def test_the_last_token_of_an_admin_stays(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "collector.db")
    one, two = (AccessToken(hash_of(new_token(ROLE_PREFIX)), "admin", "") for _ in range(2))
    ann = AccessToken(hash_of(new_token(ROLE_PREFIX)), "analyst", "")
    for token in (one, two, ann):
        store.add_access_token(token)
    assert store.delete_access_token(one.digest, other_admins=0)
    with pytest.raises(ArgumentError, match="Create another one first"):
        store.delete_access_token(two.digest, other_admins=0)
    assert store.delete_access_token(ann.digest, other_admins=0)
    assert store.delete_access_token(two.digest, other_admins=1)
    store.close()


async def test_another_collector_of_the_database_forgets_it_at_once(
    here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one looks before it believes a token, without waiting for its clock."""
    here.collector.shared = True
    ann = await make(here, "analyst")
    await here.done("GET", "/v1/surveys", token=ann)
    # What another collector does: the table changes, this one's memory does not.
    assert here.collector.store.delete_access_token(hash_of(ann))
    answer = await here.ask("GET", "/v1/surveys", token=ann)
    assert answer.status_code == 401
    here.collector.store.add_access_token(AccessToken(hash_of(ann), "analyst", ""))
    for _ in range(TICKS_APART):
        await here.collector.tick()
    await here.done("GET", "/v1/surveys", token=ann)
    looks = []

    async def counted(collector: Collector) -> None:
        looks.append(collector)

    monkeypatch.setattr(Collector, "look_at_tokens", counted)
    for token in (None, "lwa_" + "x" * 43):  # strangers cost no look
        await here.ask("GET", "/v1/surveys", token=token)
    assert not looks


async def test_the_page_lists_makes_and_revokes(here: Site) -> None:

    async def send(path: str, cookie: str = ADMIN, **fields: str) -> Any:
        values = {"proof": form_proof(cookie), **fields}
        parts: Any = {name: (None, value) for name, value in values.items()}
        answer = await here.ask(
            "POST", path, token=None, headers={"cookie": f"{COOKIE}={cookie}"}, files=parts
        )
        here.client.cookies.clear()
        return answer

    made = await send("/tokens", role="analyst", label="<b>Ann")
    check_page(made)
    assert made.status_code == 200 and "&lt;b&gt;Ann" in made.text
    token = made.text.partition('class="token">')[2][:47]
    await here.done("GET", "/v1/surveys", token=token)
    headers = {"cookie": f"{COOKIE}={ADMIN}"}
    shown = await here.ask("GET", "/tokens", token=None, headers=headers)
    check_page(shown)
    assert "2027-01-15" in shown.text and token not in shown.text
    wrong = await send("/tokens", role="king")
    assert wrong.status_code == 400 and "role must be" in wrong.text
    for cookie, status in ((ANALYST, 403), (token, 403), ("lwa_" + "x" * 43, 401)):
        for path in ("/tokens", "/revoke-token"):
            refused = await send(path, cookie, role="admin", id=id_of(token))
            assert refused.status_code == status
    forged = await send("/revoke-token", proof="0" * 64, id=id_of(token))
    assert forged.status_code == 403 and len(await rows(here)) == 3
    gone = await send("/revoke-token", id=id_of(token))
    assert (gone.status_code, gone.headers["location"]) == (303, "/tokens")
    assert (await here.ask("GET", "/v1/surveys", token=token)).status_code == 401
    stays = await send("/revoke-token", id=id_of(ADMIN))
    assert stays.status_code == 409 and "Nothing was changed" in stays.text


async def test_who_has_no_token_is_led_to_sign_in(tmp_path: Path) -> None:
    async with site(tmp_path, settings=Settings()) as here:
        answer = await here.ask("GET", "/tokens", token=None)
        assert answer.headers["location"] == "/sign-in?to=%2Ftokens"


async def test_a_lost_admin_gets_back_in_by_a_setting(here: Site, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "collector.db"))
    store.add_access_token(AccessToken(hash_of(new_token(ROLE_PREFIX)), "admin", "first start"))
    store.close()
    await here.done("GET", "/v1/tokens", token=ADMIN)
