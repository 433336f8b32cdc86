"""Collectors in processes of their own that share a PostgreSQL."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from lapwing.protocol.messages.batch import MEDIA_TYPE
from lapwing.service.storage.opening import open_store
from tests.service.one_collector import (
    ADMIN,
    as_role,
    batch_of,
    labels_survey,
    new_id,
    open_survey,
    served,
)
from tests.service.postgres_server import PostgresServer

pytestmark = pytest.mark.service

SURVEY = labels_survey()
PACKED = {"content-type": MEDIA_TYPE}


def test_two_collectors_of_one_database_count_a_batch_once(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    address = postgres_server.new_database()
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with (
        served(folders[0], "--database", address) as first,
        served(folders[1], "--database", address) as second,
    ):
        path = open_survey(first.address, SURVEY).removeprefix(first.address)
        deadline = time.monotonic() + 60
        while httpx.get(f"{second.address}{path}/epochs", timeout=60).status_code != 200:
            assert time.monotonic() < deadline, "the second never saw what the first had made"
            time.sleep(0.1)
        answers = []
        for symbol in range(8):
            name, body = new_id(), batch_of(SURVEY, symbol).to_bytes()
            for here in (first, second) if symbol % 2 else (second, first):
                where = f"{here.address}{path}/epochs/e/batches/{name}"
                answer = httpx.put(where, content=body, headers=PACKED, timeout=60)
                answers.append(answer.status_code)
        assert answers == [201, 200] * 8
        result = httpx.get(f"{second.address}{path}/results/e", headers=as_role(ADMIN), timeout=300)
        assert result.json()["reports"] == 8
        assert (first.stop(), second.stop()) == (0, 0)
        for here in (first, second):
            assert "defect" not in here.log.read_text()
            assert str(postgres_server.address()) not in here.log.read_text()
    store = open_store(address)
    try:
        (counts,) = store.tally(SURVEY.fingerprint, "e").blocks
    finally:
        store.close()
    assert counts.tolist() == [1] * 8


def test_what_one_collector_opens_and_closes_holds_at_the_other_at_once(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    address = postgres_server.new_database()
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with (
        served(folders[0], "--database", address) as first,
        served(folders[1], "--database", address) as second,
        httpx.Client(headers=as_role(ADMIN), timeout=60) as desk,
    ):

        def sent(epoch: str) -> int:
            """Upload at the first collector; all else is done at the second."""
            where = f"{first.address}{path}/epochs/{epoch}/batches/{new_id()}"
            body = batch_of(SURVEY, 2).to_bytes()
            return httpx.put(where, content=body, headers=PACKED, timeout=60).status_code

        def done(*steps: tuple[str, str]) -> None:
            for method, where in steps:
                answer = desk.request(method, f"{second.address}{path}/epochs/{where}", json={})
                assert answer.status_code < 300, answer.text

        path = open_survey(second.address, SURVEY).removeprefix(second.address)
        assert sent("e") == 201  # of a survey that the first one has not heard of
        done(("POST", "e/close"))
        assert sent("e") == 410
        done(("PUT", "f"))
        assert sent("f") == 425
        done(("POST", "f/open"))
        assert sent("f") == 201
        done(("PUT", "g"), ("POST", "g/open"))
        assert sent("g") == 201
        assert sent("h") == 404
        for epoch, reports in (("e", 1), ("f", 1), ("g", 1)):
            answer = desk.get(f"{first.address}{path}/state").json()
            (found,) = (each for each in answer["epochs"] if each["name"] == epoch)
            assert found["reports"] == reports


def test_a_token_that_one_collector_revokes_opens_nothing_at_the_other_at_once(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    address = postgres_server.new_database()
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with (
        served(folders[0], "--database", address) as first,
        served(folders[1], "--database", address) as second,
    ):
        admin = {"headers": as_role(ADMIN)}
        made = httpx.post(f"{first.address}/v1/tokens", json={"role": "admin"}, timeout=60, **admin)
        token = made.json()["token"]
        asked = {"headers": as_role(token)}
        deadline = time.monotonic() + 60
        while httpx.get(f"{second.address}/v1/surveys", timeout=60, **asked).status_code != 200:
            assert time.monotonic() < deadline, "the second never saw what the first had made"
            time.sleep(0.1)
        rows = httpx.get(f"{second.address}/v1/tokens", timeout=60, **admin).json()["tokens"]
        (row,) = [row for row in rows if row["revocable"]]
        assert row["last_use"] is not None
        gone = httpx.delete(f"{first.address}/v1/tokens/{row['id']}", timeout=60, **admin)
        assert gone.status_code == 204
        for here in (second, first):
            assert httpx.get(f"{here.address}/v1/surveys", timeout=60, **asked).status_code == 401
            cookie = {"cookie": f"lapwing={token}"}
            answer = httpx.get(f"{here.address}/v1/surveys", headers=cookie, timeout=60)
            assert answer.status_code == 401
