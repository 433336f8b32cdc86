"""A collector in a process of its own: how it starts, ends, and what it never writes down."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import lapwing as lw
from benchmarks.service.running_servers import start_document
from lapwing.cli import main
from lapwing.protocol.messages.batch import MEDIA_TYPE, Batch
from lapwing.service.serving import allow_connections
from lapwing.service.storage.opening import open_store
from tests.cli.running import environment
from tests.service.forked_server import Fork
from tests.service.one_collector import (
    ADMIN,
    ServedCollector,
    as_role,
    batch_of,
    labels_survey,
    new_id,
    open_survey,
    problem,
    served,
)

SURVEY = labels_survey()
PACKED = {"content-type": MEDIA_TYPE}


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[ServedCollector]:
    with served(tmp_path) as here:
        yield here


def stored_counts(folder: Path) -> list[int]:
    store = open_store(str(folder / "collector.sqlite"))
    try:
        (counts,) = store.tally(SURVEY.fingerprint, "e").blocks
        return counts.tolist()
    finally:
        store.close()


def request(path: str, body: bytes, *, length: int | None = None, extra: str = "") -> bytes:
    """An upload as it goes over the wire."""
    stated = len(body) if length is None else length
    head = (
        f"PUT {path} HTTP/1.1\r\nHost: here\r\nContent-Type: {MEDIA_TYPE}\r\n"
        f"Content-Length: {stated}\r\n{extra}\r\n"
    )
    return head.encode() + body


def batch_path() -> str:
    return f"/v1/surveys/{SURVEY.fingerprint}/epochs/e/batches/{new_id()}"


def connect(collector: ServedCollector) -> socket.socket:
    return socket.create_connection(("127.0.0.1", collector.port), timeout=60)


@contextmanager
def program(folder: Path, *, home: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Run the program itself in a folder; yield what it said, too."""
    folder.mkdir()
    command = [sys.executable, "-m", "lapwing", "serve", "--port", "0", "--json"]
    own = {**environment(), "HOME": str(home)}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, env=own, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        yield process, start_document(process, folder / "log")
    finally:
        process.kill()
        process.communicate(timeout=60)


def test_a_first_start_is_new_and_another_one_elsewhere_goes_on(tmp_path: Path) -> None:
    """It prints its admin once. Its usual database is the same in every folder."""
    usual = tmp_path / ".local" / "share" / "lapwing" / "collector.sqlite"
    with program(tmp_path / "one", home=tmp_path) as (first, said):
        token, address = said["admin_token"], said["address"]
        assert re.fullmatch(r"lwa_[A-Za-z0-9_-]{43}", token)
        assert (said["database"], said["new"], said["surveys"]) == (str(usual), True, 0)
        health = httpx.get(f"{address}/healthz", timeout=60).json()
        assert health == {"status": "ready", "note": "new, no surveys"}
        path = open_survey(address, SURVEY, token=token)
        body = batch_of(SURVEY, *range(8)).to_bytes()
        httpx.put(address + batch_path(), content=body, headers=PACKED, timeout=60)
        result = httpx.get(f"{path}/results/e", headers=as_role(token), timeout=300)
        assert result.status_code == 200
        listed = Path(f"/proc/{first.pid}/task").glob("*/children")
        children = [int(pid) for thread in listed for pid in thread.read_text().split()]
        assert children
        first.kill()
        for pid in children:  # above all the process that decodes
            wait_until_gone(pid)
    assert token not in (tmp_path / "one" / "log").read_text()
    assert usual.parent.stat().st_mode & 0o777 == 0o700
    with program(tmp_path / "other", home=tmp_path) as (second, said):
        assert said["admin_token"] is None
        assert (said["database"], said["new"], said["surveys"]) == (str(usual), False, 1)
        health = httpx.get(f"{said['address']}/healthz", timeout=60).json()
        assert health == {"status": "ready"}
        second.terminate()
        assert second.wait(timeout=60) == 0


def test_what_cannot_start_says_why(tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        with (tmp_path / "said").open("w") as said:
            process = Fork("serve", *arguments, environment=environment(), stderr=said)
        with process.stdout as told:
            assert told.read() == ""
        return process.wait(), (tmp_path / "said").read_text().strip()

    with served(tmp_path) as here:
        database = str(tmp_path / "collector.sqlite")
        code, said = run("--port", "0", "--database", database)
        assert code == 7 and "another collector uses collector.sqlite" in said
        own = str(tmp_path / "own.sqlite")
        code, said = run("--port", str(here.port), "--database", own)
        assert code == 7 and "in use. Stop" in said and "another --port" in said
    config = tmp_path / "c.toml"
    config.write_text("prot = 1")
    code, said = run("--config", str(config))
    assert code == 4 and "did you mean port" in said
    assert run("--port", "70000")[0] == 2


def test_as_many_files_may_be_open_as_connections_need() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = before[1]
    found = []
    try:
        for connections in (40, 100, 10**9 if hard > 0 else 200):
            resource.setrlimit(resource.RLIMIT_NOFILE, (250, hard))
            allow_connections(connections)
            found.append(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert found == [298, 362, hard if hard > 0 else 468]


def test_a_signal_ends_it_after_what_it_accepted_is_stored(
    collector: ServedCollector, tmp_path: Path
) -> None:
    open_survey(collector.address, SURVEY)
    acknowledged: list[int] = []
    sent_some, stopped = threading.Event(), threading.Event()

    def send(symbol: int) -> None:
        with httpx.Client(base_url=collector.address, headers=PACKED, timeout=60) as client:
            body = batch_of(SURVEY, symbol).to_bytes()
            for count in range(10_000):
                try:
                    answer = client.put(batch_path(), content=body)
                except httpx.TransportError:
                    return
                if answer.status_code == 201:
                    acknowledged.append(symbol)
                if count > 5:
                    sent_some.set()
            stopped.set()

    threads = [threading.Thread(target=send, args=(symbol,)) for symbol in range(4)]
    for thread in threads:
        thread.start()
    assert sent_some.wait(60)
    assert collector.stop() == 0
    for thread in threads:
        thread.join(60)
    assert not stopped.is_set()
    counts = stored_counts(tmp_path)
    missing = [
        np.bincount(acknowledged, minlength=8)[symbol] - counts[symbol] for symbol in range(8)
    ]
    # One more may have been stored whose answer nobody read.
    assert all(-1 <= each <= 0 for each in missing), missing
    assert json.loads(collector.log.read_text().splitlines()[-1])["event"] == "stopped"


def test_a_lost_answer_is_asked_for_again_and_counted_once(
    collector: ServedCollector, tmp_path: Path
) -> None:
    open_survey(collector.address, SURVEY)
    path, body = batch_path(), batch_of(SURVEY, 5).to_bytes()
    for _ in range(3):
        with connect(collector) as link:
            link.sendall(request(path, body))  # and gone, before the answer
    answer = httpx.put(collector.address + path, content=body, headers=PACKED, timeout=60)
    assert answer.status_code in (200, 201)
    again = httpx.put(collector.address + path, content=body, headers=PACKED, timeout=60)
    assert again.status_code == 200
    assert collector.stop() == 0
    assert stored_counts(tmp_path)[5] == 1


def test_a_body_that_breaks_off_is_not_counted(collector: ServedCollector, tmp_path: Path) -> None:
    open_survey(collector.address, SURVEY)
    body = batch_of(SURVEY, 6, 6).to_bytes()
    for cut in (0, 1, len(body) - 1):
        with connect(collector) as link:
            link.sendall(request(batch_path(), body[:cut], length=len(body)))
    assert collector.stop() == 0
    assert stored_counts(tmp_path)[6] == 0
    assert "defect" not in collector.log.read_text()


def test_slow_and_large_bodies_end(tmp_path: Path) -> None:
    with served(tmp_path, LAPWING_BODY_SECONDS="4", LAPWING_LARGEST_BODY="2048") as here:
        open_survey(here.address, labels_survey())
        with connect(here) as link:
            link.sendall(request(batch_path(), b"LWUPLOAD", length=100))
            answer = link.makefile("rb").read()  # until it is closed
        assert answer.startswith(b"HTTP/1.1 503") and b"retry-after" in answer
        with connect(here) as link:
            link.sendall(request(batch_path(), b"", length=10**12))
            answer = link.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 413") and b"too-large" in answer
        with connect(here) as link:
            chunked = request(batch_path(), b"", extra="Transfer-Encoding: chunked\r\n")
            link.sendall(chunked.replace(b"Content-Length: 0\r\n", b""))
            piece = b"100000\r\n" + b"x" * 2**20 + b"\r\n"
            with pytest.raises(OSError):
                for _ in range(256):  # far more than what lies in the system's own memory
                    link.sendall(piece)
        answer = httpx.put(
            here.address + batch_path(),
            content=batch_of(SURVEY, 1).to_bytes(),
            headers=PACKED,
            timeout=60,
        )
        assert answer.status_code == 201
        assert "defect" not in here.log.read_text()


def test_what_is_not_legal_stops_nobody(collector: ServedCollector, tmp_path: Path) -> None:
    open_survey(collector.address, SURVEY)
    rng = np.random.default_rng(11)
    legal = batch_of(SURVEY, 3).to_bytes()
    truth = 0
    statuses = set()
    with httpx.Client(base_url=collector.address, headers=PACKED, timeout=60) as client:
        for _ in range(200):
            if rng.random() >= 0.5:
                truth += 1
                assert client.put(batch_path(), content=legal).status_code == 201
                continue
            body = bytearray(legal)
            body[rng.integers(len(body))] ^= int(rng.integers(1, 256))
            wrong = [
                (batch_path(), bytes(body)),
                (batch_path(), legal[: rng.integers(len(legal))]),
                (batch_path(), batch_of(SURVEY, 3, 99).to_bytes()),
                (batch_path().replace("/e/", "/other/"), legal),
                (batch_path() + "00", legal),
                ("/v1/surveys/x/epochs/e/batches/y", legal),
            ]
            path, content = wrong[rng.integers(len(wrong))]
            answer = client.put(path, content=content)
            statuses.add(answer.status_code)
            assert 400 <= answer.status_code < 500 and problem(answer)
    assert statuses <= {400, 404, 422} and len(statuses) > 1
    assert collector.stop() == 0
    assert stored_counts(tmp_path) == [0, 0, 0, truth, 0, 0, 0, 0]
    assert "defect" not in collector.log.read_text()


def test_lines_that_are_no_http_are_refused(collector: ServedCollector) -> None:
    for junk in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"PUT /%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PUT /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ):
        with connect(collector) as link:
            link.sendall(junk)
            link.shutdown(socket.SHUT_WR)
            answer = link.makefile("rb").read()
        assert not answer.startswith(b"HTTP/1.1 5"), junk
    assert httpx.get(f"{collector.address}/healthz", timeout=60).json()["status"] == "ready"
    assert collector.stop() == 0
    assert "defect" not in collector.log.read_text()


def test_nothing_of_a_client_is_written_down(collector: ServedCollector, tmp_path: Path) -> None:
    """Neither its address, nor what it says of itself, nor what its person holds."""
    survey = lw.Survey(
        "towns", lw.papers.baselines.LocalHashing(lw.HashedStrings(bits=16), epsilon=2)
    )
    raw, agent, elsewhere = "Llanfairpwllgwyngyll", "PeekabooBrowser/7", "203.0.113.77"
    path = open_survey(collector.address, survey)
    headers = {**PACKED, "user-agent": agent, "x-forwarded-for": elsewhere, "forwarded": elsewhere}
    headers |= {"referer": f"https://{raw}.example", "cookie": f"who={raw}"}
    batch = Batch.of(survey.randomize([raw] * 50), survey=survey.fingerprint)
    with socket.create_connection(("127.0.0.1", collector.port)) as link:
        own = f"{link.getsockname()[1]}"
    ports = [own]
    with httpx.Client(headers=headers, timeout=60) as client:
        for number in range(20):
            name = new_id()
            body = batch.to_bytes() if number % 2 else b"LWUPLOAD" + raw.encode()
            answer = client.put(f"{path}/epochs/e/batches/{name}?q={raw}", content=body)
            assert answer.status_code in (201, 400)
            stream = answer.extensions["network_stream"]
            ports.append(str(stream.get_extra_info("client_addr")[1]))
        client.put(f"{path}/epochs/{raw}/batches/{new_id()}", content=batch.to_bytes())
        client.get(f"{collector.address}/{raw}")
        seen = client.get(f"{collector.address}/metrics", headers=as_role(ADMIN)).text
    with connect(collector) as link:
        link.sendall(f"{raw} {agent}\r\n\r\n".encode())
        link.makefile("rb").read()
    # The journal is read while the collector has it open.
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert {"collector.sqlite", "collector.sqlite-wal", "log.jsonl"} <= set(files)
    assert collector.stop() == 0
    files |= {f"{file.name} after": file.read_bytes() for file in tmp_path.iterdir()}
    files["metrics"] = seen.encode()
    for name, content in files.items():
        for secret in (raw, raw.lower(), agent, elsewhere, "127.0.0.1", ADMIN):
            assert secret.encode() not in content, (name, secret)
    lines = [json.loads(line) for line in collector.log.read_text().splitlines()]
    assert {"started", "uploads", "stopped"} <= {line["event"] for line in lines}
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:00Z", line.pop("hour"))
        assert not {str(value) for value in line.values()} & set(ports)
    # The test would see them: the log does hold the survey, and the database its name.
    assert survey.fingerprint.encode() in files["log.jsonl after"]
    assert any(b'"towns"' in files[name] for name in ("collector.sqlite", "collector.sqlite-wal"))


def test_a_survey_moves_to_another_collector(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    name, body = new_id(), batch_of(SURVEY, 1, 2, 2).to_bytes()

    def run(*arguments: object) -> dict[str, object]:
        assert main(["collector", *map(str, arguments), "--json"]) == 0
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    def send(address: str) -> int:
        path = f"{address}/v1/surveys/{SURVEY.fingerprint}/epochs/e/batches/{name}"
        return httpx.put(path, content=body, headers=PACKED, timeout=60).status_code

    with served(old) as here:
        open_survey(here.address, SURVEY)
        assert send(here.address) == 201
        file, copy = tmp_path / "survey.lwx", tmp_path / "copy.sqlite"
        where = ("--database", old / "collector.sqlite")
        told = run("export", SURVEY.fingerprint[:10], *where, "-o", file)
        assert told["survey"] == SURVEY.fingerprint and told["bytes"] == file.stat().st_size
        run("backup", *where, "-o", copy)
        assert send(here.address) == 200
    told = run("import", file, "--database", new / "collector.sqlite")
    assert (told["survey"], told["epochs"], told["reports"]) == (SURVEY.fingerprint, 1, 3)
    with served(new) as there:
        assert send(there.address) == 200  # what was counted there is counted here, once
    assert stored_counts(new) == stored_counts(old) == [0, 1, 2, 0, 0, 0, 0, 0]
    copy.rename(new / "collector.sqlite")
    for rest in new.glob("collector.sqlite-*"):
        rest.unlink()
    assert stored_counts(new) == [0, 1, 2, 0, 0, 0, 0, 0]


def wait_until_gone(pid: int) -> None:
    """Wait for a process that is not a child of ours, for at most a minute."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([descriptor], [], [], 60)
        assert ready, "a process of a collector that was killed still runs"
    finally:
        os.close(descriptor)
