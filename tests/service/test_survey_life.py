"""Surveys and epochs over their life, as an admin leads it."""

from __future__ import annotations

import io
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lapwing.service.catalog import Catalog
from lapwing.service.collector import TICKS_APART, Collector
from lapwing.service.logs import Log
from lapwing.service.security import DAY
from lapwing.service.settings import Settings
from lapwing.service.storage.opening import SqliteStore
from lapwing.service.survey_life import LOOKS_APART, to_text
from lapwing.survey.survey import Survey
from tests.service.one_collector import (
    ADMIN,
    ANALYST,
    NOON,
    Site,
    batch_of,
    labels_survey,
    problem,
    site,
)

MALFORMED = bytes(60) + zlib.crc32(bytes(60)).to_bytes(4, "little")
"""A body that arrived as it was sent, and is no batch."""

SURVEY = labels_survey(segments=["north"], segment_minimum=3)
PATH = f"/v1/surveys/{SURVEY.fingerprint}"


async def said(here: Site, method: str, path: str, **more: Any) -> tuple[int, str]:
    answer = await here.ask(method, path, **more)
    return answer.status_code, problem(answer)


async def test_a_survey_is_created_published_and_forgotten(here: Site) -> None:
    body = {"survey": SURVEY.to_document(), "minimum": 5, "retention_days": 30}
    made = await here.done("PUT", PATH, json=body)
    assert made.status_code == 201
    assert made.json() == {
        "survey": SURVEY.fingerprint,
        "state": "draft",
        "minimum": 5,
        "upload": "open",
        "retention_days": 30,
    }
    assert await said(here, "GET", PATH, token=None) == (404, "unknown-survey")
    assert await said(here, "GET", f"{PATH}/epochs", token=None) == (404, "unknown-survey")
    again = await here.done("PUT", PATH, json=body)
    assert again.status_code == 200
    other = {**body, "minimum": 6}
    assert await said(here, "PUT", PATH, json=other) == (409, "other-terms")
    for _ in range(2):
        published = await here.done("POST", f"{PATH}/publish")
        assert published.json()["state"] == "published"
    shown = await here.done("GET", PATH, token=None)
    assert Survey.from_json(shown.content) == SURVEY
    # Its text for people may change, so a copy is asked for again.
    assert shown.headers["cache-control"] == "public, no-cache"
    known = {"if-none-match": shown.headers["etag"]}
    same = await here.ask("GET", PATH, token=None, headers=known)
    assert (same.status_code, same.content) == (304, b"")
    head = await here.ask("HEAD", PATH, token=None)
    assert head.status_code == 200
    assert (await here.ask("DELETE", PATH)).status_code == 204
    assert await said(here, "DELETE", PATH) == (404, "unknown-survey")
    assert await said(here, "GET", PATH, token=None) == (404, "unknown-survey")


async def test_the_text_of_a_survey_stays_while_an_epoch_can_be_answered(
    here: Site, tmp_path: Path
) -> None:
    first, second, third = (
        replace(SURVEY, question=question, owner="Office")
        for question in ("One?", "Two?", "Three?")
    )
    swaps = (second, replace(first, owner=None), replace(first, question="One\u037e"))
    store = here.collector.store

    async def put(survey: Survey, **more: Any) -> tuple[int, str]:
        body = {"survey": survey.to_document(), "minimum": 1, **more}
        answer = await here.ask("PUT", PATH, json=body)
        return answer.status_code, "" if answer.is_success else problem(answer)

    async def asked() -> tuple[str | None, str]:
        shown = await here.done("GET", PATH, token=None)
        return Survey.from_json(shown.content).question, shown.headers["etag"]

    async def frozen() -> None:
        before = await asked()
        for swap in swaps:
            assert await put(swap) == (409, "wrong-state")
            assert await put(swap, epoch={"name": "x"}) == (409, "wrong-state")
        assert await put(first) == (200, "") and await put(SURVEY) == (200, "")
        assert await asked() == before and store.notices(SURVEY.fingerprint) == []

    # Nobody can see a draft, so its text is replaced, also when an epoch is planned.
    assert await put(SURVEY) == (201, "") and await put(second) == (200, "")
    await here.done("PUT", f"{PATH}/epochs/e", json={"opens": to_text(NOON + 10)})
    assert await put(first) == (200, "")
    await here.done("POST", f"{PATH}/publish")
    assert (await asked())[0] == "One?"
    await frozen()
    here.clock.now += 20
    await here.collector.life.tick()
    assert (await here.send(batch_of(SURVEY, 1))).status_code == 201
    await frozen()
    plan = {"closes": to_text(NOON + 60), "grace_seconds": 60}
    await here.done("PUT", f"{PATH}/epochs/e", json=plan)
    here.clock.now = NOON + 90
    await here.collector.life.tick()
    assert store.epochs(SURVEY.fingerprint)[0].state == "open"
    await frozen()
    await here.pass_end()
    here.clock.now = NOON + 120
    assert await put(second) == (200, "") and (await asked())[0] == "Two?"
    former = [(NOON + 120, first.notice)]
    assert store.notices(SURVEY.fingerprint) == former
    # By the way of an epoch, too; and each epoch says what it asked.
    here.clock.now += 100
    assert await put(third, epoch={"name": "f"}) == (200, "")
    former.append((NOON + 220, second.notice))
    assert store.notices(SURVEY.fingerprint) == former and (await asked())[0] == "Three?"
    assert (await here.send(batch_of(SURVEY, 2), epoch="f")).status_code == 201
    listed = (await here.done("GET", f"{PATH}/epochs", token=None)).json()["epochs"]
    texts = [first.text_fingerprint, third.text_fingerprint]
    assert [epoch["text"] for epoch in listed] == texts
    state = (await here.done("GET", f"{PATH}/state")).json()
    assert [epoch["text"] for epoch in state["epochs"]] == texts
    # It goes where the survey goes.
    with closing(SqliteStore(tmp_path / "other.db")) as other:
        other.import_(store.export(SURVEY.fingerprint))
        assert other.notices(SURVEY.fingerprint) == former
        assert other.surveys() == store.surveys()
        assert other.epochs(SURVEY.fingerprint) == store.epochs(SURVEY.fingerprint)


async def test_a_retired_survey_takes_no_reports_and_keeps_its_results(here: Site) -> None:
    await here.publish(SURVEY)
    assert (await here.send(batch_of(SURVEY, 1))).status_code == 201
    for _ in range(2):
        retired = await here.done("POST", f"{PATH}/retire")
        assert retired.json()["state"] == "retired"
    answer = await here.send(batch_of(SURVEY, 1))
    assert (answer.status_code, problem(answer)) == (410, "epoch-closed")
    tally = await here.done("GET", f"{PATH}/tallies/e")
    assert sum(tally.json()["reports"]) == 1
    assert await said(here, "POST", f"{PATH}/publish") == (409, "wrong-state")


async def test_what_a_retired_survey_collected_is_kept_no_longer_than_promised(here: Site) -> None:
    await here.publish(SURVEY, epochs=("by-hand",), retention_days=1)
    await here.done("PUT", f"{PATH}/epochs/timed", json={"closes": to_text(NOON + 9 * DAY)})
    await here.done("PUT", f"{PATH}/epochs/late", json={"opens": to_text(NOON + 9 * DAY)})
    await here.send(batch_of(SURVEY, 1), epoch="by-hand")
    here.clock.now += 5
    await here.done("POST", f"{PATH}/retire")
    here.clock.now += DAY - 1
    await here.collector.life.tick()
    epochs = (await here.done("GET", f"{PATH}/epochs")).json()["epochs"]
    assert {epoch["name"]: epoch["grace_until"] for epoch in epochs} == dict.fromkeys(
        ("by-hand", "timed", "late"), to_text(NOON + 5)
    )
    here.clock.now += 1
    for seconds in (0, 0, LOOKS_APART):
        here.clock.pass_by(seconds)
        await here.collector.life.tick()
    assert (await here.done("GET", f"{PATH}/epochs")).json()["epochs"] == []
    assert here.collector.store.totals(SURVEY.fingerprint) == []


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"", 400, "malformed-request"),
        (b"[]", 400, "malformed-request"),
        (b"{}", 400, "malformed-request"),
        (b'{"survey": 1}', 400, "malformed-request"),
        (b'{"survey": {}}', 422, "survey-refused"),
        (b'{"survey": {}, "survey": {}}', 400, "malformed-request"),
        (b'{"survey": {}, "minimun": 1}', 400, "malformed-request"),
    ],
)
async def test_what_is_no_survey_is_refused(
    here: Site, body: bytes, status: int, word: str
) -> None:
    assert await said(here, "PUT", PATH, content=body) == (status, word)
    assert here.collector.store.surveys() == []


async def test_terms_out_of_their_range_are_refused(here: Site) -> None:
    document = SURVEY.to_document()
    for terms in (
        {"minimum": 0},
        {"minimum": True},
        {"minimum": "5"},
        {"minimum": 10**13},
        {"upload": "closed"},
        {"upload": None},
        {"retention_days": -1},
        {"retention_days": 1.5},
    ):
        body = {"survey": document, **terms}
        assert await said(here, "PUT", PATH, json=body) == (400, "malformed-request")
    weak = {**document, "derived": {**document["derived"], "thresholds": {}}}
    assert await said(here, "PUT", PATH, json={"survey": weak}) == (422, "survey-refused")
    other = f"/v1/surveys/{'0' * 64}"
    body = {"survey": document}
    assert await said(here, "PUT", other, json=body) == (422, "survey-refused")
    assert here.collector.store.surveys() == []


async def test_a_survey_s_own_document_is_kept_with_the_usual_terms(here: Site) -> None:
    document = SURVEY.to_document()
    made = await here.done("PUT", PATH, json=document)
    terms = made.json()
    assert (made.status_code, terms["minimum"], terms["upload"]) == (201, 1000, "open")
    again = await here.done("PUT", PATH, json={"survey": document})
    assert again.status_code == 200
    weak = {**document, "derived": {**document["derived"], "thresholds": {}}}
    assert await said(here, "PUT", PATH, json=weak) == (422, "survey-refused")


async def test_epochs_are_planned_changed_opened_closed_and_forgotten(here: Site) -> None:
    await here.publish(SURVEY, epochs=())
    epoch = f"{PATH}/epochs/2026-w07"
    plan = {"opens": to_text(NOON + 50), "closes": None, "grace_seconds": 9}
    made = await here.done("PUT", epoch, json=plan)
    assert (made.status_code, made.json()["state"]) == (201, "planned")
    changed = await here.done("PUT", epoch, json={**plan, "closes": to_text(NOON + 99)})
    assert changed.status_code == 200
    assert changed.json()["grace_until"] == to_text(NOON + 108)
    for _ in range(2):
        opened = await here.done("POST", f"{epoch}/open")
        assert opened.json()["state"] == "open"
        assert opened.json()["opens"] == to_text(NOON)
    here.clock.now += 10
    closed = await here.done("POST", f"{epoch}/close")
    assert closed.json()["state"] == "grace"
    assert closed.json()["grace_until"] == to_text(NOON + 19)
    assert await said(here, "POST", f"{epoch}/open") == (409, "wrong-state")
    for _ in range(2):
        closed = await here.done("POST", f"{epoch}/close")
        assert closed.json()["state"] == "closed"
    assert await said(here, "PUT", epoch, json=plan) == (409, "wrong-state")
    assert (await here.ask("DELETE", epoch)).status_code == 204
    assert await said(here, "DELETE", epoch) == (404, "unknown-epoch")
    assert await said(here, "POST", f"{epoch}/open") == (404, "unknown-epoch")


async def test_a_deleted_epoch_does_not_come_back_under_its_name(here: Site) -> None:
    await here.publish(SURVEY, epochs=("e", "f"))
    assert (await here.send(batch_of(SURVEY, 1), id="12" * 16)).status_code == 201

    async def refused(epoch: str) -> None:
        answer = await here.ask("PUT", f"{PATH}/epochs/{epoch}", json={})
        assert (answer.status_code, problem(answer)) == (409, "wrong-state")
        assert "Choose another name" in answer.json()["detail"]
        sent = await here.send(batch_of(SURVEY, 1), epoch=epoch, id="12" * 16)
        assert (sent.status_code, problem(sent)) == (410, "epoch-deleted")

    await here.done("DELETE", f"{PATH}/epochs/e")
    await refused("e")
    await here.done("DELETE", PATH)
    for epoch in ("e", "f", "never"):
        sent = await here.send(batch_of(SURVEY, 1), epoch=epoch)
        assert (sent.status_code, problem(sent)) == (410, "survey-deleted")
    # A survey that nobody added may be added yet, and so may an epoch.
    sent = await here.send(batch_of(SURVEY, 1), survey="0" * 64)
    assert (sent.status_code, problem(sent)) == (404, "unknown-survey")
    await here.publish(SURVEY, epochs=("g",))
    for epoch in ("e", "f"):
        await refused(epoch)
    sent = await here.send(batch_of(SURVEY, 1), epoch="never")
    assert (sent.status_code, problem(sent)) == (404, "unknown-epoch")
    assert (await here.send(batch_of(SURVEY, 1), epoch="g")).status_code == 201


async def test_a_planned_epoch_closes_by_hand_without_having_opened(here: Site) -> None:
    await here.publish(SURVEY, epochs=())
    epoch = f"{PATH}/epochs/e"
    plan = {"opens": to_text(NOON + 50), "closes": to_text(NOON + 99), "grace_seconds": 9}
    await here.done("PUT", epoch, json=plan)
    closed = await here.done("POST", f"{epoch}/close")
    assert closed.json()["state"] == "closed"
    assert closed.json()["grace_until"] == to_text(NOON)


async def test_a_plan_that_cannot_be_is_refused(here: Site) -> None:
    await here.publish(SURVEY, epochs=())
    epoch = f"{PATH}/epochs/e"
    for plan in (
        {"opens": "soon"},
        {"opens": 5},
        {"opens": "2026-12-01T00:00:00"},
        {"opens": to_text(NOON), "closes": to_text(NOON)},
        {"grace_seconds": -1},
        {"grace_seconds": 1e3},
        {"grace_second": 1},
    ):
        assert await said(here, "PUT", epoch, json=plan) == (400, "malformed-request")
    for name in ("E", "-e", "e_1", "x" * 65, "é"):
        path = f"{PATH}/epochs/{name}"
        assert await said(here, "PUT", path, json={}) == (400, "malformed-request")
    assert await said(here, "PUT", f"/v1/surveys/{'0' * 64}/epochs/e", json={}) == (
        404,
        "unknown-survey",
    )
    assert here.collector.store.epochs(SURVEY.fingerprint) == []


async def test_upload_tokens_are_for_surveys_that_need_them(here: Site) -> None:
    await here.publish(SURVEY)
    path = f"{PATH}/upload-tokens"
    assert await said(here, "POST", path, json={"count": 1}) == (409, "wrong-state")
    for count in (0, 100_001, "1", None, True):
        body = {"count": count}
        assert await said(here, "POST", path, json=body) == (400, "malformed-request")
    assert await said(here, "POST", path, json={}) == (400, "malformed-request")


async def test_what_was_refused_is_counted_by_reason(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        await here.publish(SURVEY)
        await here.send(batch_of(SURVEY, 1, 250))
        for _ in range(2):
            await here.send(MALFORMED, survey=SURVEY.fingerprint)
        await here.send(batch_of(SURVEY, 1), epoch="unheard-of")
        await here.send(b"x", survey="0" * 64, epoch="a-raw-value")
        state = (await here.done("GET", f"{PATH}/state")).json()
        (epoch,) = state["epochs"]
        assert epoch["refused"] == {"reports-refused": 1, "malformed-batch": 2}
        # The device sends it again, so that it is counted when the epoch is added.
        assert state["refused"] == {}
    for file in tmp_path.iterdir():
        assert b"unheard-of" not in file.read_bytes()
        assert b"a-raw-value" not in file.read_bytes()


async def test_counts_below_the_minimum_are_not_told(here: Site) -> None:
    await here.publish(SURVEY, minimum=5)

    async def told() -> tuple[str, list[str]]:
        state = (await here.done("GET", f"{PATH}/state")).json()
        (epoch,) = state["epochs"]
        return epoch["reports_text"], [row["reports_text"] for row in epoch["segments"]]

    await here.send(batch_of(SURVEY, 1, 1, 1, 1, segment=1))
    assert await told() == ("fewer than 5", ["fewer than 5"] * 2)
    await here.send(batch_of(SURVEY, 1, segment=1))
    assert await told() == ("5", ["5", "fewer than 5"])
    await here.send(batch_of(SURVEY, 2))
    # With the sum, the five would tell of the one: first the look stays.
    assert await told() == ("5", ["5", "fewer than 5"])
    # In the end, too, until so many more have come that nothing tells of the one.
    await here.close("e", PATH)
    assert await told() == ("5", ["5", "fewer than 5"])


async def test_used_tokens_are_told_to_an_admin_only(here: Site) -> None:
    await here.publish(SURVEY, upload="tokens", minimum=3, epochs=("e", "f"))
    made = await here.done("POST", f"{PATH}/upload-tokens", json={"count": 9})
    tokens = iter(made.json()["tokens"])
    await here.send(batch_of(SURVEY, 1), token=next(tokens))
    asked = {}
    for role in (ADMIN, ANALYST):
        asked[role] = (await here.done("GET", f"{PATH}/state", token=role)).json()
    assert asked[ANALYST]["upload_tokens"] is None
    assert asked[ADMIN]["upload_tokens"] == {"unused": 8, "used": 1}


async def test_a_restart_finds_everything_again(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        await here.publish(SURVEY)
        assert (await here.send(batch_of(SURVEY, 3), id="12" * 16)).status_code == 201
        await here.send(MALFORMED, survey=SURVEY.fingerprint)
    async with site(tmp_path) as here:
        assert (await here.send(batch_of(SURVEY, 3), id="12" * 16)).status_code == 200
        assert here.counts(SURVEY)[3] == 1
        state = (await here.done("GET", f"{PATH}/state")).json()
        assert state["epochs"][0]["refused"] == {"malformed-batch": 1}


async def test_a_survey_is_read_once_however_often_the_catalog_is(here: Site) -> None:
    await here.publish(SURVEY)
    catalog = Catalog(here.collector.store)
    catalog.load()
    (first,) = catalog
    catalog.load()
    (second,) = catalog
    assert first is not second and first.survey is second.survey


async def test_collectors_of_one_database_see_what_the_other_did(here: Site) -> None:
    other = Collector(
        here.collector.store,
        settings=Settings(database="postgresql://shared"),
        log=Log(io.StringIO(), clock=here.clock),
        clock=here.clock,
    )
    try:
        await here.publish(SURVEY)
        made = await here.done("POST", "/v1/tokens", json={"role": "analyst"})
        assert other.catalog.get(SURVEY.fingerprint) is None
        for _ in range(TICKS_APART):
            await other.tick()
        kept = other.catalog.get(SURVEY.fingerprint)
        assert kept is not None and kept.epochs["e"].state == "open"
        assert other.roles.role_of(made.json()["token"]) == "analyst"
    finally:
        await other.stop()
