"""An upload and its answer: every status of the contract, and what is counted after each."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lapwing.errors import StoreError, StoreFullError
from lapwing.protocol.messages.batch import JSON_MEDIA_TYPE, MEDIA_TYPE, Batch
from lapwing.protocol.messages.problems import Problem
from lapwing.service.problem_answers import ProblemError
from lapwing.service.receiving import ClientGoneError, Receiving
from lapwing.service.settings import Settings
from lapwing.service.upload_path import READ_AT_ONCE, address_of
from tests.service.one_collector import (
    ADMIN,
    Site,
    as_role,
    batch_of,
    labels_survey,
    new_id,
    problem,
    site,
)

SURVEY = labels_survey()
PATH = f"/v1/surveys/{SURVEY.fingerprint}"


async def test_the_same_batch_is_counted_once(here: Site) -> None:
    await here.publish(SURVEY)
    batch, name = batch_of(SURVEY, 1, 2, 3), new_id()
    first = await here.send(batch, id=name)
    again = await here.send(batch, id=name)
    as_json = await here.send(
        batch.to_json(), survey=SURVEY.fingerprint, id=name, media_type=JSON_MEDIA_TYPE
    )
    posted = await here.send(batch, id=name, method="POST")
    assert (first.status_code, again.status_code) == (201, 200)
    assert (as_json.status_code, posted.status_code) == (200, 200)
    assert first.json() == {"batch": name, "reports": 3, "state": "stored"}
    assert again.json() == {"batch": name, "reports": 3, "state": "already stored"}
    assert first.headers["access-control-allow-origin"] == "*"
    assert here.counts(SURVEY) == [0, 1, 1, 1, 0, 0, 0, 0]


async def test_another_batch_of_the_same_id_is_refused(here: Site) -> None:
    await here.publish(SURVEY)
    name = new_id()
    await here.send(batch_of(SURVEY, 1), id=name)
    for other in (batch_of(SURVEY, 2), batch_of(SURVEY, 1, 1)):
        answer = await here.send(other, id=name)
        assert (answer.status_code, problem(answer)) == (409, "batch-changed")
    assert here.counts(SURVEY) == [0, 1, 0, 0, 0, 0, 0, 0]


async def test_both_forms_of_a_batch_mean_the_same(here: Site) -> None:
    survey = labels_survey(segments=["north", "south"])
    await here.publish(survey)
    batch = batch_of(survey, 7, 0, 7, segment=2)
    text = batch.to_json(segments=survey.segments)
    first = await here.send(
        text,
        survey=survey.fingerprint,
        id="ab" * 16,
        media_type="application/json; charset=utf-8",
    )
    assert first.status_code == 201
    assert (await here.send(batch, id="ab" * 16)).status_code == 200
    south = here.collector.store.tally(survey.fingerprint, "e", segment="south")
    assert south.total == 3


async def test_a_malformed_batch_is_refused_and_not_counted(here: Site) -> None:
    good = batch_of(SURVEY, 1, 2)
    packed, other = good.to_bytes(), labels_survey(remembered=True)
    bad = {
        "empty": b"",
        "no magic": b"x" * len(packed),
        "damaged": packed[:-1] + bytes([packed[-1] ^ 1]),
        "short": packed[:-1],
        "long": packed + b"\0",
        "of another survey": batch_of(other, 1).to_bytes(),
    }
    bad_json = {
        "no JSON": b"{",
        "a list": b"[]",
        "an unknown key": b'{"survey": "%s", "reports": ["01"], "who": "me"}',
        "no reports": b'{"survey": "%s", "reports": []}',
        "a number": b'{"survey": "%s", "reports": [1]}',
        "no hex": b'{"survey": "%s", "reports": ["0x"]}',
        "upper case": b'{"survey": "%s", "reports": ["0A"]}',
        "two widths": b'{"survey": "%s", "reports": ["01", "0101"]}',
        "deep": b"[" * 10_000,
        "not UTF-8": b'{"survey": "\xff"}',
    }
    await here.publish(SURVEY)
    words = set()
    for name, body in bad.items():
        answer = await here.send(body, survey=SURVEY.fingerprint)
        # What a proxy cut off is sent again.
        word = "malformed-batch" if Batch.intact(body) else "damaged-batch"
        assert (answer.status_code, problem(answer)) == (400, word), name
        words.add(word)
    assert words == {"malformed-batch", "damaged-batch"}
    for name, body in bad_json.items():
        text = body.replace(b"%s", SURVEY.fingerprint.encode())
        answer = await here.send(text, survey=SURVEY.fingerprint, media_type=JSON_MEDIA_TYPE)
        assert (answer.status_code, problem(answer)) == (400, "malformed-batch"), name
    many = Batch(SURVEY.fingerprint, 0, bytes(5000), 5000)
    answer = await here.send(many.to_json(), survey=SURVEY.fingerprint, media_type=JSON_MEDIA_TYPE)
    assert (answer.status_code, problem(answer)) == (413, "too-large")
    assert "16,384 bytes as application/vnd.lapwing.batch" in answer.json()["detail"]
    two = b'{"survey": "%s", "reports": ["01", "zz", 3]}'
    answer = await here.send(
        two.replace(b"%s", SURVEY.fingerprint.encode()),
        survey=SURVEY.fingerprint,
        media_type=JSON_MEDIA_TYPE,
    )
    assert [row["position"] for row in answer.json()["reports"]] == [1, 2]
    for name in ("", "0" * 31, "0" * 33, "G" * 32, "A" * 32, "é" * 32, "0" * 30 + "%20"):
        answer = await here.send(good, id=name or " ")
        assert (answer.status_code, problem(answer)) == (400, "malformed-batch"), name
    assert sum(here.counts(SURVEY)) == 0


async def test_refused_reports_are_named_by_position_and_nothing_is_counted(here: Site) -> None:
    await here.publish(SURVEY)
    answer = await here.send(batch_of(SURVEY, 1, 200, 2, 201))
    assert (answer.status_code, problem(answer)) == (422, "reports-refused")
    rows = answer.json()["reports"]
    assert [row["position"] for row in rows] == [1, 3]
    assert not any("200" in row["reason"] or "201" in row["reason"] for row in rows)
    assert sum(here.counts(SURVEY)) == 0


async def test_a_body_that_is_encoded_is_refused_by_its_header(here: Site) -> None:
    """Several exporters encode by default. A plain body with that label is encoded, too."""
    await here.publish(SURVEY)
    batch = batch_of(SURVEY, 1)
    upload = f"/v1/surveys/{SURVEY.fingerprint}/epochs/e/batches/{new_id()}"
    for body in (batch.to_bytes(), gzip.compress(batch.to_bytes())):
        for method, path, role in (("PUT", upload, None), ("PUT", PATH, ADMIN)):
            for coding, status in (("gzip", 415), ("br", 415), ("GZIP ", 415)):
                headers = {"content-encoding": coding, "content-type": MEDIA_TYPE}
                answer = await here.client.request(
                    method,
                    path,
                    content=body,
                    headers={**headers, **(as_role(role) if role else {})},
                )
                assert answer.status_code == status
                assert "without content-encoding" in answer.json()["detail"]
    answer = await here.client.put(
        upload,
        content=batch.to_bytes(),
        headers={"content-encoding": "identity", "content-type": MEDIA_TYPE},
    )
    assert answer.status_code == 201


async def test_pages_elsewhere_may_read_what_is_wrong_with_an_address(here: Site) -> None:
    for method, path, status in (
        ("GET", "/nothing", 404),
        ("PUT", "/v1/surveys", 405),
        ("PATCH", PATH, 405),
    ):
        answer = await here.client.request(method, path)
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == "*"


async def test_what_is_not_there_or_not_open(here: Site) -> None:
    path = f"/v1/surveys/{SURVEY.fingerprint}"
    body = {"survey": SURVEY.to_document()}
    batch = batch_of(SURVEY, 1)

    async def said(**where: Any) -> tuple[int, str]:
        answer = await here.send(batch, **where)
        return answer.status_code, problem(answer)

    assert await said() == (404, "unknown-survey")
    await here.done("PUT", path, json=body)
    await here.done("PUT", f"{path}/epochs/e", json={"grace_seconds": 60})
    assert await said() == (404, "unknown-survey")  # a draft is none to a device
    await here.done("POST", f"{path}/publish")
    assert await said(epoch="f") == (404, "unknown-epoch")
    assert await said() == (425, "epoch-not-open")
    await here.done("POST", f"{path}/epochs/e/open")
    assert (await here.send(batch, id="00" * 16)).status_code == 201
    await here.done("POST", f"{path}/epochs/e/close")
    assert (await here.send(batch, id="00" * 16)).status_code == 200  # in its grace
    assert (await here.send(batch)).status_code == 201
    await here.done("POST", f"{path}/epochs/e/close")
    again = await here.send(batch, id="00" * 16)  # its answer got lost
    assert (again.status_code, again.json()["state"]) == (200, "already stored")
    other = batch_of(SURVEY, 2)
    answer = await here.send(other, id="00" * 16)
    assert (answer.status_code, problem(answer)) == (410, "epoch-closed")
    assert await said(id="0" * 31) == await said(id="11" * 16) == (410, "epoch-closed")
    assert here.counts(SURVEY)[1] == 2
    for old, new in (("/epochs/", "/Epochs/"), ("/v1/", "/v2/")):
        address = f"{path}/epochs/e/batches/{new_id()}".replace(old, new)
        answer = await here.ask("PUT", address, content=batch.to_bytes(), token=None)
        assert (answer.status_code, problem(answer)) == (404, "nothing-here")


async def test_the_media_type_says_how_a_body_is_read(here: Site) -> None:
    await here.publish(SURVEY)
    batch = batch_of(SURVEY, 1)
    for media_type in ("text/plain", "application/octet-stream", "", "application/jsonx"):
        answer = await here.send(batch, media_type=media_type)
        assert (answer.status_code, problem(answer)) == (415, "unsupported-media-type")
    path = f"/v1/surveys/{SURVEY.fingerprint}/epochs/e/batches/{new_id()}"
    answer = await here.ask("PUT", path, content=batch.to_bytes(), token=None)
    assert answer.status_code == 415
    answer = await here.send(batch, media_type=MEDIA_TYPE.upper())
    assert answer.status_code == 201


async def test_a_token_is_good_for_one_batch_of_one_report(here: Site) -> None:
    path = await here.publish(SURVEY, upload="tokens")
    made = await here.done("POST", f"{path}/upload-tokens", json={"count": 2})
    one, two = made.json()["tokens"]
    batch, name = batch_of(SURVEY, 4), new_id()

    async def said(**how: Any) -> tuple[int, str]:
        answer = await here.send(how.pop("batch", batch), **how)
        return answer.status_code, problem(answer)

    assert await said() == (401, "upload-token-needed")
    assert await said(token="lwu_" + "x" * 43) == (401, "upload-token-needed")
    assert await said(token=one[:-1]) == (401, "upload-token-needed")
    assert await said(token="lwa_" + "A" * 43) == (401, "upload-token-needed")
    assert await said(token=one, batch=batch_of(SURVEY, 4, 4)) == (422, "reports-refused")
    assert (await here.send(batch, token=one, id=name)).status_code == 201
    assert (await here.send(batch, token=one, id=name)).status_code == 200
    assert await said(token=one) == (401, "upload-token-used")
    assert (await here.send(batch, token=two)).status_code == 201
    assert here.counts(SURVEY)[4] == 2
    state = await here.done("GET", f"{path}/state")
    assert state.json()["upload_tokens"] == {"unused": 0, "used": 2}


async def test_a_large_batch_is_read_beside_small_ones(here: Site) -> None:
    await here.publish(SURVEY)
    large = batch_of(SURVEY, *[5] * 65_536)
    packed = large.to_bytes()
    assert len(packed) > READ_AT_ONCE
    sent = here.send(packed, survey=SURVEY.fingerprint, id="aa" * 16)
    answers = await asyncio.gather(sent, here.send(batch_of(SURVEY, 1)))
    assert [answer.status_code for answer in answers] == [201, 201]
    assert (await here.send(large, id="aa" * 16)).status_code == 200
    answer = await here.send(packed[:-1], survey=SURVEY.fingerprint)
    assert (answer.status_code, problem(answer)) == (400, "damaged-batch")
    assert here.counts(SURVEY) == [0, 1, 0, 0, 0, 65_536, 0, 0]


async def test_too_large_is_said_only_of_a_batch_that_is_not_stored(tmp_path: Path) -> None:
    """A sender then divides it, and its halves have other ids."""
    large, id = batch_of(SURVEY, *[1] * 2000), new_id()
    changed = batch_of(SURVEY, *[2] * 2000)
    async with site(tmp_path) as here:
        await here.publish(SURVEY, epochs=("e", "other"))
        assert (await here.send(large, id=id)).status_code == 201
    async with site(tmp_path, settings=Settings(largest_body=1024)) as here:
        again = await here.send(large, id=id)
        assert (again.status_code, again.json()["batch"]) == (200, id)
        answer = await here.send(changed, id=id)
        assert (answer.status_code, problem(answer)) == (409, "batch-changed")
        for new in ({}, {"id": id, "epoch": "other"}):
            answer = await here.send(large, **new)
            assert (answer.status_code, problem(answer)) == (413, "too-large")
        path = f"/v1/surveys/{SURVEY.fingerprint}/epochs/e/batches/{id}"

        async def pieces(packed: bytes, each: int) -> Any:  # a proxy may state no length
            for start in range(0, len(packed), each):
                yield packed[start : start + each]

        packed, kind = large.to_bytes(), {"content-type": MEDIA_TYPE}
        for each in (500, 2000, len(packed)):
            content = pieces(packed, each)
            again = await here.ask("PUT", path, content=content, headers=kind, token=None)
            assert (again.status_code, again.json()["batch"]) == (200, id)
            content, other = pieces(packed, each), path.replace(id, new_id())
            answer = await here.ask("PUT", other, content=content, headers=kind, token=None)
            assert (answer.status_code, problem(answer)) == (413, "too-large")
        endless = {"content-length": "1" * 30, "content-type": MEDIA_TYPE}
        answer = await here.ask("PUT", path, content=b"1", headers=endless, token=None)
        assert (answer.status_code, problem(answer)) == (413, "too-large")
        assert here.counts(SURVEY) == [0, 2000, 0, 0, 0, 0, 0, 0]


async def test_a_large_body_is_not_read(tmp_path: Path) -> None:
    async with site(tmp_path, settings=Settings(largest_body=1024)) as here:
        await here.publish(SURVEY)
        answer = await here.send(batch_of(SURVEY, *[1] * 2000))
        assert (answer.status_code, problem(answer)) == (413, "too-large")

        async def pieces() -> Any:  # without a stated length
            for _ in range(100):
                yield b"x" * 100

        path = f"/v1/surveys/{SURVEY.fingerprint}/epochs/e/batches/{new_id()}"
        headers = {"content-type": MEDIA_TYPE}
        answer = await here.ask("PUT", path, content=pieces(), headers=headers, token=None)
        assert (answer.status_code, problem(answer)) == (413, "too-large")
        answer = await here.send(batch_of(SURVEY, *[1] * 900))
        assert answer.status_code == 201
        assert here.collector.receiving.held == 0


async def test_a_full_queue_says_when_to_come_again(tmp_path: Path) -> None:
    async with site(tmp_path, settings=Settings(waiting_uploads=1, retry_seconds=7)) as here:
        await here.publish(SURVEY)
        store = here.collector.store
        begun, go_on = threading.Event(), threading.Event()
        real = store.store

        def slow(uploads: Any) -> Any:
            begun.set()
            assert go_on.wait(60)
            return real(uploads)

        store.store = slow  # type: ignore[method-assign]
        waiting = asyncio.create_task(here.send(batch_of(SURVEY, 1)))
        assert await asyncio.to_thread(begun.wait, 60)
        answer = await here.send(batch_of(SURVEY, 2))
        assert (answer.status_code, problem(answer)) == (429, "busy")
        assert answer.headers["retry-after"] == "7"
        go_on.set()
        assert (await waiting).status_code == 201
        assert here.counts(SURVEY) == [0, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [(StoreFullError("full"), 507, "disk-full"), (StoreError("gone"), 503, "not-ready")],
)
async def test_a_store_in_trouble_keeps_devices_waiting(
    here: Site, error: StoreError, status: int, word: str
) -> None:
    await here.publish(SURVEY)
    store, real = here.collector.store, here.collector.store.store

    def broken(uploads: Any) -> Any:
        raise error

    store.store = broken  # type: ignore[method-assign]
    answer = await here.send(batch_of(SURVEY, 1), id="11" * 16)
    assert (answer.status_code, problem(answer)) == (status, word)
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["access-control-expose-headers"] == "retry-after, date"
    await here.collector.beat()
    health = await here.ask("GET", "/healthz", token=None)
    assert (health.status_code, health.json()) == (503, {"status": "store in trouble"})
    store.store = real  # type: ignore[method-assign]
    assert (await here.send(batch_of(SURVEY, 1), id="11" * 16)).status_code == 201
    await here.collector.beat()
    await here.done("GET", "/healthz", token=None)
    # It was only put off, not refused.
    state = await here.done("GET", f"/v1/surveys/{SURVEY.fingerprint}/state")
    assert state.json()["epochs"][0]["refused"] == {}


async def test_a_body_that_does_not_end_is_given_up() -> None:
    receiving = Receiving(largest=100, seconds=0.01, together=1000, retry_seconds=3)

    async def never() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(Exception, match=Problem.NOT_READY.value) as caught:
        await receiving.body(never, [])
    assert caught.value.retry_after == 3  # type: ignore[attr-defined]


async def test_a_body_that_comes_in_pieces_is_read_whole_and_one_that_is_given_up_ends() -> None:
    receiving = Receiving(largest=100, seconds=60, together=1000, retry_seconds=3)
    queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    reading = asyncio.create_task(receiving.body(queue.get, []))
    await asyncio.sleep(0)
    queue.put_nowait({"type": "http.request", "body": b"ab", "more_body": True})
    await asyncio.sleep(0)
    queue.put_nowait({"type": "http.request", "body": b"cd"})
    assert await reading == b"abcd"
    queue.put_nowait({"type": "http.request", "body": b"all at once"})
    assert await receiving.body(queue.get, []) == b"all at once"
    waiting = asyncio.create_task(receiving.body(queue.get, []))
    await asyncio.sleep(0)
    queue.put_nowait({"type": "http.disconnect"})
    with pytest.raises(ClientGoneError):
        await waiting
    cancelled = asyncio.create_task(receiving.body(queue.get, []))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert receiving.held == 0


async def test_a_body_that_grows_too_large_is_given_up_at_once() -> None:
    receiving = Receiving(largest=100, seconds=60, together=1000, retry_seconds=3)
    for sizes, last, asked in (((60, 40), 1, 3), ((60, 41), 0, 2), ((101,), 0, 1)):
        parts = [*(b"x" * size for size in sizes), b"x" * last]
        came = iter(range(len(parts)))
        taken: list[int] = []

        async def part(
            came: Iterator[int] = came,
            parts: list[bytes] = parts,
            taken: list[int] = taken,
        ) -> Any:
            number = next(came)
            taken.append(number)
            more = number + 1 < len(parts)
            return {"type": "http.request", "body": parts[number], "more_body": more}

        with pytest.raises(ProblemError, match=Problem.TOO_LARGE.value):
            await receiving.body(part, [])
        # Not a piece more than told that it is too large.
        assert len(taken) == asked and receiving.held == 0


async def test_large_bodies_together_are_bounded() -> None:
    receiving = Receiving(largest=10**5, seconds=60, together=120_000, retry_seconds=3)
    arrived, end = asyncio.Event(), asyncio.Event()
    parts = iter([b"x" * 80_000])

    async def slow() -> Any:
        part = next(parts, None)
        if part is None:
            arrived.set()
            await end.wait()
            return {"type": "http.request", "body": b"y", "more_body": False}
        return {"type": "http.request", "body": part, "more_body": True}

    async def more() -> Any:
        return {"type": "http.request", "body": b"x" * 50_000, "more_body": True}

    first = asyncio.create_task(receiving.body(slow, []))
    await arrived.wait()
    assert receiving.held == 80_000
    with pytest.raises(Exception, match=Problem.BUSY.value):
        await receiving.body(more, [])
    with receiving.holding(70_000):  # one that has arrived, and is read
        with pytest.raises(Exception, match=Problem.BUSY.value):
            await receiving.body(more, [])
        small = iter([(b"x" * 9, True), (b"y", False)])

        async def device() -> Any:
            body, more_body = next(small)
            return {"type": "http.request", "body": body, "more_body": more_body}

        assert await receiving.body(device, []) == b"x" * 9 + b"y"
    end.set()
    assert await first == b"x" * 80_000 + b"y"
    assert receiving.held == 0


def test_only_the_address_of_a_batch_is_one() -> None:
    assert address_of("/v1/surveys/a/epochs/b/batches/c") == ("a", "b", "c")
    for path in (
        "/v1/surveys/a/epochs/b/batches",
        "/v1/surveys/a/epochs/b/batches/c/d",
        "/v1/surveys/a/batches/b/epochs/c",
        "v1/surveys/a/epochs/b/batches/c",
        "/v2/surveys/a/epochs/b/batches/c",
        "",
    ):
        assert address_of(path) is None
