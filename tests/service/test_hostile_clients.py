"""Clients without a token cannot fill the memory of a collector."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import lapwing as lw
from benchmarks.service.hostile_clients import HOLDING, address_of, hostile_clients
from benchmarks.service.running_servers import Running, collector
from lapwing.protocol.messages.batch import MEDIA_TYPE

LARGEST_MEGABYTES = 300

BODY_BYTES, SLOW_UPLOADS = 16_000_000, 40


@pytest.mark.soak
def test_four_kinds_of_hostile_clients_at_once_take_no_memory(tmp_path: Path) -> None:
    survey = lw.Survey("hostile", lw.RandomizedResponse(lw.Categories(8), 1))
    with collector(str(tmp_path)) as site:
        path = site.open_epoch(survey, "e")
        held = []
        with hostile_clients(site.url, path, survey=survey.fingerprint, seconds=60) as clients:
            while clients.poll() is None:
                held.append(site.memory())
                assert held[-1] < LARGEST_MEGABYTES
                site.ask("GET", f"/v1/surveys/{survey.fingerprint}/epochs")
            assert clients.stdout is not None
            tries = json.loads(clients.stdout.read())
    assert {*tries["connections"]} == {*tries["sent"]}
    assert min(number for name, number in tries["sent"].items() if name != "held") >= 2**14
    assert set(tries["answers"]["held"]) <= {"404", "415"}
    # Each was let go after two seconds, so each of the fifty came many times.
    assert tries["connections"]["held"] > 5 * HOLDING
    assert min(tries["sent"]["headers"], tries["sent"]["pipelined"]) > 2**20
    assert tries["answers"]["headers"] == ["431"]
    assert [tries["answers"][name] for name in sorted(tries["sent"]) if "json" in name] == [
        ["413"],
        ["400"],
    ]


@pytest.mark.soak
def test_many_slow_large_uploads_take_no_memory(tmp_path: Path) -> None:
    survey = lw.Survey("hostile", lw.RandomizedResponse(lw.Categories(8), 1))
    with collector(str(tmp_path)) as site:
        path = site.open_epoch(survey, "e")

        async def run() -> tuple[float, list[bytes]]:
            uploads = [slow_upload(site, f"{path}/{n:032x}") for n in range(SLOW_UPLOADS)]
            waiting, held = asyncio.gather(*uploads), 0.0
            while not waiting.done():
                held = max(held, site.memory())
                await asyncio.sleep(0.1)
            return held, await waiting

        held, answers = asyncio.run(run())
    assert held < LARGEST_MEGABYTES
    assert answers.count(b"HTTP/1.1 429") >= SLOW_UPLOADS // 2


async def slow_upload(site: Running, path: str) -> bytes:
    """Send nearly all of a large body in some seconds, and return the first words of the answer."""
    reader, writer = await asyncio.open_connection(*address_of(site.url))
    head = f"PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n"
    writer.write(f"{head}Content-Length: {BODY_BYTES}\r\n\r\n".encode())
    try:
        for _ in range(BODY_BYTES // 2**18):
            writer.write(b"a" * 2**18)
            await asyncio.wait_for(writer.drain(), 60)
            await asyncio.sleep(0.05)
    except OSError:
        pass  # it was answered, and closed
    try:
        return await asyncio.wait_for(reader.read(12), 60)
    except OSError:
        return b"HTTP/1.1 429"  # cut off behind its answer
    finally:
        writer.transport.abort()
