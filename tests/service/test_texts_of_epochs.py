"""What people were asked in an epoch stands beside its results, whatever the next one asks."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import lapwing as lw
from lapwing.documents import canonical
from lapwing.protocol.messages.batch import JSON_MEDIA_TYPE, Batch
from lapwing.service.catalog import Catalog
from lapwing.service.security import COOKIE
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import StoredEpoch, StoredSurvey
from lapwing.service.survey_life import to_text
from tests.service.one_collector import ADMIN, NOON, Site, problem

WAIT = lw.SquareWave(lw.Interval(0, 100, bins=16), 2)
FIRST = lw.Survey("wait", WAIT, question="How long, in ms?", owner="Lab", measured_in="ms")
SECOND = replace(FIRST, question="How long, in s <b>?", owner=None, measured_in="s")
PATH = f"/v1/surveys/{FIRST.fingerprint}"


def reports(values: list[float]) -> Batch:
    return Batch.of(FIRST.randomize(values, rng=lw.seeded(1)), survey=FIRST.fingerprint)


async def test_each_epoch_says_what_it_asked(here: Site) -> None:
    for survey, epoch in ((FIRST, "one"), (SECOND, "two")):
        body = {"survey": survey.to_document(), "minimum": 1, "epoch": {"name": epoch}}
        await here.done("PUT", PATH, json=body)
        sent = await here.send(reports([40.0] * 200), epoch=epoch)
        assert sent.status_code == 201
        await here.done("POST", f"{PATH}/epochs/{epoch}/close")

    async def result(epoch: str, more: str = "") -> dict[str, Any]:
        answer = await here.done("GET", f"{PATH}/results/{epoch}{more}")
        found: dict[str, Any] = answer.json()
        return found

    for survey, epoch in ((FIRST, "one"), (SECOND, "two")):
        found = await result(epoch)
        assert found["notice"] == survey.notice and found["warnings"] == []
        assert found["measured_in"] == survey.measured_in
        drawn = (await here.done("GET", f"{PATH}/results/{epoch}.svg")).text
        assert f"value, {survey.measured_in}" in drawn
    warned = (await result("two", "?against=one"))["warnings"]
    assert warned == ["epoch one asked people a different text from epoch two"]
    headers = {"cookie": f"{COOKIE}={ADMIN}"}

    async def shown(query: str) -> str:
        path = f"/surveys/{FIRST.fingerprint}?wait=1{query}"
        return (await here.ask("GET", path, token=None, headers=headers)).text

    one, two = await shown("&epoch=one"), await shown("&epoch=two&against=epoch:one")
    assert "How long, in ms?" in one and "<dd>Lab</dd>" in one and "Value, ms" in one
    assert "How long, in s &lt;b&gt;?" in two and "<dd>Lab</dd>" not in two
    assert "Epoch one asked people a different text from epoch two." in two
    overview = (await here.ask("GET", "/", token=None, headers=headers)).text
    assert "How long, in s &lt;b&gt;?" in overview and "from 0 to 100 s" in overview
    public = (await here.ask("GET", f"/take-part/{FIRST.fingerprint}", token=None)).text
    assert "Your answer in s, from 0 to 100" in public and SECOND.text_fingerprint in public


async def test_reports_that_answer_another_text_are_refused(here: Site) -> None:
    for survey, epoch in ((FIRST, "one"), (SECOND, "two")):
        body = {"survey": survey.to_document(), "minimum": 1, "epoch": {"name": epoch}}
        await here.done("PUT", PATH, json=body)
        if epoch == "one":
            await here.close("one", PATH)
    plan = {"opens": to_text(NOON + 100), "closes": to_text(NOON + 200)}
    await here.done("PUT", f"{PATH}/epochs/three", json=plan)
    batch = reports([40.0])

    async def said(query: str, epoch: str = "two", **more: Any) -> str:
        answer = await here.send(batch, epoch=epoch, query=query, **more)
        return "stored" if answer.status_code == 201 else problem(answer)

    right, wrong = (f"text={each.text_fingerprint}" for each in (SECOND, FIRST))
    json_form = {"media_type": JSON_MEDIA_TYPE}
    stored = [right, "", "q=1", f"q=1&{right}&more=", f"context={wrong[5:]}"]
    assert [await said(query) for query in stored] == ["stored"] * 5
    for query in (wrong, f"q=1&{wrong}"):
        assert await said(query) == await said(query, method="POST") == "other-text"
    body = batch.to_json()
    for query, word in ((right, "stored"), (wrong, "other-text")):
        answer = await here.send(body, survey=batch.survey, epoch="two", query=query, **json_form)
        assert (answer.status_code == 201) == (word == "stored")
    # What a proxy may have changed on its way is no reason to drop a report.
    large = f"text={SECOND.text_fingerprint.upper()}"
    for query in ("text=", f"{right}0", large, f"{right}&{right}"):
        assert await said(query) == "damaged-batch", query
    assert await said(wrong, "one") == await said(right, "one") == "epoch-closed"
    assert await said(wrong, "three") == "epoch-not-open"
    assert await said(wrong, "four") == "unknown-epoch"
    state = (await here.done("GET", f"{PATH}/state")).json()
    (two,) = (each for each in state["epochs"] if each["name"] == "two")
    assert two["refused"] == {"other-text": 5} and two["received"] == 6


def test_a_catalog_never_gives_an_epoch_the_text_of_another(store: Store) -> None:
    """It is read while another collector changes the text and adds an epoch."""
    catalog, stop = Catalog(store), threading.Event()

    def change() -> None:
        for number in range(60):
            asked = replace(FIRST, question=f"e{number}")
            stored = StoredSurvey(FIRST.fingerprint, canonical(asked.to_document()))
            store.add_epoch(stored, StoredEpoch(f"e{number}", "open", opens=1), now=number)
            store.set_epoch_state(FIRST.fingerprint, f"e{number}", "closed")
        stop.set()

    changing = threading.Thread(target=change)
    changing.start()
    looks, wrong = 0, set()
    while not stop.is_set():
        catalog.load()
        for kept in catalog:
            looks += 1
            asked = {name: kept.notice_of(epoch)["question"] for name, epoch in kept.epochs.items()}
            wrong |= {name for name, question in asked.items() if name != question}
    changing.join()
    assert looks > 10 and not wrong
