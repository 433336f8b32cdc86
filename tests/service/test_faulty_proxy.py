"""Behind a proxy that repeats, delays, reorders and loses: every report counted, and once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import numpy as np

from lapwing.protocol.messages.batch import MEDIA_TYPE
from lapwing.service.storage.opening import open_store
from tests.service.faulty_proxy import faulty_proxy
from tests.service.one_collector import batch_of, labels_survey, new_id, open_survey, served

SURVEY = labels_survey()
BATCHES = 120


async def deliver(client: httpx.AsyncClient, path: str, body: bytes, answers: list[int]) -> None:
    """Send a batch until it is answered, as a device does: the same bytes under the same id."""
    for _ in range(200):
        try:
            answer = await client.put(path, content=body, headers={"content-type": MEDIA_TYPE})
        except httpx.TransportError:
            continue
        assert answer.status_code in (200, 201), answer.text
        answers.append(answer.status_code)
        return
    raise AssertionError("a batch was never answered")


def test_everything_is_counted_and_nothing_twice(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 5, BATCHES)
    symbols = rng.integers(0, 8, BATCHES)
    answers: list[int] = []

    async def run(port: int) -> list[bytes]:
        async with faulty_proxy(port, seed=7) as (proxy, listening):
            address = f"http://127.0.0.1:{listening}"
            async with httpx.AsyncClient(base_url=address, timeout=60) as client:
                sending = []
                for size, symbol in zip(sizes, symbols, strict=True):
                    path = f"/v1/surveys/{SURVEY.fingerprint}/epochs/e/batches/{new_id()}"
                    body = batch_of(SURVEY, *[int(symbol)] * int(size)).to_bytes()
                    sending.append(deliver(client, path, body, answers))
                await asyncio.gather(*sending)
            late = await proxy.rest()
            assert min(proxy.repeated, proxy.lost, proxy.late) > 10
            return late

    with served(tmp_path) as here:
        open_survey(here.address, SURVEY)
        late = asyncio.run(run(here.port))
        assert here.stop() == 0
        assert "defect" not in here.log.read_text()
    assert {answer[9:12] for answer in late} <= {b"200", b"201"}
    # Each was new at most once, whoever read that answer, and often it was nobody.
    assert answers.count(201) < BATCHES == len(answers)
    truth = np.bincount(np.repeat(symbols, sizes), minlength=8)
    store = open_store(str(tmp_path / "collector.sqlite"))
    try:
        (counts,) = store.tally(SURVEY.fingerprint, "e").blocks
    finally:
        store.close()
    assert counts.tolist() == truth.tolist()
