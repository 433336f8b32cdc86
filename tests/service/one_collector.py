"""A collector in this process, or in one of its own, as the tests of the service drive it."""

from __future__ import annotations

import asyncio
import io
import secrets
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import lapwing as lw
from benchmarks.service.running_servers import start_document
from lapwing.protocol.messages.batch import MEDIA_TYPE, Batch
from lapwing.service.app import Application, make_application
from lapwing.service.collector import Collector
from lapwing.service.logs import Log
from lapwing.service.settings import Secrets, Settings
from lapwing.service.storage.opening import open_store
from lapwing.service.survey_life import ENDS_APART
from tests.cli.running import environment
from tests.service.forked_server import Fork, fork_decoders

ADMIN = "lwa_" + "A" * 43
ANALYST = "lwa_" + "B" * 43

NOON = 1_800_000_000
"""When the clock of a test starts."""


def as_role(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@dataclass
class Clock:
    """A clock that stands still until it is set, and one that nobody sets."""

    now: float = NOON
    running: float = 0.0

    def __call__(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.running

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.running += seconds


def labels_survey(**options: Any) -> lw.Survey:
    """A survey whose reports are one byte, with eight legal ones: a "2" shows a report twice."""
    return lw.Survey("letters", lw.RandomizedResponse(lw.Categories(8), 3), **options)


def batch_of(survey: lw.Survey, *symbols: int, segment: int = 0) -> Batch:
    """A batch of these very reports of the survey above."""
    return Batch(survey.fingerprint, segment, bytes(symbols), len(symbols))


def new_id() -> str:
    return secrets.token_hex(16)


@dataclass
class Site:
    """A collector, and a client that asks it as an admin unless told otherwise."""

    collector: Collector
    application: Application
    client: httpx.AsyncClient
    clock: Clock
    log: io.StringIO
    surveys: list[lw.Survey] = field(default_factory=list)

    async def ask(
        self, method: str, path: str, *, token: str | None = ADMIN, **more: Any
    ) -> httpx.Response:
        headers = {**(as_role(token) if token else {}), **more.pop("headers", {})}
        answer = await self.client.request(method, path, headers=headers, **more)
        assert answer.status_code != 500, self.log.getvalue()
        return answer

    async def done(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Ask what must be done."""
        answer = await self.ask(method, path, **more)
        assert answer.status_code < 300, answer.text
        return answer

    async def publish(
        self, survey: lw.Survey, *, epochs: tuple[str, ...] = ("e",), **terms: Any
    ) -> str:
        """Publish a survey with open epochs; return the path of the survey."""
        path = f"/v1/surveys/{survey.fingerprint}"
        body = {"survey": survey.to_document(), "minimum": 1, **terms}
        await self.done("PUT", path, json=body)
        await self.done("POST", f"{path}/publish")
        for epoch in epochs:
            await self.done("PUT", f"{path}/epochs/{epoch}", json={"grace_seconds": 60})
            await self.done("POST", f"{path}/epochs/{epoch}/open")
        return path

    async def close(self, epoch: str, path: str) -> None:
        """Close an epoch, and end its grace."""
        for _ in range(2):
            await self.done("POST", f"{path}/epochs/{epoch}/close")

    async def pass_end(self) -> None:
        """Let the time pass in which two looks end an epoch whose end is past, and its grace."""
        for _ in range(2):
            await self.collector.tick()
            await self.collector.tick()
            self.clock.pass_by(ENDS_APART)
            await self.collector.tick()

    async def send(
        self,
        batch: Batch | bytes,
        *,
        survey: str | None = None,
        epoch: str = "e",
        id: str | None = None,
        media_type: str = MEDIA_TYPE,
        token: str | None = None,
        method: str = "PUT",
        query: str = "",
    ) -> httpx.Response:
        """Upload a batch as a device does."""
        if isinstance(batch, Batch):
            survey, body = survey or batch.survey, batch.to_bytes()
        else:
            body = batch
        path = f"/v1/surveys/{survey}/epochs/{epoch}/batches/{id or new_id()}"
        path += f"?{query}" if query else ""
        headers = {"content-type": media_type}
        return await self.ask(method, path, token=token, content=body, headers=headers)

    def counts(self, survey: lw.Survey, *, epoch: str = "e") -> list[int]:
        tally = self.collector.store.tally(survey.fingerprint, epoch)
        (counts,) = tally.blocks
        return counts.tolist()


@asynccontextmanager
async def site(
    folder: Path,
    *,
    settings: Settings | None = None,
    beside: bool = False,
    database: str | None = None,
) -> AsyncIterator[Site]:
    """A collector over an SQLite file, or over the database of an address.

    Parameters
    ----------
    folder : Path
    settings : Settings, optional
    beside : bool
        Whether what goes on beside requests goes on: else a test lets the clock tick itself.
    database : str, optional
    """
    fork_decoders()
    clock, log = Clock(), io.StringIO()
    store = open_store(database or str(folder / "collector.sqlite"))
    try:
        collector = Collector(
            store,
            settings=settings or Settings(),
            log=Log(log, clock=clock),
            secrets=Secrets(admin_token=ADMIN, analyst_token=ANALYST),
            clock=clock,
            monotonic=clock.monotonic,
        )
        application = make_application(collector)
        if beside:
            await collector.start()
        transport = httpx.ASGITransport(application)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                yield Site(collector, application, client, clock, log)
        finally:
            await collector.stop()
    finally:
        await asyncio.to_thread(store.close)  # that of PostgreSQL has a loop of its own


def problem(answer: httpx.Response) -> str:
    """The word of a problem, after a look at its document."""
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["title"] and document["detail"]
    prefix, _, word = document["type"].rpartition(":")
    assert prefix == "urn:lapwing:problem"
    return word


@dataclass
class ServedCollector:
    """A collector in a process of its own."""

    process: Fork
    address: str
    log: Path

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def stop(self) -> int:
        """End it as a service manager does, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=60)


@contextmanager
def served(folder: Path, *arguments: str, **variables: str) -> Iterator[ServedCollector]:
    """`lapwing serve` over an SQLite file in a folder, at a free port."""
    usual = {"--port": "0", "--database": str(folder / "collector.sqlite")}
    words = ["serve", "--json", *arguments]
    for option, value in usual.items():
        words += [] if option in arguments else [option, value]
    log = folder / "log.jsonl"
    variables = {**environment(), "LAPWING_ADMIN_TOKEN": ADMIN, **variables}
    with log.open("a") as lines:
        process = Fork(*words, environment=variables, stderr=lines)
    with process.stdout:
        try:
            yield ServedCollector(process, start_document(process, log)["address"], log)
        finally:
            process.kill()
            process.wait()


def open_survey(
    address: str, survey: lw.Survey, *, epoch: str = "e", token: str = ADMIN, **terms: Any
) -> str:
    """Publish a survey with an open epoch at a served collector; return its address."""
    path = f"{address}/v1/surveys/{survey.fingerprint}"
    body = {"survey": survey.to_document(), "minimum": 1, **terms}
    with httpx.Client(headers=as_role(token), timeout=60) as client:
        for method, where, document in (
            ("PUT", path, body),
            ("POST", f"{path}/publish", None),
            ("PUT", f"{path}/epochs/{epoch}", {}),
            ("POST", f"{path}/epochs/{epoch}/open", None),
        ):
            answer = client.request(method, where, json=document)
            assert answer.status_code < 300, answer.text
    return path
