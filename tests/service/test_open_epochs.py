"""Whoever looks at an open epoch twice learns nothing of the few who reported between the looks."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import lapwing as lw
from lapwing.documents import canonical
from lapwing.protocol.messages.batch import Batch
from lapwing.service.settings import Settings
from lapwing.service.storage.opening import PostgresStore
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import StoredEpoch, StoredSurvey
from tests.service.conftest import Opening
from tests.service.one_collector import (
    ANALYST,
    NOON,
    Site,
    batch_of,
    labels_survey,
    problem,
    site,
)
from tests.service.test_survey_life import MALFORMED
from tests.service.uploading import SEGMENTED, upload

MINIMUM = 20
WHOLE = labels_survey()
PARTS = labels_survey(segments=["north", "south"], segment_minimum=MINIMUM)
TERMS = {"minimum": MINIMUM}

FORMS = ("results/e", "results/e.csv", "results/e.svg", "results/e.png", "alarms/e", "tallies/e")


@asynccontextmanager
async def again(tmp_path: Path, settings: Settings) -> AsyncIterator[Site]:
    """A collector of that database: a replica, or the same one after a restart."""
    async with site(tmp_path, settings=settings, database=settings.database) as here:
        yield here


async def send(here: Site, survey: lw.Survey, symbol: int, times: int, *, segment: int = 0) -> None:
    batch = batch_of(survey, *[symbol] * times, segment=segment)
    assert (await here.send(batch)).status_code == 201


async def counts(here: Site, path: str, query: str = "") -> list[int]:
    tally = (await here.done("GET", f"{path}/tallies/e{query}", token=ANALYST)).json()
    (block,) = tally["blocks"]
    return [int(number) for number in block]


async def test_the_tally_of_one_more_report_is_not_told(settings: Settings, tmp_path: Path) -> None:
    async with again(tmp_path, settings) as here:
        path = await here.publish(WHOLE, **TERMS)
        await send(here, WHOLE, 1, MINIMUM)
        before = await counts(here, path)
        seen = {where: (await here.done("GET", f"{path}/{where}")).content for where in FORMS}
        for _ in range(MINIMUM - 1):
            await send(here, WHOLE, 5, 1)
            assert await counts(here, path) == before
        for where in FORMS:
            assert (await here.done("GET", f"{path}/{where}")).content == seen[where]
    # Nor after a restart.
    async with again(tmp_path, settings) as here:
        assert await counts(here, path) == before
        await send(here, WHOLE, 6, 1)
        assert (await counts(here, path))[5:7] == [MINIMUM - 1, 1]
        await send(here, WHOLE, 7, 1)
        (look,) = (await here.done("GET", f"{path}/state")).json()["epochs"]
        assert look["reports"] == 2 * MINIMUM and look["received"] == 2 * MINIMUM + 1


async def test_segments_of_another_time_tell_nothing_of_one_person(
    settings: Settings, tmp_path: Path
) -> None:
    async with again(tmp_path, settings) as here:
        path = await here.publish(PARTS, **TERMS)
        for segment in (0, 1, 2):
            await send(here, PARTS, 0, MINIMUM, segment=segment)
        queries = [f"?segment={name}" for name in ("north", "south", "other")]
        parts = [await counts(here, path, query) for query in queries]
        await send(here, PARTS, 5, 1, segment=2)
        await send(here, PARTS, 5, MINIMUM, segment=1)
        # All of now, minus the segments of then, would be the one report of the south.
        whole = await counts(here, path)
        rest = [now - sum(then) for now, *then in zip(whole, *parts, strict=True)]
        assert sum(rest) == 0
        for number, query in enumerate(queries):
            assert await counts(here, path, query) == parts[number]
        await send(here, PARTS, 6, MINIMUM - 1, segment=2)
        await send(here, PARTS, 6, 1)
        assert await counts(here, path) == whole
        # In a new look every part has so many more: it is given with the last of them.
        await send(here, PARTS, 6, MINIMUM - 1)
        moved = [await counts(here, path, query) for query in queries]
        assert [sum(part) for part in moved] == [2 * MINIMUM] * 3
        whole = await counts(here, path)
        assert whole == [sum(column) for column in zip(*moved, strict=True)]


async def test_all_that_is_read_is_of_one_look(settings: Settings, tmp_path: Path) -> None:
    """Nothing that an analyst can ask changes before the next look."""

    async def read(here: Site, path: str, token: str) -> dict[str, Any]:
        found = {}
        queries = ["", "?segment=north", "?against_segment=south", "?segment=other", "?against=f"]
        for where in ("results/e", "results/e.csv", "results/e.svg", "alarms/e", "tallies/e"):
            drawn = where.endswith("svg") or not where.startswith("results")
            for query in queries[:2] if drawn else queries:
                answer = await here.ask("GET", f"{path}/{where}{query}", token=token)
                found[where + query] = (answer.status_code, answer.content)
        for query in ("", f"?together={WHOLE.fingerprint}/e"):
            answer = await here.ask("GET", f"{path}/results/e{query}", token=token)
            found["result" + query] = (answer.status_code, answer.content)
        cookie = {"cookie": f"lapwing={token}"}
        pages = f"/surveys/{PARTS.fingerprint}"
        for where in ("/", f"{pages}?epoch=e&wait=1", f"{pages}/alarm?epoch=e", f"{pages}/result"):
            answer = await here.ask("GET", where, token=None, headers=cookie)
            found[where] = (answer.status_code, answer.content)
        for where in ("/v1/surveys", f"{path}/state", f"{path}/epochs", path, "/openapi.json"):
            answer = await here.ask("GET", where, token=token)
            found[where] = (answer.status_code, answer.content, answer.headers.get("etag"))
        return found

    async with again(tmp_path, settings) as here:
        path = await here.publish(PARTS, **TERMS, epochs=("e", "f"))
        await here.publish(WHOLE, **TERMS)
        await send(here, WHOLE, 1, MINIMUM)
        for segment in (0, 1, 2):
            await send(here, PARTS, 0, MINIMUM, segment=segment)
        before = await read(here, path, ANALYST)
        of_admins = [(await here.done("GET", f"{path}/state")).json()]
        for segment in (0, 1, 2):
            await send(here, PARTS, 3, 1, segment=segment)
        await here.send(MALFORMED, survey=PARTS.fingerprint)
        assert await read(here, path, ANALYST) == before
        of_admins.append((await here.done("GET", f"{path}/state")).json())
        for name, numbers in (("reports", [60, 60]), ("received", [60, 63])):
            assert [state["epochs"][0][name] for state in of_admins] == numbers
        assert of_admins[1]["epochs"][0]["refused"] == {"malformed-batch": 1}
        if settings.database.startswith("post"):
            async with again(tmp_path, settings) as replica:
                assert await read(replica, path, ANALYST) == before
        words = Counter(status for status, *_ in before.values())
        assert words[200] > 15


async def test_replicas_show_one_look_whoever_is_asked_first(
    settings: Settings, tmp_path: Path
) -> None:
    if not settings.database.startswith("post"):
        return  # an SQLite file has one collector
    async with again(tmp_path, settings) as one, again(tmp_path, settings) as two:
        path = await one.publish(WHOLE, **TERMS)
        two.collector.catalog.load()
        two.clock.now = NOON + 5 * 3600
        for turn in range(6):
            await send((one, two)[turn % 2], WHOLE, turn, MINIMUM - 1 if turn % 2 else 1)
            asked = [one, two] * 3 if turn % 2 else [two, one] * 3
            found = await asyncio.gather(*(counts(here, path) for here in asked)) if turn else []
            assert all(each == found[0] for each in found)
        hours = {
            json.dumps((await here.done("GET", f"{path}/state")).json()["epochs"][0]["look"])
            for here in (one, two)
        }
        assert len(hours) == 1


async def test_a_look_says_as_of_when_it_is(here: Site) -> None:
    path = await here.publish(WHOLE, **TERMS)
    here.clock.now = NOON + 1234.5
    await send(here, WHOLE, 1, MINIMUM)
    look = (await here.done("GET", f"{path}/results/e")).json()["look"]
    assert look == {
        "reports": MINIMUM,
        "hour": "2027-01-15T08:00:00Z",
        "final": False,
        "complete": False,
        "next": "after 20 more reports, or when the epoch has closed",
    }
    page = f"/surveys/{WHOLE.fingerprint}?wait=1"
    cookie = {"cookie": f"lapwing={ANALYST}"}
    text = (await here.done("GET", page, token=None, headers=cookie)).text
    assert "As of 20 reports, between 2027-01-15 08:00 and 09:00 UTC." in text
    await send(here, WHOLE, 1, MINIMUM + 1)
    await here.close("e", path)
    look = (await here.done("GET", f"{path}/results/e")).json()["look"]
    final = {"hour": None, "final": True, "complete": True, "next": None}
    assert look == {"reports": 2 * MINIMUM + 1, **final}
    text = (await here.done("GET", page, token=None, headers=cookie)).text
    assert "Final: all 41 reports of the closed epoch." in text


async def test_final_results_leave_out_too_few_since_the_last_look(here: Site) -> None:
    path = await here.publish(WHOLE, **TERMS)
    await send(here, WHOLE, 1, MINIMUM)
    before = await counts(here, path)
    await send(here, WHOLE, 5, MINIMUM - 1)
    await here.close("e", path)
    for _ in range(2):
        assert await counts(here, path) == before
        (epoch,) = (await here.done("GET", f"{path}/state")).json()["epochs"]
        assert epoch["reports"] == MINIMUM and epoch["received"] == 2 * MINIMUM - 1
        assert epoch["look"]["final"] and not epoch["look"]["complete"]
        assert (await here.done("GET", f"{path}/results/e.csv")).content
        while here.collector.store.fold(everything=True):
            pass
    page = f"/surveys/{WHOLE.fingerprint}?wait=1"
    cookie = {"cookie": f"lapwing={ANALYST}"}
    text = (await here.done("GET", page, token=None, headers=cookie)).text
    assert "Final: 20 reports. The epoch has closed. Too few reports came after these" in text
    # An export holds all, and what is shown of it.
    state = b"".join(here.collector.store.export(WHOLE.fingerprint))
    await here.done("DELETE", path)
    here.collector.store.import_([state])
    here.collector.catalog.load()
    assert await counts(here, path) == before
    assert sum(here.counts(WHOLE)) == 2 * MINIMUM - 1


async def test_final_results_hide_who_was_hidden_before(here: Site) -> None:
    """All at the end, minus the segments then, were the few of one segment at a look before."""
    path = await here.publish(PARTS, **TERMS)
    for segment, reports in ((1, 2), (2, 2)):
        await send(here, PARTS, 0, reports * MINIMUM, segment=segment)
    assert sum(await counts(here, path, "?segment=south")) == 2 * MINIMUM
    await send(here, PARTS, 5, 2)
    await send(here, PARTS, 0, 4 * MINIMUM, segment=1)
    await counts(here, path)
    await send(here, PARTS, 0, MINIMUM, segment=1)
    await here.close("e", path)
    whole = await counts(here, path)
    shown = [await here.ask("GET", f"{path}/tallies/e?segment={s}") for s in ("north", "south")]
    assert [answer.status_code for answer in shown] == [403, 200]
    assert sum(whole) == 9 * MINIMUM + 2


def test_looks_at_two_epochs_do_not_show_a_remembered_report(tmp_path: Path) -> None:
    """Whoever answers in two epochs sends the same report, so one minus the other is a joiner's."""
    rappor = lw.Rappor(lw.Categories(8), 1, lifetime=2)
    for survey in (labels_survey(remembered=True), lw.Survey("rounds", rappor)):
        answers = survey.randomize([1] * (MINIMUM + 1))

        async def run(survey: lw.Survey = survey, answers: lw.Reports = answers) -> None:
            async with site(tmp_path) as here:
                path = await here.publish(survey, **TERMS, epochs=("e", "f"))
                for epoch, reports in (("e", answers[:-1]), ("f", answers)):
                    batch = Batch.of(reports, survey=survey.fingerprint)
                    assert (await here.send(batch, epoch=epoch)).status_code == 201
                for epoch in ("e", "f"):
                    for where in ("results", "tallies", "alarms"):
                        answer = await here.ask("GET", f"{path}/{where}/{epoch}")
                        assert (answer.status_code, problem(answer)) == (403, "not-while-open")
                        assert "nothing is shown while an epoch takes" in answer.json()["detail"]
                state = (await here.done("GET", f"{path}/state", token=ANALYST)).json()
                assert [each["reports"] for each in state["epochs"]] == [None, None]
                assert {each["reports_text"] for each in state["epochs"]} == {
                    "shown when it has closed"
                }
                await here.close("e", path)
                await here.done("GET", f"{path}/tallies/e")
                assert (await here.ask("GET", f"{path}/tallies/f")).status_code == 403

        asyncio.run(run())


async def test_an_epoch_that_is_extended_keeps_its_last_tenth(here: Site) -> None:
    path = await here.publish(WHOLE, **TERMS)
    times = {"closes": "2027-01-15T18:00:00Z"}
    await here.done("PUT", f"{path}/epochs/e", json=times)
    opened = {"opens": "2027-01-15T17:59:00Z", **times}
    answer = await here.ask("PUT", f"{path}/epochs/e", json=opened)
    assert (answer.status_code, "opens cannot be changed" in answer.json()["detail"]) == (
        409,
        True,
    )
    (epoch,) = (await here.done("GET", f"{path}/epochs")).json()["epochs"]
    assert (epoch["opens"], epoch["closes"]) == ("2027-01-15T08:00:00Z", times["closes"])
    await send(here, WHOLE, 1, MINIMUM)
    assert sum(await counts(here, path)) == MINIMUM
    here.clock.now = NOON + 3600 * 9.9
    await send(here, WHOLE, 2, MINIMUM)
    assert sum(await counts(here, path)) == MINIMUM


async def test_no_new_look_is_taken_just_before_a_planned_end(here: Site) -> None:
    path = await here.publish(WHOLE, **TERMS, epochs=())
    for name in ("e", "g"):
        times = {"opens": "2027-01-15T08:00:00Z", "closes": "2027-01-15T18:00:00Z"}
        body = {**times, "grace_seconds": 3600}
        await here.done("PUT", f"{path}/epochs/{name}", json=body)
    await here.collector.tick()
    await send(here, WHOLE, 1, MINIMUM)
    first = (await here.done("GET", f"{path}/results/e")).json()["look"]
    assert first["next"] == (
        "after 20 more reports (until 2027-01-15T17:00:00Z), or when the epoch has closed"
    )
    for hours in (9.01, 10.5):  # in its last tenth, and in its grace
        here.clock.now = NOON + 3600 * hours
        await here.collector.tick()
        await send(here, WHOLE, 2, MINIMUM)
        await here.send(batch_of(WHOLE, *[2] * MINIMUM), epoch="g")
        assert sum(await counts(here, path)) == MINIMUM
        answer = await here.ask("GET", f"{path}/results/g")
        assert (answer.status_code, problem(answer)) == (403, "not-while-open")
        assert "Results come after it has closed" in answer.json()["detail"]
        state = (await here.done("GET", f"{path}/state")).json()
        assert [each["reports_text"] for each in state["epochs"]] == [
            "20",
            "shown when it has closed",
        ]
    here.clock.now = NOON + 3600 * 11
    await here.pass_end()
    assert sum(await counts(here, path)) == 3 * MINIMUM
    await here.done("GET", f"{path}/results/g")


async def test_looks_of_logs_are_frozen_without_copies(here: Site) -> None:
    survey = lw.Survey("words", lw.LinearHashing(lw.Categories(40), 1))
    path = await here.publish(survey, **TERMS)
    total = 0
    for reports in (MINIMUM, 1, 5, MINIMUM, 1):
        batch = survey.randomize([1] * reports)
        await here.send(Batch.of(batch, survey=survey.fingerprint))
        total += reports
        tally = (await here.done("GET", f"{path}/tallies/e")).json()
        while here.collector.store.fold(everything=True):
            pass
        again = (await here.done("GET", f"{path}/tallies/e")).json()
        assert again == tally
        assert tally["reports"] in (MINIMUM, 2 * MINIMUM + 6)
    assert here.collector.store.tally(survey.fingerprint, "e").total == total


def test_looks_while_others_store_and_fold_freeze_whole_tallies(opening: Opening) -> None:
    """Two stores of one PostgreSQL, or one SQLite file, in threads."""
    one = opening()
    stores = [one, opening()] if isinstance(one, PostgresStore) else [one, one]
    fingerprint = SEGMENTED.fingerprint
    document = canonical(SEGMENTED.to_document())
    one.add_survey(StoredSurvey(fingerprint, document, minimum=MINIMUM))
    one.set_survey_state(fingerprint, "published")
    one.put_epoch(fingerprint, StoredEpoch("w1"))
    one.set_epoch_state(fingerprint, "w1", "open")
    seen: dict[int, list[int]] = {}
    wrong: list[object] = []

    def send(store: Store, number: int) -> None:
        for place in range(25):
            code = (number + place) % 300
            (outcome,) = store.store([upload([code] * 3, SEGMENTED, segment=place % 3)])
            wrong.extend([] if outcome.verdict == "stored" else [outcome])

    def look(store: Store) -> None:
        for _ in range(25):
            found = store.look(fingerprint, "w1", now=NOON)
            if found is not None:
                tally = store.tally(fingerprint, "w1", shown=True)
                counts = tally.blocks[0].tolist()
                # A later look may have been taken between the two.
                if tally.total == found.total and seen.setdefault(tally.total, counts) != counts:
                    wrong.append(found)
            store.fold(everything=True)

    with ThreadPoolExecutor(6) as pool:
        work = [pool.submit(send, store, 7 * n) for n, store in enumerate(stores * 2)]
        work += [pool.submit(look, store) for store in stores]
        for each in work:
            each.result()
    assert wrong == [] and len(seen) > 1
    totals = sorted(seen)
    assert all(later - former >= MINIMUM for former, later in pairwise(totals))
    assert one.tally(fingerprint, "w1").total == 4 * 25 * 3
    for store in dict.fromkeys(stores):
        store.close()
