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
        while httpx.get(f"{second.address}{path}/epochs").status_code != 200:
            assert time.monotonic() < deadline, "the second never saw what the first had made"
            time.sleep(0.1)
        answers = []
        for symbol in range(8):
            name, body = new_id(), batch_of(SURVEY, symbol).to_bytes()
            for here in (first, second) if symbol % 2 else (second, first):
                where = f"{here.address}{path}/epochs/e/batches/{name}"
                answers.append(httpx.put(where, content=body, headers=PACKED).status_code)
        assert answers == [201, 200] * 8
        result = httpx.get(f"{second.address}{path}/results/e", headers=as_role(ADMIN), timeout=120)
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
